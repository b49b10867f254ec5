# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
"""The report of run.sh: prints the table, writes its JSON and what gnuplot draws.

usage: table.py LINES OUT.json OUT.dat LOAD_BEFORE LOAD_AFTER; LINES has one object of `penstock bench --json`
a line, several of the same bench in turn.
"""
import collections
import json
import statistics
import sys

# Figures of Firedancer as of August 2026, measured on this processor. They are quoted: nothing of it
# is run here.
QUOTED_ON = "one core of an AMD EPYC (Zen 4), TSC 2.6 GHz"

Row = collections.namedtuple("Row", "name bench size what unit quoted target least")


def rows(curves):
    """Every row with a target; least: the target is a lower bound."""
    fast = curves == "lib25519"

    def row(name, bench, size, what, unit, quoted, target, least=False):
        return Row(name, bench, size, what, unit, quoted, target, least)

    return [
        row("open 176", "open", 176, "packet", "ns", 69, None),
        row("open 176 / limit", "open", 176, "packet / limit", "x", None, 1.10),
        row("open 1024", "open", 1024, "packet", "ns", 122, None),
        row("open 1024 / limit", "open", 1024, "packet / limit", "x", None, 1.10),
        row("ingest 176", "ingest", 176, "packet", "ns", 163, 80),
        row("ingest 1024", "ingest", 1024, "packet", "ns", 252, 165),
        row("ingest 1160", "ingest", 1160, "packet", "ns", 242, 170),
        row("feed 176", "feed", 176, "packet", "ns", 384, 100),
        row("feed 1024", "feed", 1024, "packet", "ns", 526, 190),
        row("packed, a transaction", "packed", 176, "transaction", "ns", 65, 30),
        row("handshake, fresh share", "handshake", 1024, "fresh key share", "us", 84, 90 if fast else 135),
        row("handshake, share ahead", "handshake", 1024, "key share made when idle", "us", 84, 80 if fast else None),
        row("retry", "retry", 1024, "Initial to Retry", "ns", 268, 130),
        row("unknown-cid", "unknown-cid", 176, "packet", "ns", 32, 16),
        row("classify", "classify", 1024, "datagram, checksums by the card", "ns", 22.5, 15),
        row("scale", "scale", 176, "two workers / one", "x", None, 1.95, True),
        row("flood, kept", "flood", 176, "established kept", "%", None, 99, True),
        row("flood, an Initial", "flood", 176, "Initial of the flood", "ns", None, None),
        row("flood, Retry budget", "flood", 176, "Retry budget", "ns", None, None),
    ]


def collect(path):
    """{(bench, size): {what: (unit, [median of each run], least minimum)}}, and the curves."""
    found = {}
    curves = "?"
    with open(path) as lines:
        for line in lines:
            run = json.loads(line)
            curves = run["curves"]
            whats = found.setdefault((run["bench"], run["size"]), {})
            for r in run["rows"]:
                unit, medians, least = whats.get(r["what"], (r["unit"], [], r["min"]))
                whats[r["what"]] = (unit, medians + [r["median"]], min(least, r["min"]))
    return found, curves


def growth_rows(found):
    """What conns is to show, at its largest number of connections and at 4,000."""
    whats = found.get(("conns", 176), {})
    levels = [int(w.split(", ")[1]) for w in whats if w.startswith("ingest, ")]
    for n in levels[1:]:
        value = statistics.median(whats[f"ingest growth / open growth, {n}"][1])
        yield f"conns {n}, growth / open's", "x", value, 1.15
        value = statistics.median(whats[f"without answers, {n}"][1])
        yield f"conns {n}, without answers", "x", value, None
        value = statistics.median(whats[f"ingest, {n}"][1]) / statistics.median(whats["ingest, 1"][1])
        yield f"conns {n}, growth", "x", value, {4000: 1.3, 100000: 2.5}.get(n)


def cpu_model():
    with open("/proc/cpuinfo") as f:
        info = dict(line.split(":", 1) for line in f.read().split("\n\n")[0].splitlines() if ":" in line)
    info = {k.strip(): v.strip() for k, v in info.items()}
    return f"{info.get('model name', '?')}, family {info.get('cpu family', '?')}"


def text(value):
    return "-" if value is None else f"{value:.4g}"


def show(report, stages):
    c = report["core_round_trip_ns"]
    print(f"{report['processor']}; curves of {report['curves']}; "
          f"load {report['load_before']} before, {report['load_after']} after")
    print(f"round trip between two cores {c['median']:.0f} ns ({c['min']:.0f} to {c['max']:.0f})")
    print(f"Firedancer's figures are quoted, from {report['quoted_on']}")
    print(f"{'':28}{'median':>10}{'min':>10} {'unit':4}{'quoted':>9}{'of it':>7}{'target':>9}{'of it':>7}")
    for r in report["rows"]:
        print(f"{r['name']:28}{text(r['median']):>10}{text(r['min']):>10} {r['unit']:4}{text(r['quoted']):>9}"
              f"{'' if not r['of_quoted'] else format(r['of_quoted'], '.2f'):>7}{text(r['target']):>9}"
              f"{'' if not r['of_target'] else format(r['of_target'], '.2f'):>7}"
              f"{'' if r['met'] is None else '  met' if r['met'] else '  missed'}")
    print("stages of a packet of 176 bytes, ns and cycles of the time-stamp counter:")
    clock = statistics.median(stages["clock of cycles"][1]) if stages else 0
    for what, (unit, medians, _) in stages.items():
        if unit == "ns":
            print(f"  {what:34}{statistics.median(medians):8.1f}{statistics.median(medians) * clock:8.0f}")


def main():
    lines, out, drawn, before, after = sys.argv[1:]
    found, curves = collect(lines)
    table = []
    for r in rows(curves):
        if r.what not in found.get((r.bench, r.size), {}):
            continue
        unit, medians, least = found[r.bench, r.size][r.what]
        median = statistics.median(medians)
        table.append(dict(name=r.name, unit=unit, quoted=r.quoted, target=r.target, median=median,
                          min=least, runs=len(medians),
                          of_quoted=median / r.quoted if r.quoted else None,
                          of_target=median / r.target if r.target else None,
                          met=None if not r.target else median >= r.target if r.least else median <= r.target))
    for name, unit, value, target in growth_rows(found):
        table.append(dict(name=name, unit=unit, quoted=None, target=target, median=value, min=None, runs=1,
                          of_quoted=None, of_target=value / target if target else None,
                          met=None if not target else value <= target))
    cores = found.get(("cores", 1024), {}).get("round trip between two cores", ("ns", [0], 0))
    report = dict(processor=cpu_model(), curves=curves, quoted_on=QUOTED_ON,
                  load_before=before, load_after=after,
                  core_round_trip_ns=dict(median=statistics.median(cores[1]), min=min(cores[1]), max=max(cores[1])),
                  rows=table,
                  all={f"{b} {s}": {w: dict(unit=v[0], median=statistics.median(v[1]), min=v[2])
                                    for w, v in whats.items()} for (b, s), whats in found.items()})
    with open(out, "w") as f:
        json.dump(report, f, indent=1)
        f.write("\n")
    with open(drawn, "w") as f:
        for r in table:
            if r["quoted"] and r["target"]:
                f.write(f"\"{r['name']}\" {r['quoted']} {r['target']} {r['median']}\n")
    show(report, found.get(("stages", 176), {}))


if __name__ == "__main__":
    main()

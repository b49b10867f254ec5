# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
"""Every bench runs once, tiny, says so in JSON, and has the rows that reports are made of.

usage: smoke.py PENSTOCK
"""
import json
import subprocess
import sys

ROWS = {
    "open": ["packet", "limit", "packet / limit"],
    "ingest": ["packet"],
    "feed": ["packet"],
    "packed": ["transaction", "packet of 6"],
    "handshake": ["fresh key share", "key share made when idle", "fresh key share, after Retry", "GnuTLS"],
    "retry": ["Initial to Retry"],
    "unknown-cid": ["packet"],
    "classify": ["datagram, checksums by the card", "datagram, checksums computed"],
    "conns": ["ingest, 1", "ingest, 3", "open, 3", "open growth, 3", "ingest growth / open growth, 3",
              "without answers, 3"],
    "timers": ["loop, 1 idle", "loop, 3 idle"],
    "scale": ["packet, one worker", "packet, each of two", "two workers / one"],
    "cores": ["round trip between two cores"],
    "flood": ["established, alone", "Initial of the flood", "handshake after Retry", "Retry budget",
              "established kept"],
    "stages": ["receive", "classify", "look-up", "unprotect", "open", "frames", "publish", "acknowledge",
               "all stages", "limit of unprotect and open"],
}
# Differences of two measurements: on a busy machine they may come out below zero.
DIFFERENCES = {"open", "frames", "publish", "Initial of the flood", "Retry budget"}


def main():
    for bench, expected in ROWS.items():
        args = ["--size", "176", "--conns", "3" if bench in ("conns", "timers") else "1", "--reps", "1", "--json"]
        run = subprocess.run([sys.argv[1], "bench", bench] + args, capture_output=True, text=True, timeout=300)
        if run.returncode != 0 and "two processors" in run.stderr:
            continue
        if run.returncode != 0:
            sys.exit(f"fail: bench {bench} ended with {run.returncode}: {run.stderr}")
        found = {r["what"]: r for r in json.loads(run.stdout)["rows"]}
        for what in expected:
            if what not in found:
                sys.exit(f"fail: bench {bench} has no row '{what}', but {sorted(found)}")
            if found[what]["median"] <= 0 and what not in DIFFERENCES:
                sys.exit(f"fail: bench {bench}, {what}: {found[what]['median']}")
    print("pass: every bench ran")


if __name__ == "__main__":
    main()

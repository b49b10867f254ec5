#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
"""What became of the transactions of tpu_steady: arrivals.py TRANSACTIONS LOG RECEIVED SENDERS
[SKIP_S]. RECEIVED and RECEIVED.times are of tpu_streamer. Prints one line of JSON. In time is what
came within two seconds after it was due, about the four slots of a leader; latencies are from the
moment that the client's library had it, without the first SKIP_S seconds; the gap is the longest
time in which nothing came, and began so long after the first one was due."""

import collections
import json
import struct
import sys

IN_TIME_NS = 2_000_000_000


def transactions(path):
    data, at = open(path, "rb").read(), 0
    while at + 4 <= len(data):
        n = struct.unpack_from("<I", data, at)[0]
        yield data[at + 4:at + 4 + n]
        at += 4 + n


def words(path):
    data = open(path, "rb").read()
    return struct.unpack(f"<{len(data) // 8}Q", data[:len(data) // 8 * 8])


def main():
    sent_path, log_path, received_path, senders = sys.argv[1:5]
    skip_ns = int(float(sys.argv[5]) * 1e9) if len(sys.argv) > 5 else 0
    log = words(log_path)
    due, given = log[0::2], log[1::2]
    index = {t: i for i, t in enumerate(transactions(sent_path)) if i < len(due)}
    came, repeated, foreign = {}, 0, 0
    for t, ns in zip(transactions(received_path), words(received_path + ".times")):
        i = index.get(t)
        if i is None:
            foreign += 1
        elif i in came:
            repeated += 1
        else:
            came[i] = ns
    latency = sorted(ns - given[i] for i, ns in came.items() if due[i] >= due[0] + skip_ns)
    at = sorted([due[0], *came.values()])
    gap, gap_from = max(((b - a, a) for a, b in zip(at, at[1:])), default=(0, due[0]))
    of_sender = collections.Counter(i % int(senders) for i in came)
    print(json.dumps({
        "sent": len(due), "arrived": len(came), "repeated": repeated, "foreign": foreign,
        "in_time": sum(ns - due[i] <= IN_TIME_NS for i, ns in came.items()),
        "senders_whole": sum(of_sender[n] == len(range(n, len(due), int(senders)))
                             for n in range(int(senders))),
        **{f"p{p}_us": latency[len(latency) * p // 100] // 1000 if latency else None
           for p in (50, 90, 99)},
        "gap_ms": gap // 1_000_000, "gap_from_ms": (gap_from - due[0]) // 1_000_000,
        "last": sum(i in came for i in range(max(len(due) - 100, 0), len(due)))}))


if __name__ == "__main__":
    main()

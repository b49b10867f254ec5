#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
"""Judges the log of consumers that were killed (format: feed_log.c) against what clients sent.

  check_log.py LOG (TRANSACTIONS ACKNOWLEDGED)...

TRANSACTIONS is a client's --dump, ACKNOWLEDGED the indices in it that the client saw acknowledged.
Prints one line; the first broken promise is the exit message."""
import hashlib
import struct
import sys


def require(condition, *message):
    if not condition:
        sys.exit(" ".join(str(m) for m in message))


def log_lines(path):
    """Whole lines only: a line that was torn by a kill stands directly before "attach"."""
    lines = open(path).read().split("\n")
    for i, line in enumerate(lines):
        if line and not (i + 1 < len(lines) and lines[i + 1] == "attach"):
            yield i + 1, line.split()


def read_log(path):
    """Every record by its sequence number, and how many were seen once more after a kill."""
    records, again, attached = {}, 0, 0
    released = -1  # certainly
    announced = None  # perhaps
    last = None  # seen by the present consumer
    for number, (word, *rest) in log_lines(path):
        where = "line %d:" % number
        if word == "attach":
            attached, last = attached + 1, None
            continue
        sequence = int(rest[0])
        if word == "seen":
            if last is None:
                require(sequence > released, where, sequence, "is seen again after it was released")
                require(sequence in (released + 1, None if announced is None else announced + 1),
                        where, "went on at", sequence, "after", released, "was released")
                released, announced = sequence - 1, None
            else:
                require(sequence == last + 1, where, sequence, "follows", last)
            last = sequence
            again += sequence in records
            record = (int(rest[1]), rest[2])
            require(records.setdefault(sequence, record) == record, where, sequence, "is not what it was")
            require(sequence == 0 or records[sequence - 1][0] <= record[0], where, "the generation went back")
        elif word == "release":
            require(announced is None and last is not None and released < sequence <= last, where, "bad release")
            announced = sequence
        else:
            require(word == "released" and sequence == announced, where, "bad line")
            released, announced = sequence, None
    if announced is not None:
        released = announced
    require(released + 1 == len(records) and list(records) == list(range(len(records))),
            len(records), "records, released up to", released)
    return records, again, attached


def transactions(path):
    data, at = open(path, "rb").read(), 0
    while at < len(data):
        size = struct.unpack_from("<I", data, at)[0]
        yield hashlib.blake2b(data[at + 4:at + 4 + size], digest_size=16).hexdigest()
        at += 4 + size


def main():
    records, again, attached = read_log(sys.argv[1])
    place = {}
    for sequence, (_, digest) in records.items():
        require(digest not in place, "sequence numbers", place.get(digest), "and", sequence, "are one transaction")
        place[digest] = sequence
    acknowledged = 0
    for dump, log in zip(sys.argv[2::2], sys.argv[3::2]):
        digests = list(transactions(dump))
        acked = [int(line) for line in open(log).read().split("\n")[:-1]]
        require(len(acked) > 0 and len(set(acked)) == len(acked), log, "is empty or names one twice")
        acknowledged += len(acked)
        for index in acked:
            require(digests[index] in place, "transaction", index, "of", log, "was acknowledged and is lost")
        for digest in digests:
            place.pop(digest, None)
    require(not place, len(place), "records are not what a client sent, the first is", min(place.values(), default=0))
    generations = len(set(g for g, _ in records.values()))
    print("%d acknowledged of %d records in %d generations, %d of them seen twice by %d consumers" %
          (acknowledged, len(records), generations, again, attached))


if __name__ == "__main__":
    main()

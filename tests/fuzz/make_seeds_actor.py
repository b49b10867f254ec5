#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors

"""Writes the seeds of fuzz_actor.c into the directory given: conversations in its language of
actions (see the tables there)."""

import pathlib
import sys

(SEND, ALL, ONE, DROP, CORRUPT, CUT, REBIND, TIME, TIMER, CLOSE, KEYS, CONNECT, INJECT, ENDS, MARK,
 RESTART) = range(16)
RETRY, AUTO, AES256, CHACHA, SLOW, LONG, SOURCES, SMALL = 1, 2, 4, 8, 16, 32, 64, 128


def act(what, arg=0, *rest):
    return bytes([what | arg << 4, *rest])


def talk(rounds=3):
    return act(ALL, rounds)


OPEN = talk(5)
MANY = act(SEND, 8, 40)
BIG = act(SEND, 8, 249)

seeds = {
    "plain": [0, OPEN, MANY, talk(), BIG, talk(9)],
    "retry": [RETRY, OPEN, MANY, talk(9), act(CLOSE, 0, 7), talk()],
    "retry_replayed": [RETRY, talk(0), act(ONE, 1, 0), act(ONE, 3, 0), OPEN, MANY, talk(9)],
    "auto": [AUTO, *[act(CONNECT)] * 5, OPEN, MANY, talk(9)],
    "aes256": [AES256, OPEN, MANY, act(KEYS, 0), talk(), MANY, act(KEYS, 8), talk(9)],
    "chacha": [CHACHA | LONG, OPEN, MANY, act(KEYS, 0), talk(), MANY, talk(9)],
    "slow": [SLOW | LONG, OPEN, act(ENDS, 4), act(CONNECT), talk(), act(ENDS), OPEN, MANY, talk(9)],
    "slow_closed": [SLOW, act(ENDS, 4), OPEN, act(CLOSE, 8, 1), talk(), act(CONNECT), act(ENDS), OPEN],
    "alert": [0, OPEN, act(CONNECT, 1), OPEN, act(CONNECT, 2), OPEN],
    "many": [0, *[act(CONNECT), OPEN] * 6, *[act(SEND, 8 | c, 9) for c in range(7)], talk(9)],
    "sources": [SOURCES, *[act(CONNECT), OPEN] * 6],
    "loss": [0, OPEN, BIG, act(DROP, 0, 1), act(DROP, 0, 2), talk(), act(TIME, 0, 200), talk(9)],
    "blackout": [0, OPEN, BIG, act(DROP, 1), act(TIMER, 3), act(DROP, 1), act(TIME, 2, 20), talk(9)],
    "reorder": [0, OPEN, BIG, *[act(ONE, 0, n) for n in (5, 3, 7, 1, 2, 0)], talk(9)],
    "duplicate": [0, OPEN, BIG, *[act(ONE, 1, n) for n in (0, 0, 1, 1)], talk(9)],
    "corrupt": [0, OPEN, BIG, act(CORRUPT, 0, 0, 30, 7), act(CORRUPT, 1, 1, 9, 1), act(CUT, 8, 90, 2),
                act(CUT, 0, 3, 3), talk(9), act(TIME, 0, 250), talk(9)],
    "rebind": [0, OPEN, MANY, act(REBIND), talk(), MANY, talk(5), act(REBIND), BIG, talk(9)],
    "rebind_early": [0, talk(0), act(REBIND), talk(), act(TIME, 2, 99), talk(9)],
    "relay": [0, OPEN, MANY, act(ONE, 2, 0), act(ONE, 7, 0), talk(), act(TIME, 1, 99), talk(9)],
    "relay_handshake": [0, talk(1), act(ONE, 3, 0), act(ONE, 2, 0), talk(9)],
    "refused": [0, OPEN, act(ENDS, 1), BIG, talk(), act(TIME, 0, 250), act(ENDS), talk(9)],
    "no_credit": [SMALL, OPEN, act(ENDS, 2), MANY, talk(), MANY, talk(), act(TIME, 1, 99), act(ENDS),
                  act(TIME, 1, 99), talk(9), MANY, talk(9)],
    "idle": [0, OPEN, MANY, talk(9), act(TIME, 3, 90), talk()],
    "leap": [0, OPEN, BIG, talk(0), act(TIME, 6, 250), talk(9)],
    "closed": [0, OPEN, BIG, act(CLOSE, 8, 2), act(ONE, 1, 0), act(ONE, 1, 1), talk(9)],
    "reset": [0, OPEN, MANY, act(RESTART, 9), talk(), act(CONNECT), OPEN, act(SEND, 9, 9), talk(9)],
    "inject": [0, OPEN, act(INJECT, 0, 0, 0x80 | 8, 0xC3, 0, 0, 0, 9, 8, 1, 2), act(INJECT, 6, 0, 17, 70),
               MANY, act(INJECT, 2, 0, 17, 60), talk(9)],
    "keys_at_once": [0, OPEN, MANY, talk(9), act(KEYS, 8), act(SEND, 0, 5), talk(0), talk(0),
                     act(KEYS, 0), act(SEND, 0, 5), talk(5), MANY, talk(9)],
    "keys_unacknowledged": [0, OPEN, MANY, talk(9), act(SEND, 0, 5), act(KEYS, 8), talk(0), act(KEYS, 0),
                            act(SEND, 0, 5), act(ONE, 0, 0), act(KEYS, 0), act(SEND, 0, 9), talk(9)],
    "silent": [0, act(ONE, 0, 0), act(DROP, 1), act(REBIND), act(TIME, 2, 150)],
    "silent_retry": [RETRY, talk(0), talk(0), act(DROP, 1), act(TIME, 2, 150)],
    "ecn": [0, act(MARK, 2), OPEN, MANY, act(MARK, 3), talk(), BIG, act(MARK, 1), talk(9)],
}

for name, parts in seeds.items():
    data = bytes([parts[0]]) + b"".join(parts[1:])
    pathlib.Path(sys.argv[1], name).write_bytes(data)

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors

"""Writes the seeds of fuzz_rx.c into the directory given, and with a second directory those of
fuzz_client.c into that: whole conversations in their clear-text dialect of QUIC (see the heads of
those files)."""

import pathlib
import sys

TAG = bytes(16)


def varint(v):
    return bytes([v]) if v < 64 else (v | 0x4000).to_bytes(2, "big")


def long(kind, pn, frames, dcid, scid, token=b""):
    head = bytes([0xC3 | kind << 4]) + b"\0\0\0\1" + bytes([len(dcid)]) + dcid
    head += bytes([len(scid)]) + scid
    if kind == 0:
        head += varint(len(token)) + token
    body = pn.to_bytes(4, "big") + frames + TAG
    return head + (len(body) | 0x4000).to_bytes(2, "big") + body


def cid(slot, generation=0):
    return slot.to_bytes(4, "big") + generation.to_bytes(4, "big") + bytes(8)


def crypto(offset, data):
    return b"\x06" + varint(offset) + varint(len(data)) + data


def stream(sid, offset, data, fin):
    return bytes([0x0E | fin]) + varint(sid) + varint(offset) + varint(len(data)) + data


def ack(largest, first=0):
    return b"\x02" + varint(largest) + b"\0\0" + varint(first)


def datagram(data, pad=False, client=0):
    return bytes([(4 if pad else 0) | client << 3]) + len(data).to_bytes(2, "little") + data


def wait(ms):
    return bytes([2, ms]) if ms < 256 else bytes([6, ms // 64])


def hello(client=0, token=b"", scid=b"BBBBB", parameters=b"", dcid=b"AAAAAAAA"):
    text = b"\x01\x0f" + bytes([len(scid)]) + scid + parameters
    return long(0, 0, crypto(0, text), dcid, scid, token)


def short(pn, frames, slot=0, generation=0, phase=0):
    return bytes([0x43 | phase << 2]) + cid(slot, generation) + pn.to_bytes(4, "big") + frames + TAG


def finished(slot=0, generation=0, pn=0, scid=b"BBBBB"):
    return long(2, pn, crypto(0, b"\x01"), cid(slot, generation), scid)


def established(client=0, slot=0, generation=0):
    return datagram(hello(client), True, client) + datagram(
        finished(slot, generation), False, client
    )


def packets(*frames):
    return b"".join(datagram(short(i, f)) for i, f in enumerate(frames))


SEEDS = {
    "handshake": b"\0" + established(),
    "pending": b"\2" + established() + wait(30) + packets(b"\x01"),
    "late": b"\2" + datagram(hello(), True) + wait(2500) + established(1, 0, 1),
    "split_hello": b"\0"
    + datagram(long(0, 0, crypto(2, b"\x05BBBBB"), b"AAAAAAAA", b"BBBBB"), True)
    + datagram(long(0, 1, crypto(0, b"\x01\x0f\x05"), b"AAAAAAAA", b"BBBBB"), True)
    + datagram(finished()),
    "idle": b"\0" + datagram(hello(parameters=b"\x01\x02\x40\x64"), True) + datagram(finished())
    + wait(200),
    "alert": b"\0" + datagram(long(0, 0, crypto(0, b"\xff"), b"AAAAAAAA", b"BBBBB"), True) * 2,
    "probe": b"\0" + datagram(hello(), True) + wait(1100) + datagram(finished()) + wait(3000),
    "retry": b"\1" + datagram(hello(), True) + datagram(hello(token=b"t" * 57), True)
    + datagram(finished()),
    "retry_token": b"\1" + datagram(hello(), True) + datagram(hello(token=b"u" * 57), True)
    + datagram(finished()),
    "old_token": b"\0" + datagram(hello(token=b"\xfe" * 57), True) + datagram(finished()),
    "whole": b"\0" + established() + packets(
        b"\x0b\x02\x10" + b"x" * 16 + b"\x0b\x06\x11" + b"y" * 17,
        b"\x09\x0a" + b"z" * 200, b"\x0b\x0e\x10" + b"x" * 16, b"\x09\x12" + b"z" * 20),
    "whole_no_room": b"\0" + established() + b"\x07" + packets(b"\x09\x02" + b"z" * 200),
    "others": b"\x80" + established() + b"".join(
        datagram(b"\x43" + bytes([i]) + bytes(15) + b"\0\0\0\0\1" + TAG) for i in range(3))
    + datagram(long(0, 0, crypto(0, b"\1"), b"\1" + bytes(15), b"BBBBB"), True),
    "bad_token": b"\1" + datagram(hello(token=b"\xff" * 57), True),
    "flood": b"\0" + b"".join(datagram(hello(i), True, i) for i in range(4)),
    "coalesced": b"\0" + datagram(hello(), True)
    + datagram(finished() + short(0, stream(2, 0, b"x", 1))),
    "version": b"\0" + datagram(b"\xc0\x0a\x0a\x0a\x0a\x08AAAAAAAA\x05BBBBB", True),
    "streams": b"\0" + established()
    + packets(
        stream(2, 0, b"hello", 1),
        stream(6, 4, b"data", 0),
        stream(6, 0, b"some", 0),
        stream(6, 8, b"", 1),
        ack(0),
        stream(10, 0, b"abc", 0) + b"\x04\x0a\x00\x09",
        stream(14, 0, b"y" * 300, 1) + stream(18, 0, b"z" * 100, 0),
    ),
    "streams_many": b"\0" + established()
    + packets(*[stream(i << 2 | 2, 0, b"q" * 90, 1) + ack(i // 2) for i in range(24)]),
    "no_room": b"\0" + established() + b"\x07" + packets(stream(2, 0, b"x", 1)) + wait(20)
    + b"\x03" + packets(stream(2, 0, b"x", 1)),
    "no_credit": b"\x00\x0b" + established() + wait(60) + b"\x03" + wait(30),
    "slow": b"\0" + established() + packets(stream(2, 0, b"x", 0)) + wait(2500),
    "no_acks": b"\0" + established()
    + b"".join(datagram(short(i, stream(i << 2 | 2, 0, b"q" * 60, 1))) + wait(1500)
               for i in range(12)),
    "gaps": b"\0" + established()
    + b"".join(datagram(short(pn, b"\x01")) for pn in (1, 9, 5, 200, 7, 7, 100)),
    "forgotten": b"\0" + established()
    + b"".join(datagram(short(10 + i, stream(i << 2 | 2, 0, b"q" * 60, 1))) for i in range(4))
    + datagram(short(5, b"\x01" + ack(3, 3))) + wait(40),
    "phase": b"\0" + established() + packets(b"\x01")
    + datagram(short(1, b"\x01", phase=1)) + datagram(short(2, b"\x01", phase=1))
    + datagram(short(0, b"\x01")),
    "closed": b"\0" + established() + packets(b"\x21", *[b"\x01"] * 5) + wait(200),
    "peer_closed": b"\0" + established() + packets(b"\x1d\x07\x03bye", b"\x01") + wait(4000)
    + established(1, 0, 1) + datagram(short(0, b"\x01", 0, 1), False, 1),
    "other_path": b"\0" + established() + datagram(short(0, b"\x01"), False, 2),
    "control": b"\0" + established()
    + packets(b"\x10\x3f\x12\x3f\x13\x3f\x14\x01\x16\x01\x17\x01\x1aabcdefgh\x1babcdefgh"
              b"\x18\x01\x00\x04NNNNRRRRRRRRRRRRRRRR\x15\x02\x01", b"\x19\x00"),
    "many_done": b"\0" + established() + packets(b"\x1e" * 1300),
    "skipped": b"\0" + established() + packets(stream(6, 0, b"x", 1)) + wait(2500)
    + packets(b"\x01", b"\x01") + wait(3000) + datagram(short(9, stream(10, 0, b"x", 1))),
    "sources": b"\4" + b"".join(established(0, i) for i in range(4)) + wait(500),
    "sources_closed": b"\4" + established(0, 0) + packets(b"\x1d\x07\x00") + established(0, 1)
    + established(0, 2),
    "rate": b"\x08" + b"".join(datagram(hello(i & 3, dcid=b"AAAAAAA%d" % i), True, i & 3)
                               for i in range(6)),
    "narrow": b"\x10" + established() + packets(stream(2, 0, b"x" * 290, 1), stream(6, 0, b"y", 1))
    + established(1, 1) + datagram(short(0, stream(2, 0, b"x" * 90, 0) + stream(6, 0, b"y" * 90, 0)
                                         + stream(10, 0, b"z" * 90, 0), 1), False, 1),
    "auto": b"\x20" + b"".join(datagram(hello(i), True, i) for i in range(4)) + wait(3000),
    "sessions": b"\x40" + b"".join(datagram(hello(i), True, i) for i in range(4)),
}

# -- fuzz_client.c: what a server says --

OURS = b"\1" * 16  # the first id a client draws
SERVER = b"SSSSSSSS"


def parameters(odcid=OURS, scid=SERVER, retry=None, more=b""):
    out = b"\x00" + bytes([len(odcid)]) + odcid + b"\x0f" + bytes([len(scid)]) + scid
    if retry is not None:
        out += b"\x10" + bytes([len(retry)]) + retry
    return out + b"\x02\x10" + b"R" * 16 + b"\x04\x04\x80\x01\x00\x00" + b"\x07\x02\x50\x00" \
        + b"\x09\x01\x10" + more


def answer(slot=0, generation=0, retry=None, more=b"", scid=SERVER):
    first = long(0, 0, ack(0) + crypto(0, b"\x01"), cid(slot, generation), scid)
    second = long(2, 0, crypto(0, b"\x01" + parameters(scid=scid, retry=retry, more=more)),
                  cid(slot, generation), scid)
    return datagram(first + second)


def send(size):
    return bytes([3 | size // 40 << 3, 0])


def retry(scid=b"RRRRRRRR", token=b"token"):
    return datagram(b"\xf0\0\0\0\1\x10" + cid(0) + bytes([len(scid)]) + scid + token + TAG)


def version(*versions):
    return datagram(b"\x80\0\0\0\0\x10" + cid(0) + b"\x10" + OURS
                    + b"".join(v.to_bytes(4, "big") for v in versions))


DONE = b"\x1e"
CLIENT_SEEDS = {
    "connect": b"\0" + answer() + packets(DONE),
    "streams": b"\0" + answer() + packets(DONE) + send(120) * 4
    + b"".join(datagram(short(1 + i, ack(i))) for i in range(6)),
    "lost": b"\0" + answer() + packets(DONE) + send(1200) * 8 + wait(40)
    + datagram(short(1, ack(6))) + wait(200) + datagram(short(2, ack(9, 1))) + wait(3000),
    "limits": b"\0" + answer() + send(40) + packets(
        DONE, b"\x10\x80\x02\x00\x00\x12\x20\x11\x02\x40\xff", ack(3),
        b"\x05\x02\x07", b"\x07\x05token", b"\x18\x01\x00\x04NNNN" + b"r" * 16,
        b"\x1aabcdefgh", b"\x18\x02\x01\x04MMMM" + b"q" * 16, b"\x19\x00"),
    "update": b"\2" + answer() + packets(DONE) + send(40) + datagram(short(1, ack(1 << 6), phase=1)),
    "retry": b"\0" + retry() + answer(retry=b"RRRRRRRR") + packets(DONE),
    "retry_twice": b"\0" + retry() + retry(b"QQQQ") + answer(retry=b"RRRRRRRR"),
    "version": b"\0" + version(0x0A0A0A0A, 0x6B3343CF),
    "version_ours": b"\0" + version(1, 0x0A0A0A0A) + answer(),
    "closed": b"\0" + answer() + packets(DONE) + send(40) + datagram(short(1, b"\x1d\x02\x03bye")),
    "refused": b"\0" + datagram(long(0, 0, b"\x1c\x02\x00\x00", cid(0), SERVER)),
    "alert": b"\0" + datagram(long(0, 0, crypto(0, b"\xff"), cid(0), SERVER)),
    "reset": b"\0" + answer() + packets(DONE) + datagram(b"\x40" + b"x" * 40 + b"R" * 16),
    "tickets": b"\0" + answer() + packets(DONE + crypto(0, b"\x04\0\0\x10" + bytes(16)), b"\x01"),
    "streams_of_the_server": b"\0" + answer() + packets(DONE, stream(3, 0, b"x", 1)),
    "two": b"\0\7\0" + answer() + answer(1, scid=b"TTTT") + send(80) + wait(300),
    "idle": b"\0" + answer(more=b"\x01\x02\x40\x64") + packets(DONE) + send(40) + wait(1000),
    "silence": b"\1" + wait(8000) + wait(8000),
}


def write(directory, seeds):
    out = pathlib.Path(directory)
    out.mkdir(parents=True, exist_ok=True)
    for name, data in seeds.items():
        (out / name).write_bytes(data)


write(sys.argv[1], SEEDS)
if len(sys.argv) > 2:
    write(sys.argv[2], CLIENT_SEEDS)

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors

"""Writes the first seeds of the harnesses classify, conf, contact, deny, feed, state and tpu (their
heads say what an input is): make_seeds.py HARNESS DIRECTORY."""

import pathlib
import struct
import sys

CONFIG = pathlib.Path(__file__).resolve().parents[2] / "config"


def frame(option, payload=b"x" * 20, dst=2, port=8000, ihl=0x45, proto=17, cut=0, flags=0x4000):
    udp = struct.pack(">HHHH", 9, port, 8 + len(payload), 0) + payload
    ip = struct.pack(">BBHHHBBHII", ihl, 2, 20 + len(udp), 1, flags, 64, proto, 0,
                     0x0A000001, 0x0A000000 + dst)
    eth = bytes([2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1]) + b"\x08\0"
    whole = eth + ip + udp + b"pad"
    whole = whole[: len(whole) - cut]
    return bytes([option]) + struct.pack("<H", len(whole)) + whole


def classify():
    yield frame(3) + frame(3, dst=3) + frame(3, port=8001, dst=77)
    yield frame(1) + frame(3, payload=b"") + frame(3, payload=b"y" * 1200)
    yield frame(7) + frame(3, ihl=0x46) + frame(3, proto=6) + frame(3, cut=10)
    yield frame(3, flags=0x2001) + frame(3, port=9) + frame(0)
    yield b"".join(frame(3 | i << 3) for i in range(8))
    yield b"\x03\x05\0short"


def conf():
    for file in sorted(CONFIG.glob("*.ini")):
        text = file.read_text()
        yield b"\0" + text.encode()
        lines = [x.split(";")[0].strip() for x in text.splitlines()]
        yield b"\0" + "\n".join(x for x in lines if x).encode()
    yield b"\1quic.retry=always\nservice.a.port=8009\nservice.a.kind=tpu_quic\nport.p.queues=2"
    yield b"\1service.a.address=10.0.0.1,any\nservice.a.workers=0,2-3\nrun.lcores=0-3"
    yield b"\2[" + b",".join(b"%d" % (i * 3) for i in range(64)) + b"]"


def contact():
    names = ("gossip", "tvu", "serve_repair", "tpu", "tpu_quic", "tpu_vote", "tpu_vote_quic")
    socks = ",".join(f'"{n}":"192.0.2.1:{8000 + i}"' for i, n in enumerate(names))
    yield ('{"id":"9xQe",' + socks + "}").encode()
    yield b'{"id":"a","tpu":"10.0.0.1:8003","tvu":"[::1]:5","x":{"y":[1,2.5e3,null,true]}}'
    yield b'{"id":"b","tpu":"0.0.0.0:1"}'
    yield b'{"id":3,"id":4}'


def deny():
    yield b"192.0.2.0/24\n# all of it\n10.0.0.1\n198.51.100.0/25 # half\n\n"
    yield b"128.0.0.0/1\n0.0.0.0/1\n"
    yield b"10.0.0.0/8\n10.0.0.0/8\n10.0.0.0/9\n"
    yield b"10.0.0.1/24\n"
    yield b"1.2.3.4/33"
    yield b"1.2.3.4 5.6.7.8\n"


def patch(at, data):
    return struct.pack("<HB", at, len(data)) + data


def poll(most=8, release=1):
    return struct.pack("<BBB", most, release, 0xF0)


def feed():
    for option in range(8):
        yield bytes([option]) + poll() * 4
        yield bytes([option]) + poll(3, 3) + poll(2, 0) + poll(2, 7) + poll(8, 1) * 3
    for at, data in ((0, b"X"), (16, b"\0\0\0\1"), (16, b"\0\0\2"), (24, b"\1"), (128, b"\xff" * 8),
                     (128, b"\1"), (0x1000, b"X"), (0x1010, b"\7"), (0x1040, b"\1"), (40, b"\3"),
                     (0x8000 + 8, b"\0\0"), (0x8000 + 12, b"\xff\xff")):
        yield b"\4" + patch(at, data) + poll() * 3
        yield b"\5" + poll(1, 0) + patch(at, data) + poll() * 3
    where = 0x8000 + 0x2000 - 10 * 448 - 64
    yield b"\0" + patch(where + 8, b"\0\0\0\0") + poll() + patch(where + 8, b"\xc0\1") + poll()
    yield b"\0" + patch(where + 448 + 12, b"\xff\xff") + poll(8, 1) + poll()


def state():
    head = b"penstock-state 1\nboot b00t-1234\n"
    change = b"%s\tsysfs\teth0\tmtu\t1500\t9000\n"
    yield head + b"end 0\n"
    yield head + b"undo 123456789\n" + change % b"done" + change % b"open" + b"end 2\n"
    yield head + change % b"done" + b"end 2\n"
    yield head + change % b"done"
    yield head + b"done\ta\tb\tc\t\t\nend 1\n"
    yield b"penstock-state 2\n"


def piece(stream, at, size, fin=False, fill=1, send=True):
    return struct.pack("<BHHB", stream << 3 | (0x40 if send else 0), at | fin << 15, size, fill)


def tpu():
    yield b"\7" + piece(0, 0, 215, True) + piece(1, 100, 200, True) + piece(1, 0, 100)
    yield b"\0" + piece(0, 0, 10) + piece(1, 0, 200) + piece(0, 10, 300, True)
    yield b"\3" + piece(2, 0, 1232, True, 0x81, False) + piece(3, 0, 4096, True, 0x81)
    yield b"\3" + piece(2, 64, 64, send=False) + piece(2, 0, 200, False, 2) + piece(2, 50, 150, True)
    yield b"\3" + piece(0, 0, 50) + b"\5" + piece(0, 0, 50) + piece(0, 50, 84, True)
    yield b"\2" + (piece(4, 0, 4000, True, 0x81) + piece(4, 0, 1200, True)) * 14 + b"\6" + \
        piece(4, 0, 1200, True)
    yield b"\7" + piece(0, 200, 0, True) + piece(0, 0, 200) + piece(1, 0, 5000) + piece(1, 9, 0)
    for head in (b"\1" + bytes(64) + b"\1", b"\1" + bytes(64) + b"\x80", b"\x81\2", b"\x81\0",
                 b"\x80\x80\x80", b"\xff\xff\3", b"\2"):
        yield b"\7\7" + head + bytes(130)
        yield b"\7\7" + head
    yield b"\7\7\x81\1" + bytes(1300)


for i, seed in enumerate(globals()[sys.argv[1]]()):
    pathlib.Path(sys.argv[2], f"first-{i:02d}").write_bytes(seed)

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
"""ICMP errors about the flows of a QUIC client, as an attacker forges them; standard library only.

  forge IFACE DSTMAC PORTS SECONDS  errors of every kind that could touch a path, about datagrams from
                                    the server's port 8009 to the client's PORTS (A-B); prints how many
  sizes IFACE SECONDS               UDP datagrams from that port, as JSON: largest and smallest of each
                                    kind in bytes of UDP payload, and how many were fragments
"""
import json
import select
import socket
import struct
import sys
import time

from wire import CLIENT, SERVER, checksum

QUIC_PORT = 8009
# Type, code, and what stands in the second word: the MTU of the next hop, for one of them.
ERRORS = [(3, 4, mtu) for mtu in (0, 68, 296, 552, 576, 1199, 1280)] + [
    (3, 0, 0), (3, 1, 0), (3, 2, 0), (3, 3, 0), (3, 13, 0), (4, 0, 0), (5, 1, 0x0A4D0001), (11, 0, 0), (12, 0, 0)]


def header(src, dst, proto, size):
    head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + size, 7, 0x4000, 64, proto, 0,
                       socket.inet_aton(src), socket.inet_aton(dst))
    return head[:10] + struct.pack("!H", checksum(head)) + head[12:]


def error(kind, code, word, port):
    quoted = header(SERVER, CLIENT, 17, 1208) + struct.pack("!HHHH", QUIC_PORT, port, 1208, 0) + b"\x40" * 20
    body = struct.pack("!BBHI", kind, code, 0, word) + quoted
    body = body[:2] + struct.pack("!H", checksum(body)) + body[4:]
    return header(CLIENT, SERVER, 1, len(body)) + body


def forge(iface, mac, ports, seconds):
    first, last = (int(p) for p in ports.split("-"))
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    s.bind((iface, 0))
    head = bytes.fromhex(mac.replace(":", "")) + s.getsockname()[4] + b"\x08\x00"
    end, n = time.monotonic() + float(seconds), 0
    while time.monotonic() < end:
        for port in range(first, last + 1):
            for e in ERRORS:
                s.send(head + error(*e, port))
                n += 1
        time.sleep(0.01)
    print(n)


def sizes(iface, seconds):
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
    s.bind((iface, 0x0800))
    seen = {"fragments": 0, "long": [], "short": []}
    end = time.monotonic() + float(seconds)
    while time.monotonic() < end:
        if not select.select([s], [], [], max(0, end - time.monotonic()))[0]:
            continue
        frame = s.recv(2048)
        ip = frame[14:]
        if len(ip) < 29 or ip[9] != 17 or socket.inet_ntoa(ip[12:16]) != SERVER:
            continue
        if struct.unpack_from("!H", ip, 6)[0] & 0x3FFF:
            seen["fragments"] += 1
        elif struct.unpack_from("!H", ip, 20)[0] == QUIC_PORT:
            seen["long" if ip[28] & 0x80 else "short"].append(struct.unpack_from("!H", ip, 24)[0] - 8)
    out = {"fragments": seen["fragments"]}
    for kind in ("long", "short"):
        out.update({kind: len(seen[kind]), kind + "_max": max(seen[kind], default=0),
                    kind + "_min": min(seen[kind], default=0)})
    print(json.dumps(out))


if __name__ == "__main__":
    commands = {"forge": forge, "sizes": sizes}
    if len(sys.argv) < 2 or sys.argv[1] not in commands:
        sys.exit(__doc__)
    commands[sys.argv[1]](*sys.argv[2:])

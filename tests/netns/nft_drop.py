# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
"""Adds to nftables, through netlink alone: table inet penstocktest, chain in at the input hook with
policy drop, and one rule without expressions. Exit code 1 when the kernel takes it not."""

import socket
import struct
import sys

NETLINK_NETFILTER, NFPROTO_INET = 12, 1
SUBSYS, BATCH_BEGIN, BATCH_END = 10, 16, 17
NEWTABLE, NEWCHAIN, NEWRULE = 0, 3, 6
REQUEST, ACK, CREATE, APPEND, NESTED = 1, 4, 0x400, 0x800, 0x8000


def attr(kind, data):
    pad = (4 - len(data) % 4) % 4
    return struct.pack("HH", 4 + len(data), kind) + data + b"\0" * pad


def text(kind, value):
    return attr(kind, value.encode() + b"\0")


def be32(kind, value):
    return attr(kind, struct.pack(">I", value))


def message(kind, flags, family, res_id, attrs, seq):
    body = struct.pack(">BBH", family, 0, res_id) + attrs
    return struct.pack("IHHII", 16 + len(body), kind, flags, seq, 0) + body


def nft(kind, attrs, seq, flags=REQUEST | ACK | CREATE):
    return message(SUBSYS << 8 | kind, flags, NFPROTO_INET, 0, attrs, seq)


hook = be32(1, 1) + be32(2, 0)  # input, priority 0
batch = message(BATCH_BEGIN, REQUEST, 0, SUBSYS, b"", 1)
batch += nft(NEWTABLE, text(1, "penstocktest"), 2)
batch += nft(NEWCHAIN, text(1, "penstocktest") + text(3, "in") + attr(4 | NESTED, hook)
             + be32(5, 0) + text(7, "filter"), 3)
batch += nft(NEWRULE, text(1, "penstocktest") + text(2, "in"), 4, REQUEST | ACK | CREATE | APPEND)
batch += message(BATCH_END, REQUEST, 0, SUBSYS, b"", 5)

s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_NETFILTER)
s.settimeout(2)
s.bind((0, 0))
s.send(batch)
acks = 0
while acks < 3:
    data = s.recv(65536)
    while len(data) >= 20:
        size, kind, _, seq, _ = struct.unpack_from("IHHII", data)
        error = struct.unpack_from("i", data, 16)[0]
        if kind == 2 and error != 0:
            print(f"message {seq}: error {-error}", file=sys.stderr)
            sys.exit(1)
        acks += kind == 2
        data = data[(size + 3) & ~3:]

# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
"""A wire into a TAP interface with several queues, which it chooses as RSS would: frames that come
in on another interface go to the queue of their UDP source port modulo QUEUES, and what leaves by
the TAP goes out there. mqbridge.py NAME QUEUES OTHER; prints "ready" and works until it is ended.
"""

import fcntl
import os
import select
import socket
import struct
import sys

TUNSETIFF = 0x400454CA
IFF_TAP, IFF_NO_PI, IFF_MULTI_QUEUE = 0x0002, 0x1000, 0x0100
ETH_P_ALL, PACKET_OUTGOING = 3, 4

name, count, other = sys.argv[1].encode(), int(sys.argv[2]), sys.argv[3]
queues = []
for _ in range(count):
    fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH22x", name, IFF_TAP | IFF_NO_PI | IFF_MULTI_QUEUE))
    queues.append(fd)
wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
wire.bind((other, 0))
print("ready", flush=True)


def queue_of(frame):
    if frame[12:14] == b"\x08\0" and frame[23] == 17:
        return (frame[34] << 8 | frame[35]) % count
    return 0


while True:
    for fd in select.select([wire] + queues, [], [])[0]:
        if fd is wire:
            frame, source = wire.recvfrom(2048)
            if source[2] != PACKET_OUTGOING:
                try:
                    os.write(queues[queue_of(frame)], frame)
                except (BlockingIOError, OSError):
                    pass  # a full queue, or one that is down: as on a wire
        else:
            wire.send(os.read(fd, 2048))

# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
"""Holds a TAP interface with several queues: mqtap.py NAME QUEUES. Prints "ready", then waits."""

import fcntl
import os
import signal
import struct
import sys

TUNSETIFF = 0x400454CA
IFF_TAP, IFF_NO_PI, IFF_MULTI_QUEUE = 0x0002, 0x1000, 0x0100

queues = []
for _ in range(int(sys.argv[2])):
    fd = os.open("/dev/net/tun", os.O_RDWR)
    flags = IFF_TAP | IFF_NO_PI | IFF_MULTI_QUEUE
    fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH22x", sys.argv[1].encode(), flags))
    queues.append(fd)
print("ready")
signal.pause()

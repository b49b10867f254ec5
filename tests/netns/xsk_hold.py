#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
"""Holds a queue of an interface with an AF_XDP socket: xsk_hold.py INTERFACE QUEUE. Prints "held",
then waits."""
import ctypes
import mmap
import os
import socket
import struct
import sys
import time

AF_XDP, SOL_XDP = 44, 283
RX_RING, UMEM_REG, FILL_RING, COMPLETION_RING = 2, 4, 5, 6
COPY = 2
RING = 64
CHUNK = 2048

libc = ctypes.CDLL(None, use_errno=True)
area = mmap.mmap(-1, RING * CHUNK)
address = ctypes.addressof(ctypes.c_char.from_buffer(area))
sock = socket.socket(AF_XDP, socket.SOCK_RAW)
sock.setsockopt(SOL_XDP, UMEM_REG, struct.pack("QQIIII", address, len(area), CHUNK, 0, 0, 0))
for ring in (FILL_RING, COMPLETION_RING, RX_RING):
    sock.setsockopt(SOL_XDP, ring, struct.pack("I", RING))
name = struct.pack("HHIII", AF_XDP, COPY, socket.if_nametoindex(sys.argv[1]), int(sys.argv[2]), 0)
if libc.bind(sock.fileno(), name, len(name)):
    sys.exit(os.strerror(ctypes.get_errno()))
print("held", flush=True)
time.sleep(600)

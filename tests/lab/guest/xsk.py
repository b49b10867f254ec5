#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
"""AF_XDP sockets as the kernel sees them.

xsk.py bind INTERFACE QUEUE  demands zero-copy and need-wakeup (flags 0xc) and says what came of it
xsk.py hold INTERFACE QUEUE...  binds each in copy mode, says so, and keeps them
xsk.py owned PID             for each AF_XDP socket of a process: mode and busy polling
"""
import ctypes
import mmap
import os
import signal
import socket
import struct
import sys

AF_XDP, SOL_XDP = 44, 283
RX_RING, UMEM_REG, FILL_RING, COMPLETION_RING, OPTIONS = 2, 4, 5, 6, 8
COPY, ZEROCOPY, NEED_WAKEUP = 2, 4, 8
SO_DOMAIN, SO_BUSY_POLL, SO_PREFER_BUSY_POLL = 39, 46, 69
RING = 512
CHUNK = 2048
PIDFD_OPEN, PIDFD_GETFD = 434, 438

libc = ctypes.CDLL(None, use_errno=True)


def call(result):
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return result


def mode(sock):
    flags = struct.unpack("I", sock.getsockopt(SOL_XDP, OPTIONS, 4))[0]
    return "zero-copy" if flags & 1 else "copy"


def bind(sock, interface, queue, flags):
    area = mmap.mmap(-1, RING * CHUNK)
    address = ctypes.addressof(ctypes.c_char.from_buffer(area))
    sock.setsockopt(SOL_XDP, UMEM_REG, struct.pack("QQIIII", address, len(area), CHUNK, 0, 0, 0))
    for ring in (FILL_RING, COMPLETION_RING, RX_RING):
        sock.setsockopt(SOL_XDP, ring, struct.pack("I", RING))
    name = struct.pack("HHIII", AF_XDP, flags, socket.if_nametoindex(interface), queue, 0)
    call(libc.bind(sock.fileno(), name, len(name)))


def try_bind(interface, queue):
    with socket.socket(AF_XDP, socket.SOCK_RAW) as sock:
        bind(sock, interface, queue, ZEROCOPY | NEED_WAKEUP)
        return mode(sock)


def hold(interface, queues):
    socks = [socket.socket(AF_XDP, socket.SOCK_RAW) for _ in queues]
    for sock, queue in zip(socks, queues):
        bind(sock, interface, int(queue), COPY)
    print("held", flush=True)
    signal.pause()


def owned(pid):
    pidfd = call(libc.syscall(PIDFD_OPEN, pid, 0))
    for fd in sorted(map(int, os.listdir(f"/proc/{pid}/fd"))):
        if not os.readlink(f"/proc/{pid}/fd/{fd}").startswith("socket:"):
            continue
        copy = call(libc.syscall(PIDFD_GETFD, pidfd, fd, 0))
        with socket.socket(AF_XDP, socket.SOCK_RAW, 0, copy) as sock:
            if sock.getsockopt(socket.SOL_SOCKET, SO_DOMAIN) == AF_XDP:
                prefer = sock.getsockopt(socket.SOL_SOCKET, SO_PREFER_BUSY_POLL)
                print(mode(sock), "busy-poll" if prefer else "interrupts")


if len(sys.argv) == 4 and sys.argv[1] == "bind":
    try:
        print(try_bind(sys.argv[2], int(sys.argv[3])))
    except OSError as e:
        print(e.strerror)
        sys.exit(1)
elif len(sys.argv) > 3 and sys.argv[1] == "hold":
    hold(sys.argv[2], sys.argv[3:])
elif len(sys.argv) == 3 and sys.argv[1] == "owned":
    owned(int(sys.argv[2]))
else:
    sys.exit(__doc__)

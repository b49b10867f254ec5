#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
"""Holds one thread of another process as its tracer: hold.py TID. Prints "held". The thread goes on
when this ends, unless it was killed meanwhile."""
import ctypes
import os
import sys

SEIZE, INTERRUPT = 0x4206, 0x4207
WALL = 0x40000000
tid = int(sys.argv[1])
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
for request in SEIZE, INTERRUPT:
    if libc.ptrace(request, tid, None, None):
        sys.exit("ptrace: errno %d" % ctypes.get_errno())
print("held", flush=True)
# Dead, it must be waited for by its tracer before its process can end.
while os.WIFSTOPPED(os.waitpid(tid, WALL)[1]):
    pass

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
"""rtt.py ADDR PORT COUNT: round trips through a QUIC server's receive and transmit path.

Sends one datagram of an unknown QUIC version at a time; the answer is Version Negotiation (RFC
9000, section 6), for which the server keeps no state. One line: answered, median and worst in ms.
"""
import os
import socket
import sys
import time

if len(sys.argv) != 4:
    sys.exit(__doc__)
count = int(sys.argv[3])
trips = []
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
    sock.settimeout(2)
    for i in range(count):
        cid = os.urandom(8)
        start = time.monotonic()
        hello = b"\xc0\x1a\x2a\x3a\x4a\x08" + cid + b"\x08" + cid
        sock.sendto(hello.ljust(1200, b"\0"), (sys.argv[1], int(sys.argv[2])))
        try:
            while cid not in sock.recv(2048):
                pass
            trips.append((time.monotonic() - start) * 1000)
        except socket.timeout:
            pass
        # Without a pause the receive ring is never found empty.
        time.sleep(0.02)
trips.sort()
if trips:
    print(len(trips), round(trips[len(trips) // 2], 2), round(trips[-1], 2))
else:
    print("0 0 0")

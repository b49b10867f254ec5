# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
"""A TAP interface with several queues, and a sender that chooses the receive queue.

tapgen.py NAME QUEUES SADDR DADDR; prints "ready", then obeys lines on standard input, and answers
each with "done":

  send QUEUE PORT COUNT GAP_US   UDP datagrams that come in on this queue; QUEUE all: in turn
"""
import fcntl
import os
import socket
import struct
import sys
import time

TUNSETIFF, SIOCGIFHWADDR = 0x400454CA, 0x8927
IFF_TAP, IFF_NO_PI, IFF_MULTI_QUEUE = 0x0002, 0x1000, 0x0100


def checksum(data):
    s = sum(struct.unpack("!%dH" % (len(data) // 2), data))
    while s >> 16:
        s = (s & 0xFFFF) + (s >> 16)
    return ~s & 0xFFFF


def frame(mac, saddr, daddr, port, seq):
    payload = ("tap %d" % seq).encode().ljust(100, b".")
    udp = struct.pack("!HHHH", 40002, port, 8 + len(payload), 0) + payload
    pseudo = saddr + daddr + struct.pack("!BBH", 0, 17, len(udp))
    udp = udp[:6] + struct.pack("!H", checksum(pseudo + udp) or 0xFFFF) + udp[8:]
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 1, 0x4000, 64, 17, 0, saddr, daddr)
    ip = ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:]
    return mac + b"\x02\0\0\0\0\x01" + b"\x08\0" + ip + udp


def main():
    name, saddr, daddr = sys.argv[1], socket.inet_aton(sys.argv[3]), socket.inet_aton(sys.argv[4])
    queues = []
    for _ in range(int(sys.argv[2])):
        fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TAP | IFF_NO_PI | IFF_MULTI_QUEUE))
        queues.append(fd)
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    request = struct.pack("16s24x", name.encode())
    print("ready", flush=True)
    for line in sys.stdin:
        _, queue, port, count, gap_us = line.split()
        mac = fcntl.ioctl(s, SIOCGIFHWADDR, request)[18:24]
        for i in range(int(count)):
            fd = queues[i % len(queues) if queue == "all" else int(queue)]
            os.write(fd, frame(mac, saddr, daddr, int(port), i))
            time.sleep(int(gap_us) / 1e6)
        print("done", flush=True)


main()

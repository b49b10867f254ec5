#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
"""What the netns tests put on the wire and look for behind penstock; standard library only.

  send ADDR PORT COUNT [SIZE] [GAP_MS]  UDP datagrams "PREFIX seq ..." from a kernel socket
  receive PORT SECONDS [COUNT]          datagrams that a kernel socket gets, printed as a number
  echo ADDR                             one ICMP echo; fails without an answer within 2 s
  tcp ADDR PORT                         fails unless the kernel answers (reset or accept)
  gre ADDR COUNT / multicast PORT COUNT
  sniff IFACE SECONDS                   what reached the kernel, as JSON by kind
  bad IFACE DSTMAC KIND COUNT SEED PORT frames of one kind of badness (list: bad --kinds)
  value KEY / text KEY                  sum, or words, of KEY over a JSON document on standard input
  records KEY                           number of JSON lines on standard input, and the sum of KEY
"""
import json
import random
import select
import socket
import struct
import sys
import time

CLIENT, SERVER = "10.77.0.1", "10.77.0.2"
GROUP = "239.77.0.1"


def checksum(data):
    if len(data) % 2:
        data += b"\0"
    s = sum(struct.unpack("!%dH" % (len(data) // 2), data))
    while s >> 16:
        s = (s & 0xFFFF) + (s >> 16)
    return ~s & 0xFFFF


def udp(port, payload, length=None, csum=None):
    length = 8 + len(payload) if length is None else length
    head = struct.pack("!HHHH", 40001, port, length, 0)
    pseudo = socket.inet_aton(CLIENT) + socket.inet_aton(SERVER) + struct.pack("!BBH", 0, 17, 8 + len(payload))
    right = checksum(pseudo + head + payload) or 0xFFFF
    return head[:6] + struct.pack("!H", right if csum is None else csum(right)) + payload


def ipv4(body, options=b"", total=None, frag=0, proto=17, vihl=None, csum=None, ttl=64):
    ihl = 5 + len(options) // 4
    total = ihl * 4 + len(body) if total is None else total
    head = struct.pack("!BBHHHBBH4s4s", 0x40 | ihl if vihl is None else vihl, 0, total, 7, frag, ttl, proto, 0,
                       socket.inet_aton(CLIENT), socket.inet_aton(SERVER)) + options
    right = checksum(head)
    return head[:10] + struct.pack("!H", right if csum is None else csum(right)) + head[12:] + body


def long_header(rng, version, first=0xC0, size=1200, cid=8):
    p = bytes([first]) + struct.pack("!I", version) + bytes([cid]) + rng.randbytes(min(cid, 40)) + b"\x08" + rng.randbytes(8)
    return p + rng.randbytes(max(0, size - len(p)))


# Each makes one Ethernet payload with its type, from a seeded generator and the port attacked.
def truncated(r, port):
    return 0x0800, ipv4(udp(port, r.randbytes(64)))[:r.randrange(0, 28)]


def ip_length(r, port):
    return 0x0800, ipv4(udp(port, r.randbytes(64)), total=r.choice([0, 19, 20, 27, 93, 200, 1500, 65535]))


def udp_length(r, port):
    return 0x0800, ipv4(udp(port, r.randbytes(64), length=r.choice([0, 7, 73, 500, 65535])))


def ip_checksum(r, port):
    return 0x0800, ipv4(udp(port, r.randbytes(64)), csum=lambda c: c ^ 0x0101)


def udp_checksum(r, port):
    return 0x0800, ipv4(udp(port, r.randbytes(64), csum=lambda c: c ^ 0x0101 or 1))


def fragment(r, port):
    return 0x0800, ipv4(udp(port, r.randbytes(64)), frag=r.choice([0x2000, 0x2001, 0x0005, 0x3FFF]))


def vlan(r, port):
    inner = struct.pack("!HH", r.randrange(4096), 0x0800) + ipv4(udp(port, r.randbytes(64)))
    return r.choice([0x8100, 0x88A8]), inner


def ipv6(r, port):
    body = udp(port, r.randbytes(64))
    return 0x86DD, struct.pack("!IHBB", 6 << 28, len(body), 17, 64) + r.randbytes(32) + body


def ip_options(r, port):
    return 0x0800, ipv4(udp(port, r.randbytes(64)), options=b"\x01" * 4 * r.randrange(1, 11))


def ip_header(r, port):
    return 0x0800, ipv4(udp(port, r.randbytes(64)), vihl=r.choice([0x44, 0x40, 0x4F, 0x65, 0x05]))


def oversized(r, port):
    return 0x0800, ipv4(udp(port, b"\x40" + r.randbytes(1471)))


def quic_version(r, port):
    size = r.choice([7, 21, 60, 1199, 1200, 1472])
    return 0x0800, ipv4(udp(port, long_header(r, r.choice([0, 2, 0x6B3343CF, 0xFF00001D, 0x1A2A3A4A]), size=size)[:size]))


def initial(r, size, cid):
    """Well-formed up to its protected part, which is random."""
    head = bytes([0xC0 | r.randrange(16)]) + struct.pack("!IB", 1, cid) + r.randbytes(min(cid, 20)) + b"\x08" + r.randbytes(8)
    rest = size - len(head) - 3
    return head + b"\0" + struct.pack("!H", 0x4000 | rest) + r.randbytes(rest)


def quic_small_initial(r, port):
    return 0x0800, ipv4(udp(port, initial(r, r.choice([80, 300, 1199]), 8)))


def quic_initial(r, port):
    return 0x0800, ipv4(udp(port, initial(r, r.choice([1200, 1280, 1472]), r.choice([8, 20]))))


def quic_cid(r, port):
    return 0x0800, ipv4(udp(port, initial(r, 1200, r.choice([0, 7, 21, 255]))))


def quic_long(r, port):
    size = r.choice([7, 21, 300, 1199, 1200, 1472])
    return 0x0800, ipv4(udp(port, long_header(r, 1, 0xC0 | r.randrange(64), size, r.randrange(256))[:size]))


def quic_short(r, port):
    return 0x0800, ipv4(udp(port, bytes([r.choice([0x00, 0x40, 0x5F])]) + r.randbytes(r.randrange(0, 1400))))


def garbage(r, port):
    return 0x0800, ipv4(udp(port, r.randbytes(r.randrange(0, 1473))))


def noise(r, port):
    return r.choice([0x0800, 0x0806, r.randrange(65536)]), r.randbytes(r.randrange(0, 1500))


KINDS = [truncated, ip_length, udp_length, ip_checksum, udp_checksum, fragment, vlan, ipv6, ip_options, ip_header,
         oversized, quic_version, quic_small_initial, quic_initial,
         quic_cid, quic_long, quic_short, garbage, noise]


def bad(iface, mac, kind, count, seed, port):
    make = {k.__name__: k for k in KINDS}[kind]
    rng = random.Random("%s %s" % (seed, kind))
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    s.bind((iface, 0))
    src = s.getsockname()[4]
    for i in range(int(count)):
        ethertype, body = make(rng, int(port))
        s.send(bytes.fromhex(mac.replace(":", "")) + src + struct.pack("!H", ethertype) + body)
        if i % 32 == 31:
            time.sleep(0.002)


def send(addr, port, count, size="100", gap_ms="0", prefix="datagram"):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for i in range(int(count)):
        s.sendto(("%s %d " % (prefix, i)).encode().ljust(int(size), b"."), (addr, int(port)))
        if float(gap_ms) > 0:
            time.sleep(float(gap_ms) / 1000)
        elif i % 32 == 31:
            time.sleep(0.002)


def receive(port, seconds, count=None):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, 33, 8 << 20)  # SO_RCVBUFFORCE
    s.bind(("0.0.0.0", int(port)))
    s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(GROUP) + socket.inet_aton(SERVER))
    end, n = time.monotonic() + float(seconds), 0
    while time.monotonic() < end and (count is None or n < int(count)):
        if select.select([s], [], [], max(0, end - time.monotonic()))[0]:
            s.recv(2048)
            n += 1
    print(n)


def echo(addr):
    s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    s.settimeout(2)
    head = struct.pack("!BBHHH", 8, 0, 0, 77, 1)
    s.sendto(head[:2] + struct.pack("!H", checksum(head + b"penstock")) + head[4:] + b"penstock", (addr, 0))
    while True:
        packet = s.recv(2048)
        if packet[20] == 0 and packet[-8:] == b"penstock":
            return


def tcp(addr, port):
    s = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    s.settimeout(2)
    try:
        s.connect((addr, int(port)))
    except ConnectionRefusedError:
        pass


def gre(addr, count):
    s = socket.socket(socket.AF_INET, socket.SOCK_RAW, 47)
    for _ in range(int(count)):
        s.sendto(b"\0\0\x08\0" + bytes(60), (addr, 0))


def multicast(port, count):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(CLIENT))
    for _ in range(int(count)):
        s.sendto(b"multicast", (GROUP, int(port)))


def kind_of(frame, ethertype, tagged):
    if tagged:
        return "vlan"
    if ethertype != 0x0800:
        return {0x0806: "arp", 0x86DD: "ipv6"}.get(ethertype, "other")
    if len(frame) < 34:
        return "other"
    if struct.unpack_from("!H", frame, 20)[0] & 0x3FFF:
        return "fragment"
    if frame[30] >= 224:
        return "multicast"
    proto = frame[23]
    if proto == 17 and len(frame) >= 38:
        return "udp%d" % struct.unpack_from("!H", frame, 14 + (frame[14] & 15) * 4 + 2)[0]
    return {1: "icmp", 6: "tcp", 47: "gre"}.get(proto, "other")


def sniff(iface, seconds):
    """A packet socket sees what XDP passed, and nothing that it redirected."""
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    s.bind((iface, 3))
    s.setsockopt(263, 8, 1)  # SOL_PACKET, PACKET_AUXDATA: the kernel has taken the VLAN tag out
    end, seen = time.monotonic() + float(seconds), {}
    while time.monotonic() < end:
        if not select.select([s], [], [], max(0, end - time.monotonic()))[0]:
            continue
        frame, anc, _, addr = s.recvmsg(2048, 256)
        if addr[2] == socket.PACKET_OUTGOING:
            continue
        tagged = any(struct.unpack_from("I", data)[0] & 0x10 for _, _, data in anc)
        kind = kind_of(frame, addr[1], tagged)
        seen[kind] = seen.get(kind, 0) + 1
    print(json.dumps(seen))


def found(node, key):
    if isinstance(node, dict):
        for k, v in node.items():
            if k == key and not isinstance(v, (dict, list)):
                yield v
            else:
                yield from found(v, key)
    elif isinstance(node, list):
        for v in node:
            yield from found(v, key)


def value(key):
    text = sys.stdin.read()
    numbers = list(found(json.loads(text), key)) if text else []
    if not numbers:
        sys.exit(1)
    print(sum(numbers))


def text(key):
    print(*sorted(set(found(json.load(sys.stdin), key))), sep=", ")


def records(key):
    lines = [json.loads(line)[key] for line in sys.stdin]
    print(len(lines), sum(lines))


def main():
    if sys.argv[1:] == ["bad", "--kinds"]:
        print(*(k.__name__ for k in KINDS))
        return
    commands = {f.__name__: f for f in (send, receive, echo, tcp, gre, multicast, sniff, bad, value, text, records)}
    if len(sys.argv) < 2 or sys.argv[1] not in commands:
        sys.exit(__doc__)
    commands[sys.argv[1]](*sys.argv[2:])


if __name__ == "__main__":
    main()

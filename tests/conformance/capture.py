# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
"""Checks a capture of the relay against rules of the QUIC interop runner, through tshark and the
client's key log. Usage: capture.py PCAP KEYLOG PORT RULE[=VALUE]... ; one line of facts on stdout,
one line for each broken rule on stderr, exit code 1 when there is one.

  version            every long header is version 1, but for Version Negotiation
  negotiation        Version Negotiation, at most one for each datagram that asks, from the client's
                     first id, with version 1; then version 1
  no-retry           no Retry packet
  handshakes=N       so many distinct connection ids in the server's Initial packets
  client-hellos=N    at least so many Initial packets of the client that begin its CRYPTO stream
  chacha20           the client offers ChaCha20-Poly1305 only
  retry              a Retry with a token; a later Initial packet has it and counts on
  key-update         packets of key phase 1 from both sides
  ecn                both sides mark ECT, nobody CE, both send ACK_ECN
  amplification      at most three times the bytes received, until a Handshake packet arrives
  full-handshakes=N  so many Certificate messages from the server, no ticket, no early data taken
  early-data         packets of early data from the client
  addresses=N        at least so many client addresses, all answered but perhaps the last
  paths=N            at least so many client addresses; the server's first packet to each carries
                     PATH_CHALLENGE, and a challenge was answered from each but the last
"""

import subprocess
import sys

INITIAL, ZERO_RTT, HANDSHAKE, RETRY = 0, 1, 2, 3
ACK_ECN, CRYPTO, PATH_CHALLENGE, PATH_RESPONSE = 0x3, 0x6, 0x1A, 0x1B
CLIENT_HELLO, NEW_SESSION_TICKET, CERTIFICATE = 1, 4, 11
FIELDS = {
    "src": "ip.src", "sport": "udp.srcport", "dst": "ip.dst", "dport": "udp.dstport",
    "len": "udp.length", "ecn": "ip.dsfield.ecn", "type": "quic.long.packet_type",
    "version": "quic.version", "scid": "quic.scid", "dcid": "quic.dcid", "token": "quic.token",
    "retry_token": "quic.retry_token", "number": "quic.packet_number", "phase": "quic.key_phase",
    "frame": "quic.frame_type", "message": "tls.handshake.type", "crypto": "quic.crypto.offset",
    "supported": "quic.supported_version", "suite": "tls.handshake.ciphersuite",
}
NUMBERS = ("len", "ecn", "type", "version", "number", "phase", "frame", "message", "crypto",
           "supported", "suite")


class Datagram:
    def __init__(self, line, port):
        values = dict(zip(FIELDS, line.split("\t")))
        for name, value in values.items():
            items = [v for v in value.split(",") if v]
            if name in NUMBERS:
                items = [{"True": 1, "False": 0}.get(v, v) for v in items]
                items = [v if isinstance(v, int) else int(v, 0) for v in items]
            setattr(self, name, items)
        self.from_client = self.dport == [str(port)]
        client = (self.src, self.sport) if self.from_client else (self.dst, self.dport)
        self.client = (client[0][0], client[1][0])
        self.bytes = self.len[0] - 8


def read(pcap, keylog, port):
    command = ["tshark", "-r", pcap, "-d", f"udp.port=={port},quic", "-T", "fields", "-E",
               "separator=/t", "-E", "occurrence=a"]
    if keylog != "none":
        command += ["-o", f"tls.keylog_file:{keylog}"]
    for field in FIELDS.values():
        command += ["-e", field]
    lines = subprocess.run(command, check=True, stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL, text=True).stdout.splitlines()
    return [Datagram(line, port) for line in lines]


class Capture:
    def __init__(self, datagrams):
        self.up = [d for d in datagrams if d.from_client]
        self.down = [d for d in datagrams if not d.from_client]
        self.all = datagrams
        self.facts = []
        self.broken = []

    def check(self, ok, text):
        (self.facts if ok else self.broken).append(text)

    def version(self, _):
        seen = {v for d in self.all for v in d.version}
        self.check(seen == {1}, f"versions {sorted(seen)}")

    def negotiation(self, _):
        first = self.up[0]
        asked = [d for d in self.up if d.version and 1 not in d.version]
        answers = [d for d in self.down if 0 in d.version]
        n = len(answers)
        self.check(0 < n <= len(asked), f"{n} Version Negotiation to {len(asked)} datagrams")
        ids = all((d.scid, d.dcid) == (first.dcid, first.scid) for d in answers)
        self.check(ids, "its ids are the client's, swapped")
        self.check(all(1 in d.supported for d in answers), "it lists version 1")
        largest = max((d.bytes for d in answers), default=0)
        self.check(first.bytes >= 3 * largest, f"it has {largest} bytes")
        self.check(any(1 in d.version for d in self.down), "then version 1")

    def no_retry(self, _):
        self.check(not any(RETRY in d.type for d in self.down), "no Retry")

    def handshakes(self, n):
        ids = {d.scid[0] for d in self.down if d.type and d.type[0] == INITIAL}
        self.check(len(ids) == n, f"{len(ids)} handshakes of {n}")

    def client_hellos(self, n):
        seen = sum(INITIAL in d.type and 0 in d.crypto for d in self.up)
        self.check(seen >= n, f"{seen} ClientHellos")

    def chacha20(self, _):
        suites = {s for d in self.up for s in d.suite}
        self.check(suites == {0x1303}, f"cipher suites {sorted(map(hex, suites))}")

    def retry(self, _):
        tokens = [t for d in self.down if RETRY in d.type for t in d.retry_token]
        self.check(len(tokens) >= 1, f"{len(tokens)} Retry")
        with_token = [d for d in self.up if d.token and d.token[0] in tokens]
        first = [d for d in self.up if INITIAL in d.type and not d.token]
        self.check(bool(with_token), "Initial with the token of the Retry")
        if with_token and first:
            ok = min(d.number[0] for d in with_token) > min(d.number[0] for d in first)
            self.check(ok, "packet numbers go on after the Retry")

    def key_update(self, _):
        for name, side in (("client", self.up), ("server", self.down)):
            n = sum(1 in d.phase for d in side)
            self.check(n > 0, f"{n} packets of key phase 1 from the {name}")

    def ecn(self, _):
        for name, side in (("client", self.up), ("server", self.down)):
            marked = sum(d.ecn[0] in (1, 2) for d in side)
            acks = sum(ACK_ECN in d.frame for d in side)
            self.check(marked > 0, f"{marked} of {len(side)} from the {name} marked")
            self.check(acks > 0, f"{acks} ACK_ECN from the {name}")
            self.check(not any(d.ecn[0] == 3 for d in side), f"no CE from the {name}")

    def amplification(self, _):
        received, sent, worst = {}, {}, 0.0
        proven = set()
        for d in self.all:
            if d.from_client:
                received[d.client] = received.get(d.client, 0) + d.bytes
                if HANDSHAKE in d.type:
                    proven.add(d.client)
            elif d.client not in proven:
                sent[d.client] = sent.get(d.client, 0) + d.bytes
                worst = max(worst, sent[d.client] / max(1, received.get(d.client, 0)))
        self.check(0 < worst <= 3, f"{worst:.2f} times the bytes received")

    def full_handshakes(self, n):
        seen = sum(d.message.count(CERTIFICATE) for d in self.down)
        tickets = sum(d.message.count(NEW_SESSION_TICKET) for d in self.down)
        self.check(seen == n, f"{seen} Certificates of {n} from the server")
        self.check(tickets == 0, f"{tickets} tickets")

    def early_data(self, _):
        seen = sum(ZERO_RTT in d.type for d in self.up)
        self.check(seen > 0, f"{seen} packets of early data, none of use")

    def addresses(self, n):
        seen = list(dict.fromkeys(d.client for d in self.up))
        answered = {d.client for d in self.down}
        self.check(len(seen) >= n and answered >= set(seen[:-1]), f"{len(seen)} client addresses")

    def paths(self, n):
        paths = list(dict.fromkeys(d.client for d in self.up))
        self.check(len(paths) >= n, f"{len(paths)} client addresses")
        challenged = answered = 0
        for path in paths[1:]:
            first = next((d for d in self.down if d.client == path), None)
            if first is None:
                continue
            challenged += PATH_CHALLENGE in first.frame
            self.check(PATH_CHALLENGE in first.frame, f"first packet to {path[0]}:{path[1]} challenges")
            answered += any(d.client == path and PATH_RESPONSE in d.frame for d in self.up)
        self.check(challenged > 0, f"{challenged} paths challenged")
        self.check(answered >= len(paths) - 2, f"{answered} answered")


def main():
    pcap, keylog, port, *rules = sys.argv[1:]
    capture = Capture(read(pcap, keylog, int(port)))
    if not capture.up or not capture.down:
        print("the capture is empty", file=sys.stderr)
        return 1
    for rule in rules:
        name, _, value = rule.partition("=")
        getattr(capture, name.replace("-", "_"))(int(value or 0))
    print("; ".join(capture.facts))
    for text in capture.broken:
        print(f"broken: {text}", file=sys.stderr)
    return 1 if capture.broken else 0


sys.exit(main())

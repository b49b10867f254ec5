# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
"""The interop suite's aioquic client: pure Python QUIC and TLS. Sends transactions from a file, one
per unidirectional stream, and prints the same JSON as tpu_client_ngtcp2. Exit code 0 when every
stream was acknowledged, 1 when not, 2 for usage."""

import argparse
import json
import os
import select
import socket
import ssl
import struct
import sys
import time

from aioquic.quic import events
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.packet import QuicProtocolVersion
from aioquic.tls import CipherSuite

from certificate import certificate

OPEN_STREAMS = 16  # it takes turns between them, and a stream should end soon after its first byte
UNKNOWN_VERSION = 0x1A2A3A4A
CIPHERS = {
    "aes128": CipherSuite.AES_128_GCM_SHA256,
    "aes256": CipherSuite.AES_256_GCM_SHA384,
    "chacha20": CipherSuite.CHACHA20_POLY1305_SHA256,
}


def parse():
    p = argparse.ArgumentParser(prog="tpu_client_aioquic", allow_abbrev=False)
    p.add_argument("--host", required=True)
    p.add_argument("--port", type=int, required=True)
    p.add_argument("--count", type=int, required=True)
    p.add_argument("--from-file", help="transactions, each after its little-endian u32 length")
    p.add_argument("--connections", type=int, default=1)
    p.add_argument("--alpn", default="solana-tpu")
    p.add_argument("--cert", default="ed25519", help="none, ed25519 or a PEM file: certificates, key")
    p.add_argument("--cipher", choices=CIPHERS, help="offer this one only")
    p.add_argument("--key-update-every", type=int, default=0, help="acknowledged streams")
    p.add_argument("--unknown-version", action="store_true", help="begin with a reserved version")
    p.add_argument("--early-data", action="store_true", help="with a ticket of another server")
    p.add_argument("--change-cid", action="store_true", help="use another id after half of it")
    p.add_argument("--empty", action="store_true")
    p.add_argument("--timeout", type=float, default=60)
    args = p.parse_args()
    if args.count > 0 and not args.from_file:
        p.error("--count needs --from-file")
    return args


def read_transactions(path, count):
    with open(path, "rb") as f:
        for _ in range(count):
            (length,) = struct.unpack("<I", f.read(4))
            yield f.read(length)


def foreign_ticket(args):
    """A session ticket, which allows early data, of a server in this process."""
    tickets, stored = [], {}
    certified = certificate()
    server_config = QuicConfiguration(is_client=False, alpn_protocols=[args.alpn],
                                      certificate=certified[0], private_key=certified[1])
    client_config = QuicConfiguration(alpn_protocols=[args.alpn], verify_mode=ssl.CERT_NONE,
                                      server_name=server_name(args))
    client = QuicConnection(configuration=client_config, session_ticket_handler=tickets.append)
    client.connect(("server", 1), 0.0)
    first = client.datagrams_to_send(0.0)
    server = QuicConnection(
        configuration=server_config, session_ticket_fetcher=stored.get,
        original_destination_connection_id=client.original_destination_connection_id,
        session_ticket_handler=lambda ticket: stored.update({ticket.ticket: ticket}))
    # As ours: the client sends its further ids early, and again when the data was not taken.
    server._local_active_connection_id_limit = 2
    for data, _ in first:
        server.receive_datagram(data, ("client", 1), 0.0)
    for _ in range(4):
        for source, sink in ((server, client), (client, server)):
            for data, _ in source.datagrams_to_send(0.0):
                sink.receive_datagram(data, ("peer", 1), 0.0)
    return tickets[0]


def server_name(args):
    return f"{args.host}.{args.port}.sol"


class Run:
    def __init__(self, args):
        self.args = args
        self.deadline = time.monotonic() + args.timeout
        self.pending = list(read_transactions(args.from_file, args.count)) if args.count else []
        if args.empty:
            self.pending.insert(0, b"")
        self.total = len(self.pending)
        self.pending.reverse()
        self.sent = self.acked = self.bytes = self.handshakes = self.retries = self.updates = 0
        self.close = None
        self.cipher = ""

    def note_close(self, event):
        print("connection lost:", hex(event.error_code), event.reason_phrase, file=sys.stderr)
        if self.close is None:
            kind = "application" if event.frame_type is None else "transport"
            self.close = (kind, event.error_code)

    def report(self):
        kind, code = self.close or ("none", None)
        alert = code & 0xFF if kind == "transport" and code >> 8 == 1 else None
        print(json.dumps({
            "sent": self.sent, "acked": self.acked, "bytes": self.bytes, "close_code": code,
            "close_kind": kind, "alert": alert, "handshakes": self.handshakes,
            "retries": self.retries, "key_updates": self.updates, "cipher": self.cipher,
        }))


class Client:
    def __init__(self, run):
        args = run.args
        self.run = run
        self.peer = (args.host, args.port)
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sock.setblocking(False)
        self.sock.connect(self.peer)
        config = QuicConfiguration(
            alpn_protocols=[args.alpn], verify_mode=ssl.CERT_NONE, idle_timeout=args.timeout,
            server_name=server_name(args), secrets_log_file=run.secrets,
            cipher_suites=[CIPHERS[args.cipher]] if args.cipher else None)
        if args.cert == "ed25519":
            config.certificate, config.private_key = run.identity
        elif args.cert != "none":
            config.load_cert_chain(args.cert)
        if args.early_data:
            config.session_ticket = foreign_ticket(args)
        if args.unknown_version:
            config.original_version = UNKNOWN_VERSION
            config.supported_versions = [UNKNOWN_VERSION, QuicProtocolVersion.VERSION_1]
        self.quic = QuicConnection(configuration=config)
        self.open = {}
        self.handshaken = self.dead = self.changed_cid = self.closing = False
        self.acked = self.last_update = 0
        self.quic.connect(self.peer, time.monotonic())
        if args.early_data:
            self.open_streams()

    def handle_events(self):
        while (event := self.quic.next_event()) is not None:
            if isinstance(event, events.HandshakeCompleted):
                self.handshaken = True
                self.run.handshakes += 1
                self.run.cipher = self.quic.tls.key_schedule.cipher_suite.name
                self.run.retries += self.quic._retry_count
            elif isinstance(event, events.ConnectionTerminated):
                self.dead = True
                if not self.closing:
                    self.run.note_close(event)

    def open_streams(self):
        run = self.run
        limit = self.quic._remote_max_streams_uni
        while run.pending and len(self.open) < OPEN_STREAMS:
            stream_id = self.quic.get_next_available_stream_id(is_unidirectional=True)
            if stream_id // 4 >= limit:
                return
            data = run.pending.pop()
            self.quic.send_stream_data(stream_id, data, end_stream=True)
            self.open[stream_id] = self.quic._streams[stream_id].sender
            run.sent += 1
            run.bytes += len(data)

    def count_acked(self):
        done = [i for i, sender in self.open.items() if sender.is_finished]
        for stream_id in done:
            del self.open[stream_id]
        self.acked += len(done)
        self.run.acked += len(done)
        every = self.run.args.key_update_every
        if every and self.acked >= self.last_update + every:
            self.last_update = self.acked
            self.quic.request_key_update()
            self.run.updates += 1
        if self.run.args.change_cid and not self.changed_cid and self.acked > self.run.total / 2:
            self.changed_cid = True
            self.quic.change_connection_id()

    def finished(self):
        return self.dead or (self.handshaken and not self.open and not self.run.pending)

    def step(self):
        for _ in range(64):
            try:
                data = self.sock.recv(2048)
            except (BlockingIOError, ConnectionRefusedError):
                break
            self.quic.receive_datagram(data, self.peer, time.monotonic())
        now = time.monotonic()
        timer = self.quic.get_timer()
        if timer is not None and timer <= now:
            self.quic.handle_timer(now)
        self.handle_events()
        if self.handshaken and not self.dead:
            self.count_acked()
            self.open_streams()
        self.flush()

    def flush(self):
        for data, _ in self.quic.datagrams_to_send(time.monotonic()):
            try:
                self.sock.send(data)
            except (BlockingIOError, ConnectionRefusedError):
                pass

    def end(self):
        self.closing = True
        if not self.dead:
            self.quic.close(error_code=0)
            self.flush()
        self.sock.close()


def loop(run, clients):
    linger = 1 if run.args.empty else 0
    while time.monotonic() < run.deadline:
        for c in clients:
            c.step()
        if all(c.dead for c in clients):
            return
        if all(c.finished() for c in clients):
            if linger <= 0:
                return
            linger -= 0.02
        now = time.monotonic()
        timers = [t for c in clients if not c.dead and (t := c.quic.get_timer()) is not None]
        wait = max(0, min(0.02, min(timers, default=now + 1) - now))
        select.select([c.sock for c in clients], [], [], wait)


def main():
    args = parse()
    run = Run(args)
    path = os.environ.get("SSLKEYLOGFILE")
    run.secrets = open(path, "a") if path else None
    run.identity = certificate()
    clients = [Client(run) for _ in range(args.connections)]
    loop(run, clients)
    for c in clients:
        c.end()
    run.report()
    return 0 if run.acked == run.total else 1


sys.exit(main())

# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
"""A validator that does not want every fourth transaction: it answers that stream with STOP_SENDING
before it acknowledges it, and goes on.  usage: stopper.py PORT

Prints "STOPPED TAKEN" in a line each time they change. aioquic as the server."""

import asyncio
import sys

from aioquic.asyncio import QuicConnectionProtocol, serve
from aioquic.quic import events
from aioquic.quic.configuration import QuicConfiguration

from certificate import certificate

ACK_DELAY_S = 0.02
count = {"stopped": 0, "taken": 0}


class Validator(QuicConnectionProtocol):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._quic._ack_delay = ACK_DELAY_S
        self.stopped = set()

    def quic_event_received(self, event):
        if not isinstance(event, events.StreamDataReceived):
            return
        if event.stream_id // 4 % 4 == 0 and event.stream_id not in self.stopped:
            # all of it may be here already, and then it would not be stopped any more
            self._quic._streams[event.stream_id].receiver.is_finished = False
            self._quic.stop_stream(event.stream_id, 0)
            self.stopped.add(event.stream_id)
            count["stopped"] += 1
        elif event.end_stream and event.stream_id not in self.stopped:
            count["taken"] += 1
        print(count["stopped"], count["taken"], flush=True)


async def main():
    config = QuicConfiguration(is_client=False, alpn_protocols=["solana-tpu"])
    config.certificate, config.private_key = certificate()
    await serve("127.0.0.1", int(sys.argv[1]), configuration=config, create_protocol=Validator)
    print("0 0", flush=True)
    await asyncio.Future()


asyncio.run(main())

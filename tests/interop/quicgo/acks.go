// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 The Penstock authors

package main

import (
	"context"
	"sync"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/qlog"
	"github.com/quic-go/quic-go/qlogwriter"
)

const ackPoll = 5 * time.Millisecond

type piece struct {
	stream     qlog.StreamID
	start, end int64
	fin        bool
}

// What of a stream was acknowledged: whole when the FIN was, and as many bytes as lie before it.
type acked struct {
	bytes map[int64]int64 // end of the longest piece that starts there
	size  int64           // -1 until the FIN is acknowledged
}

func (a *acked) whole() bool {
	at := int64(0)
	for a.size >= 0 && at < a.size {
		best := at
		for start, end := range a.bytes {
			if start <= at && end > best {
				best = end
			}
		}
		if best == at {
			return false
		}
		at = best
	}
	return a.size >= 0
}

// quic-go does not tell when a stream was acknowledged, but its trace shows what each packet
// carried and which packets were acknowledged.
type ackCounter struct {
	mu        sync.Mutex
	inFlight  map[qlog.PacketNumber][]piece
	partial   map[qlog.StreamID]*acked
	finished  map[qlog.StreamID]bool
	nRetries  int
	nFinished uint64
}

func newAckCounter() *ackCounter {
	return &ackCounter{
		inFlight: map[qlog.PacketNumber][]piece{},
		partial:  map[qlog.StreamID]*acked{},
		finished: map[qlog.StreamID]bool{},
	}
}

func (c *ackCounter) tracer(context.Context, bool, quic.ConnectionID) qlogwriter.Trace { return c }
func (c *ackCounter) AddProducer() qlogwriter.Recorder                                 { return c }
func (c *ackCounter) SupportsSchemas(string) bool                                      { return true }
func (c *ackCounter) Close() error                                                     { return nil }

func (c *ackCounter) RecordEvent(e qlogwriter.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch e := e.(type) {
	case qlog.PacketSent:
		if e.Header.PacketType == qlog.PacketType1RTT {
			c.noteSent(e.Header.PacketNumber, e.Frames)
		}
	case qlog.PacketReceived:
		switch e.Header.PacketType {
		case qlog.PacketTypeRetry:
			c.nRetries++
		case qlog.PacketType1RTT:
			for _, f := range e.Frames {
				if ack, ok := f.Frame.(*qlog.AckFrame); ok {
					c.noteAck(ack)
				}
			}
		}
	}
}

func (c *ackCounter) noteSent(number qlog.PacketNumber, frames []qlog.Frame) {
	for _, f := range frames {
		if s, ok := f.Frame.(*qlog.StreamFrame); ok {
			c.inFlight[number] = append(c.inFlight[number],
				piece{s.StreamID, s.Offset, s.Offset + s.Length, s.Fin})
		}
	}
}

func (c *ackCounter) noteAck(ack *qlog.AckFrame) {
	for number, pieces := range c.inFlight {
		if !ack.AcksPacket(number) {
			continue
		}
		delete(c.inFlight, number)
		for _, p := range pieces {
			c.notePiece(p)
		}
	}
}

func (c *ackCounter) notePiece(p piece) {
	if c.finished[p.stream] {
		return
	}
	a := c.partial[p.stream]
	if a == nil {
		a = &acked{bytes: map[int64]int64{}, size: -1}
		c.partial[p.stream] = a
	}
	a.bytes[p.start] = max(a.bytes[p.start], p.end)
	if p.fin {
		a.size = p.end
	}
	if a.whole() {
		delete(c.partial, p.stream)
		c.finished[p.stream] = true
		c.nFinished++
	}
}

func (c *ackCounter) streams() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.nFinished
}

func (c *ackCounter) retries() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.nRetries
}

// wait returns when that many streams were acknowledged.
func (c *ackCounter) wait(ctx context.Context, conn *quic.Conn, sent uint64) error {
	for c.streams() < sent {
		select {
		case <-conn.Context().Done():
			return context.Cause(conn.Context())
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(ackPoll):
		}
	}
	return nil
}

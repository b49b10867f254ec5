// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 The Penstock authors

package main

import (
	"context"
	"crypto/tls"
	"errors"

	"github.com/quic-go/quic-go"
)

// So many fill the first datagrams of the client.
const earlyStreams = 4

type ticketCache struct {
	tls.ClientSessionCache
	filled chan struct{}
}

func (t *ticketCache) Put(name string, ticket *tls.ClientSessionState) {
	t.ClientSessionCache.Put(name, ticket)
	select {
	case t.filled <- struct{}{}:
	default:
	}
}

// getTicket fills the cache of config with a ticket, good for early data, of a server in this process.
func getTicket(ctx context.Context, config *tls.Config) error {
	cert, err := certificate()
	if err != nil {
		return err
	}
	cache := &ticketCache{tls.NewLRUClientSessionCache(1), make(chan struct{}, 1)}
	config.ClientSessionCache = cache
	listener, err := quic.ListenAddr("127.0.0.1:0",
		&tls.Config{Certificates: []tls.Certificate{*cert}, NextProtos: config.NextProtos},
		&quic.Config{Allow0RTT: true})
	if err != nil {
		return err
	}
	defer listener.Close()
	conn, err := quic.DialAddr(ctx, listener.Addr().String(), config, nil)
	if err != nil {
		return err
	}
	defer conn.CloseWithError(0, "done")
	select {
	case <-cache.filled:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// dialEarly returns a connection whose early data, the first streams, was not taken, as the server
// never gave the ticket; all are to be sent again.
func dialEarly(ctx context.Context, address string, config *tls.Config, quicConfig *quic.Config,
	first [][]byte) (*quic.Conn, error) {
	if err := getTicket(ctx, config); err != nil {
		return nil, err
	}
	conn, err := quic.DialAddrEarly(ctx, address, config, quicConfig)
	if err != nil {
		return nil, err
	}
	for _, data := range first {
		s, err := conn.OpenUniStream()
		if err != nil {
			break // it was refused meanwhile
		}
		s.Write(data)
		s.Close()
	}
	if conn, err = conn.NextConnection(ctx); err == nil && conn.ConnectionState().Used0RTT {
		return conn, errors.New("early data was taken")
	}
	return conn, err
}

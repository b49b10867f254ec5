// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 The Penstock authors

// The interop suite's quic-go client, with Go's own TLS: its default key shares, so the ClientHello
// with a post-quantum one fills two packets. Sends transactions from a file, one per
// unidirectional stream, and prints the same JSON as tpu_client_ngtcp2. Exit code 0 when every
// stream was acknowledged, 1 when not, 2 for usage.
package main

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"sync"
	"time"

	"github.com/quic-go/quic-go"
)

const (
	transactionMax = 1 << 20
	lingerForClose = time.Second
)

type options struct {
	host, alpn, cert, fromFile string
	port, connections          int
	count                      uint64
	timeout                    time.Duration
	empty, early, unknown      bool
}

type report struct {
	Sent       uint64  `json:"sent"`
	Acked      uint64  `json:"acked"`
	Bytes      uint64  `json:"bytes"`
	CloseCode  *uint64 `json:"close_code"`
	CloseKind  string  `json:"close_kind"`
	Alert      *uint64 `json:"alert"`
	Handshakes int     `json:"handshakes"`
	Retries    int     `json:"retries"`
	Cipher     string  `json:"cipher"`
}

type client struct {
	options
	streams [][]byte

	mu     sync.Mutex
	next   int
	report report
}

func usage() {
	fmt.Fprintln(os.Stderr, `usage: tpu_client_quicgo --host ADDR --port PORT --count N --from-file FILE [--connections C]
    [--alpn A] [--cert none|ed25519|PEM] [--empty] [--early-data] [--unknown-version] [--timeout S]
PEM is a file with certificates and their key; FILE holds the transactions, each after its little-endian u32 length; the first N are sent`)
	os.Exit(2)
}

func parse() options {
	var o options
	var seconds int
	f := flag.NewFlagSet("", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringVar(&o.host, "host", "", "")
	f.IntVar(&o.port, "port", 0, "")
	f.Uint64Var(&o.count, "count", 0, "")
	f.StringVar(&o.fromFile, "from-file", "", "")
	f.IntVar(&o.connections, "connections", 1, "")
	f.StringVar(&o.alpn, "alpn", "solana-tpu", "")
	f.StringVar(&o.cert, "cert", "ed25519", "")
	f.BoolVar(&o.empty, "empty", false, "")
	f.BoolVar(&o.early, "early-data", false, "")
	f.BoolVar(&o.unknown, "unknown-version", false, "")
	f.IntVar(&seconds, "timeout", 60, "")
	if f.Parse(os.Args[1:]) != nil || f.NArg() > 0 || net.ParseIP(o.host) == nil ||
		o.port < 1 || o.port > 65535 || o.connections < 1 || seconds < 1 ||
		(o.count > 0 && o.fromFile == "") {
		usage()
	}
	o.timeout = time.Duration(seconds) * time.Second
	return o
}

func readTransactions(path string, count uint64) ([][]byte, error) {
	var all [][]byte
	data, err := os.ReadFile(path)
	for uint64(len(all)) < count && err == nil {
		if len(data) < 4 {
			return nil, fmt.Errorf("%s ends after %d transactions", path, len(all))
		}
		n := binary.LittleEndian.Uint32(data)
		if n > transactionMax || int(n) > len(data)-4 {
			return nil, fmt.Errorf("%s: transaction %d is cut off", path, len(all))
		}
		all = append(all, data[4:4+n])
		data = data[4+n:]
	}
	return all, err
}

// Not Solana's template but a certificate as Go makes them.
func certificate() (*tls.Certificate, error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(24 * time.Hour),
		DNSNames:     []string{"localhost"},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private}, err
}

func (c *client) identity() (*tls.Certificate, error) {
	if c.cert == "ed25519" {
		return certificate()
	}
	cert, err := tls.LoadX509KeyPair(c.cert, c.cert)
	return &cert, err
}

func (c *client) tlsConfig() (*tls.Config, error) {
	config := &tls.Config{
		InsecureSkipVerify: true, // clients do not authenticate the server
		MinVersion:         tls.VersionTLS13,
		NextProtos:         []string{c.alpn},
		ServerName:         fmt.Sprintf("%s.%d.sol", c.host, c.port),
	}
	if path := os.Getenv("SSLKEYLOGFILE"); path != "" {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, err
		}
		config.KeyLogWriter = f
	}
	if c.cert == "none" {
		return config, nil
	}
	cert, err := c.identity()
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		return cert, nil
	}
	return config, err
}

func (c *client) nextStream() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.next == len(c.streams) {
		return nil
	}
	c.next++
	return c.streams[c.next-1]
}

func (c *client) noteClose(err error) {
	var app *quic.ApplicationError
	var transport *quic.TransportError
	var kind string
	var code uint64

	fmt.Fprintln(os.Stderr, "connection lost:", err)
	if errors.As(err, &app) && app.Remote {
		kind, code = "application", uint64(app.ErrorCode)
	} else if errors.As(err, &transport) && transport.Remote {
		kind, code = "transport", uint64(transport.ErrorCode)
	} else {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.report.CloseCode != nil {
		return
	}
	c.report.CloseKind, c.report.CloseCode = kind, &code
	if kind == "transport" && code>>8 == 1 {
		alert := code & 0xff
		c.report.Alert = &alert
	}
}

// sendAll returns how many streams it sent.
func (c *client) sendAll(ctx context.Context, conn *quic.Conn) (uint64, error) {
	sent := uint64(0)
	for data := c.nextStream(); data != nil; data = c.nextStream() {
		s, err := conn.OpenUniStreamSync(ctx)
		if err != nil {
			return sent, err
		}
		if _, err := s.Write(data); err != nil {
			return sent, err
		}
		if err := s.Close(); err != nil {
			return sent, err
		}
		sent++
		c.mu.Lock()
		c.report.Sent++
		c.report.Bytes += uint64(len(data))
		c.mu.Unlock()
	}
	return sent, nil
}

func (c *client) dial(ctx context.Context, config *tls.Config, acks *ackCounter) (*quic.Conn, error) {
	address := fmt.Sprintf("%s:%d", c.host, c.port)
	quicConfig := &quic.Config{
		MaxIdleTimeout:       c.timeout,
		HandshakeIdleTimeout: c.timeout,
		KeepAlivePeriod:      time.Second,
		Tracer:               acks.tracer,
	}
	if c.unknown {
		quicConfig.Versions = []quic.Version{quic.Version2, quic.Version1}
	}
	if c.early {
		first := c.streams[:min(earlyStreams, len(c.streams))]
		return dialEarly(ctx, address, config, quicConfig, first)
	}
	return quic.DialAddr(ctx, address, config, quicConfig)
}

func (c *client) connection(ctx context.Context, config *tls.Config) {
	acks := newAckCounter()
	conn, err := c.dial(ctx, config, acks)
	if err != nil {
		c.noteClose(err)
		return
	}
	c.mu.Lock()
	c.report.Handshakes++
	c.report.Cipher = tls.CipherSuiteName(conn.ConnectionState().TLS.CipherSuite)
	c.mu.Unlock()
	sent, err := c.sendAll(ctx, conn)
	if err == nil {
		err = acks.wait(ctx, conn, sent)
	}
	if err == nil && c.empty {
		select {
		case <-conn.Context().Done():
			err = context.Cause(conn.Context())
		case <-time.After(lingerForClose):
		}
	}
	if err != nil {
		c.noteClose(err)
	}
	c.mu.Lock()
	c.report.Acked += acks.streams()
	c.report.Retries += acks.retries()
	c.mu.Unlock()
	conn.CloseWithError(0, "done")
	// The close is written by another goroutine.
	time.Sleep(50 * time.Millisecond)
}

func main() {
	c := client{options: parse(), report: report{CloseKind: "none"}}
	streams, err := [][]byte(nil), error(nil)
	if c.fromFile != "" {
		streams, err = readTransactions(c.fromFile, c.count)
	}
	if c.empty {
		streams = append([][]byte{{}}, streams...)
	}
	c.streams = streams
	var config *tls.Config
	if err == nil {
		config, err = c.tlsConfig()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.timeout)
	defer cancel()
	var group sync.WaitGroup
	for range c.connections {
		group.Go(func() { c.connection(ctx, config) })
	}
	group.Wait()
	json.NewEncoder(os.Stdout).Encode(&c.report)
	if c.report.Acked != uint64(len(c.streams)) {
		os.Exit(1)
	}
}

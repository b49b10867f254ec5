#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# Two workers on a TAP of two queues, and a client whose NAT gives it another port all the time: its
# packets reach either worker, and one of them has the connection. Every transaction arrives once.

. "$(dirname "$0")/../interop/lib.sh"
. "$(dirname "$0")/ports.sh"
RELAY=$BUILD/tests/conformance/relay
need_bed
need_ngtcp2
[ -x "$RELAY" ] || skip "$RELAY is not built; ninja -C $BUILD"
[ -c /dev/net/tun ] || skip "needs /dev/net/tun"
[ "$(nproc)" -ge 2 ] || skip "needs two processors"
make_bed

in_server_exec_bridge() { exec ip netns exec "$NSS" python3 "$NETNS_DIR/mqbridge.py" mq 2 srv; }
spawn bridge in_server_exec_bridge
wait_for 5 grep -q ready "$TMP/bridge.out" || skip "a TAP with two queues cannot be made here"
ip -n "$NSS" addr del $SERVER_ADDR/24 dev srv
ip -n "$NSS" addr add $SERVER_ADDR/24 dev mq
ip -n "$NSS" link set mq up
write_conf "$TMP/penstock.ini"
spawn penstock in_server_exec "$PENSTOCK" run -c "$TMP/penstock.ini" -l 0,1 -o port.net.device=mq \
	-o port.net.queues=2 -o quic.stream_deadline_ms=30000 -- --no-pci
PENSTOCK_PID=$PID
wait_for 15 top_value redirected >/dev/null || fail "penstock does not start"

spawn relay in_client_exec "$RELAY" --listen 127.0.0.1:$TPU_PORT --to $SERVER_ADDR:$TPU_PORT \
	--from $CLIENT_ADDR --delay 5 --rate 10000 --queue 50 --rebind 200:200
wait_for 5 grep -q ready "$TMP/relay.log" || fail "the relay does not start"
start_check 2500 --seed 11 "$FEEDS/tpu.1"
in_client timeout 100 "$NGTCP2" --host 127.0.0.1 --port $TPU_PORT --count 2500 --seed 11 --timeout 90 \
	>"$TMP/client.out" 2>"$TMP/client.log" || fail "the client: $(tail -n 1 "$TMP/client.out")"
end_check

handed=$(top_value handed_over) moved=$(top_value paths_moved)
[ "$handed" -gt 0 ] || fail "nothing came by the other worker"
[ "$moved" -ge 2 ] || fail "the client moved $moved times only"
[ "$(top_value quic_no_conn)" -eq 0 ] || fail "$(top_value quic_no_conn) packets found no connection"
[ "$(top_value handshakes_done)" -eq 1 ] || fail "$(top_value handshakes_done) handshakes"
stop_penstock
pass "2500 transactions over $moved addresses, $handed datagrams handed over"

# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# The test bed: two network namespaces joined by a veth pair, and penstock on the server's end.
#
#   client namespace $NSC               server namespace $NSS
#   cli  10.77.0.1/24  ---- veth ----   srv  10.77.0.2/24, penstock on AF_XDP
#
# Sourced by the tests beside it and by deploy/quickstart.sh. Everything made here carries the
# process id in its name, and is gone when the sourcing script ends, in whatever way: namespaces,
# processes started with spawn, and $TMP with the feeds. Tests end through pass, fail or skip,
# whose reason is the last line; exit code 0, 1 or 77.

set -u

NETNS_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ROOT=$(cd "$NETNS_DIR/../.." && pwd)
BUILD=${PENSTOCK_BUILD:-$ROOT/build}
PENSTOCK=$BUILD/app/penstock
INSTANCE=netns$$
NSC=psc$$
NSS=pss$$
CLIENT_ADDR=10.77.0.1
SERVER_ADDR=10.77.0.2
PIDS=()
TMP=

pass() {
	echo "pass: $*"
	exit 0
}

fail() {
	local log
	for log in "$TMP"/*.log; do
		[ -s "$log" ] && sed "s|^|  ${log##*/}: |" "$log" | tail -n 20
	done
	echo "fail: $*"
	exit 1
}

skip() {
	echo "skip: $*"
	exit 77
}

in_client() { ip netns exec "$NSC" "$@"; }
in_server() { ip netns exec "$NSS" "$@"; }
wire() { python3 "$NETNS_DIR/wire.py" "$@"; }
client_wire() { in_client python3 "$NETNS_DIR/wire.py" "$@"; }
server_wire() { in_server python3 "$NETNS_DIR/wire.py" "$@"; }

# spawn LOG COMMAND...: runs it in the background with output in $TMP/LOG.{log,out}; pid in $PID.
spawn() {
	local log=$1
	shift
	"$@" >"$TMP/$log.out" 2>"$TMP/$log.log" &
	PID=$!
	PIDS+=("$PID")
}

alive() { kill -0 "$1" 2>/dev/null && [ "$(ps -o stat= -p "$1" | cut -c1)" != Z ]; }
gone() { ! alive "$1"; }

# wait_for SECONDS COMMAND...: polls until the command succeeds.
wait_for() {
	local end=$(($(date +%s%N) / 1000000 + $1 * 1000))
	shift
	until "$@"; do
		[ $(($(date +%s%N) / 1000000)) -lt "$end" ] || return 1
		sleep 0.05
	done
}

# stop PID...: ends processes that we started, gently first.
stop() {
	local pid
	for pid in "$@"; do
		kill -CONT "$pid" 2>/dev/null
		kill -TERM "$pid" 2>/dev/null
	done
	for pid in "$@"; do
		wait_for 3 gone "$pid" || kill -KILL "$pid" 2>/dev/null
		wait "$pid" 2>/dev/null
	done
}

cleanup() {
	local code=$?
	trap - EXIT
	trap '' INT TERM HUP
	[ ${#PIDS[@]} -eq 0 ] || stop "${PIDS[@]}"
	ip netns del "$NSC" 2>/dev/null
	ip netns del "$NSS" 2>/dev/null
	[ -z "$TMP" ] || rm -rf "$TMP"
	# EAL keeps its run-time directory, whose name is its file prefix.
	rm -rf "/var/run/dpdk/penstock-$INSTANCE" "/var/run/dpdk/penstock-$INSTANCE-2"
	exit "$code"
}

# The last line says what is missing, when something is.
need_bed() {
	[ "$(id -u)" -eq 0 ] || skip "needs root for network namespaces and XDP"
	local tool
	for tool in ip ethtool python3; do
		command -v "$tool" >/dev/null || skip "needs $tool; apt-get install iproute2 ethtool python3"
	done
	[ -x "$PENSTOCK" ] || skip "$PENSTOCK is not built; ninja -C $BUILD"
}

# From here on, whatever ends the script, everything is undone.
begin() {
	trap cleanup EXIT
	trap 'exit 129' HUP
	trap 'exit 130' INT
	trap 'exit 143' TERM
	TMP=$(mktemp -d "${TMPDIR:-/tmp}/penstock-netns.XXXXXX")
	FEEDS=$TMP/feeds
}

make_bed() {
	[ -n "$TMP" ] || begin
	ip netns add "$NSC" && ip netns add "$NSS" || skip "network namespaces cannot be made here"
	ip link add cli netns "$NSC" type veth peer name srv netns "$NSS" \
		|| skip "veth pairs cannot be made here"
	ip -n "$NSC" addr add "$CLIENT_ADDR/24" dev cli
	ip -n "$NSS" addr add "$SERVER_ADDR/24" dev srv
	ip -n "$NSC" link set lo up
	ip -n "$NSS" link set lo up
	ip -n "$NSC" link set cli mtu 1500 up
	ip -n "$NSS" link set srv mtu 1500 up
	# Without this every packet leaves with a half-made checksum, as no wire would carry it.
	in_client ethtool -K cli tx off >/dev/null || skip "ethtool -K cli tx off fails here"
}

# start_penstock CONF [ARGS...]: arguments before and after -- as for penstock run. Sets PENSTOCK_PID.
start_penstock() {
	local conf=$1
	shift
	spawn penstock in_server_exec "$PENSTOCK" run -c "$conf" "$@"
	PENSTOCK_PID=$PID
	wait_for 15 is_serving || fail "penstock does not start"
}

# A function in the background would put a shell between us and the program; exec does not.
in_server_exec() { exec ip netns exec "$NSS" "$@"; }
in_client_exec() { exec ip netns exec "$NSC" "$@"; }

is_serving() {
	alive "$PENSTOCK_PID" || fail "penstock ended at start"
	has_program && [ -n "$(ls -A "$FEEDS" 2>/dev/null)" ] && top_value redirected >/dev/null
}

xdp_programs() { ip -n "$NSS" -d link show srv | sed -n 's/.*prog\/xdp[a-z]* id [0-9]* name \([^ ]*\).*/\1/p'; }
has_program() { [ "$(xdp_programs)" = penstock_steer ]; }
has_no_program() { ! ip -n "$NSS" -d link show srv | grep -q 'prog/xdp'; }

# kernel_gets: how many of 50 datagrams to the UDP service reach a kernel socket on its port.
kernel_gets() {
	spawn kernel in_server_exec python3 "$NETNS_DIR/wire.py" receive 8001 2 50
	sleep 0.5
	client_wire send $SERVER_ADDR 8001 50
	wait "$PID"
	cat "$TMP/kernel.out"
}

# top_value KEY: the sum of a number over all places where it stands in penstock's statistics.
top_value() {
	"$PENSTOCK" top --once --json --name "$INSTANCE" 2>/dev/null | wire value "$1"
}

# feed_has FEED COUNT: reads COUNT records from a feed; fails when there are fewer.
feed_has() {
	timeout 5 "$PENSTOCK" feed "$FEEDS/$1.0" --json --count "$2" >"$TMP/$1.json" 2>"$TMP/feed.log"
	local n
	n=$(wc -l <"$TMP/$1.json")
	[ "$n" -eq "$2" ] || fail "feed $1 has $n records, expected $2"
}

# The configuration that most tests use.
write_conf() {
	cat >"$1" <<CONF
[penstock]
name = $INSTANCE
memory = no-huge
idle = sleep
[port net]
device = srv
CONF
	services >>"$1"
}

# services: the feeds and what is served, to be appended to a configuration.
services() {
	cat <<CONF
[feed]
dir = $FEEDS
size_mb = 4
[service udp]
kind = udp
address = $SERVER_ADDR
port = 8001
[service anyaddr]
kind = udp
address = any
port = 8002
[service tpu]
kind = tpu-quic
address = $SERVER_ADDR
port = 8009
CONF
}

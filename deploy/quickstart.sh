#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# From a fresh Debian 12 to transactions in the feed: installs what is missing, builds, joins two
# network namespaces, runs penstock on one end and an independent QUIC client on the other. Leaves
# the packages, build/ and what cargo, go or pip keep behind, nothing else, also when interrupted.

usage="usage: deploy/quickstart.sh [--count N] [--client NAME] [--json]
  --count N      transactions to send (1000)
  --client NAME  who sends them: ngtcp2 (default, from Debian packages), quinn, quiche or agave (need a
                 recent cargo; agave takes minutes to build), quicgo (go) or aioquic (python3-venv)
  --json         progress on stderr; the last line of stdout is one JSON object with the keys
                 sent, received, feed, bytes, passed_to_kernel and mode"

count=1000
client=ngtcp2
json=no

bad_usage() {
	echo "quickstart: $1" >&2
	echo "$usage" >&2
	exit 2
}

while [ $# -gt 0 ]; do
	case $1 in
	--count)
		[[ ${2:-} =~ ^[1-9][0-9]{0,8}$ ]] || bad_usage "--count takes a number from 1"
		count=$2
		shift
		;;
	--client)
		case ${2:-} in
		ngtcp2 | quinn | quiche | agave | quicgo | aioquic) client=$2 ;;
		*) bad_usage "--client is ngtcp2, quinn, quiche, agave, quicgo or aioquic" ;;
		esac
		shift
		;;
	--json) json=yes ;;
	--help | -h)
		echo "$usage"
		exit 0
		;;
	*) bad_usage "unknown option $1" ;;
	esac
	shift
done

. "$(dirname "$0")/../tests/interop/lib.sh"
INSTANCE=quickstart$$

skip() { fail "$*"; }
fail() {
	local log
	for log in "$TMP"/*.log; do
		[ -s "$log" ] && sed "s|^|  ${log##*/}: |" "$log" | tail -n 20 >&2
	done
	echo "quickstart: $*" >&2
	exit 1
}
step() { echo "==> $*" >&2; }

build() {
	step "building in $BUILD"
	if [ ! -f "$BUILD/build.ninja" ]; then
		meson setup "$BUILD" "$ROOT" >"$TMP/build.log" 2>&1 || fail "meson setup $BUILD fails"
	fi
	ninja -C "$BUILD" app/penstock tests/interop/tpu_client_ngtcp2 >"$TMP/build.log" 2>&1 \
		|| fail "ninja -C $BUILD fails"
	if [ "$client" != ngtcp2 ]; then
		step "building the client on $client"
		"need_$client"
	fi
	program_of "$client"
}

mode() {
	"$PENSTOCK" top --once --json --name "$INSTANCE" 2>/dev/null | wire text mode
}

[ "$(id -u)" -eq 0 ] || fail "run it as root: network namespaces and XDP need it"
step "packages"
"$ROOT/deploy/install-packages.sh" || exit 1
begin
build
step "network namespaces $NSC ($CLIENT_ADDR) and $NSS ($SERVER_ADDR), joined by a veth pair"
make_bed
step "penstock run -c config/dev.ini"
start_penstock "$ROOT/config/dev.ini" -o "penstock.name=$INSTANCE" -o "feed.dir=$FEEDS" -- --no-pci
spawn feed "$PENSTOCK" feed "$FEEDS/tpu.0" --json --count "$count"
feed_pid=$PID
step "$client sends $count signed transactions to $SERVER_ADDR port 8009"
# shellcheck disable=SC2046
in_client "$PROGRAM" --host $SERVER_ADDR --port 8009 --count "$count" $(sources "$client" "$count" --seed 1) \
	--timeout $((60 + count / 500)) >"$TMP/client.out" || failed=yes
wait_for 5 gone "$feed_pid"

sent=$(wire value sent <"$TMP/client.out" || echo 0)
acked=$(wire value acked <"$TMP/client.out" || echo 0)
received=$(top_value received || echo 0)
passed=$(top_value passed || echo 0)
read -r feed bytes < <(wire records size <"$TMP/feed.out")
mode=$(mode)
if [ $json = no ]; then
	cat <<SUMMARY
transactions sent        $sent (acknowledged $acked)
transactions received    $received
transactions in the feed $feed ($bytes bytes)
packets for the kernel   $passed
AF_XDP mode              $mode
SUMMARY
else
	printf '{"sent":%s,"received":%s,"feed":%s,"bytes":%s,"passed_to_kernel":%s,"mode":"%s"}\n' \
		"$sent" "$received" "$feed" "$bytes" "$passed" "$mode"
fi
[ -z "${failed:-}" ] && [ "$feed" -eq "$count" ] || fail "$feed of $count transactions arrived in the feed"

# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# The cases of the QUIC interop runner that apply to a server of unidirectional streams: foreign
# clients of ../interop send transactions through the relay, a seeded bad network, and three things
# are checked: the client got every stream acknowledged, the feed has exactly what was sent, and the
# capture obeys the rules of the case. Sourced by the tests beside it.
#
# The default sizes suit a run of minutes. PENSTOCK_FULL=1 takes those of the runner.

CONFORMANCE_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$CONFORMANCE_DIR/../interop/lib.sh"

RELAY=$BUILD/tests/conformance/relay
RESULTS=$BUILD/conformance.tsv
RELAY_ADDR=127.0.0.1
SECOND_ADDR=10.77.0.3
# The runner's ordinary path: 15 ms each way, 10 Mbit/s, 25 packets of queue.
BASE="--delay 15 --rate 10000 --queue 25"
CASE=$(basename "$0" .sh | cut -d- -f2-)
CLIENTS="ngtcp2 quinn quicgo aioquic quiche agave"
# Clients that cannot do the case, and why.
declare -A NOT_FOR
CONNECTIONS=1
MIN_KBPS=0
FAILED=0
CLOSED=0
OBTAINED=0
WITHOUT=
SHOWN=

# by_size DEFAULT FULL
by_size() { if [ -n "${PENSTOCK_FULL:-}" ]; then echo "$2"; else echo "$1"; fi; }

# start_bed [ARGS...]: penstock as an operator sets it up for lossy paths; its clients share an
# address here.
start_bed() {
	need_bed
	need_ngtcp2
	[ -x "$RELAY" ] || skip "$RELAY is not built; ninja -C $BUILD"
	command -v tshark >/dev/null || skip "needs tshark; apt-get install tshark"
	start_tpu -o quic.retry=off -o quic.handshake_timeout_ms=60000 -o quic.stream_deadline_ms=60000 \
		-o quic.source_per_min=0 "$@"
	ip -n "$NSC" addr add "$SECOND_ADDR/24" dev cli
}

# has CLIENT: sets PROGRAM; false (and a row that says so) when it cannot be had here.
has() {
	program_of "$1"
	local why code
	why=$( (trap - EXIT; "need_$1") 2>&1) && return
	code=$?
	why=$(echo "$why" | tail -n 1)
	if [ $code -ne 77 ]; then
		row "$1" FAILED "$why"
		FAILED=1
		return 1
	fi
	WITHOUT="$WITHOUT$1: ${why#skip: }; "
	row "$1" skipped "$why"
	return 1
}

# row CLIENT RESULT FACTS
row() {
	printf '%s\t%s\t%s\t%s\n' "$CASE" "$@" >>"$RESULTS"
	[ "$2" != ok ] || OBTAINED=$((OBTAINED + 1))
	SHOWN="$SHOWN$1 $2; "
	echo "$1: $2: $3"
}

# broken CLIENT REASON: the case has failed, its capture is kept, the next client is tried all the
# same.
broken() {
	row "$1" FAILED "$2"
	FAILED=1
	mkdir -p "$BUILD/conformance"
	cp "$TMP/relay.pcap" "$BUILD/conformance/$CASE-$1.pcap"
	cp "$TMP/keys" "$BUILD/conformance/$CASE-$1.keys" 2>/dev/null
	echo "  capture: $BUILD/conformance/$CASE-$1.pcap"
	tail -n 3 "$TMP/client.log" | sed 's/^/  client: /'
	sed 's/^/  relay: /' "$TMP/relay.out"
	echo "  closed: $(field close_kind "$TMP/client.out" 2>/dev/null) $(field close_code "$TMP/client.out" 2>/dev/null)"
}

end_case() {
	[ $FAILED -eq 0 ] || fail "$SHOWN"
	[ $OBTAINED -gt 0 ] || skip "no client of this case can be had here: $WITHOUT"
	pass "$SHOWN"
}

start_relay() {
	spawn relay in_client_exec "$RELAY" --listen $RELAY_ADDR:$TPU_PORT --to $SERVER_ADDR:$TPU_PORT \
		--pcap "$TMP/relay.pcap" "$@"
	RELAY_PID=$PID
	wait_for 5 grep -q ready "$TMP/relay.log" || fail "the relay does not start"
}

end_relay() {
	kill -TERM "$RELAY_PID"
	wait "$RELAY_PID"
}

# run_case CLIENT COUNT SIZES "RELAY OPTIONS" "RULES" [CLIENT OPTIONS...]
run_case() {
	local name=$1 count=$2 sizes=$3 link=$4 rules=$5 begun ms kbps facts closed idle=
	shift 5
	# long enough for black holes
	case $name in ngtcp2 | quinn) idle="--idle 60" ;; esac
	if [ -n "${NOT_FOR[$name]:-}" ]; then
		row "$name" n/a "${NOT_FOR[$name]}"
		return 0
	fi
	has "$name" || return 0
	rm -f "$TMP/keys"
	# shellcheck disable=SC2086
	start_relay --from "${FROM:-$CLIENT_ADDR}" ${FROM2:+--from $FROM2} $link
	start_check "$count" --seed 7 --sizes "$sizes"
	begun=$(date +%s%N)
	# shellcheck disable=SC2046
	in_client env SSLKEYLOGFILE="$TMP/keys" timeout 100 "$PROGRAM" --host $RELAY_ADDR --port $TPU_PORT \
		--count "$count" --timeout 90 --connections $CONNECTIONS $(sources "$name" "$count" --seed 7 --sizes "$sizes") $idle "$@" \
		>"$TMP/client.out" 2>"$TMP/client.log"
	CLIENT_CODE=$?
	ms=$((($(date +%s%N) - begun) / 1000000))
	if [ $CLIENT_CODE -ne 0 ]; then
		stop "$CHECK_PID"
		end_relay
		broken "$name" "$(field acked "$TMP/client.out") of $count streams acknowledged after $ms ms"
		return 0
	fi
	if ! wait "$CHECK_PID"; then
		end_relay
		broken "$name" "feed: $(cat "$TMP/check.out")"
		return 0
	fi
	end_relay
	closed=$(no_progress)
	if [ "$closed" != "$CLOSED" ]; then
		CLOSED=${closed:-$CLOSED}
		broken "$name" "closed_no_progress counts \"$closed\""
		return 0
	fi
	if [ "$(field handshakes "$TMP/client.out")" -ne $CONNECTIONS ]; then
		broken "$name" "$(field handshakes "$TMP/client.out") handshakes of $CONNECTIONS"
		return 0
	fi
	kbps=$(($(field bytes "$TMP/client.out") * 8 / ms))
	if [ $kbps -lt $MIN_KBPS ]; then
		broken "$name" "$kbps kbit/s"
		return 0
	fi
	# shellcheck disable=SC2086
	if facts=$(python3 "$CONFORMANCE_DIR/capture.py" "$TMP/relay.pcap" "$TMP/keys" $TPU_PORT $rules 2>"$TMP/broken"); then
		row "$name" ok "$ms ms, $kbps kbit/s; $facts"
	else
		broken "$name" "$(tr '\n' ' ' <"$TMP/broken")"
	fi
}

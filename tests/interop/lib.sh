# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# Foreign QUIC clients against the real program on the test bed of ../netns/lib.sh. Sourced by the
# tests beside it.

INTEROP_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$INTEROP_DIR/../netns/lib.sh"

NGTCP2=$BUILD/tests/interop/tpu_client_ngtcp2
FEED_CHECK=$BUILD/tests/interop/feed_check
CARGO_OUT=$BUILD/cargo
QUINN=$CARGO_OUT/release/tpu_client_quinn
CONTROL=$CARGO_OUT/release/examples/trial_server
TPU_PORT=8009
CHECK_COUNT=0

need_ngtcp2() {
	[ -x "$NGTCP2" ] && [ -x "$FEED_CHECK" ] \
		|| skip "$NGTCP2 is not built; apt-get install libngtcp2-dev libngtcp2-crypto-gnutls-dev libsodium-dev && ninja -C $BUILD"
}

# Crates that cannot be had are a reason to skip; a client that does not build is a failure.
need_quinn() {
	local manifest=$INTEROP_DIR/quinn/Cargo.toml log
	command -v cargo >/dev/null || skip "needs cargo"
	log=$(cargo fetch --locked --manifest-path "$manifest" 2>&1) \
		|| skip "cargo cannot fetch quinn: $(echo "$log" | tail -n 1)"
	log=$(CARGO_TARGET_DIR=$CARGO_OUT cargo build --release --locked --offline -j2 --bins --examples \
		--manifest-path "$manifest" 2>&1) || {
		echo "$log" | tail -n 20
		fail "the quinn client does not build"
	}
}

# start_tpu [ARGS...]: penstock with its TPU service on the server's end; arguments as for run.
start_tpu() {
	make_bed
	write_conf "$TMP/penstock.ini"
	start_penstock "$TMP/penstock.ini" "$@" -- --no-pci
}

# start_check N [ARGS...]: starts to read the feed, of which N transactions are expected.
start_check() {
	CHECK_COUNT=$1
	shift
	spawn check "$FEED_CHECK" --count "$CHECK_COUNT" --timeout 120 "$@" "$FEEDS/tpu.0"
	CHECK_PID=$PID
}

# Exactly the expected transactions were in the feed.
end_check() {
	wait "$CHECK_PID" || fail "the feed is not what was sent: $(cat "$TMP/check.out")"
}

# client PROGRAM ARGS...: result in $CLIENT_CODE and $TMP/client.out
client() {
	local program=$1
	shift
	in_client timeout 150 "$program" --host "$SERVER_ADDR" --port $TPU_PORT "$@" \
		>"$TMP/client.out" 2>"$TMP/client.log"
	CLIENT_CODE=$?
}

client_sends_all() {
	client "$@"
	[ $CLIENT_CODE -eq 0 ] || fail "not all streams were acknowledged: $(tail -n 1 "$TMP/client.out")"
}

# field KEY FILE: a value of the JSON object in the file's last line; None for null.
field() {
	tail -n 1 "$2" | python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"
}

# client_closed KIND CODE: how penstock closed the client's connection.
client_closed() {
	local kind code
	kind=$(field close_kind "$TMP/client.out")
	code=$(field close_code "$TMP/client.out")
	[ "$kind $code" = "$1 $2" ] || fail "close is \"$kind $code\", should be \"$1 $2\""
}

# The program went on: an ordinary client still gets everything through.
still_serves() {
	start_check 20 --seed 99
	client_sends_all "$NGTCP2" --count 20 --seed 99
	end_check
}

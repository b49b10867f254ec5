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
QUICGO=$BUILD/interop/tpu_client_quicgo
AIOQUIC_VENV=$BUILD/interop/aioquic
AIOQUIC=$BUILD/interop/tpu_client_aioquic
QUICHE=$BUILD/cargo-quiche/release/tpu_client_quiche
AGAVE_OUT=${CARGO_HOME:-$HOME/.cargo}/penstock-agave
CARGO_PROFILE=${CARGO_PROFILE:-release}
AGAVE=$AGAVE_OUT/$CARGO_PROFILE/tpu_client_agave
TPU_PORT=8009
CHECK_COUNT=0
CHECK_PID=

need_ngtcp2() {
	[ -x "$NGTCP2" ] && [ -x "$FEED_CHECK" ] \
		|| skip "$NGTCP2 is not built; apt-get install libngtcp2-dev libngtcp2-crypto-gnutls-dev libsodium-dev && ninja -C $BUILD"
}

# cargo_client NAME OUT: crates that cannot be had, and a compiler too old for them, are reasons to
# skip; a client that does not build is a failure.
cargo_client() {
	local manifest=$INTEROP_DIR/$1/Cargo.toml log
	command -v cargo >/dev/null || skip "needs cargo"
	log=$(cargo fetch --locked --manifest-path "$manifest" 2>&1) \
		|| skip "cargo cannot fetch what the $1 client needs: $(echo "$log" | tail -n 1)"
	log=$(CARGO_TARGET_DIR=$2 cargo build --profile "$CARGO_PROFILE" --locked --offline -j2 --bins --examples \
		--manifest-path "$manifest" 2>&1) || {
		! grep -qE "is not supported by the following|requires rustc|edition2024|newer version of Cargo" <<<"$log" \
			|| skip "$(rustc --version) is too old for the $1 client"
		echo "$log" | tail -n 20
		fail "the $1 client does not build"
	}
}

need_quinn() { cargo_client quinn "$CARGO_OUT"; }

# Its 500 crates are built once for all build directories.
need_agave() { cargo_client agave "$AGAVE_OUT"; }

need_quiche() {
	[ -x "$QUICHE" ] || command -v cmake >/dev/null || skip "BoringSSL needs cmake; apt-get install cmake"
	cargo_client quiche "$BUILD/cargo-quiche"
}

need_quicgo() {
	local log
	command -v go >/dev/null || skip "needs go"
	log=$(cd "$INTEROP_DIR/quicgo" && GOFLAGS= go mod download 2>&1) \
		|| skip "go cannot fetch quic-go: $(echo "$log" | tail -n 1)"
	log=$(cd "$INTEROP_DIR/quicgo" && GOFLAGS="-mod=readonly -buildvcs=false" go build -p 2 -o "$QUICGO" . 2>&1) || {
		echo "$log" | tail -n 20
		fail "the quic-go client does not build"
	}
}

need_aioquic() {
	local log
	if ! "$AIOQUIC_VENV/bin/python3" -c 'import aioquic' 2>/dev/null; then
		python3 -m venv "$AIOQUIC_VENV" >/dev/null 2>&1 \
			|| skip "needs venv of Python; apt-get install python3-venv"
		log=$("$AIOQUIC_VENV/bin/pip" install -q -r "$INTEROP_DIR/aioquic/requirements.txt" 2>&1) \
			|| skip "pip cannot install aioquic: $(echo "$log" | tail -n 1)"
	fi
	printf '#!/bin/sh\nexec "%s" -B "%s" "$@"\n' "$AIOQUIC_VENV/bin/python3" \
		"$INTEROP_DIR/aioquic/client.py" >"$AIOQUIC"
	chmod +x "$AIOQUIC"
}

# start_tpu [ARGS...]: penstock with its TPU service on the server's end; arguments as for run.
start_tpu() {
	make_bed
	write_conf "$TMP/penstock.ini"
	# a machine that is busy with other things must not make streams late
	start_penstock "$TMP/penstock.ini" -o quic.stream_deadline_ms=30000 "$@" -- --no-pci
}

# start_check N [ARGS...]: starts to read the feed, of which N transactions are expected.
start_check() {
	CHECK_COUNT=$1
	shift
	spawn check "$FEED_CHECK" --count "$CHECK_COUNT" --timeout 120 "$@" "$FEEDS/tpu.0"
	CHECK_PID=$PID
}

# What no honest client may be: closed because its packets moved nothing. Counted since the start.
no_progress() { top_value closed_no_progress; }
all_progress() { [ "$(no_progress)" = 0 ] || fail "closed_no_progress counts \"$(no_progress)\""; }

# Exactly the expected transactions were in the feed.
end_check() {
	wait "$CHECK_PID" || fail "the feed is not what was sent: $(cat "$TMP/check.out")"
	CHECK_PID=
	all_progress
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

# transactions COUNT [ARGS...]: the file that clients without a generator read.
transactions() {
	local count=$1
	shift
	"$NGTCP2" --dump --count "$count" "$@" >"$TMP/transactions"
}

# sources CLIENT COUNT [ARGS...]: options that make a client send these transactions.
sources() {
	local name=$1
	shift
	case $name in
	ngtcp2 | quinn) echo "${*:2}" ;;
	*)
		transactions "$@"
		echo "--from-file $TMP/transactions"
		;;
	esac
}

# program_of CLIENT: sets PROGRAM, which need_CLIENT builds.
program_of() {
	case $1 in
	ngtcp2) PROGRAM=$NGTCP2 ;;
	quinn) PROGRAM=$QUINN ;;
	quicgo) PROGRAM=$QUICGO ;;
	aioquic) PROGRAM=$AIOQUIC ;;
	quiche) PROGRAM=$QUICHE ;;
	agave) PROGRAM=$AGAVE ;;
	esac
}

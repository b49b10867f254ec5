# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# For the tests that kill -9 in the middle of traffic: clients of the TPU service that log what was
# acknowledged, a consumer that logs what it saw and released, and the judgement over all of them.
# Sourced after lib.sh.

NGTCP2=$BUILD/tests/interop/tpu_client_ngtcp2
FEED_LOG=$BUILD/tests/netns/feed_log
NAP_US=15000 # a burst of the consumer: at most 64 records in this time, 4,000 a second
CLIENTS=0

need_kill() {
	need_bed
	[ -x "$NGTCP2" ] && [ -x "$FEED_LOG" ] \
		|| skip "$NGTCP2 is not built; apt-get install libngtcp2-dev libngtcp2-crypto-gnutls-dev libsodium-dev && ninja -C $BUILD"
}

# RANDOM is bash's; a run can be asked for the same draws again, though not for the same timing.
seed_random() {
	SEED=${SEED:-$(($$ % 32768))}
	RANDOM=$SEED
	echo "SEED=$SEED"
}

# random_nap FROM TO: milliseconds
random_nap() { sleep "$(printf '0.%03d' $(($1 + RANDOM % ($2 - $1))))"; }

start_consumer() {
	spawn consumer "$FEED_LOG" "$FEEDS/tpu.0" "$TMP/consumed" $NAP_US
	CONSUMER_PID=$PID
}

# kill_now PID: it was alive, and is dead on return.
kill_now() {
	kill -KILL "$1"
	wait "$1" 2>/dev/null
	local code=$?
	[ $code -eq 137 ] || fail "process $1 ended before it was killed, with code $code"
}

# start_client: one more client, of other transactions than all before. Its pid in $CLIENT_PID.
start_client() {
	CLIENTS=$((CLIENTS + 1))
	spawn client$CLIENTS ip netns exec "$NSC" "$NGTCP2" --host $SERVER_ADDR --port 8009 \
		--seed $CLIENTS --count 1000000 --acked-log "$TMP/acked.$CLIENTS" --timeout 120
	CLIENT_PID=$PID
}

# acknowledged N: the present client has seen more than N acknowledged.
acknowledged() { [ "$(cat "$TMP/acked.$CLIENTS" 2>/dev/null | wc -l)" -gt "$1" ]; }

# The present client is not stuck: more is acknowledged within ten seconds.
still_flows() {
	local now
	now=$(wc -l <"$TMP/acked.$CLIENTS")
	wait_for 10 acknowledged "$now" || fail "client $CLIENTS is stuck at $now acknowledged"
}

# The consumer reads the rest, and every promise is compared with what the clients know. Sets
# VERDICT, or fails.
judge() {
	local args=() i sent
	kill -TERM "$CONSUMER_PID"
	wait_for 20 gone "$CONSUMER_PID" || fail "the consumer does not come to an end of the feed"
	wait "$CONSUMER_PID" || fail "the consumer failed"
	for i in $(seq $CLIENTS); do
		sent=$(tail -n 1 "$TMP/client$i.out" | wire value sent) || fail "client $i left no summary"
		# The last ones may have been sent and not counted as whole.
		"$NGTCP2" --dump --seed "$i" --count $((sent + 64)) >"$TMP/dump.$i"
		args+=("$TMP/dump.$i" "$TMP/acked.$i")
	done
	python3 "$NETNS_DIR/check_log.py" "$TMP/consumed" "${args[@]}" >"$TMP/verdict.out" \
		2>"$TMP/verdict.log" || fail "$(tail -n 1 "$TMP/verdict.log")"
	VERDICT=$(cat "$TMP/verdict.out")
}

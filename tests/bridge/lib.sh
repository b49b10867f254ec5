# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# penstock bridge between feeds and a validator, on the test bed of ../netns/lib.sh. Sourced by the
# tests beside it.
#
#   client --- QUIC --- penstock on AF_XDP --- feed --- bridge --- QUIC, loopback --- validator

export PYTHONDONTWRITEBYTECODE=1 # arrivals.py is a module, too
BRIDGE_FEEDS= # instead of those of the TPU service
BRIDGE_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$BRIDGE_DIR/../interop/lib.sh"

VALIDATOR=127.0.0.1:9009
STREAMER=$AGAVE_OUT/$CARGO_PROFILE/tpu_streamer
STEADY=$AGAVE_OUT/$CARGO_PROFILE/tpu_steady
FLOOD=$BUILD/tests/bench/quic_flood
COUNT=100000
[ -z "${PENSTOCK_QUICK:-}" ] || COUNT=5000

# write_bridge_conf [LINE...]: further lines of [bridge].
write_bridge_conf() {
	{
		printf '[penstock]\nname = %s\n' "$INSTANCE"
		printf '[bridge]\nfeeds = %s\ntarget = %s\n' "${BRIDGE_FEEDS:-$FEEDS/tpu.*}" "$VALIDATOR"
		[ $# -eq 0 ] || printf '%s\n' "$@"
	} >"$TMP/bridge.ini"
}

# start_served [ARGS...]: start_tpu with feeds for the group that the bridge is in.
start_served() {
	begin
	chmod 755 "$TMP"
	start_tpu -o feed.group=nogroup "$@"
}

# start_bridge [LINE...]: as nobody, to whom nothing is allowed, as a unit of systemd. Sets BRIDGE_PID.
start_bridge() {
	write_bridge_conf "$@"
	install -d -o 65534 -g 65534 "$TMP/run"
	spawn bridge in_server_exec env RUNTIME_DIRECTORY="$TMP/run" setpriv --reuid 65534 --regid 65534 \
		--clear-groups --inh-caps=-all --bounding-set=-all --no-new-privs "$PENSTOCK" bridge -c "$TMP/bridge.ini" --json
	BRIDGE_PID=$PID
}

# bridge_value KEY: of the newest report; nothing before the first.
bridge_value() { [ ! -s "$TMP/bridge.out" ] || field "$1" "$TMP/bridge.out" 2>/dev/null; }
bridge_has() { [ "$(bridge_value "$1")" = "$2" ]; }
bridge_reached() { [ "$(bridge_value "$1" || echo 0)" -ge "$2" ] 2>/dev/null; }
bridge_connected() { bridge_reached connections 1; }
# bridge_settled N: it took N records, and none of them waits.
bridge_settled() { bridge_reached taken "$1" && bridge_has waiting 0 && bridge_has under_way 0; }

# end_bridge: stopped gently, exit code 0; its last report has the sums.
end_bridge() {
	kill -TERM "$BRIDGE_PID"
	wait "$BRIDGE_PID" || fail "the bridge ended with code $?"
}

# keypair FILE...: Solana keypair files with new keys.
keypair() {
	python3 - "$@" <<-'PYTHON'
		import json, subprocess, sys
		def openssl(*args, **how):
		    return subprocess.run(["openssl", *args, "-outform", "DER"], check=True, capture_output=True, **how).stdout
		for path in sys.argv[1:]:
		    pem = openssl("genpkey", "-algorithm", "ed25519")
		    pub = openssl("pkey", "-inform", "DER", "-pubout", input=pem)
		    json.dump(list(pem[-32:] + pub[-32:]), open(path, "w"))
	PYTHON
}

base58() {
	python3 - "$@" <<-'PYTHON'
		import sys
		for key in map(bytes.fromhex, sys.argv[1:]):
		    n, out = int.from_bytes(key, "big"), ""
		    while n:
		        n, digit = divmod(n, 58)
		        out = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"[digit] + out
		    print("1" * (32 - len(key.lstrip(b"\0"))) + out)
	PYTHON
}

# public_keys KEYPAIR...: in base58, one a line
public_keys() {
	base58 $(python3 -c 'import json, sys; print(*(bytes(json.load(open(f))[32:]).hex() for f in sys.argv[1:]))' "$@")
}

# seed_key SEED: the public key of tpu_client_ngtcp2 with that seed, in base58
seed_key() {
	local seed
	seed=$(python3 -c 'import sys; print(int(sys.argv[1]).to_bytes(32, "little").hex())' "$1")
	base58 "$(xxd -r -p <<<"302e020100300506032b657004220420$seed" \
		| openssl pkey -inform DER -pubout -outform DER | tail -c 32 | xxd -p -c 32)"
}

# make_senders N: keys with the same stake, and an address for each in the client's namespace. Sets
# SENDERS for start_steady, STAKED for start_streamer, and fills $TMP/stakes.
make_senders() {
	local i files=()
	SENDERS=() STAKED=()
	for ((i = 0; i < $1; i++)); do
		files+=("$TMP/sender.$i.json")
		SENDERS+=(--key "$TMP/sender.$i.json")
		STAKED+=(--staked "$TMP/sender.$i.json" 1000000000000)
		ip -n "$NSC" addr add "10.77.0.$((100 + i))/24" dev cli
	done
	keypair "${files[@]}"
	{
		echo "staked_map_id:"
		public_keys "${files[@]}" | sed 's/.*/  &: 1000000000000/'
	} >"$TMP/stakes"
}

# start_steady RATE COUNT [ARGS...]: the senders together send so many transactions, so many a second,
# with solana-tpu-client-next to the TPU port. Sets STEADY_PID.
start_steady() {
	transactions "$2" --seed 77
	mv "$TMP/transactions" "$TMP/steady.transactions"
	spawn steady in_client_exec "$STEADY" --to "$SERVER_ADDR:$TPU_PORT" --from 10.77.0.100 "${SENDERS[@]}" \
		--rate "$1" --count "$2" --from-file "$TMP/steady.transactions" --log "$TMP/steady.stamps" "${@:3}"
	STEADY_PID=$PID
}

# arrivals [SKIP_S]: what became of them, in $TMP/arrivals.out
arrivals() {
	python3 "$BRIDGE_DIR/arrivals.py" "$TMP/steady.transactions" "$TMP/steady.stamps" "$TMP/received" \
		$((${#SENDERS[@]} / 2)) "$@" >"$TMP/arrivals.out" || fail "the arrivals cannot be told"
}
arrival() { field "$1" "$TMP/arrivals.out"; }

# end_steady: all were sent. A sender that was cut off had reconnected before the last hundred of them.
end_steady() {
	wait "$STEADY_PID" || fail "the sender: $(tail -n 1 "$TMP/steady.log")"
	arrivals
	[ "$(arrival last)" = 100 ] || fail "the sender does not reach the validator any more: $(cat "$TMP/arrivals.out")"
}

monotonic_ns() { python3 -c 'import time; print(time.monotonic_ns())'; }

# first_arrival NS: ms from then to when the first one of $TMP/tried came to the validator, if any did
first_arrival() {
	python3 - "$BRIDGE_DIR" "$TMP/tried" "$TMP/received" "$1" <<-'PYTHON'
		import sys
		sys.path.insert(0, sys.argv[1])
		from arrivals import transactions, words
		tried = set(transactions(sys.argv[2]))
		came = [ns for t, ns in zip(transactions(sys.argv[3]), words(sys.argv[3] + ".times")) if t in tried]
		if not came:
		    sys.exit(1)
		print((min(came) - int(sys.argv[4])) // 1000000)
	PYTHON
}

# kernel_serves NS: new clients come until one has reached the validator, which is to be at most three
# seconds after that time. Sets TOOK, in ms, and TRIED, of each client SEED:PID
kernel_serves() {
	local seed=100
	TRIED=()
	: >"$TMP/tried"
	until TOOK=$(first_arrival "$1"); do
		[ $seed -lt 160 ] || fail "the validator is not reached"
		"$NGTCP2" --dump --count 5 --seed $seed >>"$TMP/tried"
		spawn "try.$seed" in_client_exec timeout 3 "$NGTCP2" --host "$SERVER_ADDR" --port $TPU_PORT --count 5 \
			--seed $seed --timeout 2
		TRIED+=("$seed:$PID")
		seed=$((seed + 1))
		sleep 0.2
	done
	[ "$TOOK" -le 3000 ] || fail "the kernel served after $TOOK ms"
}

# open_ways: for start_flood: addresses for the clients of the flood, and a way back for all answers.
open_ways() {
	ip -n "$NSC" route add local 10.78.0.0/16 dev lo
	ip -n "$NSS" route add default via "$CLIENT_ADDR" dev srv
}

# start_flood SECONDS SPOOFED_PER_S CHURN_PER_S: sets FLOOD_PID; what it did is in $TMP/flood.out
start_flood() {
	spawn flood in_client_exec "$FLOOD" --to "$SERVER_ADDR:$TPU_PORT" --seconds "$1" --spoof "$2" --churn "$3"
	FLOOD_PID=$PID
}

# start_second: penstock over kernel sockets as the validator, its feed is $TMP/second/tpu.0
start_second() {
	cat >"$TMP/second.ini" <<-CONF
		[penstock]
		name = $INSTANCE-2
		memory = no-huge
		idle = sleep
		[port here]
		device = lo
		path = socket
		[feed]
		dir = $TMP/second
		size_mb = 4
		[service tpu]
		kind = tpu-quic
		address = 127.0.0.1
		port = 9009
	CONF
	spawn second in_server_exec "$PENSTOCK" run -c "$TMP/second.ini" -- --no-pci
	SECOND_PID=$PID
	wait_for 15 test -e "$TMP/second/tpu.0" || fail "the validator does not start"
}

need_streamer() {
	local log
	command -v cargo >/dev/null || skip "needs cargo"
	log=$(cargo fetch --locked --manifest-path "$BRIDGE_DIR/streamer/Cargo.toml" 2>&1) \
		|| skip "cargo cannot fetch solana-streamer: $(echo "$log" | tail -n 1)"
	log=$(CARGO_TARGET_DIR=$AGAVE_OUT cargo build --profile "$CARGO_PROFILE" --locked --offline -j2 \
		--manifest-path "$BRIDGE_DIR/streamer/Cargo.toml" 2>&1) || {
		! grep -qE "is not supported by the following|edition2024|newer version of Cargo" <<<"$log" \
			|| skip "$(rustc --version) is too old for solana-streamer"
		echo "$log" | tail -n 20
		fail "tpu_streamer does not build"
	}
}

# start_streamer [ARGS...]: what it takes is appended to $TMP/received, and when to received.times
start_streamer() {
	spawn streamer in_server_exec "$STREAMER" "$VALIDATOR" "$TMP/received" "$@"
	STREAMER_PID=$PID
	wait_for 15 grep -q listening "$TMP/streamer.out" || fail "solana-streamer does not start"
}

# validator_reads N: all that it acknowledged was read, too, and it was N
read_count() { echo $(($(stat -c %s "$TMP/received.times") / 8)); }
has_read() { [ "$(read_count)" -ge "$1" ]; }
validator_reads() { wait_for 60 has_read "$1" || fail "the validator read $(read_count) of $1"; }

# received COUNT [ARGS...]: prints of these transactions "MISSING REPEATED FOREIGN" in $TMP/received
received() {
	transactions "$@"
	python3 - "$BRIDGE_DIR" "$TMP/transactions" "$TMP/received" <<-'PYTHON'
		import collections, sys
		sys.path.insert(0, sys.argv[1])
		from arrivals import transactions
		sent, got = set(transactions(sys.argv[2])), collections.Counter(transactions(sys.argv[3]))
		print(len(sent - got.keys()), sum(n - 1 for n in got.values()), len(got.keys() - sent))
	PYTHON
}

# order FIRST COUNT [ARGS...]: how many of the FIRST that arrived are of these transactions, and behind
# how many half of these had come.
order() {
	transactions "${@:2}"
	python3 - "$BRIDGE_DIR" "$TMP/transactions" "$TMP/received" "$1" <<-'PYTHON'
		import sys
		sys.path.insert(0, sys.argv[1])
		from arrivals import transactions
		mine = set(transactions(sys.argv[2]))
		at = [i for i, t in enumerate(transactions(sys.argv[3])) if t in mine]
		print(sum(i < int(sys.argv[4]) for i in at), at[len(at) // 2])
	PYTHON
}

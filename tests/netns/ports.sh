# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# For the tests of ports, paths and rules. Sourced after lib.sh.

# info KEY: a text or number of /penstock/info.
info() { "$PENSTOCK" top --once --json --name "$INSTANCE" | python3 -c 'import json, sys; print(json.load(sys.stdin)["info"].get(sys.argv[1], ""))' "$1"; }

# flows KEY [ARGS...]: a number of penstock flows, or with KEY "states" the states of all rules.
flows() {
	local key=$1
	shift
	"$PENSTOCK" flows --json --name "$INSTANCE" "$@" 2>/dev/null | python3 -c '
import json, sys
d = json.load(sys.stdin)
print(*sorted({r["state"] for r in d["rules"]}) if sys.argv[1] == "states" else [d[sys.argv[1]]])' "$key"
}

has_flows() { [ "$(flows "$1")" = "$2" ]; }

# program_map NAME: id of this map of the program on srv; nothing without bpftool.
program_map() {
	local prog id
	prog=$(ip -n "$NSS" -d link show srv | sed -n 's/.*prog\/xdp[a-z]* id \([0-9]*\).*/\1/p')
	for id in $(bpftool -j prog show id "$prog" 2>/dev/null | python3 -c 'import json, sys; print(*json.load(sys.stdin)["map_ids"])' 2>/dev/null); do
		bpftool map show id "$id" | grep -q "name $1" && echo "$id"
	done
}

log_says() { grep -q -- "$1" "$TMP/penstock.log"; }

# refused CODE WORDS... -- ARGS...: penstock run with these arguments ends like this, in one line.
refused() {
	local code=$1 words=() word
	shift
	while [ "$1" != -- ]; do
		words+=("$1")
		shift
	done
	shift
	timeout 30 ip netns exec "$NSS" "$PENSTOCK" run -c "$TMP/penstock.ini" "$@" \
		>"$TMP/refused.out" 2>"$TMP/refused.log"
	local got=$?
	[ $got -eq "$code" ] || fail "exit code $got, expected $code: $*"
	[ "$(wc -l <"$TMP/refused.log")" -eq 1 ] || fail "not one line on stderr: $*"
	for word in "${words[@]}"; do
		grep -q -- "$word" "$TMP/refused.log" || fail "the line does not say \"$word\""
	done
	has_no_program || fail "a program is left on the interface: $*"
}

# serving_somehow: like is_serving, without an XDP program.
serving_somehow() {
	alive "$PENSTOCK_PID" || fail "penstock ended at start"
	top_value rx_packets >/dev/null
}

# start_somehow CONF [ARGS...]
start_somehow() {
	local conf=$1
	shift
	spawn penstock in_server_exec "$PENSTOCK" run -c "$conf" "$@"
	PENSTOCK_PID=$PID
	wait_for 15 serving_somehow || fail "penstock does not start"
}

stop_penstock() {
	kill -TERM "$PENSTOCK_PID"
	wait "$PENSTOCK_PID" || fail "penstock ended with $?"
}

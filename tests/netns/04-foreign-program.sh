#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# Somebody else's XDP program on the interface is refused in one line and left as it is; so is a
# second penstock on the same interface.

. "$(dirname "$0")/lib.sh"
need_bed
command -v clang >/dev/null || skip "needs clang to make a foreign XDP program"
make_bed
write_conf "$TMP/penstock.ini"

cat >"$TMP/foreign.c" <<'C'
__attribute__((section("xdp"), used)) int somebody_elses(void *ctx) { return ctx ? 2 : 1; }
char terms[] __attribute__((section("license"), used)) = "GPL";
C
clang -target bpf -O2 -g -c "$TMP/foreign.c" -o "$TMP/foreign.o" || fail "clang"
in_server ip link set srv xdp obj "$TMP/foreign.o" sec xdp || fail "the foreign program does not load"

# refused WORDS: penstock run ends with code 1 and one line on stderr that has these words.
refused() {
	timeout 20 ip netns exec "$NSS" "$PENSTOCK" run -c "$TMP/penstock.ini" -o "penstock.name=$INSTANCE-2" \
		-- --no-pci >"$TMP/refused.out" 2>"$TMP/refused.log"
	local code=$? word
	[ $code -eq 1 ] || fail "exit code $code, expected 1"
	[ "$(wc -l <"$TMP/refused.log")" -eq 1 ] || fail "not one line on stderr"
	for word in "$@"; do
		grep -q -- "$word" "$TMP/refused.log" || fail "the line does not say \"$word\""
	done
}

refused somebody_elses srv "xdp off"
[ "$(xdp_programs)" = somebody_elses ] || fail "the foreign program is gone"
in_server ip link set srv xdp off
start_penstock "$TMP/penstock.ini" -- --no-pci
refused srv running
has_program || fail "the second penstock took the program of the first off"
client_wire send $SERVER_ADDR 8001 10
feed_has udp 10
pass "a foreign program and a running penstock are refused in one line and left alone"

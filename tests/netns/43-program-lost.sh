#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# Our XDP program is taken off, or another put in its place, while penstock runs: noticed within two
# periods of the watch, an alarm, and put back or stopped as configured. The other one's is never
# removed. Other changes of the link cost nothing.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/ports.sh"
need_bed
command -v clang >/dev/null || skip "needs clang to make a foreign XDP program"
make_bed
write_conf "$TMP/penstock.ini"
cat >"$TMP/foreign.c" <<'C'
__attribute__((section("xdp"), used)) int somebody_elses(void *ctx) { return ctx ? 2 : 1; }
char terms[] __attribute__((section("license"), used)) = "GPL";
C
clang -target bpf -O2 -g -c "$TMP/foreign.c" -o "$TMP/foreign.o" || fail "clang"
foreign_on() { in_server ip -force link set srv xdp obj "$TMP/foreign.o" sec xdp || fail "the foreign program does not load"; }

start_penstock "$TMP/penstock.ini" -o penstock.watch_ms=500 -- --no-pci
[ "$(flows states)" = proven ] || fail "flows are $(flows states) at start"
client_wire send $SERVER_ADDR 8001 10

# A link: nobody can take the program off or take its place; detached by force, it comes back.
link_id() { bpftool link 2>/dev/null | sed -n 's/^\([0-9]*\): xdp .*/\1/p' | tail -n 1; }
if [ "$(info port0_attach)" = bpf_link ]; then
	in_server ip link set srv xdp off 2>/dev/null && fail "the program can be taken off"
	in_server ip -force link set srv xdp obj "$TMP/foreign.o" sec xdp 2>/dev/null && fail "the program can be replaced"
	has_program || fail "the program is gone"
	client_wire send $SERVER_ADDR 8001 10
	has_flows losses 0 || fail "$(flows losses) losses, expected none"
	if command -v bpftool >/dev/null; then
		[ -n "$(link_id)" ] || fail "bpftool shows no link"
		in_server bpftool link detach id "$(link_id)" || fail "bpftool link detach"
		wait_for 3 log_says "our XDP program was detached" || fail "the loss is not noticed"
		wait_for 3 log_says "rules are in place again" || fail "the end of the alarm is not said"
		has_program || fail "the program is not put back"
		client_wire send $SERVER_ADDR 8001 10
		feed_has udp 30
	fi
	stop_penstock
	has_no_program || fail "a program is left"
	[ "$(wc -l <"$TMP/penstock.log")" -eq "$(grep -c '^penstock: ' "$TMP/penstock.log")" ] || fail "the driver's complaint at the end is shown"
	pass "the program is held by a link: neither detached nor replaced, and put back when forced off"
fi

# Detached: back within two periods, and all is delivered from then on.
in_server ip link set srv xdp off
wait_for 2 has_program || fail "the program is not put back"
log_says "our XDP program was detached" || fail "the log does not say what happened"
log_says "alarm: the kernel has other rules" || fail "there is no alarm"
wait_for 3 log_says "rules are in place again" || fail "the end of the alarm is not said"
has_flows losses 1 || fail "$(flows losses) losses, expected 1"
has_flows reinstalls 1 || fail "$(flows reinstalls) times installed, expected 1"
has_flows alarms 0 || fail "the alarm does not end"
client_wire send $SERVER_ADDR 8001 10

# The MAC address and an offload: the one is followed, the other means nothing.
ip -n "$NSS" link set srv address 02:00:00:00:77:01
wait_for 3 has_flows losses 2 || fail "a new MAC address is not noticed"
in_server ethtool -K srv gro on >/dev/null
in_server ethtool -K srv gro off >/dev/null
ip -n "$NSC" neigh flush dev cli
client_wire send $SERVER_ADDR 8001 10
feed_has udp 30
[ "$(flows states --verify)" = proven ] || fail "flows are $(flows states) after the changes"
has_flows lost 0 || fail "rules are lost"
stop_penstock

# Replaced: the other program stays, penstock gives up after three attempts, with code 1.
start_penstock "$TMP/penstock.ini" -o penstock.watch_ms=200 -- --no-pci
foreign_on
wait_for 10 gone "$PENSTOCK_PID" || fail "penstock goes on without its program"
wait "$PENSTOCK_PID"
[ $? -eq 1 ] || fail "penstock did not end with code 1"
log_says "another XDP program (id [0-9]*) took the place of ours" || fail "the log does not say what happened"
log_says "traffic is left to the kernel" || fail "the last line does not say what follows"
[ "$(xdp_programs)" = somebody_elses ] || fail "the foreign program is gone: $(xdp_programs)"
in_server ip link set srv xdp off

# on_rule_loss = stop: at once, with code 1, and the kernel has the traffic.
start_penstock "$TMP/penstock.ini" -o penstock.watch_ms=500 -o penstock.on_rule_loss=stop -- --no-pci
in_server ip link set srv xdp off
wait_for 3 gone "$PENSTOCK_PID" || fail "penstock goes on"
wait "$PENSTOCK_PID"
[ $? -eq 1 ] || fail "penstock did not end with code 1"
has_no_program || fail "a program is on the interface"
[ "$(kernel_gets)" -eq 50 ] || fail "the kernel does not have the traffic"
pass "detached, replaced, MAC changed: noticed, put back or stopped as configured"

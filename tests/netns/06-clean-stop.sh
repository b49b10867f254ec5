#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# SIGINT and SIGTERM end penstock within a second, with exit code 0 and the interface as it was.
# The feeds stay: a consumer may still be reading them.

. "$(dirname "$0")/lib.sh"
need_bed
make_bed
write_conf "$TMP/penstock.ini"

hugepages() { cat /proc/sys/vm/nr_hugepages; }

huge=$(hugepages)
declare -A fastest
for promisc in off on; do
	ip -n "$NSS" link set srv promisc $promisc
	before=$(in_server cat /sys/class/net/srv/flags)
	for signal in INT TERM; do
		start_penstock "$TMP/penstock.ini" -- --no-pci
		client_wire send $SERVER_ADDR 8001 20
		start=$(date +%s%N)
		kill -$signal "$PENSTOCK_PID"
		wait "$PENSTOCK_PID"
		code=$?
		ms=$((($(date +%s%N) - start) / 1000000))
		[ $code -eq 0 ] || fail "exit code $code after SIG$signal"
		# the machine may be busy with other things once, not twice
		[ $ms -lt "${fastest[$signal]:-999999}" ] && fastest[$signal]=$ms
		has_no_program || fail "SIG$signal: a program is left on the interface"
		[ "$(in_server cat /sys/class/net/srv/flags)" = "$before" ] \
			|| fail "SIG$signal: interface flags changed (promiscuous was $promisc)"
		[ -f "$FEEDS/udp.0" ] || fail "SIG$signal: the feed is gone with its unread records"
	done
done
for signal in INT TERM; do
	[ "${fastest[$signal]}" -lt 1000 ] || fail "SIG$signal: took ${fastest[$signal]} ms and more"
done
[ "$(hugepages)" = "$huge" ] || fail "the number of huge pages changed"
feed_has udp 80
pass "SIGINT and SIGTERM: code 0 within a second, nothing left but the feeds"

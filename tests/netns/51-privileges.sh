#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# Once it serves, penstock keeps only the privileges that its paths need, in every thread, and
# workers keep none. With what is left rules are put back, and all is left as it was found.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/ports.sh"
need_bed
make_bed
write_conf "$TMP/penstock.ini"
NET_ADMIN=$((1 << 12)) NET_RAW=$((1 << 13)) IPC_LOCK=$((1 << 14)) DAC_OVERRIDE=$((1 << 1)) DAC_READ_SEARCH=$((1 << 2))
# Kernels before 5.19 ask for one more when a map is read.
MAPS=0
[ "$(printf '%s\n' 5.19 "$(uname -r)" | sort -V | head -n 1)" = 5.19 ] || MAPS=$(((1 << 39) + (1 << 21)))

# at_most SET: no thread has more, none can get more, and those of workers and of TLS have nothing.
at_most() {
	local status name caps n=0
	for status in /proc/"$PENSTOCK_PID"/task/*/status; do
		name=$(sed -n 's/^Name:\t//p' "$status")
		grep -q '^NoNewPrivs:	1$' "$status" || fail "thread $name can get privileges by a program"
		for caps in CapBnd CapInh CapAmb; do
			grep -q "^$caps:	0*$" "$status" || fail "thread $name has $(grep $caps "$status")"
		done
		for caps in CapPrm CapEff; do
			caps=$((16#$(sed -n "s/^$caps:\t//p" "$status")))
			[ $((caps & ~$1)) -eq 0 ] || fail "thread $name has $(printf %x $caps), at most $(printf %x $1) is needed"
			case $name in
			*worker* | ps-tls)
				[ $caps -eq 0 ] || fail "thread $name has $(printf %x $caps)"
				n=$((n + 1))
				;;
			esac
		done
	done
	[ $n -gt 0 ] || fail "no worker among the threads: $(cat /proc/"$PENSTOCK_PID"/task/*/comm | xargs)"
}
# left TEXT SET: so it is said, and so it is.
left() {
	[ "$(info privileges)" = "$1" ] || fail "telemetry says \"$(info privileges)\", expected \"$1\""
	log_says "privileges left: $1$" || fail "the log does not say so: $(grep privileges "$TMP/penstock.log")"
	at_most "$2"
}

start_penstock "$TMP/penstock.ini" -o penstock.watch_ms=200 -- --no-pci
if [ $MAPS -eq 0 ]; then left net_admin $NET_ADMIN; else at_most $((NET_ADMIN | MAPS)); fi
client_wire send $SERVER_ADDR 8001 10
feed_has udp 10
# The program is lost and put back.
if [ "$(info port0_attach)" = netlink ]; then
	in_server ip link set srv xdp off
	wait_for 3 has_program || fail "the program is not put back"
	wait_for 3 log_says "rules are in place again" || fail "the end of the alarm is not said"
	client_wire send $SERVER_ADDR 8001 10
	feed_has udp 10
fi
"$PENSTOCK" flows --verify --name "$INSTANCE" >/dev/null || fail "flows --verify"
stop_penstock
has_no_program || fail "a program is left"
ip -n "$NSS" -d link show srv | grep -q 'promiscuity 0' || fail "srv is left promiscuous"
[ ! -e "/var/run/dpdk/penstock-$INSTANCE/dpdk_telemetry.v2" ] || fail "EAL's socket is left"
[ "$(kernel_gets)" -eq 50 ] || fail "the kernel does not have the traffic"

# Again, on the same feeds; they and the contact info are somebody else's.
chown 65534:65534 "$FEEDS"
chmod 700 "$FEEDS"
echo '{}' >"$TMP/contact.json"
chown 65534:65534 "$TMP/contact.json"
chmod 600 "$TMP/contact.json"
start_penstock "$TMP/penstock.ini" -o "penstock.contact_info=$TMP/contact.json" -o tls.backend=gnutls -- --no-pci
[ $MAPS -ne 0 ] || left "net_admin dac_override dac_read_search" $((NET_ADMIN | DAC_OVERRIDE | DAC_READ_SEARCH))
stop_penstock
has_no_program || fail "a program is left after the second run"

start_somehow "$TMP/penstock.ini" -o port.net.path=socket -o feed.dir="$TMP/feeds2" -- --no-pci
left none 0
client_wire send $SERVER_ADDR 8001 10
FEEDS=$TMP/feeds2 feed_has udp 10
stop_penstock

start_somehow "$TMP/penstock.ini" --port net_tap0 -o feed.dir="$TMP/feeds2" -- --no-pci --vdev net_tap0,iface=pstap$$
left "net_admin net_raw ipc_lock" $((NET_ADMIN | NET_RAW | IPC_LOCK))
stop_penstock
pass "what is left is said, is in every thread, and is enough"

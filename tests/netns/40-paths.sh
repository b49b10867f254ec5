#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# The path that a port takes is announced in log, telemetry and top; what is demanded and cannot be
# had is refused in one line.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/ports.sh"
need_bed
make_bed
write_conf "$TMP/penstock.ini"

# path PATH MODE FALLBACKS: what the running penstock says of its port.
path() {
	[ "$(info port0_path)" = "$1" ] || fail "path is $(info port0_path), expected $1"
	[ "$(info port0_mode)" = "$2" ] || fail "mode is $(info port0_mode), expected $2"
	[ "$(info fallbacks)" = "$3" ] || fail "$(info fallbacks) fallbacks, expected $3"
	[ "$(grep -c 'falls back' "$TMP/penstock.log")" -eq "$3" ] || fail "log and telemetry count different fallbacks"
	log_says "path $1" || fail "the log does not name the path $1"
	"$PENSTOCK" top --once --name "$INSTANCE" | grep -q "net .*srv .*path $1, $2" || fail "top does not show $1, $2"
}

refused 1 "zero_copy = require" "queue 0 of srv only copies" prefer -- -o port.net.zero_copy=require -- --no-pci
refused 1 "path = pmd" srv vfio-pci -- -o port.net.path=pmd -- --no-pci
refused 1 "no interface nosuch" -- -o port.net.device=nosuch -- --no-pci
refused 1 "path" "device of EAL" -- -o port.net.path=socket -o port.net.device=net_ring0 -- --no-pci --vdev net_ring0

start_penstock "$TMP/penstock.ini" -- --no-pci
path af_xdp "af_xdp driver copy" 1
log_says "zero-copy -> copy: srv copies" || fail "copying is not announced"
stop_penstock
start_penstock "$TMP/penstock.ini" -o port.net.zero_copy=off -o port.net.path=af_xdp -- --no-pci
path af_xdp "af_xdp driver copy" 0
stop_penstock

# The mode of the program: what is asked for, or refused. DPDK before 24.07 cannot be asked for generic.
start_penstock "$TMP/penstock.ini" -o port.net.xdp_mode=driver -- --no-pci
path af_xdp "af_xdp driver copy" 1
attach=$(info port0_attach)
stop_penstock
if [ "$attach" = bpf_link ]; then
	start_penstock "$TMP/penstock.ini" -o port.net.xdp_mode=generic -- --no-pci
	path af_xdp "af_xdp generic copy" 0
	client_wire send $SERVER_ADDR 8001 20
	wait_for 3 eval '[ "$(top_value published)" -eq 20 ]' || fail "$(top_value published) of 20 in generic mode"
	stop_penstock
	# Without a BPF file system DPDK attaches the program, and that is announced.
	if command -v cc >/dev/null; then
		printf '#include <errno.h>\nint fsopen(const char *n, unsigned f) { (void)n; (void)f; errno = EPERM; return -1; }\n' |
			cc -shared -fPIC -o "$TMP/nofs.so" -x c - || fail "cc"
		LD_PRELOAD=$TMP/nofs.so start_penstock "$TMP/penstock.ini" -- --no-pci
		[ "$(info port0_attach)" = netlink ] || fail "attached by $(info port0_attach), expected netlink"
		path af_xdp "af_xdp driver copy" 2
		log_says "bpf_link -> program attached by DPDK" || fail "the driver's attachment is not announced"
		stop_penstock
	fi
else
	refused 1 "port net" "xdp_mode = generic" auto -- -o port.net.xdp_mode=generic -- --no-pci
fi
refused 1 "port net" "xdp_mode = generic always copies" -- -o port.net.xdp_mode=generic -o port.net.zero_copy=require -- --no-pci
if in_server sysctl -q -w net.ipv4.conf.lo.accept_local=1; then
	refused 1 "xdp_mode = driver" -- -o port.net.device=lo -o port.net.xdp_mode=driver -- --no-pci
fi

start_somehow "$TMP/penstock.ini" -o port.net.path=socket -- --no-pci
path socket socket 0
has_no_program || fail "a socket port attached a program"
stop_penstock

# Without the right to AF_XDP sockets, kernel sockets are what is left; not when AF_XDP is demanded.
limited() { exec ip netns exec "$NSS" setpriv --bounding-set -net_raw --inh-caps -net_raw "$PENSTOCK" run -c "$TMP/penstock.ini" "$@"; }
if command -v setpriv >/dev/null; then
	spawn penstock limited -- --no-pci
	PENSTOCK_PID=$PID
	wait_for 15 serving_somehow || fail "penstock does not start without CAP_NET_RAW"
	path socket socket 1
	log_says "AF_XDP -> sockets: .*CAP_NET_RAW" || fail "the cause is not said"
	client_wire send $SERVER_ADDR 8001 20
	feed_has udp 20
	stop_penstock
	(limited -o port.net.path=af_xdp -- --no-pci) >/dev/null 2>"$TMP/limited.log"
	[ $? -eq 1 ] || fail "path = af_xdp without the right did not end with code 1"
	[ "$(wc -l <"$TMP/limited.log")" -eq 1 ] || fail "not one line"
	(limited -o port.net.zero_copy=require -- --no-pci) >/dev/null 2>"$TMP/limited.log"
	[ $? -eq 1 ] || fail "zero_copy = require fell back to sockets"
fi
pass "af_xdp, copy and sockets are announced; require, pmd and what is missing are refused in one line"

# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# In the machine: the test bed of ../../netns/lib.sh, made of real drivers' interfaces instead of
# veth. Sourced by the scripts beside it.

GUEST_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$GUEST_DIR/../../interop/lib.sh"

interface_with() {
	local dir
	for dir in /sys/class/net/*; do
		[ "$(cat "$dir/address")" = "$1" ] && basename "$dir" && return
	done
	return 1
}

# Also waits: drivers probe in the background.
find_interfaces() {
	IGB0=$(interface_with 52:54:00:00:01:00) && VIRTIO=$(interface_with 52:54:00:00:02:00) &&
		E1000E=$(interface_with 52:54:00:00:03:00) && IGB1=$(interface_with 52:54:00:00:04:00)
}

load_drivers() {
	modprobe -a virtio_net e1000e igb || fail "modprobe fails"
	wait_for 30 find_interfaces || fail "not all interfaces are there: $(ls /sys/class/net)"
}

driver_of() { basename "$(readlink "/sys/class/net/$1/device/driver")"; }

# client_on INTERFACE: the client's namespace, with this interface as cli.
client_on() {
	ip netns add "$NSC" && ip link set dev "$1" netns "$NSC" name cli || fail "no namespace for $1"
	ip -n "$NSC" addr add $CLIENT_ADDR/24 dev cli
	ip -n "$NSC" link set dev lo up
	ip -n "$NSC" link set dev cli up
}

# server_on INTERFACE: the same for the server, as srv.
server_on() {
	ip netns add "$NSS" && ip link set dev "$1" netns "$NSS" name srv || fail "no namespace for $1"
	ip -n "$NSS" addr add $SERVER_ADDR/24 dev srv
	ip -n "$NSS" link set dev lo up
	ip -n "$NSS" link set dev srv up
}

# serve CONF [ARGS...]: penstock on the last processor, in the server's namespace when there is one.
serve() {
	local conf=$1 inside=
	shift
	[ ! -e "/run/netns/$NSS" ] || inside="ip netns exec $NSS"
	# shellcheck disable=SC2086
	spawn penstock $inside "$PENSTOCK" run -c "$conf" -l 2 "$@"
	PENSTOCK_PID=$PID
	wait_for 120 serves || fail "penstock does not start"
}

serves() {
	alive "$PENSTOCK_PID" || fail "penstock ended at start"
	grep -q 'serving with' "$TMP/penstock.log"
}

# mode: how frames are received, as penstock's statistics say.
mode() { "$PENSTOCK" top --once --json --name "$INSTANCE" | wire text mode; }

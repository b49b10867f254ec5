# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# The test bed on labnic.c: the client at the cable's other end, the kernel on labpf, and penstock
# on labvf, which gets the same address. Sourced after lib.sh.

WATCH_S=3
EAL="-- --no-pci --vdev=net_af_packet0,iface=labvf"
OURS="$SERVER_ADDR 8001 drop
$SERVER_ADDR 8009 drop"

# load_labnic [PARAMETER=VALUE...]
load_labnic() {
	insmod "$LABNIC" "$@" || fail "labnic cannot be loaded: $(dmesg | tail -n 1)"
	ip addr add $SERVER_ADDR/24 dev labpf
	ip link set dev labpf up
	ip link set dev labvf up
	client_on labwire
	wait_for 30 client_wire echo $SERVER_ADDR || fail "the kernel does not answer on labpf"
}

# Without its namespace, the client's end comes back here.
unload_labnic() {
	ip netns del "$NSC"
	wait_for 10 test -e /sys/class/net/cli || fail "labwire does not come back"
	rmmod labnic || fail "labnic cannot be removed"
}

address_of() { cat "/sys/class/net/$1/address"; }
ntuple() { ethtool -k labpf | sed -n 's/^ntuple-filters: //p'; }

# What init does, where init is not what is tested.
set_up_labnic() {
	ethtool -K labpf ntuple on
	ip link set dev labpf vf 0 mac "$(address_of labpf)" || fail "the VF does not get the address"
}

write_labnic_conf() {
	cat >"$1" <<CONF
[penstock]
name = $INSTANCE
memory = no-huge
idle = sleep
watch_ms = $((WATCH_S * 1000))
[port vf]
device = net_af_packet0
pf = labpf
vf_mac = pf
[feed]
dir = $FEEDS
size_mb = 4
[service udp]
kind = udp
address = $SERVER_ADDR
port = 8001
[service tpu]
kind = tpu-quic
address = $SERVER_ADDR
port = 8009
CONF
}

two_periods() { echo $((2 * WATCH_S)); }

# rules: a sorted line for each: destination address and port, and drop or the queue.
rules() {
	ethtool -n labpf | awk '
		/Filter:/ { address = port = "any" }
		/Dest IP addr:/ && $6 == "0.0.0.0" { address = $4 }
		/Dest port:/ && $5 == "0x0" { port = $3 }
		/Action:/ { print address, port, $2 == "Drop" ? "drop" : $NF }' | sort
}

has_rules() { [ "$(rules)" = "$1" ]; }

# location_of PORT
location_of() {
	ethtool -n labpf | awk -v port="$1" '/Filter:/ { at = $2 } /Dest port:/ && $3 == port { print at }'
}

# kernel_sees PORT SECONDS: how many of 50 datagrams to this port reach a kernel socket there.
kernel_sees() {
	spawn kernel python3 "$NETNS_DIR/wire.py" receive "$1" "$2" 50
	wait_for 30 listens "$1" || fail "no socket on UDP port $1"
	client_wire send $SERVER_ADDR "$1" 50
	wait "$PID"
	cat "$TMP/kernel.out"
}

listens() { ss -Hlun "sport = :$1" | grep -q .; }

# kernel_has PORT COUNT: a slow machine takes its time to send them; all 50 end the wait.
kernel_has() {
	local n
	n=$(kernel_sees "$1" $(($2 > 0 ? 30 : 10)))
	[ "$n" = "$2" ] || fail "the kernel sees $n of 50 datagrams to port $1, should see $2"
}

# refused CONF TEXT: penstock does not start, and says why.
refused() {
	# shellcheck disable=SC2086
	timeout 120 "$PENSTOCK" run -c "$1" -l 2 $EAL >"$TMP/refused.out" 2>"$TMP/refused.log"
	local code=$?
	[ $code -eq 1 ] || fail "exit code $code, should be 1 ($2)"
	grep -q "$2" "$TMP/refused.log" || fail "not said: $2"
}

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# penstock run on the persona drivers, as a plugin: rules installed and proven, refused as a whole,
# lost in silence or by a reset, and put back.

HERE=$(cd "$(dirname "$0")" && pwd)
. "$HERE/../netns/lib.sh"
. "$HERE/../netns/ports.sh"
need_bed
GLUE=$BUILD/tests-glue
version=$(dpkg-query -W -f '${source:Version}' libdpdk-dev 2>/dev/null)
if [ ! -d "$GLUE/sdk-$version" ]; then
	out=$(bash "$HERE/01-personas.sh" 2>&1) || skip "no driver headers: $(echo "$out" | tail -n 1)"
fi
SDK=$GLUE/sdk-$version

begin
# EAL takes no plugin from below a directory that everybody may write to.
PLUGINS=$(mktemp -d /run/penstock-glue.XXXXXX) || skip "needs a directory in /run"
trap 'rm -rf "$PLUGINS"; cleanup' EXIT
${CC:-gcc} -std=gnu11 -O2 -g -Wall -Wextra -Werror -Wno-missing-field-initializers -D_GNU_SOURCE -shared -fPIC \
	-DALLOW_INTERNAL_API -DALLOW_EXPERIMENTAL_API \
	-I"$SDK/lib/ethdev" -I"$SDK/lib/eal/include" -I"$SDK/drivers/bus/vdev" $(pkg-config --cflags libdpdk) \
	-o "$PLUGINS/persona.so" "$HERE"/persona_plugin.c "$HERE"/persona_pmd.c "$HERE"/persona_dev.c \
	-L"$(pkg-config --variable=libdir libdpdk)" -lrte_bus_vdev -lpthread || fail "the plugin does not build against DPDK $version"
mkfifo "$TMP/orders"
exec 9<>"$TMP/orders"
export PERSONA_ORDERS=$TMP/orders
order() { echo "$*" >&9; }
# in_nic N: so many rules stand in the NIC, and no dead handle was ever used.
in_nic() {
	order check 0
	wait_for 3 eval 'grep -q "^rules" "$TMP/penstock.log"' || return 1
	sleep 0.2
	[ "$(grep '^rules' "$TMP/penstock.log" | tail -n 1)" = "rules $1 violations 0" ]
}

config() {
	cat >"$TMP/penstock.ini" <<CONF
[penstock]
name = $INSTANCE
memory = no-huge
idle = sleep
watch_ms = 300
[feed]
dir = $FEEDS
size_mb = 4
$*
CONF
}
service() { printf '[service %s]\nkind = udp\naddress = %s\nport = %s\n' "$@"; }
# on DEVICE [ARGS...]: the arguments of penstock run.
on() {
	local device=$1
	shift
	echo "--port" "$device" "$@" -- --no-pci -d "$PLUGINS/persona.so" --vdev "$device"
}
start_on() {
	# shellcheck disable=SC2046
	spawn penstock "$PENSTOCK" run -c "$TMP/penstock.ini" $(on "$@")
	PENSTOCK_PID=$PID
	wait_for 20 serving_somehow || fail "penstock does not start on $1"
}
# refused_on DEVICE WORDS... [-- ARGS...]: ends with code 1 and one line that has these words.
refused_on() {
	local device=$1 words=() word
	shift
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		words+=("$1")
		shift
	done
	[ $# -eq 0 ] || shift
	# shellcheck disable=SC2046
	timeout 30 "$PENSTOCK" run -c "$TMP/penstock.ini" $(on "$device" "$@") >"$TMP/refused.out" 2>"$TMP/refused.log"
	[ $? -eq 1 ] || fail "$device: exit code is not 1"
	[ "$(wc -l <"$TMP/refused.log")" -eq 1 ] || fail "$device: not one line: $(cat "$TMP/refused.log")"
	for word in "${words[@]}"; do
		grep -q -- "$word" "$TMP/refused.log" || fail "$device: the line does not say \"$word\": $(cat "$TMP/refused.log")"
	done
}

config "$(service a 203.0.113.7 8001; service b any 8002)"
# What the family cannot do is refused before any call of the driver.
refused_on net_i40e0 "i40e" "with and without an address" "set addresses" "b (any address UDP 8002)"
refused_on net_i40e0 "addresses" "'203.0.113' is no address" -- -o port.net_i40e0.device=net_i40e0 -o port.net_i40e0.addresses=203.0.113
# With the port's addresses "any" is spelled out, and that is announced.
start_on net_i40e0 -o port.net_i40e0.device=net_i40e0 -o port.net_i40e0.addresses=203.0.113.7,203.0.113.8
[ "$(flows flows)" = 3 ] || fail "i40e: $(flows flows) rules, expected 3"
in_nic 3 || fail "i40e: $(grep '^rules' "$TMP/penstock.log" | tail -n 1), expected 3"
log_says "falls back: address = any -> .*203.0.113.7 203.0.113.8" || fail "i40e: the log does not say what any became"
stop_penstock
# More rules than a VF has; its physical function's interface tells the addresses.
ip link add psga$$ type dummy 2>/dev/null || ip link add psga$$ type veth peer name psgb$$ || skip "veth pairs cannot be made here"
trap 'ip link del psga$$; rm -rf "$PLUGINS"; cleanup' EXIT
for i in $(seq 1 65); do echo "addr add 198.51.100.$i/32 dev psga$$"; done | ip -batch -
config "$(service a 203.0.113.7 8001; service b any 8002; service c any 8003)"
refused_on net_iavf0 "iavf on ice" "c (any address UDP 8003)" "131 rules are needed, the device holds 128" "second VF" \
	-- -o port.net_iavf0.device=net_iavf0 -o "port.net_iavf0.pf=psga$$"
ip addr del 198.51.100.65/32 dev psga$$
ip addr del 198.51.100.64/32 dev psga$$
start_on net_iavf0 -o port.net_iavf0.device=net_iavf0 -o "port.net_iavf0.pf=psga$$"
in_nic 127 || fail "iavf: $(grep '^rules' "$TMP/penstock.log" | tail -n 1), expected 127"
# An address that comes later has no rule: an alarm, as long as it is there.
later() { [ "$(info port0_later_addresses)" = "$1" ]; }
later 0 || fail "iavf: addresses that came later, and none did"
ip addr del 198.51.100.63/32 dev psga$$
ip addr add 198.51.100.65/32 dev psga$$
wait_for 3 later 1 || fail "iavf: a new address of the PF is not noticed"
log_says "alarm: \[port net_iavf0\] 198.51.100.65 has come to psga$$, .*start penstock again" || fail "iavf: the log does not name the new address"
has_flows losses 0 || fail "iavf: a new address is taken for a loss"
ip addr del 198.51.100.65/32 dev psga$$
wait_for 3 later 0 || fail "iavf: the alarm stays when the address has gone"
stop_penstock
config "$(service a 203.0.113.7 8001; service b any 8002)"
# More addresses than are looked at: none of them is left out in silence.
for i in $(seq 0 255); do echo "addr replace 198.51.$((100 + i / 128)).$((i % 128 + 1))/32 dev psga$$"; done | ip -batch -
on_many() { echo -o port.net_i40e0.device=net_i40e0 -o "port.net_i40e0.pf=psga$$"; }
# shellcheck disable=SC2046
start_on net_i40e0 $(on_many)
[ "$(flows flows)" = 257 ] || fail "i40e: $(flows flows) rules for 256 addresses, expected 257"
ip addr add 192.0.2.1/32 dev psga$$
wait_for 3 log_says "alarm: .* psga$$ has more than 256 addresses by now" || fail "i40e: the 257th address is not noticed"
stop_penstock
# shellcheck disable=SC2046
refused_on net_i40e0 "psga$$ has more than 256" "name those of the services" -- $(on_many)
# mlx5 counts and dumps: proven at once.
start_on mlx5_pci0
[ "$(flows states)" = proven ] || fail "mlx5: rules are $(flows states) at start"
in_nic 2 || fail "mlx5: $(grep '^rules' "$TMP/penstock.log" | tail -n 1), expected 2"
# The counters stay, the rules go, and nobody says so.
order lose 0 silent
wait_for 6 has_flows losses 1 || fail "mlx5: the loss is not noticed"
wait_for 5 has_flows proven 2 || fail "mlx5: rules are $(flows states) after the loss"
log_says "alarm: rules are lost" || fail "mlx5: no alarm in the log"
in_nic 2 || fail "mlx5: not 2 rules after the loss: $(grep '^rules' "$TMP/penstock.log" | tail -n 1)"
"$PENSTOCK" flows --verify --name "$INSTANCE" >/dev/null || fail "mlx5: flows --verify"
# Removal ends it, with code 1.
order lose 0 remove
wait_for 5 gone "$PENSTOCK_PID" || fail "mlx5: goes on without its device"
wait "$PENSTOCK_PID"
[ $? -eq 1 ] || fail "mlx5: removal does not end with code 1"
log_says "the device was removed.*left to the kernel" || fail "mlx5: the last line does not name the removal"

# Rules that answer and do not act: the kernel's interface gets what they should take (a veth pair
# stands for the device's own). One packet is enough, among any number that the rules take.
ip link add psgl$$ type veth peer name psgk$$ || skip "veth pairs cannot be made here"
trap 'ip link del psgl$$; ip link del psga$$; rm -rf "$PLUGINS"; cleanup' EXIT
ip link set psgl$$ up && ip link set psgk$$ up && ip addr add 203.0.113.1/24 dev psgk$$
ip neigh replace 203.0.113.7 lladdr "$(cat /sys/class/net/psgl$$/address)" dev psgk$$
start_on mlx5_pci0 -o "port.mlx5_pci0.pf=psgl$$" -o port.mlx5_pci0.device=mlx5_pci0
wire send 203.0.113.7 8003 20
sleep 3
has_flows losses 0 || fail "mlx5: another port's packets in the kernel are a loss"
wire send 203.0.113.7 8001 1
wait_for 5 log_says "alarm: the kernel gets packets that rules should take" || fail "mlx5: rules that do not act are not noticed"
wait_for 5 log_says "rules are in place again" || fail "mlx5: the alarm stays"
has_flows losses 1 && has_flows leaked 1 || fail "mlx5: $(flows losses) losses, $(flows leaked) leaked, expected 1 and 1"
in_nic 2 || fail "mlx5: $(grep '^rules' "$TMP/penstock.log" | tail -n 1), expected 2"
stop_penstock
ip addr del 203.0.113.1/24 dev psgk$$

# A VF is reset: stopped, reset, brought up, installed.
config "$(service a 203.0.113.7 8001; service b 203.0.113.7 8002)"
start_on net_iavf0
[ "$(flows states)" = created ] || fail "iavf: rules are $(flows states) at start; no packet has come"
order lose 0 reset
wait_for 3 has_flows reinstalls 1 || fail "iavf: the reset is not answered"
log_says "the device was reset" || fail "iavf: the log does not name the reset"
wait_for 3 has_flows created 2 || fail "iavf: rules are $(flows states) after the reset"
in_nic 2 || fail "iavf: $(grep '^rules' "$TMP/penstock.log" | tail -n 1), expected 2"
stop_penstock
# The same with on_rule_loss = stop.
start_on net_iavf0 -o penstock.on_rule_loss=stop
order lose 0 reset
wait_for 5 gone "$PENSTOCK_PID" || fail "iavf: goes on although on_rule_loss = stop"
wait "$PENSTOCK_PID"
[ $? -eq 1 ] || fail "iavf: stop does not end with code 1"

# A VF with its PF's MAC address needs drop rules in the PF: without them nothing starts.
config "$(service a 203.0.113.7 8001)"
ip link set psgl$$ address 02:00:00:00:00:01
config "$(service a any 8001)"
refused_on net_iavf0 "a (any address UDP 8001)" "same MAC address" "set addresses" -- -o "port.net_iavf0.pf=psgl$$" -o port.net_iavf0.device=net_iavf0
ip addr add 198.51.100.1/32 dev psgl$$
refused_on net_iavf0 "psgl$$" "ntuple" -- -o "port.net_iavf0.pf=psgl$$" -o port.net_iavf0.device=net_iavf0
ip link set psgl$$ address 02:00:00:00:00:02
start_on net_iavf0 -o "port.net_iavf0.pf=psgl$$" -o port.net_iavf0.device=net_iavf0
# The PF's link is watched too.
ip link set psgl$$ address 02:00:00:00:00:03
wait_for 3 has_flows losses 1 || fail "a new MAC address of the PF is not noticed"
stop_penstock

# The driver refuses the 513th rule: none is left, and the program does not start.
many() { for i in $(seq 0 16 255); do printf 'address%d = ' $((i + 1)); printf "$1.%d," $(seq $i $((i + 14))); printf "$1.%d\n" $((i + 15)); done | sed 's/^address1 /address /'; }
config "$(for n in 1 2 3; do printf '[service s%d]\nkind = udp\nport = 800%d\n' $n $n; many "203.0.$n"; done)"
refused_on mlx5_pci0 "mlx5" "rule for s3" "name fewer addresses"
pass "proven, refused as a whole, lost in silence, not acting, reset, removed, and the PF of a VF"

# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# A virtual function of an igb port: penstock init makes it, penstock serves QUIC on it, fini gives
# it back. The client is on the wire, on virtio-net. Nothing answers ARP for a port that left the
# kernel, so the client's neighbour entry is fixed.

. "$(dirname "$0")/lib.sh"
VF_MAC=52:54:00:00:01:a0
COUNT=${COUNT:-500}

# vf_of INTERFACE: where its first VF will be; the second digit of its number counts by eight.
vf_of() {
	local pf offset
	pf=$(basename "$(readlink "/sys/class/net/$1/device")")
	offset=$(cat "/sys/class/net/$1/device/sriov_offset")
	printf '%s%02x.%x\n' "${pf%??.?}" $((offset / 8)) $((offset % 8))
}

group_of() { basename "$(readlink "/sys/bus/pci/devices/$1/iommu_group")"; }

# What init should have made.
check_vf() {
	local line word
	line=$(ip link show dev "$IGB0" | grep "vf 0 ")
	for word in $VF_MAC "spoof checking off" "trust on"; do
		[[ $line = *$word* ]] || fail "the VF is not \"$word\": $line"
	done
	[ "$(ls "/sys/bus/pci/devices/$VF/iommu_group/devices")" = "$VF" ] ||
		fail "VF $VF shares its IOMMU group: $(ls "/sys/bus/pci/devices/$VF/iommu_group/devices")"
	[ "$(basename "$(readlink "/sys/bus/pci/devices/$VF/driver")")" = vfio-pci ] &&
		[ -c "/dev/vfio/$(group_of "$VF")" ] || fail "VF $VF is not with vfio-pci"
}

load_drivers
modprobe vfio-pci || fail "modprobe vfio-pci fails"
VF=$(vf_of "$IGB0")
begin
export STATE_DIRECTORY=$TMP/state
mkdir "$STATE_DIRECTORY"
client_on "$VIRTIO"
ip -n "$NSC" neigh add $SERVER_ADDR lladdr $VF_MAC dev cli nud permanent
ip link set dev "$IGB0" up
write_conf "$TMP/penstock.ini"
port="device = $VF\npf = $IGB0\nvf_mac = $VF_MAC\nvf_trust = on\nvf_spoofchk = off"
sed -i -e 's/^memory = .*/memory = huge/' -e "s/^device = .*/$port/" "$TMP/penstock.ini"
"$PENSTOCK" init -c "$TMP/penstock.ini" --undo-after 0 >"$TMP/init.log" 2>&1 || fail "init fails"
check_vf

serve "$TMP/penstock.ini"
mode=$(mode)
[[ $mode = *net_e1000_igb_vf* ]] || fail "the port's mode is \"$mode\""
start_check "$COUNT" --seed 1
client_sends_all "$NGTCP2" --count "$COUNT" --seed 1 --connections 2
end_check
stop "$PENSTOCK_PID"

"$PENSTOCK" fini -c "$TMP/penstock.ini" >"$TMP/fini.log" 2>&1 || fail "fini fails"
[ ! -e "/sys/bus/pci/devices/$VF" ] || fail "the VF is still there"
ip addr add $SERVER_ADDR/24 dev "$IGB0"
ip -n "$NSC" neigh del $SERVER_ADDR dev cli
wait_for 30 client_wire echo $SERVER_ADDR || fail "the port does not answer in the kernel again"
pass "$COUNT transactions over $mode, byte for byte; the VF made by init and taken back by fini"

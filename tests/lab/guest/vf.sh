# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# A virtual function of an igb port, from its creation to penstock serving QUIC on it and back. The
# client is on the wire, on virtio-net. Nothing answers ARP for a port that left the kernel, so the
# client's neighbour entry is fixed.

. "$(dirname "$0")/lib.sh"
VF_MAC=52:54:00:00:01:a0
COUNT=${COUNT:-2000}

group_of() { basename "$(readlink "/sys/bus/pci/devices/$1/iommu_group")"; }
vf_line() { ip link show dev "$IGB0" | grep "vf 0 "; }

create_vf() {
	local word
	ip link set dev "$IGB0" up
	echo 1 >"/sys/class/net/$IGB0/device/sriov_numvfs" || fail "no VF can be created"
	VF=$(basename "$(readlink "/sys/class/net/$IGB0/device/virtfn0")")
	PF=$(basename "$(readlink "/sys/class/net/$IGB0/device")")
	ip link set dev "$IGB0" vf 0 mac $VF_MAC && ip link set dev "$IGB0" vf 0 spoofchk off &&
		ip link set dev "$IGB0" vf 0 trust on || fail "MAC, spoofchk or trust cannot be set"
	for word in $VF_MAC "spoof checking off" "trust on"; do
		vf_line | grep -q "$word" || fail "\"$word\" was set and is not there: $(vf_line)"
	done
	[ "$(ls "/sys/bus/pci/devices/$VF/iommu_group/devices")" = "$VF" ] ||
		fail "VF $VF shares its IOMMU group: $(ls "/sys/bus/pci/devices/$VF/iommu_group/devices")"
	[ "$(group_of "$VF")" != "$(group_of "$PF")" ] || fail "VF and PF are in one IOMMU group"
}

bind_vf() {
	modprobe vfio-pci || fail "modprobe vfio-pci fails"
	dpdk-devbind.py --bind vfio-pci "$VF" || fail "dpdk-devbind.py cannot bind $VF to vfio-pci"
	[ -c "/dev/vfio/$(group_of "$VF")" ] || fail "no /dev/vfio/$(group_of "$VF")"
}

# give_back: nothing is left of the VF, and the port works in the kernel.
give_back() {
	modprobe igbvf
	dpdk-devbind.py --bind igbvf "$VF" || fail "dpdk-devbind.py cannot bind $VF to igbvf"
	wait_for 10 interface_with $VF_MAC >/dev/null || fail "the VF's interface does not come back"
	echo 0 >"/sys/class/net/$IGB0/device/sriov_numvfs"
	[ ! -e "/sys/bus/pci/devices/$VF" ] || fail "the VF is still there"
	ip addr add $SERVER_ADDR/24 dev "$IGB0"
	ip -n "$NSC" neigh del $SERVER_ADDR dev cli
	wait_for 20 client_wire echo $SERVER_ADDR || fail "the port does not answer in the kernel again"
}

load_drivers
echo 128 >/proc/sys/vm/nr_hugepages
create_vf
bind_vf
begin
client_on "$VIRTIO"
ip -n "$NSC" neigh add $SERVER_ADDR lladdr $VF_MAC dev cli nud permanent
write_conf "$TMP/penstock.ini"
serve "$TMP/penstock.ini" -o port.net.device="$VF" -o penstock.memory=huge -o feed.size_mb=16
mode=$(mode)
[ "$mode" = net_e1000_igb_vf ] || fail "the port's mode is \"$mode\""

start_check $COUNT --seed 1
client_sends_all "$NGTCP2" --count $COUNT --seed 1 --connections 2
end_check
stop "$PENSTOCK_PID"
give_back
pass "$COUNT transactions over $mode, byte for byte; VF created, bound, used and given back"

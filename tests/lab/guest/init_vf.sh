# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# From an igb port of the kernel to a VF on vfio-pci with address, trust, huge pages, and back, by
# penstock init and fini alone; beside it the settings of a virtio-net port. Killed at every step.

. "$(dirname "$0")/lib.sh"
VF_MAC=52:54:00:00:01:a0

penstock() { env STATE_DIRECTORY="$TMP/state" $HOOK "$PENSTOCK" "$@"; }

# The address that the VF will have is the kernel's to choose.
predict_vf() {
	ip link set dev "$IGB0" up
	echo 1 >"/sys/class/net/$IGB0/device/sriov_numvfs" || fail "no VF can be created"
	VF=$(basename "$(readlink "/sys/class/net/$IGB0/device/virtfn0")")
	echo 0 >"/sys/class/net/$IGB0/device/sriov_numvfs"
	[ ! -e "/sys/bus/pci/devices/$VF" ] || fail "the VF does not go"
}

write_init_conf() {
	cat >"$1" <<CONF
[penstock]
name = $INSTANCE
lcores = 2
[port vf]
device = $VF
pf = $IGB0
vf_mac = $VF_MAC
vf_trust = on
vf_spoofchk = off
[port wire]
device = $VIRTIO
[service tpu]
kind = tpu-quic
address = $SERVER_ADDR
port = 8009
CONF
}

snapshot() {
	local i
	for i in "$IGB0" "$VIRTIO"; do
		ip -o link show dev "$i" | sed 's/state [A-Z]*//; s/,LOWER_UP//; s/NO-CARRIER,//'
		ethtool -k "$i"
		ethtool -l "$i"
		ethtool -g "$i"
		ethtool -x "$i"
		ethtool -n "$i" rx-flow-hash udp4
	done 2>&1
	cat "/sys/class/net/$IGB0/device/sriov_numvfs" \
		"/sys/class/net/$IGB0/device/sriov_drivers_autoprobe" /proc/sys/vm/nr_hugepages
	ls /sys/bus/pci/devices
}

same_as_before() {
	snapshot >"$TMP/now.txt"
	diff "$TMP/before.txt" "$TMP/now.txt" || fail "$1"
	[ -z "$(ls "$TMP/state" | grep -v 'lock$')" ] || fail "$1: a state file remains"
}

check_made() {
	[ "$(basename "$(readlink "/sys/bus/pci/devices/$VF/driver")")" = vfio-pci ] ||
		fail "the VF is not with vfio-pci"
	ip link show dev "$IGB0" | grep -q "vf 0 .*$VF_MAC.*spoof checking off.*trust on" ||
		fail "the VF is not as configured: $(ip link show dev "$IGB0" | grep 'vf 0')"
}

load_drivers
modprobe vfio-pci || fail "modprobe vfio-pci fails"
predict_vf
begin
HOOK=
mkdir "$TMP/state"
ip link set dev "$VIRTIO" mtu 3000 up
write_init_conf "$TMP/host.ini"
snapshot >"$TMP/before.txt"

penstock check -c "$TMP/host.ini" >"$TMP/check.txt" && fail "ready without a VF"
for row in 'not *vf ' 'not *binding ' 'not *hugepages ' 'not *mtu '; do
	grep -q "^$row" "$TMP/check.txt" || fail "check has no row like '$row': $(cat "$TMP/check.txt")"
done

# The VF's link and largest frame are its PF's.
grep -Eq "^(ok|partial) *link *$IGB0" "$TMP/check.txt" || fail "the PF's link is not looked at"
grep -q "^ok *mtu *$IGB0 *1500" "$TMP/check.txt" || fail "the PF's MTU is not looked at"
ip link set dev "$IGB0" mtu 4000
penstock check -c "$TMP/host.ini" | grep -q "^partial *mtu *$IGB0 *4000" || fail "a PF's large MTU is not told"
ip link set dev "$IGB0" mtu 1500

# Who has a PCI device is told by its path.
pci=$(basename "$(readlink "/sys/class/net/$IGB1/device")")
for path in af_xdp socket auto pmd; do
	printf '[penstock]\nname = %s\nlcores = 2\n[port a]\ndevice = %s\npath = %s\n[service u]\nkind = udp\naddress = any\nport = 8001\n' \
		"$INSTANCE" "$pci" $path >"$TMP/path.ini"
	penstock check -c "$TMP/path.ini" >"$TMP/path.txt"
	case $path in
	af_xdp | socket) rows=("ok *binding *$pci *igb, which stays" "ok *driver *$IGB1 *igb" "[a-z]* *link *$IGB1") ;;
	*) rows=("not *binding *$pci *igb, not vfio-pci" "ok *driver *$pci *vfio-pci") ;;
	esac
	for row in "${rows[@]}"; do
		grep -q "^$row" "$TMP/path.txt" || fail "path = $path: no row like '$row': $(cat "$TMP/path.txt")"
	done
done
penstock init -c "$TMP/host.ini" --undo-after 0 >"$TMP/init.txt" 2>&1 || fail "init: $(cat "$TMP/init.txt")"
cat "$TMP/init.txt"
check_made
penstock check -c "$TMP/host.ini" >"$TMP/check.txt" || fail "not ready after init: $(grep ^not "$TMP/check.txt")"
grep -q "^ok *iommu *$VF *alone in group" "$TMP/check.txt" || fail "check does not see the IOMMU group"
grep -q "^ok *vfio *$VF " "$TMP/check.txt" || fail "check does not see the device file"
penstock init -c "$TMP/host.ini" --undo-after 0 | grep -q '^nothing to change' || fail "a second init changes something"

# In use by another process: not taken away from it.
group=$(basename "$(readlink "/sys/bus/pci/devices/$VF/iommu_group")")
exec 8<>"/dev/vfio/$group"
penstock fini -c "$TMP/host.ini" >"$TMP/busy.txt" 2>&1 && fail "fini takes a device that is in use"
grep -q "$VF is in use by process $$" "$TMP/busy.txt" || fail "fini does not name the user: $(cat "$TMP/busy.txt")"
exec 8>&-
penstock fini -c "$TMP/host.ini" >"$TMP/fini.txt" 2>&1 || fail "fini: $(cat "$TMP/fini.txt")"
same_as_before "fini did not restore everything"

cc -shared -fPIC -O1 -D_GNU_SOURCE -o "$TMP/hook.so" "$NETNS_DIR/rename_hook.c" || fail "the hook does not build"
at=1 kills=0 code=137 what=kill-after
while [ $code -eq 137 ]; do
	# Before it: the change is made and not marked done. After it: the next is not begun.
	[ "$what" = kill-before ] && what=kill-after || what=kill-before
	HOOK="LD_PRELOAD=$TMP/hook.so HOOK_AT=$at HOOK_DO=$what" \
		penstock init -c "$TMP/host.ini" --undo-after 0 >"$TMP/init.txt" 2>&1
	code=$?
	[ $code -eq 137 ] || [ $code -eq 0 ] || fail "init ended with $code: $(cat "$TMP/init.txt")"
	[ $code -ne 137 ] || kills=$((kills + 1))
	HOOK=
	penstock fini -c "$TMP/host.ini" >"$TMP/fini.txt" 2>&1 || fail "fini after $what $at: $(cat "$TMP/fini.txt")"
	same_as_before "after $what $at and fini something is different"
	[ $what = kill-before ] || at=$((at + 1))
done
[ $kills -ge 24 ] || fail "only $kills kills"
pass "VF made, bound and given back by init and fini; killed $kills times"

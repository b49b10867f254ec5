#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# A kernel module that is not loaded: check names the command, init stops with it, has bound nothing
# and put back what it had changed. The PCI devices are made up: an empty file system in place of the
# kernel's list, in the mount namespace that ip netns exec makes for each program.

. "$(dirname "$0")/host.sh"
host_begin
PCI=0000:7f:1f.7
mkdir "$TMP/bin"
cat >"$TMP/bin/dpdk-devbind.py" <<SH
#!/bin/sh
echo "\$*" >>"$TMP/devbind"
ln -sfn "/sys/bus/pci/drivers/\$2" "/sys/bus/pci/devices/\$3/driver"
SH
cat >"$TMP/bin/with" <<SH
#!/bin/sh
# with DRIVERS DEVICE-DRIVER COMMAND...
mount -t tmpfs -o size=64k penstock-netns /sys/bus/pci || exit 77
for d in \$1; do mkdir -p "/sys/bus/pci/drivers/\$d"; done
mkdir -p /sys/bus/pci/devices/$PCI
[ "\$2" = none ] || ln -s "/sys/bus/pci/drivers/\$2" "/sys/bus/pci/devices/$PCI/driver"
shift 2
exec "\$@"
SH
chmod 755 "$TMP/bin/dpdk-devbind.py" "$TMP/bin/with"
with() {
	local drivers=$1 driver=$2
	shift 2
	in_server env STATE_DIRECTORY="$STATE" PATH="$TMP/bin:$PATH" with "$drivers" "$driver" "$PENSTOCK" "$@"
}
with "" none help >/dev/null || skip "a tmpfs cannot be mounted over /sys/bus/pci"
sed "s/^device = mq/device = $PCI/; s/^queues = 2/path = pmd/" "$CONF" >"$TMP/pci.ini"

with "igb" igb check -c "$TMP/pci.ini" --json >"$TMP/check.json"
rows "$TMP/check.json" "row('driver', '$PCI')['state'] == 'not' and row('driver', '$PCI')['remedy'] == 'modprobe vfio-pci'" \
	|| fail "check does not name the module"
snapshot >"$TMP/before.txt"
with "igb" igb init -c "$TMP/pci.ini" --undo-after 0 >"$TMP/init.txt" 2>&1 && fail "init is content without vfio-pci"
grep -q "vfio-pci is not loaded; modprobe vfio-pci" "$TMP/init.txt" || fail "init does not name the module: $(cat "$TMP/init.txt")"
[ ! -e "$TMP/devbind" ] || fail "dpdk-devbind.py was run: $(cat "$TMP/devbind")"
same_as "$TMP/before.txt" "init left something changed"

with "igb vfio-pci" igb check -c "$TMP/pci.ini" --json >"$TMP/check.json"
rows "$TMP/check.json" "row('driver', '$PCI')['state'] == 'ok' and row('binding', '$PCI')['init']" || fail "a module that is loaded is missed"
with "igb vfio-pci" igb init -c "$TMP/pci.ini" --undo-after 0 >"$TMP/init.txt" 2>&1 || fail "init with vfio-pci: $(cat "$TMP/init.txt")"
grep -qx -- "-b vfio-pci $PCI" "$TMP/devbind" || fail "the device was not bound"
# Its old driver is gone when it is to have it back.
with "vfio-pci" vfio-pci fini -c "$TMP/pci.ini" >"$TMP/fini.txt" 2>&1 && fail "fini is content without igb"
grep -q "igb is not loaded; modprobe igb" "$TMP/fini.txt" || fail "fini does not name the module: $(cat "$TMP/fini.txt")"
with "vfio-pci igb" vfio-pci fini -c "$TMP/pci.ini" >"$TMP/fini.txt" 2>&1 || fail "fini: $(cat "$TMP/fini.txt")"
grep -qx -- "-b igb $PCI" "$TMP/devbind" || fail "the device did not get its driver back"
no_state || fail "a state file remains"

# mlx5 stays with the kernel's driver, and needs the verbs beside it.
[ -e /sys/class/infiniband_verbs ] || {
	with "mlx5_core" mlx5_core check -c "$TMP/pci.ini" --json >"$TMP/check.json"
	rows "$TMP/check.json" "row('driver', '$PCI')['remedy'] == 'modprobe -a mlx5_ib ib_uverbs'" || fail "check does not name mlx5's modules"
}
pass "check, init and fini name the module that is not loaded"

# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# The interfaces have the drivers they should, there is an IOMMU, and penstock runs.

. "$(dirname "$0")/lib.sh"
load_drivers
for nic in "$IGB0 igb" "$VIRTIO virtio_net" "$E1000E e1000e" "$IGB1 igb"; do
	set -- $nic
	[ "$(driver_of "$1")" = "$2" ] || fail "$1 has driver $(driver_of "$1"), should have $2"
done
[ -d /sys/class/iommu/dmar0 ] || fail "no IOMMU"
version=$("$PENSTOCK" --version) || fail "penstock does not run here"
pass "igb, virtio_net, e1000e and an IOMMU are here; $version"

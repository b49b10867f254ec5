#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# /init of the initial RAM disk: the host's root directory, read-only, under a layer in memory.

give_up() {
	echo "initrd: $*"
	poweroff -f
}

export PATH=/bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
while read -r module; do
	insmod "/modules/$module" || echo "initrd: $module cannot be loaded"
done </modules/order
mount -t 9p -o trans=virtio,version=9p2000.L,ro,cache=loose,msize=1048576 host /host ||
	give_up "the host's root directory cannot be mounted"
mount -t tmpfs -o mode=755 layer /layer
mkdir /layer/upper /layer/work
mount -t overlay -o lowerdir=/host,upperdir=/layer/upper,workdir=/layer/work root /new ||
	give_up "no overlay"
mkdir -p /new/proc /new/sys /new/dev
for fs in proc sys dev; do
	mount --move /$fs /new/$fs
done
for arg in $(cat /new/proc/cmdline); do
	case $arg in
	lab.init=*) init=${arg#lab.init=} ;;
	esac
done
exec switch_root /new "$init"

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# Process 1 of the machine: mounts what the host's own start would, runs the test's script, writes
# its output and exit code into the shared directory, and turns the machine off. With SYSTEMD set,
# systemd takes its place, and runs the script as a service.

export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8

set_up() {
	mount -t tmpfs run /run
	mkdir -p /run/lock /run/netns /dev/pts /dev/shm /dev/hugepages /mnt/share
	mount -t devpts devpts /dev/pts
	mount -t tmpfs shm /dev/shm
	mount -t hugetlbfs huge /dev/hugepages
	mount -t bpf bpf /sys/fs/bpf
	mount -t debugfs debug /sys/kernel/debug
	mount -t tracefs trace /sys/kernel/tracing
	mount -t 9p -o trans=virtio,version=9p2000.L,rw,cache=none,msize=262144 share /mnt/share
	ln -s /proc/self/fd /dev/fd
}

# Only what the test wants: nothing of the host is started.
become_systemd() {
	mkdir -p /run/systemd/system
	cat >/run/systemd/system/lab.service <<-UNIT
		[Unit]
		DefaultDependencies=no
		[Service]
		Type=oneshot
		ExecStart=/bin/bash $0 script
		TimeoutStartSec=infinity
		StandardOutput=null
		StandardError=null
	UNIT
	printf '[Unit]\nDefaultDependencies=no\nWants=lab.service\n' >/run/systemd/system/lab.target
	exec /lib/systemd/systemd --unit=lab.target
}

[ "${1:-}" = script ] || set_up
set -a
. /mnt/share/env
set +a
[ "${1:-}" = script ] || [ -z "${SYSTEMD:-}" ] || become_systemd
mkdir -p /lib/modules
ln -sfn "$MODULES/$(uname -r)" "/lib/modules/$(uname -r)"
hostname lab
ip link set lo up
ulimit -l unlimited
cut -d ' ' -f 1 /proc/uptime >/mnt/share/ready
bash "$SCRIPT" >/mnt/share/output 2>&1 </dev/null
echo $? >/mnt/share/code
sync
echo o >/proc/sysrq-trigger
sleep 60

# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# A virtual machine with the hardware that the host does not have: an IOMMU, two igb ports with
# SR-IOV, virtio-net and e1000e, emulated in software by QEMU. It boots a Debian kernel on the
# host's own root directory, read-only under a layer in memory, and so runs the very binaries that
# were built here. Sourced by the tests beside it, each of which boots once and runs one script of
# guest/ there; exit code 0, 1 or 77 with the reason in the last line.
#
#   hub 0: igb port, VFs possible (52:54:00:00:01:00)  <->  virtio-net (52:54:00:00:02:00)
#   hub 1: e1000e (52:54:00:00:03:00)                  <->  igb port (52:54:00:00:04:00)
#
# Kernels come through apt, with lists and settings of their own, and stay for the next run in
# $PENSTOCK_LAB, about 900 MB. QEMU and busybox-static are installed, nothing is upgraded.

set -u

LAB_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ROOT=$(cd "$LAB_DIR/../.." && pwd)
BUILD=$(realpath -m "${PENSTOCK_BUILD:-$ROOT/build}")
LAB=${PENSTOCK_LAB:-/var/tmp/penstock-lab}
BOOT_SECONDS=300
QEMU=
VM=

pass() {
	echo "pass: $*"
	exit 0
}

fail() {
	echo "fail: $*"
	exit 1
}

skip() {
	echo "skip: $*"
	exit 77
}

cleanup() {
	local code=$?
	trap - EXIT
	if [ -n "$QEMU" ]; then
		kill "$QEMU" 2>/dev/null
		wait "$QEMU"
	fi
	[ -z "$VM" ] || rm -rf "$VM"
	exit "$code"
}

# -- what is needed, through apt --

# The mirror, and the way to it, are the ones this machine's apt uses.
debian_mirror() {
	apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Identifier: Packages' 'Component: main' |
		sed -n '/-security$/!{s/ .*//p;q}'
}

# apt_lists RELEASE SUITE...: lists of these suites only. Mixed with the host's they would let apt
# replace half the system.
apt_lists() {
	local dir=$LAB/apt-$1 suite
	shift
	mkdir -p "$dir/lists/partial" "$dir/archives/partial"
	for suite in "$@"; do
		echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $MIRROR $suite main"
	done >"$dir/list"
	cat >"$dir/conf" <<-CONF
		Dir::Etc::sourcelist "$dir/list";
		Dir::Etc::sourceparts "/dev/null";
		Dir::State::Lists "$dir/lists";
		Dir::Cache::Archives "$dir/archives";
		Dir::Cache::pkgcache "";
		Dir::Cache::srcpkgcache "";
		Acquire::Languages "none";
		APT::Sandbox::User "root";
		DPkg::Lock::Timeout "300";
	CONF
	APT_CONFIG=$dir/conf apt-get -qq update
}

has_package() { dpkg-query -W -f '${Status}' "$1" 2>/dev/null | grep -q 'ok installed'; }

# Of QEMU 8 and older the igb model is missing; bookworm-backports has 10.
install_packages() {
	local wanted="qemu-system-x86 busybox-static kmod cpio xz-utils zstd pciutils dpdk ethtool iproute2"
	local p missing=
	for p in $wanted; do
		has_package "$p" || missing="$missing $p"
	done
	[ -n "$missing" ] || return 0
	# shellcheck disable=SC2086
	APT_CONFIG=$LAB/apt-bookworm/conf DEBIAN_FRONTEND=noninteractive apt-get -q install -y \
		--no-install-recommends -t bookworm-backports $missing
}

# newest RELEASE: the version of the kernel that the metapackage of that release stands for.
newest() {
	APT_CONFIG=$LAB/apt-$1/conf apt-cache show linux-image-amd64 |
		sed -nE 's/^Depends: .*linux-image-([0-9][^ ,]*)-amd64.*/\1/p' | sort -V | tail -n 1
}

# unpack_kernel RELEASE DIR: the kernel's packages, unpacked side by side in DIR/root. From 7 on
# Debian keeps image and modules in packages of their own.
unpack_kernel() {
	local release=$1 dir=$2 version p packages
	version=$(newest "$release")
	[ -n "$version" ] || return 1
	packages=linux-image-$version-amd64
	APT_CONFIG=$LAB/apt-$release/conf apt-cache show "linux-modules-$version-amd64" >/dev/null 2>&1 &&
		packages="linux-binary-$version-amd64 linux-modules-$version-amd64 linux-base-$version-amd64"
	rm -rf "$dir"
	mkdir -p "$dir/debs"
	# shellcheck disable=SC2086
	(cd "$dir/debs" && APT_CONFIG=$LAB/apt-$release/conf apt-get -q download $packages) || return 1
	for p in "$dir"/debs/*.deb; do
		dpkg-deb -x "$p" "$dir/root" || return 1
	done
	rm -rf "$dir/debs"
}

# prepare_kernel RELEASE DIR: vmlinux, initrd.gz and modules; "done" is written last.
prepare_kernel() {
	local dir=$2
	[ ! -e "$dir/done" ] || return 0
	unpack_kernel "$1" "$dir" || return 1
	if [ -d "$dir/root/lib/modules" ] && [ ! -L "$dir/root/lib" ]; then
		mkdir -p "$dir/root/usr/lib"
		mv "$dir/root/lib/modules" "$dir/root/usr/lib/"
		rm -r "$dir/root/lib"
	fi
	ln -sfn usr/lib "$dir/root/lib"
	ls "$dir/root/usr/lib/modules" >"$dir/release" && depmod -b "$dir/root" "$(cat "$dir/release")" &&
		python3 "$LAB_DIR/vmlinux.py" "$(find "$dir/root" -name 'vmlinuz*' -type f | head -n 1)" \
			"$dir/vmlinux" && make_initrd "$dir" && touch "$dir/done"
}

# Just enough to mount the host's root directory and go there.
make_initrd() {
	local dir=$1 tmp module file name tool release
	release=$(cat "$dir/release")
	tmp=$(mktemp -d) || return 1
	mkdir -p "$tmp"/{bin,proc,sys,dev,modules,host,layer,new}
	cp "$(command -v busybox)" "$tmp/bin/busybox"
	for tool in sh mount insmod mkdir switch_root cat poweroff; do
		ln -s busybox "$tmp/bin/$tool"
	done
	for module in virtio_pci 9pnet_virtio 9p overlay; do
		modprobe -d "$dir/root" -S "$release" --show-depends "$module" |
			sed -n 's/^insmod \([^ ]*\).*/\1/p'
	done | awk '!seen[$0]++' | while read -r file; do
		name=$(basename "$file")
		name=${name%%.ko*}.ko
		echo "$name" >>"$tmp/modules/order"
		case $file in
		*.xz) xz -dc "$file" >"$tmp/modules/$name" ;;
		*.zst) zstd -qdc "$file" >"$tmp/modules/$name" ;;
		*) cp "$file" "$tmp/modules/$name" ;;
		esac
	done
	cp "$LAB_DIR/guest/initrd.sh" "$tmp/init"
	chmod 755 "$tmp/init"
	(cd "$tmp" && find . | cpio -o -H newc --quiet | gzip -1) >"$dir/initrd.gz"
	rm -rf "$tmp"
}

# need_lab KERNEL: 6 or 7. Everything is there afterwards, or the test is skipped.
need_lab() {
	local release log=$LAB/prepare.log
	[ "$(id -u)" -eq 0 ] || skip "needs root to read the whole root directory and to install QEMU"
	[ -x "$BUILD/app/penstock" ] || skip "$BUILD/app/penstock is not built; ninja -C $BUILD"
	KERNEL=$LAB/kernel-$1
	mkdir -p "$LAB" || skip "cannot make $LAB; set PENSTOCK_LAB"
	# One machine at a time, too: they are slow enough.
	exec 9>"$LAB/lock"
	flock 9
	[ ! -e "$KERNEL/done" ] || ! has_package qemu-system-x86 || return 0
	MIRROR=$(debian_mirror)
	[ -n "$MIRROR" ] || skip "apt knows no Debian mirror; apt-get update"
	{
		apt_lists bookworm bookworm bookworm-updates bookworm-backports && install_packages
	} >"$log" 2>&1 || skip "QEMU cannot be installed: $(tail -n 1 "$log")"
	case $1 in
	6) release=bookworm ;;
	*) release=trixie ;;
	esac
	{
		[ $release = bookworm ] || apt_lists trixie trixie-backports
		prepare_kernel $release "$KERNEL"
	} >>"$log" 2>&1 || skip "kernel $1 cannot be had: $(tail -n 1 "$log")"
}

# -- the machine --

# A root port each, so that every function has an IOMMU group of its own. Without the 64-bit hole
# set to nothing the VFs' registers would lie where the igb model truncates their address.
nics() {
	local n=0 nic
	for nic in igb,netdev=hub0a,mac=52:54:00:00:01:00 \
		virtio-net-pci,netdev=hub0b,mac=52:54:00:00:02:00,disable-legacy=on,iommu_platform=on,ats=on \
		e1000e,netdev=hub1a,mac=52:54:00:00:03:00 \
		igb,netdev=hub1b,mac=52:54:00:00:04:00; do
		n=$((n + 1))
		echo "-device pcie-root-port,id=slot$n,chassis=$n,slot=$n -device $nic,bus=slot$n"
	done
	for n in 0 1; do
		echo "-netdev hubport,id=hub${n}a,hubid=$n -netdev hubport,id=hub${n}b,hubid=$n"
	done
	echo "-device intel-iommu,intremap=on -global q35-pcihost.pci-hole64-size=0"
}

share() { echo "-virtfs local,path=$2,mount_tag=$1,security_model=none,multidevs=remap$3"; }

# run_guest SCRIPT [NAME=VALUE...]: boots, runs guest/SCRIPT with these variables, and ends with
# its verdict.
run_guest() {
	local script=$1 start=$SECONDS code
	shift
	trap cleanup EXIT
	trap 'exit 129' HUP
	trap 'exit 130' INT
	trap 'exit 143' TERM
	VM=$(mktemp -d "$LAB/vm.XXXXXX") || skip "cannot make a directory in $LAB"
	mkdir "$VM/share"
	printf '%s\n' "PENSTOCK_BUILD=$BUILD" "MODULES=$KERNEL/root/usr/lib/modules" \
		"SCRIPT=$LAB_DIR/guest/$script" "$@" >"$VM/share/env"
	# shellcheck disable=SC2046
	timeout -k 5 $BOOT_SECONDS qemu-system-x86_64 -M q35 -accel tcg,thread=multi,tb-size=256 \
		-cpu max -smp 3 -m 2048 -display none -vga none -nodefaults -no-user-config -no-reboot \
		-serial "file:$VM/console" $(nics) \
		$(share host / ,readonly=on) $(share share "$VM/share" "") \
		-kernel "$KERNEL/vmlinux" -initrd "$KERNEL/initrd.gz" \
		-append "console=ttyS0 loglevel=4 panic=-1 mitigations=off intel_iommu=on tsc=unstable no_timer_check lab.init=$LAB_DIR/guest/init.sh" \
		</dev/null >"$VM/qemu.log" 2>&1 9>&- &
	QEMU=$!
	wait $QEMU
	code=$?
	QEMU=
	if [ ! -s "$VM/share/code" ]; then
		tail -n 10 "$VM/qemu.log" "$VM/console"
		[ ! -e "$VM/share/output" ] || tail -n 20 "$VM/share/output"
		[ $code -ne 124 ] || fail "the machine was not done after $BOOT_SECONDS s"
		fail "the machine ended before its test, QEMU's exit code is $code"
	fi
	echo "kernel $(cat "$KERNEL/release"): test began $(cat "$VM/share/ready") s after the kernel, $((SECONDS - start)) s in all"
	grep -E 'BUG|Oops|WARNING|DMAR.*fault' "$VM/console"
	cat "$VM/share/output"
	exit "$(cat "$VM/share/code")"
}

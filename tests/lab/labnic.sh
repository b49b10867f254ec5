# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# The module guest/labnic.c, built for the lab's kernel 6.12 from that kernel's header packages,
# which are unpacked beside it and not installed. Sourced after lib.sh.

# unpack_headers RELEASE DIR: the packages point to /usr/src, and a vmlinux would ask for pahole.
unpack_headers() {
	local version=${1%-amd64} dir=$2 deb
	rm -rf "$dir"
	mkdir -p "$dir/debs"
	(cd "$dir/debs" && APT_CONFIG=$LAB/apt-bookworm/conf apt-get -q download "linux-headers-$1" \
		"linux-headers-$version-common" "linux-kbuild-$version") || return 1
	for deb in "$dir"/debs/*.deb; do
		dpkg-deb -x "$deb" "$dir" || return 1
	done
	rm -r "$dir/debs" "$dir/usr/src/linux-headers-$1/vmlinux"
	sed -i "s,/usr/src/,$dir/usr/src/," "$dir/usr/src/linux-headers-$1/Makefile" && touch "$dir/done"
}

# need_labnic: the module in $LABNIC. After need_lab 6, whose lock it is under.
need_labnic() {
	local log=$LAB/prepare.log headers=$KERNEL/headers build=$KERNEL/labnic release tool
	release=$(cat "$KERNEL/release")
	LABNIC=$build/labnic.ko
	[ ! "$LABNIC" -nt "$LAB_DIR/guest/labnic.c" ] || return 0
	[[ $release = 6.12.* ]] || skip "labnic is for Linux 6.12, this is $release"
	for tool in make gcc-12; do
		command -v $tool >/dev/null || skip "labnic needs $tool; apt-get install build-essential"
	done
	if [ ! -e "$headers/done" ]; then
		MIRROR=$(debian_mirror)
		{
			apt_lists bookworm bookworm bookworm-updates bookworm-backports &&
				unpack_headers "$release" "$headers"
		} >"$log" 2>&1 || skip "headers of $release cannot be had: $(tail -n 1 "$log")"
	fi
	mkdir -p "$build"
	cp "$LAB_DIR/guest/labnic.c" "$build"
	echo "obj-m := labnic.o" >"$build/Kbuild"
	make -C "$headers/usr/src/linux-headers-$release" M="$build" KCFLAGS=-Werror modules >"$log" 2>&1 || {
		tail -n 20 "$log"
		fail "labnic does not build"
	}
}

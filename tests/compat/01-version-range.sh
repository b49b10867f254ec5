#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# meson takes every DPDK from the oldest to the newest in dpdk-version.txt, point releases included,
# and refuses others in a line that names both versions. The DPDK found here is the installed one
# under other version numbers, so nothing is built.

. "$(dirname "$0")/lib.sh"

command -v meson >/dev/null || skip "needs meson; apt-get install meson"
pc_dir=$(pkg-config --variable=pcfiledir libdpdk) || skip "needs DPDK; apt-get install libdpdk-dev"
oldest=$(sed -n 's/^min //p' "$ROOT/dpdk-version.txt")
newest=$(sed -n 's/^max //p' "$ROOT/dpdk-version.txt")
[[ "$oldest $newest" =~ ^[0-9]{2}\.11\ [0-9]{2}\.11$ ]] || fail "dpdk-version.txt: not two LTS releases"
grep -qx "compat [a-z]* $newest" "$COMPAT_DIR"/[0-9]*.sh || fail "no script here builds with DPDK $newest"

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# configure VERSION: what meson says, with libdpdk at that version
configure() {
	sed "s/^Version:.*/Version: $1/" "$pc_dir/libdpdk.pc" >"$tmp/libdpdk.pc"
	rm -rf "$tmp/build"
	PKG_CONFIG_PATH=$tmp meson setup "$tmp/build" "$ROOT" >"$tmp/log" 2>&1
}

taken() {
	configure "$1" || {
		tail -n 3 "$tmp/log"
		fail "DPDK $1 is refused"
	}
	grep -q "libdpdk found: YES $1" "$tmp/log" || fail "meson did not look at the doctored version $1"
}

# refused VERSION BOUND
refused() {
	configure "$1" && fail "DPDK $1 is taken"
	grep 'ERROR' "$tmp/log" | grep -F "$1" | grep -qF "$2" || {
		tail -n 3 "$tmp/log"
		fail "DPDK $1: no line with it and $2"
	}
}

# The releases around a bound: DPDK has one in March (03), July (07) and November (11).
year=${oldest%.*}
refused $((year - 1)).11.9 "$oldest"
refused $year.07.0 "$oldest"
taken $oldest.0
taken $oldest.11
taken $((year + 1)).03.0
year=${newest%.*}
taken $year.07.0
taken $newest.0
taken $newest.15
refused $((year + 1)).03.0 "$newest"
refused $((year + 1)).11.0-rc1 "$newest"
refused 100.11.0 "$newest"
pass "DPDK $oldest to $newest.x is taken, older and newer ones are refused"

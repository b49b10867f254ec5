#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# Steering against drivers that behave as real ones do (persona_pmd.c). An ethdev driver needs
# headers that libdpdk-dev does not ship: they come from the distribution's source package of
# exactly the installed DPDK, fetched once into the build directory with an apt configuration of
# our own. The system's is not touched.

set -u

HERE=$(cd "$(dirname "$0")" && pwd)
ROOT=$(cd "$HERE/../.." && pwd)
BUILD=${PENSTOCK_BUILD:-$ROOT/build}
GLUE=$BUILD/tests-glue

skip() {
	echo "skip: $*"
	exit 77
}

fail() {
	echo "fail: $*"
	exit 1
}

version=$(dpkg-query -W -f '${source:Version}' libdpdk-dev 2>/dev/null)
[ -n "$version" ] || skip "DPDK is not a Debian package here, so its driver headers cannot be matched"
SDK=$GLUE/sdk-$version

# The archive that offers the installed version, as a source for sources: "uri suite component".
archive() {
	apt-cache policy libdpdk-dev | awk -v want="$(dpkg-query -W -f '${Version}' libdpdk-dev)" '
		$1 == "***" || NF == 2 { here = $1 == want || $2 == want }
		here && $2 ~ /^[a-z+]+:\// { split($3, s, "/"); print $2, s[1], s[2]; exit }'
}

private_apt() {
	timeout 300 apt-get -q -o Dir::Etc::sourcelist="$GLUE/apt/sources.list" -o Dir::Etc::sourceparts=/dev/null \
		-o Dir::State::lists="$GLUE/apt/lists" -o Dir::Cache="$GLUE/apt/cache" \
		-o APT::Sandbox::User=root "$@"
}

fetch_headers() {
	local source tree
	source=$(archive)
	[ -n "$source" ] || skip "no configured package archive offers DPDK $version"
	mkdir -p "$GLUE/apt/lists/partial" "$GLUE/apt/cache/archives/partial" "$SDK.part"
	echo "deb-src $source" >"$GLUE/apt/sources.list"
	cd "$GLUE" || fail "cannot enter $GLUE"
	{ private_apt update && private_apt source --download-only dpdk="$version"; } \
		>"$GLUE/apt/log" 2>&1 ||
		skip "the source package of DPDK $version cannot be fetched: $(grep '^[EW]:' "$GLUE/apt/log" | tail -n 1)"
	tree=$(echo "$GLUE"/dpdk_*.orig.tar.[gx]z)
	tar -xf "$tree" -C "$SDK.part" --strip-components=1 --wildcards \
		'*/lib/ethdev/*_driver.h' '*/lib/ethdev/ethdev_vdev.h' \
		'*/lib/eal/include/dev_driver.h' '*/lib/eal/include/bus_driver.h' \
		'*/drivers/bus/vdev/bus_vdev_driver.h' ||
		skip "the source package of DPDK $version has other driver headers"
	rm -rf "$GLUE/apt" "$GLUE"/dpdk_*
	mv "$SDK.part" "$SDK"
}

if [ ! -d "$SDK" ]; then
	rm -rf "$SDK.part"
	fetch_headers
fi

sources=("$HERE/persona_pmd.c" "$HERE/persona_dev.c" "$HERE/test_personas.c")
if ! ${CC:-gcc} -std=gnu11 -O2 -g -Wall -Wextra -Werror -Wno-missing-field-initializers -D_GNU_SOURCE \
	-DALLOW_INTERNAL_API -DALLOW_EXPERIMENTAL_API \
	-I"$SDK/lib/ethdev" -I"$SDK/lib/eal/include" -I"$SDK/drivers/bus/vdev" \
	-I"$ROOT/drivers-glue" -I"$ROOT/lib/base" $(pkg-config --cflags libdpdk) \
	-o "$GLUE/test_personas" "${sources[@]}" \
	"$BUILD/drivers-glue/libps_glue.a" "$BUILD/lib/base/libps_base.a" \
	$(pkg-config --libs libdpdk) -lrte_bus_vdev -lcunit -lpthread; then
	fail "the test driver does not build against DPDK $version"
fi
devices=
for device in net_i40e0 net_iavf0 net_iavf1 net_ice0 net_bnxt0 mlx5_pci0; do
	devices="$devices --vdev=$device"
done
"$GLUE/test_personas" --no-huge -m 64 --no-pci --no-shconf --no-telemetry -l 0 --log-level=5 \
	$devices || fail "test_personas"
echo "pass: DPDK $version"

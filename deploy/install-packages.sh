#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# Installs, through apt, what building penstock and its default client needs; with --tests also what
# the test suites need. Packages that are there already are left alone.

set -eu

build="build-essential clang llvm meson ninja-build pkg-config python3 iproute2 ethtool procps
	libdpdk-dev libbpf-dev libxdp-dev libmnl-dev libjansson-dev libyaml-dev libipsec-mb-dev libgnutls28-dev nettle-dev libnuma-dev
	libngtcp2-dev libngtcp2-crypto-gnutls-dev libsodium-dev libcunit1-dev"
tests="clang-format libclang-rt-dev bpftool debootstrap tshark man-db mandoc cmake python3-venv openssl valgrind gnuplot-nox qemu-user"

case "${1:-}" in
"") wanted=$build ;;
--tests) wanted="$build $tests" ;;
*)
	echo "usage: deploy/install-packages.sh [--tests]" >&2
	exit 2
	;;
esac

missing=
for p in $wanted; do
	dpkg-query -W -f '${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || missing="$missing $p"
done
[ -n "$missing" ] || exit 0
if [ "$(id -u)" -ne 0 ]; then
	echo "install-packages: run as root: apt-get install$missing" >&2
	exit 1
fi
echo "installing$missing" >&2
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { apt-get -q update && DEBIAN_FRONTEND=noninteractive apt-get -q -y \
	--no-install-recommends install $missing; } >"$log" 2>&1; then
	tail -n 5 "$log" >&2
	echo "install-packages: apt-get cannot install$missing" >&2
	exit 1
fi

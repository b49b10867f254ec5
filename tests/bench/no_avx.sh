#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# no_avx.sh BUILD: on an emulated processor of 2010, with AES and without AVX, the ciphers agree with
# their test vectors and the engine still delivers what was sent. Code for wider registers is chosen
# at run time; nothing may have been compiled for the machine that builds.

build=$1
command -v qemu-x86_64 >/dev/null || { echo "skip: needs qemu-x86_64; apt-get install qemu-user"; exit 77; }
on_westmere() {
	timeout 100 qemu-x86_64 -cpu Westmere "$@" 2>&1 || { echo "fail: $* on a processor without AVX"; exit 1; }
}
for test in protect protect_cache protect_ids protect_small classify; do
	on_westmere "$build/tests/unit/test_$test"
done
for bench in "ingest --size 176" "feed --size 1232" "retry" "classify"; do
	# shellcheck disable=SC2086
	on_westmere "$build/app/penstock" bench $bench --reps 1
done

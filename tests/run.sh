#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# Builds and runs the test suites. One line per test (ok, FAIL, skip), the reason under what is not
# ok, and a last line with the sums. Exit code 0 when nothing failed, 1 otherwise, 2 usage.

set -u
cd "$(dirname "$0")/.."
ROOT=$PWD
export PENSTOCK_BUILD=${PENSTOCK_BUILD:-$ROOT/build}

# name: what it proves
suites="format:the tree is formatted as .clang-format says
compile:gcc and clang build everything with -Wall -Wextra -Werror
unit:one CUnit program per module
conformance:what the QUIC RFCs ask of a server, and foreign clients over bad networks
hostile:input that hurt other endpoints, row by row of a catalogue
sim:two endpoints over a seeded bad link, 1,000 seeds
fuzz-replay:the seeds of every fuzzer, replayed; tests/fuzz/run.sh is what fuzzes
sanitize:unit, conformance, hostile, sim and fuzz-replay under AddressSanitizer and UndefinedBehaviorSanitizer
netns:the real program on AF_XDP between network namespaces
interop:clients that nobody here wrote, against the real program
glue:steering rules against drivers that behave as real ones do; needs DPDK's source package
bridge:penstock bridge before a validator, Agave's own server too (not in the default run)
compat:the build against newer DPDK releases in Debian chroots (not in the default run)
lab:virtual hardware in QEMU: SR-IOV, IOMMU, VFIO, zero-copy AF_XDP (not in the default run)"
default="format compile unit conformance hostile sim fuzz-replay sanitize netns interop glue"

usage() {
	echo "usage: tests/run.sh [--suite NAME]... [--nightly] [--list]"
	echo "Without --suite: $default."
	echo "bridge, compat and lab run only when named: they build, fetch or boot whole systems. --nightly: 100,000 seeds in sim."
	echo "PENSTOCK_BUILD names another build directory than build/."
}

chosen= nightly=
while [ $# -gt 0 ]; do
	case $1 in
	--suite)
		if ! grep -q "^${2:-}:" <<<"$suites"; then
			echo "run.sh: no suite '${2:-}'; tests/run.sh --list names them" >&2
			exit 2
		fi
		chosen="$chosen $2"
		shift
		;;
	--nightly) nightly=yes ;;
	--list)
		sed 's/:/\t/' <<<"$suites" | expand -t 12
		exit 0
		;;
	-h | --help)
		usage
		exit 0
		;;
	*)
		usage >&2
		exit 2
		;;
	esac
	shift
done

passed=0 failed=0 skipped=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT
trap 'exit 130' INT TERM

# result CODE SUITE NAME: counts, prints, and shows the log's end when there is something to explain.
result() {
	case $1 in
	0)
		passed=$((passed + 1))
		echo "ok   $2/$3"
		;;
	77)
		skipped=$((skipped + 1))
		echo "skip $2/$3: $(tail -n 1 "$log")"
		;;
	*)
		failed=$((failed + 1))
		echo "FAIL $2/$3 (exit $1)"
		tail -n 40 "$log" | sed 's/^/     /'
		;;
	esac
}

# What fails is tried once more, and the first failure stays in the output: tests with real processes,
# kills and losses meet a busy machine, and a rare fault of ours is to be seen, not to be hidden.
again() {
	echo "again $2: exit $1 the first time"
	tail -n 12 "$log" | sed 's/^/     /'
}

# check SUITE NAME COMMAND...
check() {
	local suite=$1 name=$2 code
	shift 2
	"$@" >"$log" 2>&1
	code=$?
	if [ $code -ne 0 ] && [ $code -ne 77 ]; then
		again $code "$suite/$name"
		"$@" >"$log" 2>&1
		code=$?
	fi
	result $code "$suite" "$name"
}

# build DIR [MESON OPTIONS...]
build() {
	local dir=$1
	shift
	if [ ! -f "$dir/build.ninja" ]; then
		meson setup "$dir" "$ROOT" "$@" || return 1
	fi
	ninja -C "$dir"
}

# meson_suite SUITE DIR MESON_SUITE: every test of it, one line each. A suite without tests failed.
meson_suite() {
	local suite=$1 dir=$2 tests=$3 name names code
	if ! names=$(meson test -C "$dir" --no-rebuild --list --suite "$tests" 2>&1) || [[ $names != *" / "* ]]; then
		echo "$names" >"$log"
		echo "meson lists no test of suite $tests in $dir" >>"$log"
		result 1 "$suite" "list-of-$tests"
		return
	fi
	for name in $(sed -n 's,.* / ,,p' <<<"$names"); do
		meson test -C "$dir" --no-rebuild --print-errorlogs --verbose "$name" >"$log" 2>&1
		code=$?
		if [ $code -ne 0 ]; then
			again $code "$suite/$name"
			meson test -C "$dir" --no-rebuild --print-errorlogs --verbose "$name" >"$log" 2>&1
			code=$?
		fi
		# meson counts a skip as success
		grep -q '^Skipped: *[1-9]' "$log" && code=77 && sed -n -i '/^skip/p' "$log"
		result $code "$suite" "$name"
	done
}

# scripts SUITE [SECONDS]: its numbered scripts, each with that much time.
scripts() {
	local script
	for script in tests/"$1"/[0-9]*.sh; do
		check "$1" "$(basename "$script" .sh)" timeout "${2:-600}" bash "$script"
	done
}

suite_format() {
	check format clang-format bash -c \
		'git ls-files "*.c" "*.h" | xargs clang-format --dry-run -Werror'
}

suite_compile() {
	check compile gcc env CC=gcc bash -c "$(declare -f build); ROOT=$ROOT; build $PENSTOCK_BUILD-gcc -Dwerror=true"
	check compile clang env CC=clang bash -c "$(declare -f build); ROOT=$ROOT; build $PENSTOCK_BUILD-clang -Dwerror=true"
}

suite_unit() { meson_suite unit "$PENSTOCK_BUILD" unit; }

suite_conformance() {
	local rows=$PENSTOCK_BUILD/conformance.tsv
	meson_suite conformance "$PENSTOCK_BUILD" conformance
	rm -f "$rows"
	scripts conformance 1800
	[ ! -s "$rows" ] || bash tests/conformance/table.sh "$rows"
}

suite_hostile() { meson_suite hostile "$PENSTOCK_BUILD" hostile; }
suite_sim() {
	if [ -n "$nightly" ]; then
		check sim 100000-seeds "$PENSTOCK_BUILD/tests/sim/sim" 1 100000
	else
		meson_suite sim "$PENSTOCK_BUILD" sim
	fi
}
suite_fuzz-replay() { meson_suite fuzz "$PENSTOCK_BUILD" fuzz; }

suite_sanitize() {
	local dir=$PENSTOCK_BUILD-sanitize
	build "$dir" -Dbuildtype=debugoptimized -Db_sanitize=address,undefined -Db_lundef=false >"$log" 2>&1
	result $? sanitize build
	meson_suite sanitize "$dir" unit
	meson_suite sanitize "$dir" conformance
	meson_suite sanitize "$dir" hostile
	meson_suite sanitize "$dir" sim
	meson_suite sanitize "$dir" fuzz
}

suite_netns() { scripts netns; }
# The first build of a foreign client is slow.
suite_interop() {
	local rows=$PENSTOCK_BUILD/interop.tsv
	rm -f "$rows"
	scripts interop 1800
	[ ! -s "$rows" ] || bash tests/interop/table.sh "$rows"
}
suite_bridge() { scripts bridge 1800; }
suite_glue() { scripts glue; }
suite_compat() { scripts compat 1800; }
suite_lab() { scripts lab; }

if ! bash deploy/install-packages.sh --tests; then
	exit 1
fi
build "$PENSTOCK_BUILD" >"$log" 2>&1
code=$?
if [ $code -ne 0 ]; then
	result $code build "$PENSTOCK_BUILD"
	echo "$passed passed, $failed failed, $skipped skipped"
	exit 1
fi
for suite in ${chosen:-$default}; do
	echo "== $suite: $(sed -n "s/^$suite://p" <<<"$suites")"
	"suite_$suite"
done
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]

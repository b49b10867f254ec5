#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# Both clients make the same transactions of a seed, so that one checker serves both.

. "$(dirname "$0")/lib.sh"
need_ngtcp2
need_quinn
digest() { "$@" | sha256sum; }
for args in "" "--seed 18446744073709551615" "--sizes 134-180" "--sizes 296-299" "--sizes 1233-1400" --large; do
	# shellcheck disable=SC2086
	c=$(digest "$NGTCP2" --dump --count 1000 $args)
	# shellcheck disable=SC2086
	rust=$(digest "$QUINN" --dump --count 1000 $args)
	[ "$c" = "$rust" ] || fail "1000 transactions ($args) differ between the clients"
	[ "$c" != "$(digest true)" ] || fail "no transactions ($args)"
done
pass "6 times 1000 transactions are the same in both clients"

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# Every test that deploy/doc/conformance.md names exists, and every row of the catalogue is in it.

cd "$(dirname "$0")/../.." || exit 1
page=deploy/doc/conformance.md
missing=0 n=0
while IFS= read -r named; do
	program=${named%%/*}
	for file in tests/unit/test_$program.c tests/hostile/$program.c; do
		[ -e "$file" ] && break
	done
	n=$((n + 1))
	if [ ! -e "$file" ]; then
		echo "$page names $named: there is no such program"
	elif [ "$program" != "$named" ] && ! grep -qF "\"${named#*/}\"" "$file"; then
		echo "$page names $named: $file has no such test"
	else
		continue
	fi
	missing=$((missing + 1))
done < <(sed -n '/^## /,$p' $page | grep -oE '`[a-z0-9_]+(/[^`]+)?`' | tr -d '`' | grep -vE '^(program|tests)' | sort -u)
while IFS= read -r row; do
	grep -qE "^\| $row \|" <(sed -n '/^## Hostile/,$p' $page) || {
		echo "$page lacks row $row"
		missing=$((missing + 1))
	}
done < <(grep -hoE '^	\{"[0-9]+"' tests/hostile/hostile_*.c | grep -oE '[0-9]+')
echo "$n tests named, $missing missing"
[ "$n" -gt 100 ] && [ "$missing" -eq 0 ]

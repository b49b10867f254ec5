#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# table.sh FILE: what each client saw in the cases of one run, a table per client. Of a case that was
# tried again, the second result.

set -eu
width=${COLUMNS:-120}
for client in $(cut -f2 "$1" | sort -u); do
	echo "  $client"
	awk -F '\t' -v client="$client" '
		$2 == client && !($1 in line) { cases[++n] = $1 }
		$2 == client { line[$1] = sprintf("    %-20s %-12s %s", $1, $3, $4) }
		END { for (i = 1; i <= n; i++) print line[cases[i]] }' "$1" | cut -c "1-$width"
done

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# table.sh FILE: what each client saw in the cases of one run, a table per client.

set -eu
width=${COLUMNS:-120}
for client in $(cut -f2 "$1" | sort -u); do
	echo "  $client"
	awk -F '\t' -v client="$client" '$2 == client { printf "    %-20s %-12s %s\n", $1, $3, $4 }' "$1" \
		| cut -c "1-$width"
done

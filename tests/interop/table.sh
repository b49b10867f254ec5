#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# table.sh FILE: what the clients obtained in the cases of one run, a row per client; below it the
# reasons of what is not ok. Of a client that was tried again, the second result.

set -eu
awk -F '\t' '
	!($1 in known) { known[$1]; clients[++n] = $1 }
	!($2 in seen) && $2 != "all" { seen[$2]; cases[++m] = $2 }
	{ result[$1, $2] = $3; why[$1, $2] = $4 }
	END {
		printf "  %-9s", "client"
		for (j = 1; j <= m; j++)
			printf "%-*s", length(cases[j]) + 2, cases[j]
		print ""
		for (i = 1; i <= n; i++) {
			c = clients[i]
			printf "  %-9s", c
			if (((c, "all") in result) && m > 0)
				printf "%s: %s", result[c, "all"], why[c, "all"]
			else
				for (j = 1; j <= m; j++)
					printf "%-*s", length(cases[j]) + 2, result[c, cases[j]]
			print ""
		}
		for (i = 1; i <= n; i++) {
			delete told
			for (j = 1; j <= m; j++)
				if (reason = why[clients[i], cases[j]])
					told[reason] = told[reason] " " cases[j]
			for (reason in told)
				printf "  %s,%s: %s\n", clients[i], told[reason], reason
		}
	}' "$1"

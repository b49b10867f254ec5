#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# layout = dedicated: some queues of an interface are penstock's, by indirection table and rules that
# init sets and fini takes back; what comes to the services reaches those queues, and nothing else.

. "$(dirname "$0")/lib.sh"
. "$LAB_DIR/labnic.sh"
need_lab 6
need_labnic
BOOT_SECONDS=600 # every kill is an init and a fini
run_guest dedicated.sh LABNIC="$LABNIC"

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# Fail open with drop rules in the physical function: penstock killed, stopped, with a worker that is
# stuck, killed between two rules; alone, and under launch.sh. The kernel has the traffic within
# three seconds, by the guard.

. "$(dirname "$0")/lib.sh"
. "$LAB_DIR/labnic.sh"
need_lab 6
need_labnic
BOOT_SECONDS=900 # under emulation penstock starts eight times, launch.sh three
run_guest guard.sh LABNIC="$LABNIC"

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# Drop rules lost while penstock runs: ntuple turned off, another MAC address, a rule deleted. Each
# is noticed within two watch periods.

. "$(dirname "$0")/lib.sh"
. "$LAB_DIR/labnic.sh"
need_lab 6
need_labnic
run_guest rule_loss.sh LABNIC="$LABNIC"

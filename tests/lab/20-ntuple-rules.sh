#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# Drop rules in the physical function of a VF with its address: they keep the kernel from seeing
# what is ours, are read back as each driver reports them, and go without taking others along.

. "$(dirname "$0")/lib.sh"
. "$LAB_DIR/labnic.sh"
need_lab 6
need_labnic
run_guest ntuple_rules.sh LABNIC="$LABNIC"

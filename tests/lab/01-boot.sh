#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# The machine starts, has the hardware it should, and runs penstock.

. "$(dirname "$0")/lib.sh"
need_lab 7
run_guest boot.sh

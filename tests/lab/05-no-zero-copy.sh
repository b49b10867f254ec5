#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# Linux 6.12 has no zero-copy in igb: zero_copy = require is refused, and prefer says that it copies.

. "$(dirname "$0")/lib.sh"
need_lab 6
run_guest zero_copy.sh SERVER=IGB1 CLIENT=E1000E MODE=copy

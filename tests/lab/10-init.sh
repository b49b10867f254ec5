#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# penstock init makes a VF and binds it to vfio-pci, fini gives it back; both on real drivers, and
# after kill -9 before and after every step.

. "$(dirname "$0")/lib.sh"
need_lab 7
BOOT_SECONDS=600 # every kill is an init and a fini
run_guest init_vf.sh

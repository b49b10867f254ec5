#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# The units of deploy/systemd under systemd as process 1: started, stopped, restarted after
# penstock was killed, after it hung, and after launch.sh hung.

. "$(dirname "$0")/lib.sh"
[ -x /lib/systemd/systemd ] || skip "needs systemd; apt-get install systemd"
need_lab 6
BOOT_SECONDS=600 # five starts under emulation
run_guest systemd.sh SYSTEMD=yes

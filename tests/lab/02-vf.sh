#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# The life of a VF: made by init, served QUIC on with the igb VF driver, given back by fini.

. "$(dirname "$0")/lib.sh"
need_lab 7
run_guest vf.sh

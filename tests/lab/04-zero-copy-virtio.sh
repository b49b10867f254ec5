#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# AF_XDP in zero-copy mode on virtio-net.

. "$(dirname "$0")/lib.sh"
need_lab 7
run_guest zero_copy.sh SERVER=VIRTIO CLIENT=IGB0 MODE=zero-copy

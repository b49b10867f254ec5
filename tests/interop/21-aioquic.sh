#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# aioquic, QUIC and TLS in Python.

. "$(dirname "$0")/cases.sh"
all_cases aioquic

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# quic-go with Go's TLS, whose ClientHello with a post-quantum key share takes two packets.

. "$(dirname "$0")/cases.sh"
all_cases quicgo

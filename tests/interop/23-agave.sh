#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# Agave's own client crate, solana-tpu-client-next. It does not tell what was acknowledged, and it
# keeps one connection to a leader: the feed is the judge.

. "$(dirname "$0")/cases.sh"
CONNECTION_COUNTS=1
NOT_POSSIBLE="rsa ecdsa chain2 no_certificate alpn"
WHY_NOT="the crate makes its one Ed25519 certificate and names its ALPN itself"
all_cases agave

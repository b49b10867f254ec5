#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# quinn with rustls and ring, the stack of Agave's own clients.

. "$(dirname "$0")/cases.sh"
all_cases quinn

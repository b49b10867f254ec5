#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
"""vmlinux.py BZIMAGE OUT: the kernel inside a compressed image.

Under emulation the kernel would take several seconds to unpack itself.
"""
import subprocess
import sys

FORMATS = (
    (b"\x28\xb5\x2f\xfd", ["zstd", "-dcq"]),
    (b"\xfd7zXZ\x00", ["xz", "-dcq"]),
    (b"\x1f\x8b\x08", ["gzip", "-dcq"]),
)


def unpack(image):
    for magic, command in FORMATS:
        at = image.find(magic)
        while at >= 0:
            # What follows the payload makes the tools fail after they have written it.
            out = subprocess.run(
                command, input=image[at:], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            ).stdout
            if out[:4] == b"\x7fELF":
                return out
            at = image.find(magic, at + 1)
    sys.exit("vmlinux.py: no compressed kernel in " + sys.argv[1])


if len(sys.argv) != 3:
    sys.exit(__doc__)
with open(sys.argv[1], "rb") as f:
    kernel = unpack(f.read())
with open(sys.argv[2], "wb") as f:
    f.write(kernel)

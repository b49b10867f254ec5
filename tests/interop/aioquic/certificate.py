# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
"""A self-signed certificate with a new Ed25519 key, as Solana nodes have."""

import datetime

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ed25519


def certificate():
    key = ed25519.Ed25519PrivateKey.generate()
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "Solana node")])
    now = datetime.datetime.now(datetime.timezone.utc)
    day = datetime.timedelta(days=1)
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, now - day, now + day)
    return builder.sign(key, None), key

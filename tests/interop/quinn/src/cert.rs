// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 The Penstock authors

//! Certificates as Solana's nodes present them (DER).

use ring::signature::{Ed25519KeyPair, KeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

pub type Identity = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

/// The certificate and key of an Ed25519 seed.
pub fn identity(seed: &[u8; 32]) -> Identity {
    let key = Ed25519KeyPair::from_seed_unchecked(seed).unwrap();
    let chain = vec![CertificateDer::from(solana(key.public_key().as_ref()))];
    (chain, PrivateKeyDer::try_from(pkcs8(seed)).unwrap())
}

/// Solana's certificate of 249 bytes; its signature is 64 bytes 0xff that nobody checks.
fn solana(public_key: &[u8]) -> Vec<u8> {
    const HEAD: &[u8] = b"\x30\x81\xf6\x30\x81\xa9\xa0\x03\x02\x01\x02\x02\x08\
        \x01\x01\x01\x01\x01\x01\x01\x01\x30\x05\x06\x03\x2b\x65\x70\x30\x16\x31\x14\x30\x12\
        \x06\x03\x55\x04\x03\x0c\x0bSolana node\x30\x20\x17\x0d700101000000Z\
        \x18\x0f40960101000000Z\x30\x00\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00";
    const TAIL: &[u8] = b"\xa3\x29\x30\x27\x30\x17\x06\x03\x55\x1d\x11\x01\x01\xff\x04\x0d\
        \x30\x0b\x82\x09localhost\x30\x0c\x06\x03\x55\x1d\x13\x01\x01\xff\x04\x02\x30\x00\
        \x30\x05\x06\x03\x2b\x65\x70\x03\x41\x00";
    [HEAD, public_key, TAIL, &[0xff; 64]].concat()
}

/// The private key file format of an Ed25519 seed.
fn pkcs8(seed: &[u8; 32]) -> Vec<u8> {
    const HEAD: &[u8] = b"\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20";
    [HEAD, seed].concat()
}

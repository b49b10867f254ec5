// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 The Penstock authors

//! Deterministic Solana transactions; the algorithm is specified in lib/txgen/txgen.h.

use ring::signature::{Ed25519KeyPair, KeyPair};

const GAMMA: u64 = 0x9e3779b97f4a7c15;
/// MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr
const MEMO_PROGRAM: [u8; 32] = [
    0x05, 0x4a, 0x53, 0x5a, 0x99, 0x29, 0x21, 0x06, 0x4d, 0x24, 0xe8, 0x71, 0x60, 0xda, 0x38, 0x7c,
    0x7c, 0x35, 0xb5, 0xdd, 0xbc, 0x92, 0xbb, 0x81, 0xe4, 0x1f, 0xa8, 0x40, 0x41, 0x05, 0x44, 0x8d,
];
/// Which transactions a run sends; sizes in bytes.
pub struct TxGen {
    pub seed: u64,
    pub min: u64,
    pub max: u64,
    pub large: bool,
}

fn mix(z: u64) -> u64 {
    let z = z.wrapping_add(GAMMA);
    let z = (z ^ z >> 30).wrapping_mul(0xbf58476d1ce4e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d049bb133111eb);
    z ^ z >> 31
}

struct Draws(u64);

impl Draws {
    fn new(seed: u64, n: u64) -> Self {
        Draws(mix(mix(seed).wrapping_add(n)))
    }
    fn next(&mut self) -> u64 {
        let r = mix(self.0);
        self.0 = self.0.wrapping_add(GAMMA);
        r
    }
    fn bytes32(&mut self) -> Vec<u8> {
        (0..4).flat_map(|_| self.next().to_le_bytes()).collect()
    }
}

fn push_compact(out: &mut Vec<u8>, v: usize) {
    if v < 128 {
        out.push(v as u8);
    } else {
        out.extend([v as u8 | 0x80, (v >> 7) as u8]);
    }
}

fn memo_text(g: &TxGen, index: u64, draws: &mut Draws, len: usize) -> Vec<u8> {
    let mut text = format!("penstock {:016x} {} ", g.seed, index).into_bytes();
    text.truncate(len);
    while text.len() < len {
        text.push(b'a' + (draws.next() % 26) as u8);
    }
    text
}

fn memo_body(
    g: &TxGen,
    index: u64,
    draws: &mut Draws,
    room: usize,
    payer: &[u8],
    hash: &[u8],
) -> Vec<u8> {
    let signer = room == 129;
    let len = if room > 128 { room - 2 } else { room - 1 };
    let mut m = [&[2], payer, &MEMO_PROGRAM, hash, &[1, 1, signer as u8]].concat();
    if signer {
        m.push(0);
    }
    push_compact(&mut m, len);
    m.extend(memo_text(g, index, draws, len));
    m
}

pub fn make(g: &TxGen, index: u64) -> Vec<u8> {
    let key_seed = Draws::new(g.seed, (1 << 63) + index % 16).bytes32();
    let key = Ed25519KeyPair::from_seed_unchecked(&key_seed).unwrap();
    let payer = key.public_key().as_ref();
    let mut draws = Draws::new(g.seed, index);
    let r = draws.next();
    let hash = draws.bytes32();
    let recipient = draws.bytes32();
    let mut size = match index {
        0 => g.min,
        1 | 2 => g.max,
        _ => g.min + r % (g.max - g.min + 1),
    };
    if g.large {
        let len = size as usize - 174;
        let mut m =
            [&[0x81, 1, 0, 1, 0, 0, 0, 0], &hash[..], &[1, 2], payer, &MEMO_PROGRAM].concat();
        m.extend([1, 0, len as u8, (len >> 8) as u8]);
        m.extend(memo_text(g, index, &mut draws, len));
        let signature = key.sign(&m);
        m.extend(signature.as_ref());
        return m;
    }
    let v0 = index % 2 == 1 && g.max >= 136;
    let extra = if v0 { 2 } else { 0 };
    let transfer = index > 0 && index % 3 == 0 && g.min <= 215 && g.max >= 217;
    let bare_fits = (g.min..=g.max).contains(&(134 + extra));
    let bare = !transfer && size < 170 + extra && bare_fits;
    size = size.max(170 + extra);
    let mut m = if v0 { vec![0x80] } else { vec![] };
    m.extend([1, 0, !bare as u8]);
    m.extend(if bare {
        [&[1], payer, &hash, &[0]].concat()
    } else if transfer {
        let data = [&2u32.to_le_bytes()[..], &(1_000_000 + index).to_le_bytes()].concat();
        [&[3], payer, &recipient, &[0; 32], &hash, &[1, 2, 2, 0, 1, 12], &data].concat()
    } else {
        memo_body(g, index, &mut draws, (size - 168 - extra) as usize, payer, &hash)
    });
    if v0 {
        m.push(0);
    }
    [&[1], key.sign(&m).as_ref(), &m].concat()
}

/// The same ranges as ps_txgen_valid().
pub fn valid(g: &TxGen) -> bool {
    let fits = if g.large { g.min >= 175 } else { (g.min <= 134 && g.max >= 134) || g.max >= 172 };
    g.max <= 4096 && g.min <= g.max && fits
}

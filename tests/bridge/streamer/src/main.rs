// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 The Penstock authors

//! The TPU port of an Agave validator: its own QUIC server with its stake-weighted quality of
//! service, and behind it a writer in place of signature verification.
//!
//! usage: tpu_streamer ADDR:PORT OUT [--staked KEYPAIR LAMPORTS]...
//!
//! Appends each transaction to OUT, after its length as u32 in little endian. Ends on SIGKILL.

use solana_keypair::read_keypair_file;
use solana_keypair::Keypair;
use solana_signer::Signer;
use solana_streamer::nonblocking::swqos::SwQosConfig;
use solana_streamer::quic::{spawn_stake_weighted_qos_server, QuicStreamerConfig};
use solana_streamer::streamer::StakedNodes;
use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::net::UdpSocket;
use std::sync::{Arc, RwLock};
use tokio_util::sync::CancellationToken;

type Failure = Box<dyn std::error::Error>;

fn stakes(mut args: impl Iterator<Item = String>) -> Result<StakedNodes, Failure> {
    let mut map = HashMap::new();
    while let Some(option) = args.next() {
        if option != "--staked" {
            return Err(format!("unknown option {option}").into());
        }
        let file = args.next().ok_or("--staked needs a keypair file")?;
        let lamports: u64 = args.next().ok_or("--staked needs lamports")?.parse()?;
        map.insert(read_keypair_file(file)?.pubkey(), lamports);
    }
    Ok(StakedNodes::new(Arc::new(HashMap::new()), map))
}

fn main() -> Result<(), Failure> {
    let mut args = std::env::args().skip(1);
    let bind = args.next().ok_or("ADDR:PORT is missing")?;
    let out = args.next().ok_or("OUT is missing")?;
    let staked = Arc::new(RwLock::new(stakes(args)?));
    let mut out = OpenOptions::new().create(true).append(true).open(out)?;
    let (sender, receiver) = crossbeam_channel::bounded(1024);
    let _server = spawn_stake_weighted_qos_server(
        "tpuStreamer",
        "tpu_streamer",
        [UdpSocket::bind(&bind)?.into()],
        &Keypair::new(),
        sender,
        staked,
        QuicStreamerConfig::default(),
        SwQosConfig::default(),
        CancellationToken::new(),
    )?;
    println!("listening on {bind}");
    for batch in receiver {
        let mut bytes = Vec::new();
        for packet in batch.iter() {
            let data = packet.data(..).ok_or("a packet without data")?;
            bytes.extend_from_slice(&(data.len() as u32).to_le_bytes());
            bytes.extend_from_slice(data);
        }
        out.write_all(&bytes)?;
    }
    Ok(())
}

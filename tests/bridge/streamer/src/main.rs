// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 The Penstock authors

//! The TPU port of an Agave validator: its own QUIC server with its stake-weighted quality of
//! service, and behind it a writer in place of signature verification.
//!
//! usage: tpu_streamer ADDR:PORT OUT [--staked KEYPAIR LAMPORTS]... [--streams-per-ms N]
//!        [--receive-mb N]
//!
//! Appends each transaction to OUT, after its length as u32 in little endian, and to OUT.times when
//! it came, as u64 in little endian, ns of CLOCK_MONOTONIC. --streams-per-ms is the validator's
//! --tpu-max-streams-per-ms, --receive-mb what sysctl net.core.rmem_default gives its sockets. Ends on
//! SIGKILL.

use solana_keypair::read_keypair_file;
use solana_keypair::Keypair;
use solana_pubkey::Pubkey;
use solana_signer::Signer;
use solana_streamer::nonblocking::swqos::SwQosConfig;
use solana_streamer::quic::{spawn_stake_weighted_qos_server, QuicStreamerConfig};
use solana_streamer::streamer::StakedNodes;
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::sync::{Arc, RwLock};
use tokio_util::sync::CancellationToken;

type Failure = Box<dyn std::error::Error>;

/// Packets on the way to signature verification, as many as a validator keeps; more are dropped.
const CHANNEL: usize = 50_000;

struct Options {
    stakes: HashMap<Pubkey, u64>,
    qos: SwQosConfig,
    receive_mb: i32,
}

fn options(mut args: impl Iterator<Item = String>) -> Result<Options, Failure> {
    let mut o = Options { stakes: HashMap::new(), qos: SwQosConfig::default(), receive_mb: 0 };
    while let Some(option) = args.next() {
        let value = args.next().ok_or("an option without value")?;
        match option.as_str() {
            "--staked" => {
                let lamports = args.next().ok_or("--staked needs lamports")?.parse()?;
                o.stakes.insert(read_keypair_file(value)?.pubkey(), lamports);
            }
            "--streams-per-ms" => o.qos.max_streams_per_ms = value.parse()?,
            "--receive-mb" => o.receive_mb = value.parse()?,
            _ => return Err(format!("unknown option {option}").into()),
        }
    }
    Ok(o)
}

fn monotonic_ns() -> u64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: t is valid for the call.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut t) };
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

/// With root's option, since the limit is the whole machine's; the kernel doubles what it is given.
fn set_receive_buffer(socket: &UdpSocket, mb: i32) -> std::io::Result<()> {
    let bytes = mb << 19;
    // SAFETY: bytes is valid for the call, and its size is what is said.
    let rc = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_RCVBUFFORCE,
            (&raw const bytes).cast(),
            size_of_val(&bytes) as libc::socklen_t,
        )
    };
    if rc == 0 {
        Ok(())
    } else {
        Err(std::io::Error::last_os_error())
    }
}

fn append(path: &str) -> std::io::Result<File> {
    OpenOptions::new().create(true).append(true).open(path)
}

fn main() -> Result<(), Failure> {
    let mut args = std::env::args().skip(1);
    let bind = args.next().ok_or("ADDR:PORT is missing")?;
    let out = args.next().ok_or("OUT is missing")?;
    let o = options(args)?;
    let staked = StakedNodes::new(Arc::new(HashMap::new()), o.stakes);
    let (mut times, mut out) = (append(&format!("{out}.times"))?, append(&out)?);
    let socket = UdpSocket::bind(&bind)?;
    if o.receive_mb > 0 {
        set_receive_buffer(&socket, o.receive_mb)?;
    }
    let (sender, receiver) = crossbeam_channel::bounded(CHANNEL);
    let _server = spawn_stake_weighted_qos_server(
        "tpuStreamer",
        "tpu_streamer",
        [socket.into()],
        &Keypair::new(),
        sender,
        Arc::new(RwLock::new(staked)),
        QuicStreamerConfig::default(),
        o.qos,
        CancellationToken::new(),
    )?;
    println!("listening on {bind}");
    for batch in receiver {
        let now = monotonic_ns().to_le_bytes();
        let (mut bytes, mut stamps) = (Vec::new(), Vec::new());
        for packet in batch.iter() {
            let data = packet.data(..).ok_or("a packet without data")?;
            bytes.extend_from_slice(&(data.len() as u32).to_le_bytes());
            bytes.extend_from_slice(data);
            stamps.extend_from_slice(&now);
        }
        out.write_all(&bytes)?;
        times.write_all(&stamps)?;
    }
    Ok(())
}

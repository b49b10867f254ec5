// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 The Penstock authors

//! Senders with keys of their own, each on solana-tpu-client-next from an address of its own, which
//! go on whatever becomes of their connections; the crate reconnects. Transactions leave at a steady
//! rate whether earlier ones went or not. Writes to LOG of each transaction, in the order of the
//! file, when it was due and when the crate was given it: two u64 in little endian, ns of
//! CLOCK_MONOTONIC. Sender N of S sends N, N + S, ... Exit code 0 after all were handed over, 1 when
//! they cannot be, 2 for usage.

mod shared;

use shared::{read_transactions, Leader, Waiting};
use solana_keypair::read_keypair_file;
use solana_tpu_client_next::{Client, ClientBuilder, TransactionSender};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// The crate tries for much longer than any of these runs.
const ATTEMPTS: usize = 1000;

struct Options {
    to: SocketAddr,
    from: Ipv4Addr,
    keys: Vec<String>,
    rate: u32,
    count: usize,
    from_file: String,
    log: String,
    linger: Duration,
}

fn parse() -> Option<Options> {
    let mut o = Options {
        to: SocketAddr::from(([0, 0, 0, 0], 0)),
        from: Ipv4Addr::UNSPECIFIED,
        keys: vec![],
        rate: 0,
        count: 0,
        from_file: String::new(),
        log: String::new(),
        linger: Duration::from_secs(4),
    };
    let mut args = std::env::args().skip(1);
    while let Some(name) = args.next() {
        let arg = args.next()?;
        match name.as_str() {
            "--to" => o.to = arg.parse().ok()?,
            "--from" => o.from = arg.parse().ok()?,
            "--key" => o.keys.push(arg),
            "--rate" => o.rate = arg.parse().ok()?,
            "--count" => o.count = arg.parse().ok()?,
            "--from-file" => o.from_file = arg,
            "--log" => o.log = arg,
            "--linger" => o.linger = Duration::from_secs(arg.parse().ok()?),
            _ => return None,
        }
    }
    (o.to.port() != 0 && !o.keys.is_empty() && o.rate > 0 && o.count > 0 && !o.log.is_empty())
        .then_some(o)
}

fn monotonic_ns() -> u64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: t is valid for the call.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut t) };
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

fn open(o: &Options, n: usize) -> Result<(TransactionSender, Client), String> {
    let key = read_keypair_file(&o.keys[n]).map_err(|e| e.to_string())?;
    let from = Ipv4Addr::from(u32::from(o.from) + n as u32);
    let socket = UdpSocket::bind((from, 0)).map_err(|e| format!("{from}: {e}"))?;
    ClientBuilder::new(Box::new(Leader(o.to)))
        .bind_socket(socket)
        .leader_send_fanout(1)
        .identity(&key)
        .max_reconnect_attempts(ATTEMPTS)
        .sender_channel_size(o.count)
        .worker_channel_size(o.count)
        .broadcaster(Waiting)
        .build()
        .map_err(|e| e.to_string())
}

fn run(o: &Options, transactions: Vec<Vec<u8>>) -> Result<(), String> {
    let runtime = tokio::runtime::Runtime::new().map_err(|e| e.to_string())?;
    let _inside = runtime.enter();
    let clients = (0..o.keys.len()).map(|n| open(o, n)).collect::<Result<Vec<_>, String>>()?;
    let (start, start_ns) = (Instant::now(), monotonic_ns());
    let mut log = Vec::with_capacity(16 * transactions.len());
    for (n, transaction) in transactions.into_iter().enumerate() {
        let due = Duration::from_nanos(n as u64 * 1_000_000_000 / u64::from(o.rate));
        std::thread::sleep(due.saturating_sub(start.elapsed()));
        log.extend_from_slice(&(start_ns + due.as_nanos() as u64).to_le_bytes());
        log.extend_from_slice(&monotonic_ns().to_le_bytes());
        let sender = &clients[n % clients.len()].0;
        sender.try_send_transactions_in_batch(vec![transaction]).map_err(|e| e.to_string())?;
    }
    std::fs::write(&o.log, log).map_err(|e| format!("{}: {e}", o.log))?;
    std::thread::sleep(o.linger);
    for (_, client) in clients {
        runtime.block_on(client.shutdown()).map_err(|e| e.to_string())?;
    }
    Ok(())
}

fn main() -> ExitCode {
    let Some(o) = parse() else {
        eprintln!(
            "usage: tpu_steady --to ADDR:PORT --from FIRST-ADDR --key KEYPAIR... --rate N --count N
    --from-file FILE --log FILE [--linger S]"
        );
        return ExitCode::from(2);
    };
    let Some(transactions) = read_transactions(&o.from_file, o.count) else {
        eprintln!("{} does not hold {} transactions", o.from_file, o.count);
        return ExitCode::FAILURE;
    };
    if let Err(e) = run(&o, transactions) {
        eprintln!("{e}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 The Penstock authors

//! The interop suite's client on Agave's own solana-tpu-client-next, which is what validators and
//! RPC nodes send with. It hands over batches of transactions from a file and does not learn what
//! was acknowledged, so "acked" here counts what the crate calls successfully sent; how a connection
//! was closed is only in the crate's log. Prints the JSON of tpu_client_ngtcp2; exit code 0 when all
//! were sent, 1 when not, 2 for usage.

mod shared;

use shared::{read_transactions, Leader, Waiting};
use solana_keypair::Keypair;
use solana_tpu_client_next::{ClientBuilder, SendTransactionStats};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

const BATCH: usize = 64;
/// What quinn still holds when the crate has counted a transaction as sent.
const LINGER: Duration = Duration::from_secs(4);

struct Options {
    host: Ipv4Addr,
    port: u16,
    count: usize,
    from_file: String,
    empty: bool,
    timeout: Duration,
}

fn parse() -> Option<Options> {
    let mut o = Options {
        host: Ipv4Addr::UNSPECIFIED,
        port: 0,
        count: usize::MAX,
        from_file: String::new(),
        empty: false,
        timeout: Duration::from_secs(60),
    };
    let mut args = std::env::args().skip(1);
    while let Some(name) = args.next() {
        if name == "--empty" {
            o.empty = true;
            continue;
        }
        let arg = args.next()?;
        match name.as_str() {
            "--host" => o.host = arg.parse().ok()?,
            "--port" => o.port = arg.parse().ok()?,
            "--count" => o.count = arg.parse().ok()?,
            "--from-file" => o.from_file = arg,
            "--timeout" => o.timeout = Duration::from_secs(arg.parse().ok()?),
            "--connections" if arg == "1" => {}
            _ => return None,
        }
    }
    let source = o.count == 0 || !o.from_file.is_empty();
    (o.port != 0 && o.count != usize::MAX && source).then_some(o)
}

static CLOSE: OnceLock<(&str, u64)> = OnceLock::new();

/// The crate tells of a close in three ways: the first two of a connection at rest, the last, which
/// is quinn's "closed by peer: reason (code N)" or only N, when a stream is being written.
fn close_of(line: &str) -> Option<(&'static str, u64)> {
    const WAYS: [(&str, &str); 3] = [
        (" closed by application: code=", "application"),
        (" closed by peer: code=", "transport"),
        (" closed by peer: ", "application"),
    ];
    let (rest, kind) = WAYS.iter().find_map(|(text, k)| Some((line.split_once(text)?.1, *k)))?;
    let code = rest.rsplit_once("(code ").map_or(rest, |r| r.1);
    let digits = code.split(|c: char| !c.is_ascii_digit()).next()?;
    Some((kind, digits.parse().ok()?))
}

struct CloseLog;

impl log::Log for CloseLog {
    fn enabled(&self, _: &log::Metadata) -> bool {
        true
    }
    fn log(&self, record: &log::Record) {
        if !record.target().starts_with("solana_tpu_client_next") {
            return;
        }
        let line = record.args().to_string();
        eprintln!("{line}");
        if let Some(close) = close_of(&line) {
            let _ = CLOSE.set(close);
        }
    }
    fn flush(&self) {}
}

async fn count(sent: Arc<AtomicU64>, stats: Arc<SendTransactionStats>, cancel: CancellationToken) {
    loop {
        let end = cancel.is_cancelled();
        sent.fetch_add(stats.read_and_reset().successfully_sent, Relaxed);
        if end {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn send(o: &Options, transactions: &[Vec<u8>], sent: Arc<AtomicU64>) -> Result<(), String> {
    let peer = SocketAddr::new(o.host.into(), o.port);
    let identity = Keypair::new();
    let socket = UdpSocket::bind("0.0.0.0:0").map_err(|e| e.to_string())?;
    let counted = sent.clone();
    let (sender, client) = ClientBuilder::new(Box::new(Leader(peer)))
        .bind_socket(socket)
        .leader_send_fanout(1)
        .identity(&identity)
        .max_reconnect_attempts(10)
        .broadcaster(Waiting)
        .metric_reporter(move |stats, cancel| count(counted, stats, cancel))
        .build()
        .map_err(|e| e.to_string())?;
    for batch in transactions.chunks(BATCH) {
        if CLOSE.get().is_some() {
            break;
        }
        sender.send_transactions_in_batch(batch.to_vec()).await.map_err(|e| e.to_string())?;
    }
    while sent.load(Relaxed) < transactions.len() as u64 && CLOSE.get().is_none() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    tokio::time::sleep(LINGER).await;
    client.shutdown().await.map_err(|e| e.to_string())
}

#[tokio::main]
async fn main() -> ExitCode {
    let Some(o) = parse() else {
        eprintln!(
            "usage: tpu_client_agave --host ADDR --port PORT --count N --from-file FILE [--empty]
    [--timeout S]"
        );
        return ExitCode::from(2);
    };
    let mut transactions = if o.empty { vec![vec![]] } else { vec![] };
    if o.count > 0 {
        let Some(read) = read_transactions(&o.from_file, o.count) else {
            eprintln!("{} does not hold {} transactions", o.from_file, o.count);
            return ExitCode::FAILURE;
        };
        transactions.extend(read);
    }
    log::set_logger(&CloseLog).unwrap();
    log::set_max_level(log::LevelFilter::Trace);
    let bytes: usize = transactions.iter().map(Vec::len).sum();
    let sent = Arc::new(AtomicU64::new(0));
    match tokio::time::timeout(o.timeout, send(&o, &transactions, sent.clone())).await {
        Ok(Ok(())) => {}
        Ok(Err(e)) => eprintln!("{e}"),
        Err(_) => eprintln!("not sent in {} s", o.timeout.as_secs()),
    }
    let sent = sent.load(Relaxed);
    let (kind, code) = CLOSE.get().map_or(("none", "null".into()), |c| (c.0, c.1.to_string()));
    println!(
        "{{\"sent\":{sent},\"acked\":{sent},\"bytes\":{bytes},\"close_code\":{code},\"close_kind\":\"{kind}\",\"alert\":null,\"handshakes\":1}}"
    );
    if sent == transactions.len() as u64 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 The Penstock authors

//! The interop suite's client on Agave's own solana-tpu-client-next, which is what validators and
//! RPC nodes send with. It hands over batches of transactions from a file and does not learn what
//! was acknowledged, so "acked" here counts what the crate calls successfully sent. Prints the JSON
//! of tpu_client_ngtcp2; exit code 0 when all were sent, 1 when not, 2 for usage.

use solana_keypair::Keypair;
use solana_tpu_client_next::connection_workers_scheduler::{
    ConnectionWorkersSchedulerError, WorkersBroadcaster,
};
use solana_tpu_client_next::leader_updater::LeaderUpdater;
use solana_tpu_client_next::transaction_batch::TransactionBatch;
use solana_tpu_client_next::workers_cache::WorkersCache;
use solana_tpu_client_next::{ClientBuilder, SendTransactionStats};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

const BATCH: usize = 64;
/// What quinn still holds when the crate has counted a transaction as sent.
const LINGER: Duration = Duration::from_secs(2);

struct Options {
    host: Ipv4Addr,
    port: u16,
    count: usize,
    from_file: String,
    timeout: Duration,
}

fn parse() -> Option<Options> {
    let mut o = Options {
        host: Ipv4Addr::UNSPECIFIED,
        port: 0,
        count: usize::MAX,
        from_file: String::new(),
        timeout: Duration::from_secs(60),
    };
    let mut args = std::env::args().skip(1);
    while let Some(name) = args.next() {
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
    (o.port != 0 && o.count != usize::MAX && !o.from_file.is_empty()).then_some(o)
}

fn read_transactions(o: &Options) -> Option<Vec<Vec<u8>>> {
    let data = std::fs::read(&o.from_file).ok()?;
    let mut rest = &data[..];
    let mut all = vec![];
    while all.len() < o.count {
        let (head, tail) = rest.split_first_chunk::<4>()?;
        let len = u32::from_le_bytes(*head) as usize;
        all.push(tail.get(..len)?.to_vec());
        rest = &tail[len..];
    }
    Some(all)
}

/// One validator is leader for ever.
struct Leader(SocketAddr);

#[async_trait::async_trait]
impl LeaderUpdater for Leader {
    fn next_leaders(&mut self, _: usize) -> Vec<SocketAddr> {
        vec![self.0]
    }
    async fn stop(&mut self) {}
}

/// The crate's own one drops a batch when a worker is busy; this one waits, as a test that counts
/// must.
struct Waiting;

#[async_trait::async_trait]
impl WorkersBroadcaster for Waiting {
    async fn send_to_workers(
        &self,
        workers: &mut WorkersCache,
        leaders: &[SocketAddr],
        batch: TransactionBatch,
    ) -> Result<(), ConnectionWorkersSchedulerError> {
        for leader in leaders {
            if let Err(e) = workers.send_transactions_to_address(leader, batch.clone()).await {
                eprintln!("worker: {e}");
            }
        }
        Ok(())
    }
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
        sender.send_transactions_in_batch(batch.to_vec()).await.map_err(|e| e.to_string())?;
    }
    while sent.load(Relaxed) < transactions.len() as u64 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    tokio::time::sleep(LINGER).await;
    client.shutdown().await.map_err(|e| e.to_string())
}

#[tokio::main]
async fn main() -> ExitCode {
    let Some(o) = parse() else {
        eprintln!(
            "usage: tpu_client_agave --host ADDR --port PORT --count N --from-file FILE [--timeout S]"
        );
        return ExitCode::from(2);
    };
    let Some(transactions) = read_transactions(&o) else {
        eprintln!("{} does not hold {} transactions", o.from_file, o.count);
        return ExitCode::FAILURE;
    };
    let bytes: usize = transactions.iter().map(Vec::len).sum();
    let sent = Arc::new(AtomicU64::new(0));
    match tokio::time::timeout(o.timeout, send(&o, &transactions, sent.clone())).await {
        Ok(Ok(())) => {}
        Ok(Err(e)) => eprintln!("{e}"),
        Err(_) => eprintln!("not sent in {} s", o.timeout.as_secs()),
    }
    let sent = sent.load(Relaxed);
    println!(
        "{{\"sent\":{sent},\"acked\":{sent},\"bytes\":{bytes},\"close_code\":null,\"close_kind\":\"none\",\"alert\":null,\"handshakes\":1}}"
    );
    if sent == o.count as u64 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 The Penstock authors

//! What the programs on solana-tpu-client-next share.

use solana_tpu_client_next::connection_workers_scheduler::{
    ConnectionWorkersSchedulerError, WorkersBroadcaster,
};
use solana_tpu_client_next::leader_updater::LeaderUpdater;
use solana_tpu_client_next::transaction_batch::TransactionBatch;
use solana_tpu_client_next::workers_cache::WorkersCache;
use std::net::SocketAddr;

/// One validator is leader for ever.
pub struct Leader(pub SocketAddr);

#[async_trait::async_trait]
impl LeaderUpdater for Leader {
    fn next_leaders(&mut self, _: usize) -> Vec<SocketAddr> {
        vec![self.0]
    }
    async fn stop(&mut self) {}
}

/// The crate's own one drops a batch when a worker is busy; this one waits, as a test that counts
/// must.
pub struct Waiting;

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

/// The first ones of a file in which each stands after its length as u32 in little endian.
pub fn read_transactions(path: &str, count: usize) -> Option<Vec<Vec<u8>>> {
    let data = std::fs::read(path).ok()?;
    let mut rest = &data[..];
    let mut all = vec![];
    while all.len() < count {
        let (head, tail) = rest.split_first_chunk::<4>()?;
        let len = u32::from_le_bytes(*head) as usize;
        all.push(tail.get(..len)?.to_vec());
        rest = &tail[len..];
    }
    Some(all)
}

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 The Penstock authors

//! A session ticket, good for early data, of a server in this process.

use crate::{certificate, ed25519_key, tls, Result, DATAGRAM};
use boring::ssl::SslContextBuilder;
use std::net::SocketAddr;

fn config(alpn: &str, tls: SslContextBuilder) -> Result<quiche::Config> {
    let mut config = quiche::Config::with_boring_ssl_ctx_builder(quiche::PROTOCOL_VERSION, tls)?;
    config.verify_peer(false);
    config.set_application_protos(&[alpn.as_bytes()])?;
    config.enable_early_data();
    config.set_initial_max_data(1 << 20);
    config.set_initial_max_stream_data_uni(4096);
    config.set_initial_max_streams_uni(64);
    Ok(config)
}

fn server(alpn: &str) -> Result<quiche::Config> {
    let mut tls = tls()?;
    let key = ed25519_key()?;
    tls.set_certificate(&*certificate(&key)?)?;
    tls.set_private_key(&key)?;
    config(alpn, tls)
}

fn carry(from: &mut quiche::Connection, to: &mut quiche::Connection) -> Result<()> {
    let mut buf = [0; DATAGRAM];
    while let Ok((n, info)) = from.send(&mut buf) {
        to.recv(&mut buf[..n], quiche::RecvInfo { from: info.from, to: info.to })?;
    }
    Ok(())
}

pub fn ticket(name: &str, alpn: &str) -> Result<Vec<u8>> {
    let here: SocketAddr = "127.0.0.1:1".parse()?;
    let there: SocketAddr = "127.0.0.1:2".parse()?;
    let id = quiche::ConnectionId::from_ref(&[1; 8]);
    let mut a = quiche::connect(Some(name), &id, here, there, &mut config(alpn, tls()?)?)?;
    let mut b = quiche::accept(&id, None, there, here, &mut server(alpn)?)?;
    for _ in 0..8 {
        carry(&mut a, &mut b)?;
        carry(&mut b, &mut a)?;
    }
    Ok(a.session().ok_or("no ticket")?.to_vec())
}

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 The Penstock authors

//! A client that sends early data: it has a ticket of a server in this process, and takes it to one
//! that never gave any.

use crate::cert;
use quinn::crypto::rustls::QuicServerConfig;
use quinn::{ClientConfig, Connection, ConnectionError, Endpoint, EndpointConfig, ServerConfig};
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;

/// Sent early; at most so many fill the first datagrams of the client.
pub const STREAMS: u64 = 4;

fn ticket_server() -> Endpoint {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let (chain, key) = cert::identity(&[9; 32]);
    let mut tls = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    tls.alpn_protocols = vec![b"solana-tpu".to_vec()];
    tls.max_early_data_size = u32::MAX;
    let config = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls).unwrap()));
    // or the client would remember that it may vary the fixed bit (RFC 9287)
    let mut endpoint = EndpointConfig::default();
    endpoint.grease_quic_bit(false);
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    Endpoint::new(endpoint, Some(config), socket, quinn::default_runtime().unwrap()).unwrap()
}

/// The ticket comes before the stream that the server opens. An endpoint of its own, as the other
/// must not hear that the server's port is closed afterwards.
async fn get_ticket(config: ClientConfig, name: &str) -> Result<(), ConnectionError> {
    let endpoint = Endpoint::client(([127, 0, 0, 1], 0).into()).unwrap();
    let server = ticket_server();
    let connecting = endpoint.connect_with(config, server.local_addr().unwrap(), name).unwrap();
    let serve = async {
        let conn = server.accept().await.unwrap().await?;
        let mut stream = conn.open_uni().await?;
        stream.write_all(b"x").await.unwrap();
        conn.closed().await;
        Ok(())
    };
    let ask = async {
        let conn = connecting.await?;
        let mut byte = [0];
        conn.accept_uni().await?.read_exact(&mut byte).await.unwrap();
        conn.close(0u32.into(), b"done");
        Ok(())
    };
    tokio::try_join!(serve, ask).map(|_| ())
}

/// A connection whose early data, the first streams, was not taken; all are to be sent again.
pub async fn connect(
    endpoint: &Endpoint,
    config: ClientConfig,
    peer: SocketAddr,
    name: &str,
    first: &[Vec<u8>],
) -> Result<Connection, ConnectionError> {
    get_ticket(config.clone(), name).await?;
    let connecting = endpoint.connect_with(config, peer, name).unwrap();
    let Ok((conn, accepted)) = connecting.into_0rtt() else {
        panic!("no early data with this ticket");
    };
    for data in first {
        let mut stream = conn.open_uni().await?;
        stream.write_all(data).await.unwrap();
    }
    assert!(!accepted.await, "early data was taken");
    conn.close_reason().map_or(Ok(conn), Err)
}

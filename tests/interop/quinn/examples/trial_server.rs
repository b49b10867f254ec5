// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 The Penstock authors

//! A control: a quinn server as Agave configures it (initial_max_streams_uni 0, raised after the
//! handshake; client certificate mandatory), to prove the clients without Penstock.
//! `trial_server PORT [SECONDS] [--retry]` prints "ready" and, SECONDS later or at SIGINT, one JSON
//! object with the number of streams and a digest that does not depend on their order: the
//! exclusive or of the SHA-256 of every transaction.

use quinn::crypto::rustls::QuicServerConfig;
use quinn::{Connection, Endpoint, ServerConfig, TransportConfig, VarInt};
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{client::danger::HandshakeSignatureValid, DigitallySignedStruct, SignatureScheme};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

#[path = "../src/cert.rs"]
mod cert;

/// Any certificate, but there must be one and its handshake signature must be right.
#[derive(Debug)]
struct AnyClient(Arc<rustls::crypto::CryptoProvider>);

impl ClientCertVerifier for AnyClient {
    fn root_hint_subjects(&self) -> &[rustls::DistinguishedName] {
        &[]
    }
    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        Ok(ClientCertVerified::assertion())
    }
    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Err(rustls::Error::General("TLS 1.2".into()))
    }
    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, cert, dss, algorithms)
    }
    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[derive(Default)]
struct Totals {
    streams: u64,
    bytes: u64,
    certificates: usize,
    digest: [u8; 32],
}

fn server_config() -> ServerConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let (chain, key) = cert::identity(&[7; 32]);
    let mut tls = rustls::ServerConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_client_cert_verifier(Arc::new(AnyClient(provider)))
        .with_single_cert(chain, key)
        .unwrap();
    tls.alpn_protocols = vec![b"solana-tpu".to_vec()];
    let mut transport = TransportConfig::default();
    transport
        .max_concurrent_uni_streams(VarInt::from_u32(0))
        .max_concurrent_bidi_streams(VarInt::from_u32(0))
        .stream_receive_window(VarInt::from_u32(4096))
        .datagram_receive_buffer_size(None);
    let mut config = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls).unwrap()));
    config.transport_config(Arc::new(transport)).migration(false);
    config
}

async fn serve(conn: Connection, totals: Rc<RefCell<Totals>>) {
    let identity = conn.peer_identity().and_then(|i| i.downcast::<Vec<CertificateDer>>().ok());
    totals.borrow_mut().certificates += identity.map_or(0, |chain| chain.len());
    tokio::time::sleep(Duration::from_millis(50)).await;
    conn.set_max_concurrent_uni_streams(VarInt::from_u32(256));
    while let Ok(mut stream) = conn.accept_uni().await {
        let Ok(data) = stream.read_to_end(4096).await else { continue };
        if data.is_empty() {
            conn.close(VarInt::from_u32(5), b"invalid_stream");
            return;
        }
        let mut totals = totals.borrow_mut();
        totals.streams += 1;
        totals.bytes += data.len() as u64;
        let hash = ring::digest::digest(&ring::digest::SHA256, &data);
        totals.digest.iter_mut().zip(hash.as_ref()).for_each(|(d, h)| *d ^= h);
    }
}

async fn accept_all(endpoint: Endpoint, retry: bool, totals: Rc<RefCell<Totals>>) {
    while let Some(incoming) = endpoint.accept().await {
        if retry && !incoming.remote_address_validated() {
            incoming.retry().unwrap();
            continue;
        }
        let totals = totals.clone();
        tokio::task::spawn_local(async move {
            match incoming.await {
                Ok(conn) => serve(conn, totals).await,
                Err(e) => eprintln!("handshake: {e}"),
            }
        });
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let retry = args.iter().any(|a| a == "--retry");
    args.retain(|a| a != "--retry");
    let port: u16 = args.first().and_then(|a| a.parse().ok()).expect("PORT");
    let seconds: u64 = args.get(1).and_then(|a| a.parse().ok()).unwrap_or(86400);
    let totals = Rc::new(RefCell::new(Totals::default()));
    let endpoint = Endpoint::server(server_config(), ([0, 0, 0, 0], port).into()).expect("bind");
    println!("ready");
    let local = tokio::task::LocalSet::new();
    local.spawn_local(accept_all(endpoint, retry, totals.clone()));
    tokio::select! {
        _ = local => {}
        _ = tokio::time::sleep(Duration::from_secs(seconds)) => {}
        _ = tokio::signal::ctrl_c() => {}
    }
    let t = totals.borrow();
    let digest: String = t.digest.iter().map(|b| format!("{b:02x}")).collect();
    println!(
        "{{\"streams\":{},\"bytes\":{},\"certificates\":{},\"digest\":\"{digest}\"}}",
        t.streams, t.bytes, t.certificates
    );
}

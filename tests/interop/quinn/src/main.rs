// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 The Penstock authors

//! The interop suite's second client: quinn 0.11 with rustls and ring, the stack of Agave's own
//! clients. Same command line, same transactions and same JSON as tpu_client_ngtcp2; the generator
//! is specified in ../txgen.h.

mod cert;
mod txgen;

use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ConnectionError, TransportConfig, VarInt, WriteError};
use ring::signature::{EcdsaKeyPair, Ed25519KeyPair, KeyPair, ECDSA_P256_SHA256_ASN1_SIGNING};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, SignatureScheme};
use std::cell::RefCell;
use std::fs::File;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use txgen::TxGen;

/// Streams in flight per connection: each is a task and holds its transaction until acknowledged.
const OPEN_STREAMS: usize = 4096;

struct Options {
    host: Ipv4Addr,
    port: u16,
    count: u64,
    gen: TxGen,
    connections: u32,
    alpn: String,
    cert: String,
    acked_log: Option<File>,
    specials: Vec<Vec<u8>>,
    expect_close: bool,
    timeout: Duration,
    idle: Duration,
    dump: bool,
}

/// Solana's certificate around an ECDSA P-256 key, as the inner and outer lengths then differ.
fn ecdsa_cert(public_key: &[u8]) -> Vec<u8> {
    let spki = [
        b"\x30\x59\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07\x03\x42\x00",
        public_key,
    ]
    .concat();
    let template = cert::solana(&[0; 32]);
    let tbs = [&template[6..88], &spki, &template[132..175]].concat();
    let body = [&[0x30, 0x81, tbs.len() as u8], &tbs[..], &template[175..]].concat();
    [&[0x30, 0x82, (body.len() >> 8) as u8, body.len() as u8], &body[..]].concat()
}

type Identity = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

fn identity(o: &Options) -> Option<Identity> {
    let solana = |n: u8| {
        let mut seed = [0; 32];
        seed[..8].copy_from_slice(&o.gen.seed.to_le_bytes());
        seed[31] = n;
        let key = Ed25519KeyPair::from_seed_unchecked(&seed).unwrap();
        let cert = cert::solana(key.public_key().as_ref());
        (CertificateDer::from(cert), cert::pkcs8(&seed))
    };
    let (cert, key) = solana(0);
    let key = PrivateKeyDer::try_from(key).unwrap();
    match o.cert.as_str() {
        "ed25519" => Some((vec![cert], key)),
        "chain2" => Some((vec![cert, solana(1).0], key)),
        "ecdsa" => {
            let rng = ring::rand::SystemRandom::new();
            let alg = &ECDSA_P256_SHA256_ASN1_SIGNING;
            let pkcs8 = EcdsaKeyPair::generate_pkcs8(alg, &rng).unwrap();
            let key = EcdsaKeyPair::from_pkcs8(alg, pkcs8.as_ref(), &rng).unwrap();
            let cert = ecdsa_cert(key.public_key().as_ref());
            let pkcs8 = PrivateKeyDer::try_from(pkcs8.as_ref().to_vec()).unwrap();
            Some((vec![CertificateDer::from(cert)], pkcs8))
        }
        _ => None,
    }
}

/// Clients do not authenticate the server, but its handshake signature must be right.
#[derive(Debug)]
struct AnyServer(Arc<rustls::crypto::CryptoProvider>);

impl ServerCertVerifier for AnyServer {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
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
        rustls::crypto::verify_tls13_signature(
            message,
            cert,
            dss,
            &self.0.signature_verification_algorithms,
        )
    }
    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

fn client_config(o: &Options) -> quinn::ClientConfig {
    let mut provider = rustls::crypto::ring::default_provider();
    provider.kx_groups = vec![rustls::crypto::ring::kx_group::X25519];
    let provider = Arc::new(provider);
    let builder = rustls::ClientConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AnyServer(provider)));
    let mut tls = match identity(o) {
        Some((chain, key)) => builder.with_client_auth_cert(chain, key).unwrap(),
        None => builder.with_no_client_auth(),
    };
    tls.enable_early_data = true;
    tls.key_log = Arc::new(rustls::KeyLogFile::new());
    tls.alpn_protocols = vec![o.alpn.clone().into_bytes()];
    let mut transport = TransportConfig::default();
    transport
        .max_idle_timeout(Some(o.idle.try_into().unwrap()))
        .keep_alive_interval(Some(Duration::from_secs(1)))
        .send_fairness(false);
    let mut config = quinn::ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls).unwrap()));
    config.transport_config(Arc::new(transport));
    config
}

#[derive(Default)]
struct Run {
    next_index: u64,
    next_special: usize,
    sent: u64,
    acked: u64,
    bytes: u64,
    handshakes: u32,
    close: Option<(&'static str, u64)>,
}

struct Client {
    o: Options,
    run: RefCell<Run>,
}

impl Client {
    /// The next stream of the run, whichever connection asks; no index for a special one.
    fn next(&self) -> Option<(Option<u64>, Vec<u8>)> {
        let mut run = self.run.borrow_mut();
        if let Some(data) = self.o.specials.get(run.next_special) {
            run.next_special += 1;
            return Some((None, data.clone()));
        }
        if run.next_index == self.o.count {
            return None;
        }
        run.next_index += 1;
        let index = run.next_index - 1;
        Some((Some(index), txgen::make(&self.o.gen, index)))
    }

    fn note_lost(&self, e: &ConnectionError) {
        eprintln!("connection lost: {e}");
        let close = match e {
            ConnectionError::ApplicationClosed(c) => ("application", c.error_code.into_inner()),
            ConnectionError::ConnectionClosed(c) => ("transport", c.error_code.into()),
            _ => return,
        };
        self.run.borrow_mut().close.get_or_insert(close);
    }

    /// stopped() resolves to None once every byte and the FIN were acknowledged.
    async fn send(
        &self,
        mut stream: quinn::SendStream,
        index: Option<u64>,
        data: Vec<u8>,
    ) -> Result<(), WriteError> {
        stream.write_all(&data).await?;
        let _ = stream.finish();
        {
            let mut run = self.run.borrow_mut();
            run.sent += 1;
            run.bytes += data.len() as u64;
        }
        if let Ok(None) = stream.stopped().await {
            self.run.borrow_mut().acked += 1;
            if let (Some(mut log), Some(index)) = (self.o.acked_log.as_ref(), index) {
                let _ = log.write_all(format!("{index}\n").as_bytes());
            }
        }
        Ok(())
    }
}

async fn send_all(cl: Rc<Client>, conn: &quinn::Connection) -> Result<(), ConnectionError> {
    let mut tasks = tokio::task::JoinSet::new();
    let limit = Arc::new(tokio::sync::Semaphore::new(OPEN_STREAMS));
    loop {
        let permit = limit.clone().acquire_owned().await.unwrap();
        let Some((index, data)) = cl.next() else { break };
        let stream = conn.open_uni().await?;
        let task = cl.clone();
        tasks.spawn_local(async move {
            let _ = task.send(stream, index, data).await;
            drop(permit);
        });
        while tasks.try_join_next().is_some() {}
    }
    while tasks.join_next().await.is_some() {}
    if cl.o.expect_close {
        let _ = tokio::time::timeout(Duration::from_secs(1), conn.closed()).await;
    }
    conn.close_reason().map_or(Ok(()), Err)
}

async fn connection(cl: Rc<Client>, endpoint: quinn::Endpoint) {
    let peer = SocketAddr::new(IpAddr::V4(cl.o.host), cl.o.port);
    let name = format!("{}.{}.sol", cl.o.host, cl.o.port);
    let result = match endpoint.connect(peer, &name).unwrap().await {
        Ok(conn) => {
            cl.run.borrow_mut().handshakes += 1;
            let result = send_all(cl.clone(), &conn).await;
            conn.close(VarInt::from_u32(0), b"done");
            result
        }
        Err(e) => Err(e),
    };
    if let Err(e) = result {
        cl.note_lost(&e);
    }
}

async fn run(cl: Rc<Client>) -> std::io::Result<()> {
    let mut tasks = tokio::task::JoinSet::new();
    let mut endpoints = Vec::new();
    for _ in 0..cl.o.connections {
        let mut endpoint =
            quinn::Endpoint::client(SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), 0))?;
        endpoint.set_default_client_config(client_config(&cl.o));
        tasks.spawn_local(connection(cl.clone(), endpoint.clone()));
        endpoints.push(endpoint);
    }
    let progress = cl.clone();
    tokio::task::spawn_local(async move {
        loop {
            tokio::time::sleep(Duration::from_secs(1)).await;
            let total = progress.o.count + progress.o.specials.len() as u64;
            let run = progress.run.borrow();
            eprintln!("sent {} acknowledged {} of {}", run.sent, run.acked, total);
        }
    });
    let all = async { while tasks.join_next().await.is_some() {} };
    tokio::select! {
        _ = tokio::time::timeout(cl.o.timeout, all) => {}
        _ = tokio::signal::ctrl_c() => {}
    }
    for endpoint in endpoints {
        endpoint.close(VarInt::from_u32(0), b"done");
        let _ = tokio::time::timeout(Duration::from_millis(300), endpoint.wait_idle()).await;
    }
    Ok(())
}

const USAGE: &str = "usage: tpu_client_quinn --host ADDR --port PORT --count N [--sizes MIN-MAX]
    [--seed S] [--large] [--connections C] [--alpn A] [--cert none|ed25519|ecdsa|chain2]
    [--acked-log FILE] [--raw FILE]... [--empty] [--timeout S] [--idle S] | --dump --count N ...
as tpu_client_ngtcp2, but ring makes no RSA keys (use --cert ecdsa) and quinn never exceeds a window";

fn parse_sizes(arg: &str, gen: &mut TxGen) -> Option<()> {
    let (min, max) = arg.split_once('-').unwrap_or((arg, arg));
    gen.min = min.parse().ok()?;
    gen.max = max.parse().ok()?;
    Some(())
}

fn parse() -> Option<Options> {
    let mut o = Options {
        host: Ipv4Addr::UNSPECIFIED,
        port: 0,
        count: u64::MAX,
        gen: TxGen { seed: 1, min: 0, max: 0, large: false },
        connections: 1,
        alpn: "solana-tpu".into(),
        cert: "ed25519".into(),
        acked_log: None,
        specials: vec![],
        expect_close: false,
        timeout: Duration::from_secs(60),
        idle: Duration::from_secs(10),
        dump: false,
    };
    let mut args = std::env::args().skip(1);
    while let Some(name) = args.next() {
        match name.as_str() {
            "--large" => o.gen.large = true,
            "--dump" => o.dump = true,
            "--empty" => {
                o.specials.push(vec![]);
                o.expect_close = true;
            }
            _ => {
                let arg = args.next()?;
                match name.as_str() {
                    "--host" => o.host = arg.parse().ok()?,
                    "--port" => o.port = arg.parse().ok()?,
                    "--count" => o.count = arg.parse().ok()?,
                    "--sizes" => parse_sizes(&arg, &mut o.gen)?,
                    "--seed" => o.gen.seed = arg.parse().ok()?,
                    "--connections" => o.connections = arg.parse().ok().filter(|n| *n > 0)?,
                    "--alpn" => o.alpn = arg,
                    "--cert" => o.cert = arg,
                    "--acked-log" => o.acked_log = Some(File::create(arg).ok()?),
                    "--raw" => o.specials.push(std::fs::read(arg).ok()?),
                    "--idle" => o.idle = Duration::from_secs(arg.parse().ok()?),
                    "--timeout" => o.timeout = Duration::from_secs(arg.parse().ok()?),
                    _ => return None,
                }
            }
        }
    }
    if o.gen.max == 0 {
        (o.gen.min, o.gen.max) = if o.gen.large { (1233, 4096) } else { (134, 1232) };
    }
    let cert_known = ["none", "ed25519", "ecdsa", "chain2"].contains(&o.cert.as_str());
    let peer_known = o.dump || (!o.host.is_unspecified() && o.port != 0);
    (txgen::valid(&o.gen) && cert_known && peer_known && o.count != u64::MAX).then_some(o)
}

fn dump(o: &Options) -> std::io::Result<()> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for index in 0..o.count {
        let transaction = txgen::make(&o.gen, index);
        out.write_all(&(transaction.len() as u32).to_le_bytes())?;
        out.write_all(&transaction)?;
    }
    out.flush()
}

fn report(run: &Run) {
    let (kind, code) = match run.close {
        Some((kind, code)) => (kind, code.to_string()),
        None => ("none", "null".into()),
    };
    let alert = match run.close {
        Some(("transport", code)) if code >> 8 == 1 => (code & 0xff).to_string(),
        _ => "null".into(),
    };
    println!(
        "{{\"sent\":{},\"acked\":{},\"bytes\":{},\"close_code\":{},\"close_kind\":\"{}\",\"alert\":{},\"handshakes\":{}}}",
        run.sent, run.acked, run.bytes, code, kind, alert, run.handshakes
    );
}

fn main() -> ExitCode {
    let Some(o) = parse() else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    if o.dump {
        return if dump(&o).is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    let cl = Rc::new(Client { o, run: Default::default() });
    let rt = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    if let Err(e) = tokio::task::LocalSet::new().block_on(&rt, run(cl.clone())) {
        eprintln!("cannot run: {e}");
    }
    let run = cl.run.borrow();
    report(&run);
    if run.acked == cl.o.count + cl.o.specials.len() as u64 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

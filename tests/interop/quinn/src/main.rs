// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 The Penstock authors

//! The interop suite's second client: quinn 0.11 with rustls and ring, the stack of Agave's own
//! clients. Same command line, same transactions and same JSON as tpu_client_ngtcp2; the generator
//! is specified in lib/txgen/txgen.h.

mod cert;
mod early;
mod txgen;

use cert::Identity;
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ConnectionError, TransportConfig, VarInt, WriteError};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring::cipher_suite::TLS13_AES_128_GCM_SHA256;
use rustls::pki_types::{pem::PemObject, CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{CipherSuite, DigitallySignedStruct, SignatureScheme};
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
/// A draft of QUIC that quinn can begin with.
const UNKNOWN_VERSION: u32 = 0xff00_001d;

struct Options {
    host: Ipv4Addr,
    port: u16,
    count: u64,
    gen: TxGen,
    connections: u32,
    alpn: String,
    cert: String,
    cipher: Option<CipherSuite>,
    acked_log: Option<File>,
    specials: Vec<Vec<u8>>,
    expect_close: bool,
    timeout: Duration,
    idle: Duration,
    dump: bool,
    early_data: bool,
    unknown_version: bool,
}

fn identity(o: &Options) -> Option<Identity> {
    match o.cert.as_str() {
        "none" => None,
        "ed25519" => {
            let mut seed = [0; 32];
            seed[..8].copy_from_slice(&o.gen.seed.to_le_bytes());
            Some(cert::identity(&seed))
        }
        path => {
            let chain = CertificateDer::pem_file_iter(path).unwrap();
            let key = PrivateKeyDer::from_pem_file(path).unwrap();
            Some((chain.map(Result::unwrap).collect(), key))
        }
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
    let initial = TLS13_AES_128_GCM_SHA256.tls13().unwrap().quic_suite().unwrap();
    provider.cipher_suites.retain(|s| o.cipher.is_none_or(|only| s.suite() == only));
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
    let mut config = quinn::ClientConfig::new(Arc::new(
        QuicClientConfig::with_initial(Arc::new(tls), initial).unwrap(),
    ));
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

async fn connect(
    o: &Options,
    endpoint: &quinn::Endpoint,
) -> Result<quinn::Connection, ConnectionError> {
    let peer = SocketAddr::new(IpAddr::V4(o.host), o.port);
    let name = format!("{}.{}.sol", o.host, o.port);
    let mut config = client_config(o);
    if o.unknown_version {
        config.version(UNKNOWN_VERSION);
        match endpoint.connect_with(config.clone(), peer, &name).unwrap().await {
            Err(ConnectionError::VersionMismatch) => config.version(1),
            other => return other,
        };
    }
    if o.early_data {
        let first: Vec<_> =
            (0..o.count.min(early::STREAMS)).map(|i| txgen::make(&o.gen, i)).collect();
        return early::connect(endpoint, config, peer, &name, &first).await;
    }
    endpoint.connect_with(config, peer, &name).unwrap().await
}

async fn connection(cl: Rc<Client>, endpoint: quinn::Endpoint) {
    let result = match connect(&cl.o, &endpoint).await {
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
        let endpoint = quinn::Endpoint::client(SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), 0))?;
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
    [--seed S] [--large] [--connections C] [--alpn A] [--cert none|ed25519|PEM]
    [--acked-log FILE] [--raw FILE]... [--empty] [--cipher NAME] [--unknown-version]
    [--early-data] [--timeout S] [--idle S] | --dump --count N ...
as tpu_client_ngtcp2, but quinn never exceeds a window; PEM: a file with certificates and their key";

fn parse_sizes(arg: &str, gen: &mut TxGen) -> Option<()> {
    let (min, max) = arg.split_once('-').unwrap_or((arg, arg));
    gen.min = min.parse().ok()?;
    gen.max = max.parse().ok()?;
    Some(())
}

fn cipher_of(arg: &str) -> Option<CipherSuite> {
    match arg {
        "aes128" => Some(CipherSuite::TLS13_AES_128_GCM_SHA256),
        "aes256" => Some(CipherSuite::TLS13_AES_256_GCM_SHA384),
        "chacha20" => Some(CipherSuite::TLS13_CHACHA20_POLY1305_SHA256),
        _ => None,
    }
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
        cipher: None,
        acked_log: None,
        specials: vec![],
        expect_close: false,
        timeout: Duration::from_secs(60),
        idle: Duration::from_secs(10),
        dump: false,
        early_data: false,
        unknown_version: false,
    };
    let mut args = std::env::args().skip(1);
    while let Some(name) = args.next() {
        match name.as_str() {
            "--large" => o.gen.large = true,
            "--dump" => o.dump = true,
            "--early-data" => o.early_data = true,
            "--unknown-version" => o.unknown_version = true,
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
                    "--cipher" => o.cipher = Some(cipher_of(&arg)?),
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
    let cert_known = ["none", "ed25519"].contains(&o.cert.as_str()) || o.cert.contains('/');
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

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 The Penstock authors

//! The interop suite's client on quiche with BoringSSL. Sends transactions from a file, one per
//! unidirectional stream, and prints the JSON of tpu_client_ngtcp2. Exit code 0 when every stream
//! was acknowledged, 1 when not, 2 for usage.

mod early;

use boring::asn1::Asn1Time;
use boring::hash::MessageDigest;
use boring::pkey::{PKey, Private};
use boring::ssl::{SslContextBuilder, SslFiletype, SslMethod, SslSignatureAlgorithm};
use boring::x509::{X509NameBuilder, X509};
use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::process::ExitCode;
use std::time::{Duration, Instant};

const OPEN_STREAMS: usize = 64;
const DATAGRAM: usize = 1350;
const RESERVED_VERSION: u32 = 0x1a2a_3a4a;
const LINGER: Duration = Duration::from_secs(1);

struct Options {
    host: Ipv4Addr,
    port: u16,
    count: usize,
    from_file: String,
    connections: usize,
    alpn: String,
    cert: String,
    empty: bool,
    early_data: bool,
    unknown_version: bool,
    timeout: Duration,
}

fn parse() -> Option<Options> {
    let mut o = Options {
        host: Ipv4Addr::UNSPECIFIED,
        port: 0,
        count: usize::MAX,
        from_file: String::new(),
        connections: 1,
        alpn: "solana-tpu".into(),
        cert: "ed25519".into(),
        empty: false,
        early_data: false,
        unknown_version: false,
        timeout: Duration::from_secs(60),
    };
    let mut args = std::env::args().skip(1);
    while let Some(name) = args.next() {
        match name.as_str() {
            "--empty" => o.empty = true,
            "--early-data" => o.early_data = true,
            "--unknown-version" => o.unknown_version = true,
            _ => set(&mut o, &name, args.next()?)?,
        }
    }
    let source = o.count == 0 || !o.from_file.is_empty();
    (o.port != 0 && o.count != usize::MAX && source).then_some(o)
}

fn set(o: &mut Options, name: &str, arg: String) -> Option<()> {
    match name {
        "--host" => o.host = arg.parse().ok()?,
        "--port" => o.port = arg.parse().ok()?,
        "--count" => o.count = arg.parse().ok()?,
        "--from-file" => o.from_file = arg,
        "--connections" => o.connections = arg.parse().ok().filter(|n| *n > 0)?,
        "--alpn" => o.alpn = arg,
        "--cert" => o.cert = arg,
        "--timeout" => o.timeout = Duration::from_secs(arg.parse().ok()?),
        _ => return None,
    }
    Some(())
}

fn read_transactions(o: &Options) -> Option<Vec<Vec<u8>>> {
    let data = if o.count > 0 { std::fs::read(&o.from_file).ok()? } else { vec![] };
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

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn ed25519_key() -> Result<PKey<Private>> {
    let mut seed = [0; 32];
    boring::rand::rand_bytes(&mut seed)?;
    let prefix = b"\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20";
    Ok(PKey::private_key_from_der(&[&prefix[..], &seed].concat())?)
}

fn certificate(key: &PKey<Private>) -> Result<X509> {
    let mut name = X509NameBuilder::new()?;
    name.append_entry_by_text("CN", "Solana node")?;
    let name = name.build();
    let mut cert = X509::builder()?;
    cert.set_version(2)?;
    cert.set_issuer_name(&name)?;
    cert.set_subject_name(&name)?;
    cert.set_pubkey(key)?;
    cert.set_not_before(&*Asn1Time::days_from_now(0)?)?;
    cert.set_not_after(&*Asn1Time::days_from_now(1)?)?;
    cert.sign(key, unsafe { MessageDigest::from_ptr(std::ptr::null()) })?;
    Ok(cert.build())
}

/// BoringSSL does not offer Ed25519 by itself, and all servers of Solana have such keys.
fn tls() -> Result<SslContextBuilder> {
    let mut tls = SslContextBuilder::new(SslMethod::tls())?;
    tls.set_verify_algorithm_prefs(&[
        SslSignatureAlgorithm::ED25519,
        SslSignatureAlgorithm::ECDSA_SECP256R1_SHA256,
        SslSignatureAlgorithm::RSA_PSS_RSAE_SHA256,
    ])?;
    Ok(tls)
}

fn config(o: &Options) -> Result<quiche::Config> {
    let mut tls = tls()?;
    match o.cert.as_str() {
        "none" => {}
        "ed25519" => {
            let key = ed25519_key()?;
            tls.set_certificate(&*certificate(&key)?)?;
            tls.set_private_key(&key)?;
        }
        path => {
            tls.set_certificate_chain_file(path)?;
            tls.set_private_key_file(path, SslFiletype::PEM)?;
        }
    }
    let version = if o.unknown_version { RESERVED_VERSION } else { quiche::PROTOCOL_VERSION };
    let mut config = quiche::Config::with_boring_ssl_ctx_builder(version, tls)?;
    config.verify_peer(false);
    config.set_application_protos(&[o.alpn.as_bytes()])?;
    config.set_max_idle_timeout(o.timeout.as_millis() as u64);
    config.set_max_recv_udp_payload_size(DATAGRAM);
    config.set_max_send_udp_payload_size(DATAGRAM);
    config.log_keys();
    if o.early_data {
        config.enable_early_data();
    }
    Ok(config)
}

#[derive(Default)]
struct Run {
    sent: u64,
    acked: u64,
    bytes: usize,
    handshakes: u32,
    close: Option<(&'static str, u64)>,
}

struct Outgoing {
    id: u64,
    data: Vec<u8>,
    at: usize,
    fin: bool,
}

struct Client {
    socket: UdpSocket,
    local: SocketAddr,
    peer: SocketAddr,
    quic: quiche::Connection,
    established: bool,
    next_id: u64,
    open: Vec<Outgoing>,
}

impl Client {
    fn new(o: &Options, config: &mut quiche::Config) -> Result<Client> {
        let peer = SocketAddr::new(o.host.into(), o.port);
        let socket = UdpSocket::bind("0.0.0.0:0")?;
        socket.connect(peer)?;
        socket.set_nonblocking(true)?;
        let local = socket.local_addr()?;
        let mut id = [0; 8];
        boring::rand::rand_bytes(&mut id)?;
        let id = quiche::ConnectionId::from_ref(&id);
        let name = format!("{}.{}.sol", o.host, o.port);
        let mut quic = quiche::connect(Some(&name), &id, local, peer, config)?;
        if o.early_data {
            quic.set_session(&early::ticket(&name, &o.alpn)?)?;
        }
        if let Some(path) = std::env::var_os("SSLKEYLOGFILE") {
            let file = std::fs::OpenOptions::new().append(true).create(true).open(path)?;
            quic.set_keylog(Box::new(file));
        }
        Ok(Client { socket, local, peer, quic, established: false, next_id: 2, open: vec![] })
    }

    fn receive(&mut self) {
        let mut buf = [0; 2048];
        loop {
            match self.socket.recv(&mut buf) {
                Ok(n) => {
                    let info = quiche::RecvInfo { from: self.peer, to: self.local };
                    if let Err(e) = self.quic.recv(&mut buf[..n], info) {
                        eprintln!("recv: {e}");
                    }
                }
                Err(e) if e.kind() == ErrorKind::ConnectionRefused => {}
                Err(_) => return,
            }
        }
    }

    fn send(&mut self) {
        let mut out = [0; DATAGRAM];
        while let Ok((n, _)) = self.quic.send(&mut out) {
            let _ = self.socket.send(&out[..n]);
        }
    }

    fn write_streams(&mut self, run: &mut Run, pending: &mut Vec<Vec<u8>>) {
        while self.open.len() < OPEN_STREAMS && self.quic.peer_streams_left_uni() > 0 {
            let Some(data) = pending.pop() else { break };
            let mut stream = Outgoing { id: self.next_id, data, at: 0, fin: false };
            self.next_id += 4;
            write(&mut self.quic, &mut stream, run);
            self.open.push(stream);
        }
        for stream in self.open.iter_mut().filter(|s| !s.fin) {
            write(&mut self.quic, stream, run);
        }
    }

    /// quiche forgets a stream when all of it was acknowledged.
    fn count_acked(&mut self, run: &mut Run) {
        let quic = &mut self.quic;
        let before = self.open.len();
        self.open.retain(|s| !s.fin || quic.stream_capacity(s.id).is_ok());
        run.acked += (before - self.open.len()) as u64;
    }

    fn step(&mut self, run: &mut Run, pending: &mut Vec<Vec<u8>>) {
        self.receive();
        if self.quic.timeout() == Some(Duration::ZERO) {
            self.quic.on_timeout();
        }
        if self.quic.is_established() && !self.established {
            self.established = true;
            run.handshakes += 1;
        }
        if let Some(e) = self.quic.peer_error() {
            let kind = if e.is_app { "application" } else { "transport" };
            run.close.get_or_insert((kind, e.error_code));
        } else if self.established || self.quic.is_in_early_data() {
            self.count_acked(run);
            self.write_streams(run, pending);
        }
        self.send();
    }

    fn dead(&self) -> bool {
        self.quic.is_closed() || self.quic.is_draining()
    }

    fn finished(&self, pending: &[Vec<u8>]) -> bool {
        self.dead() || (self.established && self.open.is_empty() && pending.is_empty())
    }
}

fn write(quic: &mut quiche::Connection, s: &mut Outgoing, run: &mut Run) {
    match quic.stream_send(s.id, &s.data[s.at..], true) {
        Ok(n) => s.at += n,
        Err(quiche::Error::Done) => return,
        Err(e) => return eprintln!("stream {}: {e}", s.id),
    }
    if s.at == s.data.len() {
        s.fin = true;
        run.sent += 1;
        run.bytes += s.data.len();
    }
}

fn run(o: &Options, mut pending: Vec<Vec<u8>>) -> Result<Run> {
    let mut config = config(o)?;
    let mut run = Run::default();
    let mut clients = vec![];
    for _ in 0..o.connections {
        clients.push(Client::new(o, &mut config)?);
    }
    let deadline = Instant::now() + o.timeout;
    let mut linger_end = None;
    while Instant::now() < deadline {
        clients.iter_mut().for_each(|c| c.step(&mut run, &mut pending));
        if clients.iter().all(Client::dead) {
            break;
        }
        if clients.iter().all(|c| c.finished(&pending)) {
            let end = *linger_end.get_or_insert(Instant::now() + LINGER);
            if !o.empty || Instant::now() >= end {
                break;
            }
        }
        std::thread::sleep(Duration::from_micros(200));
    }
    for c in &mut clients {
        let _ = c.quic.close(true, 0, b"done");
        c.send();
    }
    Ok(run)
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
        "{{\"sent\":{},\"acked\":{},\"bytes\":{},\"close_code\":{code},\"close_kind\":\"{kind}\",\"alert\":{alert},\"handshakes\":{}}}",
        run.sent, run.acked, run.bytes, run.handshakes
    );
}

fn main() -> ExitCode {
    let Some(o) = parse() else {
        eprintln!(
            "usage: tpu_client_quiche --host ADDR --port PORT --count N --from-file FILE
    [--connections C] [--alpn A] [--cert none|ed25519|PEM] [--empty]
    [--early-data] [--unknown-version] [--timeout S]
PEM is a file with certificates and their key"
        );
        return ExitCode::from(2);
    };
    let Some(mut streams) = read_transactions(&o) else {
        eprintln!("{} does not hold {} transactions", o.from_file, o.count);
        return ExitCode::FAILURE;
    };
    if o.empty {
        streams.insert(0, vec![]);
    }
    streams.reverse();
    let total = streams.len() as u64;
    match run(&o, streams) {
        Ok(run) => {
            report(&run);
            if run.acked == total {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            }
        }
        Err(e) => {
            eprintln!("cannot run: {e}");
            ExitCode::FAILURE
        }
    }
}

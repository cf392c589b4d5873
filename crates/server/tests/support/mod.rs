//! A server on a fresh directory, and a client that speaks bytes and prints what it is answered.
//!
//! Relies on: nothing of `quintet_server` but its public face: the client's messages are built and the
//! server's are read here independently of `protocol`.

// Each test file uses its part; a client that cannot go on is a failed test.
#![allow(dead_code, clippy::unwrap_used)]

use quintet_embed::{Database, DatabaseConfig};
use quintet_server::{Server, ServerConfig, serve};
use std::fmt::Write;
use std::net::SocketAddr;
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;

/// Longest wait for anything that should come at once.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// A running server; its directory goes with it.
pub struct Running {
    pub server: Server,
    pub database: Database,
    pub directory: TempDir,
}

pub async fn start() -> Running {
    start_with(ServerConfig::default()).await
}

pub async fn start_with(config: ServerConfig) -> Running {
    let directory = tempfile::tempdir().unwrap();
    let mut options = DatabaseConfig::new(directory.path());
    options.memory_bytes = 64 << 20;
    options.log_segment_bytes = 32 << 20;
    let (database, _) = Database::open(options).unwrap();
    let config = ServerConfig {
        listen: SocketAddr::from(([127, 0, 0, 1], 0)),
        ..config
    };
    let server = serve(config, database.clone()).await.unwrap();
    Running {
        server,
        database,
        directory,
    }
}

impl Running {
    /// A client that has logged in.
    pub async fn client(&self) -> Raw<TcpStream> {
        let mut client = self.socket().await;
        client.send(&startup("ann")).await;
        client.until_ready().await;
        client
    }

    /// A client that has said nothing yet.
    pub async fn socket(&self) -> Raw<TcpStream> {
        Raw::new(TcpStream::connect(self.server.local_addr()).await.unwrap())
    }

    pub async fn tokio_postgres(&self) -> tokio_postgres::Client {
        self.tokio_postgres_as("user=ann").await.unwrap()
    }

    pub async fn tokio_postgres_as(
        &self,
        options: &str,
    ) -> Result<tokio_postgres::Client, tokio_postgres::Error> {
        let port = self.server.local_addr().port();
        let options = format!("host=127.0.0.1 port={port} {options}");
        let (client, connection) = tokio_postgres::connect(&options, tokio_postgres::NoTls).await?;
        tokio::spawn(connection);
        Ok(client)
    }
}

/// A client of bytes.
pub struct Raw<S> {
    pub stream: S,
    pub process_id: i32,
    pub secret: [u8; 4],
}

impl<S: AsyncRead + AsyncWrite + Unpin> Raw<S> {
    pub fn new(stream: S) -> Raw<S> {
        Raw {
            stream,
            process_id: 0,
            secret: [0; 4],
        }
    }

    pub async fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.unwrap();
        self.stream.flush().await.unwrap();
    }

    pub async fn byte(&mut self) -> u8 {
        let mut byte = [0];
        tokio::time::timeout(PATIENCE, self.stream.read_exact(&mut byte))
            .await
            .unwrap()
            .unwrap();
        byte[0]
    }

    /// One message, or `None` when the server has closed.
    pub async fn message(&mut self) -> Option<(u8, Vec<u8>)> {
        let mut header = [0; 5];
        let read = async {
            self.stream.read_exact(&mut header).await.ok()?;
            let length = i32::from_be_bytes([header[1], header[2], header[3], header[4]]);
            let mut body = vec![0; usize::try_from(length - 4).expect("a length")];
            self.stream.read_exact(&mut body).await.ok()?;
            Some((header[0], body))
        };
        tokio::time::timeout(PATIENCE, read)
            .await
            .expect("an answer within patience")
    }

    /// Messages up to `count` times ReadyForQuery (or the end), printed.
    pub async fn trace(&mut self, count: usize) -> String {
        let mut trace = Trace::default();
        while trace.ready < count {
            let Some((kind, body)) = self.message().await else {
                trace.text.push_str(" closed");
                break;
            };
            if kind == b'K' {
                self.process_id = i32::from_be_bytes(body[..4].try_into().unwrap());
                self.secret = body[4..].try_into().unwrap();
            }
            trace.add(kind, &body);
        }
        trace.text.trim_start().to_string()
    }

    pub async fn until_ready(&mut self) -> String {
        self.trace(1).await
    }

    /// Sends, and prints what comes up to ReadyForQuery.
    pub async fn ask(&mut self, bytes: &[u8]) -> String {
        self.send(bytes).await;
        self.until_ready().await
    }

    pub async fn query(&mut self, sql: &str) -> String {
        self.ask(&query(sql)).await
    }

    /// The same, compared line by line of a script: `sql` and what it gives.
    pub async fn script(&mut self, steps: &[(&str, &str)]) {
        for (sql, expected) in steps {
            assert_eq!(&self.query(sql).await, expected, "{sql}");
        }
    }
}

/// Messages of the server in a line of text: kind, then what a test wants to see.
#[derive(Default)]
pub struct Trace {
    pub text: String,
    pub ready: usize,
    formats: Vec<u16>,
}

impl Trace {
    pub fn add(&mut self, kind: u8, body: &[u8]) {
        let mut rest = Reader(body);
        let mut out = String::new();
        match kind {
            b'E' | b'N' => {
                let mut fields = Vec::new();
                loop {
                    match rest.take(1)[0] {
                        0 => break,
                        field => fields.push((field, rest.text())),
                    }
                }
                let get = |kind: u8| {
                    let field = fields.iter().find(|field| field.0 == kind);
                    field.map_or("", |field| field.1.as_str()).to_string()
                };
                assert_eq!(get(b'S'), get(b'V'));
                write!(out, "({} {} {})", get(b'S'), get(b'C'), get(b'M')).unwrap();
            }
            b'T' => {
                let count = rest.u16();
                self.formats.clear();
                let mut names = Vec::new();
                for _ in 0..count {
                    let name = rest.text();
                    rest.take(6);
                    let ty = rest.u32();
                    rest.take(6);
                    let format = rest.u16();
                    self.formats.push(format);
                    names.push(format!("{name}:{ty}{}", if format == 1 { "b" } else { "" }));
                }
                write!(out, "({})", names.join(",")).unwrap();
            }
            b'D' => {
                let count = rest.u16();
                let mut values = Vec::new();
                for _ in 0..count {
                    let length = rest.u32() as i32;
                    if length < 0 {
                        values.push("null".to_string());
                        continue;
                    }
                    let bytes = rest.take(length as usize);
                    let printable = bytes.iter().all(|b| (32..127).contains(b));
                    values.push(match printable {
                        true => String::from_utf8(bytes.to_vec()).unwrap(),
                        false => bytes
                            .iter()
                            .fold("x".into(), |text, b| format!("{text}{b:02x}")),
                    });
                }
                write!(out, "({})", values.join(",")).unwrap();
            }
            b'C' => write!(out, "({})", rest.text()).unwrap(),
            b'S' => write!(out, "({}={})", rest.text(), rest.text()).unwrap(),
            b'Z' => {
                self.ready += 1;
                write!(out, "({})", rest.take(1)[0] as char).unwrap();
            }
            b't' => {
                let count = rest.u16();
                let types: Vec<String> = (0..count).map(|_| rest.u32().to_string()).collect();
                write!(out, "({})", types.join(",")).unwrap();
            }
            b'd' => {
                write!(out, "({})", rest.0.escape_ascii()).unwrap();
                rest.0 = &[];
            }
            b'G' | b'H' => {
                let format = rest.take(1)[0];
                let count = rest.u16();
                let formats: Vec<String> = (0..count).map(|_| rest.u16().to_string()).collect();
                write!(out, "({format}:{})", formats.join("")).unwrap();
            }
            b'R' => {
                write!(out, "({})", rest.u32()).unwrap();
                rest.0 = &[];
            }
            b'K' => rest.0 = &[],
            b'v' => {
                let (minor, count) = (rest.u32(), rest.u32());
                let names: Vec<String> = (0..count).map(|_| rest.text()).collect();
                write!(out, "({minor} {})", names.join(",")).unwrap();
            }
            b'1' | b'2' | b'3' | b'n' | b's' | b'I' | b'c' => {}
            other => panic!("a message of kind {}", other as char),
        }
        assert!(
            rest.0.is_empty(),
            "{} has more than it should",
            kind as char
        );
        write!(self.text, " {}{out}", kind as char).unwrap();
    }
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(count);
        self.0 = rest;
        taken
    }

    fn u16(&mut self) -> u16 {
        u16::from_be_bytes(self.take(2).try_into().unwrap())
    }

    fn u32(&mut self) -> u32 {
        u32::from_be_bytes(self.take(4).try_into().unwrap())
    }

    fn text(&mut self) -> String {
        let end = self.0.iter().position(|b| *b == 0).expect("text ends");
        let text = String::from_utf8(self.take(end).to_vec()).unwrap();
        self.take(1);
        text
    }
}

// ---- messages of the client

pub fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![kind];
    bytes.extend_from_slice(&(body.len() as i32 + 4).to_be_bytes());
    bytes.extend_from_slice(body);
    bytes
}

pub fn packet(code: u32, body: &[u8]) -> Vec<u8> {
    let mut bytes = (body.len() as i32 + 8).to_be_bytes().to_vec();
    bytes.extend_from_slice(&code.to_be_bytes());
    bytes.extend_from_slice(body);
    bytes
}

pub fn startup(user: &str) -> Vec<u8> {
    packet(3 << 16, format!("user\0{user}\0\0").as_bytes())
}

pub fn query(sql: &str) -> Vec<u8> {
    message(b'Q', format!("{sql}\0").as_bytes())
}

pub fn parse(name: &str, sql: &str, types: &[u32]) -> Vec<u8> {
    let mut body = format!("{name}\0{sql}\0").into_bytes();
    body.extend_from_slice(&(types.len() as u16).to_be_bytes());
    types
        .iter()
        .for_each(|oid| body.extend_from_slice(&oid.to_be_bytes()));
    message(b'P', &body)
}

/// Formats of the parameters, the parameters, formats of the result.
pub fn bind(
    portal: &str,
    statement: &str,
    formats: &[u16],
    values: &[Option<&[u8]>],
    results: &[u16],
) -> Vec<u8> {
    let mut body = format!("{portal}\0{statement}\0").into_bytes();
    let codes = |codes: &[u16], body: &mut Vec<u8>| {
        body.extend_from_slice(&(codes.len() as u16).to_be_bytes());
        codes
            .iter()
            .for_each(|code| body.extend_from_slice(&code.to_be_bytes()));
    };
    codes(formats, &mut body);
    body.extend_from_slice(&(values.len() as u16).to_be_bytes());
    for value in values {
        match value {
            None => body.extend_from_slice(&(-1i32).to_be_bytes()),
            Some(bytes) => {
                body.extend_from_slice(&(bytes.len() as i32).to_be_bytes());
                body.extend_from_slice(bytes);
            }
        }
    }
    codes(results, &mut body);
    message(b'B', &body)
}

/// Bind of text parameters, text results.
pub fn bind_text(portal: &str, statement: &str, values: &[&str]) -> Vec<u8> {
    let values: Vec<Option<&[u8]>> = values.iter().map(|value| Some(value.as_bytes())).collect();
    bind(portal, statement, &[], &values, &[])
}

pub fn describe(target: char, name: &str) -> Vec<u8> {
    message(b'D', format!("{target}{name}\0").as_bytes())
}

pub fn close(target: char, name: &str) -> Vec<u8> {
    message(b'C', format!("{target}{name}\0").as_bytes())
}

pub fn execute(portal: &str, max_rows: i32) -> Vec<u8> {
    let mut body = format!("{portal}\0").into_bytes();
    body.extend_from_slice(&max_rows.to_be_bytes());
    message(b'E', &body)
}

pub fn sync() -> Vec<u8> {
    message(b'S', b"")
}

pub fn flush() -> Vec<u8> {
    message(b'H', b"")
}

pub fn copy_data(data: &str) -> Vec<u8> {
    message(b'd', data.as_bytes())
}

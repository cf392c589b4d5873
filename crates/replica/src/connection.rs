//! One session at a server.
//!
//! Relies on: the protocol as `postgres-protocol` writes it.  Promises: a session of which an answer was not
//! read to its end is not used again ([`Connection::is_usable`]); what is sent never waits for an answer that
//! waits to be read.  Does not: encrypt, pool, or connect again.
//!
//! ```text
//!   open ─► log in ─► ready ──send──► busy ──ReadyForQuery──► ready
//!                                       └── anything else ──► broken
//! ```

use crate::authentication;
use crate::error::{Error, ServerError};
use crate::frame::{self, Frame};
use crate::server::{Server, Settings};
use crate::socket::Socket;
use bytes::{Bytes, BytesMut};
use postgres_protocol::message::frontend;
use std::future::Future;
use std::time::Duration;

/// Whether the session is in a transaction, as the last ReadyForQuery says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// In none.
    Idle,
    /// In one.
    Open,
    /// In one that has failed and can only be rolled back.
    Failed,
}

/// What it takes to stop what a session does.
#[derive(Clone, Debug)]
pub struct CancelKey {
    server: Server,
    process: i32,
    secret: i32,
    timeout: Duration,
}

/// A row as text.
pub type Row = Vec<Option<String>>;

/// A session.
#[derive(Debug)]
pub struct Connection {
    server: Server,
    socket: Socket,
    input: BytesMut,
    output: BytesMut,
    status: Status,
    /// ReadyForQuery that are still to come.
    awaited: u32,
    broken: bool,
    cancel: CancelKey,
    parameters: Vec<(String, String)>,
}

impl Connection {
    pub(crate) async fn open(server: &Server, settings: &Settings) -> Result<Connection, Error> {
        let during = "connecting";
        in_time(server, settings.connect_timeout, during, async {
            let socket = Socket::connect(server)
                .await
                .map_err(|source| lost(server, during, Some(source)))?;
            let mut connection = Connection {
                server: server.clone(),
                socket,
                input: BytesMut::with_capacity(16 << 10),
                output: BytesMut::with_capacity(4 << 10),
                status: Status::Idle,
                awaited: 0,
                broken: false,
                cancel: CancelKey {
                    server: server.clone(),
                    process: 0,
                    secret: 0,
                    timeout: settings.connect_timeout,
                },
                parameters: Vec::new(),
            };
            connection.log_in(settings).await?;
            Ok(connection)
        })
        .await
    }

    async fn log_in(&mut self, settings: &Settings) -> Result<(), Error> {
        let user = self.server.user.clone();
        let database = self.server.database.clone();
        let options = self.server.options.clone();
        let fixed = [
            ("user", &*user),
            ("database", &*database),
            ("client_encoding", "UTF8"),
            ("application_name", &*settings.application),
        ];
        let more = settings
            .parameters
            .iter()
            .map(|(name, value)| (&**name, &**value));
        let options = options.as_deref().map(|options| ("options", options));
        let all = fixed.into_iter().chain(options).chain(more);
        frontend::startup_message(all, &mut self.output)
            .map_err(|error| self.protocol(error.to_string()))?;
        authentication::prove(self).await?;
        self.awaited = 1;
        loop {
            let frame = self.next_frame().await?;
            match frame.kind() {
                b'K' => {
                    let body = frame.body();
                    let mut reader = frame::Reader::new(&body);
                    let key = reader
                        .i32()
                        .and_then(|process| Ok((process, reader.i32()?)));
                    (self.cancel.process, self.cancel.secret) =
                        key.map_err(|problem| self.protocol(problem))?;
                }
                b'Z' => return Ok(()),
                b'E' => return Err(self.server_error(&frame)),
                _ => {}
            }
        }
    }

    /// Which server this is.
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// Of the last ReadyForQuery.
    pub fn status(&self) -> Status {
        self.status
    }

    /// False if an answer is missing, or the server is gone.
    pub fn is_usable(&self) -> bool {
        !self.broken && self.awaited == 0
    }

    /// To stop from elsewhere what this session does.
    pub fn cancel_key(&self) -> CancelKey {
        self.cancel.clone()
    }

    /// A parameter that the server reported, such as `server_version`.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| &**value)
    }

    /// Sends messages. They have to be whole; every Query and every Sync among them is answered by a
    /// ReadyForQuery that [`Connection::next_frame`] brings.
    ///
    /// # Errors
    /// If the server is gone.
    pub async fn send(&mut self, messages: &[u8]) -> Result<(), Error> {
        self.output.extend_from_slice(messages);
        let mut rest = messages;
        while let Some(([kind, length @ ..], _)) =
            rest.split_first_chunk::<{ frame::HEADER_BYTES }>()
        {
            self.awaited += u32::from(matches!(kind, b'Q' | b'S'));
            let length = usize::try_from(i32::from_be_bytes(*length)).unwrap_or(usize::MAX);
            rest = rest.get(length.saturating_add(1)..).unwrap_or_default();
        }
        self.flush().await
    }

    /// The server's next message; ReadyForQuery sets [`Connection::status`]. Nothing is lost if the future is dropped.
    ///
    /// # Errors
    /// If the server is gone.
    pub async fn next_frame(&mut self) -> Result<Frame, Error> {
        self.flush().await?;
        loop {
            if let Some(frame) = self.buffered()? {
                return Ok(frame);
            }
            let read = self.socket.read(&mut self.input).await;
            self.check_read(read)?;
        }
    }

    /// A message that has arrived already.
    pub(crate) fn buffered(&mut self) -> Result<Option<Frame>, Error> {
        let taken = frame::take(&mut self.input);
        let Some(frame) = taken.map_err(|problem| self.protocol(problem))? else {
            return Ok(None);
        };
        match frame.kind() {
            b'Z' => {
                self.status = match frame.body().first() {
                    Some(b'I') => Status::Idle,
                    Some(b'T') => Status::Open,
                    Some(b'E') => Status::Failed,
                    _ => return Err(self.protocol("a ReadyForQuery without status".to_owned())),
                };
                self.awaited = self.awaited.saturating_sub(1);
            }
            b'S' => {
                let body = frame.body();
                let mut reader = frame::Reader::new(&body);
                if let (Ok(name), Ok(value)) = (reader.text(), reader.text()) {
                    self.parameters.retain(|(known, _)| known != name);
                    self.parameters.push((name.to_owned(), value.to_owned()));
                }
            }
            _ => {}
        }
        Ok(Some(frame))
    }

    /// Sends messages and brings all that comes until as many ReadyForQuery are there as were asked for, those
    /// included.
    ///
    /// # Errors
    /// If the server is gone. What it answers, an error too, is among the frames.
    pub async fn exchange(&mut self, messages: &[u8]) -> Result<Vec<Frame>, Error> {
        self.check_usable("sending")?;
        self.send(messages).await?;
        let mut frames = Vec::new();
        while self.awaited > 0 {
            frames.push(self.next_frame().await?);
        }
        Ok(frames)
    }

    /// Runs statements by the simple protocol and brings the rows of all of them.
    ///
    /// # Errors
    /// The server's error, or that it is gone.
    pub async fn simple(&mut self, sql: &str) -> Result<Vec<Row>, Error> {
        let mut message = BytesMut::new();
        frontend::query(sql, &mut message).map_err(|error| self.protocol(error.to_string()))?;
        let mut rows = Vec::new();
        let mut failed = None;
        for frame in self.exchange(&message).await? {
            match frame.kind() {
                b'D' => {
                    let row = frame::data_row(&frame.body());
                    rows.push(row.map_err(|problem| self.protocol(problem))?);
                }
                b'E' => failed = Some(self.server_error(&frame)),
                _ => {}
            }
        }
        match failed {
            Some(error) => Err(error),
            None => Ok(rows),
        }
    }

    /// Says goodbye. A session that is dropped is closed as well, without the word.
    pub async fn close(mut self) {
        frontend::terminate(&mut self.output);
        // Whether it is heard makes no difference: the session ends either way.
        let _ = self.flush().await;
    }

    pub(crate) fn check_usable(&self, during: &'static str) -> Result<(), Error> {
        if self.is_usable() {
            return Ok(());
        }
        Err(lost(&self.server, during, None))
    }

    /// Where messages are put together before [`Connection::flush`].
    pub(crate) fn output(&mut self) -> &mut BytesMut {
        &mut self.output
    }

    /// That many more ReadyForQuery are to come.
    pub(crate) fn expect_ready(&mut self, count: u32) {
        self.awaited += count;
    }

    pub(crate) async fn flush(&mut self) -> Result<(), Error> {
        if self.output.is_empty() {
            return Ok(());
        }
        let written = self.socket.write(&mut self.output, &mut self.input).await;
        written.map_err(|source| self.lost("sending", Some(source)))
    }

    /// Waits until something can be read, and reads it.
    pub(crate) async fn fill(&mut self) -> Result<(), Error> {
        let read = self.socket.read(&mut self.input).await;
        self.check_read(read)
    }

    fn check_read(&mut self, read: std::io::Result<usize>) -> Result<(), Error> {
        match read {
            Ok(0) => Err(self.lost("reading", None)),
            Ok(_) => Ok(()),
            Err(source) => Err(self.lost("reading", Some(source))),
        }
    }

    fn lost(&mut self, during: &'static str, source: Option<std::io::Error>) -> Error {
        self.broken = true;
        lost(&self.server, during, source)
    }

    pub(crate) fn protocol(&mut self, problem: String) -> Error {
        self.broken = true;
        Error::Protocol {
            server: self.server.to_string(),
            problem,
        }
    }

    pub(crate) fn server_error(&self, frame: &Frame) -> Error {
        Error::Server(Box::new(ServerError::read(frame.body())))
    }
}

impl CancelKey {
    /// The number of the session's process, as `pg_locks` has it.
    pub fn process(&self) -> i32 {
        self.process
    }

    /// Asks the server to stop what the session does. It may be too late for that, which nobody is told.
    ///
    /// # Errors
    /// If the server cannot be reached.
    pub async fn cancel(&self) -> Result<(), Error> {
        let during = "cancelling";
        let server = &self.server;
        in_time(server, self.timeout, during, async {
            let failed = |source| lost(server, during, Some(source));
            let mut socket = Socket::connect(server).await.map_err(failed)?;
            let mut output = BytesMut::new();
            frontend::cancel_request(self.process, self.secret, &mut output);
            let mut input = BytesMut::new();
            socket
                .write(&mut output, &mut input)
                .await
                .map_err(failed)?;
            // The server closes when it has passed the signal on.
            while socket.read(&mut input).await.map_err(failed)? > 0 {}
            Ok(())
        })
        .await
    }
}

fn lost(server: &Server, during: &'static str, source: Option<std::io::Error>) -> Error {
    Error::Lost {
        server: server.to_string(),
        during,
        source,
    }
}

/// What the future brings, or that it took too long.
pub(crate) async fn in_time<T>(
    server: &Server,
    after: Duration,
    during: &'static str,
    future: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    match tokio::time::timeout(after, future).await {
        Ok(outcome) => outcome,
        Err(_) => Err(Error::TimedOut {
            server: server.to_string(),
            during,
            after,
        }),
    }
}

/// All of these frames as one piece to send on.
pub fn joined(frames: &[Frame]) -> Bytes {
    let mut bytes = BytesMut::with_capacity(frames.iter().map(|frame| frame.raw().len()).sum());
    for frame in frames {
        bytes.extend_from_slice(frame.raw());
    }
    bytes.freeze()
}

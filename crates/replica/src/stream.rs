//! A replica's log, transaction by transaction.
//!
//! Relies on: the slot and the publication that `set_up` makes.  Promises: what was not confirmed comes again after a
//! reconnect; confirmed means told for the last time, but for a crash of the server, which may have forgotten a confirmation; the server is
//! answered in time as long as [`Stream::next`] is awaited; nothing is lost if its future is dropped.
//! Does not: connect again, or know what is to be confirmed.
//!
//! ```text
//!   server ── XLogData (a message of pgoutput), keep-alive ──►      ──► items
//!          ◄── status: received, confirmed ──                       ◄── confirm
//! ```

use crate::assemble::Assembler;
use crate::connection::{Connection, in_time};
use crate::error::Error;
use crate::frame::Reader;
use crate::front::Front;
use crate::item::Item;
use crate::position::WalPosition;
use crate::server::{Server, Settings};
use crate::session;
use crate::uniques::Uniques;
use bytes::{BufMut, BytesMut};
use postgres_protocol::message::frontend;
use quintet_base::limits::WRITE_SET_BYTES_MAX;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::Instant;

/// How often the server is told what is confirmed. Far below its patience (`wal_sender_timeout`, a minute).
const STATUS_INTERVAL: Duration = Duration::from_secs(1);

/// How long the process of an earlier stream, of which the server does not know yet that it is over, may take to end.
const TAKE_OVER_MS: u64 = 5_000;

/// How long a server may take to hear the last confirmation.
const GOODBYE: Duration = Duration::from_secs(5);

/// Tells a stream what is confirmed, from anywhere.
#[derive(Clone, Debug)]
pub struct Confirmer {
    /// Written by `confirm`, read by the stream when it reports; no other data hangs on it.
    position: Arc<AtomicU64>,
}

impl Confirmer {
    /// Everything up to here needs not be told again. Never goes back.
    pub fn confirm(&self, position: WalPosition) {
        self.position.fetch_max(position.0, Ordering::SeqCst);
    }

    fn position(&self) -> u64 {
        self.position.load(Ordering::SeqCst)
    }
}

/// The log of one replica, from where it was confirmed.
#[derive(Debug)]
pub struct Stream {
    connection: Connection,
    assembler: Assembler,
    confirmer: Confirmer,
    received: u64,
    /// When the next status is due.
    due: Instant,
}

impl Stream {
    /// Opens the stream. If an earlier one of this front end still holds the slot, it is ended.
    ///
    /// # Errors
    /// Those of the connection, [`Error::Fenced`], and the server's if the slot is missing.
    pub async fn open(
        server: &Server,
        front: &Front,
        settings: &Settings,
    ) -> Result<Stream, Error> {
        Stream::with_limit(server, front, settings, WRITE_SET_BYTES_MAX).await
    }

    /// As [`Stream::open`], with another bound for a write set.
    ///
    /// # Errors
    /// As [`Stream::open`].
    pub async fn with_limit(
        server: &Server,
        front: &Front,
        settings: &Settings,
        write_set_bytes_max: usize,
    ) -> Result<Stream, Error> {
        let settings = session::exact(settings.clone()).with("replication", "database");
        let mut connection = session::open(server, front, settings).await?;
        let slot = front.slot();
        connection
            .simple(&format!(
                "SELECT pg_terminate_backend(active_pid, {TAKE_OVER_MS}) \
                 FROM pg_replication_slots WHERE slot_name = '{slot}' AND active"
            ))
            .await?;
        let uniques = Uniques::of(&connection.simple(Uniques::QUERY).await?);
        let start = format!(
            "START_REPLICATION SLOT \"{slot}\" LOGICAL 0/0 (proto_version '3', \
             publication_names '\"{slot}\"', messages 'true', two_phase 'on')"
        );
        let written = frontend::query(&start, connection.output());
        written.map_err(|error| connection.protocol(error.to_string()))?;
        loop {
            let frame = connection.next_frame().await?;
            match frame.kind() {
                b'W' => break,
                b'E' => return Err(connection.server_error(&frame)),
                b'N' | b'S' => {}
                kind => {
                    return Err(
                        connection.protocol(format!("a message {kind:#04x} instead of a stream"))
                    );
                }
            }
        }
        Ok(Stream {
            connection,
            assembler: Assembler::new(uniques, write_set_bytes_max),
            confirmer: Confirmer {
                position: Arc::new(AtomicU64::new(0)),
            },
            received: 0,
            due: Instant::now() + STATUS_INTERVAL,
        })
    }

    /// To confirm while somebody else waits for the next item.
    pub fn confirmer(&self) -> Confirmer {
        self.confirmer.clone()
    }

    /// Everything up to here needs not be told again; the server is told with the next status.
    pub fn confirm(&mut self, position: WalPosition) {
        self.confirmer.confirm(position);
    }

    /// Asks where the server is: a [`Item::KeepAlive`] follows when all before it was told.
    pub fn probe(&mut self) {
        self.status(Reply::Wanted);
    }

    /// What comes next. May be dropped and asked for again.
    ///
    /// # Errors
    /// If the server is lost, ends the stream, or says what is not understood; the stream is over then.
    pub async fn next(&mut self) -> Result<Item, Error> {
        loop {
            while let Some(frame) = self.connection.buffered()? {
                match frame.kind() {
                    b'd' => {
                        if let Some(item) = self.data(&frame.body())? {
                            return Ok(item);
                        }
                    }
                    b'E' => return Err(self.connection.server_error(&frame)),
                    b'N' | b'S' => {}
                    kind => {
                        let problem = format!("a message {kind:#04x} in a stream");
                        return Err(self.connection.protocol(problem));
                    }
                }
            }
            if Instant::now() >= self.due {
                self.status(Reply::NotWanted);
            }
            self.connection.flush().await?;
            tokio::select! {
                filled = self.connection.fill() => filled?,
                () = tokio::time::sleep_until(self.due) => {}
            }
        }
    }

    /// Tells the server what was confirmed, waits until it has heard it, and says goodbye.
    pub async fn close(mut self) {
        self.status(Reply::NotWanted);
        frontend::copy_done(self.connection.output());
        let server = self.connection.server().clone();
        let heard = async {
            // What it still sends of the log comes again some other time.
            while self.connection.next_frame().await?.kind() != b'Z' {}
            Ok(())
        };
        // If it does not hear, more than is needed comes again, which does no harm.
        let _ = in_time(&server, GOODBYE, "closing a stream", heard).await;
        self.connection.close().await;
    }

    fn data(&mut self, body: &[u8]) -> Result<Option<Item>, Error> {
        let mut reader = Reader::new(body);
        let parsed = self.parse(&mut reader);
        parsed.map_err(|problem| Error::Stream {
            position: WalPosition(self.received),
            problem,
        })
    }

    fn parse(&mut self, reader: &mut Reader<'_>) -> Result<Option<Item>, String> {
        match reader.u8()? {
            b'w' => {
                let start = reader.u64()?;
                reader.u64()?;
                reader.u64()?;
                self.received = self.received.max(start);
                let item = self.assembler.take(reader.rest())?;
                if let Some(item) = &item {
                    self.received = self.received.max(item.position().0);
                }
                Ok(item)
            }
            b'k' => {
                let end = reader.u64()?;
                reader.u64()?;
                let wanted = reader.u8()? != 0;
                self.received = self.received.max(end);
                if wanted {
                    self.status(Reply::NotWanted);
                }
                // In the middle of a transaction it says nothing about what was told.
                let position = WalPosition(end);
                let between = self.assembler.is_between();
                Ok(between.then_some(Item::KeepAlive { position }))
            }
            kind => Err(format!("data of kind {kind:#04x}")),
        }
    }

    /// Writes a status into the output.
    fn status(&mut self, reply: Reply) {
        let confirmed = self.confirmer.position();
        let mut status = BytesMut::with_capacity(34);
        status.put_u8(b'r');
        status.put_u64(self.received.max(confirmed));
        status.put_u64(confirmed);
        status.put_u64(confirmed);
        // When this is sent is for people to read in pg_stat_replication; this room reads no clock.
        status.put_u64(0);
        status.put_u8(u8::from(reply == Reply::Wanted));
        let data = frontend::CopyData::new(status.freeze()).expect("34 bytes are not too long");
        data.write(self.connection.output());
        self.due = Instant::now() + STATUS_INTERVAL;
    }
}

/// Whether the server is to answer a status.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Reply {
    Wanted,
    NotWanted,
}

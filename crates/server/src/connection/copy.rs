//! COPY FROM STDIN: the client sends, the session takes.
//!
//! Relies on: `embed::Session::copy_data`.  Promises: pieces of any size; after an error the rest of
//! the data is skipped by the main loop.  Does not: read the data; the session does.

use super::statement::Watchdog;
use super::{Close, Connection};
use crate::desks;
use crate::protocol::backend;
use crate::protocol::frame::HEADER_BYTES;
use crate::protocol::frontend::{self, Message};
use crate::protocol::violation;
use bytes::Buf;
use quintet_base::SqlResult;
use quintet_embed::Step;
use quintet_sql::command::CopyFormat;

/// Data that is taken without letting others run: a few hundred rows. A larger piece is taken on a
/// thread that nobody waits for.
const DATA_BYTES: usize = 64 * 1024;

/// What a message leaves to do.
enum Next {
    Taken(Step),
    Ignored,
    End,
}

impl Connection {
    /// Takes the data; returns the tag.
    pub(super) async fn copy_in(
        &mut self,
        columns: usize,
        format: &CopyFormat,
        watchdog: Option<&Watchdog>,
    ) -> Result<SqlResult<Option<String>>, Close> {
        backend::copy_in(&mut self.out, columns, format);
        self.copying = true;
        desks::apart().await;
        let result = self.take_data(watchdog).await;
        self.copying = false;
        result
    }

    async fn take_data(
        &mut self,
        watchdog: Option<&Watchdog>,
    ) -> Result<SqlResult<Option<String>>, Close> {
        let mut taken = 0;
        loop {
            let frame = self.frame().await?;
            let next = self.take_piece(frame.kind, frame.end);
            self.input.advance(frame.end);
            taken += frame.end;
            match next? {
                Ok(Next::Taken(step)) => {
                    let mut step = step;
                    while let Step::Wait(pause) = step {
                        self.pause(pause).await?;
                        step = match self.session.copy_data(&[]) {
                            Ok(step) => step,
                            Err(error) => return self.why(error, watchdog).map(Err),
                        };
                    }
                }
                Ok(Next::Ignored) => {}
                Ok(Next::End) => return self.end_data(watchdog).await,
                Err(error) => return self.why(error, watchdog).map(Err),
            }
            if taken > DATA_BYTES {
                taken = 0;
                tokio::task::yield_now().await;
            }
        }
    }

    fn take_piece(&mut self, kind: u8, end: usize) -> Result<SqlResult<Next>, Close> {
        let message = match frontend::parse(kind, &self.input[HEADER_BYTES..end]) {
            Ok(message) => message,
            Err(error) => return Ok(Err(error)),
        };
        Ok(match message {
            Some(Message::CopyData(data)) => {
                let session = &mut self.session;
                let mut call = || session.copy_data(data);
                let step = if data.len() <= DATA_BYTES {
                    call()
                } else {
                    tokio::task::block_in_place(call)
                };
                step.map(Next::Taken)
            }
            Some(Message::CopyDone) => Ok(Next::End),
            Some(Message::CopyFail(reason)) => Err(self.session.copy_fail(reason)),
            // Sent before the client knew that its statement was a COPY.
            Some(Message::Sync | Message::Flush) => Ok(Next::Ignored),
            Some(Message::Terminate) => return Err(Close::Gone),
            _ => Err(violation(format!(
                "unexpected message type {kind:#04x} during COPY from stdin"
            ))),
        })
    }

    async fn end_data(
        &mut self,
        watchdog: Option<&Watchdog>,
    ) -> Result<SqlResult<Option<String>>, Close> {
        loop {
            // It may wait for what the rows are written to.
            let done = tokio::task::block_in_place(|| self.session.copy_done());
            match done {
                Ok(Step::Wait(pause)) => self.pause(pause).await?,
                Ok(Step::Done(tag)) => return Ok(Ok(tag)),
                Ok(_) => {
                    return Ok(Err(quintet_base::SqlError::internal(
                        "COPY ended in an odd way",
                    )));
                }
                Err(error) => return self.why(error, watchdog).map(Err),
            }
        }
    }
}

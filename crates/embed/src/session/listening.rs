//! LISTEN, UNLISTEN and NOTIFY in a session.
//!
//! Relies on: `channels`.  Promises: all of them take effect when their transaction commits, and not if it does
//! not; what a transaction says twice is said once; a client hears between its transactions.
//! Does not: tell a client anything (`server` does).

use super::{Mode, Session};
use crate::channels::{self, Listening, Notification};
use crate::host::SessionHost;
use quintet_base::limits::{IDENTIFIER_BYTES_MAX, NOTIFICATION_PAYLOAD_BYTES_MAX};
use quintet_base::{SqlError, SqlResult, SqlState};
use quintet_ir::PutOffSoFar;
use std::collections::VecDeque;

/// How much of what a transaction wants to hear and say, and of the cursors of its routines, there was at a savepoint.
#[derive(Clone, Copy)]
pub(super) struct Noted {
    wanted: usize,
    said: usize,
    /// Cursors that its routines had opened.
    opened: u64,
    /// Cursors that DECLARE had made.
    declared: u64,
    /// Calls of triggers that wait for its end.
    put_off: PutOffSoFar,
}

impl Session {
    /// Has `wake` called, by whichever thread, when there are notifications for this session.
    pub fn on_notification(&self, wake: impl Fn() + Send + Sync + 'static) {
        self.ear.on_notification(wake);
    }

    /// Notifications for the client; none within a transaction.
    pub fn take_notifications(&mut self) -> VecDeque<Notification> {
        match self.mode {
            Mode::Idle if !self.listening.is_empty() => self.ear.take(),
            _ => VecDeque::new(),
        }
    }

    /// LISTEN, UNLISTEN.
    pub(super) fn listen(&mut self, wanted: Listening) {
        self.enter_statement();
        self.to_listen.push(wanted);
    }

    /// NOTIFY.
    pub(super) fn notify(&mut self, channel: &str, payload: &str) -> SqlResult<()> {
        self.enter_statement();
        self.host.say(channel, payload)
    }

    pub(super) fn noted(&mut self) -> Noted {
        Noted {
            wanted: self.to_listen.len(),
            said: self.host.said.get_mut().len(),
            opened: self.host.cursors.get_mut().opened(),
            declared: self.portals.declared,
            put_off: self.host.put_off.get_mut().so_far(),
        }
    }

    pub(super) fn back_to(&mut self, noted: Noted) {
        self.to_listen.truncate(noted.wanted);
        self.host.said.get_mut().truncate(noted.said);
        self.host.cursors.get_mut().back_to(noted.opened);
        self.portals.undeclare(noted.declared);
        self.host.put_off.get_mut().back_to(noted.put_off);
        self.late = None;
    }

    /// The transaction is over. What it wanted to hear counts from now on; what it said is told once it is
    /// durable.
    pub(super) fn end_listening(&mut self, kept: bool) {
        let wanted = std::mem::take(&mut self.to_listen);
        let said = self.host.said.take();
        if !kept {
            return;
        }
        if !wanted.is_empty() {
            channels::settle(wanted, &mut self.listening, &self.db.channels, &self.ear);
        }
        let process_id = self.host.process_id;
        self.outgoing
            .extend(said.into_iter().map(|(channel, payload)| Notification {
                process_id,
                channel,
                payload,
            }));
    }

    /// What was said, and is durable, is told to those who listen.
    pub(super) fn say(&mut self) {
        if !self.outgoing.is_empty() {
            self.db.channels.say(std::mem::take(&mut self.outgoing));
        }
    }

    /// UNLISTEN *, at once.
    pub(super) fn stop_listening(&mut self) {
        let nothing = vec![Listening::ToNothing];
        channels::settle(nothing, &mut self.listening, &self.db.channels, &self.ear);
    }
}

impl SessionHost {
    /// Keeps what is to be said until the transaction commits.
    ///
    /// # Errors
    /// `22023` for a name or a text that cannot be; `54000` if a listener has no room.
    pub fn say(&self, channel: &str, payload: &str) -> SqlResult<()> {
        let wrong = |message| Err(SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message));
        if channel.is_empty() {
            return wrong("channel name cannot be empty");
        }
        if channel.len() > IDENTIFIER_BYTES_MAX {
            return wrong("channel name too long");
        }
        if payload.len() > NOTIFICATION_PAYLOAD_BYTES_MAX {
            return wrong("payload string too long");
        }
        self.channels.check_room(channel)?;
        let said = (channel.to_string(), payload.to_string());
        let mut all = self.said.borrow_mut();
        if !all.contains(&said) {
            all.push(said);
        }
        Ok(())
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.stop_listening();
        self.leave_temporary();
    }
}

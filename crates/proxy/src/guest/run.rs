//! Which way a statement goes.
//!
//! Relies on: `knowledge` for calls, `Parsed::kind` for the rest.  Promises: what may write runs once, and where its
//! conflicts are ordered; what a replica refuses to do as a read is done as a write.  Does not: wait for anybody
//! else's statement.
//!
//! | statement | goes to |
//! |---|---|
//! | a call that is known and writes | any replica, ordered by its keys |
//! | a call that is not known, DO | any replica, alone |
//! | INSERT, UPDATE, DELETE and what else changes rows | the primary, alone |
//! | what only reads | any replica that has this session's own writes |
//! | in a transaction block | the transaction's session |
//! | SET, SHOW, BEGIN | here |
//! | CREATE, VACUUM, COPY FROM, LISTEN, PREPARE … | refused, with what to do instead |

use super::transaction::{Transaction, in_failed};
use super::{Guest, Told};
use crate::knowledge::Call;
use crate::switchboard::{Request, Work};
use quintet_base::text_format::FormatContext;
use quintet_base::{SqlError, SqlState, Value, binary_format, text_format};
use quintet_front::Access;
use quintet_replica::{Answer, CallText, ClientCall};
use quintet_sql::{Command, Kind, Parsed};
use tokio::sync::oneshot;

/// A statement that was sent as a read and wants to write.
const READ_ONLY_TRANSACTION: SqlState = SqlState(*b"25006");

impl Guest {
    /// Runs one statement and gives its answer. `call`: if it is one that is known.
    pub(super) async fn statement(
        &mut self,
        parsed: &Parsed,
        call: Option<&Call>,
        text: &CallText,
    ) -> Result<Answer, Told> {
        if matches!(self.transaction, Transaction::Failed(_)) && !parsed.ends_transaction() {
            let returns = parsed.kind() == Kind::Transaction;
            if !returns {
                return Err(in_failed());
            }
        }
        let kind = parsed.kind();
        match kind {
            Kind::Empty => return Ok(Answer::default()),
            Kind::Transaction | Kind::Setting => {
                let written = self.admitted.out.len();
                let done = match self.switchboard.plan(parsed)? {
                    command @ (Command::Set { .. }
                    | Command::ResetAll
                    | Command::DiscardAll
                    | Command::SetSessionTransaction(_)) => self.setting(command),
                    command => self.control(command, parsed.text()).await,
                };
                let rows = self.admitted.out.split_off(written);
                done?;
                return Ok(Answer {
                    rows: rows.into(),
                    ..Answer::default()
                });
            }
            Kind::Show => {
                if let Some(answer) = self.show(parsed)? {
                    return Ok(answer);
                }
            }
            Kind::CopyIn | Kind::Session | Kind::Server => return Err(refused(kind, parsed)),
            Kind::Call | Kind::Query | Kind::Change => {}
        }
        if self.transaction.is_open() {
            return self.in_transaction(text).await;
        }
        match (kind, call) {
            (Kind::Call | Kind::Query, Some(call)) if !call.reads_only => {
                let keys = self.keys(call, text);
                self.write(text, keys, false, call).await
            }
            (Kind::Call, None) => {
                let keys = self.switchboard.everything();
                self.write(text, keys, false, None).await
            }
            (Kind::Change, _) => {
                let keys = self.switchboard.everything();
                self.write(text, keys, true, None).await
            }
            (_, call) => match self.read_only(text, call).await {
                Err(told) if told.state() == READ_ONLY_TRANSACTION && !self.settings.read_only => {
                    let keys = self.switchboard.everything();
                    self.write(text, keys, true, None).await
                }
                read => read,
            },
        }
    }

    async fn write<'c>(
        &mut self,
        text: &CallText,
        keys: Vec<quintet_base::conflict::ConflictKey>,
        pinned: bool,
        call: impl Into<Option<&'c Call>>,
    ) -> Result<Answer, Told> {
        if self.settings.read_only {
            return Err(SqlError::new(
                READ_ONLY_TRANSACTION,
                "cannot change rows in a read-only transaction",
            )
            .into());
        }
        let (reply, answer) = oneshot::channel();
        let mut request = self.request(Work::Text(text.clone()), reply);
        request.keys = keys;
        request.pinned = pinned;
        request.service = self.switchboard.service(call.into());
        request.client = self.settings.client.clone().map(|token| {
            let number = self.settings.call;
            self.settings.call += 1;
            ClientCall { token, number }
        });
        let call = self.switchboard.submit(request).await?;
        self.outcome(call, answer).await
    }

    async fn read_only(&mut self, text: &CallText, call: Option<&Call>) -> Result<Answer, Told> {
        let (reply, answer) = oneshot::channel();
        let mut request = self.request(Work::Text(text.clone()), reply);
        request.access = Access::ReadOnly;
        request.service = self.switchboard.service(call);
        let call = self.switchboard.submit(request).await?;
        self.outcome(call, answer).await
    }

    /// A request of this client, that writes and has no keys yet.
    pub(super) fn request(
        &self,
        work: Work,
        reply: oneshot::Sender<Result<Answer, Told>>,
    ) -> Request {
        Request {
            session: self.session,
            keys: Vec::new(),
            access: Access::Update,
            pinned: false,
            work,
            level: self.level(),
            settings: self.settings.sent().clone(),
            client: None,
            service: Default::default(),
            reply,
        }
    }

    /// The keys of a call with the parameters that came with it.
    fn keys(&self, call: &Call, text: &CallText) -> Vec<quintet_base::conflict::ConflictKey> {
        let knowledge = self.switchboard.knowledge();
        match values(call, text) {
            Some(values) => knowledge.keys(call, &values),
            // The replica will say what is wrong with them.
            None => knowledge.everything().to_vec(),
        }
    }

    fn setting(&mut self, command: Command) -> Result<(), Told> {
        let strongest = self.switchboard.strongest();
        match command {
            Command::Set { local: true, .. } if !self.transaction.is_open() => {}
            Command::Set { local: true, .. } => {
                return Err(SqlError::unsupported("SET LOCAL over replicas").into());
            }
            Command::Set { name, value, .. } => {
                self.settings.set(&name, value.as_deref(), strongest)?;
                return self.complete(if value.is_some() { "SET" } else { "RESET" });
            }
            Command::SetSessionTransaction(modes) => {
                if let Some(level) = modes.level {
                    crate::settings::allowed(level, strongest)?;
                }
                self.settings.read_only = modes.read_only.unwrap_or(self.settings.read_only);
            }
            Command::DiscardAll => {
                self.settings.reset();
                self.prepared.clear();
                return self.complete("DISCARD ALL");
            }
            _ => {
                self.settings.reset();
                return self.complete("RESET");
            }
        }
        self.complete("SET")
    }

    /// SHOW of what replicas do not know.
    fn show(&mut self, parsed: &Parsed) -> Result<Option<Answer>, Told> {
        let Command::Show(name) = self.switchboard.plan(parsed)? else {
            return Ok(None);
        };
        let shown = self.settings.shown(&name);
        let shown = shown.or_else(|| self.switchboard.shown(&name));
        Ok(shown.map(|value| crate::text::one_text(&name, &value, "SHOW")))
    }
}

/// The values of parameters; none if one of them cannot be read.
fn values(call: &Call, text: &CallText) -> Option<Vec<Value>> {
    let CallText::Extended {
        values, formats, ..
    } = text
    else {
        return Some(Vec::new());
    };
    if values.len() != call.params.len() {
        return None;
    }
    let format = |i: usize| match formats.as_slice() {
        [] => 0,
        [all] => *all,
        each => each.get(i).copied().unwrap_or(0),
    };
    let context = FormatContext::default();
    let values = values.iter().zip(&call.params).enumerate();
    let values = values.map(|(i, (bytes, ty))| match (bytes, format(i)) {
        (None, _) => Some(Value::Null),
        (Some(bytes), 1) => binary_format::read(*ty, bytes).ok(),
        (Some(bytes), _) => {
            let text = binary_format::utf8(bytes).ok()?;
            text_format::read(*ty, text, &context).ok()
        }
    });
    values.collect()
}

fn refused(kind: Kind, parsed: &Parsed) -> Told {
    let first = parsed.text().split_whitespace().take(2);
    let what = first.collect::<Vec<_>>().join(" ").to_uppercase();
    let hint = match kind {
        Kind::CopyIn => "Load data at each replica, or insert it.",
        Kind::Session => {
            "Prepare statements by the protocol; what is kept in a session has no place over replicas."
        }
        _ => {
            "Do it at each replica, while the front end is stopped if it changes tables or procedures."
        }
    };
    SqlError::unsupported(format!("{what} over replicas"))
        .hint(hint)
        .into()
}

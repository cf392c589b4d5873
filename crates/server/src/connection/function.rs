//! Functions that are called by their numbers: the fast path of old, which clients use for large objects.
//!
//! Relies on: the session, which knows what a call of such a function is called.  Promises: what is called runs as a statement that calls
//! it would, and is a cycle of its own: committed if no transaction is open, answered with ReadyForQuery.  Does not: call procedures, or
//! functions that give several rows, or take any type.

use super::prepare::read;
use super::{Close, Connection, Running};
use crate::metrics::Kind;
use crate::protocol::frontend::FunctionCall;
use crate::protocol::violation;
use crate::rows::{Announce, Formats, PortalFormats};
use quintet_base::{SqlResult, Value};
use quintet_embed::Session;

/// The names of the statement and of the portal. No client can name them: names end with a NUL.
const NAME: &str = "\0function";

/// Makes a portal of the call.
pub(super) fn prepare(
    session: &mut Session,
    formats: &mut PortalFormats,
    call: &FunctionCall<'_>,
) -> SqlResult<()> {
    let (text, types) = session.function_call(call.function)?;
    if call.count() != types.len() {
        return Err(violation(format!(
            "function call message contains {} arguments but function requires {}",
            call.count(),
            types.len()
        )));
    }
    session.close_portal(NAME);
    session.close_statement(NAME);
    session.parse(NAME, &text, &types)?;
    let context = session.format();
    let values = call.values().zip(&types).enumerate();
    let values = values.map(|(i, (bytes, ty))| read(bytes, *ty, call.formats.of(i), context));
    let values = values.collect::<SqlResult<Vec<Value>>>()?;
    session.bind(NAME, NAME, values)?;
    formats.set(NAME, Formats::from(call.result_format));
    Ok(())
}

impl Connection {
    /// Runs the call, and ends the cycle.
    pub(super) async fn function(&mut self) -> Result<(), Close> {
        let started = self.start();
        self.session.ends_with(NAME);
        let text = self.text_if_watched(NAME);
        let ran = self.run_portal(NAME, 0, Announce::Result).await?;
        self.log_if_slow(text, started);
        self.session.close_portal(NAME);
        self.session.close_statement(NAME);
        self.formats.close(NAME);
        match ran {
            Ok(_) => {
                self.tell();
                self.running = Some(Running {
                    kind: Kind::of("SELECT"),
                    started,
                });
            }
            Err(error) => self.refuse(error),
        }
        self.sync().await
    }
}

//! Sessions of a front end: named after it, and only while it is the one that the replica belongs to.
//!
//! Relies on: `set_up` raises the epoch before it ends the sessions of earlier starts.  Promises: a session of an earlier
//! start is either ended by fencing or refused here; nothing in between.  Does not: know what the session is for.
//!
//! ```text
//!   old start   connect ──► epoch is mine? ──► work … ended by the new start
//!   new start            raise the epoch ──► end the sessions that there are
//! ```

use crate::connection::Connection;
use crate::error::Error;
use crate::front::Front;
use crate::server::{Server, Settings};

/// Settings under which values become texts that are equal on all replicas, and read back as what they were.
const EXACT: [(&str, &str); 7] = [
    ("DateStyle", "ISO, YMD"),
    ("IntervalStyle", "postgres"),
    ("TimeZone", "UTC"),
    ("extra_float_digits", "3"),
    ("bytea_output", "hex"),
    ("lc_monetary", "C"),
    // Nobody reads notices of these sessions.
    ("client_min_messages", "error"),
];

/// For sessions that carry values between servers.
pub(crate) fn exact(mut settings: Settings) -> Settings {
    for (name, value) in EXACT {
        settings = settings.with(name, value);
    }
    settings
}

/// Opens a session of a front end.
///
/// # Errors
/// Those of the connection, and [`Error::Fenced`].
pub(crate) async fn open(
    server: &Server,
    front: &Front,
    mut settings: Settings,
) -> Result<Connection, Error> {
    settings.application = front.application();
    let mut connection = server.connect(&settings).await?;
    let name = front.name();
    let rows = connection
        .simple(&format!(
            "SELECT epoch FROM quintet.front WHERE name = '{name}'"
        ))
        .await?;
    let found = rows
        .first()
        .and_then(|row| row.first()?.as_deref()?.parse().ok())
        .unwrap_or(0);
    if found != front.epoch() {
        return Err(Error::Fenced {
            ours: front.epoch(),
            found,
        });
    }
    Ok(connection)
}

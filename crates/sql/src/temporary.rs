//! Schemas of temporary tables: `pg_temp_1`, one for each session that makes any.
//!
//! Relies on: the session's number (`Who`), which no other session has while it lives.  Promises: a session finds its own
//! by bare names first and as `pg_temp`, and no other's by any name.  Does not: make or empty them (`ddl::temporary`).

use crate::planner::{Who, names_of_path};

/// What every such schema's name begins with.
const PREFIX: &str = "pg_temp_";

/// The schema of the session with this number.
pub(crate) fn schema_of(session: u32) -> String {
    format!("{PREFIX}{session}")
}

/// The number of the session whose schema this is.
pub(crate) fn session_of(schema: &str) -> Option<u32> {
    schema.strip_prefix(PREFIX)?.parse().ok()
}

/// True for the schema of some session.
pub(crate) fn is_temporary(schema: &str) -> bool {
    schema.starts_with(PREFIX)
}

impl Who {
    /// The bootstrap superuser, in the session whose schema this is, if it is a temporary one: for what is stored in it.
    pub(crate) fn within(schema: &str) -> Who {
        Who {
            temporary: session_of(schema).unwrap_or(0),
            ..Who::SYSTEM
        }
    }

    /// The same in the session whose temporary schema a search path names.
    pub(crate) fn along(path: &str) -> Who {
        let mut names = names_of_path(path);
        Who {
            temporary: names.find_map(|name| session_of(&name)).unwrap_or(0),
            ..Who::SYSTEM
        }
    }
}

//! The settings that there are: what each is called, takes, and means here.
//!
//! Relies on: nothing.  Promises: a setting that is not here, and is not among those kept for clients (`sql::KEPT_SETTINGS`),
//! is not known.  Does not: hold values.

/// What kind of value a setting takes, and what the session does with it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Any text; kept for SHOW.
    Text,
    /// How values of `bytea` print.
    ByteaOutput,
    /// A boolean; kept for SHOW and for those who ask.
    Bool,
    /// Milliseconds, with PostgreSQL's units.
    Milliseconds,
    /// Kilobytes, with PostgreSQL's units; kept for SHOW with a unit.
    Memory,
    /// A whole number.
    Integer,
    /// A number from 0 to 1.
    Share,
    /// From which severity on messages are sent.
    MinMessages,
    /// Only this value (compared without case); anything else is refused by name.
    Only,
    /// Cannot be set.
    Fixed,
    /// An isolation level.
    Level,
    /// A time zone.
    Zone,
    /// `ISO` with any field order.
    DateStyle,
    /// A configuration for text search.
    SearchConfig,
    /// How intervals print.
    IntervalStyle,
    /// on/off/local/remote_*.
    SynchronousCommit,
    /// direct, chain, queue, auto or locking.
    Engine,
    /// origin, replica or local; for superusers.
    ReplicationRole,
    /// A moment of the past.
    AsOf,
    /// A role that the session has looked up, or `none`.
    Role,
    /// Likewise, never `none`.
    SessionUser,
}

pub(super) struct Known {
    pub name: &'static str,
    pub default: &'static str,
    pub kind: Kind,
    /// Reported to the client when it changes (ParameterStatus), under this spelling.
    pub reported: Option<&'static str>,
    pub description: &'static str,
}

const fn known(
    name: &'static str,
    default: &'static str,
    kind: Kind,
    reported: Option<&'static str>,
    description: &'static str,
) -> Known {
    Known {
        name,
        default,
        kind,
        reported,
        description,
    }
}

/// Settings that say who the session is: SHOW ALL and pg_settings leave them out, RESET ALL leaves them alone.
pub(super) const IDENTITY: [&str; 3] = ["is_superuser", "role", "session_authorization"];

/// Starts with the PostgreSQL version whose behaviour is offered, because drivers parse it.
const SERVER_VERSION: &str = concat!("15.0 (Quintet ", env!("CARGO_PKG_VERSION"), ")");

/// Sorted by name.
pub(super) const KNOWN: &[Known] = &[
    known(
        "application_name",
        "",
        Kind::Text,
        Some("application_name"),
        "Name of the application, for statistics and logs.",
    ),
    known(
        "bytea_output",
        "hex",
        Kind::ByteaOutput,
        None,
        "Format of bytea text output.",
    ),
    known(
        "check_function_bodies",
        "on",
        Kind::Bool,
        None,
        "Kept for clients that set it; what a body names is looked up when it is reached.",
    ),
    known(
        "client_encoding",
        "UTF8",
        Kind::Only,
        Some("client_encoding"),
        "Encoding the client uses.",
    ),
    known(
        "client_min_messages",
        "notice",
        Kind::MinMessages,
        None,
        "Messages below this severity are not sent.",
    ),
    known(
        "datestyle",
        "ISO, MDY",
        Kind::DateStyle,
        Some("DateStyle"),
        "Format of dates, and the order in which they are read.",
    ),
    known(
        "default_table_access_method",
        "heap",
        Kind::Only,
        None,
        "Kept for clients that set it; there is one way to store a table.",
    ),
    known(
        "default_tablespace",
        "",
        Kind::Only,
        None,
        "Always the only one.",
    ),
    known(
        "default_text_search_config",
        "pg_catalog.english",
        Kind::SearchConfig,
        None,
        "Configuration of text search where none is named.",
    ),
    known(
        "default_transaction_deferrable",
        "off",
        Kind::Bool,
        None,
        "DEFERRABLE of new transactions.",
    ),
    known(
        "default_transaction_isolation",
        "read committed",
        Kind::Level,
        None,
        "Isolation level of new transactions.",
    ),
    known(
        "default_transaction_read_only",
        "off",
        Kind::Bool,
        Some("default_transaction_read_only"),
        "READ ONLY of new transactions.",
    ),
    known(
        "extra_float_digits",
        "1",
        Kind::Integer,
        None,
        "Digits of floating-point output; 1 or more is the shortest exact form.",
    ),
    known(
        "idle_in_transaction_session_timeout",
        "0",
        Kind::Milliseconds,
        None,
        "Ends a session that idles inside a transaction.",
    ),
    known(
        "idle_session_timeout",
        "0",
        Kind::Milliseconds,
        None,
        "Ends a session that idles outside of transactions.",
    ),
    known(
        "in_hot_standby",
        "off",
        Kind::Fixed,
        Some("in_hot_standby"),
        "Always off.",
    ),
    known(
        "integer_datetimes",
        "on",
        Kind::Fixed,
        Some("integer_datetimes"),
        "Always on.",
    ),
    known(
        "intervalstyle",
        "postgres",
        Kind::IntervalStyle,
        Some("IntervalStyle"),
        "Format of intervals.",
    ),
    known(
        "is_superuser",
        "on",
        Kind::Fixed,
        Some("is_superuser"),
        "Whether the current user is a superuser.",
    ),
    known(
        "lock_timeout",
        "0",
        Kind::Milliseconds,
        None,
        "Longest wait for a row lock.",
    ),
    known(
        "max_identifier_length",
        "63",
        Kind::Fixed,
        None,
        "Bytes of an identifier.",
    ),
    known(
        "max_index_keys",
        "32",
        Kind::Fixed,
        None,
        "Columns of an index.",
    ),
    known(
        "max_prepared_transactions",
        "0",
        Kind::Fixed,
        None,
        "There are no places for PREPARE TRANSACTION.",
    ),
    known(
        "password_encryption",
        "scram-sha-256",
        Kind::Only,
        None,
        "How passwords are kept.",
    ),
    known(
        "pg_trgm.similarity_threshold",
        "0.3",
        Kind::Share,
        None,
        "Sets the threshold used by the % operator.",
    ),
    known(
        "pg_trgm.strict_word_similarity_threshold",
        "0.5",
        Kind::Share,
        None,
        "Sets the threshold used by the <<% operator.",
    ),
    known(
        "pg_trgm.word_similarity_threshold",
        "0.6",
        Kind::Share,
        None,
        "Sets the threshold used by the <% operator.",
    ),
    known(
        "quintet.as_of",
        "",
        Kind::AsOf,
        None,
        "The moment of the past that transactions read (-10s, or a timestamp); nothing: the present.",
    ),
    known(
        "quintet.engine",
        "direct",
        Kind::Engine,
        None,
        "How calls of routines are run: direct, or behind those that they conflict with (chain).",
    ),
    known(
        "quintet.group_reads",
        "on",
        Kind::Bool,
        None,
        "Whether the reads of a call are announced to storage before it begins.",
    ),
    known(
        "role",
        "none",
        Kind::Role,
        None,
        "The role that the session has taken, or none.",
    ),
    known(
        "row_security",
        "on",
        Kind::Bool,
        None,
        "Whether rows are left out that policies hide; off: statements that would leave some out are refused.",
    ),
    known(
        "search_path",
        "\"$user\", public",
        Kind::Text,
        None,
        "Schemas searched for names.",
    ),
    known(
        "server_encoding",
        "UTF8",
        Kind::Fixed,
        Some("server_encoding"),
        "Encoding of the database.",
    ),
    known(
        "server_version",
        SERVER_VERSION,
        Kind::Fixed,
        Some("server_version"),
        "PostgreSQL version whose behaviour is offered.",
    ),
    known(
        "server_version_num",
        "150000",
        Kind::Fixed,
        None,
        "The same as a number.",
    ),
    known(
        "session_authorization",
        "",
        Kind::SessionUser,
        Some("session_authorization"),
        "The session's user.",
    ),
    known(
        "session_replication_role",
        "origin",
        Kind::ReplicationRole,
        None,
        "Whether triggers fire and foreign keys are looked at: not under replica.",
    ),
    known(
        "standard_conforming_strings",
        "on",
        Kind::Only,
        Some("standard_conforming_strings"),
        "Backslashes in '...' are ordinary.",
    ),
    known(
        "statement_timeout",
        "0",
        Kind::Milliseconds,
        None,
        "Longest time a statement may run.",
    ),
    known(
        "synchronize_seqscans",
        "on",
        Kind::Bool,
        None,
        "Kept for clients that set it; rows of a scan come in the order of the key.",
    ),
    known(
        "synchronous_commit",
        "on",
        Kind::SynchronousCommit,
        None,
        "Whether COMMIT waits for the disk.",
    ),
    known(
        "timezone",
        "UTC",
        Kind::Zone,
        Some("TimeZone"),
        "Zone of timestamps with time zone.",
    ),
    known(
        "transaction_deferrable",
        "off",
        Kind::Bool,
        None,
        "DEFERRABLE of this transaction.",
    ),
    known(
        "transaction_isolation",
        "read committed",
        Kind::Level,
        None,
        "Isolation level of this transaction.",
    ),
    known(
        "transaction_read_only",
        "off",
        Kind::Bool,
        None,
        "READ ONLY of this transaction.",
    ),
    known(
        "work_mem",
        "256MB",
        Kind::Memory,
        None,
        "Memory of one statement; rows that a join keeps go to a file beyond it.",
    ),
    known(
        "xmloption",
        "content",
        Kind::Only,
        None,
        "Kept for clients that set it; there is no xml.",
    ),
];

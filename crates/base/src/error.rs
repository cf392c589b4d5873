//! The error a client sees: SQLSTATE, one line, and what can be done about it.
//!
//! Relies on: nothing.  Promises: every error that reaches a client carries a five-character
//! SQLSTATE of the SQL standard or of PostgreSQL.  Does not: replace the typed errors of the rooms
//! below `sql`; each of them owns an enum and is turned into this one at the engine's door.

use std::fmt;
use std::ops::{Deref, DerefMut};

/// A five-character SQLSTATE.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SqlState(pub [u8; 5]);

macro_rules! states {
    ($($(#[$doc:meta])* $name:ident = $code:literal;)*) => {
        impl SqlState {
            $($(#[$doc])* pub const $name: SqlState = SqlState(*$code);)*
        }
    };
}

states! {
    /// Success.
    SUCCESSFUL_COMPLETION = b"00000";
    /// A warning.
    WARNING = b"01000";
    /// No row where STRICT asked for one.
    NO_DATA_FOUND = b"02000";
    /// More than one row where one was asked for.
    TOO_MANY_ROWS = b"21000";
    /// The client broke the protocol.
    PROTOCOL_VIOLATION = b"08P01";
    /// Connection refused by the server.
    CANNOT_CONNECT = b"08004";
    /// RAISE without an error to raise again.
    STACKED_DIAGNOSTICS_WITHOUT_HANDLER = b"0Z002";
    /// CASE without ELSE, and nothing fits.
    CASE_NOT_FOUND = b"20000";
    /// A feature Quintet does not have (yet); the message names it.
    FEATURE_NOT_SUPPORTED = b"0A000";
    /// A scalar subquery or ON CONFLICT touched more than one row.
    CARDINALITY_VIOLATION = b"21000";
    /// Text longer than the column.
    STRING_DATA_RIGHT_TRUNCATION = b"22001";
    /// A number outside its type.
    NUMERIC_VALUE_OUT_OF_RANGE = b"22003";
    /// NULL where there must be a value.
    NULL_VALUE_NOT_ALLOWED = b"22004";
    /// An empty text where there must be something.
    ZERO_LENGTH_CHARACTER_STRING = b"2200F";
    /// A date that does not exist.
    INVALID_DATETIME_FORMAT = b"22007";
    /// A date outside the calendar.
    DATETIME_FIELD_OVERFLOW = b"22008";
    /// An offset from UTC that no zone has.
    INVALID_TIME_ZONE_DISPLACEMENT = b"22009";
    /// A part of a text that is shorter than nothing.
    SUBSTRING_ERROR = b"22011";
    /// Division by zero.
    DIVISION_BY_ZERO = b"22012";
    /// A negative distance in a window's frame.
    INVALID_PRECEDING_OR_FOLLOWING_SIZE = b"22013";
    /// ntile of nothing.
    INVALID_ARGUMENT_FOR_NTILE = b"22014";
    /// nth_value of a place that there is not.
    INVALID_ARGUMENT_FOR_NTH_VALUE = b"22016";
    /// Bytes that are no text in the encoding.
    CHARACTER_NOT_IN_REPERTOIRE = b"22021";
    /// A name that cannot be one.
    INVALID_NAME = b"42602";
    /// A function of an extension was called with what it does not take.
    EXTERNAL_ROUTINE_INVOCATION_EXCEPTION = b"39000";
    /// A parameter or setting with an impossible value.
    INVALID_PARAMETER_VALUE = b"22023";
    /// Text that is no value of the type.
    INVALID_TEXT_REPRESENTATION = b"22P02";
    /// Bytes that are no value of the type.
    INVALID_BINARY_REPRESENTATION = b"22P03";
    /// COPY data that cannot be read.
    BAD_COPY_FILE_FORMAT = b"22P04";
    /// A pattern that cannot be read.
    INVALID_ESCAPE_SEQUENCE = b"22025";
    /// LIMIT below zero.
    INVALID_ROW_COUNT_IN_LIMIT = b"2201W";
    /// OFFSET below zero.
    INVALID_ROW_COUNT_IN_OFFSET = b"2201X";
    /// A value out of the domain of a function (logarithm, square root, power).
    INVALID_ARGUMENT = b"2201E";
    /// A root or power that is no real number.
    INVALID_ARGUMENT_FOR_POWER = b"2201F";
    /// A sequence is used up.
    SEQUENCE_LIMIT_EXCEEDED = b"2200H";
    /// A value that cannot be, of no class of its own.
    DATA_EXCEPTION = b"22000";
    /// An array index or shape that does not fit.
    ARRAY_SUBSCRIPT_ERROR = b"2202E";
    /// More or fewer bits than there have to be.
    STRING_DATA_LENGTH_MISMATCH = b"22026";
    /// NULL in a NOT NULL column.
    NOT_NULL_VIOLATION = b"23502";
    /// A key that is not there.
    FOREIGN_KEY_VIOLATION = b"23503";
    /// A key that is there already.
    UNIQUE_VIOLATION = b"23505";
    /// A row that may not be beside another.
    EXCLUSION_VIOLATION = b"23P01";
    /// A CHECK that is false.
    CHECK_VIOLATION = b"23514";
    /// `with_check_option_violation`
    WITH_CHECK_OPTION_VIOLATION = b"44000";
    /// The portal is not there or not in the state asked for.
    INVALID_CURSOR_STATE = b"24000";
    /// BEGIN inside a transaction.
    ACTIVE_SQL_TRANSACTION = b"25001";
    /// A write in a read-only transaction.
    READ_ONLY_SQL_TRANSACTION = b"25006";
    /// COMMIT outside a transaction.
    NO_ACTIVE_SQL_TRANSACTION = b"25P01";
    /// Anything but ROLLBACK after an error in a transaction.
    IN_FAILED_SQL_TRANSACTION = b"25P02";
    /// A prepared statement that is not there.
    INVALID_SQL_STATEMENT_NAME = b"26000";
    /// A row that a statement works on was changed by what the statement calls.
    TRIGGERED_DATA_CHANGE_VIOLATION = b"27000";
    /// A warning: not everything was revoked.
    WARNING_PRIVILEGE_NOT_REVOKED = b"01006";
    /// A warning: not everything was granted.
    WARNING_PRIVILEGE_NOT_GRANTED = b"01007";
    /// A grant in a circle, or to whom it cannot be made.
    INVALID_GRANT_OPERATION = b"0LP01";
    /// A role that is no role, where one is wanted.
    INVALID_ROLE_SPECIFICATION = b"0P000";
    /// Something is in use.
    OBJECT_IN_USE = b"55006";
    /// Wrong user or password.
    INVALID_PASSWORD = b"28P01";
    /// Log-in refused.
    INVALID_AUTHORIZATION = b"28000";
    /// Columns that no unique key has, or of which there are too few.
    INVALID_FOREIGN_KEY = b"42830";
    /// Something depends on what should be dropped.
    DEPENDENT_OBJECTS_STILL_EXIST = b"2BP01";
    /// COMMIT or ROLLBACK in a routine whose transaction is not its own.
    INVALID_TRANSACTION_TERMINATION = b"2D000";
    /// A function came to its end without RETURN.
    NO_RETURN_STATEMENT = b"2F005";
    /// A portal that is not there.
    INVALID_CURSOR_NAME = b"34000";
    /// A savepoint that is not there.
    INVALID_SAVEPOINT = b"3B001";
    /// A schema that is not there.
    INVALID_SCHEMA_NAME = b"3F000";
    /// A schema that is said to be another's.
    INVALID_SCHEMA_DEFINITION = b"42P15";
    /// Lost to a concurrent transaction; run it again.
    SERIALIZATION_FAILURE = b"40001";
    /// The outcome of a commit is not known.
    STATEMENT_COMPLETION_UNKNOWN = b"40003";
    /// In a ring of waiting transactions; run it again.
    DEADLOCK_DETECTED = b"40P01";
    /// A statement that is no SQL.
    SYNTAX_ERROR = b"42601";
    /// A column that is ambiguous.
    AMBIGUOUS_COLUMN = b"42702";
    /// A table's name in FROM that is ambiguous.
    AMBIGUOUS_ALIAS = b"42P09";
    /// A column that is not there.
    UNDEFINED_COLUMN = b"42703";
    /// A function or operator that is not there.
    UNDEFINED_FUNCTION = b"42883";
    /// A table that is not there.
    UNDEFINED_TABLE = b"42P01";
    /// A parameter that is not there.
    UNDEFINED_PARAMETER = b"42P02";
    /// A type, index, sequence or setting that is not there.
    UNDEFINED_OBJECT = b"42704";
    /// A column twice.
    DUPLICATE_COLUMN = b"42701";
    /// A portal twice.
    DUPLICATE_CURSOR = b"42P03";
    /// A prepared statement twice.
    DUPLICATE_PREPARED_STATEMENT = b"42P05";
    /// A database twice.
    DUPLICATE_DATABASE = b"42P04";
    /// A schema twice.
    DUPLICATE_SCHEMA = b"42P06";
    /// A table, index or sequence twice.
    DUPLICATE_TABLE = b"42P07";
    /// A table name or alias twice in one query.
    DUPLICATE_ALIAS = b"42712";
    /// A function twice.
    DUPLICATE_FUNCTION = b"42723";
    /// A function definition that cannot be.
    INVALID_FUNCTION_DEFINITION = b"42P13";
    /// An object twice.
    DUPLICATE_OBJECT = b"42710";
    /// More than one function fits.
    AMBIGUOUS_FUNCTION = b"42725";
    /// A column outside GROUP BY, or an aggregate in the wrong place.
    GROUPING_ERROR = b"42803";
    /// Types that do not fit.
    DATATYPE_MISMATCH = b"42804";
    /// A cast that does not exist.
    CANNOT_COERCE = b"42846";
    /// A reference in a place where it cannot be.
    INVALID_COLUMN_REFERENCE = b"42P10";
    /// The wrong kind of object for the statement.
    WRONG_OBJECT_TYPE = b"42809";
    /// A table definition that cannot be.
    INVALID_TABLE_DEFINITION = b"42P16";
    /// A definition of something else that cannot be.
    INVALID_OBJECT_DEFINITION = b"42P17";
    /// A parameter whose type cannot be told.
    INDETERMINATE_DATATYPE = b"42P18";
    /// A query that refers to itself where it must not.
    INVALID_RECURSION = b"42P19";
    /// A window, or a function over one, where it cannot be.
    WINDOWING_ERROR = b"42P20";
    /// Not allowed.
    INSUFFICIENT_PRIVILEGE = b"42501";
    /// A name that is reserved.
    RESERVED_NAME = b"42939";
    /// `datetime()` of what is none.
    INVALID_ARGUMENT_FOR_SQL_JSON_DATETIME_FUNCTION = b"22031";
    /// A subscript of a path that is no number, or outside of its array.
    INVALID_SQL_JSON_SUBSCRIPT = b"22033";
    /// A number was wanted, and only one.
    NON_NUMERIC_SQL_JSON_ITEM = b"22036";
    /// One item was wanted.
    SINGLETON_SQL_JSON_ITEM_REQUIRED = b"22038";
    /// An array was wanted.
    SQL_JSON_ARRAY_NOT_FOUND = b"22039";
    /// A key that an object does not have.
    SQL_JSON_MEMBER_NOT_FOUND = b"2203A";
    /// A number was wanted.
    SQL_JSON_NUMBER_NOT_FOUND = b"2203B";
    /// An object was wanted.
    SQL_JSON_OBJECT_NOT_FOUND = b"2203C";
    /// Not enough of something.
    INSUFFICIENT_RESOURCES = b"53000";
    /// The disk is full.
    DISK_FULL = b"53100";
    /// The configured memory is used up.
    OUT_OF_MEMORY = b"53200";
    /// A bound of the configuration.
    CONFIGURATION_LIMIT_EXCEEDED = b"53400";
    /// Too many clients, or too many waiting.
    TOO_MANY_CONNECTIONS = b"53300";
    /// A limit of Quintet's own, named in the message.
    PROGRAM_LIMIT_EXCEEDED = b"54000";
    /// Too deep.
    STATEMENT_TOO_COMPLEX = b"54001";
    /// Too many columns.
    TOO_MANY_COLUMNS = b"54011";
    /// More arguments than a function may have.
    TOO_MANY_ARGUMENTS = b"54023";
    /// Right thing, wrong moment.
    OBJECT_NOT_IN_PREREQUISITE_STATE = b"55000";
    /// A setting that cannot change now.
    CANT_CHANGE_RUNTIME_PARAM = b"55P02";
    /// NOWAIT met a lock.
    LOCK_NOT_AVAILABLE = b"55P03";
    /// Cancelled on request or by a time limit.
    QUERY_CANCELED = b"57014";
    /// The server is going down.
    ADMIN_SHUTDOWN = b"57P01";
    /// The server is not up yet.
    CANNOT_CONNECT_NOW = b"57P03";
    /// The database asked for is not there.
    UNDEFINED_DATABASE = b"3D000";
    /// The disk or a file failed.
    IO_ERROR = b"58030";
    /// A file that is not there any more.
    UNDEFINED_FILE = b"58P01";
    /// The snapshot is older than what is kept.
    SNAPSHOT_TOO_OLD = b"72000";
    /// RAISE EXCEPTION without a state of its own.
    RAISE_EXCEPTION = b"P0001";
    /// INTO STRICT found no row.
    STRICT_NO_ROW = b"P0002";
    /// INTO STRICT found more than one row.
    STRICT_SEVERAL_ROWS = b"P0003";
    /// ASSERT.
    ASSERT_FAILURE = b"P0004";
    /// A bug of ours.
    INTERNAL_ERROR = b"XX000";
    /// What is stored is damaged.
    DATA_CORRUPTED = b"XX001";
}

impl SqlState {
    /// The five characters.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or("XX000")
    }

    /// True for the states after which the same transaction, run again, may well succeed.
    pub fn is_retryable(self) -> bool {
        self == SqlState::SERIALIZATION_FAILURE || self == SqlState::DEADLOCK_DETECTED
    }
}

impl fmt::Display for SqlState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for SqlState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What is said about the object an integrity error is about, as the protocol's fields
/// `s`, `t`, `c`, `n` and `d` carry it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ErrorObject {
    /// Schema name.
    pub schema: Option<String>,
    /// Table name.
    pub table: Option<String>,
    /// Column name.
    pub column: Option<String>,
    /// Constraint name.
    pub constraint: Option<String>,
    /// A data type's name; only RAISE gives one.
    pub data_type: Option<String>,
}

/// An error as the client is told it. One word, so that a result of a value is no larger than the value; what it
/// says is behind it, and read as if the fields were its own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SqlError(Box<Told>);

/// What an error says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Told {
    /// What kind of error, for programs.
    pub state: SqlState,
    /// One line, lower-case start, no full stop.
    pub message: String,
    /// More facts, whole sentences.
    pub detail: Option<Box<str>>,
    /// What the user can do, whole sentences.
    pub hint: Option<Box<str>>,
    /// Where in the statement, in characters from 1.
    pub position: Option<u32>,
    /// Where in the routines that were running, a line for each, the innermost first.
    pub context: Option<Box<str>>,
    /// Which object, for integrity errors.
    pub object: Option<Box<ErrorObject>>,
}

const _: () = assert!(size_of::<SqlResult<crate::Value>>() <= 24);

impl Deref for SqlError {
    type Target = Told;

    fn deref(&self) -> &Told {
        &self.0
    }
}

impl DerefMut for SqlError {
    fn deref_mut(&mut self) -> &mut Told {
        &mut self.0
    }
}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (SQLSTATE {})", self.message, self.state)
    }
}

impl std::error::Error for SqlError {}

/// Result with a [`SqlError`].
pub type SqlResult<T> = Result<T, SqlError>;

impl SqlError {
    /// An error with a state and a message.
    pub fn new(state: SqlState, message: impl Into<String>) -> SqlError {
        SqlError(Box::new(Told {
            state,
            message: message.into(),
            detail: None,
            hint: None,
            position: None,
            context: None,
            object: None,
        }))
    }

    /// What it says, to be taken apart.
    pub fn into_told(self) -> Told {
        *self.0
    }

    /// The same of another kind.
    #[must_use]
    pub fn state(mut self, state: SqlState) -> SqlError {
        self.0.state = state;
        self
    }

    /// The same in other words.
    #[must_use]
    pub fn message(mut self, message: impl Into<String>) -> SqlError {
        self.0.message = message.into();
        self
    }

    /// The same without a place: it would count in a text that nobody sees.
    #[must_use]
    pub fn nowhere(mut self) -> SqlError {
        self.0.position = None;
        self
    }

    /// `0A000`: `what` is not supported. Name the feature as the user wrote it.
    pub fn unsupported(what: impl fmt::Display) -> SqlError {
        SqlError::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            format!("{what} is not supported"),
        )
    }

    /// `27000`: a row that was to be `what` ("updated", "deleted") is another now, by what the statement itself has called.
    pub fn changed_by_statement(what: impl fmt::Display) -> SqlError {
        let message = format!(
            "tuple to be {what} was already modified by an operation triggered by the current command"
        );
        SqlError::new(SqlState::TRIGGERED_DATA_CHANGE_VIOLATION, message).hint(
            "Consider using an AFTER trigger instead of a BEFORE trigger to propagate changes to other rows.",
        )
    }

    /// `55P03`: a lock was waited for as long as `lock_timeout` says.
    pub fn lock_timeout() -> SqlError {
        let message = "canceling statement due to lock timeout";
        SqlError::new(SqlState::LOCK_NOT_AVAILABLE, message)
    }

    /// `XX000`: a bug of ours that could be contained to one statement.
    pub fn internal(what: impl fmt::Display) -> SqlError {
        SqlError::new(SqlState::INTERNAL_ERROR, what.to_string())
    }

    /// Adds facts.
    #[must_use]
    pub fn detail(mut self, detail: impl Into<Box<str>>) -> SqlError {
        self.detail = Some(detail.into());
        self
    }

    /// The same, if there is one that may be told.
    #[must_use]
    pub fn detailed(self, detail: Option<String>) -> SqlError {
        match detail {
            Some(detail) => self.detail(detail),
            None => self,
        }
    }

    /// Adds advice.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<Box<str>>) -> SqlError {
        self.hint = Some(hint.into());
        self
    }

    /// Adds the place in the statement (characters from 1), unless one is known already.
    #[must_use]
    pub fn at(mut self, position: u32) -> SqlError {
        self.position.get_or_insert(position);
        self
    }

    /// Adds a line to where the error came up, outwards.
    #[must_use]
    pub fn within(mut self, line: &str) -> SqlError {
        self.context = Some(match self.context.take() {
            Some(inner) => format!("{inner}\n{line}").into(),
            None => line.into(),
        });
        self
    }

    /// Adds the object the error is about.
    #[must_use]
    pub fn about(mut self, object: ErrorObject) -> SqlError {
        self.object = Some(Box::new(object));
        self
    }
}

/// An error with its causes, in one line: `merge into x: No space left on device`.
pub fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

//! Numbers that must not be mixed, each its own type.
//!
//! Relies on: nothing.  Promises: total order where order means something (`Lsn`, `Timestamp`).
//! Does not: hand numbers out; whoever owns a sequence of them does.

use std::fmt;
use std::ops::Range;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug,
                 serde::Serialize, serde::Deserialize)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }
    };
}

id! {
    /// Log sequence number: a byte position in the endless redo log. A record's `Lsn` is the
    /// position just *after* its last byte, so "durable up to L" covers every record with lsn ≤ L.
    Lsn(u64)
}
id! {
    /// Commit or snapshot timestamp: the place of a transaction in the one serial order.
    /// A snapshot at `t` sees exactly the commits with timestamp ≤ `t`. 0 is before everything.
    Timestamp(u64)
}
id! {
    /// A running transaction. Never reused within one run of the process.
    TxnId(u64)
}
id! {
    /// A key space of the stores: one table's rows or one index's entries.
    /// A truncated or rewritten table gets a fresh space; a number is never reused.
    SpaceId(u32)
}
id! {
    /// A table in the catalogue; stays when the table's space is replaced.
    TableId(u32)
}
id! {
    /// An index in the catalogue.
    IndexId(u32)
}
id! {
    /// A sequence in the catalogue.
    SequenceId(u32)
}
id! {
    /// A procedure or function in the catalogue.
    RoutineId(u32)
}
id! {
    /// A foreign key in the catalogue.
    ConstraintId(u32)
}
id! {
    /// A role: somebody who may do something, or a group of them.
    RoleId(u32)
}

/// Numbers of what sessions make in their temporary schemas, spaces included: no stored catalogue has one of these, and what
/// a crash leaves of them is nobody's.
pub const TEMPORARY: Range<u32> = 1 << 27..1 << 28;

/// With the number of a database (0: the first): the space of its large objects' pages, and their counter.
pub const LARGE_OBJECT_PAGES: u32 = 1 << 28;

/// With the number of a database: the space of what is known of its large objects.
pub const LARGE_OBJECTS: u32 = 1 << 29;

impl SpaceId {
    /// Whether it is of a temporary table, which its session alone can name.
    pub fn is_temporary(self) -> bool {
        TEMPORARY.contains(&self.0)
    }
}

impl RoleId {
    /// Everybody.
    pub const PUBLIC: RoleId = RoleId(0);
    /// The superuser that a database begins with.
    pub const BOOTSTRAP: RoleId = RoleId(10);
}

impl Lsn {
    /// Before the first record.
    pub const ZERO: Lsn = Lsn(0);
}

impl Timestamp {
    /// Before every commit.
    pub const ZERO: Timestamp = Timestamp(0);
    /// After every commit.
    pub const MAX: Timestamp = Timestamp(u64::MAX);
}

//! When two effects on one row conflict.
//!
//! Relies on: nothing but the effects.  Promises: symmetric; what is left out here cannot conflict as long as
//! calls that do conflict are kept apart (`docs/conflict-classes.md` has the proof).  Does not: know keys.
//!
//! Write–write, at every level:
//!
//! | | update | delete | lock | insert |
//! |---|---|---|---|---|
//! | update | of a common column; by row: always | always | always | never |
//! | delete | | always | always | never |
//! | lock | | | unless both are shared | never |
//! | insert | | | | of one key |
//!
//! An INSERT meets only other INSERTs: an UPDATE or DELETE acts on rows of its own snapshot, and who kept such a
//! row from being there, or took it away since, has itself been kept apart from one of the two. Of a unique
//! index: two claims of one key conflict.
//!
//! Read–write, at SERIALIZABLE: a read with an update of a column that it looks at (by row: of any), and with
//! every insert and delete. Whether a key is taken is a read, too: so an insert meets a delete, and a claim a
//! release.

use crate::deeds::Effect;
use quintet_base::Level;
use quintet_ir::TableDef;

/// What counts as the same thing written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Granularity {
    /// Columns of a row.
    Column,
    /// Rows: how PostgreSQL, and our own commit, see it.
    Row,
}

/// Why two effects on one row conflict.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Cause {
    /// Both write.
    WriteWrite,
    /// One writes what the other looks at.
    ReadWrite,
}

/// How conflicts are counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rule {
    /// SERIALIZABLE counts reads, too; at every other level only writes count.
    pub level: Level,
    /// Of updates, and of reads.
    pub granularity: Granularity,
}

impl Rule {
    /// Why these conflict on a row of the table, or on a key of its index; `None`: they do not.
    pub fn cause(self, one: &Effect, other: &Effect, table: &TableDef) -> Option<Cause> {
        use Cause::{ReadWrite, WriteWrite};
        use Effect::{Claim, Delete, Insert, Lock, Read, Release, Update};
        let reads_count = self.level == Level::Serializable;
        let common = |a: &crate::Columns, b: &crate::Columns| {
            self.granularity == Granularity::Row || !a.is_disjoint(b)
        };
        let read = |conflicts: bool| (conflicts && reads_count).then_some(ReadWrite);
        let write = |conflicts: bool| conflicts.then_some(WriteWrite);
        match (one, other) {
            (Update(a), Update(b)) => write(common(a, b)),
            (Update(_) | Delete | Lock { .. }, Delete) | (Delete, Update(_) | Lock { .. }) => {
                write(true)
            }
            (Update(_), Lock { .. }) | (Lock { .. }, Update(_)) => write(true),
            (Lock { shared: a }, Lock { shared: b }) => write(!(*a && *b)),
            // Without a primary key every row has an id of its own.
            (Insert, Insert) => write(table.primary_key.is_some()),
            (Insert, Delete) | (Delete, Insert) => read(table.primary_key.is_some()),
            (Insert, Update(_) | Lock { .. }) | (Update(_) | Lock { .. }, Insert) => None,
            (Read(a), Update(b)) | (Update(b), Read(a)) => read(common(a, b)),
            (Read(_), Insert | Delete) | (Insert | Delete, Read(_)) => read(true),
            (Read(_), Read(_) | Lock { .. }) | (Lock { .. }, Read(_)) => None,
            (Claim(a), Claim(b)) => write(a == b),
            (Claim(a), Release(b)) | (Release(b), Claim(a)) => read(a == b),
            (Release(_), Release(_)) => None,
            // Keys of an index are never compared with rows.
            (Claim(_) | Release(_), _) | (_, Claim(_) | Release(_)) => None,
        }
    }
}

//! When two effects on one row conflict.
//!
//! Relies on: nothing but the effects.  Promises: symmetric; what is left out here cannot conflict as long as
//! calls that do conflict are kept apart (`docs/conflict-classes.md` has the proof).  Does not: know keys.
//!
//! Write–write, at every level:
//!
//! | | update | delete | lock | insert |
//! |---|---|---|---|---|
//! | update | of a common column; by row and by commit: always | always | always | never |
//! | delete | | always | always | never |
//! | lock | | | unless both are shared | never |
//! | insert | | | | of one key |
//!
//! An INSERT meets only other INSERTs: an UPDATE or DELETE acts on rows of its own snapshot, and who kept such a
//! row from being there, or took it away since, has itself been kept apart from one of the two. Of a unique
//! index: two claims of one key conflict.
//!
//! A constraint's check that a row is there conflicts with every delete of it and with updates of the columns that are
//! referred to, at every level; with inserts as reads do.
//!
//! Read–write, at SERIALIZABLE, and at READ COMMITTED, whose statements see more than one snapshot: a read with an update of a column that it looks at (by row: of any), and with
//! every insert and delete. Whether a key is taken is a read, too: so an insert meets a delete, and a claim a
//! release.

use crate::deeds::Effect;
use crate::footprint::Mark;
use quintet_base::Level;
use quintet_ir::TableDef;

/// What counts as the same thing written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Granularity {
    /// Columns of a row.
    Column,
    /// Rows: how PostgreSQL sees it.
    Row,
    /// How our own commit sees it: of writes rows, of reads columns where it remembers which were looked at
    /// ([`crate::Mark::glanced`]), else rows. Two rows numbered by one sequence have two keys
    /// ([`crate::Mark::numbered`]). Calls kept apart by this lose nothing at their commit.
    Commit,
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
    /// At SNAPSHOT only writes count, else reads, too.
    pub level: Level,
    /// Of updates, and of reads.
    pub granularity: Granularity,
}

impl Rule {
    /// What a mark counts as.
    pub(crate) fn seen(self, mark: &Mark) -> Effect {
        match &mark.effect {
            Effect::Read(_) if self.granularity == Granularity::Commit && !mark.glanced => {
                Effect::Read((0..mark.table.frame_width()).collect())
            }
            Effect::Insert if self.granularity == Granularity::Commit => {
                mark.numbered.map_or(Effect::Insert, Effect::InsertNumbered)
            }
            effect => effect.clone(),
        }
    }

    /// Why these conflict on a row of the table, or on a key of its index; `None`: they do not.
    pub fn cause(self, one: &Effect, other: &Effect, table: &TableDef) -> Option<Cause> {
        use Cause::{ReadWrite, WriteWrite};
        use Effect::{Check, Claim, Delete, Insert, InsertNumbered, Lock, Read, Release, Update};
        let reads_count = self.level != Level::Snapshot;
        let common = |a: &crate::Columns, b: &crate::Columns, coarse: &[Granularity]| {
            coarse.contains(&self.granularity) || !a.is_disjoint(b)
        };
        let written = [Granularity::Row, Granularity::Commit];
        let seen = [Granularity::Row];
        let read = |conflicts: bool| (conflicts && reads_count).then_some(ReadWrite);
        let write = |conflicts: bool| conflicts.then_some(WriteWrite);
        match (one, other) {
            (InsertNumbered(a), InsertNumbered(b)) if a == b => None,
            (InsertNumbered(_), other) => self.cause(&Insert, other, table),
            (one, InsertNumbered(_)) => self.cause(one, &Insert, table),
            (Update(a), Update(b)) => write(common(a, b, &written)),
            (Update(_) | Delete | Lock { .. }, Delete) | (Delete, Update(_) | Lock { .. }) => {
                write(true)
            }
            (Update(_), Lock { .. }) | (Lock { .. }, Update(_)) => write(true),
            (Lock { shared: a }, Lock { shared: b }) => write(!(*a && *b)),
            // Without a primary key every row has an id of its own.
            (Insert, Insert) => write(table.primary_key.is_some()),
            (Insert, Delete) | (Delete, Insert) => read(table.primary_key.is_some()),
            (Insert, Update(_) | Lock { .. }) | (Update(_) | Lock { .. }, Insert) => None,
            (Read(a), Update(b)) | (Update(b), Read(a)) => read(common(a, b, &seen)),
            (Read(_), Insert | Delete) | (Insert | Delete, Read(_)) => read(true),
            (Read(_), Read(_) | Lock { .. }) | (Lock { .. }, Read(_)) => None,
            (Check(a), Update(b)) | (Update(b), Check(a)) => {
                common(a, b, &seen).then_some(ReadWrite)
            }
            (Check(_), Delete) | (Delete, Check(_)) => Some(ReadWrite),
            (Check(_), Insert) | (Insert, Check(_)) => read(true),
            (Check(_), Read(_) | Lock { .. } | Check(_)) | (Read(_) | Lock { .. }, Check(_)) => {
                None
            }
            (Claim(a), Claim(b)) => write(a == b),
            (Claim(a), Release(b)) | (Release(b), Claim(a)) => read(a == b),
            (Release(_), Release(_)) => None,
            // Keys of an index are never compared with rows.
            (Claim(_) | Release(_), _) | (_, Claim(_) | Release(_)) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Columns;
    use quintet_base::row::RowLayout;
    use quintet_base::{SequenceId, SpaceId, TableId};
    use quintet_ir::schema::PrimaryKey;

    fn table(keyed: bool) -> TableDef {
        TableDef {
            id: TableId(1),
            revision: 1,
            schema: "public".into(),
            name: "t".into(),
            space: SpaceId(1),
            columns: Vec::new(),
            primary_key: keyed.then(|| PrimaryKey {
                name: "t_pkey".into(),
                columns: vec![0],
            }),
            indexes: Vec::new(),
            checks: Vec::new(),
            layout: RowLayout::new(Vec::new()),
            references: None,
            partitions: None,
        }
    }

    fn effects() -> Vec<Effect> {
        let columns = |numbers: &[usize]| numbers.iter().copied().collect::<Columns>();
        vec![
            Effect::Read(columns(&[1])),
            Effect::Read(columns(&[])),
            Effect::Lock { shared: false },
            Effect::Lock { shared: true },
            Effect::Update(columns(&[1])),
            Effect::Update(columns(&[2])),
            Effect::Insert,
            Effect::Delete,
            Effect::Claim(0),
            Effect::Claim(1),
            Effect::Release(0),
            Effect::InsertNumbered(SequenceId(1)),
            Effect::InsertNumbered(SequenceId(2)),
            Effect::Check(columns(&[1])),
            Effect::Check(columns(&[3])),
        ]
    }

    fn rule(level: Level, granularity: Granularity) -> Rule {
        Rule { level, granularity }
    }

    /// Goal: a stronger level, or rows for columns, leaves no conflict out; and who comes first makes no
    /// difference.
    #[test]
    fn rules_are_symmetric_and_grow() {
        for keyed in [true, false] {
            let table = table(keyed);
            for one in effects() {
                for other in effects() {
                    let of = |level, granularity| {
                        let rule = rule(level, granularity);
                        let cause = rule.cause(&one, &other, &table);
                        assert_eq!(cause, rule.cause(&other, &one, &table), "{one:?} {other:?}");
                        cause.is_some()
                    };
                    use Granularity::{Column, Commit, Row};
                    let weak = of(Level::Snapshot, Column);
                    assert!(!weak || of(Level::Snapshot, Row));
                    assert!(!weak || of(Level::Serializable, Column));
                    assert!(!of(Level::Serializable, Column) || of(Level::Serializable, Row));
                    for level in [Level::Snapshot, Level::Serializable] {
                        assert!(!of(level, Column) || of(level, Commit));
                        assert!(!of(level, Commit) || of(level, Row));
                    }
                    assert_eq!(of(Level::ReadCommitted, Row), of(Level::Serializable, Row));
                }
            }
        }
    }

    /// Goal: the table in the module's header and in docs/conflict-classes.md, in the cases that surprise.
    #[test]
    fn an_insert_meets_inserts_only_and_reads_count_at_serializable() {
        let snapshot = rule(Level::Snapshot, Granularity::Column);
        let serializable = rule(Level::Serializable, Granularity::Column);
        let all = effects();
        let with = |rule: Rule, effect: &Effect, keyed: bool| -> Vec<usize> {
            let table = table(keyed);
            let conflicts = |other: &&Effect| rule.cause(effect, other, &table).is_some();
            let found = all.iter().enumerate().filter(|(_, other)| conflicts(other));
            found.map(|(number, _)| number).collect()
        };
        assert_eq!(with(snapshot, &Effect::Insert, true), [6, 11, 12]);
        assert_eq!(with(snapshot, &all[11], true), [6, 12]);
        assert_eq!(with(snapshot, &Effect::Insert, false), []);
        let inserts = [0, 1, 6, 7, 11, 12, 13, 14];
        assert_eq!(with(serializable, &Effect::Insert, true), inserts);
        assert_eq!(with(snapshot, &all[4], true), [2, 3, 4, 7, 13]);
        assert_eq!(with(serializable, &all[4], true), [0, 2, 3, 4, 7, 13]);
        assert_eq!(with(snapshot, &all[14], true), [7]);
        assert_eq!(with(snapshot, &all[3], true), [2, 4, 5, 7]);
        assert_eq!(with(snapshot, &Effect::Claim(0), true), [8]);
        assert_eq!(with(serializable, &Effect::Claim(0), true), [8, 10]);
    }
}

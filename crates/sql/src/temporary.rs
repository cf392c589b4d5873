//! Schemas of temporary tables: `pg_temp_1`, one for each session that makes any.
//!
//! Relies on: the session's number (`Who`), which no other session has while it lives.  Promises: a session finds its own
//! by bare names first and as `pg_temp`, and no other's by any name; what is in such a schema has numbers of its own
//! ([`TEMPORARY`]), by which its records are told from those of the catalogue.  Does not: make or empty them (`ddl::temporary`), or
//! keep the records: their session does.

use crate::catalog::{Catalog, CatalogChange};
use crate::command::DdlPlan;
use crate::planner::{Who, names_of_path};
use crate::records::{self, Counters, RecordKey, SecurityRecord, TypeKind, TypeRecord};
use quintet_base::ids::TEMPORARY;
use quintet_base::types::ROW_TYPE;
use quintet_base::{SequenceId, SpaceId, SqlError, SqlResult, SqlState, SqlType};
use quintet_ir::ddl::Work;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// Records of what is in a session's temporary schema, by their keys.
pub type TemporaryRecords = BTreeMap<Vec<u8>, Vec<u8>>;

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

impl Catalog {
    /// This catalogue with a session's temporary schema, where the next number to give out is this one.
    ///
    /// # Errors
    /// What a record needs is not there any more.
    pub fn with_temporary(&self, records: &TemporaryRecords, next: u32) -> SqlResult<Catalog> {
        self.with_temporaries(&[records], next)
    }

    /// The same of several sessions, no two of which have a record of the same key.
    ///
    /// # Errors
    /// As there.
    pub fn with_temporaries(
        &self,
        sessions: &[&TemporaryRecords],
        next: u32,
    ) -> SqlResult<Catalog> {
        let records = || sessions.iter().flat_map(|records| records.iter());
        let counters = Counters { next_id: next };
        let mut changes = vec![records::write(RecordKey::TemporaryCounters, &counters)?];
        changes.extend(records().map(|(key, value)| CatalogChange {
            key: key.clone(),
            value: Some(value.clone()),
        }));
        let with = self.apply(&changes)?;
        let schemas: HashSet<&str> = records()
            .filter_map(|(key, _)| match RecordKey::decode(key) {
                Ok(RecordKey::Schema(number)) => with.schema_named(number),
                _ => None,
            })
            .collect();
        with.refuse_unmet(&schemas)?;
        Ok(with)
    }

    /// Refuses tables of these schemas that need a type or a function that is not there; everything else was read anew.
    fn refuse_unmet(&self, schemas: &HashSet<&str>) -> SqlResult<()> {
        let gone = |what: &str, name: &str| {
            let message = format!("{what} of \"{name}\" does not exist any more");
            Err(SqlError::new(SqlState::UNDEFINED_OBJECT, message))
        };
        for record in self.table_records() {
            if !schemas.contains(record.schema.as_str()) {
                continue;
            }
            let numbers = record.columns.iter().filter(|column| !column.dropped);
            let numbers = numbers.filter_map(|column| match column.ty {
                SqlType::Enum(number)
                | SqlType::EnumArray(number)
                | SqlType::Composite(number)
                | SqlType::CompositeArray(number) => Some(number),
                _ => None,
            });
            let domains = record.more.domains.iter().map(|(_, domain)| *domain);
            let is_there = |number: u32| match number & ROW_TYPE {
                0 => self.user_type(number).is_some(),
                _ => self.table_of_type(number).is_some(),
            };
            if numbers.chain(domains).any(|number| !is_there(number)) {
                return gone("a type", &record.name);
            }
            let triggers = self.triggers_of(record.id);
            if triggers.iter().any(|t| self.routine(t.function).is_none()) {
                return gone("the function of a trigger", &record.name);
            }
        }
        Ok(())
    }
}

impl DdlPlan {
    /// Whether nothing that is there already can need what it changes, and so nothing that another session has: it makes something,
    /// says something of what is there, or lets somebody do something with it (`is_grant`). `catalog`: what it was planned against.
    pub fn is_harmless(&self, catalog: &Catalog, is_grant: bool) -> bool {
        let is_new = |number: u32| number >= catalog.next_id() && !TEMPORARY.contains(&number);
        let adds = |change: &CatalogChange| match RecordKey::decode(&change.key) {
            Ok(RecordKey::Counters | RecordKey::Comments(_)) => true,
            Ok(RecordKey::Access(_) | RecordKey::ColumnAccess(_)) if is_grant => true,
            Ok(RecordKey::Role(_) | RecordKey::Settings(_) | RecordKey::Database(_)) | Err(_) => {
                false
            }
            Ok(_) => {
                let number = change.key.last_chunk();
                change.value.is_some()
                    && number.is_some_and(|number| is_new(u32::from_be_bytes(*number)))
            }
        };
        self.changes.iter().all(adds)
    }
}

impl CatalogChange {
    /// True for the record of something in a session's temporary schema: it is kept in memory, by the session alone.
    pub fn is_temporary(&self) -> bool {
        RecordKey::is_temporary(&self.key)
    }

    /// True if it says that numbers for something temporary were drawn.
    pub fn counts_temporary(&self) -> bool {
        RecordKey::decode(&self.key) == Ok(RecordKey::TemporaryCounters)
    }

    /// Whether its number is that of something temporary exactly if it is temporary; false if the record cannot be read, too.
    pub(crate) fn is_at_home(&self) -> bool {
        let (Ok(key), Some(value)) = (RecordKey::decode(&self.key), &self.value) else {
            return self.value.is_none();
        };
        let schema = match key {
            RecordKey::Table(_) => records::read_table(value).map(|record| record.schema),
            RecordKey::Sequence(_) => records::read_sequence(value).map(|record| record.schema),
            RecordKey::Routine(_) => records::read_routine(value).map(|record| record.schema),
            RecordKey::View(_) => records::read_view(value).map(|record| record.schema),
            RecordKey::Type(_) => records::read_type(value).map(|record| record.schema),
            RecordKey::Trigger(_) => {
                let table = records::read_trigger(value).map(|record| record.table.0);
                return table.is_ok_and(|table| TEMPORARY.contains(&table) == self.is_temporary());
            }
            RecordKey::ForeignKey(_) => {
                let child = records::read_foreign_key(value).map(|record| record.child.0);
                return child.is_ok_and(|child| TEMPORARY.contains(&child) == self.is_temporary());
            }
            _ => return true,
        };
        schema.is_ok_and(|schema| is_temporary(&schema) == self.is_temporary())
    }
}

/// All numbers that these records have given to something.
pub fn temporary_numbers(records: &TemporaryRecords) -> BTreeSet<u32> {
    let work = TemporaryWork::of(records);
    let mut numbers: BTreeSet<u32> = work.spaces.iter().map(|space| space.0).collect();
    numbers.extend(work.counters.iter().map(|counter| counter.0));
    for (key, value) in records {
        numbers.extend(key.last_chunk().map(|number| u32::from_be_bytes(*number)));
        match RecordKey::decode(key) {
            Ok(RecordKey::Table(_)) => {
                let record = records::read_table(value);
                let indexes = record.map(|record| record.indexes).unwrap_or_default();
                numbers.extend(indexes.iter().map(|index| index.id.0));
            }
            Ok(RecordKey::Type(_)) => {
                if let Ok(TypeKind::Enum(labels)) =
                    records::read::<TypeRecord>(value).map(|record| record.kind)
                {
                    numbers.extend(labels.iter().map(|label| label.id));
                }
            }
            Ok(RecordKey::Security(_)) => {
                let record = records::read::<SecurityRecord>(value);
                let policies = record.map(|record| record.policies).unwrap_or_default();
                numbers.extend(policies.iter().map(|policy| policy.id));
            }
            _ => {}
        }
    }
    numbers
}

/// What a session's temporary tables and sequences have beside their records.
#[derive(Default, Debug)]
pub struct TemporaryWork {
    /// Of rows and of indexes' entries.
    pub spaces: Vec<SpaceId>,
    /// Counters of sequences.
    pub counters: Vec<SequenceId>,
}

impl TemporaryWork {
    /// True if there is nothing of it.
    pub fn is_empty(&self) -> bool {
        self.spaces.is_empty() && self.counters.is_empty()
    }

    /// What a change makes, has anew or drops of it.
    pub fn add(&mut self, plan: &DdlPlan) {
        let own = plan.changes.iter().filter(|change| change.is_temporary());
        let records = own.filter_map(|change| Some((change.key.clone(), change.value.clone()?)));
        let made = TemporaryWork::of(&records.collect());
        self.spaces.extend(made.spaces);
        self.counters.extend(made.counters);
        for work in &plan.work {
            match work {
                Work::DropSpaces(spaces) => {
                    let own = spaces.iter().filter(|space| space.is_temporary());
                    self.spaces.extend(own);
                }
                Work::DropSequence(counter) if TEMPORARY.contains(&counter.0) => {
                    self.counters.push(*counter);
                }
                _ => {}
            }
        }
    }

    /// Of all that these records tell of.
    pub fn of(records: &TemporaryRecords) -> TemporaryWork {
        let mut found = TemporaryWork::default();
        for (key, value) in records {
            match RecordKey::decode(key) {
                Ok(RecordKey::Table(_)) => {
                    let Ok(record) = records::read_table(value) else {
                        continue;
                    };
                    found.spaces.push(record.space);
                    let indexes = record.indexes.iter();
                    found.spaces.extend(indexes.map(|index| index.space));
                }
                Ok(RecordKey::Sequence(id)) => {
                    let record = records::read_sequence(value);
                    let counter = record.ok().and_then(|record| record.counter);
                    found.counters.push(counter.unwrap_or(id));
                }
                _ => {}
            }
        }
        found
    }
}

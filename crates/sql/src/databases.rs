//! The databases of a server, as the catalogue of each of them knows them.
//!
//! Relies on: `records` for keys and versions.  Promises: what all databases share (who there is, which databases there are, and what
//! roles' sessions begin with) is told from what each has by itself; a catalogue takes over what is shared from another one whole.
//! Does not: know who is connected, or where records are kept (`embed` does both).
//!
//! ```text
//!   shared records: roles, databases, settings of roles      in the first database's catalogue space
//!       │ with_shared_of          │ with_shared_of
//!       ▼                         ▼
//!   catalogue of the first    catalogue of each other        its own records in a space of its own
//! ```

use crate::catalog::{Catalog, CatalogChange};
use crate::records::{self, AccessRecord, Counters, GrantRecord, RecordKey};
use crate::role::{Access, Roles, THE_DATABASE, Whose, denied};
use quintet_base::{RoleId, SequenceId, SpaceId, SqlError, SqlResult};
use quintet_ir::ddl::Work;
use quintet_ir::schema::{SequenceDef, TableRef};
use quintet_ir::{Expr, Privileges};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The name of the first database that nothing else was made under.
pub const FIRST_NAME: &str = "quintet";

/// Names that always mean the first database.
pub(crate) const RESERVED: [&str; 4] = [FIRST_NAME, "postgres", "template0", "template1"];

/// A name of a database.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DatabaseRecord {
    /// As `pg_database` has it for who is connected to another one.
    pub number: u32,
    /// Its name.
    pub name: String,
    /// Whose it was when it was made, or was given to last.
    pub owner: RoleId,
    /// What was granted on it; `None`: the default privileges.
    pub(crate) acl: Option<Vec<GrantRecord>>,
    /// What the name means.
    pub stand: DatabaseStand,
}

impl DatabaseRecord {
    /// One on which nothing was granted.
    pub(crate) fn new(number: u32, name: &str, owner: RoleId, stand: DatabaseStand) -> Self {
        DatabaseRecord {
            number,
            name: name.to_string(),
            owner,
            acl: None,
            stand,
        }
    }

    /// What was said of it, as of an object of this number.
    fn access(&self, number: u32) -> AccessRecord {
        AccessRecord {
            number,
            owner: self.owner,
            acl: self.acl.clone(),
        }
    }
}

/// What the name of a database means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DatabaseStand {
    /// The first database: somebody has changed its schema who had connected by this name.
    First,
    /// One with a catalogue of its own, in this space.
    Own(SpaceId),
    /// Nothing any more. The name does not fall back to the first database.
    Gone,
}

/// All names, by their numbers.
pub(crate) type Databases = BTreeMap<u32, Arc<DatabaseRecord>>;

/// Whether a copy of a database has this, which is not so of what was said of the database itself, or belongs to all.
fn is_copied(change: &CatalogChange) -> SqlResult<bool> {
    Ok(match RecordKey::decode(&change.key)? {
        RecordKey::Counters
        | RecordKey::Role(_)
        | RecordKey::Database(_)
        | RecordKey::Settings(_) => false,
        RecordKey::Access(number) => number != THE_DATABASE.number,
        _ => true,
    })
}

/// Names that mean nothing any more are forgotten when there are more than so many, the oldest first.
const GONE_MAX: usize = 1000;

/// What a schema change does to a database as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatabaseChange {
    /// It is made.
    Make {
        /// Its number.
        number: u32,
        /// What it is a copy of.
        template: Option<u32>,
    },
    /// It goes.
    Drop {
        /// Which.
        number: u32,
        /// WITH (FORCE): whoever is connected is sent away.
        force: bool,
    },
    /// It gets another name.
    Rename(u32),
}

impl DatabaseChange {
    /// The statement's tag.
    pub fn tag(self) -> &'static str {
        match self {
            DatabaseChange::Make { .. } => "CREATE DATABASE",
            DatabaseChange::Drop { .. } => "DROP DATABASE",
            DatabaseChange::Rename(_) => "ALTER DATABASE",
        }
    }
}

impl Catalog {
    /// The databases that have a catalogue of their own, oldest first.
    pub fn other_databases(&self) -> impl Iterator<Item = (&Arc<DatabaseRecord>, SpaceId)> {
        self.database_records()
            .values()
            .filter_map(|record| match record.stand {
                DatabaseStand::Own(space) => Some((record, space)),
                DatabaseStand::First | DatabaseStand::Gone => None,
            })
    }

    /// What is known of a name.
    pub fn database_named(&self, name: &str) -> Option<&Arc<DatabaseRecord>> {
        let mut records = self.database_records().values();
        records.find(|record| record.name == name)
    }

    /// Whether a role may have sessions here.
    ///
    /// # Errors
    /// `42501`.
    pub fn may_connect(&self, role: RoleId, name: &str) -> SqlResult<()> {
        let connect = Privileges::CONNECT;
        match self
            .roles()
            .privileges(role, THE_DATABASE, connect)
            .is_empty()
        {
            false => Ok(()),
            true => Err(denied(format!("permission denied for database \"{name}\""))
                .detail("User does not have CONNECT privilege.")),
        }
    }

    /// The catalogue of a database beside others: empty but for what is shared.
    ///
    /// # Errors
    /// `XX001` if a record cannot be read.
    pub fn beside(
        shared: &Catalog,
        record: &DatabaseRecord,
        own: impl IntoIterator<Item = (Vec<u8>, Vec<u8>)>,
    ) -> SqlResult<Catalog> {
        let mut founded = Catalog::load([])?;
        founded.is_database(record.number);
        let mut founded = founded.with_shared_of(shared).unwrap_or(founded);
        founded.pass_over(SpaceId(record.number));
        let own = own.into_iter().map(|(key, value)| CatalogChange {
            key,
            value: Some(value),
        });
        let own: Vec<CatalogChange> = own.collect();
        founded.apply(&own)
    }

    /// The records of a copy of this database, with numbers from `next` on for what may be in one place only: spaces of rows, and counters of
    /// sequences. `records` are its own.
    ///
    /// # Errors
    /// `XX001` if one cannot be read; `0A000` if sessions have left temporary tables behind.
    pub fn copied(
        &self,
        records: impl IntoIterator<Item = (Vec<u8>, Vec<u8>)>,
        next: u32,
    ) -> SqlResult<Vec<CatalogChange>> {
        if !self.temporary_sessions().is_empty() {
            return Err(SqlError::unsupported(
                "copying a database with temporary tables",
            ));
        }
        let mut next = next;
        let mut fresh = || {
            let number = next;
            next += 1;
            number
        };
        let mut changes = Vec::new();
        for (key, value) in records {
            let change = CatalogChange {
                key,
                value: Some(value),
            };
            if !is_copied(&change)? {
                continue;
            }
            let value = change.value.as_deref().unwrap_or_default();
            changes.push(match RecordKey::decode(&change.key)? {
                RecordKey::Table(_) => {
                    let mut record = records::read_table(value)?;
                    record.space = SpaceId(fresh());
                    for index in &mut record.indexes {
                        index.space = SpaceId(fresh());
                    }
                    records::write_table(&record)?
                }
                RecordKey::Sequence(_) => {
                    let mut record = records::read_sequence(value)?;
                    record.counter = Some(SequenceId(fresh()));
                    records::write_sequence(&record)?
                }
                _ => change,
            });
        }
        // What it makes itself has other numbers than what it was given.
        let counters = Counters {
            next_id: next.max(self.next_id()),
        };
        changes.push(records::write(RecordKey::Counters, &counters)?);
        Ok(changes)
    }

    /// How the rows of this catalogue's tables come into those of a copy.
    pub fn copying(&self, copy: &Catalog) -> Vec<Work> {
        let tables = self.tables().chain(self.large_objects().tables());
        let pairs = tables.filter_map(|from| {
            let to = copy.table_by_id(from.id)?;
            Some(Work::Rewrite {
                columns: (0..from.columns.len())
                    .map(|place| Expr::Column(place, from.frame_type(place)))
                    .collect(),
                from: TableRef::clone(from),
                to: TableRef::clone(to),
                rows: None,
                fresh: true,
            })
        });
        pairs.collect()
    }

    /// All sequences, and where numbers for large objects come from.
    pub fn all_sequences(&self) -> impl Iterator<Item = &Arc<SequenceDef>> {
        let numbers = std::iter::once(self.large_object_numbers());
        self.sequences().chain(numbers)
    }

    /// This catalogue with what another one knows of roles and databases; `None`: it knows the same.
    pub fn with_shared_of(&self, other: &Catalog) -> Option<Catalog> {
        let roles = self.roles().with_shared_of(other.roles());
        let same = self.database_records() == other.database_records();
        if roles.is_none() && same {
            return None;
        }
        Some(self.sharing(roles, Arc::clone(other.database_records())))
    }

    /// Whether a record belongs to all databases.
    pub fn is_shared(key: &[u8]) -> bool {
        matches!(
            RecordKey::decode(key),
            Ok(RecordKey::Role(_)
                | RecordKey::Database(_)
                | RecordKey::Settings(Whose {
                    in_database: false,
                    ..
                }))
        )
    }

    /// What is to be written so that a name means the first database from now on; nothing if it means something.
    ///
    /// # Errors
    /// `XX000`: it cannot be written.
    pub fn name_first(&self, name: &str) -> SqlResult<Vec<CatalogChange>> {
        if name.is_empty() || RESERVED.contains(&name) || self.database_named(name).is_some() {
            return Ok(Vec::new());
        }
        let number = self.next_id();
        let record = DatabaseRecord::new(number, name, RoleId::BOOTSTRAP, DatabaseStand::First);
        let counters = Counters {
            next_id: number + 1,
        };
        Ok(vec![
            records::write(RecordKey::Counters, &counters)?,
            records::write(RecordKey::Database(number), &record)?,
        ])
    }

    /// What is owned and granted of databases, as of objects: of those that have a catalogue of their own, this one also by the number
    /// that every catalogue has for its own.
    pub(crate) fn say_of_databases(&self, roles: &mut Roles, before: &Databases) {
        let is_own = |record: &&Arc<DatabaseRecord>| matches!(record.stand, DatabaseStand::Own(_));
        for gone in before.values().filter(is_own) {
            roles.put_access(gone.number, None);
        }
        for record in self.database_records().values().filter(is_own) {
            let access = |number| Some(Access::of_record(&record.access(number)));
            roles.put_access(record.number, access(record.number));
            if record.number == self.database_number() {
                roles.put_access(THE_DATABASE.number, access(THE_DATABASE.number));
            }
        }
    }

    /// The record of a database with a catalogue of its own, by its number or the one that every catalogue has for its own.
    pub(crate) fn database_of(&self, number: u32) -> Option<&Arc<DatabaseRecord>> {
        let number = match number == THE_DATABASE.number {
            true => self.database_number(),
            false => number,
        };
        let record = self.database_records().get(&number)?;
        matches!(record.stand, DatabaseStand::Own(_)).then_some(record)
    }

    /// Roles that these changes remove.
    pub fn roles_removed(changes: &[CatalogChange]) -> Vec<RoleId> {
        let removed = changes.iter().filter(|change| change.value.is_none());
        let roles = removed.filter_map(|change| match RecordKey::decode(&change.key) {
            Ok(RecordKey::Role(role)) => Some(role),
            _ => None,
        });
        roles.collect()
    }

    /// Numbers of names that mean nothing any more and need not be remembered.
    pub(crate) fn forgettable_databases(&self) -> Vec<u32> {
        let gone = self.database_records().values();
        let gone = gone.filter(|record| record.stand == DatabaseStand::Gone);
        let gone: Vec<u32> = gone.map(|record| record.number).collect();
        let many = gone.len().saturating_sub(GONE_MAX - 1);
        gone[..many].to_vec()
    }
}

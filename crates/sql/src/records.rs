//! Catalogue records as they are stored.
//!
//! Relies on: `serde`, `postcard`.  Promises: a record begins with its version; one that this
//! version cannot read is refused (XX001), never guessed at.  Does not: bind expressions; default
//! and check expressions stay the SQL text they were written as.
//!
//! | key | | record |
//! |---|---|---|
//! | byte 0 | kind: 0 counters, 1 table, 2 sequence, 3 routine, 4 foreign key, 5 view, 6 comments, 7 schema, 8 extension, 9 trigger, 10 what a materialized view is besides its table, 11 row security of a table, 16 type, 32 role, 33 owner and privileges of an object, 34 and 35 what a role's sessions begin with, everywhere and in the database, 36 default privileges, 37 privileges on columns of a relation | |
//! | bytes 1-4 | number, big-endian; 0 for counters, the object's for its comments | |
//! | | | byte 0: version: 1, of tables 7, or 9 if it has `options` behind it (1 lacks `more`, 2 what `TableMore` has behind `directions`, 3 what it has behind `on_commit`, 4 behind `unvalidated`, 5 behind `collations`, 6 behind `late`), of sequences 3 (1 lacks `counter`, 2 `cache`), of views 3 (1 lacks what is behind the struct: `check`, 2 `options`), of routines 2 (1 lacks `altered`), of triggers 2 (1 lacks `more`), of foreign keys 2 (1 lacks `off`), of roles 2 (1 lacks `bypass`) |
//! | | | rest: postcard of the struct below |
//!
//! Tables, indexes, sequences, routines and spaces take their numbers from one counter, which never goes
//! back. The number after a table's own stays free for the index of its primary key, which has
//! no record of its own but must have an OID.

mod key;
mod policy;

pub(crate) use key::RecordKey;
pub(crate) use policy::{PolicyRecord, PolicyText, SecurityRecord};

use crate::catalog::CatalogChange;
use crate::role::Whose;
use crate::system::{collation_of, primary_key_oid};
use quintet_base::{
    ConstraintId, IndexId, RoleId, RoutineId, SequenceId, SpaceId, SqlError, SqlResult, SqlState,
    SqlType, TableId, TypeMod,
};
use quintet_ir::Elements;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Version of every record written now, but those of tables, sequences, views, routines, triggers, foreign keys and roles.
const VERSION: u8 = 1;
/// Version of a sequence's record: since it has a `cache`.
const SEQUENCE_VERSION: u8 = 3;
/// Version of a sequence's record since it has a `counter`.
const COUNTER_VERSION: u8 = 2;
/// Version of a view's record that has `defaults` behind it.
const DEFAULTS_VERSION: u8 = 4;
/// Version of a view's record: since its `options` are behind it.
const VIEW_VERSION: u8 = 3;
/// Version of a view's record since its `check` is behind it.
const CHECKED_VERSION: u8 = 2;
/// Version of the record of a domain that is over another one, whose number is behind it.
const OVER_VERSION: u8 = 2;
/// Version of a table's record that has `options` behind it; it may have what version 8 has.
const OPTIONS_VERSION: u8 = 9;
/// Version of a table's record that is like the next, but an index has entries for trigrams, of which earlier programs know nothing.
const TRIGRAMS_VERSION: u8 = 8;
/// Version of a table's record: since its `more` has `excluded`.
const TABLE_VERSION: u8 = 7;
/// Version of a table's record since its `more` has `nulls_equal` and `late`, and an index may be inverted.
const LATE_VERSION: u8 = 6;
/// Version of a table's record since its `more` has `shown` and `collations`.
const SHOWN_VERSION: u8 = 5;
/// Version of a table's record since its `more` has `unvalidated`.
const UNVALIDATED_VERSION: u8 = 4;
/// Version of a table's record since its `more` has `domains` and `hidden`.
const HIDDEN_VERSION: u8 = 3;
/// Version of a table's record since it has `more`.
const MORE_VERSION: u8 = 2;
/// Of routines' records.
const ROUTINE_VERSION: u8 = 2;
/// Version of a foreign key's record: since it has `off`.
const KEY_VERSION: u8 = 2;
/// Version of a trigger's record: since it has `more`.
const TRIGGER_VERSION: u8 = 2;
/// Version of a role's record: since it has `bypass`.
const ROLE_VERSION: u8 = 2;

/// The first number given out, as in PostgreSQL: smaller OIDs belong to the system.
pub(crate) const FIRST_ID: u32 = 16_384;

/// Numbers to give out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Counters {
    pub next_id: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct TableRecord {
    pub id: TableId,
    pub revision: u64,
    pub schema: String,
    pub name: String,
    pub space: SpaceId,
    pub columns: Vec<ColumnRecord>,
    pub primary_key: Option<KeyRecord>,
    pub indexes: Vec<IndexRecord>,
    pub checks: Vec<CheckRecord>,
    /// The last field: records of version 1 end before it.
    pub more: TableMore,
}

/// What a table's record says since version 2.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct TableMore {
    /// Generated columns by number, with their expressions as SQL text.
    pub generated: Vec<(usize, String)>,
    /// Indexes with columns that were asked for otherwise than `ASC NULLS LAST`: for each column, whether it
    /// descends and whether NULLs come first.
    pub directions: Vec<(IndexId, Vec<(bool, bool)>)>,
    /// Columns that are of a domain, with its number. Records of version 2 end before it.
    pub domains: Vec<(usize, u32)>,
    /// What indexes on expressions and partial ones need.
    pub hidden: HiddenRecord,
    /// Of a temporary table. Records of version 3 end behind it.
    pub on_commit: OnCommit,
    /// Names of checks that rows from before them may fail. Records of version 4 end behind it.
    pub unvalidated: Vec<String>,
    /// Indexes that were asked for with more than is done about them.
    pub shown: Vec<(IndexId, ShownRecord)>,
    /// Columns with a collation of their own, by PostgreSQL's number: all of them compare bytes. Records of version 5 end
    /// behind it.
    pub collations: Vec<(usize, u32)>,
    /// Indexes with NULLS NOT DISTINCT. Records of version 5 end before it.
    pub nulls_equal: Vec<IndexId>,
    /// Constraints with an index that are DEFERRABLE, the primary key by the number of its index; whether INITIALLY
    /// DEFERRED. Records of version 6 end behind it.
    pub late: LateKeys,
    /// Indexes of EXCLUDE constraints.
    pub excluded: Exclusions,
    /// WITH (…), as it was written. Behind the record, of version 9 only.
    #[serde(skip)]
    pub options: Vec<(String, String)>,
}

impl TableMore {
    /// Whatever is said of an index is said of it by its new number.
    pub fn renumber(&mut self, old: IndexId, new: IndexId) {
        let directions = self.directions.iter_mut().map(|(id, _)| id);
        let shown = self.shown.iter_mut().map(|(id, _)| id);
        let predicates = self.hidden.predicates.iter_mut().map(|(id, _)| id);
        let late = self.late.iter_mut().map(|(id, _)| id);
        let excluded = self.excluded.iter_mut().map(|(id, _)| id);
        let all = directions.chain(shown).chain(predicates);
        let all = all.chain(late).chain(excluded).chain(&mut self.nulls_equal);
        for id in all.filter(|id| **id == old) {
            *id = new;
        }
    }
}

/// Indexes of EXCLUDE constraints.
type Exclusions = Vec<(IndexId, ExclusionRecord)>;

/// Which rows an EXCLUDE constraint does not let be beside each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ExclusionRecord {
    /// How many of the index's columns must be equal, that of a predicate not counted; the others, behind them, overlap.
    pub equals: usize,
    /// The columns as they were written.
    pub written: Vec<usize>,
}

impl ExclusionRecord {
    /// The columns of the index that overlap.
    pub fn overlapping<'r>(&self, index: &'r IndexRecord) -> &'r [usize] {
        &index.columns[index.columns.len() - (self.written.len() - self.equals)..]
    }

    /// The operator that stands behind a column.
    pub fn operator(&self, index: &IndexRecord, column: usize) -> &'static str {
        match self.overlapping(index).contains(&column) {
            true => "&&",
            false => "=",
        }
    }
}

/// Unique constraints that are looked at late.
type LateKeys = Vec<(IndexId, bool)>;

/// What [`TableMore`] has had since version 5, and since version 6.
type LastAdded = (Vec<(IndexId, ShownRecord)>, Vec<(usize, u32)>, SinceSix);

/// What it has had since version 6.
type SinceSix = (Vec<IndexId>, LateKeys, Exclusions);

/// What an index was asked for with that is shown. Of the methods only gin changes what the index is, and its classes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ShownRecord {
    /// USING, if it is not btree.
    pub method: Option<String>,
    /// Columns of INCLUDE.
    pub included: Vec<usize>,
    /// Operator classes that are not the types' own, by places in the key as it was asked for.
    pub classes: Vec<(usize, String)>,
}

/// What a commit of its session does to a temporary table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum OnCommit {
    #[default]
    Keep,
    DeleteRows,
    Drop,
}

/// What indexes on expressions and partial ones need.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct HiddenRecord {
    /// Columns that nobody can name, dropped ones included; see `ddl::hidden`.
    pub columns: Vec<usize>,
    /// Partial indexes, with their predicates as SQL text. The first column of such an index is a hidden one.
    pub predicates: Vec<(IndexId, String)>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ColumnRecord {
    pub name: String,
    pub ty: SqlType,
    pub modifier: TypeMod,
    pub not_null: bool,
    /// SQL text.
    pub default: Option<String>,
    /// The value as text, read back by the column's type.
    pub missing: Option<String>,
    /// `Some(true)`: GENERATED ALWAYS; `Some(false)`: BY DEFAULT.
    pub identity: Option<bool>,
    pub dropped: bool,
}

impl ColumnRecord {
    /// One that takes any value of its type.
    pub fn plain(name: String, ty: SqlType, modifier: TypeMod) -> ColumnRecord {
        ColumnRecord {
            name,
            ty,
            modifier,
            not_null: false,
            default: None,
            missing: None,
            identity: None,
            dropped: false,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct KeyRecord {
    pub name: String,
    pub columns: Vec<usize>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct IndexRecord {
    pub id: IndexId,
    pub name: String,
    pub space: SpaceId,
    pub columns: Vec<usize>,
    pub unique: bool,
    pub constraint: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct CheckRecord {
    pub name: String,
    /// SQL text.
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SequenceRecord {
    pub id: SequenceId,
    pub schema: String,
    pub name: String,
    pub ty: SqlType,
    pub start: i64,
    pub increment: i64,
    pub min: i64,
    pub max: i64,
    pub cycle: bool,
    pub owned_by: Option<(TableId, usize)>,
    /// None: its own number. Records of version 1 end before it, of version 2 behind it.
    pub counter: Option<SequenceId>,
    /// What CACHE said.
    pub cache: i64,
}

/// What CACHE says where nobody says it.
const CACHE: i64 = 1;

/// A procedure or function: the statements that created and altered it say all.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RoutineRecord {
    pub id: RoutineId,
    pub schema: String,
    pub name: String,
    /// CREATE PROCEDURE or CREATE FUNCTION, as written.
    pub text: String,
    /// What ALTER FUNCTION has said since, in order. Records of version 1 end before it.
    pub altered: Vec<String>,
}

/// A foreign key. Columns by their numbers, which stay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ForeignKeyRecord {
    pub id: ConstraintId,
    pub name: String,
    pub child: TableId,
    pub columns: Vec<usize>,
    pub parent: TableId,
    /// In the order of `columns`.
    pub parent_columns: Vec<usize>,
    /// The parent's unique index; `None`: its primary key.
    pub index: Option<IndexId>,
    /// MATCH FULL.
    pub full: bool,
    /// As PostgreSQL's catalogue has it: `a`, `r`, `c`, `n`, `d`.
    pub on_delete: char,
    pub on_update: char,
    /// Columns that ON DELETE SET sets; empty: all.
    pub set: Vec<usize>,
    pub deferrable: bool,
    pub deferred: bool,
    /// The rows that were there before have been looked at.
    pub validated: bool,
    /// The last field: records of version 1 end before it.
    pub off: KeyOff,
}

/// Where DISABLE TRIGGER ALL has switched a foreign key off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct KeyOff {
    /// What the child's rows refer to is not looked at.
    pub child: bool,
    /// Nothing follows from changes of the parent's rows.
    pub parent: bool,
}

/// What a table is besides that is a materialized view.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct MatviewRecord {
    /// Its query; the number is the table's.
    pub view: ViewRecord,
    /// It has been filled since it was made or emptied.
    pub populated: bool,
}

/// A trigger.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct TriggerRecord {
    pub id: u32,
    pub table: TableId,
    pub name: String,
    pub function: RoutineId,
    /// Before the change, not after it.
    pub before: bool,
    /// For each row, not once for a statement.
    pub row: bool,
    pub insert: bool,
    pub update: bool,
    pub delete: bool,
    /// UPDATE OF: the numbers of the columns; empty: of any.
    pub columns: Vec<usize>,
    /// WHEN, as text.
    pub condition: Option<String>,
    /// TG_ARGV.
    pub arguments: Vec<String>,
    /// CREATE CONSTRAINT TRIGGER.
    pub constraint: bool,
    /// As PostgreSQL's catalogue has it: `O`, `D`, `R`, `A`.
    pub enabled: char,
    /// The last field: records of version 1 end before it.
    pub more: TriggerMore,
}

/// What a trigger's record says since version 2.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct TriggerMore {
    /// INSTEAD OF: of a view. It is neither `before` nor after.
    pub instead: bool,
    pub truncate: bool,
    /// REFERENCING: what the trigger's function calls the rows as they were, and as they are.
    pub old_rows: Option<String>,
    pub new_rows: Option<String>,
    /// DEFERRABLE; whether INITIALLY DEFERRED.
    pub late: Option<bool>,
    /// FROM: the other table of a constraint.
    pub from: Option<TableId>,
}

impl TriggerRecord {
    /// Whether it fires at all.
    pub fn is_enabled(&self) -> bool {
        self.enabled != 'D'
    }

    /// TG_WHEN.
    pub fn timing(&self) -> &'static str {
        match (self.more.instead, self.before) {
            (true, _) => "INSTEAD OF",
            (false, true) => "BEFORE",
            (false, false) => "AFTER",
        }
    }

    /// Whether it fires in a replica's session, or in any other.
    pub fn fires(&self, in_replica: bool) -> bool {
        match self.enabled {
            'A' => true,
            'R' => in_replica,
            'O' => !in_replica,
            _ => false,
        }
    }
}

/// A view. What it uses is what keeps others from going; see `ddl::view`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ViewRecord {
    /// From the same counter as tables'.
    pub id: TableId,
    pub schema: String,
    pub name: String,
    /// The search path it was made with: bare names in it mean what they meant then.
    pub path: String,
    /// Its query as SQL text, `*` written out.
    pub text: String,
    pub columns: Vec<ViewColumnRecord>,
    /// Tables and views it names, with the places of their columns that it names.
    pub uses: Vec<(TableId, Vec<usize>)>,
    /// Written behind the others, and not for a materialized view.
    #[serde(skip)]
    pub check: CheckOption,
    /// Written behind that. Records of version 2 end before it.
    #[serde(skip)]
    pub options: ViewOptions,
    /// What is inserted through it where nothing is given, with the columns' places: SQL text as a table's column has it. Written
    /// behind the options.
    #[serde(skip)]
    pub defaults: Vec<(usize, String)>,
}

impl ViewRecord {
    /// What is inserted into one of its columns where nothing is given.
    pub fn default(&self, place: usize) -> Option<&str> {
        let mut defaults = self.defaults.iter();
        let found = defaults.find(|(other, _)| *other == place);
        found.map(|(_, text)| &**text)
    }

    /// A column of it as a table would have it.
    pub fn as_column(&self, place: usize) -> ColumnRecord {
        let column = &self.columns[place];
        let plain = ColumnRecord::plain(column.name.clone(), column.ty, column.modifier);
        ColumnRecord {
            default: self.default(place).map(str::to_string),
            ..plain
        }
    }
}

/// What else WITH says of a view, as it was written.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ViewOptions {
    /// Names and values; those that are off, too.
    pub said: Vec<(String, String)>,
}

impl ViewOptions {
    fn is_on(&self, name: &str) -> bool {
        let found = self.said.iter().find(|(known, _)| known == name);
        found.is_some_and(|(_, value)| truth(value) == Some(true))
    }

    /// Whoever uses the view needs privileges for what is below, and his policies count there.
    pub fn is_invokers(&self) -> bool {
        self.is_on("security_invoker")
    }

    /// What the view selects by is asked before conditions that could tell what they were asked about.
    pub fn is_barrier(&self) -> bool {
        self.is_on("security_barrier")
    }
}

/// A boolean as options have it.
pub(crate) fn truth(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "on" | "yes" | "1" => Some(true),
        "false" | "off" | "no" | "0" => Some(false),
        _ => None,
    }
}

/// WITH CHECK OPTION.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum CheckOption {
    #[default]
    None,
    Local,
    Cascaded,
}

impl CheckOption {
    /// What it is called among the options of a view.
    pub fn word(self) -> Option<&'static str> {
        match self {
            CheckOption::None => None,
            CheckOption::Local => Some("local"),
            CheckOption::Cascaded => Some("cascaded"),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ViewColumnRecord {
    pub name: String,
    pub ty: SqlType,
    pub modifier: TypeMod,
}

/// A type or domain that a user made. The number behind its own is that of its array type, the one behind that
/// a composite type's in `pg_class`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct TypeRecord {
    pub id: u32,
    pub schema: String,
    pub name: String,
    pub kind: TypeKind,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum TypeKind {
    /// In the order of the labels.
    Enum(Vec<LabelRecord>),
    Domain(DomainRecord),
    Composite(Vec<ViewColumnRecord>),
    /// A type of an extension.
    Base(SqlType),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct LabelRecord {
    /// Its number in `pg_enum`.
    pub id: u32,
    /// What rows keep; see [`quintet_base::value::EnumValue`].
    pub place: u32,
    /// The same as PostgreSQL shows it.
    pub sort: f32,
    pub label: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct DomainRecord {
    pub base: SqlType,
    pub modifier: TypeMod,
    pub not_null: bool,
    /// SQL text.
    pub default: Option<String>,
    /// Over VALUE.
    pub checks: Vec<DomainCheckRecord>,
    /// The domain that it is over: what that asks of values holds, too. Written behind the record; the base type and its modifier are
    /// those of the innermost.
    #[serde(skip)]
    pub over: Option<u32>,
}

impl DomainRecord {
    /// A column that is what the domain is, for what is the same of both.
    pub fn as_column(&self, name: &str) -> ColumnRecord {
        ColumnRecord::plain(name.to_string(), self.base, self.modifier)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct DomainCheckRecord {
    /// Its number in `pg_constraint`.
    pub id: u32,
    pub name: String,
    /// SQL text.
    pub text: String,
}

/// Comments on an object and its columns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct CommentsRecord {
    pub entries: Vec<CommentRecord>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct CommentRecord {
    /// Number of the relation of `pg_catalog` that lists the object.
    pub class: u32,
    /// From 1; 0: the object itself.
    pub column: i32,
    pub text: String,
}

/// A schema that a user made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SchemaRecord {
    pub name: String,
}

/// An extension that was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ExtensionRecord {
    pub name: String,
    /// Where PostgreSQL would have its functions.
    pub schema: String,
}

/// A role.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RoleRecord {
    pub id: RoleId,
    pub name: String,
    pub superuser: bool,
    pub inherit: bool,
    pub create_role: bool,
    pub create_db: bool,
    pub login: bool,
    /// Below 0: any number.
    pub connection_limit: i32,
    /// SCRAM-SHA-256, as text.
    pub verifier: Option<String>,
    /// Microseconds since 2000.
    pub valid_until: Option<i64>,
    /// The roles that it is a member of.
    pub groups: Vec<GroupRecord>,
    /// BYPASSRLS. Records of version 1 end before it.
    pub bypass: bool,
}

/// ALTER ROLE and DATABASE … SET.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SettingsRecord {
    pub in_database: bool,
    pub role: RoleId,
    /// Names and values.
    pub settings: Vec<(String, String)>,
}

impl SettingsRecord {
    pub fn whose(&self) -> Whose {
        Whose {
            in_database: self.in_database,
            role: self.role,
        }
    }
}

/// A membership.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct GroupRecord {
    pub role: RoleId,
    pub grantor: RoleId,
    pub admin: bool,
}

/// Who owns an object, and what was granted on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct AccessRecord {
    pub number: u32,
    pub owner: RoleId,
    /// `None`: the default privileges of the object's kind.
    pub acl: Option<Vec<GrantRecord>>,
}

/// A grant; privileges by their bits.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct GrantRecord {
    pub grantee: RoleId,
    pub grantor: RoleId,
    pub privileges: u16,
    pub options: u16,
}

/// What was granted on columns of a relation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ColumnAccessRecord {
    pub relation: u32,
    /// Columns by their numbers, from 1.
    pub columns: Vec<(u16, Vec<GrantRecord>)>,
}

/// ALTER DEFAULT PRIVILEGES.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct DefaultsRecord {
    pub number: u32,
    pub role: RoleId,
    /// 0: in all.
    pub schema: u32,
    /// The kind of object, by PostgreSQL's letter.
    pub kind: char,
    pub acl: Vec<GrantRecord>,
}

impl RoleRecord {
    /// A role that may do nothing.
    pub fn plain(id: RoleId, name: &str) -> RoleRecord {
        RoleRecord {
            id,
            name: name.to_string(),
            superuser: false,
            inherit: true,
            create_role: false,
            create_db: false,
            login: false,
            connection_limit: -1,
            verifier: None,
            valid_until: None,
            groups: Vec::new(),
            bypass: false,
        }
    }
}

fn damaged(what: &str) -> SqlError {
    SqlError::new(
        SqlState::DATA_CORRUPTED,
        format!("catalogue record is damaged: {what}"),
    )
}

/// The record as a change that writes it.
pub(crate) fn write<T: Serialize>(key: RecordKey, record: &T) -> SqlResult<CatalogChange> {
    write_as(VERSION, key, record)
}

/// A sequence's record as a change that writes it.
pub(crate) fn write_sequence(record: &SequenceRecord) -> SqlResult<CatalogChange> {
    write_as(SEQUENCE_VERSION, RecordKey::Sequence(record.id), record)
}

/// A type's record as a change that writes it.
pub(crate) fn write_type(record: &TypeRecord) -> SqlResult<CatalogChange> {
    let key = RecordKey::Type(record.id);
    match record.domain().and_then(|domain| domain.over) {
        Some(over) => write_as(OVER_VERSION, key, &(record, over)),
        None => write(key, record),
    }
}

/// Reads a type's record of any version.
pub(crate) fn read_type(value: &[u8]) -> SqlResult<TypeRecord> {
    let [OVER_VERSION, body @ ..] = value else {
        return read(value);
    };
    let (mut record, over): (TypeRecord, u32) =
        postcard::from_bytes(body).map_err(|_| damaged("unreadable body"))?;
    if let TypeKind::Domain(domain) = &mut record.kind {
        domain.over = Some(over);
    }
    Ok(record)
}

/// A view's record as a change that writes it.
pub(crate) fn write_view(record: &ViewRecord) -> SqlResult<CatalogChange> {
    let key = RecordKey::View(record.id);
    let (check, options, defaults) = (record.check, &record.options, &record.defaults);
    match defaults.is_empty() {
        true => write_as(VIEW_VERSION, key, &(record, check, options)),
        false => write_as(DEFAULTS_VERSION, key, &(record, check, options, defaults)),
    }
}

/// A table's record as a change that writes it.
pub(crate) fn write_table(record: &TableRecord) -> SqlResult<CatalogChange> {
    let of_later = |elements: &Elements| matches!(elements, Elements::Trigrams | Elements::Whole);
    let of_trigrams = |index| record.inverted(index).iter().any(of_later);
    let options = &record.more.options;
    if !options.is_empty() {
        return write_as(
            OPTIONS_VERSION,
            RecordKey::Table(record.id),
            &(record, options),
        );
    }
    let version = match record.indexes.iter().any(of_trigrams) {
        true => TRIGRAMS_VERSION,
        false => TABLE_VERSION,
    };
    write_as(version, RecordKey::Table(record.id), record)
}

/// A routine's record as a change that writes it.
pub(crate) fn write_routine(record: &RoutineRecord) -> SqlResult<CatalogChange> {
    write_as(ROUTINE_VERSION, RecordKey::Routine(record.id), record)
}

/// A foreign key's record as a change that writes it.
pub(crate) fn write_foreign_key(record: &ForeignKeyRecord) -> SqlResult<CatalogChange> {
    write_as(KEY_VERSION, RecordKey::ForeignKey(record.id), record)
}

/// A trigger's record as a change that writes it.
pub(crate) fn write_trigger(record: &TriggerRecord) -> SqlResult<CatalogChange> {
    write_as(TRIGGER_VERSION, RecordKey::Trigger(record.id), record)
}

/// A role's record as a change that writes it.
pub(crate) fn write_role(record: &RoleRecord) -> SqlResult<CatalogChange> {
    write_as(ROLE_VERSION, RecordKey::Role(record.id), record)
}

fn write_as<T: Serialize>(version: u8, key: RecordKey, record: &T) -> SqlResult<CatalogChange> {
    let value = postcard::to_extend(record, vec![version]).map_err(SqlError::internal)?;
    Ok(CatalogChange {
        key: key.encode(),
        value: Some(value),
    })
}

/// Reads a sequence's record of any version.
pub(crate) fn read_sequence(value: &[u8]) -> SqlResult<SequenceRecord> {
    let unreadable = |_| damaged("unreadable body");
    match value {
        [SEQUENCE_VERSION, body @ ..] => postcard::from_bytes(body).map_err(unreadable),
        [COUNTER_VERSION, body @ ..] => {
            let added = postcard::to_allocvec(&CACHE).map_err(SqlError::internal)?;
            let whole = [body, &added].concat();
            postcard::from_bytes(&whole).map_err(unreadable)
        }
        [VERSION, body @ ..] => {
            let added = (None::<SequenceId>, CACHE);
            let added = postcard::to_allocvec(&added).map_err(SqlError::internal)?;
            let whole = [body, &added].concat();
            postcard::from_bytes(&whole).map_err(unreadable)
        }
        other => read(other),
    }
}

/// Reads a routine's record of any version.
pub(crate) fn read_routine(value: &[u8]) -> SqlResult<RoutineRecord> {
    let unreadable = |_| damaged("unreadable body");
    match value {
        [ROUTINE_VERSION, body @ ..] => postcard::from_bytes(body).map_err(unreadable),
        [VERSION, body @ ..] => {
            let added = postcard::to_allocvec(&Vec::<String>::new()).map_err(SqlError::internal)?;
            let whole = [body, &added].concat();
            postcard::from_bytes(&whole).map_err(unreadable)
        }
        other => read(other),
    }
}

/// Reads a foreign key's record of any version.
pub(crate) fn read_foreign_key(value: &[u8]) -> SqlResult<ForeignKeyRecord> {
    let unreadable = |_| damaged("unreadable body");
    match value {
        [KEY_VERSION, body @ ..] => postcard::from_bytes(body).map_err(unreadable),
        [VERSION, body @ ..] => {
            let added = postcard::to_allocvec(&KeyOff::default()).map_err(SqlError::internal)?;
            let whole = [body, &added].concat();
            postcard::from_bytes(&whole).map_err(unreadable)
        }
        other => read(other),
    }
}

/// Reads a trigger's record of any version.
pub(crate) fn read_trigger(value: &[u8]) -> SqlResult<TriggerRecord> {
    let unreadable = |_| damaged("unreadable body");
    match value {
        [TRIGGER_VERSION, body @ ..] => postcard::from_bytes(body).map_err(unreadable),
        [VERSION, body @ ..] => {
            let added =
                postcard::to_allocvec(&TriggerMore::default()).map_err(SqlError::internal)?;
            let whole = [body, &added].concat();
            postcard::from_bytes(&whole).map_err(unreadable)
        }
        other => read(other),
    }
}

/// Reads a role's record of any version.
pub(crate) fn read_role(value: &[u8]) -> SqlResult<RoleRecord> {
    let unreadable = |_| damaged("unreadable body");
    match value {
        [ROLE_VERSION, body @ ..] => postcard::from_bytes(body).map_err(unreadable),
        [VERSION, body @ ..] => {
            let added = postcard::to_allocvec(&false).map_err(SqlError::internal)?;
            let whole = [body, &added].concat();
            postcard::from_bytes(&whole).map_err(unreadable)
        }
        other => read(other),
    }
}

/// Reads a view's record of any version.
pub(crate) fn read_view(value: &[u8]) -> SqlResult<ViewRecord> {
    match value {
        [DEFAULTS_VERSION, body @ ..] => {
            type Parts = (ViewRecord, CheckOption, ViewOptions, Vec<(usize, String)>);
            let (record, check, options, defaults): Parts =
                postcard::from_bytes(body).map_err(|_| damaged("unreadable body"))?;
            Ok(ViewRecord {
                check,
                options,
                defaults,
                ..record
            })
        }
        [VIEW_VERSION, body @ ..] => {
            let (record, check, options): (ViewRecord, CheckOption, ViewOptions) =
                postcard::from_bytes(body).map_err(|_| damaged("unreadable body"))?;
            Ok(ViewRecord {
                check,
                options,
                ..record
            })
        }
        [CHECKED_VERSION, body @ ..] => {
            let (record, check): (ViewRecord, CheckOption) =
                postcard::from_bytes(body).map_err(|_| damaged("unreadable body"))?;
            Ok(ViewRecord { check, ..record })
        }
        other => read(other),
    }
}

/// Reads a table's record of any version.
pub(crate) fn read_table(value: &[u8]) -> SqlResult<TableRecord> {
    let unreadable = |_| damaged("unreadable body");
    match value {
        [OPTIONS_VERSION, body @ ..] => {
            let (mut record, options): (TableRecord, Vec<(String, String)>) =
                postcard::from_bytes(body).map_err(unreadable)?;
            record.more.options = options;
            Ok(record)
        }
        [TRIGRAMS_VERSION | TABLE_VERSION, body @ ..] => {
            postcard::from_bytes(body).map_err(unreadable)
        }
        [LATE_VERSION, body @ ..] => {
            let added = postcard::to_allocvec(&Exclusions::new()).map_err(SqlError::internal)?;
            let whole = [body, &added].concat();
            postcard::from_bytes(&whole).map_err(unreadable)
        }
        [SHOWN_VERSION, body @ ..] => {
            let added = postcard::to_allocvec(&SinceSix::default()).map_err(SqlError::internal)?;
            let whole = [body, &added].concat();
            postcard::from_bytes(&whole).map_err(unreadable)
        }
        [UNVALIDATED_VERSION, body @ ..] => {
            let added = postcard::to_allocvec(&LastAdded::default()).map_err(SqlError::internal)?;
            let whole = [body, &added].concat();
            postcard::from_bytes(&whole).map_err(unreadable)
        }
        [HIDDEN_VERSION, body @ ..] => {
            type Added = (Vec<String>, LastAdded);
            let added = postcard::to_allocvec(&Added::default()).map_err(SqlError::internal)?;
            let whole = [body, &added].concat();
            postcard::from_bytes(&whole).map_err(unreadable)
        }
        [MORE_VERSION, body @ ..] => {
            type Domains = Vec<(usize, u32)>;
            type Added = (Domains, HiddenRecord, OnCommit, Vec<String>, LastAdded);
            let added = postcard::to_allocvec(&Added::default()).map_err(SqlError::internal)?;
            let whole = [body, &added].concat();
            postcard::from_bytes(&whole).map_err(unreadable)
        }
        [VERSION, body @ ..] => {
            let mut whole = body.to_vec();
            let more = postcard::to_allocvec(&TableMore::default()).map_err(SqlError::internal)?;
            whole.extend(more);
            postcard::from_bytes(&whole).map_err(unreadable)
        }
        other => read(other),
    }
}

impl TableRecord {
    /// What a column is generated from, if it is.
    pub fn generated(&self, column: usize) -> Option<&str> {
        let found = self
            .more
            .generated
            .iter()
            .find(|(other, _)| *other == column);
        found.map(|(_, source)| source.as_str())
    }

    /// The domain that a column is of, if it is of one.
    pub fn domain(&self, column: usize) -> Option<u32> {
        let found = (self.more.domains.iter()).find(|(other, _)| *other == column);
        found.map(|(_, domain)| *domain)
    }

    /// True for a column that nobody can name, dropped or not.
    pub fn is_hidden(&self, column: usize) -> bool {
        self.more.hidden.columns.contains(&column)
    }

    /// The number of the column with this name.
    pub fn column(&self, name: &str) -> Option<usize> {
        let mut columns = self.columns.iter().enumerate();
        columns
            .find(|(number, c)| !c.dropped && !self.is_hidden(*number) && c.name == name)
            .map(|(number, _)| number)
    }

    /// The predicate of an index, if it is a partial one.
    pub fn predicate(&self, index: IndexId) -> Option<&str> {
        let mut all = self.more.hidden.predicates.iter();
        all.find(|(other, _)| *other == index)
            .map(|(_, text)| text.as_str())
    }

    /// The directions that an index's columns were asked for in; empty: all as usual.
    pub fn directions(&self, index: IndexId) -> &[(bool, bool)] {
        let found = self
            .more
            .directions
            .iter()
            .find(|(other, _)| *other == index);
        found.map_or(&[], |(_, directions)| directions)
    }

    /// The collation of a column: its own, or its type's; 0 if it has none.
    pub fn collation(&self, column: usize) -> u32 {
        let mut all = self.more.collations.iter();
        let own = all.find(|(other, _)| *other == column);
        own.map_or_else(|| collation_of(self.columns[column].ty), |(_, own)| *own)
    }

    /// Gives a column a collation; `None`: its type's.
    pub fn set_collation(&mut self, column: usize, collation: Option<u32>) {
        self.more.collations.retain(|(other, _)| *other != column);
        let ty = self.columns[column].ty;
        let own = collation.filter(|collation| *collation != collation_of(ty));
        self.more.collations.extend(own.map(|own| (column, own)));
    }

    /// Whether a unique constraint is DEFERRABLE, and if so, whether INITIALLY DEFERRED.
    pub fn late(&self, index: IndexId) -> Option<bool> {
        let found = self.more.late.iter().find(|(other, _)| *other == index);
        found.map(|(_, deferred)| *deferred)
    }

    /// The same of the primary key.
    pub fn late_primary(&self) -> Option<bool> {
        self.late(IndexId(primary_key_oid(self.id)))
    }

    /// What an index was asked for with beyond its key, if anything.
    pub fn shown(&self, index: IndexId) -> Option<&ShownRecord> {
        let found = self.more.shown.iter().find(|(other, _)| *other == index);
        found.map(|(_, shown)| shown)
    }

    /// What an EXCLUDE constraint's index does not let be.
    pub fn excluded(&self, index: IndexId) -> Option<&ExclusionRecord> {
        let mut all = self.more.excluded.iter();
        all.find(|(other, _)| *other == index)
            .map(|(_, excluded)| excluded)
    }

    /// The columns of an index that were asked for, as they were written.
    pub fn asked<'r>(&'r self, index: &'r IndexRecord) -> &'r [usize] {
        match self.excluded(index.id) {
            Some(excluded) => &excluded.written,
            None => &index.columns[usize::from(self.predicate(index.id).is_some())..],
        }
    }

    /// True if an index was asked for with NULLS NOT DISTINCT.
    pub fn nulls_are_equal(&self, index: IndexId) -> bool {
        self.more.nulls_equal.contains(&index)
    }

    /// True if an index has an entry for each element of a row.
    pub fn is_inverted(&self, index: IndexId) -> bool {
        let is_inverted = |shown: &ShownRecord| match shown.method.as_deref() {
            Some("gin") => true,
            // All of its columns have this class then.
            Some("gist") => shown
                .classes
                .iter()
                .any(|(_, name)| name == "gist_trgm_ops"),
            _ => false,
        };
        self.shown(index).is_some_and(is_inverted)
    }

    /// What of each column that an inverted index was asked for over has entries; empty for others.
    pub fn inverted(&self, index: &IndexRecord) -> Vec<Elements> {
        if !self.is_inverted(index.id) {
            return Vec::new();
        }
        let named = |place: usize| {
            let mut classes = self.shown(index.id)?.classes.iter();
            classes
                .find(|(at, _)| *at == place)
                .map(|(_, name)| &**name)
        };
        let asked = &index.columns[usize::from(self.predicate(index.id).is_some())..];
        let columns = asked.iter().enumerate();
        let elements = columns.map(|(place, &column)| match named(place) {
            Some("jsonb_path_ops") => Elements::PathsOfJson,
            Some("gin_trgm_ops" | "gist_trgm_ops") => Elements::Trigrams,
            _ if self.columns[column].ty == SqlType::Jsonb => Elements::OfJson,
            _ if self.columns[column].ty == SqlType::TsVector => Elements::Words,
            _ if self.columns[column].ty == SqlType::Hstore => Elements::OfPairs,
            _ if self.columns[column].ty.element().is_some() => Elements::OfArray,
            _ => Elements::Whole,
        });
        elements.collect()
    }

    /// True if an index has the column in its key or along with it.
    pub fn is_indexed_by(&self, index: &IndexRecord, column: usize) -> bool {
        let shown = self.shown(index.id);
        index.columns.contains(&column)
            || shown.is_some_and(|shown| shown.included.contains(&column))
    }
}

/// The change that removes a record.
pub(crate) fn remove(key: RecordKey) -> CatalogChange {
    CatalogChange {
        key: key.encode(),
        value: None,
    }
}

/// Reads a record.
pub(crate) fn read<T: DeserializeOwned>(value: &[u8]) -> SqlResult<T> {
    match value {
        [VERSION, body @ ..] => postcard::from_bytes(body).map_err(|_| damaged("unreadable body")),
        [version, ..] => Err(damaged(&format!("version {version}, not {VERSION}"))),
        [] => Err(damaged("empty record")),
    }
}

#[cfg(test)]
mod tests;

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
//! | | | rest: postcard of the structs here, in `table` and in `policy` |
//!
//! Tables, indexes, sequences, routines and spaces take their numbers from one counter, which never goes
//! back. The number after a table's own stays free for the index of its primary key, which has
//! no record of its own but must have an OID.

mod key;
mod policy;
mod table;
mod versions;

pub(crate) use key::RecordKey;
pub(crate) use policy::{PolicyRecord, PolicyText, SecurityRecord};
pub(crate) use table::{
    CheckRecord, ColumnRecord, ExclusionRecord, IndexRecord, KeyRecord, OnCommit, ShownRecord,
    TableMore, TableRecord,
};
pub(crate) use versions::{
    read, read_foreign_key, read_role, read_routine, read_sequence, read_table, read_trigger,
    read_type, read_view, remove, write, write_foreign_key, write_role, write_routine,
    write_sequence, write_table, write_trigger, write_type, write_view,
};

use crate::role::Whose;
use quintet_base::{
    ConstraintId, IndexId, RoleId, RoutineId, SequenceId, SqlType, TableId, TypeMod,
};
use serde::{Deserialize, Serialize};

/// The first number given out, as in PostgreSQL: smaller OIDs belong to the system.
pub(crate) const FIRST_ID: u32 = 16_384;

/// Numbers to give out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Counters {
    pub next_id: u32,
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

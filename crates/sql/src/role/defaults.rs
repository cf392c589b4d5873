//! ALTER DEFAULT PRIVILEGES: what objects to come are granted.
//!
//! Relies on: `acl`.  Promises: as in PostgreSQL, what is said of a role's objects everywhere stands for what its kind has
//! otherwise, and what is said of those in a schema is added to it; what is said comes to nothing when it says what is so anyway.
//! Does not: change objects that are there; types (0A000).

use super::acl::{self, Acl, Behavior, Item, Mode, default_acl};
use super::grant::{columns_named, grantees, invalid, privileges_named, schema_named};
use super::{Roles, denied, options, role_named};
use crate::catalog::Catalog;
use crate::command::Planned;
use crate::draft::Draft;
use crate::names::{inner, required, strings};
use crate::planner::Planner;
use crate::records::DefaultsRecord;
use pg_query::NodeEnum;
use pg_query::protobuf::{AlterDefaultPrivilegesStmt, DropBehavior, GrantStmt, Node, ObjectType};
use quintet_base::{RoleId, RoutineId, SequenceId, SqlError, SqlResult, SqlState, TableId};
use quintet_ir::{Object, ObjectKind};

/// Of any schema.
pub(crate) const EVERYWHERE: u32 = 0;

/// ALTER DEFAULT PRIVILEGES.
pub(crate) fn alter(
    planner: &Planner,
    statement: &AlterDefaultPrivilegesStmt,
) -> SqlResult<Planned> {
    let action = required(statement.action.as_ref())?;
    let kind = kind_of(action.objtype())?;
    let roles = roles_named(planner, &statement.options)?;
    let schemas = schemas_named(planner, &statement.options)?;
    if kind == ObjectKind::Schema && schemas != [EVERYWHERE] {
        return Err(SqlError::new(
            SqlState::INVALID_GRANT_OPERATION,
            "cannot use IN SCHEMA clause when using GRANT/REVOKE ON SCHEMAS",
        ));
    }
    let mut draft = Draft::new(planner);
    for &role in &roles {
        for &schema in &schemas {
            let whose = Whose { role, schema, kind };
            change(&mut draft, action, whose)?;
        }
    }
    draft.finish("ALTER DEFAULT PRIVILEGES")
}

fn kind_of(kind: ObjectType) -> SqlResult<ObjectKind> {
    Ok(match kind {
        ObjectType::ObjectTable => ObjectKind::Table,
        ObjectType::ObjectSequence => ObjectKind::Sequence,
        ObjectType::ObjectFunction | ObjectType::ObjectProcedure | ObjectType::ObjectRoutine => {
            ObjectKind::Routine
        }
        ObjectType::ObjectSchema => ObjectKind::Schema,
        _ => return Err(SqlError::unsupported("default privileges on types")),
    })
}

/// PostgreSQL's letter for a kind of object.
fn letter(kind: ObjectKind) -> char {
    match kind {
        ObjectKind::Table => 'r',
        ObjectKind::Sequence => 'S',
        ObjectKind::Routine => 'f',
        ObjectKind::Type => 'T',
        ObjectKind::Schema | ObjectKind::Database => 'n',
    }
}

fn word(kind: ObjectKind) -> &'static str {
    match kind {
        ObjectKind::Table => "relation",
        ObjectKind::Sequence => "sequence",
        ObjectKind::Routine => "function",
        ObjectKind::Type => "type",
        ObjectKind::Schema | ObjectKind::Database => "schema",
    }
}

/// A list among the options, by its name.
fn listed<'s>(all: &'s [Node], name: &str) -> Option<&'s [Node]> {
    all.iter().find_map(|node| match inner(node)? {
        NodeEnum::DefElem(option) if option.defname == name => {
            match option.arg.as_deref().and_then(inner)? {
                NodeEnum::List(list) => Some(list.items.as_slice()),
                _ => None,
            }
        }
        _ => None,
    })
}

/// Whose objects it is about: those whom the user may be.
fn roles_named(planner: &Planner, all: &[Node]) -> SqlResult<Vec<RoleId>> {
    let user = planner.context.user.role;
    let Some(named) = listed(all, "roles") else {
        return Ok(vec![user]);
    };
    let roles = options::specs(named).into_iter().map(|spec| {
        let role = role_named(planner, spec)?;
        let catalog = planner.catalog();
        match catalog.roles().has_privileges_of(user, role) {
            true => Ok(role),
            false => Err(denied("permission denied to change default privileges")),
        }
    });
    roles.collect()
}

fn schemas_named(planner: &Planner, all: &[Node]) -> SqlResult<Vec<u32>> {
    let Some(named) = listed(all, "schemas") else {
        return Ok(vec![EVERYWHERE]);
    };
    let schemas = strings(named).into_iter();
    let schemas = schemas.map(|name| Ok(schema_named(planner, name)?.number));
    schemas.collect()
}

/// What a list of default privileges is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Whose {
    role: RoleId,
    schema: u32,
    kind: ObjectKind,
}

impl Whose {
    fn is_about(self, record: &DefaultsRecord) -> bool {
        record.role == self.role && record.schema == self.schema && record.kind == letter(self.kind)
    }

    /// The list while nothing has been said.
    fn unsaid(self) -> Acl {
        match self.schema {
            EVERYWHERE => default_acl(self.kind, self.role),
            _ => Acl::new(),
        }
    }
}

fn change(draft: &mut Draft, action: &GrantStmt, whose: Whose) -> SqlResult<()> {
    let planner = draft.planner;
    let all = acl::all_of(whose.kind);
    if !columns_named(action)?.is_empty() {
        let message = "default privileges cannot be set for columns";
        return Err(SqlError::new(SqlState::INVALID_GRANT_OPERATION, message));
    }
    let named = privileges_named(action)?.unwrap_or(all);
    if !all.contains(named) {
        return Err(invalid(named & !all, word(whose.kind)));
    }
    let mut known = planner.catalog().roles().defaults.values();
    let known = known.find(|record| whose.is_about(record));
    let mut list = known.map_or_else(|| whose.unsaid(), DefaultsRecord::list);
    let behavior = match action.behavior() {
        DropBehavior::DropCascade => Behavior::Cascade,
        _ => Behavior::Restrict,
    };
    let none = quintet_ir::Privileges::NONE;
    let (is_grant, option) = (action.is_grant, action.grant_option);
    for grantee in grantees(planner, action)? {
        if is_grant && option && grantee == RoleId::PUBLIC {
            return Err(SqlError::new(
                SqlState::INVALID_GRANT_OPERATION,
                "grant options can only be granted to roles",
            ));
        }
        let item = Item {
            grantee,
            grantor: whose.role,
            privileges: if is_grant || !option { named } else { none },
            options: if !is_grant || option { named } else { none },
        };
        let mode = if is_grant { Mode::Add } else { Mode::Remove };
        list = acl::update(&list, item, mode, whose.role, behavior)?;
    }
    sort(&mut list);
    match (is_same(&list, &whose.unsaid()), known) {
        (true, None) => Ok(()),
        (true, Some(record)) => {
            draft.drop_defaults(record.number);
            Ok(())
        }
        (false, known) => {
            let number = known.map_or_else(|| draft.id(), |record| record.number);
            draft.put_defaults(&DefaultsRecord::new(
                number,
                (whose.role, whose.schema, letter(whose.kind)),
                &list,
            ))
        }
    }
}

/// As PostgreSQL keeps such lists.
fn sort(list: &mut Acl) {
    list.sort_by_key(|item| (item.grantee, item.grantor));
}

/// Whether two lists say the same.
fn is_same(one: &Acl, other: &Acl) -> bool {
    one.len() == other.len() && one.iter().all(|item| other.contains(item))
}

impl Roles {
    /// Whether anything was said of objects to come.
    pub(crate) fn has_defaults(&self) -> bool {
        !self.defaults.is_empty()
    }

    /// All that was said, by numbers.
    pub(crate) fn all_defaults(&self) -> impl Iterator<Item = &DefaultsRecord> {
        self.defaults.values()
    }

    /// Puts or removes what was said.
    pub(crate) fn put_defaults(&mut self, number: u32, record: Option<DefaultsRecord>) {
        match record {
            Some(record) => self.defaults.insert(number, record),
            None => self.defaults.remove(&number),
        };
    }

    /// What is granted on an object that a role makes; `None`: what its kind has anyway.
    pub(crate) fn defaults_for(
        &self,
        kind: ObjectKind,
        role: RoleId,
        schema: u32,
    ) -> SqlResult<Option<Acl>> {
        let said = |schema| {
            let whose = Whose { role, schema, kind };
            let mut records = self.defaults.values();
            records.find(|record| whose.is_about(record))
        };
        let everywhere = said(EVERYWHERE);
        let here = (schema != EVERYWHERE).then(|| said(schema)).flatten();
        if everywhere.is_none() && here.is_none() {
            return Ok(None);
        }
        let usual = default_acl(kind, role);
        let mut list = everywhere.map_or_else(|| usual.clone(), DefaultsRecord::list);
        for item in here.map(DefaultsRecord::list).unwrap_or_default() {
            list = acl::update(&list, item, Mode::Add, role, Behavior::Restrict)?;
        }
        sort(&mut list);
        Ok((!is_same(&list, &usual)).then_some(list))
    }
}

impl Catalog {
    /// The number of the schema that an object is in; of none: everywhere.
    pub(crate) fn schema_number_of(&self, object: Object) -> u32 {
        let Object { kind, number } = object;
        let name = match kind {
            ObjectKind::Table => {
                let id = TableId(number);
                let view = self.view(id).map(|view| view.schema.as_str());
                let part = self.divisions().part(id).map(|part| part.schema.as_str());
                let table = self.table_by_id(id).map(|table| table.schema.as_str());
                view.or(part).or(table)
            }
            ObjectKind::Sequence => {
                let sequence = self.sequence_by_id(SequenceId(number));
                sequence.map(|sequence| sequence.schema.as_str())
            }
            ObjectKind::Routine => {
                let routine = self.routine(RoutineId(number));
                routine.map(|routine| routine.record.schema.as_str())
            }
            ObjectKind::Type | ObjectKind::Schema | ObjectKind::Database => None,
        };
        let all = crate::system::schemas(self);
        let found = all.iter().find(|(_, known)| Some(known.as_str()) == name);
        found.map_or(EVERYWHERE, |(number, _)| *number)
    }
}

//! Privileges on columns.
//!
//! Relies on: `acl` for lists.  Promises: a column has a list of its own beside its relation's, empty at first; who has a privilege on the relation has
//! it on all columns; what is taken back on the relation is taken back on its columns, too; words and warnings as PostgreSQL's.  Does not:
//! say which columns a statement reads or writes (`planner`).

use super::access::{grants, items};
use super::acl::{self, Acl, Item, all_of};
use super::grant::{grantees, invalid, list_changed};
use super::{Roles, denied};
use crate::draft::Draft;
use crate::planner::Planner;
use crate::records::ColumnAccessRecord;
use pg_query::protobuf::GrantStmt;
use quintet_base::{RoleId, SqlError, SqlResult, SqlState, TableId};
use quintet_ir::{Object, ObjectKind, Part, Privileges};
use std::collections::BTreeMap;

/// Privileges that there are on columns.
pub(crate) const OF_COLUMNS: Privileges = Privileges(
    Privileges::INSERT.0 | Privileges::SELECT.0 | Privileges::UPDATE.0 | Privileges::REFERENCES.0,
);

/// The lists of a relation's columns, by their numbers from 1. None is empty.
pub(crate) type ColumnAcls = BTreeMap<u16, Acl>;

/// A column that has a name.
pub(crate) struct NamedColumn {
    /// From 1.
    pub number: u16,
    pub name: String,
}

impl ColumnAccessRecord {
    pub fn new(relation: u32, lists: &ColumnAcls) -> ColumnAccessRecord {
        let columns = lists.iter().filter(|(_, list)| !list.is_empty());
        ColumnAccessRecord {
            relation,
            columns: columns
                .map(|(number, list)| (*number, grants(list)))
                .collect(),
        }
    }

    pub fn lists(&self) -> ColumnAcls {
        let columns = self.columns.iter();
        columns
            .map(|(number, list)| (*number, items(list)))
            .collect()
    }
}

impl Roles {
    /// Puts or removes what was granted on a relation's columns.
    pub(crate) fn put_columns(&mut self, relation: u32, lists: Option<ColumnAcls>) {
        match lists {
            Some(lists) => self.columns.insert(relation, lists.into()),
            None => self.columns.remove(&relation),
        };
    }

    /// What was granted on a relation's columns.
    pub(crate) fn columns_of(&self, relation: u32) -> Option<&ColumnAcls> {
        self.columns.get(&relation).map(|lists| &**lists)
    }

    /// The same of all relations.
    pub(crate) fn all_columns(&self) -> impl Iterator<Item = (u32, &ColumnAcls)> {
        let all = self.columns.iter();
        all.map(|(relation, lists)| (*relation, &**lists))
    }

    /// Which of the wanted privileges a role has on a part of an object.
    pub(crate) fn privileges_on(
        &self,
        role: RoleId,
        object: Object,
        part: Part,
        wanted: Privileges,
    ) -> Privileges {
        let found = self.privileges(role, object, wanted);
        if found == wanted || part == Part::Whole || object.kind != ObjectKind::Table {
            return found;
        }
        let of_columns = self.columns_of(object.number).into_iter().flatten();
        let lists = of_columns.filter(|(number, _)| match part {
            Part::Column(one) => **number == one,
            Part::Any | Part::Whole => true,
        });
        lists.fold(found, |all, (_, list)| {
            all | acl::privileges_of(self, list, role, wanted & OF_COLUMNS)
        })
    }

    /// Which of the wanted privileges a role may grant on a part of an object.
    pub(crate) fn options_on(
        &self,
        role: RoleId,
        object: Object,
        part: Part,
        wanted: Privileges,
    ) -> Privileges {
        let found = self.grant_options(role, object, wanted);
        if found == wanted || part == Part::Whole {
            return found;
        }
        let owner = self.access_of(object).owner;
        let of_columns = self.columns_of(object.number).into_iter().flatten();
        let lists = of_columns.filter(|(number, _)| match part {
            Part::Column(one) => **number == one,
            Part::Any | Part::Whole => true,
        });
        lists.fold(found, |all, (_, list)| {
            all | acl::options_of(self, list, role, owner, wanted & OF_COLUMNS)
        })
    }
}

impl crate::catalog::Catalog {
    /// The columns of a table, a partition or a view.
    pub(crate) fn named_columns(&self, relation: u32) -> Vec<NamedColumn> {
        let named = |(number, name): (usize, &String)| {
            Some(NamedColumn {
                number: u16::try_from(number + 1).ok()?,
                name: name.clone(),
            })
        };
        if let Some(view) = self.view(TableId(relation)) {
            let columns = view.columns.iter().map(|column| &column.name);
            return columns.enumerate().filter_map(named).collect();
        }
        let Some(table) = self.rows_of(TableId(relation)) else {
            return Vec::new();
        };
        let columns = table.visible_columns();
        let columns = columns.map(|(number, column)| (number, &column.name));
        columns.filter_map(named).collect()
    }
}

/// What a GRANT or REVOKE says of columns: privileges, `None` for all, and names.
pub(super) type Wanted = (Option<Privileges>, Vec<String>);

/// Does to a relation's columns what a statement says. `of_relation`: what it takes back on the whole relation.
pub(super) fn change(
    draft: &mut Draft,
    statement: &GrantStmt,
    object: Object,
    wanted: &[Wanted],
    of_relation: Privileges,
) -> SqlResult<()> {
    let planner = draft.planner;
    let catalog = planner.catalog();
    let columns = catalog.named_columns(object.number);
    let mut each: BTreeMap<u16, Privileges> = BTreeMap::new();
    let known = catalog.roles().columns_of(object.number);
    let taken = of_relation & OF_COLUMNS;
    if !statement.is_grant && !taken.is_empty() {
        // Of a column without a list there is nothing to be taken.
        for number in known.into_iter().flatten().map(|(number, _)| *number) {
            *each.entry(number).or_default() |= taken;
        }
    }
    for (privileges, names) in wanted {
        let privileges = privileges.unwrap_or(OF_COLUMNS);
        if !OF_COLUMNS.contains(privileges) {
            return Err(invalid(privileges & !OF_COLUMNS, "column"));
        }
        for name in names {
            let found = columns.iter().find(|column| column.name == *name);
            let Some(found) = found else {
                let (_, relation) = catalog.describe(object).unwrap_or_default();
                let message =
                    format!("column \"{name}\" of relation \"{relation}\" does not exist");
                return Err(SqlError::new(SqlState::UNDEFINED_COLUMN, message));
            };
            *each.entry(found.number).or_default() |= privileges;
        }
    }
    if each.is_empty() {
        return Ok(());
    }
    let mut lists = known.cloned().unwrap_or_default();
    let grantees = grantees(planner, statement)?;
    for (number, privileges) in each {
        let list = lists.remove(&number).unwrap_or_default();
        let name = columns.iter().find(|column| column.number == number);
        let name = name.map_or("", |column| &column.name);
        let next = changed(
            planner,
            statement,
            object,
            (name, &list),
            privileges,
            &grantees,
        )?;
        if !next.is_empty() {
            lists.insert(number, next);
        }
    }
    draft.put_columns(object.number, &lists)
}

/// A column's list after the statement.
fn changed(
    planner: &Planner,
    statement: &GrantStmt,
    object: Object,
    (name, list): (&str, &[Item]),
    privileges: Privileges,
    grantees: &[RoleId],
) -> SqlResult<Acl> {
    let catalog = planner.catalog();
    let roles = catalog.roles();
    let access = roles.access_of(object);
    let owner = access.owner;
    let merged = [&*access.list(object.kind), list].concat();
    let role = planner.context.user.role;
    let (grantor, may) = acl::best_grantor(roles, &merged, role, owner, privileges);
    let (_, relation) = catalog.describe(object).unwrap_or_default();
    if may.is_empty() {
        let all = all_of(object.kind);
        let has = acl::privileges_of(roles, &merged, grantor, all)
            | acl::options_of(roles, &merged, grantor, owner, all);
        if has.is_empty() {
            let message =
                format!("permission denied for column \"{name}\" of relation \"{relation}\"");
            return Err(denied(message));
        }
    }
    let granted = privileges & may;
    let (state, verb) = match statement.is_grant {
        true => (SqlState::WARNING_PRIVILEGE_NOT_GRANTED, "were granted"),
        false => (SqlState::WARNING_PRIVILEGE_NOT_REVOKED, "could be revoked"),
    };
    let warn = |how: &str| {
        let message = format!("{how} {verb} for column \"{name}\" of relation \"{relation}\"");
        planner.warning(state, message);
    };
    if granted.is_empty() {
        warn("no privileges");
    } else if granted != privileges && privileges != OF_COLUMNS {
        warn("not all privileges");
    }
    list_changed(list, statement, granted, (grantees, grantor), owner)
}

/// The lists of a relation whose owner is another now.
pub(crate) fn columns_given(
    draft: &mut Draft,
    relation: u32,
    old: RoleId,
    new: RoleId,
) -> SqlResult<()> {
    let Some(lists) = draft.planner.catalog().roles().columns_of(relation) else {
        return Ok(());
    };
    let lists = lists.iter();
    let lists: ColumnAcls = lists
        .map(|(number, list)| (*number, acl::with_new_owner(list, old, new)))
        .collect();
    draft.put_columns(relation, &lists)
}

/// Takes back what roles were granted on a relation's columns.
pub(crate) fn columns_without(draft: &mut Draft, object: Object, of: &[RoleId]) -> SqlResult<()> {
    let roles = draft.planner.catalog().roles();
    let Some(known) = roles.columns_of(object.number) else {
        return Ok(());
    };
    let owner = roles.access_of(object).owner;
    let mut lists = ColumnAcls::new();
    for (number, list) in known {
        let next = acl::without_role(list, of, owner)?;
        if !next.is_empty() {
            lists.insert(*number, next);
        }
    }
    match lists == *known {
        true => Ok(()),
        false => draft.put_columns(object.number, &lists),
    }
}

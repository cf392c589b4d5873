//! CREATE, ALTER and DROP POLICY; ALTER TABLE … ROW LEVEL SECURITY.
//!
//! Relies on: `row_security` for what policies do.  Promises: a policy's conditions can be planned when it is made, and what they
//! use cannot go before it, unless with CASCADE; whoever has begun to write to the table by a plan without it is
//! fenced off. A partition may have policies of its own.  Does not: renaming what a policy's query names (0A000).

use super::hidden;
use super::rename::has_word;
use crate::catalog::{Catalog, Relation};
use crate::coerce;
use crate::command::Planned;
use crate::draft::Draft;
use crate::expr::Binder;
use crate::from::{find_named, row_target};
use crate::names::{self, inner, required};
use crate::parse::{expression_text, parse_expression};
use crate::planner::Planner;
use crate::records::{PolicyRecord, PolicyText, SecurityRecord};
use crate::role::{Named, denied, named, specs};
use crate::routine::any_node;
use crate::row_security::unasked;
use crate::scope::Scope;
use pg_query::NodeRef;
use pg_query::protobuf::{
    AlterPolicyStmt, AlterTableCmd, AlterTableType, CreatePolicyStmt, DropStmt, Node, RangeVar,
    RenameStmt,
};
use quintet_base::{RoleId, RoutineId, SqlError, SqlResult, SqlState, TableId};
use quintet_ir::ObjectKind;
use quintet_ir::schema::{TableDef, TableRef};

/// A policy that needs something, as its table and its name.
pub(super) type Needing = (TableId, String);

fn syntax(message: &str) -> SqlError {
    SqlError::new(SqlState::SYNTAX_ERROR, message)
}

/// The table that a policy is about.
fn table_of(planner: &Planner, relation: &RangeVar) -> SqlResult<TableRef> {
    let table = match find_named(planner, relation)? {
        Some(Relation::View(id)) => {
            planner.must_own_table(id)?;
            return Err(no_table(&relation.relname));
        }
        _ => row_target(planner, relation).map_err(SqlError::nowhere)?,
    };
    planner.must_own_table(table.relation())?;
    match planner.catalog().matview(table.id) {
        Some(_) => Err(no_table(&table.name)),
        None => Ok(table),
    }
}

fn no_table(name: &str) -> SqlError {
    let message = format!("\"{name}\" is not a table");
    SqlError::new(SqlState::WRONG_OBJECT_TYPE, message)
}

fn there_already(name: &str, table: &str) -> SqlError {
    let message = format!("policy \"{name}\" for table \"{table}\" already exists");
    SqlError::new(SqlState::DUPLICATE_OBJECT, message)
}

fn not_there(name: &str, table: &str) -> SqlError {
    let message = format!("policy \"{name}\" for table \"{table}\" does not exist");
    SqlError::new(SqlState::UNDEFINED_OBJECT, message)
}

/// Whom a policy is for.
fn roles_of(planner: &Planner, nodes: &[Node]) -> SqlResult<Vec<RoleId>> {
    let mut roles = Vec::new();
    for spec in specs(nodes) {
        let role = match named(planner, spec)? {
            Named::Role(role) => role,
            Named::Public => RoleId::PUBLIC,
        };
        if !roles.contains(&role) {
            roles.push(role);
        }
    }
    if roles.len() > 1 && roles.contains(&RoleId::PUBLIC) {
        let ignored = SqlError::new(
            SqlState::INVALID_PARAMETER_VALUE,
            "ignoring specified roles other than PUBLIC",
        );
        planner.warn(ignored.hint("All roles are members of the PUBLIC role."));
        return Ok(vec![RoleId::PUBLIC]);
    }
    match roles.is_empty() {
        true => Ok(vec![RoleId::PUBLIC]),
        false => Ok(roles),
    }
}

/// A condition as it is kept, and what it uses.
fn text_of(
    planner: &Planner,
    table: &TableRef,
    node: Option<&Node>,
) -> SqlResult<Option<PolicyText>> {
    let Some(node) = node else {
        return Ok(None);
    };
    // A planner of its own: what it meets is what the condition uses.
    let context = unasked(planner.context);
    let inside = Planner::new(&context, planner.source(), &[]);
    inside.calls.allow();
    let scope = Scope::of_table(table);
    let bound = Binder::new(&inside, &scope, "policy expressions").bind(node);
    let bound = bound.and_then(|bound| coerce::boolean(&inside, bound, "POLICY"));
    // PostgreSQL says nothing of where it is.
    bound.map_err(SqlError::nowhere)?;
    if inside.has_params() {
        let message = "there is no parameter $1";
        return Err(SqlError::new(SqlState::UNDEFINED_PARAMETER, message));
    }
    let needs = inside.take_needs().into_iter();
    let routines = needs.filter(|need| need.object.kind == ObjectKind::Routine);
    let mut routines: Vec<RoutineId> = routines.map(|need| RoutineId(need.object.number)).collect();
    routines.sort_unstable();
    routines.dedup();
    Ok(Some(PolicyText {
        path: planner.context.schema.to_string(),
        text: expression_text(node)?,
        uses: inside.uses(),
        routines,
    }))
}

pub(super) fn create(planner: &Planner, statement: &CreatePolicyStmt) -> SqlResult<Planned> {
    let command = match statement.cmd_name.as_str() {
        "select" => 'r',
        "insert" => 'a',
        "update" => 'w',
        "delete" => 'd',
        _ => '*',
    };
    if matches!(command, 'r' | 'd') && statement.with_check.is_some() {
        return Err(syntax("WITH CHECK cannot be applied to SELECT or DELETE"));
    }
    if command == 'a' && statement.qual.is_some() {
        return Err(syntax("only WITH CHECK expression allowed for INSERT"));
    }
    let roles = roles_of(planner, &statement.roles)?;
    let table = table_of(planner, required(statement.table.as_ref())?)?;
    let using = text_of(planner, &table, statement.qual.as_deref())?;
    let check = text_of(planner, &table, statement.with_check.as_deref())?;
    let mut draft = Draft::new(planner);
    draft.make_in(&table.schema);
    let mut security = draft.security(table.relation())?;
    let name = &statement.policy_name;
    if security.policy(name).is_some() {
        return Err(there_already(name, &table.name));
    }
    security.policies.push(PolicyRecord {
        id: draft.id(),
        name: name.clone(),
        command,
        permissive: statement.permissive,
        roles,
        using,
        check,
    });
    put(&mut draft, security)?;
    draft.finish("CREATE POLICY")
}

fn put(draft: &mut Draft, mut security: SecurityRecord) -> SqlResult<()> {
    let policies = &mut security.policies;
    policies.sort_by(|one, other| one.name.cmp(&other.name));
    draft.put_security(&security)
}

pub(super) fn alter(planner: &Planner, statement: &AlterPolicyStmt) -> SqlResult<Planned> {
    let roles = match statement.roles.is_empty() {
        true => None,
        false => Some(roles_of(planner, &statement.roles)?),
    };
    let table = table_of(planner, required(statement.table.as_ref())?)?;
    let using = text_of(planner, &table, statement.qual.as_deref())?;
    let check = text_of(planner, &table, statement.with_check.as_deref())?;
    let mut draft = Draft::new(planner);
    let mut security = draft.security(table.relation())?;
    let name = &statement.policy_name;
    let mut policies = security.policies.iter_mut();
    let Some(policy) = policies.find(|policy| policy.name == *name) else {
        return Err(not_there(name, &table.name));
    };
    if matches!(policy.command, 'r' | 'd') && check.is_some() {
        let message = "only USING expression allowed for SELECT, DELETE";
        return Err(syntax(message));
    }
    if policy.command == 'a' && using.is_some() {
        return Err(syntax("only WITH CHECK expression allowed for INSERT"));
    }
    if let Some(roles) = roles {
        policy.roles = roles;
    }
    policy.using = using.or(policy.using.take());
    policy.check = check.or(policy.check.take());
    draft.put_security(&security)?;
    draft.finish("ALTER POLICY")
}

/// ALTER POLICY … RENAME TO.
pub(super) fn rename(planner: &Planner, statement: &RenameStmt) -> SqlResult<Planned> {
    let table = table_of(planner, required(statement.relation.as_ref())?)?;
    let (old, new) = (&statement.subname, &statement.newname);
    let mut draft = Draft::new(planner);
    let mut security = draft.security(table.relation())?;
    if security.policy(new).is_some() {
        return Err(there_already(new, &table.name));
    }
    let mut policies = security.policies.iter_mut();
    let Some(policy) = policies.find(|policy| policy.name == *old) else {
        return Err(not_there(old, &table.name));
    };
    policy.name.clone_from(new);
    put(&mut draft, security)?;
    draft.finish("ALTER POLICY")
}

pub(super) fn drop(planner: &Planner, statement: &DropStmt) -> SqlResult<Planned> {
    let mut draft = Draft::new(planner);
    for object in &statement.objects {
        let parts = names::strings(names::list(object).unwrap_or_default());
        let (schema, table, name) = match parts.as_slice() {
            [table, name] => (None, *table, *name),
            [schema, table, name] => (Some(*schema), *table, *name),
            _ => return Err(SqlError::unsupported("a reference to another database")),
        };
        let found = match planner.find_relation(schema, table) {
            Some(Relation::Table(id) | Relation::Partition(id)) => planner.catalog().rows_of(id),
            Some(_) => return Err(not_there(name, table)),
            None => None,
        };
        let Some(found) = found else {
            let shown = parts[..parts.len() - 1].join(".");
            let message = format!("relation \"{shown}\" does not exist");
            if statement.missing_ok {
                planner.notice(format!("{message}, skipping"));
                continue;
            }
            return Err(SqlError::new(SqlState::UNDEFINED_TABLE, message));
        };
        let found = found.relation();
        let security = draft.security(found)?;
        match security.policy(name) {
            Some(_) => {
                let owns = planner.must_own_table(found);
                let refused = |_| denied(format!("must be owner of relation {table}"));
                owns.map_err(refused)?;
                draft.drop_policy(found, name)?;
            }
            None if statement.missing_ok => planner.notice(format!(
                "policy \"{name}\" for relation \"{table}\" does not exist, skipping"
            )),
            None => return Err(not_there(name, table)),
        }
    }
    draft.finish("DROP POLICY")
}

/// ALTER TABLE … ROW LEVEL SECURITY; `false` if it is another command.
pub(super) fn switch(draft: &mut Draft, table: &TableDef, kind: AlterTableType) -> SqlResult<bool> {
    use AlterTableType::*;
    let mut security = draft.security(table.relation())?;
    match kind {
        AtEnableRowSecurity => security.enabled = true,
        AtDisableRowSecurity => security.enabled = false,
        AtForceRowSecurity => security.forced = true,
        AtNoForceRowSecurity => security.forced = false,
        _ => return Ok(false),
    }
    draft.put_security(&security)?;
    Ok(true)
}

/// The same of a partition, if the statement is about nothing else.
pub(super) fn switch_part(
    planner: &Planner,
    relation: &RangeVar,
    commands: &[&AlterTableCmd],
) -> SqlResult<Option<Planned>> {
    use AlterTableType::*;
    let is_switch = |command: &&AlterTableCmd| {
        matches!(
            command.subtype(),
            AtEnableRowSecurity | AtDisableRowSecurity | AtForceRowSecurity | AtNoForceRowSecurity
        )
    };
    if !commands.iter().all(is_switch) {
        return Ok(None);
    }
    let Some(Relation::Partition(id)) = find_named(planner, relation)? else {
        return Ok(None);
    };
    let table = required(planner.catalog().rows_of(id))?;
    planner.must_own_table(id)?;
    let mut draft = Draft::new(planner);
    for command in commands {
        switch(&mut draft, &table, command.subtype())?;
    }
    draft.finish("ALTER TABLE").map(Some)
}

/// A policy, as messages name it.
pub(super) fn described(catalog: &Catalog, (table, name): &Needing) -> String {
    let table = catalog.rows_of(*table);
    let table = table.as_ref().map_or("", |table| &table.name);
    format!("policy {name} on table {table}")
}

/// Whether a policy's condition names a relation; `column`: this one of its columns, which partitions share with their table.
fn uses(
    catalog: &Catalog,
    policy: &PolicyRecord,
    relation: TableId,
    column: Option<usize>,
) -> bool {
    let parts = || catalog.divisions().below(relation);
    let is_part = || parts().iter().any(|part| policy.uses(part.id, column));
    policy.uses(relation, column) || (column.is_some() && is_part())
}

/// The policies that name a relation, or this one of its columns. Those of a table that goes go with it.
pub(super) fn naming(draft: &Draft, relation: TableId, column: Option<usize>) -> Vec<Needing> {
    let mut found: Vec<(u32, Needing)> = Vec::new();
    for security in draft.planner.catalog().securities() {
        let Ok(now) = draft.security(security.table) else {
            continue;
        };
        // Of its own table a policy names columns; the table is its own anyway.
        if column.is_none() && security.table == relation {
            continue;
        }
        let naming = now.policies.iter();
        let naming =
            naming.filter(|policy| uses(draft.planner.catalog(), policy, relation, column));
        found.extend(naming.map(|policy| (policy.id, (security.table, policy.name.clone()))));
    }
    // Oldest first.
    found.sort_by_key(|(id, _)| *id);
    found.into_iter().map(|(_, policy)| policy).collect()
}

/// Refuses to change the type of a column that a policy names.
///
/// # Errors
/// `0A000`.
pub(super) fn refuse_change_of_type(
    draft: &Draft,
    table: TableId,
    column: usize,
    name: &str,
) -> SqlResult<()> {
    match naming(draft, table, Some(column)).first() {
        None => Ok(()),
        Some(policy) => Err(SqlError::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            "cannot alter type of a column used in a policy definition",
        )
        .detail(format!(
            "{} depends on column \"{name}\"",
            described(draft.planner.catalog(), policy)
        ))),
    }
}

/// Whether a relation has a column of this name.
fn has_column(catalog: &Catalog, relation: TableId, name: &str) -> bool {
    let table = catalog.rows_of(relation);
    let view = catalog.view(relation);
    let views = view.iter().flat_map(|view| &view.columns);
    table.is_some_and(|table| table.column(name).is_some())
        || views.into_iter().any(|column| column.name == name)
}

/// Whether a condition asks a query.
fn has_query(text: &str) -> bool {
    let node = parse_expression(text).ok();
    let is_query = |node: &NodeRef| matches!(node, NodeRef::SubLink(_));
    node.as_ref()
        .and_then(inner)
        .is_none_or(|node| any_node(node, &is_query))
}

/// Refuses to rename what policies of other tables name, and what a query in one of its own may mean otherwise (`may`):
/// their conditions are text.
///
/// # Errors
/// `0A000`.
pub(super) fn refuse_rename(
    planner: &Planner,
    relation: TableId,
    column: Option<usize>,
    may: &dyn Fn(&PolicyText) -> bool,
) -> SqlResult<()> {
    let catalog = planner.catalog();
    for security in catalog.securities() {
        let stands = |text: &PolicyText| has_query(&text.text) && may(text);
        let names = |policy: &&PolicyRecord| match security.table == relation {
            true => policy.texts().any(stands),
            false => uses(catalog, policy, relation, column),
        };
        if let Some(policy) = security.policies.iter().find(names) {
            let what = described(catalog, &(security.table, policy.name.clone()));
            return Err(SqlError::unsupported(format!("renaming what {what} names")));
        }
    }
    Ok(())
}

/// Has the policies of a table name a column by its new name.
///
/// # Errors
/// `0A000` where a query is in the way.
pub(super) fn rename_column(
    draft: &mut Draft,
    table: &TableDef,
    number: usize,
    new: &str,
) -> SqlResult<()> {
    let old = &table.columns[number].name;
    let catalog = draft.planner.catalog();
    // The name alone does not say whose column it is then.
    let others = |text: &PolicyText| {
        let mut others = text.uses.iter().filter(|(used, _)| *used != table.id);
        others.any(|(used, _)| has_column(catalog, *used, old))
    };
    refuse_rename(draft.planner, table.id, Some(number), &others)?;
    rename_in_texts(draft, table.id, |text| {
        let is_named = text
            .uses
            .iter()
            .any(|(_, columns)| columns.contains(&number));
        is_named.then(|| hidden::with_name(&text.text, old, new))
    })
}

/// Has the policies of a table name it by its new name. Those of others may not name it.
///
/// # Errors
/// `0A000`.
pub(super) fn rename_table(draft: &mut Draft, table: &TableDef, new: &str) -> SqlResult<()> {
    let is_named = |text: &PolicyText| has_word(&text.text, &table.name);
    refuse_rename(draft.planner, table.relation(), None, &is_named)?;
    rename_in_texts(draft, table.relation(), |text| {
        Some(hidden::with_table(&text.text, &table.name, new))
    })
}

fn rename_in_texts(
    draft: &mut Draft,
    table: TableId,
    renamed: impl Fn(&PolicyText) -> Option<String>,
) -> SqlResult<()> {
    let mut security = draft.security(table)?;
    if security.policies.is_empty() {
        return Ok(());
    }
    let policies = security.policies.iter_mut();
    for text in policies.flat_map(PolicyRecord::texts_mut) {
        if let Some(now) = renamed(text) {
            text.text = now;
        }
    }
    draft.put_security(&security)
}

/// A table becomes a partition: what its policies name are columns of the other. `places`: for each of these the table's own.
pub(super) fn become_part(
    draft: &mut Draft,
    table: TableId,
    places: &[Option<usize>],
) -> SqlResult<()> {
    let mut security = draft.security(table)?;
    let policies = security.policies.iter_mut();
    let texts = policies.flat_map(PolicyRecord::texts_mut);
    for (_, columns) in texts
        .flat_map(|text| &mut text.uses)
        .filter(|(used, _)| *used == table)
    {
        let now = |own: &usize| places.iter().position(|place| place.as_ref() == Some(own));
        *columns = columns.iter().filter_map(now).collect();
    }
    match security == SecurityRecord::none(table) {
        true => Ok(()),
        false => draft.put_security(&security),
    }
}

/// Takes roles that go out of policies; one that is for nobody else goes.
pub(super) fn forget_roles(draft: &mut Draft, gone: &[RoleId]) -> SqlResult<()> {
    for security in draft.planner.catalog().securities() {
        let mut now = draft.security(security.table)?;
        let is_named = |policy: &PolicyRecord| policy.roles.iter().any(|role| gone.contains(role));
        if draft.has_dropped(crate::records::RecordKey::Table(security.table))
            || !now.policies.iter().any(is_named)
        {
            continue;
        }
        for policy in &mut now.policies {
            policy.roles.retain(|role| !gone.contains(role));
        }
        now.policies.retain(|policy| !policy.roles.is_empty());
        draft.put_security(&now)?;
    }
    Ok(())
}

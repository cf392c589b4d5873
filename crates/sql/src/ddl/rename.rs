//! ALTER … RENAME.
//!
//! Relies on: `draft`; `renamed_column` for the queries of views.  Promises: nothing but the name changes; checks, generated columns and
//! queries of views, which are kept as text, have a column's new one.
//! Does not: rename relations that a view names (0A000).

use super::generated;
use super::hidden;
use super::moving::{self, Moves};
use super::renamed_column::{self, RenamedColumn};
use super::sequence::{next_of, next_value};
use super::trigger::condition_names;
use super::view::refuse_rename;
use super::{changed_sequence, record_of};
use crate::catalog::Relation;
use crate::command::Planned;
use crate::draft::{Draft, spaces_of};
use crate::from::{find_named, target_table};
use crate::insert::column_number;
use crate::names::{inner, required};
use crate::parse;
use crate::planner::Planner;
use crate::records::{
    ForeignKeyRecord, MatviewRecord, RoutineRecord, SequenceRecord, TableRecord, TriggerRecord,
};
use crate::rewrite::same;
use crate::routine;
use crate::stored;
use crate::temporary::is_temporary;
use pg_query::NodeEnum;
use pg_query::protobuf::{ObjectType, ObjectWithArgs, RangeVar, RenameStmt};
use quintet_base::{SqlError, SqlResult, SqlState, TableId};
use quintet_ir::ddl::Work;
use quintet_ir::function::quoted_identifier;
use quintet_ir::schema::{CheckDef, ColumnDef, TableRef};
use quintet_ir::{Object, ObjectKind, Privileges};

pub(super) fn rename(planner: &Planner, statement: &RenameStmt) -> SqlResult<Planned> {
    if statement.rename_type() == ObjectType::ObjectRole {
        return crate::role::rename(planner, statement);
    }
    if matches!(
        statement.rename_type(),
        ObjectType::ObjectType | ObjectType::ObjectDomain
    ) {
        return super::user_type::rename(planner, statement);
    }
    if statement.rename_type() == ObjectType::ObjectSchema {
        return super::set_schema::rename(planner, statement);
    }
    if statement.rename_type() == ObjectType::ObjectDatabase {
        return super::database::rename(planner, statement);
    }
    if let Some(NodeEnum::ObjectWithArgs(object)) = statement.object.as_deref().and_then(inner) {
        return routine(planner, object, statement);
    }
    let relation = match statement.relation.as_ref() {
        Some(relation) => relation,
        None => {
            return Err(SqlError::unsupported(
                "ALTER … RENAME of this kind of object",
            ));
        }
    };
    match statement.rename_type() {
        ObjectType::ObjectColumn => column(planner, relation, statement),
        ObjectType::ObjectAttribute => super::attribute::rename(planner, statement),
        ObjectType::ObjectTabconstraint => constraint(planner, relation, statement),
        ObjectType::ObjectTrigger => super::trigger::rename(planner, statement),
        ObjectType::ObjectPolicy => super::policy::rename(planner, statement),
        ObjectType::ObjectMatview => whole(planner, relation, statement, "ALTER MATERIALIZED VIEW"),
        ObjectType::ObjectTable => whole(planner, relation, statement, "ALTER TABLE"),
        ObjectType::ObjectIndex => whole(planner, relation, statement, "ALTER INDEX"),
        ObjectType::ObjectSequence => whole(planner, relation, statement, "ALTER SEQUENCE"),
        ObjectType::ObjectView => whole(planner, relation, statement, "ALTER VIEW"),
        _ => Err(SqlError::unsupported(
            "ALTER … RENAME of this kind of object",
        )),
    }
}

fn column(planner: &Planner, relation: &RangeVar, statement: &RenameStmt) -> SqlResult<Planned> {
    let tag = match statement.relation_type() {
        ObjectType::ObjectView => "ALTER VIEW",
        ObjectType::ObjectMatview => "ALTER MATERIALIZED VIEW",
        _ => "ALTER TABLE",
    };
    if let Some(Relation::View(id)) = find_named(planner, relation)? {
        return column_of_view(planner, id, statement, tag);
    }
    if let Some(Relation::Partition(_)) = find_named(planner, relation)? {
        let message = format!("cannot rename inherited column \"{}\"", statement.subname);
        return Err(SqlError::new(SqlState::INVALID_TABLE_DEFINITION, message));
    }
    if statement.missing_ok && find_named(planner, relation)?.is_none() {
        let name = &relation.relname;
        planner.notice(format!("relation \"{name}\" does not exist, skipping"));
        return Ok(planner.nothing(tag));
    }
    let table = target_table(planner, relation)?;
    planner.must_own_table(table.id)?;
    let old = &statement.subname;
    if table.column(old).is_none() {
        let message = format!("column \"{old}\" does not exist");
        return Err(SqlError::new(SqlState::UNDEFINED_COLUMN, message));
    }
    let number = column_number(planner, &table, old, -1)?;
    let new = &statement.newname;
    super::table::refuse_system_name(new)?;
    if table.column(new).is_some() {
        return Err(SqlError::new(
            SqlState::DUPLICATE_COLUMN,
            format!(
                "column \"{new}\" of relation \"{}\" already exists",
                table.name
            ),
        ));
    }
    let mut record = record_of(planner, &table)?;
    record.columns[number].name = new.clone();
    hidden::rename(planner, &table, &mut record, number)?;
    rename_in_texts(planner, &table, &mut record, number)?;
    record.revision += 1;
    let mut draft = Draft::new(planner);
    draft.put_table(&record)?;
    super::policy::rename_column(&mut draft, &table, number, new)?;
    for trigger in &planner.catalog().triggers_around(&table) {
        if let Some(text) = &trigger.condition
            && condition_names(trigger, old)
        {
            let condition = Some(hidden::with_name(text, old, new));
            draft.put_trigger(&TriggerRecord {
                condition,
                ..TriggerRecord::clone(trigger)
            })?;
        }
    }
    if let Some(own) = planner.catalog().matview(table.id) {
        let mut own = MatviewRecord::clone(own);
        own.view.columns[number].name.clone_from(new);
        draft.put_matview(&own)?;
    }
    let columns = table
        .visible_columns()
        .map(|(_, column)| column.name.clone());
    renamed_column::follow(
        &mut draft,
        &RenamedColumn {
            relation: table.id,
            number,
            old,
            new,
            columns: columns.collect(),
        },
    )?;
    draft.work(Work::Fence(spaces_of(&table)));
    draft.finish(tag)
}

/// ALTER FUNCTION, PROCEDURE and ROUTINE … RENAME TO. What names it in a text that is kept names it so afterwards; bodies that are strings
/// look for the old name, as in PostgreSQL.
fn routine(
    planner: &Planner,
    object: &ObjectWithArgs,
    statement: &RenameStmt,
) -> SqlResult<Planned> {
    let (what, procedure, tag) = match statement.rename_type() {
        ObjectType::ObjectFunction => ("function", Some(false), "ALTER FUNCTION"),
        ObjectType::ObjectProcedure => ("procedure", Some(true), "ALTER PROCEDURE"),
        ObjectType::ObjectRoutine => ("routine", None, "ALTER ROUTINE"),
        _ => {
            return Err(SqlError::unsupported(
                "ALTER … RENAME of this kind of object",
            ));
        }
    };
    let id = routine::find(planner, object, what, procedure)?;
    planner.must_own(Object {
        kind: ObjectKind::Routine,
        number: id.0,
    })?;
    let catalog = planner.catalog();
    let stored = required(catalog.routine(id))?;
    let (old, new) = (&stored.record.name, &statement.newname);
    let schema = &stored.record.schema;
    if !is_temporary(schema) {
        planner.must_have(planner.schema_object(schema), Privileges::CREATE)?;
    }
    let key = stored.signature(catalog)?.key();
    for other in catalog.routines(schema, new) {
        if other.signature(catalog)?.key() == key {
            let message = format!(
                "function {} already exists in schema \"{schema}\"",
                routine::describe(new, &key)
            );
            return Err(SqlError::new(SqlState::DUPLICATE_FUNCTION, message));
        }
    }
    let mut draft = Draft::new(planner);
    draft.put_routine(&RoutineRecord {
        name: new.clone(),
        text: renamed(&stored.record.text, new)?,
        ..(*stored.record).clone()
    })?;
    moving::respell_others(&mut draft, &Moves::renamed(schema, old, new))?;
    draft.finish(tag)
}

/// Whether a text may name something, in any case of its letters.
pub(super) fn has_word(text: &str, word: &str) -> bool {
    let (text, word) = (text.to_lowercase(), word.to_lowercase());
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    text.match_indices(&word).any(|(at, found)| {
        let before = text[..at].chars().next_back();
        let behind = text[at + found.len()..].chars().next();
        !before.is_some_and(is_part) && !behind.is_some_and(is_part)
    })
}

/// The text of a CREATE of a routine with another name.
fn renamed(text: &str, name: &str) -> SqlResult<String> {
    let words = parse::scan(text)?;
    let is_comment = |word: &str| word.starts_with("--") || word.starts_with("/*");
    let mut words = words
        .iter()
        .filter(|(from, to)| !is_comment(&text[*from..*to]));
    let mut last = None;
    let opens = |(from, to): &&(usize, usize)| &text[*from..*to] == "(";
    for word in words.by_ref() {
        if opens(&word) {
            break;
        }
        last = Some(*word);
    }
    let (from, to) = last.ok_or_else(|| SqlError::internal("a routine without a name"))?;
    let (before, behind) = (&text[..from], &text[to..]);
    Ok(format!("{before}{}{behind}", quoted_identifier(name)))
}

/// Has checks and generated columns name a column as the record has it now. `table`: as it was.
///
/// # Errors
/// `0A000` where they are not the same then.
fn rename_in_texts(
    planner: &Planner,
    table: &TableRef,
    record: &mut TableRecord,
    number: usize,
) -> SqlResult<()> {
    let old = &table.columns[number].name;
    let new = record.columns[number].name.clone();
    let own: Vec<&CheckDef> = table.own_checks().collect();
    let is_named = |check: &CheckDef| {
        let mut used = Vec::new();
        check.condition.collect_columns(&mut used);
        used.contains(&number)
    };
    for (check, _) in (record.checks.iter_mut().zip(&own)).filter(|(_, check)| is_named(check)) {
        check.text = hidden::with_name(&check.text, old, &new);
    }
    let mut made = generated::made_of(table, number);
    made.retain(|made| !table.columns[*made].hidden);
    let texts = record.more.generated.iter_mut();
    for (_, text) in texts.filter(|(column, _)| made.contains(column)) {
        *text = hidden::with_name(text, old, &new);
    }
    // A type or a function may have had the name.
    let renamed = stored::table(planner.catalog(), record).ok();
    let refused = |what: &str, name: &str| {
        Err(SqlError::unsupported(format!(
            "renaming a column that {what} \"{name}\" names in this way"
        )))
    };
    for (at, check) in own.iter().enumerate() {
        let now = renamed.as_ref().and_then(|it| it.own_checks().nth(at));
        if !now.is_some_and(|now| same(&now.condition, &check.condition)) {
            return refused("constraint", &check.name);
        }
    }
    for made in made {
        let now = renamed.as_ref().map(|it| &it.columns[made].generated);
        let before = table.columns[made].generated.as_ref();
        if !(now.and_then(Option::as_ref).zip(before)).is_some_and(|(now, it)| same(now, it)) {
            return refused("generated column", &table.columns[made].name);
        }
    }
    Ok(())
}

fn column_of_view(
    planner: &Planner,
    id: TableId,
    statement: &RenameStmt,
    tag: &'static str,
) -> SqlResult<Planned> {
    planner.must_own_table(id)?;
    let view = required(planner.catalog().view(id))?;
    let (old, new) = (&statement.subname, &statement.newname);
    let mut record = (**view).clone();
    let place = record.columns.iter().position(|column| column.name == *old);
    let Some(place) = place else {
        let message = format!("column \"{old}\" does not exist");
        return Err(SqlError::new(SqlState::UNDEFINED_COLUMN, message));
    };
    if record.columns.iter().any(|column| column.name == *new) {
        let message = format!(
            "column \"{new}\" of relation \"{}\" already exists",
            record.name
        );
        return Err(SqlError::new(SqlState::DUPLICATE_COLUMN, message));
    }
    super::policy::refuse_rename(planner, id, Some(place), &|_| false)?;
    record.columns[place].name = new.clone();
    let mut draft = Draft::new(planner);
    draft.put_view(&record)?;
    let columns = view.columns.iter().map(|column| column.name.clone());
    renamed_column::follow(
        &mut draft,
        &RenamedColumn {
            relation: id,
            number: place,
            old,
            new,
            columns: columns.collect(),
        },
    )?;
    draft.finish(tag)
}

fn constraint(
    planner: &Planner,
    relation: &RangeVar,
    statement: &RenameStmt,
) -> SqlResult<Planned> {
    let table = target_table(planner, relation)?;
    planner.must_own_table(table.id)?;
    let (old, new) = (&statement.subname, &statement.newname);
    let mut draft = Draft::new(planner);
    let mut record = record_of(planner, &table)?;
    super::foreign_key::refuse_taken(&draft, &record, new)?;
    let foreign = planner.catalog().foreign_keys_of(table.id);
    if let Some(key) = foreign.into_iter().find(|key| key.name == *old) {
        draft.put_foreign_key(&ForeignKeyRecord {
            name: new.clone(),
            ..(**key).clone()
        })?;
        return draft.finish("ALTER TABLE");
    }
    if let Some(check) = record.checks.iter().position(|check| check.name == *old) {
        record.checks[check].name = new.clone();
        for name in &mut record.more.unvalidated {
            if name == old {
                name.clone_from(new);
            }
        }
    } else if let Some(key) = record.primary_key.as_mut().filter(|key| key.name == *old) {
        draft.take_name(&table.schema, new)?;
        key.name = new.clone();
    } else if let Some(index) = record
        .indexes
        .iter_mut()
        .find(|i| i.constraint && i.name == *old)
    {
        draft.take_name(&table.schema, new)?;
        index.name = new.clone();
    } else {
        let message = format!(
            "constraint \"{old}\" for table \"{}\" does not exist",
            table.name
        );
        return Err(SqlError::new(SqlState::UNDEFINED_OBJECT, message));
    }
    record.revision += 1;
    draft.put_table(&record)?;
    draft.work(Work::Fence(spaces_of(&table)));
    draft.finish("ALTER TABLE")
}

/// Renames a table, index or sequence.
fn whole(
    planner: &Planner,
    relation: &RangeVar,
    statement: &RenameStmt,
    tag: &'static str,
) -> SqlResult<Planned> {
    let catalog = planner.catalog();
    let Some(found) = find_named(planner, relation)? else {
        let message = format!("relation \"{}\" does not exist", relation.relname);
        if statement.missing_ok {
            planner.notice(format!("{message}, skipping"));
            return Ok(planner.nothing(tag));
        }
        return Err(planner.error(SqlState::UNDEFINED_TABLE, message, relation.location));
    };
    match found {
        Relation::Table(id) | Relation::View(id) | Relation::Partition(id) => {
            planner.must_own_table(id)?;
        }
        Relation::Sequence(id) => planner.must_own(super::sequence_object(id))?,
        Relation::Index(id, _) | Relation::PrimaryKey(id) => {
            planner.must_own_index(id, &relation.relname)?;
        }
    }
    let new = statement.newname.clone();
    let mut draft = Draft::new(planner);
    let schema = catalog.schema_of(found).unwrap_or_default();
    draft.take_name(&schema, &new)?;
    if let Relation::Table(id) | Relation::View(id) | Relation::Partition(id) = found {
        super::user_type::refuse_relation(planner, &schema, &new)?;
        refuse_rename(planner, id)?;
    }
    if let Relation::Partition(id) = found {
        let mut record = (**required(catalog.divisions().part(id))?).clone();
        let part = required(catalog.rows_of(id))?;
        super::policy::rename_table(&mut draft, &part, &new)?;
        record.name = new;
        draft.put_partition(&record)?;
        return draft.finish(tag);
    }
    if let Relation::Table(id) = found
        && let Some(own) = catalog.matview(id)
    {
        let mut own = MatviewRecord::clone(own);
        own.view.name.clone_from(&new);
        draft.put_matview(&own)?;
    }
    if let Relation::View(id) = found {
        let mut record = (**required(catalog.view(id))?).clone();
        record.name = new;
        draft.put_view(&record)?;
        return draft.finish(tag);
    }
    if let Relation::Sequence(id) = found {
        let record = changed_sequence(planner, id, |record| record.name = new)?;
        rename_in_defaults(&mut draft, &record)?;
        super::view_defaults::rename_sequence(&mut draft, &record)?;
        draft.put_sequence(&record)?;
        return draft.finish(tag);
    }
    let table = required(crate::draft::table_of(catalog, found))?;
    let mut record = record_of(planner, table)?;
    match found {
        Relation::Index(_, number) => record.indexes[number].name = new,
        Relation::PrimaryKey(_) => {
            if let Some(key) = &mut record.primary_key {
                key.name = new;
            }
        }
        _ => {
            for text in texts_of_columns(&mut record) {
                *text = hidden::with_table(text, &table.name, &new);
            }
            super::policy::rename_table(&mut draft, table, &new)?;
            record.name = new;
        }
    }
    record.revision += 1;
    draft.put_table(&record)?;
    draft.work(Work::Fence(spaces_of(table)));
    draft.finish(tag)
}

/// The texts of a record that name its columns, and may name them as the table's.
fn texts_of_columns(record: &mut TableRecord) -> impl Iterator<Item = &mut String> {
    let checks = record.checks.iter_mut().map(|check| &mut check.text);
    let generated = record.more.generated.iter_mut().map(|(_, text)| text);
    let predicates = record.more.hidden.predicates.iter_mut();
    checks
        .chain(generated)
        .chain(predicates.map(|(_, text)| text))
}

/// Defaults name their sequence in text.
///
/// # Errors
/// `0A000` for one that is more than the sequence's next value.
fn rename_in_defaults(draft: &mut Draft, sequence: &SequenceRecord) -> SqlResult<()> {
    let planner = draft.planner;
    for table in planner.catalog().tables() {
        let uses = |column: &ColumnDef| {
            (column.default.as_ref()).is_some_and(|it| super::uses_sequence(it, sequence.id))
        };
        if !table.columns.iter().any(uses) {
            continue;
        }
        let mut record = record_of(planner, table)?;
        for (column, now) in record.columns.iter_mut().zip(&table.columns) {
            if !uses(now) {
                continue;
            }
            if now.default.as_ref().and_then(next_of) != Some(sequence.id) {
                return Err(SqlError::unsupported(
                    "renaming a sequence that a column's default uses in an expression",
                ));
            }
            let (schema, name) = (&sequence.schema, &sequence.name);
            column.default = Some(next_value(&table.schema, schema, name));
        }
        record.revision += 1;
        draft.put_table(&record)?;
        draft.work(Work::Fence(spaces_of(table)));
    }
    Ok(())
}

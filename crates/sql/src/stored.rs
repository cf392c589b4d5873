//! Stored records to definitions: the texts of defaults and checks are bound again.
//!
//! Relies on: the binder.  Promises: what was accepted when it was written is read the same way
//! later, whatever the session's settings: stored text is read in UTC.  Does not: look at any
//! table but the one at hand.

use crate::catalog::Catalog;
use crate::coerce;
use crate::domain;
use crate::expr::Binder;
use crate::parse::parse_expression;
use crate::planner::{NOTHING_DYNAMIC, PlanContext, Planner, Who, note_depth};
use crate::records::{
    CheckRecord, ColumnRecord, IndexRecord, SequenceRecord, TableRecord, ViewRecord,
};
use crate::scope::Scope;
use quintet_base::row::RowLayout;
use quintet_base::text_format::FormatContext;
use quintet_base::{SqlResult, SqlType};
use quintet_ir::Expr;
use quintet_ir::cast::CastContext;
use quintet_ir::schema::{
    CheckDef, CheckKind, ColumnDef, Exclusion, Identity, IndexDef, Late, PrimaryKey, SequenceDef,
    TableDef,
};

/// A sequence from its record.
pub(crate) fn sequence(record: SequenceRecord) -> SequenceDef {
    SequenceDef {
        id: record.id,
        counter: record.counter.unwrap_or(record.id),
        schema: record.schema,
        name: record.name,
        ty: record.ty,
        start: record.start,
        increment: record.increment,
        min: record.min,
        max: record.max,
        cycle: record.cycle,
        cache: record.cache,
        owned_by: record.owned_by,
    }
}

/// A sequence's record.
pub(crate) fn sequence_record(sequence: &SequenceDef) -> SequenceRecord {
    SequenceRecord {
        id: sequence.id,
        schema: sequence.schema.clone(),
        name: sequence.name.clone(),
        ty: sequence.ty,
        start: sequence.start,
        increment: sequence.increment,
        min: sequence.min,
        max: sequence.max,
        cycle: sequence.cycle,
        owned_by: sequence.owned_by,
        counter: Some(sequence.counter).filter(|counter| *counter != sequence.id),
        cache: sequence.cache,
    }
}

/// A table's record without what is text in it, all of which may name other tables; `None` if it has none.
pub(crate) fn without_texts(record: &TableRecord) -> Option<TableRecord> {
    let defaults = record.columns.iter().any(|column| column.default.is_some());
    let more = &record.more;
    let others =
        !record.checks.is_empty() || !more.generated.is_empty() || !more.domains.is_empty();
    if !defaults && !others {
        return None;
    }
    let mut bare = record.clone();
    bare.columns
        .iter_mut()
        .for_each(|column| column.default = None);
    bare.checks.clear();
    bare.more.generated.clear();
    bare.more.domains.clear();
    Some(bare)
}

/// What a view puts where nothing is given, by the places of its columns.
///
/// # Errors
/// What reading the texts says.
pub(crate) fn defaults_of_view(
    catalog: &Catalog,
    view: &ViewRecord,
) -> SqlResult<Vec<(usize, Expr)>> {
    let format = FormatContext::default();
    let path = path_at(&view.schema);
    let context = context_at(catalog, &view.schema, &path, &format);
    let planner = Planner::new(&context, "", &[]);
    let bound = view.defaults.iter().map(|(place, text)| {
        let value = default(&planner, text, &view.as_column(*place))?;
        Ok((*place, value))
    });
    bound.collect()
}

/// What a text names without a schema is there, or where everybody looks.
fn path_at(schema: &str) -> String {
    format!("\"{}\", public", schema.replace('"', "\"\""))
}

fn context_at<'c>(
    catalog: &'c Catalog,
    schema: &str,
    path: &'c str,
    format: &'c FormatContext,
) -> PlanContext<'c> {
    PlanContext {
        catalog,
        schema: path,
        user: Who::within(schema),
        database: "",
        format,
        dynamic: &NOTHING_DYNAMIC,
    }
}

/// A table from its record. Sequences that defaults name must be in the catalogue already.
pub(crate) fn table(catalog: &Catalog, record: &TableRecord) -> SqlResult<TableDef> {
    let format = FormatContext::default();
    let path = path_at(&record.schema);
    let context = context_at(catalog, &record.schema, &path, &format);
    let planner = Planner::new(&context, "", &[]);
    let columns: SqlResult<Vec<ColumnDef>> =
        record.columns.iter().map(|c| column(&planner, c)).collect();
    let mut columns = columns?;
    for (number, domain) in &record.more.domains {
        // A column without a default of its own has the domain's.
        let column = &record.columns[*number];
        let known = catalog
            .user_type(*domain)
            .and_then(|record| record.domain());
        if let Some(text) = known.and_then(|domain| domain.default.as_deref())
            && column.default.is_none()
            && !column.dropped
        {
            columns[*number].default = Some(default(&planner, text, column)?);
        }
    }
    let layout = RowLayout::new(columns.iter().map(|c| c.ty).collect());
    let mut table = TableDef {
        id: record.id,
        revision: record.revision,
        schema: record.schema.clone(),
        name: record.name.clone(),
        space: record.space,
        columns,
        primary_key: record.primary_key.as_ref().map(|key| PrimaryKey {
            name: key.name.clone(),
            columns: key.columns.clone(),
        }),
        indexes: record.indexes.iter().map(|i| index(record, i)).collect(),
        checks: Vec::new(),
        layout,
        references: None,
        partitions: None,
    };
    for &number in &record.more.hidden.columns {
        table.columns[number].hidden = true;
    }
    let scope = Scope::of_table(&table);
    for (number, text) in &record.more.generated {
        let expr = generated(&planner, &scope, text, &record.columns[*number])?;
        table.columns[*number].generated = Some(expr);
    }
    let checks: SqlResult<Vec<CheckDef>> = record
        .checks
        .iter()
        .map(|c| check(&planner, &scope, c))
        .collect();
    table.checks = checks?;
    for check in &mut table.checks {
        check.validated = !record.more.unvalidated.contains(&check.name);
    }
    for (number, domain) in &record.more.domains {
        let column = &record.columns[*number];
        let Some(domain) = catalog.user_type(*domain).filter(|_| !column.dropped) else {
            continue;
        };
        let value = Expr::Column(*number, column.ty);
        for (name, condition) in domain::conditions(&planner, domain, &value)? {
            table.checks.push(CheckDef {
                name,
                condition,
                text: String::new(),
                validated: true,
                kind: CheckKind::OfDomain,
            });
        }
    }
    note_depth(quintet_ir::depth::of_table(&table))?;
    Ok(table)
}

fn column(planner: &Planner, record: &ColumnRecord) -> SqlResult<ColumnDef> {
    let default = match &record.default {
        Some(text) => Some(default(planner, text, record)?),
        None => None,
    };
    let missing = match &record.missing {
        Some(text) if !record.dropped => Some(planner.read_value(record.ty, text)?),
        _ => None,
    };
    Ok(ColumnDef {
        name: record.name.clone(),
        ty: record.ty,
        modifier: record.modifier,
        not_null: record.not_null,
        default,
        missing,
        identity: record.identity.map(|always| match always {
            true => Identity::Always,
            false => Identity::ByDefault,
        }),
        generated: None,
        dropped: record.dropped,
        hidden: false,
    })
}

/// Binds a generated column's expression, converted as INSERT would.
pub(crate) fn generated(
    planner: &Planner,
    scope: &Scope,
    text: &str,
    column: &ColumnRecord,
) -> SqlResult<Expr> {
    let node = parse_expression(text)?;
    let clause = "column generation expressions";
    let expr = Binder::new(planner, scope, clause).bind(&node)?;
    coerce::assign(planner, expr, column.ty, column.modifier, &column.name)
}

/// Binds a default: no columns in it, converted as INSERT would.
fn default(planner: &Planner, text: &str, record: &ColumnRecord) -> SqlResult<Expr> {
    let node = parse_expression(text)?;
    let scope = Scope::empty();
    let expr = Binder::new(planner, &scope, "DEFAULT expressions").bind(&node)?;
    coerce::assign(planner, expr, record.ty, record.modifier, &record.name)
}

fn check(planner: &Planner, scope: &Scope, record: &CheckRecord) -> SqlResult<CheckDef> {
    let node = parse_expression(&record.text)?;
    let expr = Binder::new(planner, scope, "check constraints").bind(&node)?;
    let condition = coerce::convert(planner, expr, SqlType::Bool, CastContext::Assignment)?;
    Ok(CheckDef {
        name: record.name.clone(),
        condition,
        text: record.text.clone(),
        validated: true,
        kind: CheckKind::Own,
    })
}

fn index(table: &TableRecord, record: &IndexRecord) -> IndexDef {
    let late = table.late(record.id).map(|deferred| match deferred {
        true => Late::Commit,
        false => Late::Statement,
    });
    let excludes = table.excluded(record.id).map(|excluded| Exclusion {
        equals: excluded.equals,
        written: excluded.written.clone(),
        late,
    });
    IndexDef {
        id: record.id,
        name: record.name.clone(),
        space: record.space,
        columns: record.columns.clone(),
        unique: record.unique && late.is_none(),
        late: late.filter(|_| excludes.is_none()),
        constraint: record.constraint,
        partial: table.predicate(record.id).is_some(),
        nulls_equal: table.nulls_are_equal(record.id),
        inverted: table.inverted(record),
        excludes,
    }
}

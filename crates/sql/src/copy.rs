//! COPY.
//!
//! Relies on: `insert` for the target, `select` for the source, `routine` for triggers.  Promises: options mean what they
//! mean in PostgreSQL, in both their old and their new syntax.  Accepts and ignores: FREEZE.
//! Does not: files, programs (0A000); read or write the data itself.

use crate::catalog::Relation;
use crate::coerce;
use crate::command::{Command, CopyFormat, CopyFrom, CopyHeader, CopyKind, CopyTo, Planned};
use crate::ddl::{refuse_change, table_object};
use crate::expr::Binder;
use crate::from::{From, find_named, row_target};
use crate::generated;
use crate::insert::{default_of, listed_columns};
use crate::join::{join, mark_needed};
use crate::names::{self, inner, required};
use crate::output;
use crate::parse::parse_expression;
use crate::planner::Planner;
use crate::rewrite::{is_volatile, one_row, transform};
use crate::scope::{Output, Scope};
use crate::select::plan_query;
use crate::tree::{node, string};
use crate::updatable::fired as fired_by;
use pg_query::NodeEnum;
use pg_query::protobuf::{
    Alias, ColumnRef, CopyStmt, DefElem, FuncCall, InsertStmt, LimitOption, List, Node,
    OverridingKind, ParamRef, RangeFunction, RangeVar, ResTarget, SelectStmt, SetOperation,
    TypeCast,
};
use quintet_base::types::format_declared;
use quintet_base::{SqlError, SqlResult, SqlState, SqlType, TypeMod};
use quintet_ir::plan::Plan;
use quintet_ir::schema::{TableDef, TableRef};
use quintet_ir::statement::{Body, Insert, OutputColumn, Procedure};
use quintet_ir::{Expr, Need, Part, Privileges, Statement};
use std::sync::Arc;

/// Plans a COPY.
pub(crate) fn plan_copy(planner: &Planner, statement: &CopyStmt) -> SqlResult<Planned> {
    const TAG: &str = "COPY";
    if statement.is_program {
        return Err(SqlError::unsupported("COPY … PROGRAM"));
    }
    if !statement.filename.is_empty() {
        return Err(SqlError::unsupported("COPY with a file on the server")
            .hint("Use COPY … FROM STDIN or TO STDOUT, or \\copy in psql."));
    }
    let (format, about) = read_format(planner, &statement.options, statement.is_from)?;
    if statement.is_from {
        let copy = plan_from(planner, statement, format, about)?;
        return Ok(planner.command(Command::CopyFrom(copy), TAG));
    }
    let changed = statement.query.as_deref().and_then(inner);
    let changed = changed.map(|query| changed_rows(planner, query));
    let (query, columns) = match changed.transpose()?.flatten() {
        Some(changed) => changed,
        None => {
            let (plan, outputs) = rows(planner, statement)?;
            let columns = output::publish(outputs);
            let query = planner.procedure(Statement::Query(plan), columns.clone())?;
            (Arc::new(query), columns)
        }
    };
    let of = match &statement.relation {
        Some(relation) => Some(row_target(planner, relation)?),
        None => None,
    };
    let names = columns.iter().map(|column| column.name.as_str());
    let quoted = Copied(of.as_deref(), names.collect()).places(about.quoted, "FORCE_QUOTE")?;
    let copy = CopyTo {
        query,
        quoted,
        columns,
        format,
    };
    Ok(planner.command(Command::CopyTo(copy), TAG))
}

/// What is copied out: a table's rows, or a query's.
fn rows(planner: &Planner, statement: &CopyStmt) -> SqlResult<(Plan, Vec<Output>)> {
    if statement.relation.is_some() {
        return table_rows(planner, statement);
    }
    match statement.query.as_deref().and_then(inner) {
        Some(NodeEnum::SelectStmt(select)) => {
            let query = plan_query(planner, select, None)?;
            Ok((query.plan, query.outputs))
        }
        _ => Err(SqlError::internal("COPY of something else")),
    }
}

/// What gives the rows that it changed, with their columns; `None` for a query.
///
/// # Errors
/// `0A000` without RETURNING, and for what fires triggers: that is a routine, which gives no rows.
fn changed_rows(
    planner: &Planner,
    query: &NodeEnum,
) -> SqlResult<Option<(Arc<Procedure>, Vec<OutputColumn>)>> {
    let returning = match query {
        NodeEnum::InsertStmt(insert) => &insert.returning_clause,
        NodeEnum::UpdateStmt(update) => &update.returning_clause,
        NodeEnum::DeleteStmt(delete) => &delete.returning_clause,
        NodeEnum::MergeStmt(_) => {
            let message = "MERGE not supported in COPY";
            return Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        _ => return Ok(None),
    };
    if returning.is_none() {
        return Err(SqlError::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            "COPY query must have a RETURNING clause",
        ));
    }
    let planned = crate::statement::plan_statement(planner, query)?;
    match planned.command {
        Command::Run(procedure) if !procedure.is_call() => Ok(Some((procedure, planned.columns))),
        _ => Err(SqlError::unsupported(
            "COPY of a statement that fires triggers",
        )),
    }
}

fn plan_from(
    planner: &Planner,
    statement: &CopyStmt,
    format: CopyFormat,
    about: About,
) -> SqlResult<CopyFrom> {
    let relation = required(statement.relation.as_ref())?;
    let table = match view_with_triggers(planner, relation)? {
        Some(view) => view,
        None => {
            refuse_view(planner, relation, true)?;
            row_target(planner, relation)?
        }
    };
    planner.need_target(table.relation(), Privileges::INSERT);
    refuse_change(planner.context, table.id)?;
    may_first(planner, &table, Privileges::INSERT)?;
    if planner.is_secured(&table)? {
        let message = "COPY FROM not supported with row-level security";
        return Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message)
            .hint("Use INSERT statements instead."));
    }
    let mut columns = listed_columns(planner, &table, &statement.attlist)?;
    for column in &columns {
        planner.need_column(table.relation(), *column, Privileges::INSERT);
    }
    leave_out_generated(&table, &mut columns, statement)?;
    let mut values: Vec<Expr> = table.columns.iter().map(default_of).collect();
    for (param, &column) in columns.iter().enumerate() {
        let (ty, modifier) = (table.columns[column].ty, table.columns[column].modifier);
        values[column] = coerce::with_length(Expr::Param(param, ty), ty, modifier);
    }
    let filter = statement.where_clause.as_deref();
    let filter = filter.map(|node| filter_of(planner, &table, node, &values));
    let filter = filter.transpose()?;
    let names = columns.iter().map(|&column| &*table.columns[column].name);
    let copied = Copied(Some(&table), names.collect());
    let never_null = copied.places(about.never_null, "FORCE_NOT_NULL")?;
    let also_null = copied.places(about.also_null, "FORCE_NULL")?;
    let (source, values) = generated::in_insert(&table, one_row(), values);
    let insert = Insert {
        table: table.clone(),
        source,
        values,
        conflict: None,
        returning: None,
    };
    let procedure = Procedure {
        params: columns
            .iter()
            .map(|&column| table.columns[column].ty)
            .collect(),
        body: Body::Statement(Statement::Insert(insert)),
        result: vec![],
    };
    Ok(CopyFrom {
        fired: fired(planner, relation, &table, &columns)?,
        table,
        columns,
        insert: Arc::new(procedure),
        filter,
        never_null,
        also_null,
        format,
    })
}

/// WHERE, over the fields: what the columns become of them, or their defaults.
///
/// # Errors
/// `42P10` for a generated column, `0A000` for one that is left to a default which must not be computed twice.
fn filter_of(
    planner: &Planner,
    table: &TableDef,
    node: &Node,
    values: &[Expr],
) -> SqlResult<Arc<Expr>> {
    let scope = Scope::of_table(table);
    let bound = Binder::new(planner, &scope, "COPY FROM WHERE conditions").bind(node)?;
    let bound =
        coerce::boolean(planner, bound, "WHERE").map_err(planner.at(names::location(node)))?;
    let mut used = Vec::new();
    bound.collect_columns(&mut used);
    for &number in &used {
        let Some(column) = table.columns.get(number) else {
            return Err(SqlError::unsupported("a row's own number in COPY … WHERE"));
        };
        let name = &column.name;
        if column.generated.is_some() {
            let message = "generated columns are not supported in COPY FROM WHERE conditions";
            return Err(SqlError::new(SqlState::INVALID_COLUMN_REFERENCE, message)
                .detail(format!("Column \"{name}\" is a generated column.")));
        }
        if is_volatile(&values[number]) {
            let message = format!("COPY … WHERE over column \"{name}\", which has its default");
            return Err(SqlError::unsupported(message));
        }
    }
    let filter = transform(&bound, &mut |part| match part {
        Expr::Column(number, _) => values.get(*number).cloned(),
        _ => None,
    });
    Ok(Arc::new(filter))
}

/// The INSERT of all rows at once, if it fires triggers or calls functions.
///
/// # Errors
/// `0A000` for a column of an array of a user's type.
fn fired(
    planner: &Planner,
    relation: &RangeVar,
    table: &TableDef,
    columns: &[usize],
) -> SqlResult<Option<Arc<Procedure>>> {
    let triggers = planner.catalog().triggers_around(table);
    let mut triggers = triggers
        .iter()
        .filter(|trigger| trigger.insert && trigger.is_enabled());
    let why = match triggers.next() {
        Some(trigger) => format!("trigger \"{}\"", trigger.name),
        // Functions may have to wait, which a row by itself cannot come back to.
        None if table.calls_routines() => "expressions that call functions".to_string(),
        None => return Ok(None),
    };
    let mut types = Vec::with_capacity(columns.len());
    let mut values = Vec::with_capacity(columns.len());
    for (place, &column) in columns.iter().enumerate() {
        let column = &table.columns[column];
        let value = column_ref(vec![string(format!("c{place}"))]);
        let array = together(column.ty);
        types.push(array.unwrap_or(SqlType::TextArray));
        values.push(match array {
            Some(_) => value,
            None => as_type(planner, value, column.ty).ok_or_else(|| {
                let name = &column.name;
                SqlError::unsupported(format!("COPY into column \"{name}\" of a table with {why}"))
            })?,
        });
    }
    let names = columns.iter().map(|&column| &*table.columns[column].name);
    let insert = insert_of_arrays(relation, &names.collect::<Vec<_>>(), values);
    let inside = Planner::new(planner.context, "", &types);
    let planned = crate::statement::plan_statement(&inside, &insert)?;
    for need in inside.take_needs() {
        planner.need_part(need.object, need.privileges, need.part);
    }
    match planned.command {
        Command::Run(procedure) => Ok(Some(procedure)),
        _ => Err(SqlError::internal("an INSERT of something else")),
    }
}

fn column_ref(fields: Vec<Node>) -> Node {
    node(NodeEnum::ColumnRef(ColumnRef {
        fields,
        location: -1,
    }))
}

/// The array in which values of a type come, if they do not come as texts: there are no arrays of arrays, and `unnest` takes
/// those of rows apart.
pub fn together(ty: SqlType) -> Option<SqlType> {
    match ty {
        SqlType::Composite(_) => None,
        _ => ty.array_of(),
    }
}

/// A value as one of a type.
fn as_type(planner: &Planner, value: Node, ty: SqlType) -> Option<Node> {
    let name = planner.with_type_names(format_declared(ty, TypeMod::NONE));
    let sample = format!("NULL::{name}");
    let Some(NodeEnum::TypeCast(cast)) = parse_expression(&sample).ok()?.node else {
        return None;
    };
    Some(node(NodeEnum::TypeCast(Box::new(TypeCast {
        arg: Some(Box::new(value)),
        ..*cast
    }))))
}

/// `INSERT INTO relation (names) OVERRIDING SYSTEM VALUE SELECT values FROM unnest($1, $2, …) AS c (c0, c1, …)`.
fn insert_of_arrays(relation: &RangeVar, names: &[&str], values: Vec<Node>) -> NodeEnum {
    let target = |name: &str, val: Option<Box<Node>>| {
        node(NodeEnum::ResTarget(Box::new(ResTarget {
            name: name.to_string(),
            val,
            location: -1,
            ..ResTarget::default()
        })))
    };
    let parameters = (1..).zip(names).map(|(number, _)| {
        node(NodeEnum::ParamRef(ParamRef {
            number,
            location: -1,
        }))
    });
    let call = FuncCall {
        funcname: vec![string("pg_catalog"), string("unnest")],
        args: parameters.collect(),
        location: -1,
        ..FuncCall::default()
    };
    let call = node(NodeEnum::FuncCall(Box::new(call)));
    let items = vec![call, Node { node: None }];
    let own = (0..names.len()).map(|place| string(format!("c{place}")));
    let function = RangeFunction {
        functions: vec![node(NodeEnum::List(List { items }))],
        alias: Some(Alias {
            aliasname: "c".to_string(),
            colnames: own.collect(),
        }),
        ..RangeFunction::default()
    };
    let values = values.into_iter();
    let select = SelectStmt {
        target_list: values
            .map(|value| target("", Some(Box::new(value))))
            .collect(),
        from_clause: vec![node(NodeEnum::RangeFunction(function))],
        limit_option: LimitOption::Default as i32,
        op: SetOperation::SetopNone as i32,
        ..SelectStmt::default()
    };
    NodeEnum::InsertStmt(Box::new(InsertStmt {
        relation: Some(relation.clone()),
        cols: names.iter().map(|name| target(name, None)).collect(),
        select_stmt: Some(Box::new(node(NodeEnum::SelectStmt(Box::new(select))))),
        r#override: OverridingKind::OverridingSystemValue as i32,
        ..InsertStmt::default()
    }))
}

/// Who may not copy the rows of a table is told so before what its policies say.
fn may_first(planner: &Planner, table: &TableDef, privileges: Privileges) -> SqlResult<()> {
    match planner.catalog().security(table.relation()) {
        Some(_) => planner.catalog().allow(
            planner.context.user.role,
            &[Need {
                object: table_object(table.relation()),
                privileges,
                role: None,
                part: Part::Any,
            }],
        ),
        None => Ok(()),
    }
}

/// A view has no rows of its own to be copied.
/// A view whose triggers do what an INSERT asks, as a table that is nowhere.
fn view_with_triggers(planner: &Planner, relation: &RangeVar) -> SqlResult<Option<TableRef>> {
    Ok(match find_named(planner, relation)? {
        Some(Relation::View(id)) if fired_by(planner.catalog(), id)[2] => {
            planner.use_relation(id);
            planner.catalog().triggered(id)
        }
        _ => None,
    })
}

/// Generated columns are not copied, and may not be named.
fn leave_out_generated(
    table: &TableDef,
    columns: &mut Vec<usize>,
    statement: &CopyStmt,
) -> SqlResult<()> {
    let is_generated = |column: &usize| table.columns[*column].generated.is_some();
    if statement.attlist.is_empty() {
        columns.retain(|column| !is_generated(column));
        return Ok(());
    }
    match columns.iter().find(|column| is_generated(column)) {
        Some(column) => {
            let name = &table.columns[*column].name;
            let message = format!("column \"{name}\" is a generated column");
            Err(SqlError::new(SqlState::INVALID_COLUMN_REFERENCE, message)
                .detail("Generated columns cannot be used in COPY."))
        }
        None => Ok(()),
    }
}

fn refuse_view(planner: &Planner, relation: &RangeVar, from: bool) -> SqlResult<()> {
    let Some(Relation::View(_)) = find_named(planner, relation)? else {
        return Ok(());
    };
    let (word, hint) = match from {
        true => (
            "to",
            "To enable copying to a view, provide an INSTEAD OF INSERT trigger.",
        ),
        false => ("from", "Try the COPY (SELECT ...) TO variant."),
    };
    let message = format!("cannot copy {word} view \"{}\"", relation.relname);
    Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, message).hint(hint))
}

fn table_rows(planner: &Planner, statement: &CopyStmt) -> SqlResult<(Plan, Vec<Output>)> {
    let relation = required(statement.relation.as_ref())?;
    refuse_view(planner, relation, false)?;
    let table = row_target(planner, relation)?;
    planner.need_some(table.relation(), Privileges::SELECT);
    let mut columns = listed_columns(planner, &table, &statement.attlist)?;
    for column in &columns {
        planner.need_column(table.relation(), *column, Privileges::SELECT);
    }
    leave_out_generated(&table, &mut columns, statement)?;
    let mut from = From::of_table(&table, &relation.relname, true);
    may_first(planner, &table, Privileges::SELECT)?;
    from.secure(planner, &table, false)?;
    let mut joined = join(&from.leaves, from.conditions, None, None)?;
    let outputs = columns.iter().map(|&number| {
        let column = &table.columns[number];
        Output {
            name: column.name.clone(),
            ty: column.ty,
            modifier: column.modifier,
            origin: Some((table.relation(), number as u16 + 1)),
        }
    });
    let outputs = outputs.collect();
    let exprs: Vec<Expr> = columns
        .iter()
        .map(|&number| joined.expr(&Expr::Column(number, table.columns[number].ty)))
        .collect();
    let mut plan = joined.plan;
    mark_needed(&mut plan, &joined.used);
    let plan = Plan::Project {
        input: Box::new(plan),
        exprs,
    };
    Ok((plan, outputs))
}

/// Options met so far.
#[derive(Default)]
struct Options {
    kind: Option<CopyKind>,
    delimiter: Option<String>,
    null: Option<String>,
    header: Option<CopyHeader>,
    quote: Option<String>,
    escape: Option<String>,
    about: About,
}

/// What options say about columns.
#[derive(Default)]
struct About {
    /// FORCE_QUOTE.
    quoted: Option<Listed>,
    /// FORCE_NOT_NULL.
    never_null: Option<Listed>,
    /// FORCE_NULL.
    also_null: Option<Listed>,
}

/// Columns that an option lists.
enum Listed {
    All,
    Columns(Vec<String>),
}

/// What is copied: of which table, if it is one, and the names of its columns.
struct Copied<'a>(Option<&'a TableDef>, Vec<&'a str>);

impl Copied<'_> {
    /// The places of the columns that an option lists.
    ///
    /// # Errors
    /// `42703` for no column, `42P10` for one that is not copied.
    fn places(&self, listed: Option<Listed>, option: &str) -> SqlResult<Vec<usize>> {
        let Copied(table, names) = self;
        let listed = match listed {
            None => return Ok(Vec::new()),
            Some(Listed::All) => return Ok((0..names.len()).collect()),
            Some(Listed::Columns(listed)) => listed,
        };
        let place = |name: &String| {
            if let Some(place) = names.iter().position(|other| other == name) {
                return Ok(place);
            }
            let is_column = |table: &&TableDef| {
                let mut columns = table.visible_columns();
                columns.any(|(_, column)| column.name == *name)
            };
            let (state, message) = match table {
                Some(table) if is_column(table) => (
                    SqlState::INVALID_COLUMN_REFERENCE,
                    format!("{option} column \"{name}\" not referenced by COPY"),
                ),
                Some(table) => (
                    SqlState::UNDEFINED_COLUMN,
                    format!(
                        "column \"{name}\" of relation \"{}\" does not exist",
                        table.name
                    ),
                ),
                None => (
                    SqlState::UNDEFINED_COLUMN,
                    format!("column \"{name}\" does not exist"),
                ),
            };
            Err(SqlError::new(state, message))
        };
        listed.iter().map(place).collect()
    }
}

fn read_format(planner: &Planner, nodes: &[Node], from: bool) -> SqlResult<(CopyFormat, About)> {
    let mut options = Options::default();
    for node in nodes {
        let Some(NodeEnum::DefElem(option)) = inner(node) else {
            continue;
        };
        read_option(planner, option, from, &mut options)?;
    }
    let kind = options.kind.unwrap_or(CopyKind::Text);
    let invalid = |message: &str| Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
    let wrong = |message: &str| Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
    if kind == CopyKind::Binary && options.delimiter.is_some() {
        return wrong("cannot specify DELIMITER in BINARY mode");
    }
    if kind == CopyKind::Binary && options.null.is_some() {
        return wrong("cannot specify NULL in BINARY mode");
    }
    let header = options.header.unwrap_or(CopyHeader::None);
    if kind == CopyKind::Binary && header != CopyHeader::None {
        return invalid("cannot specify HEADER in BINARY mode");
    }
    if kind != CopyKind::Csv && options.quote.is_some() {
        return invalid("COPY quote available only in CSV mode");
    }
    if kind != CopyKind::Csv && options.escape.is_some() {
        return invalid("COPY escape available only in CSV mode");
    }
    let about = &options.about;
    let columns = [
        (&about.quoted, "quote", "TO", from),
        (&about.never_null, "not null", "FROM", !from),
        (&about.also_null, "null", "FROM", !from),
    ];
    for (listed, what, way, is_other) in columns {
        if listed.is_none() {
            continue;
        }
        if kind != CopyKind::Csv {
            return invalid(&format!("COPY force {what} available only in CSV mode"));
        }
        if is_other {
            return invalid(&format!(
                "COPY force {what} only available using COPY {way}"
            ));
        }
    }
    let csv = kind == CopyKind::Csv;
    let delimiter = one_byte(
        options.delimiter,
        if csv { b',' } else { b'\t' },
        "delimiter",
    )?;
    let quote = one_byte(options.quote, b'"', "quote")?;
    let escape = one_byte(options.escape, quote, "escape")?;
    let null = options.null.unwrap_or_else(|| {
        if csv {
            String::new()
        } else {
            "\\N".to_string()
        }
    });
    if null.contains(['\r', '\n']) {
        return Err(SqlError::new(
            SqlState::INVALID_PARAMETER_VALUE,
            "COPY null representation cannot use newline or carriage return",
        ));
    }
    let reserved = b"\\.abcdefghijklmnopqrstuvwxyz0123456789";
    if matches!(delimiter, b'\r' | b'\n') || (!csv && reserved.contains(&delimiter)) {
        return Err(SqlError::new(
            SqlState::INVALID_PARAMETER_VALUE,
            format!(
                "COPY delimiter cannot be \"{}\"",
                char::from(delimiter).escape_default()
            ),
        ));
    }
    if kind != CopyKind::Binary && null.as_bytes().contains(&delimiter) {
        return Err(SqlError::new(
            SqlState::INVALID_PARAMETER_VALUE,
            "COPY delimiter character must not appear in the NULL specification",
        ));
    }
    if csv && delimiter == quote {
        return Err(SqlError::new(
            SqlState::INVALID_PARAMETER_VALUE,
            "COPY delimiter and quote must be different",
        ));
    }
    let format = CopyFormat {
        kind,
        delimiter,
        null,
        header,
        quote,
        escape,
    };
    Ok((format, options.about))
}

fn one_byte(text: Option<String>, default: u8, what: &str) -> SqlResult<u8> {
    match text.as_deref().map(str::as_bytes) {
        None => Ok(default),
        Some([byte]) => Ok(*byte),
        Some(_) => Err(SqlError::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            format!("COPY {what} must be a single one-byte character"),
        )),
    }
}

fn read_option(
    planner: &Planner,
    option: &DefElem,
    from: bool,
    into: &mut Options,
) -> SqlResult<()> {
    let text = option.arg.as_deref().and_then(names::option_text);
    let name = option.defname.as_str();
    let twice = || {
        planner.error(
            SqlState::SYNTAX_ERROR,
            "conflicting or redundant options",
            option.location,
        )
    };
    let set = |slot: &mut Option<String>| -> SqlResult<()> {
        match (&slot, text.clone()) {
            (None, Some(text)) => {
                *slot = Some(text);
                Ok(())
            }
            (Some(_), _) => Err(twice()),
            (None, None) => {
                let message = format!("{name} requires a parameter");
                Err(planner.error(SqlState::SYNTAX_ERROR, message, option.location))
            }
        }
    };
    match name {
        "format" => {
            if into.kind.is_some() {
                return Err(twice());
            }
            into.kind = Some(match text.as_deref() {
                Some("text") => CopyKind::Text,
                Some("csv") => CopyKind::Csv,
                Some("binary") => CopyKind::Binary,
                other => {
                    let message = format!(
                        "COPY format \"{}\" not recognized",
                        other.unwrap_or_default()
                    );
                    return Err(planner.error(
                        SqlState::INVALID_PARAMETER_VALUE,
                        message,
                        option.location,
                    ));
                }
            });
            Ok(())
        }
        "delimiter" => set(&mut into.delimiter),
        "null" => set(&mut into.null),
        "quote" => set(&mut into.quote),
        "escape" => set(&mut into.escape),
        "header" => {
            if into.header.is_some() {
                return Err(twice());
            }
            let message = format!("{name} requires a Boolean value or \"match\"");
            into.header = Some(
                match text.as_deref().map(str::to_ascii_lowercase).as_deref() {
                    Some("match") if from => CopyHeader::Match,
                    Some("match") => {
                        let message = "cannot use \"match\" with HEADER in COPY TO";
                        return Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
                    }
                    None | Some("true" | "on" | "1") => CopyHeader::Line,
                    Some("false" | "off" | "0") => CopyHeader::None,
                    Some(_) => return Err(SqlError::new(SqlState::SYNTAX_ERROR, message)),
                },
            );
            Ok(())
        }
        // Rows are as visible as any others here; there is nothing to freeze.
        "freeze" => boolean(planner, option, text.as_deref()).map(|_| ()),
        "encoding" => match text.as_deref().map(str::to_ascii_lowercase).as_deref() {
            Some("utf8" | "utf-8" | "unicode") => Ok(()),
            _ => Err(planner.unsupported("COPY with an encoding other than UTF8", option.location)),
        },
        "force_quote" | "force_not_null" | "force_null" => {
            let slot = match name {
                "force_quote" => &mut into.about.quoted,
                "force_null" => &mut into.about.also_null,
                _ => &mut into.about.never_null,
            };
            if slot.is_some() {
                return Err(twice());
            }
            *slot = Some(match option.arg.as_deref().and_then(inner) {
                Some(NodeEnum::AStar(_)) if name == "force_quote" => Listed::All,
                Some(NodeEnum::List(list)) => {
                    let columns = names::strings(&list.items).into_iter();
                    Listed::Columns(columns.map(str::to_string).collect())
                }
                _ => {
                    let message =
                        format!("argument to option \"{name}\" must be a list of column names");
                    return Err(planner.error(
                        SqlState::INVALID_PARAMETER_VALUE,
                        message,
                        option.location,
                    ));
                }
            });
            Ok(())
        }
        other => {
            let message = format!("option \"{other}\" not recognized");
            Err(planner.error(SqlState::SYNTAX_ERROR, message, option.location))
        }
    }
}

/// An option's truth value; without one it is on.
pub(crate) fn boolean(planner: &Planner, option: &DefElem, text: Option<&str>) -> SqlResult<bool> {
    match text.map(str::to_ascii_lowercase).as_deref() {
        None | Some("true" | "on" | "1") => Ok(true),
        Some("false" | "off" | "0") => Ok(false),
        Some(_) => Err(planner.error(
            SqlState::SYNTAX_ERROR,
            format!("{} requires a Boolean value", option.defname),
            option.location,
        )),
    }
}

/// Arguments of EXECUTE and the like: expressions of constants.
pub(crate) fn constants(
    planner: &Planner,
    nodes: &[Node],
    clause: &'static str,
) -> SqlResult<Vec<Expr>> {
    let nothing = crate::scope::Scope::empty();
    let binder = Binder::new(planner, &nothing, clause);
    nodes.iter().map(|node| binder.bind(node)).collect()
}

//! Composite types as the catalogue knows them, and rows that become values of one.
//!
//! Relies on: the catalogue's records, `ir::function::record` for what is done to values.  Promises: a user's composite type and the rows
//! of a table, partition or view are one thing, by number: the type's own, or the relation's with [`ROW_TYPE`].  Does not: bind
//! names (`row_value`) or change types (`ddl`).

use crate::catalog::{Catalog, Relation};
use crate::coerce;
use crate::ddl::names_word;
use crate::planner::Planner;
use quintet_base::objects::mark;
use quintet_base::record::FieldShape;
use quintet_base::row::RowLayout;
use quintet_base::types::ROW_TYPE;
use quintet_base::{
    Shape, SpaceId, SqlError, SqlResult, SqlState, SqlType, Str, TableId, TypeMod, Value,
};
use quintet_ir::Expr;
use quintet_ir::cast::CastContext;
use quintet_ir::function::{self, record};
use quintet_ir::schema::{ColumnDef, TableDef, TableRef};
use std::sync::Arc;

/// The type of the rows of a table, a view, or of what stands for a composite type among tables.
pub(crate) fn type_of_rows(catalog: &Catalog, table: TableId) -> Option<SqlType> {
    if catalog.user_type(table.0).is_some() {
        return Some(SqlType::Composite(table.0));
    }
    let known = catalog.rows_of(table).is_some() || catalog.view(table).is_some();
    known.then_some(SqlType::Composite(table.0 | ROW_TYPE))
}

/// A column of what is no table.
fn column(name: &str, ty: SqlType, modifier: TypeMod) -> ColumnDef {
    ColumnDef {
        name: name.to_string(),
        ty,
        modifier,
        not_null: false,
        default: None,
        missing: None,
        identity: None,
        generated: None,
        hidden: false,
        dropped: false,
    }
}

/// A table that has such rows and is nowhere.
fn nowhere(id: TableId, schema: &str, name: &str, columns: Vec<ColumnDef>) -> TableRef {
    let layout = RowLayout::new(columns.iter().map(|column| column.ty).collect());
    Arc::new(TableDef {
        id,
        revision: 0,
        schema: schema.to_string(),
        name: name.to_string(),
        space: SpaceId(0),
        columns,
        primary_key: None,
        indexes: Vec::new(),
        checks: Vec::new(),
        layout,
        references: None,
        partitions: None,
    })
}

impl Catalog {
    /// The table whose rows are the values of a composite type; of a type or a view one that is nowhere.
    pub(crate) fn table_of_type(&self, number: u32) -> Option<TableRef> {
        if number & ROW_TYPE == 0 {
            let record = self.user_type(number)?;
            let fields = record.fields()?.iter();
            let fields = fields.map(|field| column(&field.name, field.ty, field.modifier));
            let id = TableId(record.id);
            return Some(nowhere(id, &record.schema, &record.name, fields.collect()));
        }
        let id = TableId(number & !ROW_TYPE);
        self.rows_of(id).or_else(|| {
            let view = self.view(id)?;
            let columns = view.columns.iter();
            let columns = columns.map(|known| column(&known.name, known.ty, known.modifier));
            Some(nowhere(id, &view.schema, &view.name, columns.collect()))
        })
    }

    /// The fields of a composite type.
    pub fn shape(&self, number: u32) -> Option<Arc<Shape>> {
        let field = |name: &str, ty, modifier| FieldShape {
            name: Str::from(name),
            ty,
            modifier,
        };
        let table = self.table_of_type(number)?;
        let columns = table.visible_columns();
        Some(Arc::new(Shape {
            ty: SqlType::Composite(number),
            fields: columns
                .map(|(_, column)| field(&column.name, column.ty, column.modifier))
                .collect(),
        }))
    }

    /// Schema and name of a composite type.
    pub(crate) fn name_of_composite(&self, number: u32) -> Option<(String, String)> {
        let table = self.table_of_type(number)?;
        Some((table.schema.clone(), table.name.clone()))
    }
}

impl Planner<'_> {
    /// The composite type that a name stands for, if it is that of rows of a relation.
    pub(crate) fn type_of_relation(&self, schema: Option<&str>, name: &str) -> Option<SqlType> {
        match self.find_relation(schema, name)? {
            Relation::Table(id) | Relation::Partition(id) | Relation::View(id) => {
                Some(SqlType::Composite(id.0 | ROW_TYPE))
            }
            _ => None,
        }
    }

    /// The fields of the values of an expression, where that is known when it is planned.
    pub(crate) fn shape_of(&self, expr: &Expr) -> Option<Arc<Shape>> {
        match (expr.ty(), expr) {
            (SqlType::Composite(number), _) => self.catalog().shape(number),
            (SqlType::Record, Expr::Call { function, args, .. })
                if matches!(function.name, record::MAKE | record::MAKE_IF_ANY) =>
            {
                match args.first()? {
                    Expr::Const(Value::Record(prototype), _) => Some(Arc::clone(&prototype.shape)),
                    _ => None,
                }
            }
            (SqlType::Record, Expr::Const(Value::Record(value), _)) => {
                Some(Arc::clone(&value.shape))
            }
            (
                SqlType::Record,
                Expr::Case {
                    branches,
                    otherwise,
                    ..
                },
            ) => {
                let values = branches.iter().map(|(_, value)| value).rev();
                let mut values = values.chain(otherwise.as_deref());
                values.find_map(|value| self.shape_of(value))
            }
            (SqlType::Record, Expr::Coalesce { args, .. }) => {
                args.iter().find_map(|value| self.shape_of(value))
            }
            (SqlType::Record, Expr::Cast { input, .. }) if input.ty().is_record() => {
                self.shape_of(input)
            }
            _ => None,
        }
    }
}

fn call(name: &str, args: Vec<Expr>, ty: SqlType) -> SqlResult<Expr> {
    let types: Vec<SqlType> = args.iter().map(Expr::ty).collect();
    let resolved = function::resolve(name, &types)?;
    Ok(quintet_ir::fold::fold(Expr::Call {
        function: resolved.function,
        args,
        ty,
    }))
}

/// A value of fields; `if_any`: NULL if they all are.
pub(crate) fn make(shape: &Arc<Shape>, fields: Vec<Expr>, if_any: bool) -> SqlResult<Expr> {
    let name = match if_any {
        true => record::MAKE_IF_ANY,
        false => record::MAKE,
    };
    let prototype = Expr::Const(shape.prototype(), shape.ty);
    let args = std::iter::once(prototype).chain(fields).collect();
    call(name, args, shape.ty)
}

/// A field of a value.
pub(crate) fn field(value: &Expr, place: usize, ty: SqlType) -> SqlResult<Expr> {
    if let Expr::Call { function, args, .. } = value
        && function.name == record::MAKE
        && let Some(field) = args.get(place + 1)
    {
        return Ok(field.clone());
    }
    let place = Value::Int4(i32::try_from(place).unwrap_or(i32::MAX));
    let place = Expr::Const(place, SqlType::Int4);
    call(record::FIELD, vec![value.clone(), place], ty)
}

/// The type of the value whose fields these are, all of them, one after the other.
pub(crate) fn taken_apart(fields: &[Expr]) -> Option<SqlType> {
    let mut whole: Option<&Expr> = None;
    for (number, field) in fields.iter().enumerate() {
        let Expr::Call { function, args, .. } = field else {
            return None;
        };
        let [value, Expr::Const(Value::Int4(place), _)] = args.as_slice() else {
            return None;
        };
        let is_next = function.name == record::FIELD
            && usize::try_from(*place) == Ok(number)
            && whole.is_none_or(|whole| crate::rewrite::same(whole, value));
        if !is_next {
            return None;
        }
        whole = Some(value);
    }
    whole.map(Expr::ty)
}

/// IS NULL or IS NOT NULL of a value.
pub(crate) fn null_test(value: Expr, negated: bool) -> SqlResult<Expr> {
    let name = match negated {
        true => record::IS_NOT_NULL,
        false => record::IS_NULL,
    };
    call(name, vec![value], SqlType::Bool)
}

/// The sides of a comparison of records; those that may not compare say so when they are.
pub(crate) fn compared(planner: &Planner, left: Expr, right: Expr) -> SqlResult<(Expr, Expr)> {
    let types = |expr: &Expr| -> Option<Vec<SqlType>> {
        let shape = planner.shape_of(expr)?;
        Some(shape.fields.iter().map(|field| field.ty).collect())
    };
    if let (Some(a), Some(b)) = (types(&left), types(&right))
        && record::comparable(&a, &b).is_ok()
    {
        return Ok((left, right));
    }
    let ty = left.ty();
    let checked = call(record::COMPARED, vec![left, right.clone()], ty)?;
    Ok((checked, right))
}

/// A row that was made of fields, or a value of a composite type, as a value of another; `None` where the type of what it is
/// made of is not known.
///
/// # Errors
/// `42846` if the fields do not fit.
pub(crate) fn convert(
    planner: &Planner,
    expr: &Expr,
    number: u32,
    context: CastContext,
) -> Option<SqlResult<Expr>> {
    if expr.ty() != SqlType::Record {
        return None;
    }
    if let Expr::Case {
        branches,
        otherwise: Some(otherwise),
        ..
    } = expr
        && let [(condition, Expr::Const(Value::Null, _))] = branches.as_slice()
    {
        // A row that an outer join may not have.
        let value = convert(planner, otherwise, number, context)?;
        return Some(value.map(|value| Expr::Case {
            ty: value.ty(),
            branches: vec![(condition.clone(), Expr::null(value.ty()))],
            otherwise: Some(Box::new(value)),
        }));
    }
    let given = planner.shape_of(expr)?;
    let wanted = planner.catalog().shape(number)?;
    let if_any =
        matches!(expr, Expr::Call { function, .. } if function.name == record::MAKE_IF_ANY);
    let fields = given.fields.iter().enumerate();
    let fields = fields.map(|(place, known)| match expr {
        Expr::Call { args, .. } if args.len() == given.fields.len() + 1 => {
            Ok(args[place + 1].clone())
        }
        _ => field(expr, place, known.ty),
    });
    Some(
        fields
            .collect::<SqlResult<Vec<Expr>>>()
            .and_then(|fields| fitted(planner, fields, &wanted, context))
            .and_then(|fields| make(&wanted, fields, if_any)),
    )
}

/// Fields as those of a composite type.
fn fitted(
    planner: &Planner,
    fields: Vec<Expr>,
    wanted: &Shape,
    context: CastContext,
) -> SqlResult<Vec<Expr>> {
    let refuse = |detail: String| {
        let message = format!("cannot cast type record to {}", wanted.ty);
        SqlError::new(SqlState::CANNOT_COERCE, message).detail(detail)
    };
    match fields.len().cmp(&wanted.fields.len()) {
        std::cmp::Ordering::Less => return Err(refuse("Input has too few columns.".into())),
        std::cmp::Ordering::Greater => return Err(refuse("Input has too many columns.".into())),
        std::cmp::Ordering::Equal => {}
    }
    let pairs = fields.into_iter().zip(&wanted.fields).zip(1..);
    let fit = pairs.map(|((field, known), number): (_, i32)| {
        let from = field.ty();
        let converted = coerce::convert(planner, field, known.ty, context).map_err(|error| {
            match error.state == SqlState::CANNOT_COERCE && error.detail.is_none() {
                true => refuse(format!(
                    "Cannot cast type {from} to {} in column {number}.",
                    known.ty
                )),
                false => error,
            }
        })?;
        let explicit = context == CastContext::Explicit;
        Ok(coerce::apply_modifier(
            converted,
            known.ty,
            known.modifier,
            explicit,
        ))
    });
    fit.collect()
}

/// `42703` for a field that a composite type has not.
pub(crate) fn no_field(ty: SqlType, name: &str) -> SqlError {
    let message = match ty {
        SqlType::Composite(number) => {
            format!("column \"{name}\" not found in data type {}", mark(number))
        }
        _ => format!("could not identify column \"{name}\" in record data type"),
    };
    SqlError::new(SqlState::UNDEFINED_COLUMN, message)
}

/// Composite types inside of a type, with all that is inside of those.
fn inside(catalog: &Catalog, ty: SqlType, found: &mut Vec<u32>) {
    let (SqlType::Composite(number) | SqlType::CompositeArray(number)) = ty else {
        return;
    };
    if found.contains(&number) {
        return;
    }
    found.push(number);
    let shape = catalog.shape(number);
    for field in shape.iter().flat_map(|shape| &shape.fields) {
        inside(catalog, field.ty, found);
    }
}

/// A view is kept as text, which may name a field that has another name now.
fn refuse_named(next: &Catalog, before: &Shape, after: &Shape, of: &str) -> SqlResult<()> {
    let fields = before.fields.iter().zip(&after.fields);
    for (old, _) in fields.filter(|(old, new)| old.name != new.name) {
        let mut views = next.all_views();
        if let Some(view) = views.find(|view| names_word(&view.text, &old.name)) {
            let what = format!(
                "another name for \"{}\" of type {of}, which view \"{}\" may name",
                old.name, view.name
            );
            return Err(SqlError::unsupported(what));
        }
    }
    Ok(())
}

/// Sees to it that no column holds values of a composite type that is another one now: rows keep the fields that there were.
///
/// # Errors
/// `0A000`; `2BP01` if the type is gone.
pub(crate) fn check_kept(now: &Catalog, next: &Catalog) -> SqlResult<()> {
    for table in next.tables() {
        for (_, column) in table.visible_columns() {
            let mut kept = Vec::new();
            inside(next, column.ty, &mut kept);
            for number in kept {
                let (before, after) = (now.shape(number), next.shape(number));
                let relation = TableId(number & !ROW_TYPE);
                let comes_later = next.rows_of(relation).is_none() || relation.0 > table.id.0;
                if number & ROW_TYPE != 0 && after.is_some() && relation != table.id && comes_later
                {
                    // A dump makes tables in their order, and views behind them.
                    let what =
                        "the rows of a view, or of a table that was made later, as a column's type";
                    return Err(SqlError::unsupported(what));
                }
                let Some(before) = before else {
                    continue;
                };
                let word = match number & ROW_TYPE {
                    0 => "type",
                    _ => "table",
                };
                let (_, of) = now.name_of_composite(number).unwrap_or_default();
                let of_column = format!("{}.{}", table.name, column.name);
                let Some(after) = after else {
                    let message =
                        format!("cannot drop {word} {of} because other objects depend on it");
                    let detail = format!(
                        "column {} of table {} depends on type {of}",
                        column.name, table.name
                    );
                    return Err(
                        SqlError::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, message)
                            .detail(detail)
                            .hint("Use DROP ... CASCADE to drop the dependent objects too."),
                    );
                };
                refuse_named(next, &before, &after, &of)?;
                let types = |shape: &Shape| -> Vec<(SqlType, TypeMod)> {
                    let fields = shape.fields.iter();
                    fields.map(|field| (field.ty, field.modifier)).collect()
                };
                if types(&before) != types(&after) {
                    let its = if word == "type" { "it" } else { "its row type" };
                    let message = format!(
                        "cannot alter {word} \"{of}\" because column \"{of_column}\" uses {its}"
                    );
                    return Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
                }
            }
            if let SqlType::Composite(number) | SqlType::CompositeArray(number) = column.ty
                && number == table.id.0 | ROW_TYPE
            {
                let message = format!(
                    "composite type {} cannot be made a member of itself",
                    table.name
                );
                return Err(SqlError::new(SqlState::INVALID_TABLE_DEFINITION, message));
            }
        }
    }
    Ok(())
}

//! Rows as a whole in expressions: `ROW(…)`, a row variable, a table's row, what a function gives.
//!
//! Relies on: `scope`, `variables`, `routine` for calls.  Promises: a row is its fields, bound one by one, so
//! that variables and parameters are slots, one for each; as one value it is of its table's type, or a record; a column's name comes
//! before a variable's, and that before a table's.  Does not: know how values are kept (`base::record`).

use crate::coerce;
use crate::composite;
use crate::expr::{Binder, and};
use crate::names::{self, inner, required};
use crate::variables::{Shape, Variables};
use pg_query::NodeEnum;
use pg_query::protobuf::{ColumnRef, Node, RowExpr};
use quintet_base::record::FieldShape;
use quintet_base::{
    self as base, SqlError, SqlResult, SqlState, SqlType, Str, TableId, TypeMod, Value,
};
use quintet_ir::{CompareOp, Expr};
use std::sync::Arc;

/// What a function's row is called whose call is written where a value stands.
pub(crate) const CALLED: &str = "\u{1}row";

/// A row.
#[derive(Debug)]
pub(crate) struct Row {
    pub fields: Vec<Field>,
    /// The table whose row it is, if that is known.
    pub table: Option<TableId>,
    /// True where an outer join has no row for it: then all of it is NULL, and so is the whole.
    pub missing: Option<Expr>,
    /// The value whose fields these are, if it is one.
    pub whole: Option<Expr>,
    /// It is NULL if its fields are: a variable, or what a call gave.
    pub if_any: bool,
    /// It is a row of `table` by itself: as a value its fields have the names that they have there, whatever they are called here.
    pub of_relation: bool,
}

/// NULL where a row is missing.
pub(crate) fn unless(missing: Option<Expr>, value: Expr) -> Expr {
    let ty = value.ty();
    match missing {
        Some(missing) => Expr::Case {
            branches: vec![(missing, Expr::null(ty))],
            otherwise: Some(Box::new(value)),
            ty,
        },
        None => value,
    }
}

/// `name.*`.
fn all_of(node: &Node) -> bool {
    let Some(NodeEnum::ColumnRef(column)) = inner(node) else {
        return false;
    };
    let last = column.fields.last().and_then(inner);
    column.fields.len() > 1 && matches!(last, Some(NodeEnum::AStar(_)))
}

pub(crate) fn is_null(expr: &Expr) -> Expr {
    Expr::IsNull {
        input: Box::new(expr.clone()),
        negated: false,
    }
}

/// A field of a row.
#[derive(Debug)]
pub(crate) struct Field {
    pub name: String,
    pub expr: Expr,
    pub modifier: TypeMod,
}

impl Row {
    /// The field of a name.
    ///
    /// # Errors
    /// `42703`.
    pub fn field(self, name: &str) -> SqlResult<Expr> {
        let found = self.fields.into_iter().find(|field| field.name == name);
        found.map(Field::into_expr).ok_or_else(|| {
            let message = format!("column \"{name}\" not found in data type record");
            SqlError::new(SqlState::UNDEFINED_COLUMN, message)
        })
    }
}

impl Field {
    /// The field as an expression of its own, which keeps its length.
    pub fn into_expr(self) -> Expr {
        match self.expr {
            Expr::Param(_, ty) => coerce::with_length(self.expr, ty, self.modifier),
            other => other,
        }
    }
}

impl Binder<'_, '_> {
    /// The fields of an expression that is a row; `None` if it is none, or not in this form.
    ///
    /// # Errors
    /// What its parts say.
    pub(crate) fn row(&self, node: &Node) -> SqlResult<Option<Row>> {
        match required(inner(node))? {
            NodeEnum::RowExpr(row) => {
                let parts = self.row_parts(row)?.into_iter().enumerate();
                let fields = parts.map(|(number, expr)| Field {
                    name: format!("f{}", number + 1),
                    expr,
                    modifier: TypeMod::NONE,
                });
                Ok(Some(Row {
                    fields: fields.collect(),
                    table: None,
                    missing: None,
                    whole: None,
                    if_any: false,
                    of_relation: false,
                }))
            }
            NodeEnum::ColumnRef(column) => self.named_row(column),
            NodeEnum::ParamRef(param) => Ok(self.row_parameter(param.number)),
            NodeEnum::FuncCall(call) => self.row_of_call(call),
            _ => Ok(None),
        }
    }

    /// The parts of ROW(…); `r.*` among them is the fields of a row.
    ///
    /// # Errors
    /// What binding them says.
    pub(crate) fn row_parts(&self, row: &RowExpr) -> SqlResult<Vec<Expr>> {
        let mut parts = Vec::with_capacity(row.args.len());
        for part in &row.args {
            let whole = match all_of(part) {
                true => self.row(part)?,
                false => None,
            };
            match whole {
                Some(whole) => parts.extend(whole.fields.into_iter().map(|field| field.expr)),
                None => parts.push(self.bind(part)?),
            }
        }
        Ok(parts)
    }

    /// `$n`, if it is a row.
    fn row_parameter(&self, number: i32) -> Option<Row> {
        let variables = self.planner.variables?;
        let number = usize::try_from(number - 1).ok()?;
        // A parameter's number is its variable's.
        match (variables.numbered.get(number)?, variables.shape(number)) {
            (None, Shape::Row(fields)) => Some(self.row_of_slots(variables, fields)),
            _ => None,
        }
    }

    fn row_of_slots(&self, variables: &Variables, fields: &[(String, usize)]) -> Row {
        let fields = fields.iter().map(|(name, slot)| {
            let (place, ty) = self.planner.slot(*slot);
            Field {
                name: name.clone(),
                expr: Expr::Param(place, ty),
                modifier: variables.modifiers[*slot],
            }
        });
        Row {
            fields: fields.collect(),
            table: None,
            missing: None,
            whole: None,
            if_any: true,
            of_relation: false,
        }
    }

    fn named_row(&self, column: &ColumnRef) -> SqlResult<Option<Row>> {
        let name = names::strings(&column.fields);
        if self.scope.resolve(self.planner, &name, -1).is_ok() {
            return Ok(None);
        }
        if let Some(variables) = self.planner.variables
            && let Some(shape) = variables.whole(&name)
        {
            let Shape::Row(fields) = shape else {
                return Ok(None);
            };
            let mut row = self.row_of_slots(variables, fields);
            // Rows in a trigger's condition are there.
            row.if_any &= !variables.are_there;
            if let [name] = name.as_slice()
                && let Some(absence) = variables.absence(name)
            {
                // One whose fields are all NULL is a row all the same. The slot of one that the function sets to NULL may itself be NULL.
                let told = |variable: &str, word: &str| match variables.whole(&[variable]) {
                    Some(Shape::Scalar(slot)) => {
                        let (place, ty) = self.planner.slot(*slot);
                        Some(Expr::Compare {
                            op: CompareOp::Eq,
                            left: Box::new(Expr::Param(place, ty)),
                            right: Box::new(Expr::Const(Value::text(word), ty)),
                        })
                    }
                    _ => None,
                };
                let emptied = variables.number(name);
                let emptied = emptied.and_then(|number| variables.emptied.get(&number));
                let emptied = emptied.map(|slot| {
                    let (place, ty) = self.planner.slot(*slot);
                    Expr::Distinct {
                        left: Box::new(Expr::Param(place, ty)),
                        right: Box::new(Expr::Const(Value::Bool(true), SqlType::Bool)),
                        negated: true,
                    }
                });
                let known = [
                    told("tg_level", "STATEMENT"),
                    told("tg_op", absence),
                    emptied,
                ];
                row.missing = Some(Expr::Or(known.into_iter().flatten().collect()));
                row.if_any = false;
            }
            return Ok(Some(row));
        }
        let [name] = name.as_slice() else {
            return Ok(None);
        };
        let here = self.scope.tables.iter().find(|table| table.name == *name);
        let around = match here {
            Some(_) => None,
            None => self.planner.outer_table(name),
        };
        let level = around.as_ref().map(|(level, _)| *level);
        let Some(table) = here.or(around.as_ref().map(|(_, table)| table)) else {
            return Ok(None);
        };
        let handed = |expr: Expr| match level {
            Some(level) => self.planner.hand_in(level, expr),
            None => expr,
        };
        let fields = table.shown().map(|column| {
            if let (Expr::Column(place, _), None) = (&column.expr, level) {
                self.planner.name_column(*place, -1);
            }
            self.planner.names_column(column.origin);
            Field {
                name: column.name.clone(),
                expr: handed(column.expr.clone()),
                modifier: column.modifier,
            }
        });
        let fields: Vec<Field> = fields.collect();
        let of_call = table.name == CALLED;
        let missing = table.is_optional.then(|| match table.anchor() {
            Some(anchor) => is_null(&handed(anchor.clone())),
            None => and(fields.iter().map(|field| is_null(&field.expr)).collect()),
        });
        Ok(Some(Row {
            fields,
            table: (table.row)
                .or_else(|| table.columns.first().and_then(|c| c.origin).map(|o| o.0)),
            missing,
            whole: None,
            if_any: of_call,
            of_relation: table.row.is_some(),
        }))
    }

    /// A row as one value.
    ///
    /// # Errors
    /// What settling its fields says.
    pub(crate) fn record(&self, row: Row) -> SqlResult<Expr> {
        if let Some(whole) = row.whole {
            return Ok(whole);
        }
        let missing = row.missing;
        let (mut fields, mut shapes) = (Vec::new(), Vec::new());
        for field in row.fields {
            let expr = match field.expr {
                // As in PostgreSQL it has no type until somebody asks for one.
                known @ Expr::Const(_, SqlType::Unknown) => known,
                other => coerce::settle(self.planner, other)?,
            };
            shapes.push(FieldShape {
                name: Str::from(field.name.as_str()),
                ty: expr.ty(),
                modifier: field.modifier,
            });
            fields.push(expr);
        }
        let of_value = composite::taken_apart(&fields);
        let of_relation = row.of_relation;
        let of_table = || {
            let catalog = self.planner.catalog();
            composite::type_of_rows(catalog, row.table?)
        };
        let known = of_value.or_else(of_table).and_then(|ty| {
            let SqlType::Composite(number) = ty else {
                return None;
            };
            let shape = self.planner.catalog().shape(number)?;
            let renamed = of_value.is_some() || of_relation;
            let same =
                |(a, b): (&FieldShape, &FieldShape)| (renamed || a.name == b.name) && a.ty == b.ty;
            let is_it = shape.fields.len() == shapes.len();
            (is_it && shape.fields.iter().zip(&shapes).all(same)).then_some(shape)
        });
        let shape = known.unwrap_or_else(|| {
            Arc::new(base::Shape {
                ty: SqlType::Record,
                fields: shapes,
            })
        });
        let record = composite::make(&shape, fields, row.if_any)?;
        Ok(unless(missing, record))
    }

    /// A value of a composite type as a row; `None` if nobody knows its fields.
    ///
    /// # Errors
    /// None that is expected.
    pub(crate) fn row_of_value(&self, value: &Expr) -> SqlResult<Option<Row>> {
        let Some(shape) = self.planner.shape_of(value) else {
            return Ok(None);
        };
        let fields = shape.fields.iter().enumerate().map(|(place, known)| {
            Ok(Field {
                name: known.name.to_string(),
                expr: composite::field(value, place, known.ty)?,
                modifier: known.modifier,
            })
        });
        let table = match value.ty() {
            SqlType::Composite(number) => self.planner.catalog().table_of_type(number),
            _ => None,
        };
        Ok(Some(Row {
            fields: fields.collect::<SqlResult<_>>()?,
            table: table.map(|table| table.id),
            missing: None,
            whole: Some(value.clone()),
            if_any: false,
            of_relation: false,
        }))
    }

    /// `left op right` of two rows of which one has a type of its own: NULL is like NULL then. A row that is not there is NULL itself.
    ///
    /// # Errors
    /// `42804` if they have not the same number of fields.
    pub(crate) fn compared_rows(&self, symbol: &str, left: Row, right: Row) -> SqlResult<Expr> {
        let missing: Vec<Expr> = [&left, &right]
            .into_iter()
            .filter_map(|row| row.missing.clone())
            .collect();
        let compared = match symbol {
            "=" => self.same_rows(left, right)?,
            "<>" => Expr::Not(Box::new(self.same_rows(left, right)?)),
            _ => {
                let (left, right) = (self.record(left)?, self.record(right)?);
                return self.binary(symbol, left, right);
            }
        };
        Ok(match missing.is_empty() {
            true => compared,
            false => unless(Some(Expr::Or(missing)), compared),
        })
    }

    /// `left IS NOT DISTINCT FROM right` of such rows.
    ///
    /// # Errors
    /// `42804` if they have not the same number of fields.
    pub(crate) fn indistinct_rows(&self, left: Row, right: Row) -> SqlResult<Expr> {
        let (one, two) = (left.missing.clone(), right.missing.clone());
        let same = self.same_rows(left, right)?;
        if one.is_none() && two.is_none() {
            return Ok(same);
        }
        let known = |missing: Option<Expr>| {
            missing.unwrap_or(Expr::Const(Value::Bool(false), SqlType::Bool))
        };
        let (one, two) = (known(one), known(two));
        Ok(Expr::Case {
            branches: vec![(
                Expr::Or(vec![one.clone(), two.clone()]),
                and(vec![one, two]),
            )],
            otherwise: Some(Box::new(same)),
            ty: SqlType::Bool,
        })
    }

    fn same_rows(&self, left: Row, right: Row) -> SqlResult<Expr> {
        if left.fields.len() != right.fields.len() {
            let message = "cannot compare record types with different numbers of columns";
            return Err(SqlError::new(SqlState::DATATYPE_MISMATCH, message));
        }
        let pairs = left.fields.into_iter().zip(right.fields);
        let same = pairs.map(|(left, right)| {
            let (left, right) = self.same_type(CompareOp::Eq, left.expr, right.expr)?;
            Ok(Expr::Distinct {
                left: Box::new(left),
                right: Box::new(right),
                negated: true,
            })
        });
        Ok(and(same.collect::<SqlResult<Vec<Expr>>>()?))
    }
}

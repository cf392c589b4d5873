//! The flat form that a statement of a routine is run in, with its targets.
//!
//! Relies on: `point`; what is stored in a column is of its type and fits its modifier.  Promises: the targets get what
//! they would get, and what would fail fails; columns that nobody looks at are not read.  Does not: say which
//! variables are looked at; the code does.

use super::Flat;
use crate::expr::Expr;
use crate::plan::Plan;
use crate::point::Point;
use crate::routine::Into;
use crate::schema::{TableDef, TableRef};
use crate::statement::Statement;
use quintet_base::{SqlType, TypeMod};

/// The flat form of a statement, if it has one.
pub(super) fn flattened(
    statement: &Statement,
    into: &Into,
    plain: bool,
    wanted: impl Fn(usize) -> bool,
) -> Option<Flat> {
    if !plain && let Some((statement, into)) = with_targets(statement, into) {
        let joined = flat_form(&statement, &into, true, &wanted);
        if let Some(joined) = joined.filter(|flat| flat.point.is_lean()) {
            return Some(Flat {
                joined: true,
                ..joined
            });
        }
    }
    flat_form(statement, into, plain, &wanted)
}

fn flat_form(
    statement: &Statement,
    into: &Into,
    plain: bool,
    wanted: &dyn Fn(usize) -> bool,
) -> Option<Flat> {
    if plain {
        // A target that is missing is not wanted; a column beyond the targets is not, either.
        let target = |place: usize| into.targets.get(place).map(|(slot, _)| *slot);
        let narrowed = Point::narrowed(statement, |place| target(place).is_some_and(wanted));
        if let Some((point, places)) = narrowed {
            let targets = places.iter().enumerate().filter_map(|(place, old)| {
                let (slot, value) = into.targets.get(*old)?;
                Some((*slot, Expr::Column(place, value.ty())))
            });
            let into = Into {
                targets: targets.collect(),
                ..into.clone()
            };
            return Some(Flat {
                plain: is_plain(&into),
                joined: false,
                place: 0,
                point,
                into,
            });
        }
    }
    Some(Flat {
        point: Point::of(statement)?,
        into: into.clone(),
        plain,
        // When all are known.
        place: 0,
        joined: false,
    })
}

/// A statement whose row has the targets' values in order, as they are computed over its own row, and behind them what
/// may fail besides; if that is the same.
fn with_targets(statement: &Statement, into: &Into) -> Option<(Statement, Into)> {
    let mut statement = statement.clone();
    let (table, output) = match &mut statement {
        Statement::Query(Plan::Project { input, exprs }) => match &**input {
            Plan::Scan(access) => (TableRef::clone(&access.table), exprs),
            _ => return None,
        },
        Statement::Update(update) => (TableRef::clone(&update.table), update.returning.as_mut()?),
        _ => return None,
    };
    // Each may be computed more often than it was.
    let is_free = |expr: &Expr| expr.is_free() && !expr.calls_routine();
    let targets = into.targets.iter();
    if !output.iter().all(is_free) || !targets.clone().all(|(_, value)| is_free(value)) {
        return None;
    }
    let values = targets.map(|(_, value)| {
        let mut value = value.clone();
        in_terms_of(&mut value, output)?;
        leave_needless_casts(&mut value, &table);
        Some(value)
    });
    let mut values = values.collect::<Option<Vec<_>>>()?;
    let targets = into.targets.iter().zip(&values).enumerate();
    let joined = Into {
        targets: targets
            .map(|(place, ((slot, _), value))| (*slot, Expr::Column(place, value.ty())))
            .collect(),
        ..into.clone()
    };
    let others = output.iter().enumerate().filter(|(place, expr)| {
        let computed = |(_, value): &(usize, Expr)| converted(value) == Some(*place);
        !matches!(expr, Expr::Column(..) | Expr::Const(..)) && !into.targets.iter().any(computed)
    });
    values.extend(others.map(|(_, other)| other.clone()));
    *output = values;
    Some((statement, joined))
}

/// The column that is all of a value but for conversions.
fn converted(value: &Expr) -> Option<usize> {
    match value {
        Expr::Column(place, _) => Some(*place),
        Expr::Cast { input, .. } => converted(input),
        _ => None,
    }
}

/// Leaves away conversions of what a table's columns are already: what is stored fits them.
fn leave_needless_casts(expr: &mut Expr, table: &TableDef) {
    expr.for_each_part_mut(&mut |part| leave_needless_casts(part, table));
    if let Expr::Cast {
        input,
        to,
        modifier,
        ..
    } = expr
        && is_already(input, (*to, *modifier), table)
    {
        *expr = std::mem::replace(input, Expr::null(SqlType::Unknown));
    }
}

/// Whether the value is one that a column of this type takes as it is.
fn is_already(value: &Expr, wanted: (SqlType, TypeMod), table: &TableDef) -> bool {
    let is = |value: &Expr| is_already(value, wanted, table);
    match value {
        Expr::Column(number, ty) => {
            let column = table.columns.get(*number);
            *ty == wanted.0
                && column
                    .is_some_and(|column| !column.dropped && (column.ty, column.modifier) == wanted)
        }
        Expr::Case {
            branches,
            otherwise,
            ty,
        } => {
            let otherwise = otherwise.as_deref().is_none_or(is);
            *ty == wanted.0 && otherwise && branches.iter().all(|(_, result)| is(result))
        }
        _ => false,
    }
}

/// Puts what comes out of a statement in the place of columns of its row; `None`: there is no such column.
fn in_terms_of(expr: &mut Expr, output: &[Expr]) -> Option<()> {
    if let Expr::Column(place, _) = expr {
        *expr = output.get(*place)?.clone();
        return Some(());
    }
    let mut known = Some(());
    expr.for_each_part_mut(&mut |part| {
        known = known.and_then(|()| in_terms_of(part, output));
    });
    known
}

/// Whether the targets take the columns of the row, in order, as they come.
pub(super) fn is_plain(into: &Into) -> bool {
    let mut targets = into.targets.iter().enumerate();
    targets.all(|(place, (_, value))| matches!(value, Expr::Column(column, _) if *column == place))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::ColumnDef;
    use quintet_base::row::RowLayout;
    use quintet_base::{SpaceId, TableId};

    fn table(modifiers: &[TypeMod]) -> TableDef {
        let column = |modifier: &TypeMod| ColumnDef {
            name: "c".into(),
            ty: SqlType::Varchar,
            modifier: *modifier,
            not_null: false,
            default: None,
            missing: None,
            identity: None,
            generated: None,
            dropped: false,
            hidden: false,
        };
        TableDef {
            id: TableId(1),
            revision: 1,
            schema: "public".into(),
            name: "t".into(),
            space: SpaceId(1),
            columns: modifiers.iter().map(column).collect(),
            primary_key: None,
            indexes: Vec::new(),
            checks: Vec::new(),
            layout: RowLayout::new(vec![SqlType::Varchar; modifiers.len()]),
            references: None,
            partitions: None,
        }
    }

    fn cast(input: Expr, modifier: TypeMod) -> Expr {
        Expr::Cast {
            input: Box::new(input),
            to: SqlType::Varchar,
            modifier,
            explicit: false,
        }
    }

    /// Only a conversion to exactly what the column is can do nothing.
    #[test]
    fn conversions_of_what_fits_already_are_left_away_and_no_others() {
        let [short, long] = [TypeMod::length(3), TypeMod::length(9)];
        let table = table(&[short, short, long]);
        let column = |number| Expr::Column(number, SqlType::Varchar);
        let case = |results: [Expr; 2]| {
            let [then, otherwise] = results;
            Expr::Case {
                branches: vec![(Expr::Const(quintet_base::Value::Null, SqlType::Bool), then)],
                otherwise: Some(Box::new(otherwise)),
                ty: SqlType::Varchar,
            }
        };
        let both = || case([column(0), column(1)]);
        let mixed = || case([column(0), column(2)]);
        let param = || Expr::Param(0, SqlType::Varchar);
        for (given, expected) in [
            (cast(column(0), short), column(0)),
            (cast(column(2), short), cast(column(2), short)),
            (cast(column(0), long), cast(column(0), long)),
            (cast(cast(column(0), short), short), column(0)),
            (cast(both(), short), both()),
            (cast(mixed(), short), cast(mixed(), short)),
            (cast(param(), short), cast(param(), short)),
        ] {
            let mut left = given.clone();
            leave_needless_casts(&mut left, &table);
            assert_eq!(format!("{left:?}"), format!("{expected:?}"), "{given:?}");
        }
    }
}

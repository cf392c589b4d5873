//! Conditions as a table's key columns see them.
//!
//! Relies on: comparisons as `operator` writes them.  Promises: what is read from a condition is
//! implied by it, in the column's own type: `smallint_column = 5::int` is a key of smallint, and an
//! int that fits no smallint equals no key.  An expression that an index is over is one of its columns, a hidden one.
//! Does not: choose among keys (`access`).

use crate::coerce::{convert_constant, strip_relabel};
use crate::expr::and;
use crate::rewrite::{is_volatile, move_columns, same};
use quintet_base::{SqlType, TypeMod, Value};
use quintet_ir::elements::{Wanted, wanted};
use quintet_ir::plan::KeyBound;
use quintet_ir::schema::TableDef;
use quintet_ir::{CompareOp, Elements, Expr, Test};

/// One condition as a key column sees it.
pub(crate) enum Part {
    Equal(Expr),
    In(Vec<Expr>),
    Lower(KeyBound),
    Upper(KeyBound),
}

pub(crate) struct Condition {
    pub number: usize,
    pub column: usize,
    pub part: Part,
    /// The path may yield rows for which the condition is false.
    pub recheck: bool,
}

/// `(a, b) IN ((…), …)`.
pub(crate) struct Rows {
    pub number: usize,
    pub columns: Vec<usize>,
    pub rows: Vec<Vec<Expr>>,
}

/// Reads conditions for one table.
pub(crate) struct Reader<'a> {
    table: &'a TableDef,
    offset: usize,
    usable: &'a dyn Fn(usize) -> bool,
    hidden: Hidden,
}

/// The expressions that a table's indexes are over, with their hidden columns, over the query's frame.
pub(crate) struct Hidden(Vec<(usize, Expr)>);

impl Hidden {
    /// Those of the table whose frame is at `offset`.
    pub fn of(table: &TableDef, offset: usize) -> Hidden {
        let truths: Vec<usize> = (table.indexes.iter())
            .filter(|index| index.partial)
            .map(|index| index.columns[0])
            .collect();
        let columns = table.columns.iter().enumerate();
        let hidden = columns.filter(|(n, c)| c.hidden && !c.dropped && !truths.contains(n));
        let sources = hidden.filter_map(|(number, column)| {
            let source = column.generated.as_ref()?;
            Some((number, move_columns(source, &|place| place + offset)))
        });
        Hidden(sources.collect())
    }

    /// The column that an expression is.
    pub fn column(&self, expr: &Expr) -> Option<usize> {
        let bare = strip_relabel(expr);
        let is_it = |source: &Expr| {
            let inside = strip_relabel(source);
            let plain = matches!(inside, Expr::Column(..) | Expr::Const(..));
            same(expr, source) || (!plain && same(bare, inside))
        };
        let found = self.0.iter().find(|(_, source)| is_it(source));
        found.map(|(column, _)| *column)
    }
}

impl<'a> Reader<'a> {
    /// A reader for the table whose frame is at `offset`; `usable` says which other places a key
    /// may be computed from.
    pub fn new(
        table: &'a TableDef,
        offset: usize,
        usable: &'a dyn Fn(usize) -> bool,
    ) -> Reader<'a> {
        Reader {
            table,
            offset,
            usable,
            hidden: Hidden::of(table, offset),
        }
    }
}

impl Reader<'_> {
    fn own(&self, place: usize) -> Option<usize> {
        place
            .checked_sub(self.offset)
            .filter(|&column| column < self.table.frame_width())
    }

    /// True if a key may be computed from the expression.
    fn is_key(&self, expr: &Expr) -> bool {
        let mut columns = Vec::new();
        expr.collect_columns(&mut columns);
        columns.iter().all(|&place| (self.usable)(place))
            && !is_volatile(expr)
            && !expr.has_subquery()
    }

    /// The condition as one column's.
    pub fn condition(&self, number: usize, condition: &Expr) -> Option<Condition> {
        match condition {
            Expr::Compare { op, left, right } => self
                .comparison(number, *op, left, right)
                .or_else(|| self.comparison(number, flip(*op), right, left)),
            Expr::InList {
                input,
                list,
                negated: false,
            } => {
                let side = self.side(input)?;
                let values: Option<Vec<Expr>> = list
                    .iter()
                    .map(|item| self.is_key(item).then(|| side.value(item, true)).flatten())
                    .collect();
                Some(Condition {
                    number,
                    column: side.column,
                    part: Part::In(values?),
                    recheck: side.recheck,
                })
            }
            _ => None,
        }
    }

    /// What the condition asks of a column's elements, if entries of such answer it.
    pub fn sought(
        &self,
        column: usize,
        elements: Elements,
        condition: &Expr,
    ) -> Option<(Test, Expr)> {
        let (tests, left, right) = match condition {
            Expr::Call { function, args, .. } => {
                let [left, right] = args.as_slice() else {
                    return None;
                };
                (Test::written(function.name), left, right)
            }
            Expr::Compare {
                op: CompareOp::Eq,
                left,
                right,
            } => (Test::written("="), &**left, &**right),
            _ => return None,
        };
        let sides = [(tests.0, left, right), (tests.1, right, left)];
        sides.into_iter().find_map(|(test, own, other)| {
            let test = test.filter(|test| elements.answer(*test))?;
            let side = self.array_side(own).or_else(|| self.side(own))?;
            let fits = side.column == column && alike(side.from, side.to) && self.is_key(other);
            let wanted = elements.compared(test, side.from);
            let fits = fits && alike(other.ty(), wanted);
            (fits && says_something(elements, test, other)).then(|| (test, other.clone()))
        })
    }

    /// A column of texts, compared as an array of another type of text.
    fn array_side(&self, expr: &Expr) -> Option<Side> {
        let Expr::Cast {
            input,
            to,
            modifier: TypeMod::NONE,
            ..
        } = expr
        else {
            return None;
        };
        let side = self.side(input)?;
        Some(Side { to: *to, ..side })
    }

    fn comparison(
        &self,
        number: usize,
        op: CompareOp,
        left: &Expr,
        right: &Expr,
    ) -> Option<Condition> {
        let side = self.side(left)?;
        if !self.is_key(right) {
            return None;
        }
        let exact = side.value(right, op == CompareOp::Eq);
        if side.recheck && op != CompareOp::Eq {
            return None;
        }
        // A bound that may have been moved to the nearest value of the column's type includes that one.
        let moved = exact.is_none();
        let value = match exact {
            Some(value) => value,
            None => side.clamped(op, right)?,
        };
        let bound = |inclusive| KeyBound {
            value: value.clone(),
            inclusive: inclusive || moved,
        };
        let part = match op {
            CompareOp::Eq => Part::Equal(value),
            CompareOp::Gt => Part::Lower(bound(false)),
            CompareOp::Ge => Part::Lower(bound(true)),
            CompareOp::Lt => Part::Upper(bound(false)),
            CompareOp::Le => Part::Upper(bound(true)),
            CompareOp::Ne => return None,
        };
        Some(Condition {
            number,
            column: side.column,
            part,
            recheck: side.recheck || (moved && matches!(op, CompareOp::Gt | CompareOp::Lt)),
        })
    }

    /// A table column, bare or under the conversion that comparing needed.
    fn side(&self, expr: &Expr) -> Option<Side> {
        if let Some(side) = self.hidden_side(expr) {
            return Some(side);
        }
        let (place, from, to) = match strip_relabel(expr) {
            Expr::Column(place, ty) => (*place, *ty, *ty),
            Expr::Cast {
                input,
                to,
                modifier: TypeMod::NONE,
                ..
            } => match &**input {
                Expr::Column(place, ty) => (*place, *ty, *to),
                _ => return None,
            },
            _ => return None,
        };
        let column = self.own(place)?;
        Some(Side {
            column,
            from,
            to,
            recheck: from == SqlType::Bpchar && to != SqlType::Bpchar,
        })
    }

    /// The same for an expression that an index is over.
    fn hidden_side(&self, expr: &Expr) -> Option<Side> {
        let (column, to) = match (self.hidden.column(expr), strip_relabel(expr)) {
            (Some(column), _) => (column, None),
            (
                None,
                Expr::Cast {
                    input,
                    to,
                    modifier: TypeMod::NONE,
                    ..
                },
            ) => (self.hidden.column(input)?, Some(*to)),
            _ => return None,
        };
        let from = self.table.columns[column].ty;
        let to = to.unwrap_or(from);
        Some(Side {
            column,
            from,
            to,
            recheck: from == SqlType::Bpchar && to != SqlType::Bpchar,
        })
    }

    /// `(a, b) IN (…)` as the binder writes it: OR of ANDs of equalities over the same columns.
    pub fn rows(&self, number: usize, condition: &Expr) -> Option<Rows> {
        let Expr::Or(alternatives) = condition else {
            return None;
        };
        let mut columns: Option<Vec<usize>> = None;
        let mut rows = Vec::with_capacity(alternatives.len());
        for alternative in alternatives {
            let parts = match alternative {
                Expr::And(parts) => parts.as_slice(),
                single => std::slice::from_ref(single),
            };
            let mut here = Vec::with_capacity(parts.len());
            let mut values = Vec::with_capacity(parts.len());
            for part in parts {
                let read = self.condition(number, part).filter(|c| !c.recheck)?;
                let Part::Equal(value) = read.part else {
                    return None;
                };
                here.push(read.column);
                values.push(value);
            }
            if *columns.get_or_insert_with(|| here.clone()) != here {
                return None;
            }
            rows.push(values);
        }
        let columns = columns?;
        let mut distinct = columns.clone();
        distinct.sort_unstable();
        distinct.dedup();
        (distinct.len() == columns.len()).then_some(Rows {
            number,
            columns,
            rows,
        })
    }
}

/// False if the elements do not tell which texts match a pattern that is known.
fn says_something(elements: Elements, test: Test, with: &Expr) -> bool {
    match strip_relabel(with) {
        Expr::Const(value, _) if elements == Elements::Trigrams => {
            wanted(elements, test, value, 1.0) != Wanted::Anything
        }
        _ => true,
    }
}

/// True for one type, and for types of text and arrays of them, whose values are the same.
fn alike(one: SqlType, other: SqlType) -> bool {
    let is_text = |ty: SqlType| matches!(ty, SqlType::Text | SqlType::Varchar);
    one == other
        || match (one.element(), other.element()) {
            (Some(one), Some(other)) => is_text(one) && is_text(other),
            (None, None) => is_text(one) && is_text(other),
            _ => false,
        }
}

/// One side of a comparison that is a column of type `from` compared as `to`.
struct Side {
    column: usize,
    from: SqlType,
    to: SqlType,
    recheck: bool,
}

impl Side {
    /// The other side as a value of the column's own type; `None` if the comparison cannot be said
    /// in that type.
    fn value(&self, other: &Expr, equality: bool) -> Option<Expr> {
        use SqlType::{
            Bit, Bpchar, Cidr, Inet, Int2, Int4, Int8, Name, Numeric, Text, VarBit, Varchar,
        };
        let other = if self.from == self.to {
            other
        } else {
            strip_relabel(other)
        };
        if self.from == self.to {
            return Some(other.clone());
        }
        match (self.from, self.to) {
            // Keys of both are the same.
            (Cidr, Inet) | (Bit, VarBit) => Some(other.clone()),
            (Text | Varchar | Name, Text | Varchar | Name) => Some(other.clone()),
            (Bpchar, _) if equality => Some(Expr::Cast {
                input: Box::new(other.clone()),
                to: Bpchar,
                modifier: TypeMod::NONE,
                explicit: false,
            }),
            (Int2 | Int4, Int4 | Int8) => match other {
                Expr::Const(value, from) => Some(Expr::Const(
                    convert_constant(value, *from, self.from)?,
                    self.from,
                )),
                other if equality => Some(narrow(other, self.from)),
                _ => None,
            },
            (Int2 | Int4 | Int8, Numeric) => match other {
                Expr::Const(Value::Numeric(number), _) if number.is_integral() => {
                    let value = Value::Int8(number.to_i64()?);
                    Some(Expr::Const(
                        convert_constant(&value, Int8, self.from)?,
                        self.from,
                    ))
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// A wider integer, not known yet, as a bound of the column's type: the nearest value that the type has, or NULL (of which nothing is on
    /// either side) if nothing of the type is on the side asked for. To be used with that value included.
    fn clamped(&self, op: CompareOp, other: &Expr) -> Option<Expr> {
        use SqlType::*;
        let (Int2 | Int4, Int4 | Int8) = (self.from, self.to) else {
            return None;
        };
        let other = strip_relabel(other);
        if matches!(other, Expr::Const(..)) {
            return None;
        }
        let (min, max) = limits(self.from);
        let (beyond, end, within, far) = match op {
            CompareOp::Gt | CompareOp::Ge => (CompareOp::Lt, min, CompareOp::Le, max),
            CompareOp::Lt | CompareOp::Le => (CompareOp::Gt, max, CompareOp::Ge, min),
            CompareOp::Eq | CompareOp::Ne => return None,
        };
        let nearest = convert_constant(&Value::Int8(end), Int8, self.from)?;
        let branches = vec![
            (compare(beyond, other, end), Expr::Const(nearest, self.from)),
            (compare(within, other, far), cast(other, self.from)),
        ];
        Some(Expr::Case {
            branches,
            otherwise: None,
            ty: self.from,
        })
    }
}

/// A wider integer as a narrower one, NULL (which no key equals) where it does not fit.
fn narrow(expr: &Expr, to: SqlType) -> Expr {
    let (min, max) = limits(to);
    let fits = and(vec![
        compare(CompareOp::Ge, expr, min),
        compare(CompareOp::Le, expr, max),
    ]);
    Expr::Case {
        branches: vec![(fits, cast(expr, to))],
        otherwise: None,
        ty: to,
    }
}

fn limits(of: SqlType) -> (i64, i64) {
    match of {
        SqlType::Int2 => (i64::from(i16::MIN), i64::from(i16::MAX)),
        _ => (i64::from(i32::MIN), i64::from(i32::MAX)),
    }
}

/// An integer compared with a constant of its own type.
fn compare(op: CompareOp, expr: &Expr, constant: i64) -> Expr {
    let wide = expr.ty();
    let value = convert_constant(&Value::Int8(constant), SqlType::Int8, wide);
    Expr::Compare {
        op,
        left: Box::new(expr.clone()),
        right: Box::new(Expr::Const(value.unwrap_or_default(), wide)),
    }
}

fn cast(expr: &Expr, to: SqlType) -> Expr {
    Expr::Cast {
        input: Box::new(expr.clone()),
        to,
        modifier: TypeMod::NONE,
        explicit: false,
    }
}

fn flip(op: CompareOp) -> CompareOp {
    match op {
        CompareOp::Lt => CompareOp::Gt,
        CompareOp::Le => CompareOp::Ge,
        CompareOp::Gt => CompareOp::Lt,
        CompareOp::Ge => CompareOp::Le,
        op => op,
    }
}

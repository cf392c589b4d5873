//! The choice of an access path: which conditions on a table become ranges of a key.
//!
//! Relies on: conditions split at AND.  Promises: the path yields every row for which the
//! conditions it takes are true, and none for which one is not; what it does not take is left to
//! the caller.  Does not: estimate costs; the rule is fixed:
//!
//! 1. a unique key with equality on all its columns;
//! 2. else the key with the longest equality prefix;
//! 3. among equals the one with a bound on the next column, then one in the order asked for,
//!    then the primary key, then the index made first;
//! 4. without any of these every row, by the index whose order is asked for if there is a LIMIT.
//!
//! Equality is `column = e`, `column IN (…)`, `(a, b) IN ((…), …)` and the same written with OR; a
//! bound is `< <= > >=`. `e` may use other tables' columns as long as those tables come earlier in the join.

use crate::coerce::{convert_constant, strip_relabel};
use crate::expr::and;
use crate::rewrite::is_volatile;
use quintet_base::{SqlType, TypeMod, Value};
use quintet_ir::plan::{KeyBound, KeyRange, Path, SortKey};
use quintet_ir::schema::TableDef;
use quintet_ir::{CompareOp, Expr};

/// Most ranges of one path; a longer product of IN lists is left to a filter.
const RANGES_MAX: usize = 65_536;

/// A way to a table's rows.
#[derive(Debug)]
pub(crate) struct Choice {
    pub path: Path,
    pub reverse: bool,
    /// Conditions that the path makes true.
    pub taken: Vec<usize>,
    /// The rows come in the order asked for.
    pub sorted: bool,
    /// At most one row.
    pub single: bool,
    /// How good it is, best greatest: see the rule.
    pub rank: Rank,
}

/// Compares in the order of the rule.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) struct Rank {
    unique: bool,
    equal: usize,
    bounded: bool,
    sorted: bool,
    primary: bool,
}

impl Rank {
    /// True if the path begins with equality.
    pub fn has_equality(self) -> bool {
        self.equal > 0
    }
}

/// What is asked of the rows' order, over the same frame as the conditions.
#[derive(Clone, Copy)]
pub(crate) struct Order<'a> {
    pub keys: &'a [SortKey],
    /// Only some rows are wanted, so that order is worth a longer way.
    pub limited: bool,
    /// No other table is joined: one row of this one is one row of the result.
    pub alone: bool,
}

/// One condition as a key column sees it.
enum Part {
    Equal(Expr),
    In(Vec<Expr>),
    Lower(KeyBound),
    Upper(KeyBound),
}

struct Condition {
    number: usize,
    column: usize,
    part: Part,
    /// The path may yield rows for which the condition is false.
    recheck: bool,
}

/// `(a, b) IN ((…), …)`.
struct Rows {
    number: usize,
    columns: Vec<usize>,
    rows: Vec<Vec<Expr>>,
}

/// Chooses the path to the rows of `table`, whose frame is at `offset`. `usable` says which other
/// places a key may be computed from.
pub(crate) fn choose(
    table: &TableDef,
    offset: usize,
    conditions: &[&Expr],
    usable: &dyn Fn(usize) -> bool,
    order: Option<Order>,
) -> Choice {
    let reader = Reader {
        table,
        offset,
        usable,
    };
    let mut single = Vec::new();
    let mut rows = Vec::new();
    for (number, condition) in conditions.iter().enumerate() {
        single.extend(reader.condition(number, condition));
        rows.extend(reader.rows(number, condition));
    }
    let mut best = every_row(table, offset, order);
    let mut keys: Vec<(Option<usize>, &[usize], bool)> = Vec::new();
    if let Some(key) = &table.primary_key {
        keys.push((None, &key.columns, true));
    }
    for (number, index) in table.indexes.iter().enumerate() {
        keys.push((Some(number), &index.columns, index.unique));
    }
    for (index, columns, unique) in keys {
        let candidate = match_key(table, offset, index, columns, unique, &single, &rows, order);
        if let Some(candidate) = candidate
            && candidate.rank > best.rank
        {
            best = candidate;
        }
    }
    best
}

/// The whole table, in an order that helps if there is one.
fn every_row(table: &TableDef, offset: usize, order: Option<Order>) -> Choice {
    let mut choice = Choice {
        path: Path::Full,
        reverse: false,
        taken: vec![],
        sorted: false,
        single: false,
        rank: Rank::default(),
    };
    let Some(order) = order else {
        return choice;
    };
    let primary = table.primary_key.as_ref().map(|key| &key.columns);
    if let Some(reverse) =
        primary.and_then(|columns| satisfies(table, offset, columns, 0, order.alone, order.keys))
    {
        choice.reverse = reverse;
        choice.sorted = true;
        choice.rank.sorted = true;
        return choice;
    }
    if !order.limited {
        return choice;
    }
    for (number, index) in table.indexes.iter().enumerate() {
        if let Some(reverse) = satisfies(table, offset, &index.columns, 0, false, order.keys) {
            choice.path = Path::Index(number, vec![KeyRange::default()]);
            choice.reverse = reverse;
            choice.sorted = true;
            choice.rank.sorted = true;
            return choice;
        }
    }
    choice
}

#[allow(clippy::too_many_arguments)] // one caller; a struct would only rename them
fn match_key(
    table: &TableDef,
    offset: usize,
    index: Option<usize>,
    columns: &[usize],
    unique: bool,
    conditions: &[Condition],
    rows: &[Rows],
    order: Option<Order>,
) -> Option<Choice> {
    let mut prefixes: Vec<Vec<Expr>> = vec![vec![]];
    let mut taken = Vec::new();
    let mut take = |number: usize, recheck: bool| {
        if !recheck {
            taken.push(number);
        }
    };
    let mut equal = 0;
    while equal < columns.len() {
        let column = columns[equal];
        let here = |c: &&Condition| c.column == column;
        let found = conditions
            .iter()
            .filter(here)
            .find(|c| matches!(c.part, Part::Equal(_)));
        let found = found.or_else(|| {
            conditions.iter().filter(here).find(|c| match &c.part {
                Part::In(list) => list.len() * prefixes.len() <= RANGES_MAX,
                _ => false,
            })
        });
        if let Some(condition) = found {
            match &condition.part {
                Part::Equal(value) => prefixes.iter_mut().for_each(|p| p.push(value.clone())),
                Part::In(list) => {
                    prefixes = product(&prefixes, list.iter().map(std::slice::from_ref))
                }
                Part::Lower(_) | Part::Upper(_) => {}
            }
            take(condition.number, condition.recheck);
            equal += 1;
            continue;
        }
        let rest = &columns[equal..];
        let fitting = rows.iter().find(|r| {
            r.columns.len() <= rest.len()
                && r.rows.len() * prefixes.len() <= RANGES_MAX
                && rest[..r.columns.len()]
                    .iter()
                    .all(|c| r.columns.contains(c))
        });
        let Some(fitting) = fitting else { break };
        let width = fitting.columns.len();
        let order: Vec<usize> = rest[..width]
            .iter()
            .filter_map(|c| fitting.columns.iter().position(|other| other == c))
            .collect();
        let tails: Vec<Vec<Expr>> = fitting
            .rows
            .iter()
            .map(|row| order.iter().map(|&i| row[i].clone()).collect())
            .collect();
        prefixes = product(&prefixes, tails.iter().map(Vec::as_slice));
        take(fitting.number, false);
        equal += width;
    }
    let (mut lower, mut upper) = (None, None);
    if let Some(&column) = columns.get(equal) {
        for condition in conditions.iter().filter(|c| c.column == column) {
            match &condition.part {
                Part::Lower(bound) if lower.is_none() => lower = Some(bound.clone()),
                Part::Upper(bound) if upper.is_none() => upper = Some(bound.clone()),
                _ => continue,
            }
            take(condition.number, condition.recheck);
        }
    }
    let bounded = lower.is_some() || upper.is_some();
    if equal == 0 && !bounded {
        return None;
    }
    let full = unique && equal == columns.len();
    let one_range = prefixes.len() == 1;
    let single = full && one_range;
    let direction = match order {
        Some(order) if single && order.alone => Some(false),
        Some(order) if one_range => satisfies(
            table,
            offset,
            columns,
            equal,
            order.alone && index.is_none(),
            order.keys,
        ),
        _ => None,
    };
    let ranges = prefixes
        .into_iter()
        .map(|equal| KeyRange {
            equal,
            lower: lower.clone(),
            upper: upper.clone(),
        })
        .collect();
    Some(Choice {
        path: match index {
            None => Path::Primary(ranges),
            Some(number) => Path::Index(number, ranges),
        },
        reverse: direction == Some(true),
        taken,
        sorted: direction.is_some(),
        single,
        rank: Rank {
            unique: full,
            equal,
            bounded,
            sorted: direction.is_some(),
            primary: index.is_none(),
        },
    })
}

fn product<'e>(
    prefixes: &[Vec<Expr>],
    tails: impl Iterator<Item = &'e [Expr]> + Clone,
) -> Vec<Vec<Expr>> {
    let mut all = Vec::new();
    for prefix in prefixes {
        for tail in tails.clone() {
            let mut whole = Vec::with_capacity(prefix.len() + tail.len());
            whole.extend_from_slice(prefix);
            whole.extend_from_slice(tail);
            all.push(whole);
        }
    }
    all
}

/// Whether a key's order, with the first `equal` columns fixed, is the order asked for, and in
/// which direction (`true`: backwards). `identifies`: no two rows have equal keys.
fn satisfies(
    table: &TableDef,
    offset: usize,
    columns: &[usize],
    equal: usize,
    identifies: bool,
    wanted: &[SortKey],
) -> Option<bool> {
    let mut reverse = None;
    let mut next = equal;
    for key in wanted {
        if next == columns.len() && identifies {
            // All of the key is fixed or sorted by: no two rows are left to order.
            break;
        }
        let Expr::Column(place, _) = key.expr else {
            return None;
        };
        let column = place
            .checked_sub(offset)
            .filter(|&c| c < table.columns.len())?;
        if columns[..equal].contains(&column) {
            continue;
        }
        if columns.get(next) != Some(&column) {
            return None;
        }
        if key.nulls_first != key.descending && !table.columns[column].not_null {
            return None;
        }
        if *reverse.get_or_insert(key.descending) != key.descending {
            return None;
        }
        next += 1;
    }
    Some(reverse.unwrap_or(false))
}

/// Reads conditions for one table.
struct Reader<'a> {
    table: &'a TableDef,
    offset: usize,
    usable: &'a dyn Fn(usize) -> bool,
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
        columns.iter().all(|&place| (self.usable)(place)) && !is_volatile(expr)
    }

    fn condition(&self, number: usize, condition: &Expr) -> Option<Condition> {
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
        let value = side.value(right, op == CompareOp::Eq)?;
        if side.recheck && op != CompareOp::Eq {
            return None;
        }
        let bound = |inclusive| KeyBound {
            value: value.clone(),
            inclusive,
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
            recheck: side.recheck,
        })
    }

    /// A table column, bare or under the conversion that comparing needed.
    fn side(&self, expr: &Expr) -> Option<Side> {
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

    /// `(a, b) IN (…)` as the binder writes it: OR of ANDs of equalities over the same columns.
    fn rows(&self, number: usize, condition: &Expr) -> Option<Rows> {
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
        use SqlType::*;
        let other = if self.from == self.to {
            other
        } else {
            strip_relabel(other)
        };
        if self.from == self.to {
            return Some(other.clone());
        }
        match (self.from, self.to) {
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
}

/// A wider integer as a narrower one, NULL (which no key equals) where it does not fit.
fn narrow(expr: &Expr, to: SqlType) -> Expr {
    let wide = expr.ty();
    let (min, max) = match to {
        SqlType::Int2 => (i64::from(i16::MIN), i64::from(i16::MAX)),
        _ => (i64::from(i32::MIN), i64::from(i32::MAX)),
    };
    let limit = |value: i64| {
        let value = convert_constant(&Value::Int8(value), SqlType::Int8, wide);
        Box::new(Expr::Const(value.unwrap_or_default(), wide))
    };
    let compare = |op, bound| Expr::Compare {
        op,
        left: Box::new(expr.clone()),
        right: limit(bound),
    };
    Expr::Case {
        branches: vec![(
            and(vec![
                compare(CompareOp::Ge, min),
                compare(CompareOp::Le, max),
            ]),
            Expr::Cast {
                input: Box::new(expr.clone()),
                to,
                modifier: TypeMod::NONE,
                explicit: false,
            },
        )],
        otherwise: None,
        ty: to,
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

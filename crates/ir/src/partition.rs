//! Partitions: which part of a table a row belongs to.
//!
//! Relies on: the table's frame; `hash`, PostgreSQL's own for partitions.  Promises: a row belongs to one
//! partition or to none, [`Partitioning::part_of`] and [`Partitioning::condition`] say the same of it, and both say it for ever:
//! the hash never changes.  Does not: keep rows apart. All rows of a table live in its one space, whatever they belong to
//! ([decision 52]), so no index, lock or plan knows of partitions.
//!
//! | method | a row belongs to | with a NULL in the key |
//! |---|---|---|
//! | range | the partition with `from <= key < to`, column after column | to the default one |
//! | list | the one that names its value | the one that names NULL, else the default one |
//! | hash | the one with `hash(key) % modulus = remainder` | as any value |
//!
//! A partition may be divided itself: [`Part::inner`]. `tree` goes down from the table to the partition that has a row.
//!
//! [decision 52]: ../../../docs/decisions/0052-a-partition-is-a-part-of-one-table.md

mod hash;
mod tree;

use crate::eval::Host;
use crate::expr::{CompareOp, Expr};
use crate::function::{Function, Volatility};
use hash::hash_of;
pub use hash::is_hashable;
pub(crate) use hash::of_bytes as hash_of_bytes;
use quintet_base::{SqlError, SqlResult, SqlType, TableId, TypeMod, Value};
use std::cmp::Ordering;
use std::sync::Arc;
pub use tree::{Homeless, Misfit, Partitions};

/// How the rows of a table are divided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    /// By ranges of the key.
    Range,
    /// By values of the one column of the key.
    List,
    /// By a hash of the key.
    Hash,
}

/// One end of a range in one column.
#[derive(Clone, Debug)]
pub enum Limit {
    /// MINVALUE: below every value.
    Min,
    /// A value, not NULL.
    Value(Value),
    /// MAXVALUE: above every value.
    Max,
}

/// What belongs to a partition.
#[derive(Clone, Debug)]
pub enum Bound {
    /// From here on, up to there; one limit per column of the key.
    Range(Vec<Limit>, Vec<Limit>),
    /// These values, NULL perhaps among them.
    List(Vec<Value>),
    /// What leaves `remainder` when its hash is divided by `modulus`.
    Hash {
        /// Above 0.
        modulus: u32,
        /// Below `modulus`.
        remainder: u32,
    },
    /// What belongs to no other.
    Default,
}

/// A partition.
#[derive(Clone, Debug)]
pub struct Part {
    /// The number that its name has.
    pub id: TableId,
    /// Schema of its name.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// What belongs to it.
    pub bound: Bound,
    /// How it is divided itself, if it is: a key of columns of the same table.
    pub inner: Option<Arc<Partitioning>>,
}

/// How a table is divided, and into what.
#[derive(Clone, Debug)]
pub struct Partitioning {
    /// By what.
    pub method: Method,
    /// The key: columns of the table, of these types.
    pub columns: Vec<(usize, SqlType)>,
    /// No two bounds overlap. Ranges in their order, the default one behind them; others in any order.
    pub parts: Vec<Part>,
}

/// Blanks at the end of `char(n)` count for nothing.
fn plain<'v>(value: &'v Value, ty: SqlType, trimmed: &'v mut Value) -> &'v Value {
    match value {
        Value::Text(text) if ty == SqlType::Bpchar && text.ends_with(' ') => {
            *trimmed = Value::text(text.trim_end_matches(' '));
            trimmed
        }
        value => value,
    }
}

impl Limit {
    fn order_of(&self, value: &Value) -> Ordering {
        match self {
            Limit::Min => Ordering::Less,
            Limit::Max => Ordering::Greater,
            Limit::Value(limit) => limit.order(value),
        }
    }

    /// Order of two limits of one column.
    pub fn order(&self, other: &Limit) -> Ordering {
        match (self, other) {
            (Limit::Min, Limit::Min) | (Limit::Max, Limit::Max) => Ordering::Equal,
            (limit, Limit::Value(value)) => limit.order_of(value),
            (Limit::Min, _) | (_, Limit::Max) => Ordering::Less,
            (Limit::Max, _) | (_, Limit::Min) => Ordering::Greater,
        }
    }
}

/// Order of two ends of ranges.
pub fn order_of_limits(one: &[Limit], other: &[Limit]) -> Ordering {
    let pairs = one.iter().zip(other);
    pairs
        .map(|(one, other)| one.order(other))
        .find(|order| order.is_ne())
        .unwrap_or(Ordering::Equal)
}

impl Part {
    /// The order of the partitions of a table.
    pub fn order(&self, other: &Part) -> Ordering {
        match (&self.bound, &other.bound) {
            (Bound::Range(one, _), Bound::Range(other, _)) => order_of_limits(one, other),
            (Bound::Default, Bound::Default) => Ordering::Equal,
            (Bound::Default, _) => Ordering::Greater,
            (_, Bound::Default) => Ordering::Less,
            _ => self.id.cmp(&other.id),
        }
    }
}

impl Bound {
    /// True if some key belongs to both, in a table that is divided by one method. A default overlaps with defaults only.
    pub fn overlaps(&self, other: &Bound) -> bool {
        match (self, other) {
            (Bound::Default, Bound::Default) => true,
            (Bound::Range(from, to), Bound::Range(other_from, other_to)) => {
                order_of_limits(from, other_to).is_lt() && order_of_limits(other_from, to).is_lt()
            }
            (Bound::List(values), Bound::List(others)) => values
                .iter()
                .any(|value| others.iter().any(|other| value.order(other).is_eq())),
            (
                &Bound::Hash { modulus, remainder },
                &Bound::Hash {
                    modulus: other_modulus,
                    remainder: other_remainder,
                },
            ) => {
                // One divides the other: whoever is in the finer class is in its remainder of the coarser.
                let coarse = modulus.min(other_modulus);
                remainder % coarse == other_remainder % coarse
            }
            _ => false,
        }
    }
}

impl Partitioning {
    /// The partition that a row belongs to, by its number; `row` begins with the table's columns.
    pub fn part_of(&self, row: &[Value]) -> Option<usize> {
        let mut trimmed = vec![Value::Null; self.columns.len()];
        let keys = self.columns.iter().zip(&mut trimmed);
        let keys: Vec<&Value> = keys
            .map(|((column, ty), trimmed)| plain(&row[*column], *ty, trimmed))
            .collect();
        let hash = match self.method {
            Method::Hash => hash_of(&keys),
            Method::Range | Method::List => 0,
        };
        let takes = |part: &Part| match &part.bound {
            Bound::List(values) => values.iter().any(|value| value.order(keys[0]).is_eq()),
            Bound::Hash { modulus, remainder } => {
                hash % u64::from(*modulus) == u64::from(*remainder)
            }
            Bound::Range(..) | Bound::Default => false,
        };
        let found = match self.method {
            Method::Range => self.range_of(&keys),
            Method::List | Method::Hash => self.parts.iter().position(takes),
        };
        found.or_else(|| self.default())
    }

    /// The range that a key lies in.
    fn range_of(&self, keys: &[&Value]) -> Option<usize> {
        if keys.iter().any(|key| key.is_null()) {
            return None;
        }
        let begins = |part: &Part| match &part.bound {
            Bound::Range(from, _) => order_of_key(from, keys).is_le(),
            _ => false,
        };
        // The last one that begins at or below the key.
        let number = self.parts.partition_point(begins).checked_sub(1)?;
        let reaches = match &self.parts[number].bound {
            Bound::Range(_, to) => order_of_key(to, keys).is_gt(),
            _ => false,
        };
        reaches.then_some(number)
    }

    /// The number of the default partition.
    pub fn default(&self) -> Option<usize> {
        let is_default = |part: &Part| matches!(part.bound, Bound::Default);
        self.parts.iter().position(is_default)
    }

    /// What a row fulfils that belongs to a partition, and no other; over the table's frame.
    pub fn condition(&self, number: usize) -> Expr {
        let bound = &self.parts[number].bound;
        match bound {
            Bound::Default => self.outside(
                self.parts
                    .iter()
                    .map(|part| &part.bound)
                    .filter(|bound| !matches!(bound, Bound::Default)),
            ),
            bound => self.within(bound),
        }
    }

    /// What a row fulfils that belongs to none of these; true or false, never NULL.
    pub fn outside<'b>(&self, bounds: impl Iterator<Item = &'b Bound>) -> Expr {
        let others: Vec<Expr> = bounds.map(|bound| self.within(bound)).collect();
        match others.is_empty() {
            true => Expr::Const(Value::Bool(true), SqlType::Bool),
            false => Expr::Not(Box::new(joined(others, Expr::Or))),
        }
    }

    /// What a row fulfils whose key lies within a bound that is no default; true or false, never NULL.
    pub fn within(&self, bound: &Bound) -> Expr {
        let column = |place: usize| {
            let (column, ty) = self.columns[place];
            Expr::Column(column, ty)
        };
        let null = |place: usize, negated: bool| Expr::IsNull {
            input: Box::new(column(place)),
            negated,
        };
        match bound {
            Bound::Default => Expr::Const(Value::Bool(false), SqlType::Bool),
            Bound::Range(from, to) => {
                let mut parts: Vec<Expr> = (0..self.columns.len()).map(|n| null(n, true)).collect();
                for end in [self.above(from, 0), self.below(to, 0)] {
                    match end {
                        End::All => {}
                        End::None => return Expr::Const(Value::Bool(false), SqlType::Bool),
                        End::Where(Expr::And(more)) => parts.extend(more),
                        End::Where(expr) => parts.push(expr),
                    }
                }
                joined(parts, Expr::And)
            }
            Bound::List(values) => {
                let ty = self.columns[0].1;
                let listed: Vec<Expr> = values
                    .iter()
                    .filter(|value| !value.is_null())
                    .map(|value| Expr::Const(value.clone(), ty))
                    .collect();
                let has_null = listed.len() < values.len();
                let is_one = match listed.len() {
                    0 => return null(0, false),
                    1 => compare(CompareOp::Eq, column(0), listed[0].clone()),
                    _ => Expr::InList {
                        input: Box::new(column(0)),
                        list: listed,
                        negated: false,
                    },
                };
                match has_null {
                    true => Expr::Or(vec![null(0, false), is_one]),
                    false => Expr::And(vec![null(0, true), is_one]),
                }
            }
            Bound::Hash { modulus, remainder } => {
                let mut args = vec![Expr::Const(Value::Int8((*modulus).into()), SqlType::Int8)];
                for place in 0..self.columns.len() {
                    // As text it has lost its trailing blanks.
                    args.push(match self.columns[place].1 {
                        SqlType::Bpchar => Expr::Cast {
                            input: Box::new(column(place)),
                            to: SqlType::Text,
                            modifier: TypeMod::NONE,
                            explicit: true,
                        },
                        _ => column(place),
                    });
                }
                let call = Expr::Call {
                    function: &FUNCTIONS[0],
                    args,
                    ty: SqlType::Int8,
                };
                let remainder = Expr::Const(Value::Int8((*remainder).into()), SqlType::Int8);
                compare(CompareOp::Eq, call, remainder)
            }
        }
    }

    /// `key >= from`, from one column on.
    fn above(&self, from: &[Limit], place: usize) -> End {
        let Some(limit) = from.get(place) else {
            return End::All;
        };
        match limit {
            Limit::Min => End::All,
            Limit::Max => End::None,
            Limit::Value(value) => {
                let rest = self.above(from, place + 1);
                self.end(place, value, rest, (CompareOp::Gt, CompareOp::Ge))
            }
        }
    }

    /// `key < to`, from one column on.
    fn below(&self, to: &[Limit], place: usize) -> End {
        let Some(limit) = to.get(place) else {
            return End::None;
        };
        match limit {
            Limit::Min => End::None,
            Limit::Max => End::All,
            Limit::Value(value) => {
                let rest = self.below(to, place + 1);
                self.end(place, value, rest, (CompareOp::Lt, CompareOp::Le))
            }
        }
    }

    fn end(&self, place: usize, value: &Value, rest: End, ops: (CompareOp, CompareOp)) -> End {
        let (column, ty) = self.columns[place];
        let compared = |op| compare(op, Expr::Column(column, ty), Expr::Const(value.clone(), ty));
        End::Where(match rest {
            End::All => compared(ops.1),
            End::None => compared(ops.0),
            End::Where(rest) => {
                let equal = joined(vec![compared(CompareOp::Eq), rest], Expr::And);
                // The first part bounds what is scanned; the second says the rest.
                Expr::And(vec![
                    compared(ops.1),
                    Expr::Or(vec![compared(ops.0), equal]),
                ])
            }
        })
    }
}

/// What is asked of a key at one end of a range.
enum End {
    All,
    None,
    Where(Expr),
}

fn compare(op: CompareOp, left: Expr, right: Expr) -> Expr {
    Expr::Compare {
        op,
        left: Box::new(left),
        right: Box::new(right),
    }
}

/// AND or OR of what there is, at least one.
fn joined(mut parts: Vec<Expr>, join: fn(Vec<Expr>) -> Expr) -> Expr {
    match parts.len() {
        1 => parts.swap_remove(0),
        _ => join(parts),
    }
}

fn order_of_key(limits: &[Limit], keys: &[&Value]) -> Ordering {
    let pairs = limits.iter().zip(keys);
    pairs
        .map(|(limit, key)| limit.order_of(key))
        .find(|order| order.is_ne())
        .unwrap_or(Ordering::Equal)
}

/// What the conditions of hash partitions call: the remainder of values' hash.
pub(crate) static FUNCTIONS: &[Function] = &[Function {
    name: "quintet_hash_remainder",
    args: &[SqlType::Int8, SqlType::Unknown],
    variadic: true,
    result: SqlType::Int8,
    strict: false,
    volatility: Volatility::Immutable,
    subscript: false,
    eval: hash_remainder,
}];

fn hash_remainder(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let strange = |value: &&&Value| !value.is_null() && !is_hashable(value.natural_type());
    if let Some(value) = args[1..].iter().find(strange) {
        let what = format!("a hash of type {}", value.natural_type());
        return Err(SqlError::unsupported(what));
    }
    let modulus = args[0].as_i64().and_then(|m| u64::try_from(m).ok());
    Ok(match modulus {
        None | Some(0) => Value::Null,
        Some(modulus) => Value::Int8((hash_of(&args[1..]) % modulus) as i64),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::eval;
    use crate::fold::DetachedHost;

    fn part(number: u32, bound: Bound) -> Part {
        Part {
            id: TableId(number),
            schema: "public".into(),
            name: format!("p{number}"),
            bound,
            inner: None,
        }
    }

    fn value(number: i32) -> Limit {
        Limit::Value(Value::Int4(number))
    }

    fn divided(method: Method, columns: usize, bounds: Vec<Bound>) -> Partitioning {
        Partitioning {
            method,
            columns: (0..columns).map(|n| (n, SqlType::Int4)).collect(),
            parts: (0..).zip(bounds).map(|(n, b)| part(n, b)).collect(),
        }
    }

    /// Property: exactly the conditions of the partition that a row belongs to are true of it, and none is NULL.
    fn agrees(partitioning: &Partitioning, row: &[Value]) {
        let host = DetachedHost::default();
        let found = partitioning.part_of(row);
        for number in 0..partitioning.parts.len() {
            let condition = partitioning.condition(number);
            let holds = eval(&condition, row, &[], &host).unwrap();
            assert_eq!(
                holds.as_bool(),
                Some(found == Some(number)),
                "{row:?} in partition {number}: {condition:?}"
            );
        }
    }

    fn small_rows(columns: usize) -> Vec<Vec<Value>> {
        let one: Vec<Value> = (-3..14).map(Value::Int4).chain([Value::Null]).collect();
        let mut rows = vec![Vec::new()];
        for _ in 0..columns {
            rows = rows
                .iter()
                .flat_map(|row| {
                    one.iter()
                        .map(|v| [&row[..], std::slice::from_ref(v)].concat())
                })
                .collect();
        }
        rows
    }

    #[test]
    fn conditions_of_ranges_say_what_routing_says() {
        let bounds = vec![
            Bound::Range(vec![Limit::Min, Limit::Min], vec![value(1), Limit::Min]),
            Bound::Range(vec![value(1), Limit::Min], vec![value(1), value(5)]),
            Bound::Range(vec![value(1), value(5)], vec![value(4), value(2)]),
            Bound::Range(vec![value(4), value(2)], vec![value(4), Limit::Max]),
            Bound::Range(vec![value(7), Limit::Max], vec![Limit::Max, Limit::Max]),
            Bound::Default,
        ];
        for (n, one) in bounds.iter().enumerate() {
            for (m, other) in bounds.iter().enumerate() {
                assert_eq!(one.overlaps(other), n == m, "{n} {m}");
            }
        }
        let with_default = divided(Method::Range, 2, bounds.clone());
        let without = divided(Method::Range, 2, bounds[..5].to_vec());
        for row in small_rows(2) {
            agrees(&with_default, &row);
            agrees(&without, &row);
        }
    }

    #[test]
    fn conditions_of_lists_say_what_routing_says() {
        let int = |numbers: &[i32]| numbers.iter().map(|n| Value::Int4(*n)).collect::<Vec<_>>();
        let mut with_null = int(&[4]);
        with_null.push(Value::Null);
        let bounds = vec![
            Bound::List(int(&[1])),
            Bound::List(int(&[2, 3])),
            Bound::List(with_null),
            Bound::Default,
        ];
        let only_null = vec![Bound::List(vec![Value::Null]), Bound::Default];
        for bounds in [bounds.clone(), bounds[..2].to_vec(), only_null] {
            let partitioning = divided(Method::List, 1, bounds);
            small_rows(1)
                .iter()
                .for_each(|row| agrees(&partitioning, row));
        }
    }

    #[test]
    fn conditions_of_hashes_say_what_routing_says_and_spread() {
        let hash = |modulus, remainder| Bound::Hash { modulus, remainder };
        assert!(hash(2, 1).overlaps(&hash(4, 3)));
        assert!(!hash(2, 1).overlaps(&hash(4, 2)));
        let partitioning = divided(Method::Hash, 2, vec![hash(2, 0), hash(4, 1), hash(4, 3)]);
        let mut counts = [0; 3];
        for row in small_rows(2) {
            agrees(&partitioning, &row);
            counts[partitioning.part_of(&row).unwrap()] += 1;
        }
        assert!(counts.iter().all(|count| *count > 50), "{counts:?}");
    }
}

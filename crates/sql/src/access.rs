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
//! 4. an inverted index that answers a condition comes behind equality, and before a bound alone; the more conditions the better;
//! 5. without any of these every row, by the index whose order is asked for if there is a LIMIT.
//!
//! A partial index is there for a query whose conditions imply its predicate (`implied`); then the predicate counts as an
//! equality that gives the index nothing before others but in a tie.
//!
//! Equality is `column = e`, `column IN (…)`, `(a, b) IN ((…), …)` and the same written with OR; a
//! bound is `< <= > >=`. `e` may use other tables' columns as long as those tables come earlier in the join.

use crate::condition::{Condition, Hidden, Part, Reader, Rows};
use crate::implied;
use quintet_ir::plan::{KeyRange, Path, SortKey};
use quintet_ir::schema::{IndexDef, TableDef};
use quintet_ir::{Expr, Sought};

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
    /// Conditions that an inverted index answers.
    elements: usize,
    bounded: bool,
    partial: bool,
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

/// Chooses the path to the rows of `table`, whose frame is at `offset`. `usable` says which other
/// places a key may be computed from.
pub(crate) fn choose(
    table: &TableDef,
    offset: usize,
    conditions: &[&Expr],
    usable: &dyn Fn(usize) -> bool,
    order: Option<Order>,
) -> Choice {
    let reader = Reader::new(table, offset, usable);
    let mut single = Vec::new();
    let mut rows = Vec::new();
    for (number, condition) in conditions.iter().enumerate() {
        single.extend(reader.condition(number, condition));
        rows.extend(reader.rows(number, condition));
    }
    let mut best = every_row(table, offset, order);
    let predicates = implied::predicates(table, offset, conditions);
    // A key of `true`, which no condition says by itself.
    single.extend(predicates.iter().map(implied::Predicate::condition));
    let mut keys: Vec<(Option<usize>, &[usize], bool)> = Vec::new();
    let row_key = table.key_columns();
    keys.push((None, &row_key, true));
    let indexes = table.indexes.iter().enumerate();
    for (number, index) in indexes.filter(|(_, index)| !index.is_inverted()) {
        keys.push((Some(number), &index.columns, index.unique));
    }
    for (index, columns, unique) in keys {
        let candidate = match_key(table, offset, index, columns, unique, &single, &rows, order);
        let Some(mut candidate) = candidate else {
            continue;
        };
        if let Some(index) = index.filter(|number| table.indexes[*number].partial) {
            candidate.rank.equal -= 1;
            candidate.rank.partial = true;
            let column = table.indexes[index].columns[0];
            let predicate = predicates.iter().find(|p| p.column == column);
            (candidate.taken).extend(predicate.iter().flat_map(|p| &p.conditions));
        }
        if candidate.rank > best.rank {
            best = candidate;
        }
    }
    let implied = |column: usize| predicates.iter().any(|p| p.column == column);
    for (number, index) in table.indexes.iter().enumerate() {
        let is_there = !index.partial || implied(index.columns[0]);
        if index.is_inverted()
            && is_there
            && let Some(candidate) = match_elements(&reader, number, index, conditions)
            && candidate.rank > best.rank
        {
            best = candidate;
        }
    }
    best
}

/// An inverted index, if it answers some condition. None is taken: rows are asked again.
fn match_elements(
    reader: &Reader,
    number: usize,
    index: &IndexDef,
    conditions: &[&Expr],
) -> Option<Choice> {
    let columns = index.inverted.iter().zip(index.asked()).enumerate();
    let mut sought = Vec::new();
    for (place, (elements, &column)) in columns {
        let answered = conditions.iter().filter_map(|condition| {
            let (test, value) = reader.sought(column, *elements, condition)?;
            Some(Sought { place, test, value })
        });
        sought.extend(answered);
    }
    let elements = sought.len();
    (elements > 0).then(|| Choice {
        path: Path::Elements(number, sought),
        reverse: false,
        taken: vec![],
        sorted: false,
        single: false,
        rank: Rank {
            elements,
            partial: index.partial,
            ..Rank::default()
        },
    })
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
    let indexes = table.indexes.iter().enumerate();
    for (number, index) in indexes.filter(|(_, index)| !index.is_inverted()) {
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
            elements: 0,
            bounded,
            partial: false,
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
    let hidden = Hidden::of(table, offset);
    for key in wanted {
        if next == columns.len() && identifies {
            // All of the key is fixed or sorted by: no two rows are left to order.
            break;
        }
        let column = match &key.expr {
            Expr::Column(place, _) => place
                .checked_sub(offset)
                .filter(|&c| c < table.columns.len())?,
            expr => hidden.column(expr)?,
        };
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

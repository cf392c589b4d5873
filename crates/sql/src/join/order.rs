//! The order of a join by what it costs, where tables are large and no key is given.
//!
//! Relies on: `sizes` for rows. Promises: of all orders in which one leaf after the other is joined to what is there,
//! the cheapest by the estimate; the same counts give the same order. Does not: touch a join in which a constant leads to
//! a table by key, a small one, one whose rows are wanted in an order that a key has, or what is left-joined:
//! there the rule of [`super`] holds.
//!
//! A leaf is joined in one of three ways:
//!
//! ```text
//!   by key     each row that is there names rows of the leaf
//!   kept       the leaf is read alone and kept, the rows that are there look for theirs
//!   driving    what is there is kept, and the leaf's rows look for theirs
//! ```

use super::{State, columns_of};
use crate::access::Order;
use crate::from::{Leaf, LeafKind, Source};
use crate::rewrite::is_volatile;
use crate::sizes::{KEPT_MAX, Sizes, by_key, share, values_of};
use quintet_ir::expressions::{ranges, uses_outer};
use quintet_ir::{CompareOp, Expr};
use std::collections::BTreeMap;

/// Most leaves whose orders are all looked at.
const LEAVES_MAX: usize = 10;

/// Fewer rows than this in all leaves are joined by the rule: any order will do.
const ROWS_MIN: f64 = 10_000.0;

/// So many values has what nobody knows, if it has so many rows.
const VALUES_GUESSED: f64 = 200.0;

// What steps cost, in microseconds, on rows as long as those of TPC-H; only their ratios matter. Asking by key is in `sizes`.
const READ: f64 = 0.2;
const KEEP: f64 = 0.3;
const KEEP_IN_FILE: f64 = 2.0;
const LOOK: f64 = 0.2;
const GIVE: f64 = 0.1;
const PAIR: f64 = 0.1;

/// How a leaf is joined to what is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Way {
    ByKey,
    Kept,
    Driving,
}

/// Sets of leaves, by their numbers among those that are ordered.
type Set = u16;

/// A leaf as the search sees it.
struct Part {
    /// Its number in the FROM clause.
    number: usize,
    /// Its rows, those that are read, and those that its own conditions let through.
    all: f64,
    read: f64,
    rows: f64,
    /// Leaves that give it a key, and what it costs to ask it.
    keys: Vec<(Set, f64)>,
}

/// A condition over several leaves.
struct Link {
    leaves: Set,
    share: f64,
    /// Leaves of its sides, if it is an equality of two that share none.
    sides: Option<(Set, Set)>,
    /// Places whose equality with something else it is.
    places: Vec<usize>,
}

/// A unique key: the places of its columns, and how many rows its table has.
struct Unique {
    leaf: Set,
    places: Vec<usize>,
    rows: f64,
}

/// The cheapest way to have joined a set of leaves.
#[derive(Clone, Copy)]
struct Best {
    cost: f64,
    rows: f64,
    last: usize,
    way: Way,
}

/// The leaves to begin with, in their order, and how each is joined; `None`: the rule holds.
pub(super) fn by_cost(state: &State<'_>, order: Option<Order>) -> Option<Vec<(usize, Way)>> {
    let sizes = state.sizes?;
    if state.correlated || state.base != 0 || state.plan.is_some() {
        return None;
    }
    let inner: Vec<usize> = (0..state.leaves.len())
        .filter(|&number| matches!(state.leaves[number].kind, LeafKind::Inner))
        .collect();
    if !(2..=LEAVES_MAX).contains(&inner.len()) || !may_order(state, &inner, order) {
        return None;
    }
    let search = Search::new(state, sizes, &inner);
    let all: f64 = search.parts.iter().map(|part| part.read).sum();
    (all >= ROWS_MIN).then(|| search.run())
}

/// Whether nothing stands against another order than the rule's.
fn may_order(state: &State<'_>, inner: &[usize], order: Option<Order>) -> bool {
    inner.iter().all(|&number| {
        let leaf = &state.leaves[number];
        match &leaf.source {
            Source::Table(table) => {
                let choice = state.choose(table, leaf, order, &|_| false);
                let in_order = choice.sorted && order.is_some_and(|order| order.limited);
                !choice.rank.has_equality() && !in_order
            }
            Source::Plan(plan) | Source::OneRow(plan) => !uses_outer(plan),
            Source::Keys(_) | Source::Function(_) | Source::Group(..) => false,
        }
    })
}

struct Search {
    parts: Vec<Part>,
    links: Vec<Link>,
    unique: Vec<Unique>,
}

impl Search {
    fn new(state: &State<'_>, sizes: &Sizes<'_>, inner: &[usize]) -> Search {
        let leaf = |part: usize| &state.leaves[inner[part]];
        let owner = |place: usize| {
            (0..inner.len()).find(|&part| {
                let leaf = leaf(part);
                (leaf.offset..leaf.offset + leaf.width).contains(&place)
            })
        };
        let set_of = |expr: &Expr| -> Option<Set> {
            let parts = columns_of(expr).into_iter().map(owner);
            parts
                .map(|part| Some(1 << part?))
                .try_fold(0, |set, one: Option<Set>| Some(set | one?))
        };
        let rows_of = |leaf: &Leaf| match &leaf.source {
            Source::Table(table) => sizes.table(table),
            Source::Plan(plan) => sizes.plan(plan),
            _ => 1.0,
        };
        let mut parts: Vec<Part> = (0..inner.len())
            .map(|part| Part {
                number: inner[part],
                all: rows_of(leaf(part)),
                read: rows_of(leaf(part)) * range_share(state, leaf(part)),
                rows: rows_of(leaf(part)),
                keys: keys_of(state, leaf(part), &set_of, inner),
            })
            .collect();
        let caps = values_of_keys(state, inner, &parts);
        let mut links = Vec::new();
        let values = |place: usize| {
            let part = owner(place)?;
            let leaf = leaf(part);
            let known = match &leaf.source {
                Source::Table(table) => {
                    let column = place - leaf.offset;
                    (column < table.columns.len())
                        .then(|| values_of(table, column, parts[part].all))
                }
                _ => None,
            };
            let cap = caps.get(&place).copied();
            known.map(|known| known.min(cap.unwrap_or(known)))
        };
        let guess = |set: Set| {
            let rows = parts.iter().enumerate();
            let rows = rows.filter(|(part, _)| set & (1 << part) != 0);
            let most = rows.map(|(_, part)| part.all).fold(1.0, f64::max);
            most.min(VALUES_GUESSED)
        };
        // Those with queries in them are asked of what all of the others have let through.
        let asked = || {
            state
                .pool
                .iter()
                .flatten()
                .filter(|expr| !expr.has_subquery())
        };
        for condition in asked() {
            let Some(leaves) = set_of(condition).filter(|_| !is_volatile(condition)) else {
                continue;
            };
            if leaves.count_ones() >= 2 {
                links.push(link(condition, leaves, &set_of, &values, &guess));
            }
        }
        for condition in asked() {
            if let Some(leaves) = set_of(condition)
                && leaves.count_ones() == 1
            {
                parts[leaves.trailing_zeros() as usize].rows *= share(condition);
            }
        }
        parts
            .iter_mut()
            .for_each(|part| part.rows = part.rows.max(1.0));
        let mut unique = Vec::new();
        for (part, &number) in inner.iter().enumerate() {
            let leaf = &state.leaves[number];
            if let Source::Table(table) = &leaf.source {
                let primary = table.primary_key.iter().map(|key| &key.columns);
                let indexes = table.indexes.iter().filter(|index| index.unique);
                let keys = primary.chain(indexes.map(|index| &index.columns));
                unique.extend(keys.map(|columns| Unique {
                    leaf: 1 << part,
                    places: columns.iter().map(|column| leaf.offset + column).collect(),
                    rows: parts[part].all,
                }));
            }
        }
        Search {
            parts,
            links,
            unique,
        }
    }

    fn run(&self) -> Vec<(usize, Way)> {
        let count = self.parts.len();
        let mut best: Vec<Option<Best>> = vec![None; 1 << count];
        for (number, part) in self.parts.iter().enumerate() {
            best[1 << number] = Some(Best {
                cost: part.read * READ,
                rows: part.rows,
                last: number,
                way: Way::Kept,
            });
        }
        for set in 1..(1usize << count) {
            let Some(before) = best[set] else { continue };
            for leaf in (0..count).filter(|leaf| set & (1 << leaf) == 0) {
                let found = self.step(before, set as Set, leaf);
                let place = &mut best[set | (1 << leaf)];
                if place.is_none_or(|known| found.cost < known.cost) {
                    *place = Some(found);
                }
            }
        }
        let mut steps = Vec::with_capacity(count);
        let mut set = (1usize << count) - 1;
        while let Some(found) = best[set] {
            steps.push((self.parts[found.last].number, found.way));
            set &= !(1 << found.last);
        }
        steps.reverse();
        steps
    }

    /// The cheapest way to join a leaf to a set.
    fn step(&self, before: Best, set: Set, leaf: usize) -> Best {
        let own: Set = 1 << leaf;
        let part = &self.parts[leaf];
        let now: Vec<&Link> = self
            .links
            .iter()
            .filter(|link| link.leaves & own != 0 && link.leaves & !(set | own) == 0)
            .collect();
        let rows = (before.rows * part.rows * self.share_of(&now, set | own)).max(1.0);
        let is_equal = |link: &&Link| match link.sides {
            Some((one, other)) => (one | other) & !own & !set == 0 && (one == own || other == own),
            None => false,
        };
        let keep = |rows: f64| rows * if rows > KEPT_MAX { KEEP_IN_FILE } else { KEEP };
        let by_hash = now.iter().any(is_equal);
        let kept = match by_hash {
            true => part.read * READ + keep(part.rows) + before.rows * LOOK,
            false => part.read * READ + part.rows * KEEP + before.rows * part.rows * PAIR,
        };
        let mut cheapest = (kept, Way::Kept);
        let mut try_way = |cost: f64, way: Way| {
            if cost < cheapest.0 {
                cheapest = (cost, way);
            }
        };
        if by_hash {
            let cost = part.read * READ + keep(before.rows) + part.rows * LOOK;
            try_way(cost, Way::Driving);
        }
        for (needed, each) in &part.keys {
            if needed & !set == 0 {
                try_way(before.rows * each + rows * READ, Way::ByKey);
            }
        }
        Best {
            cost: before.cost + cheapest.0 + rows * GIVE,
            rows,
            last: leaf,
            way: cheapest.1,
        }
    }

    /// The share of pairs for which conditions are true. Those that equal all of a unique key count as one.
    fn share_of(&self, links: &[&Link], set: Set) -> f64 {
        let covers = |key: &&Unique| {
            let given = |place: &usize| links.iter().any(|link| link.places.contains(place));
            key.leaf & set != 0 && key.places.iter().all(given)
        };
        let whole = self
            .unique
            .iter()
            .filter(covers)
            .max_by(|a, b| a.rows.total_cmp(&b.rows));
        let in_key = |link: &Link| {
            whole.is_some_and(|key| link.places.iter().any(|place| key.places.contains(place)))
        };
        let rest: f64 = links
            .iter()
            .filter(|link| !in_key(link))
            .map(|link| link.share)
            .product();
        rest * whole.map_or(1.0, |key| 1.0 / key.rows)
    }
}

/// How many values the columns have at most that equalities connect with the only column of a unique key: as many as
/// the key's table has rows.
fn values_of_keys(state: &State<'_>, inner: &[usize], parts: &[Part]) -> BTreeMap<usize, f64> {
    let mut caps = BTreeMap::new();
    for (&number, part) in inner.iter().zip(parts) {
        let leaf = &state.leaves[number];
        if let Source::Table(table) = &leaf.source {
            let primary = table.primary_key.iter().map(|key| &key.columns);
            let indexes = table.indexes.iter().filter(|index| index.unique);
            for columns in primary.chain(indexes.map(|index| &index.columns)) {
                if let [only] = columns.as_slice() {
                    caps.insert(leaf.offset + only, part.all);
                }
            }
        }
    }
    // From column to column, as far as equalities lead.
    for _ in inner {
        for condition in state.pool.iter().flatten() {
            if let Expr::Compare {
                op: CompareOp::Eq,
                left,
                right,
            } = condition
                && let (Expr::Column(one, _), Expr::Column(other, _)) = (&**left, &**right)
            {
                let cap = [one, other].into_iter().filter_map(|place| caps.get(place));
                if let Some(least) = cap.copied().reduce(f64::min) {
                    caps.insert(*one, least);
                    caps.insert(*other, least);
                }
            }
        }
    }
    caps
}

/// The share of a table's rows that is read: less than all if its own conditions are a range of a key.
fn range_share(state: &State<'_>, leaf: &Leaf) -> f64 {
    let Source::Table(table) = &leaf.source else {
        return 1.0;
    };
    let choice = state.choose(table, leaf, None, &|_| false);
    let conditions = state.pool.iter().flatten().enumerate();
    conditions
        .filter(|(number, _)| choice.taken.contains(number))
        .map(|(_, condition)| share(condition))
        .product()
}

fn link(
    condition: &Expr,
    leaves: Set,
    set_of: &dyn Fn(&Expr) -> Option<Set>,
    values: &dyn Fn(usize) -> Option<f64>,
    guess: &dyn Fn(Set) -> f64,
) -> Link {
    let Expr::Compare {
        op: CompareOp::Eq,
        left,
        right,
    } = condition
    else {
        return Link {
            leaves,
            share: share(condition),
            sides: None,
            places: Vec::new(),
        };
    };
    let sides = set_of(left).zip(set_of(right));
    let places: Vec<usize> = [left, right]
        .into_iter()
        .filter_map(|side| match **side {
            Expr::Column(place, _) => Some(place),
            _ => None,
        })
        .collect();
    let sides = sides.filter(|(one, other)| one & other == 0 && *one != 0 && *other != 0);
    let mut different: Vec<f64> = places.iter().filter_map(|&place| values(place)).collect();
    if let (Some((one, other)), true) = (sides, different.is_empty()) {
        different.extend([guess(one), guess(other)]);
    }
    Link {
        leaves,
        share: 1.0 / different.into_iter().fold(1.0, f64::max),
        sides,
        places,
    }
}

/// The sets of other leaves that give a table a key.
fn keys_of(
    state: &State<'_>,
    leaf: &Leaf,
    set_of: &dyn Fn(&Expr) -> Option<Set>,
    inner: &[usize],
) -> Vec<(Set, f64)> {
    let Source::Table(table) = &leaf.source else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let mut note = |usable: &dyn Fn(usize) -> bool| {
        let choice = state.choose(table, leaf, None, usable);
        if !choice.rank.has_equality() {
            return;
        }
        let exprs = ranges(&choice.path).iter().flat_map(|range| &range.equal);
        let needed = exprs.map(set_of).try_fold(0, |set, one| Some(set | one?));
        if let Some(needed) = needed {
            found.push((needed, by_key(table, &choice.path)));
        }
    };
    note(&|_| true);
    for &other in inner {
        let other = &state.leaves[other];
        let places = other.offset..other.offset + other.width;
        if other.offset != leaf.offset {
            note(&|place| places.contains(&place));
        }
    }
    found
}

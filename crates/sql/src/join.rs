//! The order of a join and the access path of each table in it.
//!
//! Relies on: `from` for leaves and conditions over the logical frame, `access` for single tables.
//! Promises: the plan's rows are those of the joins as written; the physical frame is a
//! permutation of the logical one and `Joined::map` says where each place went.
//! Does not: estimate what a join of large tables costs (`order` does). Else the order is fixed by rule:
//!
//! 1. subqueries of exactly one row, then arrays of keys (`array_key`): what they yield is a key;
//! 2. the inner-joined leaf with the best constant equality on a key (unique first, then the
//!    longest prefix), else the first as written by whose rows another table is found by key, else
//!    the first as written;
//! 3. then, each time, the best leaf that can be looked up by a key from what is there already,
//!    else the next as written;
//! 4. last the left-joined leaves, in the order written.
//!
//! A leaf that an equality connects with what is there comes before one that nothing does. A condition is applied as
//! soon as all that it names is there; one with a query in it after the others.
//!
//! Policies of a table are asked before conditions that could tell what they were asked about (`security`).
//!
//! An outer join that a condition makes an inner one is one (`strict`), and what is never true is not read (`never`).
//!
//! A condition on nothing but one subselect or view is asked inside it, as far down as it can go (`push`).
//!
//! A table that is asked by key is told from when on it is better kept whole, as it is not known how many rows will ask (`State::kept_after`).
//!
//! In a subquery that something is handed to, a leaf without a key is kept by what equals something that is
//! there or is handed over (`lookup`). The optional side of an outer join may be several leaves (`group`). What nobody looks
//! at is left out afterwards (`needed`).

use crate::access::{self, Choice, Order, Rank};
use crate::array_key;
use crate::expr::and;
use crate::from::{Leaf, LeafKind, Source};
use crate::never;
use crate::rewrite::{is_volatile, move_columns, move_function, shift};
use crate::sizes::{READ, READS_RISKED, Sizes, is_one_row, is_whole};
use crate::watch;
use quintet_base::{SqlError, SqlResult, SqlType};
use quintet_ir::expressions::{each_of_node, ranges};
use quintet_ir::plan::{Access, JoinKind, KeptAfter, KeyBound, KeyRange, Path, Plan};
use quintet_ir::schema::TableRef;
use quintet_ir::{Expr, Sought};
use std::collections::BTreeSet;

mod group;
mod lookup;
mod needed;
mod order;
mod push;
mod security;
mod strict;

pub(crate) use lookup::is_correlated;
pub(crate) use needed::mark_needed;
pub(crate) use strict::is_null;

use order::Way;

/// Not placed yet.
const NOWHERE: usize = usize::MAX;

/// Leaves joined.
pub(crate) struct Joined {
    pub plan: Plan,
    /// Physical place of each logical one.
    pub map: Vec<usize>,
    /// Physical places that conditions and keys look at.
    pub used: BTreeSet<usize>,
    /// The rows come in the order asked for.
    pub sorted: bool,
    /// At most one row.
    pub single: bool,
}

impl Joined {
    /// No rows, in the frame as written.
    fn nothing(leaves: &[Leaf], width: usize) -> Joined {
        let mut types = vec![SqlType::Unknown; width];
        for leaf in leaves {
            types[leaf.offset..leaf.offset + leaf.width].clone_from_slice(&leaf.types);
        }
        Joined {
            plan: never::nothing(types),
            map: (0..width).collect(),
            used: BTreeSet::new(),
            sorted: true,
            single: true,
        }
    }

    /// An expression over the logical frame as one over the physical frame.
    pub fn expr(&mut self, expr: &Expr) -> Expr {
        let moved = move_columns(expr, &|place| self.map.get(place).copied().unwrap_or(place));
        let mut columns = Vec::new();
        moved.collect_columns(&mut columns);
        self.used.extend(columns);
        moved
    }
}

/// Joins leaves under conditions. With `sizes`, large tables are joined in the order that costs least.
///
/// # Errors
/// `0A000` for functions in FROM that depend on a left-joined table.
pub(crate) fn join(
    leaves: &[Leaf],
    conditions: Vec<Expr>,
    order: Option<Order>,
    sizes: Option<&Sizes<'_>>,
) -> SqlResult<Joined> {
    let width = leaves
        .iter()
        .map(|leaf| leaf.offset + leaf.width)
        .max()
        .unwrap_or(0);
    let mut conditions = never::decided(conditions);
    let mut all = leaves.to_vec();
    strict::reduce(&mut all, &mut conditions);
    if !never::decide(&mut all, &mut conditions) {
        return Ok(Joined::nothing(leaves, width));
    }
    let known = all.len();
    let keys = array_key::expand(&all, &mut conditions, width);
    all.extend(keys);
    imply(&all, &mut conditions);
    push::push_all(&mut all, &mut conditions);
    let leaves = all.as_slice();
    let width = width + leaves.len() - known;
    let mut state = State {
        leaves,
        correlated: lookup::is_correlated(leaves, &conditions),
        pool: conditions.into_iter().map(Some).collect(),
        map: vec![NOWHERE; width],
        base: 0,
        width: 0,
        plan: None,
        used: BTreeSet::new(),
        sorted: order.is_none_or(|order| order.keys.is_empty()),
        single: true,
        sizes,
        defers: false,
    };
    state.place_all(order)?;
    // What names nothing at all.
    let rest: Vec<Expr> = state.pool.iter_mut().filter_map(Option::take).collect();
    let mut plan = state.plan.take().unwrap_or_else(crate::rewrite::one_row);
    if !rest.is_empty() {
        let predicate = state.moved(&and(rest));
        plan = filter(plan, predicate);
    }
    Ok(Joined {
        plan,
        map: state.map,
        used: state.used,
        sorted: state.sorted,
        single: state.single,
    })
}

struct State<'a> {
    leaves: &'a [Leaf],
    /// Something is handed over from around the query, which is run for it again and again.
    correlated: bool,
    /// Conditions not applied yet.
    pool: Vec<Option<Expr>>,
    map: Vec<usize>,
    /// Where the frame of the plan begins: behind what it is joined to.
    base: usize,
    width: usize,
    plan: Option<Plan>,
    used: BTreeSet<usize>,
    sorted: bool,
    single: bool,
    sizes: Option<&'a Sizes<'a>>,
    /// Conditions with queries in them wait until all leaves are there that are ordered by cost.
    defers: bool,
}

impl State<'_> {
    fn place_all(&mut self, order: Option<Order>) -> SqlResult<()> {
        let leaves = self.leaves;
        let mut waiting: Vec<usize> = (0..leaves.len()).collect();
        let steps = order::by_cost(self, order).unwrap_or_default();
        self.defers = true;
        for &(leaf, way) in &steps {
            watch::look()?;
            let first = self.plan.is_none();
            waiting.retain(|&other| other != leaf);
            self.place(&leaves[leaf], order.filter(|_| first), way)?;
            // Without an order wanted there is nothing that driving could lose.
            self.sorted &= first || way != Way::Driving || order.is_none();
        }
        self.defers = false;
        if let Some((leaf, _)) = steps.last() {
            self.filter_above(&leaves[*leaf]);
        }
        while !waiting.is_empty() {
            watch::look()?;
            let next = self.next(&waiting)?;
            let leaf = waiting.remove(next);
            let order = order.filter(|_| self.plan.is_none());
            self.place(&leaves[leaf], order, Way::ByKey)?;
        }
        Ok(())
    }

    fn is_placed(&self, place: usize) -> bool {
        self.map.get(place).is_some_and(|&to| to != NOWHERE)
    }

    /// Which of the waiting leaves comes next, as an index into `waiting`.
    fn next(&self, waiting: &[usize]) -> SqlResult<usize> {
        let is_ready = |leaf: &Leaf| leaf.looks_at().iter().all(|&c| self.is_placed(c));
        let inner: Vec<(usize, &Leaf)> = waiting
            .iter()
            .enumerate()
            .map(|(n, &leaf)| (n, &self.leaves[leaf]))
            .filter(|(_, leaf)| matches!(leaf.kind, LeafKind::Inner))
            .collect();
        if let Some((n, _)) = inner
            .iter()
            .find(|(_, leaf)| matches!(leaf.source, Source::OneRow(_)))
        {
            return Ok(*n);
        }
        if let Some((n, _)) = inner
            .iter()
            .find(|(_, leaf)| matches!(leaf.source, Source::Keys(_)))
        {
            return Ok(*n);
        }
        let mut best: Option<(Rank, usize)> = None;
        for (n, leaf) in &inner {
            watch::look()?;
            if let Source::Table(table) = &leaf.source {
                let usable = |place: usize| self.is_placed(place);
                let rank = self.choose(table, leaf, None, &usable).rank;
                if rank.has_equality() && best.is_none_or(|(other, _)| rank > other) {
                    best = Some((rank, *n));
                }
            }
        }
        if let Some((_, n)) = best {
            return Ok(n);
        }
        if self.correlated
            && let Some((n, _)) = inner
                .iter()
                .find(|(_, leaf)| is_ready(leaf) && self.is_connected(leaf))
        {
            return Ok(*n);
        }
        // A leaf that gives some table its key.
        let gives_key = |leaf: &Leaf| {
            inner.iter().any(|(_, other)| match &other.source {
                Source::Table(table) if other.offset != leaf.offset && !watch::is_over() => {
                    let own = leaf.offset..leaf.offset + leaf.width;
                    let usable = |place: usize| self.is_placed(place) || own.contains(&place);
                    self.choose(table, other, None, &usable).rank.has_equality()
                }
                _ => false,
            })
        };
        let is_next = |leaf: &Leaf| is_ready(leaf) && self.is_connected(leaf);
        let mut connected = inner.iter().filter(|(_, leaf)| is_next(leaf));
        if let Some((first, _)) = connected.clone().next() {
            let giving = connected.find(|(_, leaf)| gives_key(leaf));
            return Ok(giving.map_or(*first, |(n, _)| *n));
        }
        let starter = inner
            .iter()
            .find(|(_, leaf)| is_ready(leaf) && gives_key(leaf));
        if let Some((n, _)) = starter {
            return Ok(*n);
        }
        if let Some((n, _)) = inner.iter().find(|(_, leaf)| is_ready(leaf)) {
            return Ok(*n);
        }
        // Left joins come when only they are left, and what they are joined to is there.
        let left = waiting.iter().position(|&leaf| {
            let leaf = &self.leaves[leaf];
            let own = leaf.offset..leaf.offset + leaf.width;
            match &leaf.kind {
                LeafKind::Left(on) => {
                    let known = |c: &usize| self.is_placed(*c) || own.contains(c);
                    is_ready(leaf) && on.iter().all(|e| columns_of(e).iter().all(known))
                }
                LeafKind::Inner => false,
            }
        });
        left.ok_or_else(|| SqlError::unsupported("a function in FROM over a left-joined table"))
    }

    /// The conditions that can be judged once `leaf` is there.
    fn applicable(&self, leaf: &Leaf) -> Vec<usize> {
        let own = leaf.offset..leaf.offset + leaf.width;
        let known = |c: &usize| self.is_placed(*c) || own.contains(c);
        (0..self.pool.len())
            .filter(|&n| match &self.pool[n] {
                Some(condition) => {
                    let columns = columns_of(condition);
                    let waits = self.defers && condition.has_subquery();
                    !waits && !is_volatile(condition) && columns.iter().all(known)
                }
                None => false,
            })
            .collect()
    }

    /// A condition that calls functions, and could be judged once `leaf` is there.
    fn is_later(&self, leaf: &Leaf, condition: &Expr) -> bool {
        let own = leaf.offset..leaf.offset + leaf.width;
        let known = |c: &usize| self.is_placed(*c) || own.contains(c);
        condition.calls_routine()
            && leaf.security.is_empty()
            && !condition.has_subquery()
            && columns_of(condition).iter().all(known)
    }

    fn choose(
        &self,
        table: &TableRef,
        leaf: &Leaf,
        order: Option<Order>,
        usable: &dyn Fn(usize) -> bool,
    ) -> Choice {
        // All conditions: those that name something not usable give no key anyway.
        let conditions = self.pool.iter().flatten();
        let conditions: Vec<&Expr> = conditions.chain(&leaf.security).collect();
        access::choose(table, leaf.offset, &conditions, usable, order)
    }

    /// After how many rows of what is there a table that these ask by key is kept whole; `None`: never. `unique`: also if each names one row,
    /// which is found by hash no sooner than by its key.
    fn kept_after(&self, table: &TableRef, path: &Path, unique: bool) -> Option<KeptAfter> {
        let sizes = self.sizes?;
        let first = self.plan.is_none();
        if !first && self.single {
            return None;
        }
        // The first of a subquery is asked by the rows around that.
        let asks = |expr: &Expr| match first {
            true => expr.uses_outer(),
            false => columns_of(expr).iter().any(|&place| self.is_placed(place)),
        };
        let mut equal = ranges(path).iter().flat_map(|range| &range.equal);
        let access = Access {
            table: TableRef::clone(table),
            path: path.clone(),
            filter: None,
            reverse: false,
            offset: 0,
            needed: None,
            kept_after: None,
        };
        let may = equal.any(asks) && access.whole().is_some();
        let pays = may && (unique || !is_one_row(&access));
        pays.then(|| sizes.kept_after(&access)).flatten()
    }

    /// A table that is to be kept, asked by key to begin with: where it is not known how many rows ask it, there may be few, and keeping it would cost more
    /// than all else.
    fn asked_first(
        &self,
        table: &TableRef,
        choose: &dyn Fn(bool) -> Choice,
    ) -> Option<(Choice, Option<KeptAfter>)> {
        let (sizes, plan) = (self.sizes?, self.plan.as_ref()?);
        let read = sizes.read(plan).unwrap_or_default();
        if is_whole(plan) || sizes.keeping(table) < READS_RISKED * read * READ {
            return None;
        }
        let choice = choose(true);
        let after = self.kept_after(table, &choice.path, true)?;
        Some((choice, Some(after)))
    }

    /// Puts a leaf behind what is there, or before it, if its rows drive the join.
    fn place(&mut self, leaf: &Leaf, order: Option<Order>, way: Way) -> SqlResult<()> {
        let drives = way == Way::Driving && self.plan.is_some();
        if drives {
            self.make_room(leaf.width);
        }
        // A left join is judged by its ON alone; what else names the leaf is judged above the join.
        let mut conditions: Vec<Expr> = match &leaf.kind {
            LeafKind::Inner => self
                .applicable(leaf)
                .into_iter()
                .filter_map(|n| self.pool[n].take())
                .collect(),
            LeafKind::Left(on) => on.clone(),
        };
        let offset = if drives { self.base } else { self.width };
        let kept = match self.correlated {
            true => self.lookup(leaf, &mut conditions),
            false => None,
        };
        let (inner, single) = match (kept, &leaf.source) {
            (Some(plan), _) => {
                self.put(leaf, offset);
                (plan, false)
            }
            (None, Source::Group(leaves, inside)) => {
                let plan = self.place_group(leaf, (leaves, inside), &mut conditions)?;
                (plan, false)
            }
            (None, Source::Table(table)) => {
                let borrowed = conditions.iter().chain(&leaf.security);
                // An index may be over what a function gives: what it finds is looked at again.
                let later = self.pool.iter().flatten().filter(|condition| {
                    matches!(leaf.kind, LeafKind::Inner) && self.is_later(leaf, condition)
                });
                let borrowed: Vec<&Expr> = borrowed.chain(later).collect();
                let known = conditions.len();
                let choose = |by_key: bool| {
                    let usable = |place: usize| by_key && self.is_placed(place);
                    access::choose(table, leaf.offset, &borrowed, &usable, order)
                };
                let (choice, kept_after) = match way {
                    Way::ByKey => {
                        let choice = choose(true);
                        let wants_order = order.is_some_and(|order| !order.keys.is_empty());
                        let after = self.kept_after(table, &choice.path, false);
                        (choice, after.filter(|_| !wants_order))
                    }
                    Way::Kept if let Some(first) = self.asked_first(table, &choose) => first,
                    Way::Kept | Way::Driving => (choose(false), None),
                };
                let mut number = 0;
                conditions.retain(|_| {
                    number += 1;
                    !choice.taken.contains(&(number - 1))
                });
                if self.plan.is_none() {
                    self.sorted |= choice.sorted;
                }
                let single = choice.single;
                let taken = choice.taken;
                let path = self.moved_path(choice.path);
                let full = matches!(path, Path::Full) && matches!(leaf.kind, LeafKind::Inner);
                let own = leaf.offset..leaf.offset + leaf.width;
                self.put(leaf, offset);
                // The filter sees the table's own frame only.
                let mine = |e: &Expr| {
                    let columns = columns_of(e);
                    let inside = columns.iter().all(|c| own.contains(c));
                    let asked_once = columns.is_empty() && full && self.plan.is_none();
                    inside && !asked_once && !is_volatile(e) && !e.has_subquery()
                };
                let (filters, rest): (Vec<Expr>, Vec<Expr>) =
                    conditions.into_iter().partition(mine);
                conditions = rest;
                let scan = Access {
                    table: table.clone(),
                    path,
                    filter: None,
                    reverse: choice.reverse,
                    offset,
                    needed: None,
                    kept_after,
                };
                let security = security::left(leaf, known, &taken);
                let security = security.iter().map(|expr| self.moved(expr)).collect();
                let filters = filters.iter().map(|expr| self.moved(expr)).collect();
                (security::asked(scan, security, filters), single)
            }
            (None, Source::Plan(plan) | Source::Keys(plan)) => {
                self.put(leaf, offset);
                (shift(plan.clone(), offset), false)
            }
            (None, Source::OneRow(plan)) => {
                self.put(leaf, offset);
                (shift(plan.clone(), offset), true)
            }
            (None, Source::Function(plan)) => {
                let plan = self.moved_function(plan);
                self.put(leaf, offset);
                (plan, false)
            }
        };
        // What costs most is asked last.
        conditions.sort_by_key(Expr::has_subquery);
        let gate = match single {
            true => None,
            false => self.gate(leaf, &inner, &mut conditions),
        };
        let condition = (!conditions.is_empty()).then(|| self.moved(&and(conditions)));
        self.single &= single;
        self.width += leaf.width;
        let kind = match leaf.kind {
            LeafKind::Inner => JoinKind::Inner,
            LeafKind::Left(_) => JoinKind::Left,
        };
        let placed = self.width - leaf.width;
        let plan = match (self.plan.take(), kind) {
            (Some(kept), kind) if drives => Plan::Join {
                outer: Box::new(inner),
                inner: Box::new(kept),
                outer_width: leaf.width,
                inner_width: placed - self.base,
                kind,
                on: condition,
            },
            (None, JoinKind::Inner) => {
                let found = match condition {
                    Some(condition) => filter(inner, condition),
                    None => inner,
                };
                match gate {
                    Some(gate) => Plan::Join {
                        outer: Box::new(filter(crate::rewrite::one_row(), gate)),
                        inner: Box::new(found),
                        outer_width: 0,
                        inner_width: leaf.width,
                        kind,
                        on: None,
                    },
                    None => found,
                }
            }
            (outer, kind) => Plan::Join {
                outer: Box::new(outer.unwrap_or_else(crate::rewrite::one_row)),
                inner: Box::new(inner),
                outer_width: offset - self.base,
                inner_width: leaf.width,
                kind,
                on: condition,
            },
        };
        self.plan = Some(plan);
        if kind == JoinKind::Left {
            self.filter_above(leaf);
        }
        Ok(())
    }

    /// What is asked before the first leaf is read, from one end to the other: conditions that name nothing in it.
    fn gate(&mut self, leaf: &Leaf, inner: &Plan, conditions: &mut Vec<Expr>) -> Option<Expr> {
        let keyed = matches!(inner, Plan::Scan(Access { path, .. }) if !matches!(path, Path::Full));
        if self.plan.is_some() || keyed || matches!(leaf.kind, LeafKind::Left(_)) {
            return None;
        }
        let asks_once = |e: &Expr| columns_of(e).is_empty() && !is_volatile(e);
        let (gate, rest): (Vec<Expr>, Vec<Expr>) = conditions.drain(..).partition(asks_once);
        *conditions = rest;
        (!gate.is_empty()).then(|| self.moved(&and(gate)))
    }

    /// Moves what is there to behind a leaf of this width.
    fn make_room(&mut self, width: usize) {
        self.plan = self.plan.take().map(|plan| shift(plan, width));
        let placed = self.map.iter_mut().filter(|place| **place != NOWHERE);
        placed.for_each(|place| *place += width);
        self.used = self.used.iter().map(|place| place + width).collect();
    }

    /// Conditions that could not be judged before.
    fn filter_above(&mut self, leaf: &Leaf) {
        let mut now: Vec<Expr> = self
            .applicable(leaf)
            .into_iter()
            .filter_map(|n| self.pool[n].take())
            .collect();
        if now.is_empty() {
            return;
        }
        now.sort_by_key(Expr::has_subquery);
        let predicate = self.moved(&and(now));
        self.plan = self.plan.take().map(|plan| filter(plan, predicate));
    }

    fn put(&mut self, leaf: &Leaf, offset: usize) {
        for n in 0..leaf.width {
            self.map[leaf.offset + n] = offset + n;
        }
    }

    fn moved(&mut self, expr: &Expr) -> Expr {
        let moved = move_columns(expr, &|place| self.map[place]);
        self.used.extend(columns_of(&moved));
        moved
    }

    fn moved_path(&mut self, path: Path) -> Path {
        let mut ranges = |ranges: Vec<KeyRange>| -> Vec<KeyRange> {
            ranges
                .into_iter()
                .map(|range| self.moved_range(range))
                .collect()
        };
        match path {
            Path::Full => Path::Full,
            Path::Primary(list) => Path::Primary(ranges(list)),
            Path::Index(number, list) => Path::Index(number, ranges(list)),
            Path::Elements(number, sought) => {
                let moved = sought.into_iter().map(|one| Sought {
                    value: self.moved(&one.value),
                    ..one
                });
                Path::Elements(number, moved.collect())
            }
        }
    }

    fn moved_range(&mut self, range: KeyRange) -> KeyRange {
        let mut bound = |bound: KeyBound| KeyBound {
            value: self.moved(&bound.value),
            inclusive: bound.inclusive,
        };
        let (lower, upper) = (range.lower.map(&mut bound), range.upper.map(&mut bound));
        KeyRange {
            equal: range.equal.iter().map(|e| self.moved(e)).collect(),
            lower,
            upper,
        }
    }

    fn moved_function(&mut self, plan: &Plan) -> Plan {
        let plan = move_function(plan, &|place| self.map[place]);
        self.used.extend(function_columns(&plan));
        plan
    }
}

/// Adds what an OR over several tables says about one of them: `(a.x = 1 AND b.y = 2) OR (a.x = 3 AND b.y = 4)` lets only
/// rows of `a` through where x is 1 or 3.
fn imply(leaves: &[Leaf], conditions: &mut Vec<Expr>) {
    let mut implied = Vec::new();
    for condition in conditions.iter() {
        let Expr::Or(alternatives) = condition else {
            continue;
        };
        let places = columns_of(condition);
        for leaf in leaves {
            let own = leaf.offset..leaf.offset + leaf.width;
            let is_table = matches!(
                (&leaf.source, &leaf.kind),
                (Source::Table(_), LeafKind::Inner)
            );
            let some = places.iter().any(|place| own.contains(place));
            let all = places.iter().all(|place| own.contains(place));
            if !is_table || !some || all {
                continue;
            }
            let says = |alternative: &Expr| -> Option<Expr> {
                let mut parts = Vec::new();
                crate::from::split(alternative.clone(), &mut parts);
                parts.retain(|part| {
                    let columns = columns_of(part);
                    let inside = !columns.is_empty() && columns.iter().all(|c| own.contains(c));
                    inside && !is_volatile(part) && !part.has_subquery()
                });
                (!parts.is_empty()).then(|| and(parts))
            };
            let parts: Option<Vec<Expr>> = alternatives.iter().map(says).collect();
            implied.extend(parts.map(Expr::Or));
        }
    }
    conditions.extend(implied);
}

fn filter(plan: Plan, predicate: Expr) -> Plan {
    Plan::Filter {
        input: Box::new(plan),
        predicate,
    }
}

fn columns_of(expr: &Expr) -> Vec<usize> {
    let mut columns = Vec::new();
    expr.collect_columns(&mut columns);
    columns
}

impl Leaf {
    /// The places of earlier leaves that it looks at.
    fn looks_at(&self) -> Vec<usize> {
        let inside = |place: &usize| (self.offset..self.offset + self.width).contains(place);
        let mut columns = match &self.source {
            Source::Function(plan) => function_columns(plan),
            Source::Group(leaves, conditions) => {
                let leaves = leaves.iter().flat_map(Leaf::looks_at);
                leaves
                    .chain(conditions.iter().flat_map(columns_of))
                    .collect()
            }
            _ => vec![],
        };
        columns.retain(|column| !inside(column));
        columns
    }
}

/// The places that a source over earlier leaves looks at.
fn function_columns(plan: &Plan) -> Vec<usize> {
    let mut columns = Vec::new();
    each_of_node(plan, &mut |expr, _| expr.collect_columns(&mut columns));
    columns
}

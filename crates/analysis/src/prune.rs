//! Marks that need no keys of their own.
//!
//! Relies on: `classes` for which effects conflict, `condition` for what follows from what.  Promises: two calls
//! that conflict still have keys that meet.  Does not: find the least set of keys.
//!
//! A mark gives no keys if nothing conflicts with it, if another mark of its routine means the same rows and
//! conflicts with all that it conflicts with, or if its whole space says nothing that other spaces
//! do not: NewOrder's orders are always of a district whose counter it has raised.
//!
use crate::classes::{Classes, Key, Order, Standing};
use crate::condition::follows;
use crate::paths::Paths;
use crate::rule::Cause;

impl Classes {
    /// Decides which marks give keys.
    pub(crate) fn prune(&mut self) {
        self.drop_unopposed();
        self.drop_covered_marks();
        self.drop_covered_orders();
    }

    /// Marks that no effect conflicts with.
    fn drop_unopposed(&mut self) {
        for routine in &mut self.routines {
            for key in &mut routine.keys {
                let causes = &self.orders[key.order].causes[key.effect];
                if causes.iter().all(Option::is_none) {
                    key.standing = Standing::Unopposed;
                }
            }
        }
    }

    /// Marks whose rows another mark of the routine means, too, that conflicts with no less.
    fn drop_covered_marks(&mut self) {
        for routine in &mut self.routines {
            for number in 0..routine.keys.len() {
                let key = &routine.keys[number];
                let covering = (routine.keys.iter().enumerate()).find(|(place, other)| {
                    let covers = *place != number
                        && key.is_needed()
                        && other.is_needed()
                        && other.order == key.order
                        && is_subset(&self.orders[key.order], key.effect, other.effect)
                        && means_no_less(&other.paths, &key.paths);
                    // Of two that cover each other the first stays.
                    covers
                        && (*place < number
                            || !(is_subset(&self.orders[key.order], other.effect, key.effect)
                                && means_no_less(&key.paths, &other.paths)))
                });
                if let Some((_, other)) = covering {
                    routine.keys[number].standing = Standing::CoveredBy(other.mark);
                }
            }
        }
    }

    /// Orders of rows in which no two calls conflict that do not conflict in another one. Who stands in must be
    /// an order of rows: of an index, a call may have no key for a NULL.
    fn drop_covered_orders(&mut self) {
        for order in (0..self.orders.len()).rev() {
            let count = self.routines.len();
            let is_other = |number: usize| number != order && self.orders[number].index.is_none();
            let covered = (0..count).all(|one| {
                (one..count).all(|other| {
                    let pairs = self.conflicts(one, other, &|number| number == order);
                    let rest = match pairs.is_empty() {
                        true => Vec::new(),
                        false => self.conflicts(one, other, &is_other),
                    };
                    let same = one == other;
                    let is_covered = |(a, b, _): &(&Key, &Key, Cause)| {
                        rest.iter().any(|(c, d, _)| {
                            follows([&c.paths, &d.paths], [&a.paths, &b.paths], same)
                        })
                    };
                    pairs.iter().all(is_covered)
                })
            });
            if covered {
                let keys = self
                    .routines
                    .iter_mut()
                    .flat_map(|routine| &mut routine.keys);
                keys.filter(|key| key.is_needed() && key.order == order)
                    .for_each(|key| key.standing = Standing::CoveredElsewhere);
            }
        }
    }

    /// The needed marks of two routines that conflict in some orders.
    fn conflicts(
        &self,
        one: usize,
        other: usize,
        orders: &dyn Fn(usize) -> bool,
    ) -> Vec<(&Key, &Key, Cause)> {
        let mut found = Vec::new();
        let needed = |key: &&Key| key.is_needed() && orders(key.order);
        for a in self.routines[one].keys.iter().filter(needed) {
            let others = self.routines[other].keys.iter().filter(needed);
            for b in others.filter(|b| a.order == b.order) {
                if let Some(cause) = self.orders[a.order].causes[a.effect][b.effect] {
                    found.push((a, b, cause));
                }
            }
        }
        found
    }
}

/// True if the second effect conflicts with all that the first conflicts with.
fn is_subset(order: &Order, one: usize, other: usize) -> bool {
    let pairs = order.causes[one].iter().zip(&order.causes[other]);
    pairs
        .into_iter()
        .all(|(one, other)| one.is_none() || other.is_some())
}

/// True if each path of the second mark begins with one of the first.
fn means_no_less(wider: &Paths, narrower: &Paths) -> bool {
    narrower.said.terms.starts_with(&wider.said.terms)
        && wider.said.around.is_subset(&narrower.said.around)
}

//! Partitions of partitions: from a table down to the part that has a row.
//!
//! Relies on: one level's [`Partitioning`]; all levels divide the rows of one table, so all keys are columns of its frame.
//! Promises: a row is in one leaf of the tree or in none; [`Partitions::misfit`], [`Partitions::home`] and
//! [`Partitions::condition`] say the same of it.  Does not: know how the tree is kept (`sql::partition`).

use super::{Part, Partitioning};
use crate::expr::Expr;
use quintet_base::{SqlType, TableId, Value};
use std::sync::Arc;

/// A table's partitions, and the one that a definition is confined to.
#[derive(Clone, Debug)]
pub struct Partitions {
    /// The table's own division.
    pub all: Arc<Partitioning>,
    /// The way down to the partition that the definition stands for: it has its name, and takes no other rows. Empty: the
    /// whole table.
    pub path: Vec<usize>,
    /// ONLY was said of what is divided: the definition has none of the rows.
    pub nothing: bool,
}

/// Why a table does not take a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Misfit {
    /// No partition takes it.
    Homeless,
    /// It belongs elsewhere than to the partition that the definition stands for.
    Elsewhere,
}

/// Where no partition takes a row: the division that has none for it.
#[derive(Clone, Copy, Debug)]
pub struct Homeless<'p> {
    /// Whose division it is; `None`: the table's.
    pub part: Option<&'p Part>,
    /// The division.
    pub division: &'p Partitioning,
}

impl Partitions {
    /// The partition that the definition stands for.
    pub fn part(&self) -> Option<&Part> {
        let (last, above) = self.path.split_last()?;
        self.all.at(above)?.parts.get(*last)
    }

    /// How what the definition stands for is divided; `None`: a leaf.
    pub fn division(&self) -> Option<&Arc<Partitioning>> {
        match self.part() {
            None => Some(&self.all),
            Some(part) => part.inner.as_ref(),
        }
    }

    /// The leaf that has a row, wherever that is.
    ///
    /// # Errors
    /// Where there is none for it.
    pub fn home(&self, row: &[Value]) -> Result<&Part, Homeless<'_>> {
        let mut division = &*self.all;
        let mut part = None;
        loop {
            let number = division.part_of(row);
            let found = number.ok_or(Homeless { part, division })?;
            let found = &division.parts[found];
            match &found.inner {
                None => return Ok(found),
                Some(inner) => division = inner,
            }
            part = Some(found);
        }
    }

    /// What keeps a row out, if anything does.
    pub fn misfit(&self, row: &[Value]) -> Option<Misfit> {
        let mut division = Some(&self.all);
        for number in &self.path {
            let here = division?;
            if here.part_of(row) != Some(*number) {
                return Some(Misfit::Elsewhere);
            }
            division = here.parts[*number].inner.as_ref();
        }
        while let Some(here) = division {
            let Some(number) = here.part_of(row) else {
                return Some(Misfit::Homeless);
            };
            division = here.parts[number].inner.as_ref();
        }
        None
    }

    /// True if what a row belongs to may change when these columns are set.
    pub fn heeds(&self, mut assigned: impl Iterator<Item = usize>) -> bool {
        let keys = self.all.key_columns();
        assigned.any(|column| keys.contains(&column))
    }

    /// What a row that belongs to the partition of the definition fulfils, over the table's frame.
    pub fn condition(&self) -> Option<Expr> {
        if self.nothing {
            return Some(Expr::Const(Value::Bool(false), SqlType::Bool));
        }
        (!self.path.is_empty()).then(|| self.all.condition_below(&self.path))
    }
}

impl Partitioning {
    /// The division at the end of a way down.
    pub fn at(&self, path: &[usize]) -> Option<&Partitioning> {
        path.iter().try_fold(self, |division, number| {
            division.parts.get(*number)?.inner.as_deref()
        })
    }

    /// The way down to the partition with this number.
    pub fn path_to(&self, id: TableId) -> Option<Vec<usize>> {
        self.parts.iter().enumerate().find_map(|(number, part)| {
            if part.id == id {
                return Some(vec![number]);
            }
            let mut path = part.inner.as_ref()?.path_to(id)?;
            path.insert(0, number);
            Some(path)
        })
    }

    /// The columns of the keys of all levels.
    pub fn key_columns(&self) -> Vec<usize> {
        let mut found: Vec<usize> = self.columns.iter().map(|(column, _)| *column).collect();
        let inner = self.parts.iter().filter_map(|part| part.inner.as_ref());
        found.extend(inner.flat_map(|inner| inner.key_columns()));
        found.sort_unstable();
        found.dedup();
        found
    }

    /// All partitions below, each before its own.
    pub fn all_parts(&self) -> Vec<&Part> {
        let mut found = Vec::new();
        for part in &self.parts {
            found.push(part);
            found.extend(part.inner.iter().flat_map(|inner| inner.all_parts()));
        }
        found
    }

    /// What a row fulfils that belongs to the partition at the end of a way down, which is not empty.
    pub fn condition_below(&self, path: &[usize]) -> Expr {
        let mut parts = Vec::new();
        let mut division = Some(self);
        for number in path {
            let Some(here) = division else { break };
            match here.condition(*number) {
                Expr::And(more) => parts.extend(more),
                one => parts.push(one),
            }
            division = here.parts[*number].inner.as_deref();
        }
        super::joined(parts, Expr::And)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Bound, Limit, Method};
    use super::*;
    use crate::eval::eval;
    use crate::fold::DetachedHost;
    fn part(number: u32, bound: Bound, inner: Option<Partitioning>) -> Part {
        Part {
            id: TableId(number),
            schema: "public".into(),
            name: format!("p{number}"),
            bound,
            inner: inner.map(Arc::new),
        }
    }

    fn range(from: i32, to: i32) -> Bound {
        let limit = |value| vec![Limit::Value(Value::Int4(value))];
        Bound::Range(limit(from), limit(to))
    }

    fn division(method: Method, column: usize, parts: Vec<Part>) -> Partitioning {
        Partitioning {
            method,
            columns: vec![(column, SqlType::Int4)],
            parts,
        }
    }

    fn tree() -> Arc<Partitioning> {
        let hash = |number, remainder| {
            let modulus = 2;
            part(number, Bound::Hash { modulus, remainder }, None)
        };
        let lowest = division(Method::Hash, 0, vec![hash(5, 0), hash(6, 1)]);
        let ones = Bound::List(vec![Value::Int4(1), Value::Null]);
        let twos = Bound::List(vec![Value::Int4(2)]);
        let low = vec![part(3, ones, None), part(4, twos, Some(lowest))];
        let low = division(Method::List, 1, low);
        let rest = division(Method::Range, 1, vec![part(8, range(0, 2), None)]);
        let parts = vec![
            part(1, range(0, 5), Some(low)),
            part(2, range(5, 7), None),
            part(7, Bound::Default, Some(rest)),
        ];
        Arc::new(division(Method::Range, 0, parts))
    }

    // Property: of all leaves one at most has a row; what its condition, its home and what each definition takes say agree.
    #[test]
    fn each_row_has_one_leaf_or_none() {
        let all = tree();
        let host = DetachedHost::default();
        let values = || (-1..9).map(Value::Int4).chain([Value::Null]);
        for (a, b) in values().flat_map(|a| values().map(move |b| (a.clone(), b))) {
            let row = [a, b];
            let whole = Partitions {
                all: Arc::clone(&all),
                path: Vec::new(),
                nothing: false,
            };
            let home = whole.home(&row).ok().map(|part| part.id);
            assert_eq!(whole.misfit(&row).is_some(), home.is_none());
            for part in all.all_parts() {
                let path = all.path_to(part.id).unwrap();
                let own = Partitions {
                    all: Arc::clone(&all),
                    path,
                    nothing: false,
                };
                assert_eq!(own.part().unwrap().id, part.id);
                let holds = eval(&own.condition().unwrap(), &row, &[], &host).unwrap();
                let holds = holds.as_bool().unwrap();
                match &part.inner {
                    None => assert_eq!(holds, home == Some(part.id), "{row:?} {}", part.name),
                    Some(inner) => {
                        let below = inner.all_parts().iter().any(|part| home == Some(part.id));
                        assert!(holds || !below, "{row:?} {}", part.name);
                        let lost = own.misfit(&row) == Some(Misfit::Homeless);
                        assert_eq!(holds && !below, lost, "{row:?} {}", part.name);
                    }
                }
                assert_eq!(own.misfit(&row) == Some(Misfit::Elsewhere), !holds);
            }
        }
        assert_eq!(all.key_columns(), [0, 1]);
    }
}

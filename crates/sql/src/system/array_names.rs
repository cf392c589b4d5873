//! What the types of arrays are called in the catalogue.
//!
//! Relies on: the catalogue's names of types and of relations that have rows, whose numbers grow.  Promises: no two types of a schema
//! have one name; each has the name that PostgreSQL would have given it, where types were made in the order of their numbers and
//! kept their names.  Does not: keep names, as PostgreSQL does.

use super::row_types::with_rows;
use crate::catalog::Catalog;
use std::collections::{BTreeMap, BTreeSet};

/// How many underscores more a type may have that takes an array's name away.
const BEYOND: usize = 3;

/// The name of the type of arrays of what is called so in a schema: with an underscore more, or as many as make it its own.
pub(crate) fn array_name(catalog: &Catalog, schema: &str, name: &str) -> String {
    let number = |name: &str| {
        let rows = catalog.relation(schema, name).and_then(with_rows);
        let made = || catalog.type_named(schema, name).map(|record| record.id);
        rows.or_else(made)
    };
    let plain = format!("_{name}");
    if !name.starts_with('_') && number(&plain).is_none() {
        return plain;
    }
    let base = name.trim_start_matches('_');
    let called = |underscores: usize| "_".repeat(underscores) + base;
    let own = name.len() - base.len();
    let all = (0..=own + BEYOND).filter_map(|count| Some((number(&called(count))?, count)));
    let by_age: BTreeMap<u32, usize> = all.collect();
    let places = places(by_age.into_values());
    called(places.get(&own).copied().unwrap_or(own + 1))
}

/// How many underscores the arrays of types have, by how many the types have, which come by their age: an array gets the first name
/// that is free, and another when a type takes it.
fn places(types: impl Iterator<Item = usize>) -> BTreeMap<usize, usize> {
    let mut arrays: BTreeMap<usize, usize> = BTreeMap::new();
    let mut names = BTreeSet::new();
    let free_beyond = |names: &mut BTreeSet<usize>, count: usize| {
        let mut place = count + 1;
        while !names.insert(place) {
            place += 1;
        }
        place
    };
    for count in types {
        if !names.insert(count)
            && let Some((of, place)) = arrays.iter_mut().find(|(_, place)| **place == count)
        {
            *place = free_beyond(&mut names, *of);
        }
        let place = free_beyond(&mut names, count);
        arrays.insert(count, place);
    }
    arrays
}

#[cfg(test)]
mod tests {
    use super::places;

    #[test]
    fn an_array_goes_on_when_a_type_takes_its_name() {
        let of = |types: &[usize]| {
            places(types.iter().copied())
                .into_iter()
                .collect::<Vec<_>>()
        };
        assert_eq!(of(&[0]), [(0, 1)]);
        assert_eq!(of(&[0, 1]), [(0, 2), (1, 3)]);
        assert_eq!(of(&[1, 0]), [(0, 3), (1, 2)]);
        assert_eq!(of(&[0, 1, 2]), [(0, 4), (1, 3), (2, 5)]);
    }
}

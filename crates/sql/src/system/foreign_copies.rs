//! Foreign keys as PostgreSQL lists them: one for each partition of the table that has it, and one for each of the table that it refers to.
//!
//! Relies on: the catalogue, `indexes` for what partitions have of an index.  Promises: each has a number that no other object has, as long as a table has
//! and is referred to by 64 of them at most, and a name that is free in its table's schema.  Does not: do anything; a key of a divided table is one key.

use super::indexes::{OF_A_PART, part_indexes};
use super::primary_key_oid;
use crate::catalog::Catalog;
use crate::draft::name_of;
use crate::records::ForeignKeyRecord;
use quintet_base::TableId;
use std::collections::BTreeSet;

/// A foreign key, or what partitions have of one.
pub(super) struct ShownKey<'c> {
    pub number: u32,
    pub name: String,
    pub key: &'c ForeignKeyRecord,
    /// The number of the one that it is a part of; 0 for a key itself.
    pub of: u32,
    /// Whose it is, with its schema.
    pub child: TableId,
    pub schema: &'c str,
    /// What it refers to, and the index there.
    pub parent: TableId,
    pub index: u32,
}

/// Where numbers of copies begin among those of a partition: of keys that it has, and of keys that refer to it.
const OF_CHILD: u32 = 128;
const OF_PARENT: u32 = 192;

fn number(part: TableId, first: u32, place: usize) -> u32 {
    OF_A_PART | (part.0 << 8) | first | (place as u32 & 63)
}

/// All of them, each key before what partitions have of it.
pub(super) fn shown_keys(catalog: &Catalog) -> Vec<ShownKey<'_>> {
    let divisions = catalog.divisions();
    let mut indexes = None;
    let mut taken = BTreeSet::new();
    for key in catalog.foreign_keys() {
        let schema = catalog.table_by_id(key.child).map(|table| &table.schema);
        taken.insert((schema.cloned().unwrap_or_default(), key.name.clone()));
    }
    let mut all = Vec::new();
    for key in catalog.foreign_keys() {
        let Some(child) = catalog.table_by_id(key.child) else {
            continue;
        };
        let index = match key.index {
            Some(index) => index.0,
            None => primary_key_oid(key.parent),
        };
        all.push(ShownKey {
            number: key.id.0,
            name: key.name.clone(),
            key,
            of: 0,
            child: key.child,
            schema: &child.schema,
            parent: key.parent,
            index,
        });
        let of_child = catalog.foreign_keys_of(key.child);
        let place = of_child.into_iter().position(|own| own.id == key.id);
        let place = place.unwrap_or_default();
        for part in divisions.below(key.child) {
            let Some(part) = divisions.part(part.id) else {
                continue;
            };
            all.push(ShownKey {
                number: number(part.id, OF_CHILD, place),
                name: key.name.clone(),
                key,
                of: match part.parent == key.child {
                    true => key.id.0,
                    false => number(part.parent, OF_CHILD, place),
                },
                child: part.id,
                schema: &part.schema,
                parent: key.parent,
                index,
            });
        }
        let mut referring = catalog
            .foreign_keys()
            .filter(|own| own.parent == key.parent);
        let place = referring.position(|own| own.id == key.id);
        let place = place.unwrap_or_default();
        for part in divisions.below(key.parent) {
            let indexes = indexes.get_or_insert_with(|| part_indexes(catalog));
            let mut own = indexes.iter();
            let own = own.find(|own| own.part.id == part.id && own.of_table == index);
            let columns = key.columns.iter();
            let columns = columns.map(|column| child.columns[*column].name.as_str());
            let middle = columns.collect::<Vec<_>>().join("_");
            let is_taken = |name: &String| taken.contains(&(child.schema.clone(), name.clone()));
            let name = name_of(&child.name, &middle, "fkey", is_taken);
            taken.insert((child.schema.clone(), name.clone()));
            all.push(ShownKey {
                number: number(part.id, OF_PARENT, place),
                name,
                key,
                of: match part.parent == key.parent {
                    true => key.id.0,
                    false => number(part.parent, OF_PARENT, place),
                },
                child: key.child,
                schema: &child.schema,
                parent: part.id,
                index: own.map_or(0, |own| own.number),
            });
        }
    }
    all
}

//! What is made before what: types, tables, routines and views, each behind those that it needs.
//!
//! Relies on: the catalogue's records, and names in their texts.  Promises: the order that they had, but for what is needed before.  Does
//! not: take things apart that need each other in a ring, as a table and a function of its rows that a default of it calls: those stay as
//! they stood.

use super::{on_path, path_of, type_text};
use crate::catalog::Catalog;
use crate::ddl::{NameClass, each_name};
use crate::records::{TableRecord, TypeKind, ViewRecord};
use crate::temporary::is_temporary;
use quintet_base::objects::name_marked;
use quintet_base::types::ROW_TYPE;
use quintet_base::{RoutineId, SqlResult, TableId};

use std::cell::RefCell;
use std::collections::BTreeMap;

/// One of what is put in order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Key {
    Type(u32),
    Relation(TableId),
    Routine(RoutineId),
}

/// What it needs, and whether that is sure: of routines of one name types say which is called.
type Needs = Vec<(Key, bool)>;

struct Part {
    key: Key,
    texts: Vec<String>,
    needs: Needs,
}

/// Finds what names mean; of several that they could, all.
struct Finder<'c> {
    catalog: &'c Catalog,
    /// By their names, with their schemas.
    named: BTreeMap<(NameClass, &'c str), Vec<(&'c str, Key)>>,
}

impl<'c> Finder<'c> {
    fn new(catalog: &'c Catalog) -> Finder<'c> {
        let mut named: BTreeMap<_, Vec<_>> = BTreeMap::new();
        let mut add = |class, schema: &'c str, name: &'c str, key| {
            named.entry((class, name)).or_default().push((schema, key));
        };
        for record in catalog.user_types() {
            let key = Key::Type(record.id);
            add(NameClass::Type, &record.schema, &record.name, key);
        }
        for routine in catalog.all_routines() {
            let record = &routine.record;
            let key = Key::Routine(record.id);
            add(NameClass::Routine, &record.schema, &record.name, key);
        }
        // Rows of relations are types.
        for class in [NameClass::Relation, NameClass::Type] {
            for table in catalog.tables() {
                add(class, &table.schema, &table.name, Key::Relation(table.id));
            }
            for part in catalog.divisions().parts() {
                let whole = Key::Relation(catalog.divisions().root(part.id));
                add(class, &part.schema, &part.name, whole);
            }
            for view in catalog.all_views() {
                add(class, &view.schema, &view.name, Key::Relation(view.id));
            }
        }
        Finder { catalog, named }
    }

    /// Adds what a statement names. `routines`: also what it calls.
    fn of_text(&self, text: &str, routines: bool, needs: &mut Needs) {
        each_name(text, &mut |class, schema, name| {
            if class == NameClass::Routine && !routines {
                return;
            }
            let element = name.strip_prefix('_').filter(|_| class == NameClass::Type);
            for name in [Some(name), element].into_iter().flatten() {
                let all = self.named.get(&(class, name)).into_iter().flatten();
                let fit = all.filter(|(own, _)| schema.is_none_or(|schema| schema == *own));
                let fit: Vec<Key> = fit.map(|(_, key)| *key).collect();
                needs.extend(fit.iter().map(|key| (*key, fit.len() == 1)));
            }
        });
    }

    fn of_expression(&self, text: &str, routines: bool, needs: &mut Needs) {
        self.of_text(&format!("SELECT {text}"), routines, needs);
    }

    /// Adds the types that stand in a text as numbers.
    fn of_marks(&self, text: &str, needs: &mut Needs) {
        let found = RefCell::new(Vec::new());
        let _ = name_marked(text, |number, _| {
            found.borrow_mut().push(number);
            None
        });
        needs.extend(found.into_inner().into_iter().map(|number| {
            let key = match number & ROW_TYPE {
                0 => Key::Type(number),
                _ => {
                    let id = TableId(number & !ROW_TYPE);
                    Key::Relation(self.catalog.divisions().root(id))
                }
            };
            (key, true)
        }));
    }

    fn of_table(&self, record: &TableRecord, needs: &mut Needs) {
        let defaults = record.columns.iter().filter_map(|c| c.default.as_ref());
        let checks = record.checks.iter().map(|check| &check.text);
        let generated = record.more.generated.iter().map(|(_, text)| text);
        for text in defaults.chain(checks).chain(generated) {
            self.of_expression(text, false, needs);
        }
        let domains = record.more.domains.iter();
        needs.extend(domains.map(|(_, domain)| (Key::Type(*domain), true)));
        if let Some(table) = self.catalog.table_by_id(record.id) {
            table.callees(&mut |callee| needs.push((Key::Routine(callee.id), true)));
        }
    }
}

impl Catalog {
    /// The statements that make types, tables, routines and views. `view`: that of a view.
    ///
    /// # Errors
    /// `XX000` if a record names what is not there.
    pub(super) fn definitions(
        &self,
        view: impl Fn(&ViewRecord) -> String,
    ) -> SqlResult<Vec<String>> {
        let finder = Finder::new(self);
        let mut parts = Vec::new();
        // An extension brings its own.
        for record in self.user_types().filter(|own| !own.is_of_extension()) {
            let text = type_text(record);
            let mut needs = Vec::new();
            finder.of_marks(&text, &mut needs);
            if let TypeKind::Domain(domain) = &record.kind {
                let checks = domain.checks.iter().map(|check| &check.text);
                for text in checks.chain(&domain.default) {
                    finder.of_expression(text, true, &mut needs);
                }
            }
            parts.push(Part {
                key: Key::Type(record.id),
                texts: vec![on_path(path_of(&record.schema), text)],
                needs,
            });
        }
        for table in self.lasting_tables() {
            if self.matview(table.id).is_some() {
                continue;
            }
            let record = self.known(table.id)?;
            let text = self.table_text(record);
            let mut needs = Vec::new();
            finder.of_marks(&text, &mut needs);
            finder.of_table(record, &mut needs);
            let mut texts = vec![on_path(path_of(&record.schema), text)];
            if let Some(all) = &table.partitions {
                self.part_texts(record, (&table.schema, &table.name), &all.all, &mut texts);
            }
            parts.push(Part {
                key: Key::Relation(table.id),
                texts,
                needs,
            });
        }
        for routine in self.all_routines() {
            let record = &routine.record;
            if is_temporary(&record.schema) {
                continue;
            }
            let mut needs = Vec::new();
            finder.of_text(&record.text, true, &mut needs);
            parts.push(Part {
                key: Key::Routine(record.id),
                texts: vec![self.routine_text(routine)?],
                needs,
            });
        }
        for record in self.views_in_order() {
            let mut needs: Needs = (record.uses.iter())
                .map(|(id, _)| (Key::Relation(self.divisions().root(*id)), true))
                .collect();
            finder.of_marks(&record.text, &mut needs);
            finder.of_text(&record.text, true, &mut needs);
            parts.push(Part {
                key: Key::Relation(record.id),
                texts: vec![view(record)],
                needs,
            });
        }
        Ok(in_order(parts))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    Open,
    Done,
}

/// The texts of all parts, each behind those of what it needs.
fn in_order(mut parts: Vec<Part>) -> Vec<String> {
    let places = parts.iter().enumerate().map(|(at, part)| (part.key, at));
    let places: BTreeMap<Key, usize> = places.collect();
    let needs: Vec<BTreeMap<usize, bool>> = (parts.iter())
        .map(|part| {
            let mut found = BTreeMap::new();
            for (key, sure) in &part.needs {
                if let Some(&at) = places.get(key) {
                    *found.entry(at).or_insert(false) |= *sure;
                }
            }
            found
        })
        .collect();
    let mut states = vec![State::New; parts.len()];
    let mut texts = Vec::new();
    for start in 0..parts.len() {
        let mut open = vec![start];
        while let Some(&at) = open.last() {
            match states[at] {
                State::New => {
                    states[at] = State::Open;
                    // The first of them is to be looked at first.
                    for (&need, &sure) in needs[at].iter().rev() {
                        let is_new = states[need] == State::New;
                        // Which routine is meant is not known; one that needs this itself is not.
                        if is_new && (sure || !reaches(&needs, need, at)) {
                            open.push(need);
                        }
                    }
                }
                State::Open => {
                    states[at] = State::Done;
                    texts.append(&mut parts[at].texts);
                    open.pop();
                }
                State::Done => {
                    open.pop();
                }
            }
        }
    }
    texts
}

/// Whether one needs another for sure.
fn reaches(needs: &[BTreeMap<usize, bool>], from: usize, to: usize) -> bool {
    let mut seen = vec![false; needs.len()];
    let mut open = vec![from];
    while let Some(at) = open.pop() {
        if at == to {
            return true;
        }
        if std::mem::replace(&mut seen[at], true) {
            continue;
        }
        open.extend(
            needs[at]
                .iter()
                .filter(|(_, sure)| **sure)
                .map(|(at, _)| at),
        );
    }
    false
}

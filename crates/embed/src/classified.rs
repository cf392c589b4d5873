//! The conflict classes of a catalogue's routines at one level.
//!
//! Relies on: `analysis`.  Promises: two calls whose keys do not meet do not make each other fail at their
//! commits; routines that only read have no keys, since what only reads is valid at its snapshot whatever
//! others do, and what others do is not kept from them.  Does not: know calls of what is not in the catalogue
//! (DO, functions called by a SELECT list), or of routines that do not fit the catalogue any more.

use crate::chains::line_of;
use quintet_analysis::{Classes, Footprint, Granularity, Rule};
use quintet_base::conflict::{ConflictKey, Modes};
use quintet_base::{Level, SpaceId, Value};
use quintet_ir::Program;
use quintet_sql::Catalog;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

/// How a routine takes part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Class {
    /// It only reads: it needs no place.
    Reads,
    /// It has this number among the classes.
    Writes(usize),
}

/// See the module.
pub(crate) struct Classified {
    classes: Classes,
    /// By where a program is. The catalogue keeps it there as long as this is asked.
    known: BTreeMap<usize, Class>,
    /// By number.
    habits: Vec<Habits>,
}

/// What has been seen of a routine's calls.
#[derive(Default)]
pub(crate) struct Habits {
    /// They ask for what only their session knows, so they are not for batches.
    pub asks_session: AtomicBool,
}

/// Those of a catalogue at all levels, each made when it is first asked for.
#[derive(Default)]
pub(crate) struct Levels([OnceLock<Classified>; 2]);

impl Levels {
    /// At a level. `catalog` is the same each time.
    pub fn at(&self, level: Level, catalog: &Catalog) -> &Classified {
        self.0[line_of(level)].get_or_init(|| Classified::new(catalog, level))
    }
}

impl Classified {
    fn new(catalog: &Catalog, level: Level) -> Classified {
        let level = match level {
            Level::Snapshot => Level::Snapshot,
            Level::ReadCommitted | Level::Serializable => Level::Serializable,
        };
        let rule = Rule {
            level,
            granularity: Granularity::Commit,
        };
        let mut known = BTreeMap::new();
        let mut footprints = Vec::new();
        for (_, program) in catalog.programs() {
            // What cannot be linked cannot be called, either, and of what is planned when it is reached nothing is known.
            let Some(program) = program.ok().filter(|program| !program.has_dynamic()) else {
                continue;
            };
            let footprint = narrowed(Footprint::of(&program));
            let class = match footprint.only_reads() {
                true => Class::Reads,
                false => {
                    footprints.push(footprint);
                    Class::Writes(footprints.len() - 1)
                }
            };
            known.insert(address(&program), class);
        }
        Classified {
            habits: footprints.iter().map(|_| Habits::default()).collect(),
            classes: Classes::new(footprints, rule),
            known,
        }
    }

    /// Of a program of the catalogue; none of any other.
    pub fn class(&self, program: &Arc<Program>) -> Option<Class> {
        self.known.get(&address(program)).copied()
    }

    /// What has been seen of the calls of a number.
    pub fn habits(&self, number: usize) -> &Habits {
        &self.habits[number]
    }

    /// Which modes conflict.
    pub fn modes(&self) -> &Modes {
        self.classes.modes()
    }

    /// The keys of a call. The arguments are lent.
    pub fn keys(&self, number: usize, arguments: &mut Vec<Value>) -> Vec<ConflictKey> {
        let mut keys = Vec::with_capacity(16);
        self.classes.keys_of(number, arguments, &mut keys);
        keys
    }

    /// See [`Classes::place_of`].
    pub fn place_of(&self, key: &ConflictKey) -> Option<(SpaceId, Vec<u8>)> {
        self.classes.place_of(key)
    }

    /// What keys are of: tables and unique indexes with how many keys each has.
    pub fn spaces(&self, keys: &[ConflictKey]) -> Vec<(&str, usize)> {
        let mut counts = BTreeMap::new();
        for key in keys {
            *counts.entry(key.space).or_insert(0) += 1;
        }
        let counts = counts.into_iter();
        counts
            .filter_map(|(space, count)| Some((self.classes.space_name(space)?, count)))
            .collect()
    }
}

fn address(program: &Arc<Program>) -> usize {
    Arc::as_ptr(program) as usize
}

/// The footprint as it is. In tests of this crate some are made too small, to see that it shows: those of
/// routines with "narrowed" in their names leave out what is written, with "shifted" all rows are
/// taken to be of a key that is the first argument.
fn narrowed(footprint: Footprint) -> Footprint {
    #[cfg(test)]
    let footprint = planted(footprint);
    footprint
}

#[cfg(test)]
fn planted(mut footprint: Footprint) -> Footprint {
    use quintet_analysis::{Effect, KeyPart};
    let has = |word: &str| footprint.name.contains(word);
    let (narrowed, shifted) = (has("narrowed"), has("shifted"));
    if narrowed {
        let marks = &mut footprint.marks;
        marks.retain(|mark| matches!(mark.effect, Effect::Read(_)));
    }
    if shifted {
        let first = quintet_ir::Expr::Param(0, footprint.arguments[0]);
        let parts = footprint.marks.iter_mut().flat_map(|mark| &mut mark.path);
        parts.for_each(|part| *part = KeyPart::Exact(first.clone()));
    }
    footprint
}

//! Conflict classes: for every two routines when calls of them conflict, and the keys of a call that say so.
//!
//! Relies on: `footprint` for what calls touch, `rule` for which effects conflict.  Promises: calls whose keys
//! do not meet do not conflict at the level and granularity asked for: at SERIALIZABLE they commute, at
//! SNAPSHOT none makes the other's commit fail.  Does not: order calls (`chain`), or know calls of routines that
//! it was not given: whoever runs those has to validate.
//!
//! ```text
//!   footprints ──► marks by space, effects by mode ──► pairs: Condition, for people
//!                                                  └─► Paths of each mark that conflicts with any: keys, for
//!                                                      schedulers
//! ```
//!
//! Source: Gargamel, chapter 3 and Table 5.2, where this was done by hand for one benchmark.

use crate::condition::{Condition, Over};
use crate::deeds::Effect;
use crate::footprint::{Footprint, Mark};
use crate::paths::{Paths, number_of};
use crate::rule::{Cause, Granularity, Rule};
use quintet_base::conflict::{ConflictKey, MAX_MODES, Mode, Modes, Space};
use quintet_base::{SpaceId, SqlType, TableId, Value};
use quintet_ir::TableDef;
use quintet_ir::schema::TableRef;
use std::collections::BTreeMap;

/// The conflict classes of some routines.
#[derive(Clone, Debug)]
pub struct Classes {
    rule: Rule,
    pub(crate) routines: Vec<Routine>,
    pub(crate) orders: Vec<Order>,
    modes: Modes,
}

#[derive(Clone, Debug)]
pub(crate) struct Routine {
    footprint: Footprint,
    /// Without the types of its arguments, if no other is called like that.
    name: String,
    pub keys: Vec<Key>,
    /// Room for the arguments and the variables of turns.
    places: usize,
}

/// A mark that others may conflict with.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub mark: usize,
    pub order: usize,
    /// Number of its effect in the order.
    pub effect: usize,
    pub paths: Paths,
    /// In its space, once the modes are made.
    mode: Mode,
    pub standing: Standing,
}

/// Whether a mark gives keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    /// It does.
    Keyed,
    /// Nothing that any of the routines does conflicts with it.
    Unopposed,
    /// The keys of this mark of the routine say as much.
    CoveredBy(usize),
    /// Calls that meet in it meet in the keys of other tables, too.
    CoveredElsewhere,
}

impl Key {
    pub fn is_needed(&self) -> bool {
        self.standing == Standing::Keyed
    }
}

/// An order of rows: a space.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    table: TableRef,
    pub index: Option<usize>,
    effects: Vec<Effect>,
    /// Of each effect: which it conflicts with, and why.
    pub causes: Vec<Vec<Option<Cause>>>,
}

/// A mark as conditions see it.
pub(crate) struct Side<'a> {
    pub number: usize,
    pub routine: &'a str,
    pub paths: &'a Paths,
    /// Of the places that the paths see.
    pub names: Vec<String>,
}

impl Classes {
    /// The classes of routines with these footprints. Spaces and modes are numbered anew: keys of other
    /// classes are not to be compared with keys of these.
    pub fn new(footprints: Vec<Footprint>, rule: Rule) -> Classes {
        let mut classes = Classes {
            rule,
            routines: Vec::new(),
            orders: Vec::new(),
            modes: Modes::new(),
        };
        let bare = |footprint: &Footprint| {
            let name = footprint.name.split('(').next();
            name.unwrap_or_default().to_string()
        };
        let short: Vec<String> = footprints.iter().map(bare).collect();
        let mut numbers = BTreeMap::new();
        for (number, footprint) in footprints.into_iter().enumerate() {
            let alone = short.iter().filter(|name| **name == short[number]).count() == 1;
            let name = match alone && !short[number].is_empty() {
                true => short[number].clone(),
                false => footprint.name.clone(),
            };
            classes.add(footprint, name, &mut numbers);
        }
        classes.compare();
        classes.prune();
        classes.number_modes();
        classes
    }

    fn add(
        &mut self,
        footprint: Footprint,
        name: String,
        numbers: &mut BTreeMap<(TableId, Option<usize>), usize>,
    ) {
        let arguments = footprint.arguments.len();
        let mut routine = Routine {
            footprint,
            name,
            keys: Vec::new(),
            places: arguments,
        };
        for (number, mark) in routine.footprint.marks.iter().enumerate() {
            let index = index_of(&mark.effect);
            let order = *numbers.entry((mark.table.id, index)).or_insert_with(|| {
                self.orders.push(Order {
                    table: TableRef::clone(&mark.table),
                    index,
                    effects: Vec::new(),
                    causes: Vec::new(),
                });
                self.orders.len() - 1
            });
            let seen = self.rule.seen(mark);
            let effects = &mut self.orders[order].effects;
            let known = effects.iter().position(|effect| *effect == seen);
            let effect = known.unwrap_or_else(|| {
                effects.push(seen);
                effects.len() - 1
            });
            let paths = Paths::new(mark, arguments);
            routine.places = routine.places.max(paths.places());
            routine.keys.push(Key {
                mark: number,
                order,
                effect,
                paths,
                mode: Mode(0),
                standing: Standing::Keyed,
            });
        }
        self.routines.push(routine);
    }

    fn compare(&mut self) {
        let rule = self.rule;
        for order in &mut self.orders {
            let cause = |a: &Effect, b: &Effect| rule.cause(a, b, &order.table);
            order.causes = (order.effects.iter())
                .map(|a| order.effects.iter().map(|b| cause(a, b)).collect())
                .collect();
        }
    }

    fn add_case(
        &self,
        condition: &mut Condition,
        routines: [usize; 2],
        keys: [&Key; 2],
        cause: Cause,
    ) {
        let [one, other] = [0, 1].map(|side| self.side(routines[side], keys[side]));
        let effects = keys.map(|key| &self.orders[key.order].effects[key.effect]);
        let order = &self.orders[keys[0].order];
        let what = order.what(effects, self.rule.granularity);
        condition.add(&one, &other, Over { what, cause });
    }

    fn side<'a>(&'a self, routine: usize, key: &'a Key) -> Side<'a> {
        let Routine {
            footprint, name, ..
        } = &self.routines[routine];
        let arguments = footprint.names[..footprint.arguments.len()].iter();
        let turns = key
            .paths
            .origins
            .iter()
            .map(|place| &footprint.names[*place]);
        Side {
            number: routine,
            routine: name,
            paths: &key.paths,
            names: arguments.chain(turns).cloned().collect(),
        }
    }

    /// Effects of an order that conflict with the same ones are one mode.
    fn number_modes(&mut self) {
        for (number, order) in self.orders.iter().enumerate() {
            let space = Space(number as u32);
            let keys = self.routines.iter().flat_map(|routine| &routine.keys);
            let mut used = vec![false; order.effects.len()];
            keys.filter(|key| key.is_needed() && key.order == number)
                .for_each(|key| used[key.effect] = true);
            let against = |effect: usize| -> Vec<bool> {
                let causes = order.causes[effect].iter().zip(&used);
                causes
                    .map(|(cause, used)| *used && cause.is_some())
                    .collect()
            };
            let mut rows: Vec<Vec<bool>> = Vec::new();
            let mut modes = vec![Mode(0); order.effects.len()];
            for effect in (0..order.effects.len()).filter(|effect| used[*effect]) {
                let row = against(effect);
                let known = rows.iter().position(|known| *known == row);
                let mode = known.unwrap_or_else(|| {
                    rows.push(row);
                    rows.len() - 1
                });
                // With too many modes the last stands for all that are left.
                modes[effect] = Mode(mode.min(MAX_MODES - 1) as u8);
            }
            for (a, mode) in modes.iter().enumerate().filter(|(a, _)| used[*a]) {
                for (b, other) in modes.iter().enumerate().filter(|(b, _)| used[*b]) {
                    if order.causes[a][b].is_some() {
                        self.modes.declare(space, *mode, *other);
                    }
                }
            }
            for routine in &mut self.routines {
                let keys = routine.keys.iter_mut();
                keys.filter(|key| key.order == number)
                    .for_each(|key| key.mode = modes[key.effect]);
            }
        }
    }

    /// What the numbers of modes mean.
    pub fn modes(&self) -> &Modes {
        &self.modes
    }

    /// Level and granularity.
    pub fn rule(&self) -> Rule {
        self.rule
    }

    /// The footprints, in the order in which they were given.
    pub fn footprints(&self) -> impl Iterator<Item = &Footprint> {
        self.routines.iter().map(|routine| &routine.footprint)
    }

    /// What the routines are called: without the types of their arguments where that is enough.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.routines.iter().map(|routine| routine.name.as_str())
    }

    /// The keys of a call of one of the routines, by its number; a call that conflicts with none has none.
    /// Appended to `into`, so that a caller can use it again. Arguments that are left out at the end are NULL, as
    /// OUT parameters are where a call begins.
    ///
    /// # Panics
    /// If there is no such routine, or it has fewer arguments.
    pub fn keys(&self, routine: usize, arguments: &[Value], into: &mut Vec<ConflictKey>) {
        let mut values = Vec::with_capacity(self.routines[routine].places);
        values.extend_from_slice(arguments);
        self.keys_of(routine, &mut values, into);
    }

    /// As [`Classes::keys`], of arguments that are the caller's own: they need not be copied. They are there
    /// afterwards as they were.
    ///
    /// # Panics
    /// As [`Classes::keys`].
    pub fn keys_of(&self, routine: usize, values: &mut Vec<Value>, into: &mut Vec<ConflictKey>) {
        let routine = &self.routines[routine];
        let arguments = values.len();
        assert!(
            arguments <= routine.footprint.arguments.len(),
            "{arguments} arguments of {}",
            routine.footprint.name
        );
        values.resize(routine.places, Value::Null);
        let first = into.len();
        for key in routine.keys.iter().filter(|key| key.is_needed()) {
            let space = Space(key.order as u32);
            key.paths.each(values, &mut |path| {
                into.push(ConflictKey::new(space, key.mode, path));
            });
        }
        values.truncate(arguments);
        // Two lines of an order may be of one item.
        into[first..]
            .sort_unstable_by(|a, b| (a.space, a.mode, a.path()).cmp(&(b.space, b.mode, b.path())));
        let mut at = first;
        for place in first..into.len() {
            if place == first || into[place] != into[at - 1] {
                into[at] = into[place];
                at += 1;
            }
        }
        into.truncate(at);
    }

    /// When calls of two routines conflict.
    pub fn condition(&self, one: usize, other: usize) -> Condition {
        let mut condition = Condition::default();
        for a in &self.routines[one].keys {
            for b in self.routines[other]
                .keys
                .iter()
                .filter(|b| a.order == b.order)
            {
                if let Some(cause) = self.orders[a.order].causes[a.effect][b.effect] {
                    self.add_case(&mut condition, [one, other], [a, b], cause);
                }
            }
        }
        condition
    }

    /// The marks of a routine, and whether they give keys.
    pub fn standings(&self, routine: usize) -> impl Iterator<Item = (&Mark, Standing)> {
        let routine = &self.routines[routine];
        let keys = routine.keys.iter();
        keys.map(|key| (&routine.footprint.marks[key.mark], key.standing))
    }

    /// Where the rows of a key are, and how their keys begin: as far as the key says, and its columns are whole
    /// numbers, of which alone parts can be read.
    pub fn place_of(&self, key: &ConflictKey) -> Option<(SpaceId, Vec<u8>)> {
        let order = self.orders.get(key.space.0 as usize)?;
        let table = &order.table;
        let (space, columns) = match (order.index, &table.primary_key) {
            (Some(index), _) => (table.indexes[index].space, &*table.indexes[index].columns),
            (None, Some(primary)) => (table.space, &*primary.columns),
            (None, None) => (table.space, &[][..]),
        };
        let mut bytes = Vec::new();
        for (part, column) in key.path().iter().zip(columns) {
            let number = number_of(*part);
            let value = match table.columns[*column].ty {
                SqlType::Int2 => i16::try_from(number).ok().map(Value::Int2),
                SqlType::Int4 => i32::try_from(number).ok().map(Value::Int4),
                SqlType::Int8 => Some(Value::Int8(number)),
                _ => None,
            };
            let Some(value) = value else {
                break;
            };
            quintet_base::key::encode(&value, &mut bytes);
        }
        Some((space, bytes))
    }

    /// What a space is called: a table, or one of its unique indexes.
    pub fn space_name(&self, space: Space) -> Option<&str> {
        let order = self.orders.get(space.0 as usize)?;
        Some(match order.index {
            Some(index) => &order.table.indexes[index].name,
            None => &order.table.name,
        })
    }
}

impl Order {
    /// What two effects conflict over.
    fn what(&self, effects: [&Effect; 2], granularity: Granularity) -> String {
        let Order { table, index, .. } = self;
        let name = match index {
            Some(index) => &table.indexes[*index].name,
            None => &table.name,
        };
        let columns = match effects {
            [
                Effect::Update(a) | Effect::Read(a) | Effect::Check(a),
                Effect::Update(b) | Effect::Read(b) | Effect::Check(b),
            ] if granularity != Granularity::Row => a.intersection(b).copied().collect(),
            _ => Vec::new(),
        };
        let words = match columns.is_empty() {
            false => names_of(table, columns),
            true => {
                let mut words = effects.map(word);
                words.sort_unstable();
                match words[0] == words[1] {
                    true => words[0].to_string(),
                    false => words.join(" and "),
                }
            }
        };
        format!("{name} ({words})")
    }
}

/// Names of columns.
pub(crate) fn names_of(table: &TableDef, columns: impl IntoIterator<Item = usize>) -> String {
    let names = columns
        .into_iter()
        .map(|column| match table.columns.get(column) {
            Some(column) => column.name.as_str(),
            None => "row id",
        });
    names.collect::<Vec<_>>().join(", ")
}

/// What an effect is called.
pub(crate) fn word(effect: &Effect) -> &'static str {
    match effect {
        Effect::Read(_) => "read",
        Effect::Check(_) => "check",
        Effect::Lock { shared: false } => "lock",
        Effect::Lock { shared: true } => "shared lock",
        Effect::Update(_) => "update",
        Effect::Insert | Effect::InsertNumbered(_) => "insert",
        Effect::Delete => "delete",
        Effect::Claim(_) => "claim",
        Effect::Release(_) => "release",
    }
}

/// The unique index that an effect is about.
fn index_of(effect: &Effect) -> Option<usize> {
    match effect {
        Effect::Claim(index) | Effect::Release(index) => Some(*index),
        _ => None,
    }
}

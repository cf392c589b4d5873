//! What is in the way: which rows calls wait for and lose by, whose calls those are, and whose they meet.
//!
//! Relies on: sessions, which tell of a wait when it is over and of a conflict when it is lost.  Promises: bounded memory:
//! of [`ENTRIES_MAX`] entries the least harmful makes room for a new one, which inherits its harm as an error that is
//! shown; so whatever did more harm than the sum of all divided by the entries is there. Where nothing waits or
//! loses nothing is done.  Does not: last longer than the process.
//!
//! Source: the Space-Saving sketch (Metwally, Agrawal, El Abbadi, ICDT 2005), weighted by time.

use parking_lot::Mutex;
use quintet_base::{Bytes, SpaceId};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// Entries of the sketch: some hundred bytes each.
const ENTRIES_MAX: usize = 2_000;

/// Of a key so much is kept: whole keys nearly always.
const KEY_BYTES_KEPT: usize = 128;

/// Whom an entry meets: so many are told apart.
const OTHERS_MAX: usize = 4;

/// Names that are told apart; later ones are all called [`OTHER`].
const LABELS_MAX: usize = 10_000;

/// What has no name of its own.
const OTHER: &str = "other";

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Kind {
    /// It waited for a row's lock.
    Wait,
    /// It waited in line behind calls with such a key.
    Line,
    /// It lost to another transaction, and the server ran it again.
    Retry,
    /// It lost to another transaction, and its client was told.
    Refused,
    /// Waiting would have closed a ring.
    Deadlock,
}

impl Kind {
    /// As the view has it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Wait => "wait",
            Kind::Line => "line",
            Kind::Retry => "retry",
            Kind::Refused => "refused",
            Kind::Deadlock => "deadlock",
        }
    }
}

/// Number of a procedure's name, or of a kind of statement; 0: of nothing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Label(pub u32);

/// What an entry counts.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Subject {
    kind: Kind,
    space: SpaceId,
    key: Bytes,
    label: Label,
}

/// A thing that happened to somebody.
#[derive(Clone, Debug)]
pub(crate) struct Incident {
    pub kind: Kind,
    pub space: SpaceId,
    pub key: Bytes,
    /// Whose call or statement it was.
    pub label: Label,
    /// Whom it met, if that is known.
    pub other: Label,
    /// Time that was waited, or worked for nothing.
    pub lost_micros: u64,
}

struct Entry {
    subject: Subject,
    events: u64,
    harm: u64,
    /// Part of the harm that may be others'.
    excess: u64,
    others: Vec<(Label, u64)>,
    last: i64,
}

/// An entry, as it is told.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Told {
    pub kind: Kind,
    pub space: SpaceId,
    pub key: Bytes,
    pub procedure: Name,
    pub other: Option<Name>,
    pub events: u64,
    pub lost_micros: u64,
    pub excess_micros: u64,
    pub last: i64,
}

/// What a label stands for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Name {
    pub text: Arc<str>,
    /// It is a routine's, which was called.
    pub is_call: bool,
}

#[derive(Default)]
struct Sketch {
    entries: Vec<Entry>,
    places: HashMap<Subject, usize>,
    /// By harm.
    order: BTreeSet<(u64, usize)>,
}

#[derive(Default)]
struct Labels {
    names: Vec<Name>,
    numbers: HashMap<(Arc<str>, bool), u32>,
}

/// See the module.
#[derive(Default)]
pub(crate) struct Contention {
    sketch: Mutex<Sketch>,
    labels: Mutex<Labels>,
}

impl Contention {
    /// The number of a name.
    pub fn label(&self, text: &str, is_call: bool) -> Label {
        let mut labels = self.labels.lock();
        let text = match labels.names.len() >= LABELS_MAX {
            true => OTHER,
            false => text,
        };
        let key = (Arc::from(text), is_call);
        if let Some(number) = labels.numbers.get(&key) {
            return Label(*number);
        }
        labels.names.push(Name {
            text: Arc::clone(&key.0),
            is_call,
        });
        let number = labels.names.len() as u32;
        labels.numbers.insert(key, number);
        Label(number)
    }

    /// Something happened at this time.
    pub fn note(&self, incident: Incident, now: i64) {
        self.sketch.lock().note(incident, now);
    }

    /// Forgets everything that happened.
    pub fn reset(&self) {
        *self.sketch.lock() = Sketch::default();
    }

    /// What happened, the most harmful first.
    pub fn told(&self) -> Vec<Told> {
        let labels = self.labels.lock();
        let name = |label: Label| match label.0 {
            0 => None,
            number => labels.names.get(number as usize - 1).cloned(),
        };
        let sketch = self.sketch.lock();
        let entries = sketch.order.iter().rev();
        let told = entries.map(|(_, place)| {
            let entry = &sketch.entries[*place];
            let other = entry.others.iter().max_by_key(|(_, count)| *count);
            let Subject {
                kind,
                space,
                key,
                label,
            } = &entry.subject;
            Told {
                kind: *kind,
                space: *space,
                key: key.clone(),
                procedure: name(*label).unwrap_or(Name {
                    text: OTHER.into(),
                    is_call: false,
                }),
                other: other.and_then(|(label, _)| name(*label)),
                events: entry.events,
                lost_micros: entry.harm,
                excess_micros: entry.excess,
                last: entry.last,
            }
        });
        told.collect()
    }
}

impl Sketch {
    fn note(&mut self, incident: Incident, now: i64) {
        let Incident {
            kind,
            space,
            key,
            label,
            other,
            lost_micros,
        } = incident;
        let key = match key.len() > KEY_BYTES_KEPT {
            true => Bytes::copy_from_slice(&key[..KEY_BYTES_KEPT]),
            false => key,
        };
        let subject = Subject {
            kind,
            space,
            key,
            label,
        };
        // An event does some harm, however short it was.
        let harm = lost_micros.max(1);
        let place = self.place(subject);
        let entry = &mut self.entries[place];
        self.order.remove(&(entry.harm, place));
        entry.harm += harm;
        entry.events += 1;
        entry.last = now;
        self.order.insert((entry.harm, place));
        if other != Label::default() {
            meet(&mut entry.others, other);
        }
    }

    /// Where the entry is, made if need be.
    fn place(&mut self, subject: Subject) -> usize {
        if let Some(place) = self.places.get(&subject) {
            return *place;
        }
        let entry = Entry {
            subject: subject.clone(),
            events: 0,
            harm: 0,
            excess: 0,
            others: Vec::new(),
            last: 0,
        };
        let place = match self.entries.len() < ENTRIES_MAX {
            true => {
                self.entries.push(entry);
                self.entries.len() - 1
            }
            false => {
                let (least, place) = self.order.pop_first().expect("all entries are in order");
                let old = std::mem::replace(
                    &mut self.entries[place],
                    Entry {
                        harm: least,
                        excess: least,
                        ..entry
                    },
                );
                self.places.remove(&old.subject);
                place
            }
        };
        self.places.insert(subject, place);
        place
    }
}

/// Counts one more; of too many the rarest makes room.
fn meet(others: &mut Vec<(Label, u64)>, other: Label) {
    if let Some((_, count)) = others.iter_mut().find(|(known, _)| *known == other) {
        *count += 1;
        return;
    }
    if others.len() < OTHERS_MAX {
        others.push((other, 1));
        return;
    }
    let rarest = others.iter_mut().min_by_key(|(_, count)| *count);
    if let Some(rarest) = rarest {
        *rarest = (other, rarest.1 + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn incident(row: u32, lost_micros: u64) -> Incident {
        Incident {
            kind: Kind::Wait,
            space: SpaceId(7),
            key: Bytes::copy_from_slice(&row.to_be_bytes()),
            label: Label(1),
            other: Label(2),
            lost_micros,
        }
    }

    /// Goal: among a great many rows that do little harm, each once, those that do much are found, with their
    /// harm up to the error that is told; memory stays bounded.
    #[test]
    fn what_does_the_most_harm_is_kept_among_many() {
        let contention = Contention::default();
        let by = [
            contention.label("new_order", true),
            contention.label("payment", true),
        ];
        assert_eq!(by, [Label(1), Label(2)]);
        assert_eq!(contention.label("payment", true), Label(2));
        for round in 0..50_000_u32 {
            contention.note(incident(1_000 + round, 3), 1);
            if round % 10 == 0 {
                contention.note(incident(7, 200), 2);
            }
            if round % 25 == 0 {
                contention.note(incident(8, 200), 3);
            }
        }
        let told = contention.told();
        assert_eq!(told.len(), ENTRIES_MAX);
        let first: Vec<_> = told[..2]
            .iter()
            .map(|told| (told.key[3], told.events, told.last))
            .collect();
        assert_eq!(first, [(7, 5_000, 2), (8, 2_000, 3)]);
        for (told, harm) in told.iter().zip([1_000_000, 400_000]) {
            let exact = told.lost_micros - told.excess_micros;
            assert!(exact <= harm && harm <= told.lost_micros, "{told:?}");
            assert_eq!(&*told.procedure.text, "new_order");
            assert_eq!(&*told.other.as_ref().unwrap().text, "payment");
        }
        let least = told.last().unwrap();
        let average = (50_000 * 3 + 1_400_000) / ENTRIES_MAX as u64;
        assert!(least.lost_micros <= average, "{least:?}");
        contention.reset();
        assert!(contention.told().is_empty());
    }

    #[test]
    fn the_most_frequent_other_is_told_and_long_keys_are_cut() {
        let contention = Contention::default();
        let labels: Vec<Label> = (0..20)
            .map(|number| contention.label(&number.to_string(), false))
            .collect();
        for round in 0..100 {
            for other in [labels[3], labels[round % 20]] {
                contention.note(
                    Incident {
                        key: Bytes::from(vec![9; 5_000]),
                        label: labels[0],
                        other,
                        ..incident(0, 0)
                    },
                    0,
                );
            }
        }
        let told = contention.told();
        assert_eq!(told.len(), 1);
        assert_eq!(&*told[0].other.as_ref().unwrap().text, "3");
        assert_eq!((told[0].key.len(), told[0].events), (KEY_BYTES_KEPT, 200));
        assert_eq!(told[0].lost_micros, 200, "each event counts");
    }
}

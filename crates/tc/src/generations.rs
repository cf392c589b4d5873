//! STORE's generations that snapshots still read.
//!
//! Relies on: a generation holds exactly the commits at or below its position.  Promises: the newest
//! generation at or below a snapshot that is in use is kept.  Does not: know what is in memory.
//!
//! A snapshot reads the table first. What the table does not have for it is in *its* generation, the
//! newest one at or below it: records are evicted only when that holds (`Table::evict`).

mod inlined;

use arc_swap::ArcSwap;
use quintet_base::Timestamp;
use quintet_dc::Generation;
use std::sync::Arc;

/// STORE as of a position.
#[derive(Clone)]
pub(crate) struct Kept {
    pub position: Timestamp,
    pub generation: inlined::Stored,
}

/// Everything that was committed at or below a position, and nothing else, durable, in STORE alone: whoever
/// holds it holds back no version in memory and no log, only the files that it is in.
pub struct Settled {
    /// Of which log position; also the timestamp of the newest commit in it.
    pub position: Timestamp,
    /// The records.
    pub generation: Arc<dyn Generation>,
}

/// Ascending by position; never empty.
pub(crate) struct Generations(ArcSwap<Vec<Kept>>);

impl Generations {
    pub fn new(position: Timestamp, generation: Arc<dyn Generation>) -> Generations {
        Generations(ArcSwap::from_pointee(vec![Kept {
            position,
            generation: inlined::stored(generation),
        }]))
    }

    /// What a snapshot reads where memory has nothing for it. Ask after looking into memory.
    pub fn of(&self, snapshot: Timestamp) -> Kept {
        let list = self.0.load();
        let newer = list.partition_point(|kept| kept.position <= snapshot);
        assert!(newer > 0, "no generation is kept for snapshot {snapshot}");
        list[newer - 1].clone()
    }

    /// Position of the newest one.
    pub fn newest(&self) -> Timestamp {
        self.0.load().last().expect("never empty").position
    }

    /// The newest one, for who reads it by itself.
    pub fn settled(&self) -> Settled {
        let list = self.0.load();
        let newest = list.last().expect("never empty");
        Settled {
            position: newest.position,
            generation: inlined::shared(&newest.generation),
        }
    }

    pub fn len(&self) -> usize {
        self.0.load().len()
    }

    /// Adds a generation. One at a time.
    pub fn publish(&self, position: Timestamp, generation: Arc<dyn Generation>) {
        let mut list = Vec::clone(&self.0.load());
        assert!(position >= self.newest(), "generations only get newer");
        list.push(Kept {
            position,
            generation: inlined::stored(generation),
        });
        self.0.store(Arc::new(list));
    }

    /// Gives up those that no snapshot reads. `snapshots` ascend. One at a time.
    pub fn retire(&self, snapshots: &[Timestamp]) {
        let list = self.0.load();
        let kept: Vec<Kept> = list
            .iter()
            .enumerate()
            .filter(|(at, kept)| match list.get(at + 1) {
                None => true,
                Some(next) => {
                    let first = snapshots.partition_point(|s| *s < kept.position);
                    snapshots.get(first).is_some_and(|s| *s < next.position)
                }
            })
            .map(|(_, kept)| kept.clone())
            .collect();
        if kept.len() < list.len() {
            self.0.store(Arc::new(kept));
        }
    }

    /// Position of the generation that a snapshot here would read; zero if it has been given up, as it may
    /// have been below the low water.
    pub fn covered(&self, snapshot: Timestamp) -> Timestamp {
        let list = self.0.load();
        let newer = list.partition_point(|kept| kept.position <= snapshot);
        newer
            .checked_sub(1)
            .map_or(Timestamp::ZERO, |at| list[at].position)
    }

    /// Each snapshot with the position of its generation. One that is being registered may be below
    /// all; it will be given up for a newer one before anything is read.
    pub fn assign(&self, snapshots: &[Timestamp]) -> Vec<(Timestamp, Timestamp)> {
        let list = self.0.load();
        let position = |snapshot: Timestamp| {
            let newer = list.partition_point(|kept| kept.position <= snapshot);
            list[newer.saturating_sub(1)].position
        };
        snapshots.iter().map(|s| (*s, position(*s))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_dc::{DataComponent, MemoryMedium, MemoryStore};

    #[test]
    fn each_snapshot_keeps_the_newest_generation_at_or_below_it() {
        let store = MemoryStore::open(&MemoryMedium::default());
        let generations = Generations::new(Timestamp(8), store.generation());
        for position in [16, 24, 32] {
            generations.publish(Timestamp(position), store.generation());
        }
        for (snapshot, position) in [(8, 8), (15, 8), (16, 16), (31, 24), (32, 32), (900, 32)] {
            let kept = generations.of(Timestamp(snapshot));
            assert_eq!(kept.position, Timestamp(position), "{snapshot}");
        }
        let positions = |generations: &Generations| -> Vec<u64> {
            generations.0.load().iter().map(|k| k.position.0).collect()
        };
        generations.retire(&[Timestamp(9), Timestamp(25), Timestamp(40)]);
        assert_eq!(positions(&generations), [8, 24, 32]);
        generations.retire(&[]);
        assert_eq!(positions(&generations), [32]);
    }
}

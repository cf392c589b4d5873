//! STORE on log-structured merge trees (the `lsm-tree` crate): one tree per space.
//!
//! Relies on: the contract in `quintet_dc`; a POSIX file system whose syncs are honest.  Promises:
//! that contract; a kill at any moment leaves a directory that opens with a redo start that was
//! given to a checkpoint, and everything merged before it.  Does not: write a journal (the caller's
//! redo log is the only one), or run on a simulated disk, since the trees name the system's files
//! themselves; simulations use `quintet_dc::MemoryStore`.
//!
//! ```text
//!  directory/
//!    lock            held while the store, a generation or a scan is alive
//!    manifest        redo start, live spaces, position ceiling; replaced in one step
//!    spaces/<n>/     the tree of one space; n is never used twice while files of it exist
//! ```
//!
//! **One tree per space**, not one tree with prefixed keys: dropping a space is then removing a
//! folder once nobody reads it, instead of a removal mark per record; runs of one space never force
//! another space's tablets through compaction; and tablets hold no foreign keys. The price is a
//! handful of syncs per space and merge instead of per merge.
//!
//! **Runs are tablets from the beginning**, not inserted: a run's sorted tablets are written straight to disk,
//! never holding more than a few blocks of it, and then the tree takes all of them in at once on top of what it
//! has; overlapping keys and removals are allowed. So a merge is taken whole or not at all, is
//! durable when it returns, and write buffers need no bound. A checkpoint only replaces the
//! manifest.
//!
//! **Positions are stored with the values** (eight bytes, see `record`); the tree's own sequence
//! numbers order runs inside one tree and tell generations apart. An operation above every position
//! that the space may hold is written blindly; only one at or below that mark, as after a failure,
//! or after the end of a process between a merge and its checkpoint, costs a read to compare with the
//! stored record (see `manifest`).
//!
//! **Generations** pin, per space, a sequence number of its tree; compaction keeps the tablets that
//! a pinned number needs, and lets them go soon after the pin does.
//!
//! | file | what it holds |
//! |---|---|
//! | `config` | [`LsmConfig`] |
//! | `store` | [`LsmStore`], the contract's operations |
//! | `generation` | reads at a pin |
//! | `tablets`, `tablet` | point reads: through the tablets of a pin, and in one of them |
//! | `files`, `again` | reads of the files, and which blocks are worth keeping |
//! | `pages` | what the system keeps of the files |
//! | `space` | one tree: merge, pins, compaction, leftovers |
//! | `writing`, `tablet_writer`, `output` | the tablets of a run |
//! | `patience` | whether a tree is compacted now or later |
//! | `versions` | whose turn it is to write a tree's next version |
//! | `compactor` | the background thread, its queue and its rests |
//! | `manifest`, `record`, `fault` | bytes on disk, and errors of the tree in our words |
//!
//! Lock order: a space's `merging`, its `compacting`, the store's `manifest`, the store's `live`,
//! then a space's `registered`, `pins` and `known`, the open
//! files and the queue, which are leaves. Only the turns `merging`
//! and `compacting` are held while tree or caller code runs, and the turns of `versions` inside of them.

mod again;
mod compactor;
mod config;
mod fault;
mod files;
mod generation;
mod manifest;
mod output;
mod pages;
mod patience;
mod record;
mod space;
mod store;
mod tablet;
mod tablet_writer;
mod tablets;
mod versions;
mod writing;

pub use config::{Compression, LsmConfig};
pub use generation::LsmGeneration;
pub use manifest::{Listed, Manifest};
pub use store::LsmStore;

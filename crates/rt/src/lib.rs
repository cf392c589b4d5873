//! Ground floor: the seams to the operating system, each in a real and a simulated form.
//!
//! Relies on: nothing of ours.  Promises: this is the only crate that names the operating system's
//! clock, files, threads and randomness; the simulated forms are driven by a seed and by nothing
//! else.  Does not: know what a log, a table or a transaction is.
//!
//! | file | seam | real | simulated |
//! |---|---|---|---|
//! | `clock` | [`Clock`] | [`RealClock`] | [`SimClock`], moved by hand |
//! | `rand` | [`Rand`] | [`Rand::from_os`] | [`Rand::seeded`] |
//! | `threads` | [`threads::spawn`], [`block_on`] | real threads | (callers keep their cores pure) |
//! | `pages` | memory asked for before it is needed | [`pages::touch`] | (the allocator stays real) |
//! | `disk` | [`Disk`], [`DiskFile`] | [`RealDisk`] | [`SimDisk`], which forgets on power loss |
//!
//! Lock order: a [`SimDisk`] has one lock and calls nobody while it is held.

pub mod clock;
pub mod disk;
pub mod error;
pub mod pages;
pub mod rand;
mod real_disk;
mod sim_disk;
pub mod threads;

pub use clock::{Clock, RealClock, SimClock};
pub use disk::{DIRECT_BYTES, Disk, DiskFile, OpenMode};
pub use error::Error;
pub use rand::Rand;
pub use real_disk::RealDisk;
pub use sim_disk::{SECTOR_BYTES, SimDisk};
pub use threads::block_on;

//! One machine: what survives its crashes, and the life that runs on it now.
//!
//! Relies on: the log and the component opened without threads.  Promises: the same calls give the
//! same life.  Does not: check anything.

use crate::Mistake;
use crate::disk::Liar;
use crate::profile::{DIRECTORY, Profile};
use crate::store::Rocky;
use quintet_base::{Lsn, SpaceId};
use quintet_dc::{DataComponent, MemoryMedium, Operation};
use quintet_rt::{Clock, Disk, Rand, SimClock, SimDisk};
use quintet_tc::{Recovery, Tc};
use quintet_wal::{Driver, Opening, Wal, WalReport};
use std::path::Path;
use std::sync::Arc;

/// What a crash leaves.
pub(crate) struct Machine {
    pub disk: SimDisk,
    pub medium: MemoryMedium,
    pub clock: Arc<SimClock>,
    /// Runs that the store kept although it did not have to.
    survived: Vec<(SpaceId, Vec<Operation<'static>>)>,
}

/// A process: from an opening to a crash.
pub(crate) struct Life {
    pub tc: Tc,
    pub log: Arc<Wal>,
    pub driver: Arc<Driver>,
    pub store: Arc<Rocky>,
    pub disk: SimDisk,
    pub clock: Arc<SimClock>,
}

/// How a life ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    /// The machine loses power.
    Power,
    /// The process is killed; what it has handed to the system stays.
    Kill,
    /// In good order.
    Shutdown,
}

impl Machine {
    pub fn new(rand: &mut Rand) -> Machine {
        let disk = SimDisk::new(rand.next_u64());
        disk.create_dir_all(Path::new("/data"))
            .expect("the power is on");
        Machine {
            disk,
            medium: MemoryMedium::default(),
            clock: Arc::new(SimClock::default()),
            survived: Vec::new(),
        }
    }

    /// Begins a life. What went wrong comes as text.
    pub fn open(
        &mut self,
        profile: &Profile,
        mistake: Option<Mistake>,
        rand: Rand,
    ) -> Result<(Life, WalReport, Recovery), String> {
        let mut disk: Arc<dyn Disk> = Arc::new(self.disk.clone());
        if mistake == Some(Mistake::SkipSync) {
            disk = Arc::new(Liar::new(disk));
        }
        let store = Arc::new(Rocky::open(&self.medium, self.survived.clone()));
        let start: Lsn = store.redo_start();
        let clock = Arc::clone(&self.clock) as Arc<dyn Clock>;
        let opening = Opening::begin(disk, profile.wal(), Some(start));
        let opening = opening.map_err(|error| format!("{error:?}"))?;
        let stored = Arc::clone(&store) as Arc<dyn DataComponent>;
        let opened = Tc::recover_driven(opening, stored, profile.tc(), &clock, rand);
        let (recovered, driver) = opened.map_err(|error| format!("{error:?}"))?;
        let (disk, clock) = (self.disk.clone(), Arc::clone(&self.clock));
        let life = Life {
            tc: recovered.tc,
            log: recovered.log,
            driver,
            store,
            disk,
            clock,
        };
        Ok((life, recovered.log_report, recovered.recovery))
    }

    /// Ends a life. Everything that borrowed from it must be gone.
    pub fn end(&mut self, life: Life, end: End, rand: &mut Rand) {
        if end != End::Shutdown {
            // From here on it does nothing to the disk any more, whatever it does when dropped.
            life.disk.power_off_at_change(0);
        }
        self.survived = life.store.survivors(rand);
        drop(life);
        self.disk.set_capacity(None);
        match end {
            End::Power => self.disk = self.disk.crash(rand),
            End::Kill | End::Shutdown => self.disk.clear_faults(),
        }
    }

    /// Names of the log's files.
    pub fn files(&self) -> Vec<String> {
        self.disk.list(Path::new(DIRECTORY)).unwrap_or_default()
    }

    /// The power fails while nothing runs but what has failed to open.
    pub fn lose_power(&mut self, rand: &mut Rand) {
        self.disk = self.disk.crash(rand);
    }
}

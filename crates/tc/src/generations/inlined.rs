//! The one place where reads cross into STORE: through its contract, or, for one measurement, past it.
//!
//! Relies on: nothing, or with the feature `inlined` on every generation being of `dc-lsm`.  Promises: reads
//! by key are then calls of a known function, which the compiler may inline; everything else (scans,
//! merges) still goes through the contract, a few calls per run.  Does not: offer a way to run: no program
//! turns the feature on but the one that `bench/split` measures against.
//!
//! ```text
//!   Txn::get ─► table ─ not there ─► Stored::get ─► dyn Generation ─► LsmGeneration::get
//!                                         └─ inlined ────────────────────┘
//! ```

use quintet_dc::Generation;
use std::sync::Arc;

#[cfg(not(feature = "inlined"))]
mod form {
    use super::{Arc, Generation};

    /// A generation of any store.
    pub(crate) type Stored = Arc<dyn Generation>;

    pub(crate) fn stored(generation: Arc<dyn Generation>) -> Stored {
        generation
    }

    /// The same, for who reads it by itself.
    pub(crate) fn shared(stored: &Stored) -> Arc<dyn Generation> {
        Arc::clone(stored)
    }
}

#[cfg(feature = "inlined")]
mod form {
    use super::{Arc, Generation};
    use quintet_base::SpaceId;
    use quintet_dc::{Direction, Error, KeyRange, Record, RecordScan};
    use quintet_dc_lsm::LsmGeneration;
    use std::any::Any;

    /// A generation of the one store that is there.
    #[derive(Clone)]
    pub(crate) struct Stored(Arc<LsmGeneration>);

    pub(crate) fn stored(generation: Arc<dyn Generation>) -> Stored {
        let generation: Arc<dyn Any + Send + Sync> = generation;
        let known = generation.downcast().ok();
        Stored(known.expect("with the feature `inlined` the store is of dc-lsm"))
    }

    /// The same, for who reads it by itself.
    pub(crate) fn shared(stored: &Stored) -> Arc<dyn Generation> {
        Arc::<LsmGeneration>::clone(&stored.0)
    }

    impl Stored {
        #[inline]
        pub fn get(&self, space: SpaceId, key: &[u8]) -> Result<Option<Record>, Error> {
            Generation::get(&*self.0, space, key)
        }

        pub fn announce(&self, space: SpaceId, key: &[u8]) {
            Generation::announce(&*self.0, space, key);
        }

        pub fn scan(
            &self,
            space: SpaceId,
            range: &KeyRange,
            direction: Direction,
        ) -> Result<Box<dyn RecordScan>, Error> {
            Generation::scan(&*self.0, space, range, direction)
        }
    }
}

pub(crate) use form::Stored;
pub(super) use form::{shared, stored};

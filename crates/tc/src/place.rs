//! Where a row is.
//!
//! Relies on: `table` for the hash.  Promises: computed once for all that is done with the row.  Does not: say whether it is there.

use crate::table::hash;
use quintet_base::{Bytes, SpaceId};

/// Where a row is: its space and its key, with what looking for it takes, computed once for all that is done there.
#[derive(Clone, Copy, Debug)]
pub struct Place<'k> {
    pub(crate) hash: u64,
    pub(crate) space: SpaceId,
    pub(crate) key: &'k [u8],
}

impl<'k> Place<'k> {
    /// The place of a key in a space.
    pub fn new(space: SpaceId, key: &'k [u8]) -> Place<'k> {
        Place {
            hash: hash(space, key),
            space,
            key,
        }
    }

    /// Stands for a whole space; no row has an empty key.
    pub(crate) fn whole(space: SpaceId) -> Place<'static> {
        Place::new(space, &[])
    }

    /// For who keeps it.
    pub(crate) fn to_owned(self) -> (SpaceId, Bytes) {
        (self.space, Bytes::copy_from_slice(self.key))
    }
}

//! The catalogue: names to definitions. (being built)

use quintet_base::{SpaceId, SqlResult};

/// One record of the catalogue to write (`Some`) or remove (`None`).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CatalogChange {
    /// The record's key in the catalogue's space.
    pub key: Vec<u8>,
    /// The record.
    pub value: Option<Vec<u8>>,
}

/// An immutable catalogue.
#[derive(Clone, Debug)]
pub struct Catalog {}

impl Catalog {
    /// The space that holds the catalogue's own records.
    pub const SPACE: SpaceId = SpaceId(1);
    /// The space that holds the sequences' counters.
    pub const SEQUENCE_SPACE: SpaceId = SpaceId(2);

    /// A catalogue from its stored records, in any order; none = a new database.
    ///
    /// # Errors
    /// `XX001` if a record cannot be read.
    pub fn load(records: impl IntoIterator<Item = (Vec<u8>, Vec<u8>)>) -> SqlResult<Catalog> {
        let _ = records.into_iter().count();
        Ok(Catalog {})
    }

    /// The catalogue after these changes.
    ///
    /// # Errors
    /// `XX001` if a record cannot be read.
    pub fn apply(&self, changes: &[CatalogChange]) -> SqlResult<Catalog> {
        let _ = changes;
        Ok(self.clone())
    }

    /// Every space in use, the two system spaces included.
    pub fn spaces(&self) -> Vec<SpaceId> {
        vec![Self::SPACE, Self::SEQUENCE_SPACE]
    }
}

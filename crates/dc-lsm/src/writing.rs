//! The tablets of a run, while a merge writes them.
//!
//! Relies on: records come in the order of their keys; the caller removes files of a run that was not finished.  Promises: nothing
//! of a run is in the tree; its tablets are durable when [`Writing::finish`] has returned.  Does not: decide what goes
//! into a run, or put it into the tree.
//!
//! **Why not by the tree.** Its own way for runs takes one answer for all of them to whether blocks are compressed, and there are two kinds. A run above
//! every key of the space stays as it is: compaction moves its tablets and does not rewrite them. A run among other keys is rewritten
//! when it is merged with them, often without having been read, so compressing it is work for nothing: a seventh of a pass
//! beside TPC-C.

use crate::config::Compression;
use crate::record;
use crate::tablet_writer::TabletWriter;
use lsm_tree::{AbstractTree, AnyTree, Checksum, CompressionType, Slice};
use quintet_base::Lsn;
use quintet_rt::{Disk, RealDisk};
use std::path::{Path, PathBuf};

/// How many tablets of a compaction one of a run may be, before compression: the tree counts those of the newest runs, and
/// those of a run that is merged as a whole are no better for being small.
const ABOVE_ALL_TABLETS: u64 = 2;
const AMONG_OTHERS_TABLETS: u64 = 4;

/// See the header.
pub(crate) struct Writing<'a> {
    tree: &'a AnyTree,
    folder: PathBuf,
    /// A tablet with so many bytes of records is closed.
    tablet_bytes: u64,
    compression: CompressionType,
    /// The one that is being written.
    tablet: Option<Open>,
    /// Those that are finished.
    tablets: Vec<Written>,
}

/// A tablet that is being written.
struct Open {
    path: PathBuf,
    writer: TabletWriter,
    /// Of keys and values.
    bytes: u64,
}

/// A tablet that is durable, and not yet in the tree.
#[derive(Debug)]
pub(crate) struct Written {
    pub path: PathBuf,
    pub checksum: Checksum,
}

/// Where a run lies among what a space has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Among {
    /// Every key is below it.
    AboveAll,
    Others,
}

impl Among {
    /// Of a run that begins with a key. It may go on among others all the same: then some of it is compressed
    /// for nothing.
    pub fn of(tree: &AnyTree, first: &[u8]) -> Among {
        let version = tree.current_version();
        let is_below = |last: &Slice| **last < *first;
        match version
            .iter_tables()
            .all(|table| is_below(table.metadata.key_range.max()))
        {
            true => Among::AboveAll,
            false => Among::Others,
        }
    }
}

impl<'a> Writing<'a> {
    /// Makes no file yet.
    pub fn new(
        tree: &'a AnyTree,
        folder: &Path,
        tablet_bytes: u64,
        compression: Compression,
        among: Among,
    ) -> Writing<'a> {
        let (tablets, compression) = match among {
            Among::AboveAll => (ABOVE_ALL_TABLETS, compression.of_blocks()),
            Among::Others => (AMONG_OTHERS_TABLETS, CompressionType::None),
        };
        Writing {
            tree,
            folder: folder.to_path_buf(),
            tablet_bytes: tablet_bytes * tablets,
            compression,
            tablet: None,
            tablets: Vec::new(),
        }
    }

    pub fn put(&mut self, key: &[u8], position: Lsn, value: &[u8]) -> lsm_tree::Result<()> {
        self.write(key, Some((position, value)))
    }

    pub fn remove(&mut self, key: &[u8]) -> lsm_tree::Result<()> {
        self.write(key, None)
    }

    fn write(&mut self, key: &[u8], record: Option<(Lsn, &[u8])>) -> lsm_tree::Result<()> {
        if (self.tablet.as_ref()).is_some_and(|tablet| tablet.bytes >= self.tablet_bytes) {
            self.close()?;
        }
        // Where it is: it is some hundreds of bytes.
        let tablet = match &mut self.tablet {
            Some(tablet) => tablet,
            none => none.insert(open(self.tree, &self.folder, self.compression)?),
        };
        let value_bytes = record.map_or(0, |(_, value)| record::encoded_len(value));
        tablet.bytes += (key.len() + value_bytes) as u64;
        tablet.writer.write(key, record)
    }

    /// Ends the tablet that is being written, if there is one.
    fn close(&mut self) -> lsm_tree::Result<()> {
        if let Some(Open { path, writer, .. }) = self.tablet.take() {
            let checksum = writer.finish()?;
            self.tablets.push(Written { path, checksum });
        }
        Ok(())
    }

    /// In the order of their keys.
    pub fn finish(mut self) -> lsm_tree::Result<Vec<Written>> {
        self.close()?;
        let named = RealDisk.sync_dir(&self.folder);
        named.map_err(|error| error.source)?;
        Ok(self.tablets)
    }
}

fn open(tree: &AnyTree, folder: &Path, compression: CompressionType) -> lsm_tree::Result<Open> {
    let number = tree.get_next_table_id();
    let path = folder.join(number.to_string());
    Ok(Open {
        writer: TabletWriter::create(&path, number, compression)?,
        path,
        bytes: 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LsmConfig;
    use crate::space::Space;
    use quintet_dc::{Change, Operation};
    use std::ops::Range;
    use std::sync::Arc;

    const TABLET_BYTES: u64 = 64 * 1024;

    fn space(compression: Compression) -> (tempfile::TempDir, Arc<Space>) {
        let directory = tempfile::tempdir().unwrap();
        let mut config = LsmConfig::new(directory.path());
        config.tablet_bytes = TABLET_BYTES;
        config.compression = compression;
        let space = Space::alone(&config);
        (directory, space)
    }

    fn merge(space: &Space, keys: Range<u32>, step: usize, position: u64) {
        let mut run = keys.step_by(step).map(|key| Operation {
            key: key.to_be_bytes().to_vec().into(),
            position: Lsn(position),
            change: Change::Put(vec![b'v'; 100].into()),
        });
        space.merge(&mut run, &|_| Ok(())).unwrap();
    }

    /// Of the newest run, and how many tablets it has. The tree puts runs together that do not overlap.
    fn newest(space: &Space) -> (CompressionType, usize) {
        let version = space.tree().current_version();
        let number = version.iter_tables().map(|table| table.get_highest_seqno());
        let number = number.max().expect("a run");
        let kinds: Vec<CompressionType> = (version.iter_tables())
            .filter(|table| table.get_highest_seqno() == number)
            .map(|table| table.metadata.data_block_compression)
            .collect();
        assert!(kinds.iter().all(|kind| *kind == kinds[0]), "{kinds:?}");
        (kinds[0], kinds.len())
    }

    #[test]
    fn a_run_among_other_keys_is_not_compressed_and_one_above_them_is() {
        let (_directory, space) = space(Compression::Lz4);
        merge(&space, 0..4000, 2, 1);
        // 112 bytes a record: a tablet takes 1,171 of them, and twice as many among others.
        assert_eq!(newest(&space), (CompressionType::Lz4, 2));
        merge(&space, 1..6000, 2, 2);
        assert_eq!(newest(&space), (CompressionType::None, 2));
        merge(&space, 6000..7200, 1, 3);
        assert_eq!(newest(&space), (CompressionType::Lz4, 2));
        merge(&space, 5999..6001, 1, 4);
        assert_eq!(newest(&space), (CompressionType::None, 1));
        let pinned = space.pin();
        for (key, position) in [
            (0u32, 1),
            (1, 2),
            (3998, 1),
            (5999, 4),
            (6000, 4),
            (6001, 3),
        ] {
            let record = pinned.read(&key.to_be_bytes()).unwrap().expect("a record");
            assert_eq!((record.position, record.value.len()), (Lsn(position), 100));
        }
    }

    #[test]
    fn nothing_is_compressed_if_nothing_is_to_be() {
        let (_directory, space) = space(Compression::None);
        merge(&space, 0..10, 1, 1);
        merge(&space, 10..20, 1, 2);
        assert_eq!(newest(&space), (CompressionType::None, 1));
    }

    #[test]
    fn tablets_bear_the_number_of_the_version_that_they_come_with() {
        let (_directory, space) = space(Compression::Lz4);
        for merges in 1..5 {
            merge(&space, 0..1000, 1, merges);
            let version = space.tree().current_version();
            let run = version.l0().iter().next().expect("a run").clone();
            assert!(
                run.iter().all(|table| table.get_highest_seqno() == merges),
                "{merges}"
            );
        }
    }
}

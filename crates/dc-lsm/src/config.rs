//! What an operator may set.
//!
//! Relies on: nothing.  Promises: defaults that suit a small machine.  Does not: read a file.

use lsm_tree::CompressionType;
use std::path::PathBuf;
use std::time::Duration;

/// Default for the block cache. A quarter of `base::limits::MEMORY_BYTES_DEFAULT`: the component
/// above keeps the hottest records itself.
const CACHE_BYTES_DEFAULT: u64 = 512 * 1024 * 1024;

/// Default target size of a tablet: large enough that few files are open, small enough that a
/// compaction step stays within a second. The level that takes new runs holds four.
const TABLET_BYTES_DEFAULT: u64 = 32 * 1024 * 1024;

/// Default for open tablet files, well under the usual limit of 1,024 open files in a process.
const OPEN_FILES_DEFAULT: usize = 256;

/// Default for how long no merge comes before there is quiet. Under load one comes every few seconds: whenever the log's
/// buffers above are half full.
const QUIET_DEFAULT: Duration = Duration::from_secs(10);

/// Whether blocks are compressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Compression {
    /// Stored as they are.
    None,
    /// LZ4, but for runs among other keys, which are written again soon (`writing`).
    #[default]
    Lz4,
}

impl Compression {
    /// Of blocks, as the tree calls it.
    pub(crate) fn of_blocks(self) -> CompressionType {
        match self {
            Compression::None => CompressionType::None,
            Compression::Lz4 => CompressionType::Lz4,
        }
    }
}

/// Settings of an [`crate::LsmStore`].
#[derive(Clone, Debug)]
pub struct LsmConfig {
    /// Where everything is; made if it is not there.
    pub directory: PathBuf,
    /// Bound on cached blocks (data, index and filter), in bytes.
    pub cache_bytes: u64,
    /// Target size of a tablet made by compaction, in bytes.
    pub tablet_bytes: u64,
    /// Bound on tablet files held open.
    pub open_files_max: usize,
    /// For blocks written from now on; existing ones stay readable.
    pub compression: Compression,
    /// A compaction that nothing else speaks for is made when no merge has come for so long.
    pub quiet: Duration,
}

impl LsmConfig {
    /// The defaults, in a directory.
    pub fn new(directory: impl Into<PathBuf>) -> LsmConfig {
        LsmConfig {
            directory: directory.into(),
            cache_bytes: CACHE_BYTES_DEFAULT,
            tablet_bytes: TABLET_BYTES_DEFAULT,
            open_files_max: OPEN_FILES_DEFAULT,
            compression: Compression::default(),
            quiet: QUIET_DEFAULT,
        }
    }
}

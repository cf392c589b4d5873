//! One tablet: point reads by its index and its filter.
//!
//! Relies on: tablets never change; the tree's own types for what is in them.  Promises: the answers that
//! the tree would give; a block that is damaged is an error, never an answer.  Does not: write, scan, or
//! know other tablets.
//!
//! ```text
//!   key ─► top of the filter ─► part of it        top of the index ─► part of it ─► data block
//!            in memory            in the cache      in memory           in the cache   one read of the disk
//! ```
//! **Why not by the tree.** Of a block read for one record, the record is kept in memory above and the rest
//! is rarely wanted. The tree puts every block that it reads into its cache, and so puts out what each
//! read needs, parts of indexes and filters; here a data block comes into the cache when it is read
//! *again* (`again`). The tree lets the system read far beside what it asks for; `files` does not. And the
//! tree asks every filter there is; `tablets` knows better.

use crate::fault;
use crate::files::TabletFile;
use crate::space::Shared;
use lsm_tree::table::block::BlockType;
use lsm_tree::table::filter::block::FilterBlock;
use lsm_tree::table::{Block, BlockHandle, DataBlock, IndexBlock};
use lsm_tree::{CompressionType, GlobalTableId, InternalValue, KeyRange, SeqNo, Table, TreeId};
use quintet_dc::Error;
use std::cell::RefCell;
use std::sync::{Arc, OnceLock};

/// Tree, tablet and offset of a block.
type Place = (u64, u64, u64);

/// Filters are not compressed.
const PLAIN: CompressionType = CompressionType::None;

/// See the header.
pub(crate) struct Tablet {
    /// Keeps the file.
    table: Table,
    id: GlobalTableId,
    file: Arc<TabletFile>,
    /// The tops, from the first read on: for each part the last key in it, a hundredth of the whole.
    index: OnceLock<IndexBlock>,
    filter: OnceLock<IndexBlock>,
    shared: Arc<Shared>,
}

/// What a part of an index says of a key.
enum Search {
    Found(InternalValue),
    Absent,
    /// The next part may have it.
    Beyond,
}

impl Tablet {
    pub fn new(tree: TreeId, table: Table, shared: &Arc<Shared>) -> Tablet {
        Tablet {
            id: (tree, table.id()).into(),
            file: TabletFile::new(table.path.to_path_buf()),
            index: OnceLock::new(),
            filter: OnceLock::new(),
            shared: Arc::clone(shared),
            table,
        }
    }

    pub fn table(&self) -> &Table {
        &self.table
    }

    /// From its first to its last.
    pub fn keys(&self) -> &KeyRange {
        &self.table.metadata.key_range
    }

    /// Whether the tablet may have a key, as far as its filter says; `hash` is the tree's of the key.
    pub fn may_have(&self, key: &[u8], hash: u64) -> Result<bool, Error> {
        let regions = &self.table.regions;
        let part = match (regions.filter_tli, regions.filter) {
            (Some(top), _) => {
                // An index like the other; only the filter itself is never compressed.
                let compression = self.table.metadata.index_block_compression;
                let top = self.top(&self.filter, top, compression)?;
                let mut parts = top.iter();
                parts.seek(key, SeqNo::MAX);
                match parts.next() {
                    Some(part) => BlockHandle::new(part.offset, part.size),
                    None => return Ok(true),
                }
            }
            (None, Some(whole)) => whole,
            (None, None) => return Ok(true),
        };
        let part = self.kept(part, BlockType::Filter, PLAIN)?;
        let may = FilterBlock::new(part).maybe_contains_hash(hash);
        may.map_err(|e| fault::tree("read", &self.table.path, e))
    }

    /// The newest version of a key below a sequence number. A removal is one.
    pub fn get(&self, key: &[u8], at: SeqNo) -> Result<Option<InternalValue>, Error> {
        // The tablet counts from its own beginning.
        let at = at.saturating_sub(self.table.global_seqno());
        if at == 0 {
            return Ok(None);
        }
        let regions = &self.table.regions;
        let compression = self.table.metadata.index_block_compression;
        let top = self.top(&self.index, regions.tli, compression)?;
        if regions.index.is_none() {
            return Ok(match self.search(top, key, at)? {
                Search::Found(version) => Some(version),
                Search::Absent | Search::Beyond => None,
            });
        }
        let mut parts = top.iter();
        if !parts.seek(key, at) {
            return Ok(None);
        }
        for part in parts {
            let handle = BlockHandle::new(part.offset, part.size);
            let part = IndexBlock::new(self.kept(handle, BlockType::Index, compression)?);
            match self.search(&part, key, at)? {
                Search::Found(version) => return Ok(Some(version)),
                Search::Absent => return Ok(None),
                Search::Beyond => {}
            }
        }
        Ok(None)
    }

    /// Has the system fetch the first block that may have a key.
    pub fn announce(&self, key: &[u8], at: SeqNo) {
        let at = at.saturating_sub(self.table.global_seqno());
        let Ok(Some(handle)) = self.block_of(key, at) else {
            return;
        };
        let cache = &self.shared.cache;
        if cache.get_block(self.id, handle.offset()).is_none() {
            let bytes = u64::from(handle.size());
            self.file
                .will_need(&self.shared.open_files, *handle.offset(), bytes);
        }
    }

    /// The first data block that may have a key.
    fn block_of(&self, key: &[u8], at: SeqNo) -> Result<Option<BlockHandle>, Error> {
        let regions = &self.table.regions;
        let compression = self.table.metadata.index_block_compression;
        let top = self.top(&self.index, regions.tli, compression)?;
        let first = |index: &IndexBlock| {
            let mut blocks = index.iter();
            let found = blocks.seek(key, at).then(|| blocks.next()).flatten();
            found.map(|block| BlockHandle::new(block.offset, block.size))
        };
        if regions.index.is_none() {
            return Ok(first(top));
        }
        let Some(part) = first(top) else {
            return Ok(None);
        };
        let part = IndexBlock::new(self.kept(part, BlockType::Index, compression)?);
        Ok(first(&part))
    }

    fn search(&self, part: &IndexBlock, key: &[u8], at: SeqNo) -> Result<Search, Error> {
        let mut blocks = part.iter();
        if !blocks.seek(key, at) {
            return Ok(Search::Beyond);
        }
        for block in blocks {
            let handle = BlockHandle::new(block.offset, block.size);
            if let Some(mut version) = self.data(handle)?.point_read(key, at) {
                version.key.seqno += self.table.global_seqno();
                return Ok(Search::Found(version));
            }
            // Versions of one key may go on in the next block.
            let bytes = part.as_slice();
            let head = block.prefix.as_ref();
            let head = head.map_or(&bytes[..0], |head| &bytes[head.0..head.1]);
            let last = head.iter().chain(&bytes[block.end_key.0..block.end_key.1]);
            if last.gt(key) {
                return Ok(Search::Absent);
            }
        }
        Ok(Search::Beyond)
    }

    /// A top, read once.
    fn top<'a>(
        &self,
        top: &'a OnceLock<IndexBlock>,
        handle: BlockHandle,
        compression: CompressionType,
    ) -> Result<&'a IndexBlock, Error> {
        if let Some(top) = top.get() {
            return Ok(top);
        }
        let block = self.read(handle, BlockType::Index, compression)?;
        Ok(top.get_or_init(|| IndexBlock::new(block)))
    }

    /// A block of an index or a filter: goes into the cache when it is read.
    fn kept(
        &self,
        handle: BlockHandle,
        kind: BlockType,
        compression: CompressionType,
    ) -> Result<Block, Error> {
        let cache = &self.shared.cache;
        if let Some(block) = cache.get_block(self.id, handle.offset()) {
            return Ok(block);
        }
        let block = self.read(handle, kind, compression)?;
        cache.insert_block(self.id, handle.offset(), block.clone());
        Ok(block)
    }

    /// A block of records: goes into the cache when it is read again.
    fn data(&self, handle: BlockHandle) -> Result<DataBlock, Error> {
        let place: Place = (self.id.tree_id(), self.id.table_id(), *handle.offset());
        let last = LAST.with_borrow(|last| {
            let same = last.as_ref().filter(|(at, _)| *at == place);
            same.map(|(_, block)| block.clone())
        });
        if let Some(block) = last {
            return Ok(DataBlock::new(block));
        }
        let cache = &self.shared.cache;
        if let Some(block) = cache.get_block(self.id, handle.offset()) {
            return Ok(DataBlock::new(block));
        }
        let compression = self.table.metadata.data_block_compression;
        let block = self.read(handle, BlockType::Data, compression)?;
        if self.shared.again.note(place) {
            cache.insert_block(self.id, handle.offset(), block.clone());
        } else {
            LAST.set(Some((place, block.clone())));
        }
        Ok(DataBlock::new(block))
    }

    fn read(
        &self,
        handle: BlockHandle,
        kind: BlockType,
        compression: CompressionType,
    ) -> Result<Block, Error> {
        let (offset, bytes) = (*handle.offset(), handle.size() as usize);
        let parse = |mut bytes: &[u8]| Block::from_reader(&mut bytes, compression);
        self.shared.pages.note_read();
        let block = self
            .file
            .read(&self.shared.open_files, offset, bytes, parse)?;
        let block = block.map_err(|e| fault::tree("read", &self.table.path, e))?;
        if block.header.block_type != kind {
            return Err(Error::Damaged {
                path: self.table.path.to_path_buf(),
                what: format!("a block at {offset} is not what the index says"),
            });
        }
        Ok(block)
    }
}

thread_local! {
    /// The data block that this thread has read last: who asks for keys in their order reads it once, and
    /// it does not count as read again.
    static LAST: RefCell<Option<(Place, Block)>> = const { RefCell::new(None) };
}

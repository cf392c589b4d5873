//! One tablet, while it is written: the library's format, out of bytes that are lent.
//!
//! Relies on: records ascend by key, each key once; the library for all that is not a record: heads of blocks with their checksums, indexes,
//! filters, figures.  Promises: byte by byte what the library's own writer makes of the same records (a test compares them).
//! Does not: number tablets, sync names, or put tablets into a tree.
//!
//! **Why not the library's.** It takes records that own their bytes, keeps those of a block, with four more handles of each key, and encodes
//! them when the block is full. What a pass has lies in the log's buffers, and goes from there into the block.
//!
//! ```text
//!   file     │ data blocks │ index: parts, top │ filter: parts, top │ version │ figures │ table of these
//!   block    │ head: kind, lengths, checksum │ records │ 255 │ heads │ trailer │         a data block
//!   record   │ kind │ 0 │ shared │ length │ key │ length │ position │ value │        lengths in as few bytes as they take
//! ```
//! A key is written without what it shares with the key of the last *head*, each sixteenth record, which has its own whole and no
//! `shared`; a removal ends with its key. The 0 is a number that the tablet as a whole has in place of its records.

use crate::output::Output;
use crate::record;
use crate::space::{BLOCK_BYTES, FILTER};
use lsm_tree::checksum::ChecksumType;
use lsm_tree::coding::Encode;
use lsm_tree::table::block::BlockType;
use lsm_tree::table::filter::standard_bloom::Builder;
use lsm_tree::table::{Block, BlockHandle, BlockOffset, DataBlock, IndexBlock, KeyedBlockHandle};
use lsm_tree::{Checksum, CompressionType, InternalValue, Slice, TableId, ValueType};
use quintet_base::Lsn;
use std::io::Write;
use std::ops::Range;
use std::path::Path;

/// What a file says of who wrote it; nothing reads it.
const LIBRARY_VERSION: &str = "3.1.10";
/// What a file says of where it belongs, as the tree's own runs say it; nothing reads it.
const INITIAL_LEVEL: u8 = 6;
const FORMAT_VERSION: u8 = 3;

/// Of indexes and filters.
const PART_BYTES: usize = 4096;
const PLAIN: CompressionType = CompressionType::None;

/// Each so many records one has its key whole.
const HEAD_EVERY: usize = 16;
/// Where records end.
const END_OF_RECORDS: u8 = 255;
/// Of each record: it bears no number of its own.
const NUMBER: u8 = 0;

/// See the header.
pub(crate) struct TabletWriter {
    number: TableId,
    compression: CompressionType,
    out: sfa::Writer<Output>,
    block: Records,
    /// A block with its head, on the way to the file.
    encoded: Vec<u8>,
    /// Of data blocks that are in the file, and before they were compressed.
    block_bytes: u64,
    plain_bytes: u64,
    blocks: u64,
    records: u64,
    removals: u64,
    /// The first key and the last.
    first: Vec<u8>,
    last: Vec<u8>,
    /// Data blocks that no part of the index has, and what the library takes them to weigh.
    indexed: Vec<KeyedBlockHandle>,
    indexed_bytes: usize,
    index: Parts,
    /// Hashes of keys that no part of the filter has.
    hashes: Vec<u64>,
    filter: Parts,
}

impl TabletWriter {
    /// Into a file that is not there yet.
    pub fn create(
        path: &Path,
        number: TableId,
        compression: CompressionType,
    ) -> lsm_tree::Result<TabletWriter> {
        let mut out = sfa::Writer::from_writer(Output::create(path)?);
        out.start("data")?;
        Ok(TabletWriter {
            number,
            compression,
            out,
            block: Records::default(),
            encoded: Vec::new(),
            block_bytes: 0,
            plain_bytes: 0,
            blocks: 0,
            records: 0,
            removals: 0,
            first: Vec::new(),
            last: Vec::new(),
            indexed: Vec::new(),
            indexed_bytes: 0,
            index: Parts::default(),
            hashes: Vec::new(),
            filter: Parts::default(),
        })
    }

    /// A record, or that there is none any more.
    pub fn write(&mut self, key: &[u8], record: Option<(Lsn, &[u8])>) -> lsm_tree::Result<()> {
        if self.first.is_empty() {
            self.first.extend_from_slice(key);
        }
        self.last.clear();
        self.last.extend_from_slice(key);
        self.records += 1;
        self.removals += u64::from(record.is_none());
        self.hashes.push(Builder::get_hash(key));
        if FILTER.estimated_filter_size(self.hashes.len()) >= PART_BYTES {
            self.end_filter_part()?;
        }
        self.block.push(key, record);
        match self.block.weight >= BLOCK_BYTES as usize {
            true => self.end_block(),
            false => Ok(()),
        }
    }

    fn end_block(&mut self) -> lsm_tree::Result<()> {
        let block = self.block.end();
        self.encoded.clear();
        let head = Block::write_into(&mut self.encoded, block, BlockType::Data, self.compression)?;
        self.out.write_all(&self.encoded)?;
        let end_key = Slice::from(&*self.last);
        self.indexed_bytes += end_key.len() + size_of::<KeyedBlockHandle>();
        self.indexed
            .push(handle(end_key, self.block_bytes, self.encoded.len()));
        self.block_bytes += self.encoded.len() as u64;
        self.plain_bytes += u64::from(head.uncompressed_length);
        self.blocks += 1;
        self.block.clear();
        match self.indexed_bytes >= PART_BYTES {
            true => self.end_index_part(),
            false => Ok(()),
        }
    }

    fn end_index_part(&mut self) -> lsm_tree::Result<()> {
        let mut part = Vec::new();
        IndexBlock::encode_into(&mut part, &self.indexed)?;
        self.indexed.clear();
        self.indexed_bytes = 0;
        self.index.add(&part, BlockType::Index, &self.last)
    }

    fn end_filter_part(&mut self) -> lsm_tree::Result<()> {
        let mut filter = FILTER.init(self.hashes.len());
        for hash in self.hashes.drain(..) {
            filter.set_with_hash(hash);
        }
        self.filter
            .add(&filter.build(), BlockType::Filter, &self.last)
    }

    /// Makes the file durable, but not its name. There has been a record.
    pub fn finish(mut self) -> lsm_tree::Result<Checksum> {
        if self.block.count > 0 {
            self.end_block()?;
        }
        if !self.indexed.is_empty() {
            self.end_index_part()?;
        }
        if !self.hashes.is_empty() {
            self.end_filter_part()?;
        }
        let index_parts = std::mem::take(&mut self.index).write(&mut self.out, "index", "tli")?;
        let filter_parts =
            std::mem::take(&mut self.filter).write(&mut self.out, "filter", "filter_tli")?;
        self.out.start("table_version")?;
        self.out.write_all(&[FORMAT_VERSION])?;
        self.out.start("meta")?;
        let figures = self.figures(index_parts, filter_parts);
        let mut block = Vec::new();
        DataBlock::encode_into(&mut block, &figures, 1, 0.0)?;
        Block::write_into(&mut self.out, &block, BlockType::Meta, PLAIN)?;
        let out = self.out.into_inner()?;
        Ok(out.finish()?)
    }

    /// What the tree wants to know of a tablet, by name.
    fn figures(&self, index_parts: u64, filter_parts: u64) -> Vec<InternalValue> {
        let figure = |name: &str, value: &[u8]| {
            InternalValue::from_components(name, value, 0, ValueType::Value)
        };
        vec![
            figure("block_count#data", &self.blocks.to_le_bytes()),
            figure("block_count#filter", &filter_parts.to_le_bytes()),
            figure("block_count#index", &index_parts.to_le_bytes()),
            figure("checksum_type", &[u8::from(ChecksumType::Xxh3)]),
            figure("compression#data", &self.compression.encode_into_vec()),
            figure("compression#index", &PLAIN.encode_into_vec()),
            figure("crate_version", LIBRARY_VERSION.as_bytes()),
            // When: asked by none but strategies that let go of what is old.
            figure("created_at", &0u128.to_le_bytes()),
            figure("data_block_hash_ratio", &0f32.to_le_bytes()),
            figure("file_size", &self.block_bytes.to_le_bytes()),
            figure("filter_hash_type", &[u8::from(ChecksumType::Xxh3)]),
            figure("index_keys_have_seqno", &[1]),
            figure("initial_level", &[INITIAL_LEVEL]),
            figure("item_count", &self.records.to_le_bytes()),
            figure("key#max", &self.last),
            figure("key#min", &self.first),
            figure("key_count", &self.records.to_le_bytes()),
            figure("prefix_truncation#data", &[1]),
            figure("prefix_truncation#index", &[1]),
            figure("restart_interval#data", &[HEAD_EVERY as u8]),
            figure("restart_interval#index", &[1]),
            figure("seqno#max", &u64::from(NUMBER).to_le_bytes()),
            figure("seqno#min", &u64::from(NUMBER).to_le_bytes()),
            figure("table_id", &self.number.to_le_bytes()),
            figure("table_version", &[FORMAT_VERSION]),
            figure("tombstone_count", &self.removals.to_le_bytes()),
            figure("user_data_size", &self.plain_bytes.to_le_bytes()),
            figure("weak_tombstone_count", &0u64.to_le_bytes()),
            figure("weak_tombstone_reclaimable", &0u64.to_le_bytes()),
        ]
    }
}

fn handle(end_key: Slice, offset: u64, bytes: usize) -> KeyedBlockHandle {
    let place = BlockHandle::new(BlockOffset(offset), bytes as u32);
    KeyedBlockHandle::new(end_key, u64::from(NUMBER), place)
}

/// Parts of an index or a filter, which follow the data blocks.
#[derive(Default)]
struct Parts {
    blocks: Vec<u8>,
    /// The last key of each, and where it is among them.
    top: Vec<KeyedBlockHandle>,
}

impl Parts {
    fn add(&mut self, part: &[u8], kind: BlockType, last: &[u8]) -> lsm_tree::Result<()> {
        let offset = self.blocks.len();
        Block::write_into(&mut self.blocks, part, kind, PLAIN)?;
        let bytes = self.blocks.len() - offset;
        self.top
            .push(handle(Slice::from(last), offset as u64, bytes));
        Ok(())
    }

    /// The parts and their top, under these names. Returns how many parts there are.
    fn write(
        mut self,
        out: &mut sfa::Writer<Output>,
        parts: &str,
        top: &str,
    ) -> lsm_tree::Result<u64> {
        let base = BlockOffset(out.get_mut().position());
        out.start(parts)?;
        out.write_all(&self.blocks)?;
        out.start(top)?;
        self.top.iter_mut().for_each(|part| part.shift(base));
        let mut block = Vec::new();
        IndexBlock::encode_into(&mut block, &self.top)?;
        Block::write_into(out, &block, BlockType::Index, PLAIN)?;
        Ok(self.top.len() as u64)
    }
}

/// A data block that is being filled, without the head that all blocks have.
#[derive(Default)]
struct Records {
    bytes: Vec<u8>,
    /// Where the heads begin.
    heads: Vec<u32>,
    /// Where the key of the last one is.
    head: Range<usize>,
    count: usize,
    /// Bytes of keys and values, which says when the block is full.
    weight: usize,
}

impl Records {
    fn push(&mut self, key: &[u8], record: Option<(Lsn, &[u8])>) {
        let kind = match record {
            Some(_) => ValueType::Value,
            None => ValueType::Tombstone,
        };
        let begin = self.bytes.len();
        self.bytes.extend_from_slice(&[u8::from(kind), NUMBER]);
        let rest = if self.count.is_multiple_of(HEAD_EVERY) {
            self.heads.push(begin as u32);
            put_number(&mut self.bytes, key.len());
            self.head = self.bytes.len()..self.bytes.len() + key.len();
            key
        } else {
            let shared = shared_len(&self.bytes[self.head.clone()], key);
            put_number(&mut self.bytes, shared);
            put_number(&mut self.bytes, key.len() - shared);
            &key[shared..]
        };
        self.bytes.extend_from_slice(rest);
        self.weight += key.len();
        if let Some((position, value)) = record {
            let len = record::encoded_len(value);
            put_number(&mut self.bytes, len);
            record::encode(&mut self.bytes, position, value);
            self.weight += len;
        }
        self.count += 1;
    }

    /// Puts behind the records what finds them.
    fn end(&mut self) -> &[u8] {
        let bytes = &mut self.bytes;
        bytes.push(END_OF_RECORDS);
        let heads_at = bytes.len() as u32;
        let last = self.heads.last().copied().unwrap_or_default();
        let step = match u16::try_from(last) {
            Ok(_) => size_of::<u16>(),
            Err(_) => size_of::<u32>(),
        };
        for head in &self.heads {
            bytes.extend_from_slice(&head.to_le_bytes()[..step]);
        }
        bytes.extend_from_slice(&[HEAD_EVERY as u8, step as u8]);
        // The last two: that there is no index by hashes.
        for figure in [self.heads.len() as u32, heads_at, 0, 0] {
            bytes.extend_from_slice(&figure.to_le_bytes());
        }
        // Keys are shortened; the lengths of keys and of values are not all the same.
        bytes.extend_from_slice(&[1, 0, 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend_from_slice(&(self.count as u32).to_le_bytes());
        bytes
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.heads.clear();
        self.count = 0;
        self.weight = 0;
    }
}

/// Seven bits in each byte, the lowest first; bit 7: there are more.
fn put_number(into: &mut Vec<u8>, mut number: usize) {
    while number >= 0x80 {
        into.push(number as u8 | 0x80);
        number >>= 7;
    }
    into.push(number as u8);
}

/// How many bytes two keys begin with alike.
fn shared_len(a: &[u8], b: &[u8]) -> usize {
    let words = a.as_chunks::<8>().0.iter().zip(b.as_chunks::<8>().0);
    let from = 8 * words.take_while(|(a, b)| a == b).count();
    let bytes = a[from..].iter().zip(&b[from..]);
    from + bytes.take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use lsm_tree::checksum::ChecksummedWriter;
    use lsm_tree::table::Writer;
    use lsm_tree::table::block::Header;
    use quintet_rt::{Disk, Rand, RealDisk, disk};
    use std::collections::BTreeMap;

    const TABLET: TableId = 77;

    type Rows = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

    fn by_the_library(path: &Path, rows: &Rows, compression: CompressionType) {
        let writer = Writer::new(path.to_path_buf(), TABLET, INITIAL_LEVEL).unwrap();
        let mut writer = writer
            .use_data_block_size(BLOCK_BYTES)
            .use_data_block_compression(compression)
            .use_bloom_policy(FILTER)
            .use_partitioned_index()
            .use_partitioned_filter();
        for (key, value) in rows {
            let row = match value {
                Some(value) => {
                    let value = [&7u64.to_le_bytes()[..], value].concat();
                    InternalValue::from_components(&**key, value, 0, ValueType::Value)
                }
                None => InternalValue::new_tombstone(&**key, 0),
            };
            writer.write(row).unwrap();
        }
        writer.finish().unwrap().expect("there are records");
    }

    fn by_us(path: &Path, rows: &Rows, compression: CompressionType) -> Checksum {
        let mut writer = TabletWriter::create(path, TABLET, compression).unwrap();
        for (key, value) in rows {
            let record = value.as_ref().map(|value| (Lsn(7), &**value));
            writer.write(key, record).unwrap();
        }
        writer.finish().unwrap()
    }

    /// Sections by name, without what tells when the file was made, and checksums of that.
    fn sections(path: &Path) -> Vec<(Vec<u8>, Vec<u8>)> {
        let bytes = disk::read_file(&RealDisk, path).unwrap();
        let toc = sfa::Reader::new(path).unwrap();
        let section = |entry: &sfa::TocEntry| {
            let from = entry.pos() as usize;
            let mut bytes = bytes[from..from + entry.len() as usize].to_vec();
            if entry.name() == b"meta" {
                bytes.drain(..Header::serialized_len());
                let name = b"created_at";
                let at = bytes.windows(name.len()).position(|part| part == name);
                let value = at.expect("the time") + name.len() + 1;
                bytes[value..value + size_of::<u128>()].fill(0);
            }
            (entry.name().to_vec(), bytes)
        };
        toc.toc().iter().map(section).collect()
    }

    /// Goal: whatever reads what the library has written reads this. Method: the same records through both writers, many and few, with
    /// keys that share much and little, long ones, values of all lengths, removals.
    #[test]
    fn a_tablet_is_the_one_that_the_library_would_have_written() {
        let seed = Rand::from_os().next_u64();
        println!("seed {seed}");
        let mut rand = Rand::seeded(seed);
        let directory = tempfile::tempdir().unwrap();
        for round in 0..25 {
            let count = [1, 2, 17, 500, 30_000][round % 5];
            let lengths = if count > 100 { 2 } else { 4 };
            let value_bytes = [1, 90, 700, 300_000][rand.below(lengths) as usize];
            let mut rows = Rows::new();
            for _ in 0..count {
                let mut key = vec![rand.below(3) as u8; rand.below(12) as usize];
                key.extend((rand.below(100_000) as u32).to_be_bytes());
                if rand.one_in(200) {
                    key.resize(300, 9);
                }
                let value = vec![rand.below(256) as u8; rand.below(value_bytes) as usize];
                rows.insert(key, (!rand.one_in(5)).then_some(value));
            }
            for compression in [CompressionType::None, CompressionType::Lz4] {
                let [theirs, ours] = ["theirs", "ours"].map(|name| directory.path().join(name));
                by_the_library(&theirs, &rows, compression);
                let checksum = by_us(&ours, &rows, compression);
                assert!(
                    sections(&ours) == sections(&theirs),
                    "seed {seed}, round {round}"
                );
                let mut sum = ChecksummedWriter::new(Vec::new());
                sum.write_all(&disk::read_file(&RealDisk, &ours).unwrap())
                    .unwrap();
                assert_eq!(sum.checksum(), checksum);
                [theirs, ours]
                    .iter()
                    .for_each(|path| RealDisk.remove(path).unwrap());
            }
        }
    }

    #[test]
    fn keys_share_what_they_begin_with() {
        for (a, b, expected) in [
            ("", "", 0),
            ("a", "", 0),
            ("abc", "abd", 2),
            ("abcdefgh", "abcdefgh", 8),
            ("abcdefghi", "abcdefghj", 8),
            ("abcdefgh12345678x", "abcdefgh12345678xy", 17),
            ("abcdefgh1234", "abcdefgh1x", 9),
        ] {
            assert_eq!(shared_len(a.as_bytes(), b.as_bytes()), expected, "{a} {b}");
            assert_eq!(shared_len(b.as_bytes(), a.as_bytes()), expected, "{b} {a}");
        }
    }
}

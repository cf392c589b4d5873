//! RocksDB's optimistic transactions with a safe door.
//!
//! Relies on: the C interface as declared in `native`; RocksDB's own promise that a database may be used
//! by many threads at once, and a transaction by one at a time.  Promises: every handle is destroyed
//! once, after those made from it (borrows see to that).  Does not: offer what the benchmark does not ask.
//!
//! | level asked for | here |
//! |---|---|
//! | snapshot | reads at a snapshot; written records are refused at commit if they changed after it |
//! | serializable | also every record that was read (`get_for_update`) |

use crate::native;
use std::ffi::{CStr, CString, c_char};
use std::path::Path;
use std::ptr;

/// How the database is set up.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Bound on cached blocks, index and filter blocks included.
    pub cache_bytes: usize,
    /// Size of a memtable; there are at most three.
    pub write_buffer_bytes: usize,
    /// Reads, flushes and compactions pass the page cache.
    pub direct: bool,
    /// Blocks are compressed with LZ4.
    pub lz4: bool,
    /// Each commit is synced.
    pub sync: bool,
    /// There is a log.
    pub log: bool,
    /// Threads for flushes and compactions.
    pub background_jobs: i32,
}

/// Memtables: one that is written to and two that are flushed.
const WRITE_BUFFERS: i32 = 3;

/// Bits of the Bloom filters per key: one per cent of false answers, RocksDB's usual advice.
const BLOOM_BITS: f64 = 10.0;

/// Bytes after which files that are being written go to the disk little by little, so that the sync at their
/// end does not stall: RocksDB's advice for even latencies.
const BYTES_PER_SYNC: u64 = 1 << 20;

/// Why RocksDB refused.
#[derive(Debug)]
pub enum Error {
    /// Another transaction changed what this one read or wrote.
    Conflict,
    /// Anything else, in RocksDB's words.
    Failed(String),
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Error::Conflict => f.write_str("lost a conflict"),
            Error::Failed(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for Error {}

/// An open database.
pub struct Store {
    db: *mut native::TransactionDb,
    base: *mut native::Db,
    records: *mut native::ColumnFamily,
    write: *mut native::WriteOptions,
    bulk: *mut native::WriteOptions,
    begin: *mut native::TransactionOptions,
}

// SAFETY: RocksDB's databases are used by many threads; the option objects are only read after `open`.
unsafe impl Send for Store {}
// SAFETY: as above.
unsafe impl Sync for Store {}

/// Calls with an error pointer and turns what comes back into a result.
fn told<R>(call: impl FnOnce(*mut *mut c_char) -> R) -> Result<R, Error> {
    let mut text: *mut c_char = ptr::null_mut();
    let result = call(&mut text);
    // SAFETY: the callee left a text that ends with a zero byte and belongs to us, or nothing.
    unsafe { told_by(text) }.map(|()| result)
}

/// An error's text as a result; null is none.
///
/// # Safety
/// The text ends with a zero byte and is from RocksDB, which nobody frees but this.
unsafe fn told_by(text: *mut c_char) -> Result<(), Error> {
    if text.is_null() {
        return Ok(());
    }
    // SAFETY: the callee left a text that ends with a zero byte and belongs to us.
    let words = unsafe { CStr::from_ptr(text) }
        .to_string_lossy()
        .into_owned();
    // SAFETY: as above; not used afterwards.
    unsafe { native::rocksdb_free(text.cast()) };
    // The words for Status::Busy and Status::TryAgain; the C interface hands out nothing else.
    if words.starts_with("Resource busy") || words.starts_with("Operation failed. Try again") {
        return Err(Error::Conflict);
    }
    Err(Error::Failed(words))
}

fn chars(bytes: &[u8]) -> *const c_char {
    bytes.as_ptr().cast()
}

impl Store {
    /// Opens a directory, making it if it is not there.
    ///
    /// # Errors
    /// RocksDB's.
    pub fn open(directory: &Path, setup: &Setup) -> Result<Store, Error> {
        let name = CString::new(directory.as_os_str().as_encoded_bytes())
            .map_err(|_| Error::Failed("a zero byte in the path".into()))?;
        // SAFETY: plain calls of the C interface on objects made here. The cache and the filter
        // policy are shared into the table options, these are copied into the options, and the
        // options into the database, so each is destroyed here but the policy, which the table options own.
        unsafe {
            let cache = native::rocksdb_cache_create_lru(setup.cache_bytes);
            let table = native::rocksdb_block_based_options_create();
            native::rocksdb_block_based_options_set_block_cache(table, cache);
            let bloom = native::rocksdb_filterpolicy_create_bloom_full(BLOOM_BITS);
            native::rocksdb_block_based_options_set_filter_policy(table, bloom);
            native::rocksdb_block_based_options_set_cache_index_and_filter_blocks(table, 1);
            native::rocksdb_block_based_options_set_pin_l0_filter_and_index_blocks_in_cache(
                table, 1,
            );
            native::rocksdb_block_based_options_set_format_version(table, 5);
            let options = native::rocksdb_options_create();
            native::rocksdb_options_set_create_if_missing(options, 1);
            native::rocksdb_options_set_max_background_jobs(options, setup.background_jobs);
            native::rocksdb_options_set_write_buffer_size(options, setup.write_buffer_bytes);
            native::rocksdb_options_set_max_write_buffer_number(options, WRITE_BUFFERS);
            let compression = if setup.lz4 { native::LZ4 } else { 0 };
            native::rocksdb_options_set_compression(options, compression);
            native::rocksdb_options_set_use_direct_reads(options, setup.direct.into());
            native::rocksdb_options_set_use_direct_io_for_flush_and_compaction(
                options,
                setup.direct.into(),
            );
            native::rocksdb_options_set_level_compaction_dynamic_level_bytes(options, 1);
            native::rocksdb_options_set_bytes_per_sync(options, BYTES_PER_SYNC);
            native::rocksdb_options_set_block_based_table_factory(options, table);
            // The one that there always is, opened by name, since batches of reads want its handle.
            let mut records = ptr::null_mut();
            let opened = told(|e| {
                native::rocksdb_optimistictransactiondb_open_column_families(
                    options,
                    name.as_ptr(),
                    1,
                    &c"default".as_ptr(),
                    &options.cast_const(),
                    &mut records,
                    e,
                )
            });
            native::rocksdb_options_destroy(options);
            native::rocksdb_block_based_options_destroy(table);
            native::rocksdb_cache_destroy(cache);
            let db = opened?;

            let write = native::rocksdb_writeoptions_create();
            native::rocksdb_writeoptions_set_sync(write, setup.sync.into());
            native::rocksdb_writeoptions_disable_WAL(write, (!setup.log).into());
            let bulk = native::rocksdb_writeoptions_create();
            native::rocksdb_writeoptions_disable_WAL(bulk, 1);
            let begin = native::rocksdb_optimistictransaction_options_create();
            native::rocksdb_optimistictransaction_options_set_set_snapshot(begin, 1);
            Ok(Store {
                db,
                base: native::rocksdb_optimistictransactiondb_get_base_db(db),
                records,
                write,
                bulk,
                begin,
            })
        }
    }

    /// Writes records past the log; durable after [`Store::settle`].
    ///
    /// # Errors
    /// RocksDB's.
    pub fn load(&self, records: impl Iterator<Item = ([u8; 8], Vec<u8>)>) -> Result<(), Error> {
        // SAFETY: the batch is made and destroyed here; keys and values are copied into it.
        unsafe {
            let batch = native::rocksdb_writebatch_create();
            for (key, value) in records {
                native::rocksdb_writebatch_put(batch, chars(&key), 8, chars(&value), value.len());
            }
            let written = told(|e| native::rocksdb_write(self.base, self.bulk, batch, e));
            native::rocksdb_writebatch_destroy(batch);
            written
        }
    }

    /// Flushes memory and compacts everything: the best state to read from.
    ///
    /// # Errors
    /// RocksDB's.
    pub fn settle(&self) -> Result<(), Error> {
        // SAFETY: the options are made and destroyed here; null bounds mean the whole range.
        unsafe {
            let options = native::rocksdb_flushoptions_create();
            let flushed = told(|e| native::rocksdb_flush(self.base, options, e));
            native::rocksdb_flushoptions_destroy(options);
            flushed?;
            native::rocksdb_compact_range(self.base, ptr::null(), 0, ptr::null(), 0);
        }
        Ok(())
    }

    /// A figure by its name, such as `rocksdb.num-running-compactions`; 0 if there is none.
    pub fn property(&self, name: &CStr) -> u64 {
        let mut value = 0;
        // SAFETY: the name ends with a zero byte; the value is written before the call returns.
        unsafe { native::rocksdb_property_int(self.base, name.as_ptr(), &mut value) };
        value
    }

    /// The transactions of one thread, one after the other.
    pub fn transactions(&self) -> Transactions<'_> {
        Transactions {
            store: self,
            transaction: ptr::null_mut(),
            // SAFETY: destroyed when this is dropped.
            read: unsafe { native::rocksdb_readoptions_create() },
            pinned: Vec::new(),
            errors: Vec::new(),
        }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // SAFETY: nothing made from the database is alive: transactions borrow it.
        unsafe {
            native::rocksdb_column_family_handle_destroy(self.records);
            native::rocksdb_optimistictransactiondb_close_base_db(self.base);
            native::rocksdb_optimistictransactiondb_close(self.db);
            native::rocksdb_writeoptions_destroy(self.write);
            native::rocksdb_writeoptions_destroy(self.bulk);
            native::rocksdb_optimistictransaction_options_destroy(self.begin);
        }
    }
}

/// One transaction object, used again and again, which spares its making.
pub struct Transactions<'s> {
    store: &'s Store,
    transaction: *mut native::Transaction,
    read: *mut native::ReadOptions,
    /// Kept between batches of reads for its memory; empty in between.
    pinned: Vec<*mut native::Pinned>,
    /// As above.
    errors: Vec<*mut c_char>,
}

// SAFETY: a transaction may move between threads as long as one uses it at a time; `&mut` sees to that.
unsafe impl Send for Transactions<'_> {}

impl Transactions<'_> {
    /// Begins anew, at a snapshot of now. What was not committed is forgotten.
    pub fn begin(&mut self) {
        let store = self.store;
        // SAFETY: the old transaction, if there is one, is made new in place. The snapshot's wrapper is
        // freed as the header says; the snapshot itself lives as long as the transaction.
        unsafe {
            self.transaction = native::rocksdb_optimistictransaction_begin(
                store.db,
                store.write,
                store.begin,
                self.transaction,
            );
            let snapshot = native::rocksdb_transaction_get_snapshot(self.transaction);
            native::rocksdb_readoptions_set_snapshot(self.read, snapshot);
            native::rocksdb_free(snapshot.cast_mut().cast());
        }
    }

    /// Shows the value of a key; `validate`: the commit is refused if the record changes before it.
    ///
    /// # Errors
    /// RocksDB's.
    pub fn get<R>(
        &mut self,
        key: &[u8],
        validate: bool,
        see: impl FnOnce(Option<&[u8]>) -> R,
    ) -> Result<R, Error> {
        assert!(!self.transaction.is_null(), "begin first");
        // SAFETY: the transaction is there; the pinned value is read before it is destroyed.
        unsafe {
            let pinned = told(|e| match validate {
                true => native::rocksdb_transaction_get_pinned_for_update(
                    self.transaction,
                    self.read,
                    chars(key),
                    key.len(),
                    0,
                    e,
                ),
                false => native::rocksdb_transaction_get_pinned(
                    self.transaction,
                    self.read,
                    chars(key),
                    key.len(),
                    e,
                ),
            })?;
            if pinned.is_null() {
                return Ok(see(None));
            }
            let mut bytes = 0;
            let value = native::rocksdb_pinnableslice_value(pinned, &mut bytes);
            let result = see(Some(std::slice::from_raw_parts(value.cast(), bytes)));
            native::rocksdb_pinnableslice_destroy(pinned);
            Ok(result)
        }
    }

    /// Shows the values of several keys, looked up as a batch at the transaction's snapshot: what the transaction itself
    /// has put is not seen, and nothing is validated. `see` is given the key's place.
    ///
    /// # Errors
    /// RocksDB's; some values may have been shown by then.
    pub fn get_together<const N: usize>(
        &mut self,
        keys: &[[u8; N]],
        mut see: impl FnMut(usize, Option<&[u8]>),
    ) -> Result<(), Error> {
        assert!(!self.transaction.is_null(), "begin first");
        let starts: Vec<_> = keys.iter().map(|key| chars(key)).collect();
        let bytes = vec![N; keys.len()];
        self.pinned.resize(keys.len(), ptr::null_mut());
        self.errors.resize(keys.len(), ptr::null_mut());
        // SAFETY: all five arrays have as many places as there are keys, and the last two are filled by the call. The
        // snapshot among the options is the transaction's, which lives.
        unsafe {
            native::rocksdb_batched_multi_get_cf(
                self.store.base,
                self.read,
                self.store.records,
                keys.len(),
                starts.as_ptr(),
                bytes.as_ptr(),
                self.pinned.as_mut_ptr(),
                self.errors.as_mut_ptr(),
                false,
            );
        }
        let mut result = Ok(());
        let found = self.pinned.drain(..).zip(self.errors.drain(..));
        for (place, (pinned, error)) in found.enumerate() {
            // SAFETY: the text is RocksDB's and ours to free, and so is the pinned value, which is read before
            // it is destroyed.
            unsafe {
                if let Err(error) = told_by(error) {
                    result = Err(error);
                } else if pinned.is_null() {
                    see(place, None);
                    continue;
                } else {
                    let mut bytes = 0;
                    let value = native::rocksdb_pinnableslice_value(pinned, &mut bytes);
                    see(place, Some(std::slice::from_raw_parts(value.cast(), bytes)));
                }
                if !pinned.is_null() {
                    native::rocksdb_pinnableslice_destroy(pinned);
                }
            }
        }
        result
    }

    /// Sets the value of a key.
    ///
    /// # Errors
    /// RocksDB's.
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Error> {
        assert!(!self.transaction.is_null(), "begin first");
        // SAFETY: the transaction is there; key and value are copied.
        told(|e| unsafe {
            native::rocksdb_transaction_put(
                self.transaction,
                chars(key),
                key.len(),
                chars(value),
                value.len(),
                e,
            );
        })
    }

    /// Commits, durably if the store was opened so.
    ///
    /// # Errors
    /// [`Error::Conflict`]; the transaction has no effects then.
    pub fn commit(&mut self) -> Result<(), Error> {
        assert!(!self.transaction.is_null(), "begin first");
        // SAFETY: the transaction is there.
        told(|e| unsafe { native::rocksdb_transaction_commit(self.transaction, e) })
    }
}

impl Drop for Transactions<'_> {
    fn drop(&mut self) {
        // SAFETY: destroyed once; the database is still open. The options go after the last use.
        unsafe {
            if !self.transaction.is_null() {
                native::rocksdb_transaction_destroy(self.transaction);
            }
            native::rocksdb_readoptions_destroy(self.read);
        }
    }
}

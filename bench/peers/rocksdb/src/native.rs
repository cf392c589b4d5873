//! The functions of RocksDB's C interface that are used here, as its header `rocksdb/c.h` declares them
//! (checked against 7.8).
//!
//! Relies on: that header.  Promises: nothing.  Does not: check; `store` is the door.
//!
//! `errptr` arguments point at a null pointer; on an error the callee puts a text there that is to be given
//! to `rocksdb_free`. Flags are one byte, 0 or 1.

use std::ffi::{c_char, c_double, c_int, c_uchar, c_void};

macro_rules! opaque {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        $(
            $(#[$doc])*
            #[repr(C)]
            pub struct $name {
                _private: [u8; 0],
            }
        )*
    };
}

opaque! {
    /// `rocksdb_optimistictransactiondb_t`
    TransactionDb,
    /// `rocksdb_t`
    Db,
    /// `rocksdb_transaction_t`
    Transaction,
    /// `rocksdb_column_family_handle_t`
    ColumnFamily,
    /// `rocksdb_options_t`
    Options,
    /// `rocksdb_block_based_table_options_t`
    TableOptions,
    /// `rocksdb_cache_t`
    Cache,
    /// `rocksdb_filterpolicy_t`
    FilterPolicy,
    /// `rocksdb_writeoptions_t`
    WriteOptions,
    /// `rocksdb_readoptions_t`
    ReadOptions,
    /// `rocksdb_optimistictransaction_options_t`
    TransactionOptions,
    /// `rocksdb_snapshot_t`
    Snapshot,
    /// `rocksdb_pinnableslice_t`
    Pinned,
    /// `rocksdb_writebatch_t`
    WriteBatch,
    /// `rocksdb_flushoptions_t`
    FlushOptions,
}

/// `rocksdb_lz4_compression`; 0 is none.
pub const LZ4: c_int = 4;

unsafe extern "C" {
    pub fn rocksdb_free(pointer: *mut c_void);

    pub fn rocksdb_options_create() -> *mut Options;
    pub fn rocksdb_options_destroy(options: *mut Options);
    pub fn rocksdb_options_set_create_if_missing(options: *mut Options, on: c_uchar);
    pub fn rocksdb_options_set_max_background_jobs(options: *mut Options, jobs: c_int);
    pub fn rocksdb_options_set_write_buffer_size(options: *mut Options, bytes: usize);
    pub fn rocksdb_options_set_max_write_buffer_number(options: *mut Options, count: c_int);
    pub fn rocksdb_options_set_compression(options: *mut Options, kind: c_int);
    pub fn rocksdb_options_set_use_direct_reads(options: *mut Options, on: c_uchar);
    pub fn rocksdb_options_set_use_direct_io_for_flush_and_compaction(
        options: *mut Options,
        on: c_uchar,
    );
    pub fn rocksdb_options_set_level_compaction_dynamic_level_bytes(
        options: *mut Options,
        on: c_uchar,
    );
    pub fn rocksdb_options_set_bytes_per_sync(options: *mut Options, bytes: u64);
    pub fn rocksdb_options_set_block_based_table_factory(
        options: *mut Options,
        table: *mut TableOptions,
    );

    pub fn rocksdb_block_based_options_create() -> *mut TableOptions;
    pub fn rocksdb_block_based_options_destroy(table: *mut TableOptions);
    pub fn rocksdb_block_based_options_set_block_cache(table: *mut TableOptions, cache: *mut Cache);
    pub fn rocksdb_block_based_options_set_filter_policy(
        table: *mut TableOptions,
        policy: *mut FilterPolicy,
    );
    pub fn rocksdb_block_based_options_set_cache_index_and_filter_blocks(
        table: *mut TableOptions,
        on: c_uchar,
    );
    pub fn rocksdb_block_based_options_set_pin_l0_filter_and_index_blocks_in_cache(
        table: *mut TableOptions,
        on: c_uchar,
    );
    pub fn rocksdb_block_based_options_set_format_version(table: *mut TableOptions, v: c_int);
    pub fn rocksdb_filterpolicy_create_bloom_full(bits_per_key: c_double) -> *mut FilterPolicy;
    pub fn rocksdb_cache_create_lru(bytes: usize) -> *mut Cache;
    pub fn rocksdb_cache_destroy(cache: *mut Cache);

    pub fn rocksdb_writeoptions_create() -> *mut WriteOptions;
    pub fn rocksdb_writeoptions_destroy(options: *mut WriteOptions);
    pub fn rocksdb_writeoptions_set_sync(options: *mut WriteOptions, on: c_uchar);
    pub fn rocksdb_writeoptions_disable_WAL(options: *mut WriteOptions, on: c_int);
    pub fn rocksdb_readoptions_create() -> *mut ReadOptions;
    pub fn rocksdb_readoptions_destroy(options: *mut ReadOptions);
    pub fn rocksdb_readoptions_set_snapshot(options: *mut ReadOptions, snapshot: *const Snapshot);
    pub fn rocksdb_optimistictransaction_options_create() -> *mut TransactionOptions;
    pub fn rocksdb_optimistictransaction_options_destroy(options: *mut TransactionOptions);
    pub fn rocksdb_optimistictransaction_options_set_set_snapshot(
        options: *mut TransactionOptions,
        on: c_uchar,
    );
    pub fn rocksdb_flushoptions_create() -> *mut FlushOptions;
    pub fn rocksdb_flushoptions_destroy(options: *mut FlushOptions);

    pub fn rocksdb_optimistictransactiondb_open_column_families(
        options: *const Options,
        name: *const c_char,
        count: c_int,
        names: *const *const c_char,
        their_options: *const *const Options,
        handles: *mut *mut ColumnFamily,
        errptr: *mut *mut c_char,
    ) -> *mut TransactionDb;
    pub fn rocksdb_column_family_handle_destroy(handle: *mut ColumnFamily);
    pub fn rocksdb_optimistictransactiondb_close(db: *mut TransactionDb);
    pub fn rocksdb_optimistictransactiondb_get_base_db(db: *mut TransactionDb) -> *mut Db;
    pub fn rocksdb_optimistictransactiondb_close_base_db(db: *mut Db);
    pub fn rocksdb_optimistictransaction_begin(
        db: *mut TransactionDb,
        write: *const WriteOptions,
        options: *const TransactionOptions,
        old: *mut Transaction,
    ) -> *mut Transaction;

    pub fn rocksdb_transaction_get_snapshot(transaction: *mut Transaction) -> *const Snapshot;
    pub fn rocksdb_transaction_get_pinned(
        transaction: *mut Transaction,
        options: *const ReadOptions,
        key: *const c_char,
        key_bytes: usize,
        errptr: *mut *mut c_char,
    ) -> *mut Pinned;
    pub fn rocksdb_transaction_get_pinned_for_update(
        transaction: *mut Transaction,
        options: *const ReadOptions,
        key: *const c_char,
        key_bytes: usize,
        exclusive: c_uchar,
        errptr: *mut *mut c_char,
    ) -> *mut Pinned;
    pub fn rocksdb_transaction_put(
        transaction: *mut Transaction,
        key: *const c_char,
        key_bytes: usize,
        value: *const c_char,
        value_bytes: usize,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_transaction_commit(transaction: *mut Transaction, errptr: *mut *mut c_char);
    pub fn rocksdb_transaction_destroy(transaction: *mut Transaction);
    pub fn rocksdb_batched_multi_get_cf(
        db: *mut Db,
        options: *const ReadOptions,
        family: *mut ColumnFamily,
        count: usize,
        keys: *const *const c_char,
        keys_bytes: *const usize,
        values: *mut *mut Pinned,
        errors: *mut *mut c_char,
        is_sorted: bool,
    );
    pub fn rocksdb_pinnableslice_value(pinned: *const Pinned, bytes: *mut usize) -> *const c_char;
    pub fn rocksdb_pinnableslice_destroy(pinned: *mut Pinned);

    pub fn rocksdb_writebatch_create() -> *mut WriteBatch;
    pub fn rocksdb_writebatch_destroy(batch: *mut WriteBatch);
    pub fn rocksdb_writebatch_put(
        batch: *mut WriteBatch,
        key: *const c_char,
        key_bytes: usize,
        value: *const c_char,
        value_bytes: usize,
    );
    pub fn rocksdb_write(
        db: *mut Db,
        options: *const WriteOptions,
        batch: *mut WriteBatch,
        errptr: *mut *mut c_char,
    );
    pub fn rocksdb_flush(db: *mut Db, options: *const FlushOptions, errptr: *mut *mut c_char);
    pub fn rocksdb_compact_range(
        db: *mut Db,
        from: *const c_char,
        from_bytes: usize,
        to: *const c_char,
        to_bytes: usize,
    );
    pub fn rocksdb_property_int(db: *mut Db, name: *const c_char, value: *mut u64) -> c_int;
}

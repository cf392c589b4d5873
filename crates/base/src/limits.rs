//! Every bound in one place, each with its reason.
//!
//! Relies on: nothing.  Promises: constants tied together are checked at compile time.
//! Does not: hold settings; what an operator may change starts from a default here and lives in the
//! configuration of its room.

/// The longest history that can be read (`quintet.as_of`), in seconds: what a snapshot sees is kept for as long as it is.
pub const HISTORY_SECONDS_MAX: u64 = 24 * 60 * 60;

/// Longest key the stores take, in bytes. A key is compared on every index step, and PostgreSQL's
/// own limit for an index entry is about 2,700 bytes.
pub const KEY_BYTES_MAX: usize = 8 * 1024;

/// Longest row the stores take, in bytes. Large enough for documents; small enough that one row
/// cannot fill a log segment.
pub const ROW_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Most columns in a table, as in PostgreSQL.
pub const TABLE_COLUMNS_MAX: usize = 1600;

/// Most parameters of one statement: the protocol counts them in 16 bits.
pub const PARAMETERS_MAX: usize = 65_535;

/// Longest identifier in bytes; longer ones are cut with a notice, as PostgreSQL does.
pub const IDENTIFIER_BYTES_MAX: usize = 63;

/// Longest message a client may send. PostgreSQL allows 1 GiB; a length beyond this is taken for
/// garbage and the connection is closed with an error.
pub const MESSAGE_BYTES_MAX: usize = 256 * 1024 * 1024;

/// Longest startup packet, as in PostgreSQL: nothing honest is longer, and it arrives before we
/// know who is calling.
pub const STARTUP_BYTES_MAX: usize = 10_000;

/// Connections served at once unless configured otherwise.
pub const CONNECTIONS_DEFAULT: usize = 256;

/// How long a commit under [`crate::Durability::Async`] may wait for its sync, in milliseconds.
/// PostgreSQL's `wal_writer_delay` default is the same 200.
pub const ASYNC_FLUSH_INTERVAL_MS: u64 = 200;

/// A sync of the log that takes longer is counted apart: many times what a disk for a database takes.
pub const SLOW_SYNC_MS: u64 = 5;

/// Size of one log segment file, in bytes. Large enough that a switch (one preallocation, one
/// rename) is rare, small enough that a truncated log gives space back soon.
pub const LOG_SEGMENT_BYTES: usize = 64 * 1024 * 1024;

/// Default bound on all memory the stores use for rows, caches and buffers, in bytes.
pub const MEMORY_BYTES_DEFAULT: usize = 2 * 1024 * 1024 * 1024;

/// Bytes one statement may hold in sorts, groups, and rows kept until it is done, unless `work_mem` says otherwise. An
/// eighth of the default memory of a whole database: one careless query must not take it all.
pub const STATEMENT_MEMORY_DEFAULT: usize = MEMORY_BYTES_DEFAULT / 8;

/// Bytes of rows that all statements of a database may have in files because their memory has no room for them, unless the disk has
/// less: a share of what a small disk has, many times a statement's memory.
pub const SPILL_BYTES_MAX: u64 = 16 * 1024 * 1024 * 1024;

/// Rows a scan takes from memory in one go: enough to pay for the descent,
/// few enough that memory given up meanwhile is not held back for long.
pub const SCAN_CHUNK_ROWS: usize = 128;

/// Removed records that wait for the same thing (for the last scan that may meet them, the last snapshot that may read them, the
/// log, STORE), before they are forgotten and all of memory is looked through instead: some ten megabytes for each.
pub const REMOVALS_WAITING_MAX: usize = 1 << 17;

/// How often a statement at READ COMMITTED is run again because a row changed under it, before
/// the transaction is refused. Each repeat holds at least one more row lock than the one before,
/// so honest statements need few.
pub const STATEMENT_RESTARTS_MAX: usize = 10_000;

/// Elements of an array that a routine may make by assigning to one: what fits into a row, and more.
pub const ARRAY_ELEMENTS_MAX: usize = 1 << 24;

/// Routines that call one another, at most so deep. Each takes memory of its own, none of the thread's
/// stack.
pub const CALL_DEPTH_MAX: usize = 1_000;

/// How deep statements may stand in functions that statements call: each level takes the stack of a
/// thread, several frames of a cursor and of an expression.
pub const CALL_NESTING_MAX: usize = 32;

/// And how much of the stack they may take: a thread has 2 MiB if nobody says otherwise, and what stands
/// below and above them needs its part.
pub const CALL_STACK_BYTES_MAX: usize = 1 << 20;

/// How often a call that is a transaction of its own is run without locks. Where two threads meet at a row, one
/// of them is through before the other has woken somebody who waits; queues are for rows at which it is not enough.
pub const CALL_OPTIMISTIC_RUNS: usize = 3;

/// How often a call that lost a conflict is run again before its client hears of it.
pub const CALL_RETRIES_MAX: usize = 100;

/// Most transactions that wait for one row's lock; the next one is refused with 53300.
pub const LOCK_WAITERS_MAX: usize = 10_000;

/// Calls that a scheduler holds at once, waiting or under way; the next one is refused with 53300. Each takes
/// one to two kilobytes with its keys; who waits behind so many waits for minutes.
pub const PENDING_CALLS_MAX: usize = 200_000;

/// Calls that one lane takes at once: enough that what a commit costs is shared by many, few enough that the
/// last of them does not wait for milliseconds.
pub const BATCH_CALLS_MAX: usize = 128;

/// Bytes of rows that the calls of one batch may write together; the call that would exceed it runs by itself.
/// Far below what a transaction may write at the least memory.
pub const BATCH_WRITES_BYTES_MAX: usize = 1024 * 1024;

/// Rows of one cursor WITH HOLD, in bytes: they are kept in memory until it is closed.
pub const HELD_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Notifications that one listening client has not taken yet, in bytes; who would say more is refused.
pub const NOTIFICATION_BYTES_MAX: usize = 8 * 1024 * 1024;

/// What one notification may say, in bytes, as PostgreSQL's pages have room for.
pub const NOTIFICATION_PAYLOAD_BYTES_MAX: usize = 7999;

/// What one transaction may write where its write set travels to replicas, in bytes. It is held in memory
/// until all have it; a few of this size fit beside each other.
pub const WRITE_SET_BYTES_MAX: usize = 64 * 1024 * 1024;

/// What a replica may answer to one call, in bytes: a call's answer is kept until its write set is everywhere.
pub const ANSWER_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Statements that one session at a replica keeps prepared. A server keeps a plan for each, some ten kilobytes.
pub const REPLICA_STATEMENTS_MAX: usize = 256;

/// Statements that a client of the front end keeps prepared. Each is a tree and its keys, some kilobytes.
pub const PREPARED_STATEMENTS_MAX: usize = 10_000;

/// Texts of which the front end remembers what they take and give; when there are more it begins again.
pub const DESCRIPTIONS_MAX: usize = 10_000;

/// Words that wait for the front end's one who decides; who has more to say waits.
pub const FRONT_WORDS_MAX: usize = 10_000;

const _: () = assert!(ROW_BYTES_MAX < LOG_SEGMENT_BYTES);
const _: () = assert!(KEY_BYTES_MAX < ROW_BYTES_MAX);
const _: () = assert!(STARTUP_BYTES_MAX < MESSAGE_BYTES_MAX);

//! Rows that an inverted index leads to.
//!
//! Relies on: the entries of an element lie in the order of their rows' keys (`crate::inverted`).  Promises: the keys of all rows
//! that have what is sought, and perhaps of others, each once, in order; what counts as read is enough to tell whether there
//! would be others.  Does not: read the rows, or ask the conditions again.
//!
//! ```text
//!   a @> '{1,2}' AND a && '{3,4}'       All ─┬─ entries of 1      r2 r5 r7 …
//!                                            ├─ entries of 2      r5 r9 …
//!                                            └─ Any ─┬─ of 3      r1 r5 …
//!                                                    └─ of 4
//! ```
//! Where all are needed, each one is asked for its first row at or behind the furthest that another has come to. So each key that
//! is passed over lies in a stretch of some element's entries that has been read and has no entry for it: a row that comes there
//! later is noticed at SERIALIZABLE.

use crate::context::{Env, Halt};
use crate::inverted::prefix;
use quintet_base::{Bytes, SpaceId};
use quintet_dc::{Direction, KeyRange};
use quintet_ir::elements::{Tree, Wanted, wanted};
use quintet_ir::function::trigram::threshold;
use quintet_ir::{Access, Sought};
use quintet_tc::Scan;
use std::ops::Bound;

/// Entries that are passed one by one before the scan begins anew where it is to go on.
const STEPS_MAX: usize = 32;
/// More elements of one condition are not looked for: rows that have these are asked the condition.
const NEEDED_MAX: usize = 16;
/// With more alternatives the table is read instead.
const ALTERNATIVES_MAX: usize = 1024;

/// What an inverted index is asked.
pub(super) enum Search {
    /// Nothing that it could answer: any row may fulfil the conditions.
    Anything,
    /// No row fulfils them.
    Nothing,
    /// These rows may.
    Rows(Stream, Vec<u8>),
}

/// Keys of rows, in order.
pub(super) enum Stream {
    Entries(Box<Entries>),
    All(Vec<Stream>),
    Any(Vec<Stream>),
    /// Of so many of them.
    AtLeast(usize, Vec<Stream>),
    /// Of all elements that begin alike. They are read when the first row is asked for.
    Listed(Box<Listed>),
}

/// Rows of elements that begin alike, which lie in the order of the elements first.
pub(super) struct Listed {
    space: SpaceId,
    prefixes: Vec<Vec<u8>>,
    rows: Option<Vec<Bytes>>,
    at: usize,
}

/// The entries of one element.
pub(super) struct Entries {
    space: SpaceId,
    prefix: Vec<u8>,
    scan: Option<Scan>,
    /// The row that it has come to.
    head: Option<Bytes>,
    done: bool,
}

impl Search {
    pub fn open(
        access: &Access,
        number: usize,
        sought: &[Sought],
        env: &Env<'_>,
        outer: &[quintet_base::Value],
    ) -> Result<Search, Halt> {
        let index = &access.table.indexes[number];
        let mut needed = Vec::new();
        for one in sought {
            let value = env.eval_plain(&one.value, outer)?;
            let entries = |element: &Vec<u8>| Stream::entries(one.place, element, index.space);
            let threshold = threshold(one.test, env.host);
            match wanted(index.inverted[one.place], one.test, &value, threshold) {
                Wanted::Nothing => return Ok(Search::Nothing),
                Wanted::Any(elements) if elements.len() <= ALTERNATIVES_MAX => {
                    needed.push(Stream::Any(elements.iter().map(entries).collect()));
                }
                Wanted::AtLeast(count, elements) if elements.len() <= ALTERNATIVES_MAX => {
                    needed.push(Stream::AtLeast(
                        count,
                        elements.iter().map(entries).collect(),
                    ));
                }
                Wanted::Any(_) | Wanted::AtLeast(..) | Wanted::Anything => {}
                Wanted::Tree(tree) => needed.extend(Stream::of(tree, one.place, index.space)),
                Wanted::All(elements) => {
                    needed.extend(elements.iter().take(NEEDED_MAX).map(entries));
                }
            }
        }
        Ok(match needed.is_empty() {
            true => Search::Anything,
            false => Search::Rows(Stream::All(needed), Vec::new()),
        })
    }

    /// The key of the next row.
    pub fn next(&mut self, env: &mut Env<'_>, table: &str) -> Result<Option<Bytes>, Halt> {
        let Search::Rows(stream, from) = self else {
            return Ok(None);
        };
        let found = stream.at_or_behind(from, env, table)?;
        match &found {
            Some(key) => {
                // The next key that there could be.
                from.clear();
                from.extend_from_slice(key);
                from.push(0);
            }
            None => *self = Search::Nothing,
        }
        Ok(found)
    }
}

impl Stream {
    fn entries(place: usize, element: &[u8], space: SpaceId) -> Stream {
        Stream::Entries(Box::new(Entries {
            space,
            prefix: prefix(place, element),
            scan: None,
            head: None,
            done: false,
        }))
    }

    /// The rows of which something is true; none if there would be too many alternatives.
    fn of(tree: Tree, place: usize, space: SpaceId) -> Option<Stream> {
        match tree {
            Tree::Element(element) => Some(Stream::entries(place, &element, space)),
            Tree::Prefix(begins) => Some(Stream::Listed(Box::new(Listed {
                space,
                prefixes: begins.iter().map(|begin| prefix(place, begin)).collect(),
                rows: None,
                at: 0,
            }))),
            Tree::All(parts) => {
                let parts = parts.into_iter();
                let streams = parts.filter_map(|part| Stream::of(part, place, space));
                let streams: Vec<_> = streams.take(NEEDED_MAX).collect();
                (!streams.is_empty()).then_some(Stream::All(streams))
            }
            Tree::Any(parts) if parts.len() > ALTERNATIVES_MAX => None,
            Tree::Any(parts) => {
                let parts = parts.into_iter();
                let streams = parts.map(|part| Stream::of(part, place, space));
                streams.collect::<Option<Vec<_>>>().map(Stream::Any)
            }
        }
    }

    /// The first row at this key or behind it. Asked again, never for less.
    fn at_or_behind(
        &mut self,
        from: &[u8],
        env: &mut Env<'_>,
        table: &str,
    ) -> Result<Option<Bytes>, Halt> {
        match self {
            Stream::Entries(entries) => entries.at_or_behind(from, env, table),
            Stream::Listed(listed) => listed.at_or_behind(from, env, table),
            Stream::Any(streams) => {
                let mut first: Option<Bytes> = None;
                for stream in streams {
                    let found = stream.at_or_behind(from, env, table)?;
                    first = match (first, found) {
                        (Some(one), Some(other)) => Some(one.min(other)),
                        (one, other) => one.or(other),
                    };
                }
                Ok(first)
            }
            Stream::AtLeast(count, streams) => {
                let mut target = Bytes::copy_from_slice(from);
                loop {
                    let mut heads = Vec::with_capacity(streams.len());
                    for stream in &mut *streams {
                        heads.extend(stream.at_or_behind(&target, env, table)?);
                    }
                    heads.sort_unstable();
                    // Of what lies before it fewer streams have a row than are needed.
                    let Some(first) = heads.get(count.saturating_sub(1)) else {
                        return Ok(None);
                    };
                    if heads[0] == *first {
                        return Ok(Some(first.clone()));
                    }
                    target = first.clone();
                }
            }
            Stream::All(streams) => {
                let mut target = Bytes::copy_from_slice(from);
                // How many have agreed, one after the other.
                let (mut agreed, mut at) = (0, 0);
                while agreed < streams.len() {
                    let Some(found) = streams[at].at_or_behind(&target, env, table)? else {
                        return Ok(None);
                    };
                    agreed = if found == target { agreed + 1 } else { 1 };
                    target = found;
                    at = (at + 1) % streams.len();
                }
                Ok(Some(target))
            }
        }
    }
}

impl Listed {
    fn at_or_behind(
        &mut self,
        from: &[u8],
        env: &mut Env<'_>,
        table: &str,
    ) -> Result<Option<Bytes>, Halt> {
        if self.rows.is_none() {
            self.rows = Some(self.read(env, table)?);
        }
        let rows = self.rows.as_deref().unwrap_or_default();
        self.at += rows[self.at..].partition_point(|row| row[..] < *from);
        Ok(rows.get(self.at).cloned())
    }

    /// All of them: so a row that comes later is noticed at SERIALIZABLE.
    fn read(&self, env: &mut Env<'_>, table: &str) -> Result<Vec<Bytes>, Halt> {
        let mut rows = Vec::new();
        for prefix in &self.prefixes {
            let range = KeyRange::prefix(prefix.clone());
            let scan = env.txn.scan(self.space, &range, Direction::Forward);
            let mut scan = scan.map_err(|error| env.halt(error, table))?;
            while let Some((_, row_key)) =
                scan.next(env.txn).map_err(|error| env.halt(error, table))?
            {
                rows.push(row_key);
                env.tick()?;
            }
        }
        rows.sort_unstable();
        rows.dedup();
        Ok(rows)
    }
}

impl Entries {
    fn at_or_behind(
        &mut self,
        from: &[u8],
        env: &mut Env<'_>,
        table: &str,
    ) -> Result<Option<Bytes>, Halt> {
        let mut steps = 0;
        loop {
            if let Some(head) = self.head.as_ref().filter(|head| head[..] >= *from) {
                return Ok(Some(head.clone()));
            }
            if self.done {
                return Ok(None);
            }
            if self.scan.is_none() || steps == STEPS_MAX {
                let scan = env
                    .txn
                    .scan(self.space, &self.rest(from), Direction::Forward);
                self.scan = Some(scan.map_err(|error| env.halt(error, table))?);
            }
            steps += 1;
            if let Some(scan) = &mut self.scan {
                let found = scan.next(env.txn).map_err(|error| env.halt(error, table))?;
                self.done = found.is_none();
                self.head = found.map(|(_, row_key)| row_key);
            }
            env.tick()?;
        }
    }

    /// The entries from a row on.
    fn rest(&self, from: &[u8]) -> KeyRange {
        let all = KeyRange::prefix(self.prefix.clone());
        let begins = [&self.prefix[..], from].concat();
        KeyRange {
            lower: Bound::Included(Bytes::from(begins)),
            upper: all.upper,
        }
    }
}

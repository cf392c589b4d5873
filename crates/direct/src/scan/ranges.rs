//! Ranges that a scan reads, one after the other, and what is copied out of them.
//!
//! Relies on: `tc::Scan`, which shows a chunk where it lies; the filter of whoever scans.  Promises: each row once, also
//! where ranges overlap; what counts as read is noted as rows are given, or as chunks are shown.
//! Does not: evaluate a filter that has no answer: it says so with the row.
//!
//! Hot path: [`Ranges::copy`] and [`Ranges::show`], once for each row of a table.

use super::found::Search;
use super::{Filter, Probe, Seen, Shown, columns_of, lost_row, needed};
use crate::context::{Env, Halt};
use crate::rows::push_columns;
use foldhash::fast::RandomState;
use quintet_base::{Bytes, SqlError, Timestamp, Value};
use quintet_dc::{Direction, KeyRange as StoreRange};
use quintet_ir::formula::Scope;
use quintet_ir::{Access, Path};
use quintet_tc::{Scan, Wants};
use std::collections::HashSet;
use std::ops::Bound;

/// Bytes of rows that are copied out of one chunk, roughly; values of them may take more.
const COPIED_BYTES_MAX: usize = 256 * 1024;

/// Ranges being read one after the other.
pub(super) struct Ranges {
    ranges: Vec<StoreRange>,
    at: usize,
    scan: Option<Scan>,
    /// All ranges are single keys, and no two of them the same.
    points: bool,
    snapshot: Timestamp,
    /// By an inverted index, if there is something to look for.
    search: Option<Search>,
    /// Rows that have been shown.
    pub shown: usize,
}

/// Rows of a chunk that have been copied out.
#[derive(Default)]
pub(super) struct Batch {
    /// The columns that somebody looks at; behind them, without a primary key, the row's number.
    columns: Vec<usize>,
    values: Vec<Value>,
    /// Of each row: whether the filter has let it through, rather than had no answer.
    passed: Vec<bool>,
    /// Their keys, if what is read is remembered, and where each ends.
    keys: Bytes,
    ends: Vec<usize>,
    /// The row that is given next.
    at: usize,
    /// The row behind them cannot be read.
    failed: Option<SqlError>,
    /// What counts as read when all have been given.
    then: Then,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Then {
    /// Nothing more.
    #[default]
    Nothing,
    /// All of the range.
    End,
}

impl Ranges {
    pub fn open(access: &Access, env: &Env<'_>, outer: &[Value]) -> Result<Ranges, Halt> {
        let columns = columns_of(access);
        let mut ranges = Vec::new();
        let mut points = false;
        let mut search = None;
        match &access.path {
            Path::Full => ranges.push(StoreRange::all()),
            Path::Elements(number, sought) => {
                match Search::open(access, *number, sought, env, outer)? {
                    Search::Anything => ranges.push(StoreRange::all()),
                    found => search = Some(found),
                }
            }
            Path::Primary(list) | Path::Index(_, list) => {
                points = list.iter().all(|range| columns.is_point(range));
                for range in list {
                    ranges.extend(columns.range(range, env, outer)?);
                }
            }
        }
        if points && ranges.len() > 1 {
            let mut seen = HashSet::with_hasher(RandomState::default());
            ranges.retain(|range| match &range.lower {
                Bound::Included(key) => seen.insert(key.clone()),
                _ => true,
            });
        }
        Ok(Ranges {
            ranges,
            at: 0,
            scan: None,
            points,
            snapshot: env.txn.snapshot(),
            search,
            shown: 0,
        })
    }

    /// Whether rows can be shown where they lie: they are neither named one by one, nor by entries.
    pub fn are_shown(&self, access: &Access) -> bool {
        !self.points && !matches!(access.path, Path::Index(..)) && self.search.is_none()
    }

    /// The scan of the range at hand; `None`: there are no more ranges.
    fn opened(&mut self, access: &Access, env: &Env<'_>) -> Result<Option<&mut Scan>, Halt> {
        if self.scan.is_none() {
            let Some(range) = self.ranges.get(self.at) else {
                return Ok(None);
            };
            let direction = direction_of(access);
            let scan = env.txn.scan(access.table.space, range, direction);
            self.scan = Some(scan.map_err(|e| env.halt(e, &access.table.name))?);
        }
        Ok(self.scan.as_mut())
    }

    fn note(&mut self, key: &Bytes, env: &Env<'_>) {
        if let Some(scan) = &mut self.scan {
            scan.note(env.txn, key);
        }
    }

    /// The range at hand is through.
    fn note_end(&mut self, env: &Env<'_>) {
        if let Some(scan) = self.scan.take() {
            scan.note_end(env.txn);
        }
        self.at += 1;
    }

    /// Copies rows of the next chunk out that the filter, if there is one, does not hold back; false: there are no more.
    pub fn copy(
        &mut self,
        access: &Access,
        (filter, filters): (&Filter, bool),
        probe: Option<&Probe<'_>>,
        batch: &mut Batch,
        env: &mut Env<'_>,
    ) -> Result<bool, Halt> {
        env.check_cancel()?;
        batch.clear();
        if batch.columns.is_empty() {
            let needed = needed(access, env);
            let wanted = |column: &usize| {
                let needed =
                    needed.is_none_or(|needed| needed.get(*column).copied().unwrap_or(true));
                needed && !access.table.columns[*column].dropped
            };
            batch.columns = (0..access.table.columns.len()).filter(wanted).collect();
        }
        let Some(_) = self.opened(access, env)? else {
            return Ok(false);
        };
        let (params, host, txn) = (env.params, env.host, &*env.txn);
        let (before, scan) = (
            &self.ranges[..self.at],
            self.scan.as_mut().expect("just opened"),
        );
        let remembers = scan.is_remembered();
        let (mut keys, mut bytes, mut image) = (Vec::new(), 0, Vec::new());
        let mut shown = 0;
        let Batch {
            columns,
            values,
            passed,
            ends,
            failed,
            ..
        } = batch;
        let more = scan.show(txn, &mut |key, row| {
            shown += 1;
            if before.iter().any(|range| range.contains(key)) {
                return Wants::More;
            }
            let lies = access.table.layout.open(row);
            let known = match (&lies, filters) {
                (_, false) => Some(true),
                (Ok(lies), true) => filter.holds(&Scope {
                    row: Some(*lies),
                    slots: params,
                    host,
                }),
                (Err(_), true) => None,
            };
            if known == Some(false) {
                return Wants::More;
            }
            if let (Some(true), Some(probe), Ok(lies)) = (known, probe, &lies) {
                let scope = Scope {
                    row: Some(*lies),
                    slots: params,
                    host,
                };
                if probe.misses(&scope, &mut image) {
                    return Wants::More;
                }
            }
            let from = values.len();
            let pushed =
                lies.and_then(|lies| push_columns(&access.table, columns, key, &lies, values));
            if let Err(error) = pushed {
                values.truncate(from);
                *failed = Some(error);
                return Wants::NoMore;
            }
            passed.push(known == Some(true));
            if remembers {
                keys.extend_from_slice(key);
                ends.push(keys.len());
            }
            bytes += row.len();
            match bytes > COPIED_BYTES_MAX {
                true => Wants::NoMore,
                false => Wants::More,
            }
        });
        self.shown += shown;
        let more = more.map_err(|e| env.halt(e, &access.table.name))?;
        batch.keys = Bytes::from(keys);
        if !more && batch.failed.is_none() {
            batch.then = Then::End;
        }
        Ok(true)
    }

    /// Shows the rows of the next chunk that the filter lets through.
    pub fn show(
        &mut self,
        access: &Access,
        (filter, filters): (&Filter, bool),
        env: &mut Env<'_>,
        see: &mut dyn FnMut(&Scope<'_>) -> Seen,
    ) -> Result<Shown, Halt> {
        env.check_cancel()?;
        let Some(_) = self.opened(access, env)? else {
            return Ok(Shown::End);
        };
        let (params, host, txn) = (env.params, env.host, &*env.txn);
        let (before, scan) = (
            &self.ranges[..self.at],
            self.scan.as_mut().expect("just opened"),
        );
        let remembers = scan.is_remembered();
        let mut last = Vec::new();
        let mut hard = None;
        let more = scan.show(txn, &mut |key, row| {
            if remembers {
                last.clear();
                last.extend_from_slice(key);
            }
            if before.iter().any(|range| range.contains(key)) {
                return Wants::More;
            }
            let scope = Scope {
                row: access.table.layout.open(row).ok(),
                slots: params,
                host,
            };
            let known = match filters {
                true => filter.holds(&scope),
                false => Some(true),
            };
            let seen = match known {
                Some(false) => return Wants::More,
                Some(true) if scope.row.is_some() => see(&scope),
                _ => Seen::Hard,
            };
            match seen {
                Seen::Done => Wants::More,
                Seen::Hard => {
                    let copy = Bytes::copy_from_slice;
                    hard = Some((copy(key), copy(row), known == Some(true)));
                    Wants::NoMore
                }
            }
        });
        let more = more.map_err(|e| env.halt(e, &access.table.name))?;
        match more {
            true if !last.is_empty() => self.note(&Bytes::from(last), env),
            true => {}
            false => self.note_end(env),
        }
        Ok(match hard {
            Some((key, row, passed)) => Shown::Hard { key, row, passed },
            None => Shown::More,
        })
    }

    /// The next row's key and bytes.
    pub fn next(
        &mut self,
        access: &Access,
        env: &mut Env<'_>,
    ) -> Result<Option<(Bytes, Bytes)>, Halt> {
        let table = &access.table;
        while let Some(search) = &mut self.search {
            let Some(key) = search.next(env, &table.name)? else {
                return Ok(None);
            };
            if let Some(row) = self.row_of_entry(access, &key, env)? {
                return Ok(Some((key, row)));
            }
        }
        let (space, entries) = match &access.path {
            Path::Index(number, _) => (table.indexes[*number].space, true),
            Path::Full | Path::Primary(_) | Path::Elements(..) => (table.space, false),
        };
        let direction = direction_of(access);
        while let Some(range) = self.ranges.get(self.at) {
            let found = match (&range.lower, self.points) {
                (Bound::Included(key), true) => {
                    self.at += 1;
                    let value = env
                        .txn
                        .get(space, key)
                        .map_err(|e| env.halt(e, &table.name))?;
                    value.map(|value| (key.clone(), value))
                }
                _ => {
                    if self.scan.is_none() {
                        let scan = env.txn.scan(space, range, direction);
                        self.scan = Some(scan.map_err(|e| env.halt(e, &table.name))?);
                    }
                    let scan = self.scan.as_mut().expect("just opened");
                    let found = scan.next(env.txn).map_err(|e| env.halt(e, &table.name))?;
                    if found.is_none() {
                        self.scan = None;
                        self.at += 1;
                    }
                    found
                }
            };
            env.tick()?;
            let Some((key, value)) = found else {
                continue;
            };
            if !self.points
                && self.ranges[..self.at]
                    .iter()
                    .any(|before| before.contains(&key))
            {
                continue;
            }
            if !entries {
                return Ok(Some((key, value)));
            }
            if let Some(row) = self.row_of_entry(access, &value, env)? {
                return Ok(Some((value, row)));
            }
        }
        Ok(None)
    }

    /// The row that an entry names, if it is still there.
    fn row_of_entry(
        &self,
        access: &Access,
        key: &Bytes,
        env: &mut Env<'_>,
    ) -> Result<Option<Bytes>, Halt> {
        let table = &access.table;
        let row = env.txn.get(table.space, key);
        let row = row.map_err(|e| env.halt(e, &table.name))?;
        // A cursor that stayed open while its transaction went on reads rows at a newer
        // snapshot than entries, or sees rows that the transaction has removed since.
        if row.is_none() && self.snapshot == env.txn.snapshot() && !env.txn.has_writes() {
            return Err(lost_row(access).into());
        }
        Ok(row)
    }
}

impl Batch {
    pub fn clear(&mut self) {
        self.values.clear();
        self.passed.clear();
        self.ends.clear();
        self.keys = Bytes::new();
        self.at = 0;
        self.failed = None;
        self.then = Then::Nothing;
    }

    pub fn is_empty(&self) -> bool {
        self.at == self.passed.len() && self.failed.is_none() && self.then == Then::Nothing
    }

    /// The next row, and whether the filter has let it through; `None`: there are no more.
    pub fn next(
        &mut self,
        access: &Access,
        ranges: &mut Ranges,
        env: &mut Env<'_>,
        (frame, base): (&mut Vec<Value>, usize),
    ) -> Result<Option<bool>, Halt> {
        let Some(passed) = self.passed.get(self.at).copied() else {
            if let Some(error) = self.failed.take() {
                return Err(error.into());
            }
            if std::mem::take(&mut self.then) == Then::End {
                ranges.note_end(env);
            }
            return Ok(None);
        };
        let width = access.table.columns.len();
        let numbered = access.table.primary_key.is_none();
        let each = self.columns.len() + usize::from(numbered);
        // Of a row that is still there, only these columns are not NULL.
        frame.resize_with(base + width, Value::default);
        let values = &mut self.values[self.at * each..(self.at + 1) * each];
        for (value, column) in values.iter_mut().zip(&self.columns) {
            frame[base + column] = std::mem::take(value);
        }
        if numbered && let Some(number) = values.last_mut() {
            frame.push(std::mem::take(number));
        }
        if let Some(end) = self.ends.get(self.at) {
            let from = self.at.checked_sub(1).map_or(0, |before| self.ends[before]);
            ranges.note(&self.keys.slice(from..*end), env);
        }
        self.at += 1;
        Ok(Some(passed))
    }
}

fn direction_of(access: &Access) -> Direction {
    match access.reverse {
        true => Direction::Backward,
        false => Direction::Forward,
    }
}

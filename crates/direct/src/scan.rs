//! Rows of one table by one access path.
//!
//! Relies on: `keys` for ranges, `tc` for reads at the snapshot.  Promises: each row of the path
//! once, also where its ranges overlap; a path that names one row costs one look-up.
//! Does not: see changes that the transaction makes behind the place it has reached.
//!
//! ```text
//!   Fresh ──one point──► get ─────────────────────────────► Done
//!     └──ranges──► Open: range 0 ─ scan ─ end ─► range 1 … ──► Done
//!                        entry ─► row key ─► get
//! ```
//!
//! Ranges of rows (not of entries) are shown where they lie, a chunk at a time: what a filter or whoever reads the rows
//! does not want never becomes a value. What is wanted is copied out, column by column as far as somebody looks at
//! them, and given row by row ([`ScanCursor::next`]); or it is looked at right there ([`ScanCursor::show`]). A row
//! counts as read when it has been given.
//!
//! Hot path: the single point. No allocation there but the row's own. And rows that a filter drops.

use crate::context::{Env, Halt};
use crate::keys::KeyColumns;
use crate::rows::{push_columns, push_row};
use crate::sieve::{Probe, Sieve};
use quintet_base::{Bytes, SqlError, SqlState, Timestamp, Value};
use quintet_dc::{Direction, KeyRange as StoreRange};
use quintet_ir::formula::{Formula, Scope};
use quintet_ir::{Access, Expr, KeyRange, Path};
use quintet_tc::{Scan, Wants};
use std::collections::HashSet;
use std::ops::Bound;

/// Rows after which it pays to settle a filter.
const ROWS_BEFORE_SIEVE: usize = 8;

/// Bytes of rows that are copied out of one chunk, roughly; values of them may take more.
const COPIED_BYTES_MAX: usize = 256 * 1024;

/// Where a scan has come to.
#[derive(Default)]
pub(crate) struct ScanCursor {
    phase: Phase,
    filter: Filter,
    batch: Batch,
    /// How long the frame was with the row in it that the batch gave last: it is still there if nothing else was given
    /// since, and only the columns that are looked at change.
    placed: Option<usize>,
}

/// How a filter is asked over stored rows.
#[derive(Default)]
enum Filter {
    /// Not at all yet.
    #[default]
    Unmade,
    /// It has no form for that, or there is none.
    None,
    /// As long as there are few rows.
    Formula(Box<Formula>),
    Sieve(Box<Sieve>),
}

#[derive(Default)]
enum Phase {
    #[default]
    Fresh,
    Open(Box<Ranges>),
    Done,
}

/// Ranges being read one after the other.
struct Ranges {
    ranges: Vec<StoreRange>,
    at: usize,
    scan: Option<Scan>,
    /// All ranges are single keys, and no two of them the same.
    points: bool,
    snapshot: Timestamp,
    /// Rows that have been shown.
    shown: usize,
}

/// Rows of a chunk that have been copied out.
#[derive(Default)]
struct Batch {
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

/// What whoever is shown rows says of one.
pub(crate) enum Seen {
    /// It has been dealt with.
    Done,
    /// It is wanted as values: see [`Shown::Hard`].
    Hard,
}

/// How far [`ScanCursor::show`] has come.
pub(crate) enum Shown {
    /// There may be more.
    More,
    /// This row, with its key, is wanted as values; the filter has let it through if so said. There may be more.
    Hard {
        key: Bytes,
        row: Bytes,
        passed: bool,
    },
    /// That was all.
    End,
}

impl ScanCursor {
    pub fn rewind(&mut self) {
        self.phase = Phase::Fresh;
        self.batch.clear();
        self.placed = None;
    }

    /// See [`crate::cursor::Cursor::next`].
    pub fn next(
        &mut self,
        access: &Access,
        env: &mut Env<'_>,
        frame: &mut Vec<Value>,
        base: usize,
    ) -> Result<bool, Halt> {
        self.next_filtered(access, access.filter.as_ref(), env, frame, base)
    }

    /// The next row of the path that passes `filter`, which takes the place of the access's own.
    pub fn next_filtered(
        &mut self,
        access: &Access,
        filter: Option<&Expr>,
        env: &mut Env<'_>,
        frame: &mut Vec<Value>,
        base: usize,
    ) -> Result<bool, Halt> {
        self.next_met(access, filter, None, env, frame, base)
    }

    /// The next row that passes the access's filter; of those that do not meet `probe` some may be left out.
    pub fn next_probed(
        &mut self,
        access: &Access,
        probe: &Probe<'_>,
        env: &mut Env<'_>,
        frame: &mut Vec<Value>,
        base: usize,
    ) -> Result<bool, Halt> {
        self.next_met(
            access,
            access.filter.as_ref(),
            Some(probe),
            env,
            frame,
            base,
        )
    }

    fn next_met(
        &mut self,
        access: &Access,
        filter: Option<&Expr>,
        probe: Option<&Probe<'_>>,
        env: &mut Env<'_>,
        frame: &mut Vec<Value>,
        base: usize,
    ) -> Result<bool, Halt> {
        loop {
            let placed = self.placed.take().is_some_and(|len| len == frame.len());
            if !placed {
                frame.truncate(base);
            }
            let found = match &mut self.phase {
                Phase::Done => return Ok(false),
                Phase::Fresh => match looked_up(access) {
                    Some((columns, range)) => {
                        self.phase = Phase::Done;
                        read_point(access, columns, range, env, frame)?
                    }
                    None => {
                        let open = Ranges::open(access, env, &frame[..base])?;
                        self.phase = Phase::Open(Box::new(open));
                        continue;
                    }
                },
                Phase::Open(ranges) if ranges.are_shown(access) => {
                    match self.batch.next(access, ranges, env, (frame, base))? {
                        Some(passed) => {
                            self.placed = Some(frame.len());
                            if passed {
                                return Ok(true);
                            }
                            true
                        }
                        None => {
                            self.filter.make(filter, access, ranges.shown, env);
                            let filter = (&self.filter, filter.is_some());
                            if ranges.copy(access, filter, probe, &mut self.batch, env)? {
                                self.placed = placed.then_some(frame.len());
                                continue;
                            }
                            frame.truncate(base);
                            self.phase = Phase::Done;
                            return Ok(false);
                        }
                    }
                }
                Phase::Open(ranges) => match ranges.next(access, env)? {
                    Some((key, row)) => {
                        self.filter.make(filter, access, 0, env);
                        let known = match &self.filter {
                            Filter::Unmade | Filter::None => None,
                            filter => {
                                let scope = Scope {
                                    row: access.table.layout.open(&row).ok(),
                                    slots: env.params,
                                    host: env.host,
                                };
                                filter.holds(&scope)
                            }
                        };
                        if known == Some(false) {
                            continue;
                        }
                        push(access, env, &key, &row, frame)?;
                        if known == Some(true) {
                            return Ok(true);
                        }
                        true
                    }
                    None => {
                        self.phase = Phase::Done;
                        return Ok(false);
                    }
                },
            };
            env.tick()?;
            if found && filter.map_or(Ok(true), |filter| env.holds_plain(filter, frame))? {
                return Ok(true);
            }
        }
    }

    /// Shows the rows of a chunk that the filter lets through to `see`, where they lie. Of a path of which that cannot
    /// be said, and of rows that have been copied out already, `None`: [`ScanCursor::next`] gives them.
    pub fn show(
        &mut self,
        access: &Access,
        env: &mut Env<'_>,
        outer: &[Value],
        see: &mut dyn FnMut(&Scope<'_>) -> Seen,
    ) -> Result<Option<Shown>, Halt> {
        if let Phase::Fresh = self.phase
            && looked_up(access).is_none()
        {
            self.phase = Phase::Open(Box::new(Ranges::open(access, env, outer)?));
        }
        self.placed = None;
        let Phase::Open(ranges) = &mut self.phase else {
            return Ok(None);
        };
        if !ranges.are_shown(access) || !self.batch.is_empty() {
            return Ok(None);
        }
        let filter = access.filter.as_ref();
        self.filter.make(filter, access, usize::MAX, env);
        let shown = ranges.show(access, (&self.filter, filter.is_some()), env, see)?;
        if let Shown::End = shown {
            self.phase = Phase::Done;
        }
        Ok(Some(shown))
    }
}

impl Filter {
    /// After so many rows.
    fn make(&mut self, filter: Option<&Expr>, access: &Access, rows: usize, env: &Env<'_>) {
        let settles = rows >= ROWS_BEFORE_SIEVE;
        match self {
            Filter::Unmade => {}
            Filter::Formula(_) | Filter::None if settles && filter.is_some() => {}
            _ => return,
        }
        *self = match filter {
            None => Filter::None,
            Some(filter) if settles => {
                Filter::Sieve(Box::new(Sieve::new(filter, access, (env.params, env.host))))
            }
            Some(filter) => match formula_of(filter, access) {
                Some(formula) => Filter::Formula(Box::new(formula)),
                None => Filter::None,
            },
        };
    }

    /// Whether a row is let through; `None`: the filter has to be evaluated.
    #[inline]
    fn holds(&self, scope: &Scope<'_>) -> Option<bool> {
        scope.row?;
        match self {
            Filter::Unmade | Filter::None => None,
            Filter::Formula(formula) => formula.holds(scope),
            Filter::Sieve(sieve) => sieve.holds(scope),
        }
    }
}

impl Batch {
    fn clear(&mut self) {
        self.values.clear();
        self.passed.clear();
        self.ends.clear();
        self.keys = Bytes::new();
        self.at = 0;
        self.failed = None;
        self.then = Then::Nothing;
    }

    fn is_empty(&self) -> bool {
        self.at == self.passed.len() && self.failed.is_none() && self.then == Then::Nothing
    }

    /// The next row, and whether the filter has let it through; `None`: there are no more.
    fn next(
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

/// The formula of a filter over the rows of a table.
fn formula_of(filter: &Expr, access: &Access) -> Option<Formula> {
    let width = access.table.columns.len();
    let columns: Vec<usize> = (0..access.offset)
        .map(|_| usize::MAX)
        .chain(0..width)
        .collect();
    Formula::new(filter, Some((&access.table, &columns)))
}

/// The key columns of the access path.
fn columns_of(access: &Access) -> KeyColumns<'_> {
    match &access.path {
        Path::Full | Path::Primary(_) => KeyColumns::Row(&access.table),
        Path::Index(number, _) => KeyColumns::Entry(&access.table, &access.table.indexes[*number]),
    }
}

/// The key of the one row that the access names, if it names one, perhaps by an outer frame.
pub(crate) fn looked_up(access: &Access) -> Option<(KeyColumns<'_>, &KeyRange)> {
    let (Path::Primary(ranges) | Path::Index(_, ranges)) = &access.path else {
        return None;
    };
    let [range] = ranges.as_slice() else {
        return None;
    };
    let columns = columns_of(access);
    columns.is_point(range).then_some((columns, range))
}

/// The row key that the access names, if it names exactly one row of the table by its key and needs
/// no outer frame for that. Appended to `out`; false if a NULL in it means that there is no row.
pub(crate) fn primary_point(
    access: &Access,
    env: &Env<'_>,
    out: &mut Vec<u8>,
) -> Option<Result<bool, Halt>> {
    match looked_up(access)? {
        (columns @ KeyColumns::Row(_), range) => {
            Some(columns.push_equal(range, env, &[], out).map_err(Halt::from))
        }
        _ => None,
    }
}

fn read_point(
    access: &Access,
    columns: KeyColumns<'_>,
    range: &KeyRange,
    env: &mut Env<'_>,
    frame: &mut Vec<Value>,
) -> Result<bool, Halt> {
    let mut key = std::mem::take(&mut env.workspace.key);
    key.clear();
    let result = (|| {
        if !columns.push_equal(range, env, frame, &mut key)? {
            return Ok(false);
        }
        let table = &access.table;
        if let KeyColumns::Entry(_, index) = columns {
            let Some(row_key) = env
                .txn
                .get(index.space, &key)
                .map_err(|e| env.halt(e, &table.name))?
            else {
                return Ok(false);
            };
            key.clear();
            key.extend_from_slice(&row_key);
        }
        let needed = needed(access, env);
        let found = env.txn.read(table.space, &key, |row| {
            let pushed = row.map(|row| push_row(table, needed, &key, row, frame));
            pushed.transpose()
        });
        match found.map_err(|e| env.halt(e, &table.name))?? {
            Some(()) => Ok(true),
            None if matches!(columns, KeyColumns::Entry(..)) => Err(lost_row(access).into()),
            None => Ok(false),
        }
    })();
    env.workspace.key = key;
    result
}

fn push(
    access: &Access,
    env: &Env<'_>,
    key: &[u8],
    row: &[u8],
    frame: &mut Vec<Value>,
) -> Result<(), Halt> {
    let needed = needed(access, env);
    Ok(push_row(&access.table, needed, key, row, frame)?)
}

fn direction_of(access: &Access) -> Direction {
    match access.reverse {
        true => Direction::Backward,
        false => Direction::Forward,
    }
}

/// The columns that somebody looks at; `None`: all.
fn needed<'a>(access: &'a Access, env: &Env<'_>) -> Option<&'a [bool]> {
    match env.whole_rows {
        true => None,
        false => access.needed.as_deref(),
    }
}

/// An entry and its row are written by one commit and read at one snapshot.
fn lost_row(access: &Access) -> SqlError {
    SqlError::new(
        SqlState::DATA_CORRUPTED,
        format!(
            "an index of table \"{}\" names a row that is not there",
            access.table.name
        ),
    )
}

impl Ranges {
    fn open(access: &Access, env: &Env<'_>, outer: &[Value]) -> Result<Ranges, Halt> {
        let columns = columns_of(access);
        let mut ranges = Vec::new();
        let mut points = false;
        match &access.path {
            Path::Full => ranges.push(StoreRange::all()),
            Path::Primary(list) | Path::Index(_, list) => {
                points = list.iter().all(|range| columns.is_point(range));
                for range in list {
                    ranges.extend(columns.range(range, env, outer)?);
                }
            }
        }
        if points && ranges.len() > 1 {
            let mut seen = HashSet::new();
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
            shown: 0,
        })
    }

    /// Whether rows can be shown where they lie: they are neither named one by one, nor by entries.
    fn are_shown(&self, access: &Access) -> bool {
        !self.points && !matches!(access.path, Path::Index(..))
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
    fn copy(
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
    fn show(
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
    fn next(&mut self, access: &Access, env: &mut Env<'_>) -> Result<Option<(Bytes, Bytes)>, Halt> {
        let table = &access.table;
        let (space, entries) = match &access.path {
            Path::Index(number, _) => (table.indexes[*number].space, true),
            Path::Full | Path::Primary(_) => (table.space, false),
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
            match env
                .txn
                .get(table.space, &value)
                .map_err(|e| env.halt(e, &table.name))?
            {
                Some(row) => return Ok(Some((value, row))),
                // A cursor that stayed open while its transaction went on reads rows at a newer
                // snapshot than entries, or sees rows that the transaction has removed since.
                None if self.snapshot != env.txn.snapshot() || env.txn.has_writes() => {}
                None => return Err(lost_row(access).into()),
            }
        }
        Ok(None)
    }
}

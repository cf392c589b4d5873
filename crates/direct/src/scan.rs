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
//! Where a filter has a formula, rows that it does not let through never become values.
//!
//! Hot path: the single point. No allocation there but the row's own.

use crate::context::{Env, Halt};
use crate::keys::KeyColumns;
use crate::rows::push_row;
use quintet_base::{Bytes, SqlError, SqlState, Timestamp, Value};
use quintet_dc::{Direction, KeyRange as StoreRange};
use quintet_ir::formula::{Formula, Scope};
use quintet_ir::{Access, Expr, KeyRange, Path};
use quintet_tc::Scan;
use std::collections::HashSet;
use std::ops::Bound;

/// Where a scan has come to.
#[derive(Default)]
pub(crate) struct ScanCursor {
    phase: Phase,
    /// Of the access's filter, if it has one; made when the first row of a range is there.
    formula: Option<Option<Formula>>,
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
}

impl ScanCursor {
    pub fn rewind(&mut self) {
        self.phase = Phase::Fresh;
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
        loop {
            frame.truncate(base);
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
                Phase::Open(ranges) => match ranges.next(access, env)? {
                    Some((key, row)) => {
                        let formula = filter.and_then(|filter| {
                            let made = || formula_of(filter, access);
                            self.formula.get_or_insert_with(made).as_ref()
                        });
                        let known = formula.and_then(|formula| {
                            formula.holds(&Scope {
                                row: Some(access.table.layout.open(&row).ok()?),
                                slots: env.params,
                                host: env.host,
                            })
                        });
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
        })
    }

    /// The next row's key and bytes.
    fn next(&mut self, access: &Access, env: &mut Env<'_>) -> Result<Option<(Bytes, Bytes)>, Halt> {
        let table = &access.table;
        let (space, entries) = match &access.path {
            Path::Index(number, _) => (table.indexes[*number].space, true),
            Path::Full | Path::Primary(_) => (table.space, false),
        };
        let direction = if access.reverse {
            Direction::Backward
        } else {
            Direction::Forward
        };
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

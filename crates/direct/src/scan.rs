//! Rows of one table by one access path.
//!
//! Relies on: `keys` for ranges, `tc` for reads at the snapshot.  Promises: each row of the path
//! once, also where its ranges overlap; a path that names one row costs one look-up.
//! Does not: see changes that the transaction makes behind the place it has reached.
//!
//! ```text
//!   Fresh ──one point──► get ─────────────────────────────► Done
//!     └──ranges──► Open: range 0 ─ scan ─ end ─► range 1 … ──► Done
//!                        entry ─► row key ─► get                (of inverted indexes: `found`)
//! ```
//!
//! Ranges of rows (not of entries) are shown where they lie, a chunk at a time: what a filter or whoever reads the rows
//! does not want never becomes a value. What is wanted is copied out, column by column as far as somebody looks at
//! them, and given row by row ([`ScanCursor::next`]); or it is looked at right there ([`ScanCursor::show`]). A row
//! counts as read when it has been given.
//!
//! Hot path: the single point. No allocation there but the row's own. And rows that a filter drops.

mod found;
mod ranges;

use crate::context::{Env, Halt};
use crate::keys::KeyColumns;
use crate::rows::push_row;
use crate::sieve::{Probe, Sieve};
use quintet_base::{Bytes, SqlError, SqlState, Value};
use quintet_ir::formula::{Formula, Scope};
use quintet_ir::{Access, Expr, KeyRange, Path};
use ranges::{Batch, Ranges};

/// Rows after which it pays to settle a filter.
const ROWS_BEFORE_SIEVE: usize = 8;

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
        Path::Full | Path::Primary(_) | Path::Elements(..) => KeyColumns::Row(&access.table),
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

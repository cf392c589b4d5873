//! Tables, rows, procedures and checks of a workload on a database.
//!
//! Relies on: `system`, `workloads`.  Promises: a check that fails says which and shows a row.
//! Does not: keep rows that were there: loading begins by dropping the workload's tables.

use crate::Error;
use crate::calls::State;
use crate::system::{Connection, Failure, TextRows};
use quintet_workloads::{Check, Expected, Workload};

/// PostgreSQL leaves it to some roles, and otherwise does it by itself some time.
const NOT_ALLOWED: State = *b"42501";

/// Rows of one violation's message.
const ROWS_SHOWN: usize = 3;

/// What counting checks said at one moment, in the order of the workload's checks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts(Vec<i64>);

/// Drops the tables and makes them anew, with their first rows. `progress` is called with the pieces
/// loaded so far.
///
/// # Errors
/// What the database refuses.
pub async fn load<C: Connection>(
    connection: &mut C,
    workload: &dyn Workload,
    progress: &mut dyn FnMut(u32),
) -> Result<(), Error> {
    let said = |doing: &str, result: Result<(), Failure>| {
        result.map_err(|failure| failure.into_error(doing.to_owned()))
    };
    said("dropping", connection.run(&workload.drop_text()).await?)?;
    said("the schema", connection.run(workload.schema()).await?)?;
    for number in 0..workload.pieces() {
        let piece = workload.piece(number);
        let copied = connection.copy(&piece).await?;
        said(&format!("loading {}", piece.table.name), copied)?;
        progress(number + 1);
    }
    // Statistics for whoever plans by them; the tables' pages are settled before anybody measures.
    said("VACUUM", connection.run("VACUUM ANALYZE").await?)?;
    // Nor is the writing of what was loaded to be measured with what comes after.
    match connection.run("CHECKPOINT").await? {
        Err(failure) if failure.state == NOT_ALLOWED => Ok(()),
        result => said("CHECKPOINT", result),
    }
}

/// Makes the procedures, or makes them anew.
///
/// # Errors
/// What the database refuses.
pub async fn install<C: Connection>(
    connection: &mut C,
    workload: &dyn Workload,
) -> Result<(), Error> {
    let made = connection.run(workload.procedure_text()).await?;
    made.map_err(|failure| failure.into_error("the procedures"))
}

/// What a database is checked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment<'a> {
    /// No call has been made since it was loaded.
    Loaded,
    /// Calls have been made before, by whomever.
    Used,
    /// Since these counts, calls have counted so much.
    Ran {
        /// What the check said before.
        before: &'a Counts,
        /// What the committed calls counted since.
        counted: i64,
    },
}

/// Runs the workload's checks; returns what the counting ones say.
///
/// # Errors
/// [`Error::Inconsistent`] for the first that fails.
pub async fn check<C: Connection>(
    connection: &mut C,
    workload: &dyn Workload,
    moment: Moment<'_>,
) -> Result<Counts, Error> {
    let mut counts = Vec::new();
    for check in workload.checks() {
        if check.expected == Expected::NoRowsWhenLoaded && moment != Moment::Loaded {
            continue;
        }
        let rows = connection.query(&check.sql).await?;
        let doing = || format!("check \"{}\"", check.name);
        let rows = rows.map_err(|failure| failure.into_error(doing()))?;
        if check.expected != Expected::GrowsByCounted {
            no_rows(&check, &rows)?;
            continue;
        }
        let number = number(&check, &rows)?;
        if let Moment::Ran { before, counted } = moment {
            let expected = before.0[counts.len()] + counted;
            if number != expected {
                return Err(Error::Inconsistent {
                    check: check.name,
                    found: format!("{number} instead of {expected}"),
                });
            }
        }
        counts.push(number);
    }
    Ok(Counts(counts))
}

/// What the counting checks say, without the others.
///
/// # Errors
/// What the database refuses.
pub async fn count<C: Connection>(
    connection: &mut C,
    workload: &dyn Workload,
) -> Result<Counts, Error> {
    let mut counts = Vec::new();
    for check in workload.checks() {
        if check.expected == Expected::GrowsByCounted {
            let rows = connection.query(&check.sql).await?;
            let rows = rows.map_err(|failure| failure.into_error(check.name))?;
            counts.push(number(&check, &rows)?);
        }
    }
    Ok(Counts(counts))
}

fn no_rows(check: &Check, rows: &TextRows) -> Result<(), Error> {
    if rows.is_empty() {
        return Ok(());
    }
    let shown = rows.iter().take(ROWS_SHOWN).map(|row| {
        let fields = row.iter().map(|field| field.as_deref().unwrap_or("NULL"));
        fields.collect::<Vec<_>>().join(", ")
    });
    let shown: Vec<String> = shown.collect();
    Err(Error::Inconsistent {
        check: check.name,
        found: format!("{} rows: ({})", rows.len(), shown.join("), (")),
    })
}

fn number(check: &Check, rows: &TextRows) -> Result<i64, Error> {
    let field = rows.first().and_then(|row| row.first());
    let number = field.and_then(|field| field.as_deref()?.parse().ok());
    number.ok_or_else(|| Error::Inconsistent {
        check: check.name,
        found: "no number".into(),
    })
}

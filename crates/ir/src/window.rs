//! Window functions: which there are, over which rows of a partition they look.
//!
//! Relies on: `aggregate`, each of which is a window function too.  Promises: PostgreSQL's result types;
//! a frame's bounds as PostgreSQL measures them (`range`).  Does not: sort, or walk partitions.
//!
//! | function | gives | looks at |
//! |---|---|---|
//! | row_number, rank, dense_rank | bigint | the row's place |
//! | percent_rank, cume_dist | double precision | the row's place |
//! | ntile(n) | integer | the row's place |
//! | lag, lead (x [, by [, otherwise]]) | the type of x | another row of the partition |
//! | first_value, last_value (x), nth_value (x, n) | the type of x | the frame |
//! | aggregates | as ever | the frame |

mod range;
mod sliding;

use crate::aggregate::{AggregateFunction, resolve_aggregate};
use crate::cast::common_type;
use crate::expr::Expr;
use crate::function::does_not_exist;
use quintet_base::{SqlError, SqlResult, SqlState, SqlType};
pub use range::{offset_type, within};
pub use sliding::Sliding;

/// Which window function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum WindowFunction {
    RowNumber,
    Rank,
    DenseRank,
    PercentRank,
    CumeDist,
    Ntile,
    Lag,
    Lead,
    FirstValue,
    LastValue,
    NthValue,
    /// An aggregate of the rows in the frame.
    Aggregate(AggregateFunction),
}

/// One window function in a plan.
#[derive(Clone, Debug)]
pub struct WindowCall {
    /// Which.
    pub function: WindowFunction,
    /// Its arguments over the input frame.
    pub args: Vec<Expr>,
    /// FILTER (WHERE …), of an aggregate.
    pub filter: Option<Expr>,
    /// The rows around the current one that it looks at.
    pub frame: WindowFrame,
    /// Type of the result.
    pub ty: SqlType,
}

/// Rows around the current one.
#[derive(Clone, Debug)]
pub struct WindowFrame {
    /// What bounds count.
    pub mode: FrameMode,
    /// The first row.
    pub start: FrameBound,
    /// The last row.
    pub end: FrameBound,
    /// What is left out.
    pub exclusion: Exclusion,
}

/// What the bounds of a frame count.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FrameMode {
    /// Rows.
    Rows,
    /// Differences of the one value that is ordered by.
    Range,
    /// Groups of rows that are equal in the order.
    Groups,
}

/// One end of a frame. Offsets are evaluated once, over the outer frame.
#[derive(Clone, Debug)]
pub enum FrameBound {
    /// Where the partition begins.
    UnboundedPreceding,
    /// So far before the current row.
    Preceding(Expr),
    /// The current row; but for ROWS, with those that are equal in the order.
    CurrentRow,
    /// So far behind the current row.
    Following(Expr),
    /// Where the partition ends.
    UnboundedFollowing,
}

/// What a frame leaves out.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Exclusion {
    /// Nothing.
    Nothing,
    /// The current row.
    CurrentRow,
    /// The current row and those that are equal to it in the order.
    Group,
    /// Those that are equal to the current row in the order, not itself.
    Ties,
}

impl FrameBound {
    /// The offset, if there is one.
    pub fn offset(&self) -> Option<&Expr> {
        match self {
            FrameBound::Preceding(offset) | FrameBound::Following(offset) => Some(offset),
            _ => None,
        }
    }

    /// The bound with another offset.
    pub fn map(&self, change: impl FnOnce(&Expr) -> Expr) -> FrameBound {
        match self {
            FrameBound::Preceding(offset) => FrameBound::Preceding(change(offset)),
            FrameBound::Following(offset) => FrameBound::Following(change(offset)),
            bound => bound.clone(),
        }
    }
}

impl WindowFrame {
    /// What is meant if nothing is said: from the partition's beginning to the last row that is equal to
    /// the current one in the order.
    pub fn usual() -> WindowFrame {
        WindowFrame {
            mode: FrameMode::Range,
            start: FrameBound::UnboundedPreceding,
            end: FrameBound::CurrentRow,
            exclusion: Exclusion::Nothing,
        }
    }

    /// The offsets of its bounds.
    pub fn offsets(&self) -> impl Iterator<Item = &Expr> {
        self.start.offset().into_iter().chain(self.end.offset())
    }
}

impl WindowCall {
    /// Everything that is evaluated over the input frame.
    pub fn exprs(&self) -> impl Iterator<Item = &Expr> {
        self.args.iter().chain(&self.filter)
    }

    /// The call with its expressions changed; offsets, which see the outer frame only, are changed alike.
    pub fn map(&self, mut change: impl FnMut(&Expr) -> Expr) -> WindowCall {
        WindowCall {
            function: self.function,
            args: self.args.iter().map(&mut change).collect(),
            filter: self.filter.as_ref().map(&mut change),
            frame: WindowFrame {
                mode: self.frame.mode,
                start: self.frame.start.map(&mut change),
                end: self.frame.end.map(&mut change),
                exclusion: self.frame.exclusion,
            },
            ty: self.ty,
        }
    }
}

impl WindowFunction {
    /// The name that SQL gives it.
    pub fn name(self) -> &'static str {
        match self {
            WindowFunction::RowNumber => "row_number",
            WindowFunction::Rank => "rank",
            WindowFunction::DenseRank => "dense_rank",
            WindowFunction::PercentRank => "percent_rank",
            WindowFunction::CumeDist => "cume_dist",
            WindowFunction::Ntile => "ntile",
            WindowFunction::Lag => "lag",
            WindowFunction::Lead => "lead",
            WindowFunction::FirstValue => "first_value",
            WindowFunction::LastValue => "last_value",
            WindowFunction::NthValue => "nth_value",
            WindowFunction::Aggregate(function) => function.name(),
        }
    }

    /// The function of a name that is no aggregate's.
    pub fn from_name(name: &str) -> Option<WindowFunction> {
        Some(match name {
            "row_number" => WindowFunction::RowNumber,
            "rank" => WindowFunction::Rank,
            "dense_rank" => WindowFunction::DenseRank,
            "percent_rank" => WindowFunction::PercentRank,
            "cume_dist" => WindowFunction::CumeDist,
            "ntile" => WindowFunction::Ntile,
            "lag" => WindowFunction::Lag,
            "lead" => WindowFunction::Lead,
            "first_value" => WindowFunction::FirstValue,
            "last_value" => WindowFunction::LastValue,
            "nth_value" => WindowFunction::NthValue,
            _ => return None,
        })
    }

    /// How many arguments it may have.
    pub fn arguments(self) -> std::ops::RangeInclusive<usize> {
        match self {
            WindowFunction::RowNumber
            | WindowFunction::Rank
            | WindowFunction::DenseRank
            | WindowFunction::PercentRank
            | WindowFunction::CumeDist => 0..=0,
            WindowFunction::Ntile | WindowFunction::FirstValue | WindowFunction::LastValue => 1..=1,
            WindowFunction::Lag | WindowFunction::Lead => 1..=3,
            WindowFunction::NthValue => 2..=2,
            WindowFunction::Aggregate(function) => function.arguments()..=function.arguments(),
        }
    }

    /// True if a row's result follows from the rows before it and itself.
    pub fn looks_back_only(self) -> bool {
        matches!(
            self,
            WindowFunction::RowNumber | WindowFunction::Rank | WindowFunction::DenseRank
        )
    }
}

/// The window function with this name for these argument types, the types to convert the arguments to,
/// and the type of the result; `None` if the name is no window function's.
///
/// # Errors
/// `42883` if there is none for these types, `42804` where a type cannot be told.
pub fn resolve_window(
    name: &str,
    args: &[SqlType],
) -> Option<SqlResult<(WindowFunction, Vec<SqlType>, SqlType)>> {
    if let Some(found) = resolve_aggregate(name, args) {
        return Some(
            found.map(|(function, params, ty)| (WindowFunction::Aggregate(function), params, ty)),
        );
    }
    let function = WindowFunction::from_name(name)?;
    Some(resolve(function, name, args))
}

fn resolve(
    function: WindowFunction,
    name: &str,
    args: &[SqlType],
) -> SqlResult<(WindowFunction, Vec<SqlType>, SqlType)> {
    let is_int4 = |ty: &SqlType| matches!(ty, SqlType::Int2 | SqlType::Int4 | SqlType::Unknown);
    let wrong = || does_not_exist(name, args);
    if !function.arguments().contains(&args.len()) {
        return Err(wrong());
    }
    let (params, ty) = match function {
        WindowFunction::RowNumber | WindowFunction::Rank | WindowFunction::DenseRank => {
            (vec![], SqlType::Int8)
        }
        WindowFunction::PercentRank | WindowFunction::CumeDist => (vec![], SqlType::Float8),
        WindowFunction::Ntile if args.iter().all(is_int4) => (vec![SqlType::Int4], SqlType::Int4),
        WindowFunction::Ntile => return Err(wrong()),
        _ => {
            let (value, rest) = args.split_first().ok_or_else(wrong)?;
            if !rest.first().is_none_or(is_int4) {
                return Err(wrong());
            }
            let ty = match rest.get(1) {
                Some(otherwise) => common_type(&[*value, *otherwise], name).map_err(|_| wrong())?,
                None if *value == SqlType::Unknown => {
                    return Err(SqlError::new(
                        SqlState::DATATYPE_MISMATCH,
                        "could not determine polymorphic type because input has type unknown",
                    ));
                }
                None => *value,
            };
            let types = [ty, SqlType::Int4, ty];
            (types[..args.len()].to_vec(), ty)
        }
    };
    Ok((function, params, ty))
}

//! Sources of rows.
//!
//! Relies on: `schema`, `expr`.  Promises: a plan is a tree of fixed choices; running it twice on
//! the same snapshot and parameters gives the same rows.  Does not: write anything; writes are
//! statements.
//!
//! ## Frames
//!
//! Every node yields *frames*: flat rows of values. Expressions of a node refer to places in the
//! frame of its input. A scan yields the table's frame ([`crate::TableDef::frame_width`]: all
//! columns, and the hidden row id where there is no primary key); a join yields the outer frame
//! followed by the inner one; a projection or an aggregation starts a new frame.

use crate::aggregate::AggregateCall;
use crate::elements::Sought;
use crate::expr::Expr;
use crate::routine::Callee;
use crate::schema::TableRef;
use crate::window::WindowCall;
use quintet_base::SqlType;

/// A source of rows.
#[derive(Clone, Debug)]
pub enum Plan {
    /// Given rows, evaluated without a frame. One row of no columns stands for "no FROM".
    Values {
        /// The rows.
        rows: Vec<Vec<Expr>>,
        /// Types of the columns.
        types: Vec<SqlType>,
    },
    /// Rows of one table by one access path.
    Scan(Access),
    /// `generate_series(start, stop, step)`: bigint or integer.
    Series {
        /// First value.
        start: Expr,
        /// Bound, inclusive.
        stop: Expr,
        /// Step, not 0.
        step: Expr,
        /// int4 or int8.
        ty: SqlType,
    },
    /// Elements of an array, as `unnest` in FROM.
    Unnest {
        /// An array.
        array: Expr,
    },
    /// Rows of a function of the catalogue in FROM. Its arguments may look at the outer frame.
    Call {
        /// Which.
        callee: Callee,
        /// One per parameter, of its type.
        arguments: Vec<Expr>,
        /// Of the columns.
        types: Vec<SqlType>,
    },
    /// Frames of a plan whose expressions look at what this node hands to them ([`Expr::Outer`]): LATERAL.
    /// The input is complete by itself: its frames begin at 0.
    Lateral {
        /// From where.
        input: Box<Plan>,
        /// Over the outer frame.
        outer: Vec<Expr>,
    },
    /// Frames of the input for which the keys equal the values, in the input's order; a NULL equals nothing.
    /// The input is complete by itself, its frames begin at 0, and it looks at nothing around it: it
    /// is read once in a statement and kept by the keys, however often the node is run. Without keys: all frames.
    Lookup {
        /// From where.
        input: Box<Plan>,
        /// Over the input's own frame.
        keys: Vec<Expr>,
        /// Over the outer frame: as many, of the same types.
        values: Vec<Expr>,
    },
    /// All frames of the input, before the first of them is passed on. What stands above calls
    /// functions, whose statements may change what is read below. A statement with this node or with
    /// a call in it is run whole.
    Hold {
        /// From where.
        input: Box<Plan>,
    },
    /// For each outer frame the inner rows that match. Nested loops: the inner plan's expressions
    /// (its key ranges above all) may refer to the outer frame, which is its frame's prefix: inside
    /// `inner`, a scan's own columns begin at `outer_width`.
    Join {
        /// Drives the loop.
        outer: Box<Plan>,
        /// Run once per outer frame.
        inner: Box<Plan>,
        /// Width of the outer frame.
        outer_width: usize,
        /// Width of the inner frame, for the NULLs of a left join.
        inner_width: usize,
        /// Inner or left.
        kind: JoinKind,
        /// The condition, over the joined frame.
        on: Option<Expr>,
    },
    /// Frames for which the predicate is true.
    Filter {
        /// From where.
        input: Box<Plan>,
        /// A boolean.
        predicate: Expr,
    },
    /// A new frame.
    Project {
        /// From where.
        input: Box<Plan>,
        /// Its columns.
        exprs: Vec<Expr>,
    },
    /// One frame per group: the keys, then the results of the calls. Without keys: one frame always.
    Aggregate {
        /// From where.
        input: Box<Plan>,
        /// GROUP BY.
        keys: Vec<Expr>,
        /// The aggregates.
        calls: Vec<AggregateCall>,
        /// GROUPING SETS: places of the keys that each set groups by, in whose groups the others are NULL. The
        /// set's number (integer) stands behind the calls. Groups of one set come after those of the one
        /// before it. None: all keys, and no number.
        sets: Vec<Vec<usize>>,
    },
    /// Frames with what window functions give behind them. The input is in order: frames of one partition
    /// stand side by side, those of a partition as `order` says.
    Window {
        /// From where.
        input: Box<Plan>,
        /// PARTITION BY.
        partition: Vec<Expr>,
        /// ORDER BY: which frames are equal, and what RANGE measures.
        order: Vec<SortKey>,
        /// The functions.
        calls: Vec<WindowCall>,
    },
    /// Frames that are kept under a number, for every [`Plan::Given`] of that number in `then`. No other node
    /// of the statement has the number.
    With {
        /// The number.
        number: usize,
        /// The frames to keep.
        first: Box<Plan>,
        /// What uses them.
        then: Box<Plan>,
        /// Whether what `then` gives is kept in their place, and so on.
        turns: Turns,
    },
    /// The frames that are kept under a number.
    Given {
        /// The number.
        number: usize,
        /// Of the columns.
        types: Vec<SqlType>,
        /// They are those of a recursion's turn before: others when the plan is run again.
        turning: bool,
    },
    /// Ordered frames.
    Sort {
        /// From where.
        input: Box<Plan>,
        /// Most significant first.
        keys: Vec<SortKey>,
        /// At most this many are needed (a LIMIT above), for a bounded heap.
        top: Option<Box<Expr>>,
    },
    /// Frames without repetition (all columns), first occurrence wins.
    Unique {
        /// From where.
        input: Box<Plan>,
    },
    /// Some of the frames. Expressions are bigint, without a frame; NULL means no bound.
    Limit {
        /// From where.
        input: Box<Plan>,
        /// At most so many.
        limit: Option<Expr>,
        /// After skipping so many.
        offset: Option<Expr>,
        /// WITH TIES: frames that are equal in this to the last one follow it; the input is in this order.
        ties: Vec<SortKey>,
    },
    /// FOR UPDATE/SHARE: locks the rows of these tables, and passes frames on unchanged. Sits above
    /// Sort and below Limit and Project, so that only rows that are returned are locked.
    Lock {
        /// From where.
        input: Box<Plan>,
        /// Which tables' rows.
        targets: Vec<LockTarget>,
    },
    /// All rows of each input in turn (UNION ALL; other set operations put Unique above).
    Append {
        /// The inputs, with equal frames.
        inputs: Vec<Plan>,
    },
}

/// How a join treats outer frames without a match.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum JoinKind {
    /// Drops them.
    Inner,
    /// Keeps them with NULLs.
    Left,
    /// Keeps them with NULLs, and behind all of them the inner frames without a match, with NULLs for the outer
    /// ones. The inner side does not look at the outer frame.
    Full,
}

/// How often what stands behind [`Plan::With`] is run.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Turns {
    /// Once: the frames are those of `then`.
    Once,
    /// Again and again, each turn over the frames of the one before it, until one gives none. The frames are
    /// those of `first`, then those of each turn.
    UntilNothing,
    /// The same, and a frame that was there before is left out.
    UntilNothingNew,
}

/// One ORDER BY key.
#[derive(Clone, Debug)]
pub struct SortKey {
    /// What to order by.
    pub expr: Expr,
    /// DESC.
    pub descending: bool,
    /// NULLS FIRST (PostgreSQL's default for DESC).
    pub nulls_first: bool,
}

/// Which rows FOR UPDATE/SHARE locks.
#[derive(Clone, Debug)]
pub struct LockTarget {
    /// The table.
    pub table: TableRef,
    /// Where its frame begins.
    pub offset: usize,
    /// Exclusive or shared.
    pub strength: LockStrength,
    /// What to do when another holds the lock.
    pub wait: LockWait,
}

/// Strength of a row lock.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LockStrength {
    /// FOR SHARE, FOR KEY SHARE.
    Share,
    /// FOR UPDATE, FOR NO KEY UPDATE.
    Update,
}

/// What FOR UPDATE does when a row is locked by another.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LockWait {
    /// Waits its turn.
    Block,
    /// NOWAIT: error 55P03.
    Refuse,
    /// SKIP LOCKED: leaves the row out.
    Skip,
}

/// Rows of one table.
#[derive(Clone, Debug)]
pub struct Access {
    /// The table.
    pub table: TableRef,
    /// How they are found.
    pub path: Path,
    /// Which of them, over the table's own frame placed at `offset`.
    pub filter: Option<Expr>,
    /// From the end of the range to its beginning.
    pub reverse: bool,
    /// Where the table's frame begins in the frame the expressions see: 0, or the outer width
    /// inside a join.
    pub offset: usize,
    /// Which of the table's columns anybody looks at; the others come out as NULL. `None` = all.
    pub needed: Option<Vec<bool>>,
    /// On the inner side of a join, and where a subquery begins, of a path of one range of equal values: behind so many rows that ask it, all of the table may be read
    /// once and kept, and rows found by hash from then on (see [`Access::whole`]), in any order. `None`: each row asks the path.
    pub kept_after: Option<KeptAfter>,
}

/// When a table that is asked by key is kept whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeptAfter {
    /// Rows that ask before.
    pub asked: u64,
    /// About how many are kept then. Where these would go to a file, each row goes on asking: it would be answered no sooner from there.
    pub rows: u64,
}

/// An access without its keys, and what its rows are found by among all of them.
#[derive(Clone, Debug)]
pub struct Whole {
    /// All rows that the filter lets through.
    pub access: Access,
    /// Of the rows that ask, as the keys were.
    pub outside: Vec<Expr>,
    /// What these equal, over the frame that the access's own expressions see.
    pub own: Vec<Expr>,
}

impl Access {
    /// The same rows by reading all and looking for equal values; `None` where the path says more, or compares otherwise.
    pub fn whole(&self) -> Option<Whole> {
        let (columns, ranges) = match &self.path {
            Path::Primary(ranges) => (self.table.key_columns(), ranges),
            Path::Index(number, ranges) => {
                let index = &self.table.indexes[*number];
                // What a predicate lets into an index is not asked by the filter.
                (!index.partial).then(|| (index.columns.clone(), ranges))?
            }
            Path::Full | Path::Elements(..) => return None,
        };
        let [
            KeyRange {
                equal,
                lower: None,
                upper: None,
            },
        ] = ranges.as_slice()
        else {
            return None;
        };
        let columns = columns.into_iter().take(equal.len());
        let own = columns.map(|column| (column, self.table.frame_type(column)));
        let own: Vec<(usize, SqlType)> = own.collect();
        let is_alike = |((_, ty), expr): (&(usize, SqlType), &Expr)| expr.ty() == *ty;
        // Who reads backwards wants an order.
        if self.reverse || equal.is_empty() || !own.iter().zip(equal).all(is_alike) {
            return None;
        }
        let mut needed = self.needed.clone();
        for (column, _) in &own {
            if let Some(place) = needed.as_mut().and_then(|needed| needed.get_mut(*column)) {
                *place = true;
            }
        }
        let place = |(column, ty): (usize, SqlType)| Expr::Column(self.offset + column, ty);
        Some(Whole {
            access: Access {
                table: TableRef::clone(&self.table),
                path: Path::Full,
                filter: self.filter.clone(),
                reverse: false,
                offset: self.offset,
                needed,
                kept_after: None,
            },
            outside: equal.clone(),
            own: own.into_iter().map(place).collect(),
        })
    }
}

/// How rows are found.
#[derive(Clone, Debug)]
pub enum Path {
    /// Every row, in key order.
    Full,
    /// By the row key (primary key or row id).
    Primary(Vec<KeyRange>),
    /// By a secondary index: number in `TableDef::indexes`.
    Index(usize, Vec<KeyRange>),
    /// By an inverted index: number in `TableDef::indexes`. At least the rows for which all of these conditions are true, and perhaps others:
    /// the filter asks them again. Each once, in key order.
    Elements(usize, Vec<Sought>),
}

/// A contiguous range of keys: equal on a prefix of the key columns, then a bound on the next one.
/// Expressions have the key column's type, text, varchar and name being as good as one another, and see the
/// outer frame only. A NULL in it: no rows.
/// Several ranges of one path (IN lists) are read in the given order; duplicates among them are
/// read once.
#[derive(Clone, Debug, Default)]
pub struct KeyRange {
    /// Equality on the first columns.
    pub equal: Vec<Expr>,
    /// Lower bound on the column after those.
    pub lower: Option<KeyBound>,
    /// Upper bound on the column after those.
    pub upper: Option<KeyBound>,
}

/// One end of a range.
#[derive(Clone, Debug)]
pub struct KeyBound {
    /// The value.
    pub value: Expr,
    /// ≤ or ≥, else < or >.
    pub inclusive: bool,
}

impl Plan {
    /// True if the plan reads at most a handful of rows by key, so that running it inline on a
    /// server thread disturbs nobody.
    pub fn is_short(&self) -> bool {
        match self {
            Plan::Values { rows, .. } => rows.len() <= 64,
            Plan::Scan(access) => access.is_point(),
            Plan::Series { .. }
            | Plan::Unnest { .. }
            | Plan::Call { .. }
            | Plan::Hold { .. }
            | Plan::Lateral { .. }
            | Plan::Lookup { .. } => false,
            Plan::Join { outer, inner, .. } => outer.is_short() && inner.is_short(),
            Plan::Filter { input, predicate } => !predicate.has_subquery() && input.is_short(),
            Plan::Project { input, exprs } => {
                !exprs.iter().any(Expr::has_subquery) && input.is_short()
            }
            Plan::Aggregate { input, .. }
            | Plan::Window { input, .. }
            | Plan::Sort { input, .. }
            | Plan::Unique { input }
            | Plan::Limit { input, .. }
            | Plan::Lock { input, .. } => input.is_short(),
            Plan::With { .. } => false,
            Plan::Given { .. } => true,
            Plan::Append { inputs } => inputs.len() <= 4 && inputs.iter().all(Plan::is_short),
        }
    }

    /// True if nothing of a frame that the plan has given is looked at again by whoever computes the next one: its values may be
    /// taken out of it.
    pub fn gives_frames_away(&self) -> bool {
        match self {
            Plan::Values { .. }
            | Plan::Scan(_)
            | Plan::Project { .. }
            | Plan::Aggregate { .. }
            | Plan::Sort { .. }
            | Plan::Given { .. } => true,
            Plan::Filter { input, .. } | Plan::Limit { input, .. } | Plan::Lock { input, .. } => {
                input.gives_frames_away()
            }
            Plan::Append { inputs } => inputs.iter().all(Plan::gives_frames_away),
            _ => false,
        }
    }

    /// The plans that a plan's own node takes frames from, in the order in which they are run.
    pub fn inputs(&self) -> Vec<&Plan> {
        match self {
            Plan::Values { .. }
            | Plan::Scan(_)
            | Plan::Series { .. }
            | Plan::Unnest { .. }
            | Plan::Call { .. }
            | Plan::Given { .. } => Vec::new(),
            Plan::With { first, then, .. } => vec![first, then],
            Plan::Join { outer, inner, .. } => vec![outer, inner],
            Plan::Hold { input }
            | Plan::Lateral { input, .. }
            | Plan::Lookup { input, .. }
            | Plan::Filter { input, .. }
            | Plan::Project { input, .. }
            | Plan::Aggregate { input, .. }
            | Plan::Window { input, .. }
            | Plan::Sort { input, .. }
            | Plan::Unique { input }
            | Plan::Limit { input, .. }
            | Plan::Lock { input, .. } => vec![input],
            Plan::Append { inputs } => inputs.iter().collect(),
        }
    }

    /// What a subquery's plan reads first, if that is to be kept once many rows have asked it.
    pub fn asked_by_key(&self) -> Option<&Access> {
        match self {
            Plan::Scan(access) => access.kept_after.is_some().then_some(access),
            plan => plan.driving()?.asked_by_key(),
        }
    }

    /// The input whose rows a plan goes through as they come, asking or changing what is behind them; `None` of those that ask it again, or several.
    pub fn driving(&self) -> Option<&Plan> {
        let drives = matches!(
            self,
            Plan::Join { .. }
                | Plan::Filter { .. }
                | Plan::Project { .. }
                | Plan::Aggregate { .. }
                | Plan::Sort { .. }
                | Plan::Unique { .. }
                | Plan::Limit { .. }
        );
        self.inputs().into_iter().next().filter(|_| drives)
    }

    /// Types of a plan's own frame.
    pub fn frame_types(&self) -> Vec<SqlType> {
        match self {
            Plan::Values { types, .. } => types.clone(),
            Plan::Scan(access) => (0..access.table.frame_width())
                .map(|c| access.table.frame_type(c))
                .collect(),
            Plan::Series { ty, .. } => vec![*ty],
            Plan::Unnest { array } => vec![array.ty().element().unwrap_or(SqlType::Unknown)],
            Plan::Call { types, .. } => types.clone(),
            Plan::Join { outer, inner, .. } => {
                let mut types = outer.frame_types();
                types.extend(inner.frame_types());
                types
            }
            Plan::Filter { input, .. }
            | Plan::Sort { input, .. }
            | Plan::Unique { input }
            | Plan::Hold { input }
            | Plan::Lateral { input, .. }
            | Plan::Lookup { input, .. }
            | Plan::Limit { input, .. }
            | Plan::Lock { input, .. } => input.frame_types(),
            Plan::Project { exprs, .. } => exprs.iter().map(Expr::ty).collect(),
            Plan::Aggregate {
                keys, calls, sets, ..
            } => keys
                .iter()
                .map(Expr::ty)
                .chain(calls.iter().map(|call| call.ty))
                .chain((!sets.is_empty()).then_some(SqlType::Int4))
                .collect(),
            Plan::Window { input, calls, .. } => {
                let mut types = input.frame_types();
                types.extend(calls.iter().map(|call| call.ty));
                types
            }
            Plan::With {
                then,
                turns: Turns::Once,
                ..
            } => then.frame_types(),
            Plan::With { first, .. } => first.frame_types(),
            Plan::Given { types, .. } => types.clone(),
            Plan::Append { inputs } => inputs.first().map(Plan::frame_types).unwrap_or_default(),
        }
    }
}

impl Access {
    /// True if every range names at most one row.
    pub fn is_point(&self) -> bool {
        match &self.path {
            Path::Full | Path::Elements(..) => false,
            Path::Primary(ranges) => {
                let width = self.table.key_columns().len();
                ranges.len() <= 64 && ranges.iter().all(|r| r.equal.len() == width)
            }
            Path::Index(number, ranges) => {
                let index = &self.table.indexes[*number];
                index.unique
                    && ranges.len() <= 64
                    && ranges.iter().all(|r| r.equal.len() == index.columns.len())
            }
        }
    }
}

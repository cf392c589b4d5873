//! Tables, indexes and sequences as plans see them: resolved, typed, immutable.
//!
//! Relies on: `base::RowLayout`.  Promises: a `TableDef` is a value; a schema change makes a new
//! one with a higher `revision`.  Does not: persist itself (`sql` keeps the catalogue's records) or
//! hold rows.
//!
//! ## Where rows and entries live
//!
//! | what | space | key | value |
//! |---|---|---|---|
//! | row | `TableDef::space` | primary key columns, or the hidden row id as bigint | all columns, [`RowLayout`] |
//! | entry of a unique index, no NULL in it unless NULLs are equal | `IndexDef::space` | index columns | the row's key |
//! | of a partial index, outside its predicate | none | | |
//! | of an inverted index, one per element | `IndexDef::space` | which column (a byte), the element, then the row's key | the row's key |
//! | entry of an exclusion constraint | `IndexDef::space` | columns that must differ to be let be, the others, then the row's key | the row's key |
//! | entry of a unique index that is looked at late, no NULL in it | `IndexDef::space` | index columns, then the row's key | the row's key |
//! | any other index entry | `IndexDef::space` | index columns, then the row's key | the row's key |
//!
//! Key columns are encoded by `base::key`; `char(n)` without its trailing blanks, because
//! PostgreSQL compares it so.

use crate::elements::Elements;
use crate::expr::Expr;
use crate::expressions::callees;
use crate::partition::Partitions;
use crate::references::References;
use crate::routine::Callee;
use quintet_base::row::RowLayout;
use quintet_base::{IndexId, SequenceId, SpaceId, SqlType, TableId, TypeMod, Value};
use std::sync::Arc;

/// A table.
#[derive(Clone, Debug)]
pub struct TableDef {
    /// Stays for the table's life.
    pub id: TableId,
    /// Counts the changes of its definition.
    pub revision: u64,
    /// Schema name, `public` unless created elsewhere.
    pub schema: String,
    /// Name, folded as PostgreSQL does.
    pub name: String,
    /// Where the rows live now; TRUNCATE and rewrites give a fresh one.
    pub space: SpaceId,
    /// Columns in order; dropped ones keep their place.
    pub columns: Vec<ColumnDef>,
    /// Columns of the primary key, in key order; `None`: rows are kept by a hidden row id.
    pub primary_key: Option<PrimaryKey>,
    /// Secondary indexes.
    pub indexes: Vec<IndexDef>,
    /// CHECK constraints over the table's frame.
    pub checks: Vec<CheckDef>,
    /// How rows are laid out.
    pub layout: RowLayout,
    /// Foreign keys from and to the table, if there are any.
    pub references: Option<Arc<References>>,
    /// How the table is divided, if it is. A definition may stand for one of the partitions, under its name: all else is
    /// the table's.
    pub partitions: Option<Partitions>,
}

/// The primary key of a table.
#[derive(Clone, Debug)]
pub struct PrimaryKey {
    /// Constraint name, for messages.
    pub name: String,
    /// Column numbers in key order.
    pub columns: Vec<usize>,
}

/// A column.
#[derive(Clone, Debug)]
pub struct ColumnDef {
    /// Name.
    pub name: String,
    /// Type.
    pub ty: SqlType,
    /// Modifier, as in `varchar(20)`.
    pub modifier: TypeMod,
    /// NULL is refused.
    pub not_null: bool,
    /// What INSERT puts where nothing was given, already of the column's type; `None` = NULL.
    pub default: Option<Expr>,
    /// What a row written before the column existed reads as; `None` = NULL.
    pub missing: Option<quintet_base::Value>,
    /// GENERATED … AS IDENTITY.
    pub identity: Option<Identity>,
    /// GENERATED ALWAYS AS … STORED: what it is, over the table's frame. Statements compute it where they
    /// write the row; engines store it like any other value.
    pub generated: Option<Expr>,
    /// Dropped: invisible, its place is kept.
    pub dropped: bool,
    /// Made for an index over an expression: a generated column that no statement can name. Its name is the
    /// expression's text.
    pub hidden: bool,
}

/// How an identity column takes values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Identity {
    /// A value given by INSERT is refused without OVERRIDING SYSTEM VALUE.
    Always,
    /// A value given by INSERT wins.
    ByDefault,
}

/// A secondary index.
#[derive(Clone, Debug)]
pub struct IndexDef {
    /// Stays for the index's life.
    pub id: IndexId,
    /// Name.
    pub name: String,
    /// Where the entries live.
    pub space: SpaceId,
    /// Column numbers in key order.
    pub columns: Vec<usize>,
    /// No two rows with equal columns at any time, none of which is NULL; see `nulls_equal`.
    pub unique: bool,
    /// The same, but it is looked at late; `unique` is false then.
    pub late: Option<Late>,
    /// Made by a UNIQUE or EXCLUDE constraint (and dropped only with it).
    pub constraint: bool,
    /// Has a predicate: the first of `columns` is a hidden one, which is TRUE for rows that fulfil it and NULL for
    /// others. Those have no entry, so a unique index does not compare them.
    pub partial: bool,
    /// NULLS NOT DISTINCT: of a unique index, NULL equals NULL.
    pub nulls_equal: bool,
    /// What of each column that was asked for has entries; empty: the index is an ordered one, with one entry per row. An inverted one is
    /// not unique, and its keys are not its columns: it is read by [`crate::Path::Elements`] only.
    pub inverted: Vec<Elements>,
    /// EXCLUDE: which rows may not be beside each other. Such an index is not unique.
    pub excludes: Option<Exclusion>,
}

/// What an EXCLUDE constraint demands: no two rows are equal in the first columns of its index and overlap in the others, which
/// are ranges and multiranges. A row with NULL in one of them may be beside all others.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Exclusion {
    /// How many columns must be equal; that of a predicate is not counted.
    pub equals: usize,
    /// The columns in the order in which they were written.
    pub written: Vec<usize>,
    /// When it is looked at; `None`: row by row.
    pub late: Option<Late>,
}

/// When a unique index that is not looked at row by row is looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Late {
    /// DEFERRABLE: when the statement is over, unless SET CONSTRAINTS says otherwise.
    Statement,
    /// INITIALLY DEFERRED: when the transaction commits, unless SET CONSTRAINTS says otherwise.
    Commit,
}

impl IndexDef {
    /// True if a row has an entry for each of its elements.
    pub fn is_inverted(&self) -> bool {
        !self.inverted.is_empty()
    }

    /// No two rows have equal, non-NULL columns once all is done.
    pub fn is_unique(&self) -> bool {
        self.unique || self.late.is_some()
    }

    /// The columns that were asked for: without the one of a predicate, and as they were written.
    pub fn asked(&self) -> &[usize] {
        match &self.excludes {
            Some(excludes) => &excludes.written,
            None => &self.columns[usize::from(self.partial)..],
        }
    }

    /// What the rows of a partial index fulfil, over the table's frame.
    pub fn predicate<'t>(&self, table: &'t TableDef) -> Option<&'t Expr> {
        if !self.partial {
            return None;
        }
        match table
            .columns
            .get(*self.columns.first()?)?
            .generated
            .as_ref()?
        {
            Expr::Case { branches, .. } => branches.first().map(|(condition, _)| condition),
            _ => None,
        }
    }
}

/// A CHECK constraint.
#[derive(Clone, Debug)]
pub struct CheckDef {
    /// Name.
    pub name: String,
    /// The condition; a row passes unless it is false.
    pub condition: Expr,
    /// As written, for catalogue and messages.
    pub text: String,
    /// Whether every row fulfils it: not those from before a check that came with NOT VALID, until somebody looks.
    pub validated: bool,
    /// Whose it is.
    pub kind: CheckKind,
}

/// Whose a check is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CheckKind {
    /// The table's.
    Own,
    /// It comes with the domain that a column is of, and raises the domain's errors by itself.
    OfDomain,
    /// WITH CHECK OPTION of the view with its name, through which a statement changes the table: it is never NULL, and in
    /// no other definition of the table.
    OfView,
}

/// A sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SequenceDef {
    /// Stays for the sequence's life.
    pub id: SequenceId,
    /// Key of its counter: the same number, until it restarts. Then there is another counter, so that ROLLBACK brings back the one before.
    pub counter: SequenceId,
    /// Schema name.
    pub schema: String,
    /// Name.
    pub name: String,
    /// Type of the values: int2, int4 or int8.
    pub ty: SqlType,
    /// First value.
    pub start: i64,
    /// Step, not 0.
    pub increment: i64,
    /// Smallest value.
    pub min: i64,
    /// Largest value.
    pub max: i64,
    /// Starts over at the end instead of failing.
    pub cycle: bool,
    /// What CACHE said: kept to be shown.
    pub cache: i64,
    /// The column that owns it (SERIAL, identity), dropped together.
    pub owned_by: Option<(TableId, usize)>,
}

impl TableDef {
    /// Shows the functions of the catalogue that defaults, generated columns and checks call.
    pub fn callees<'t>(&'t self, see: &mut dyn FnMut(&'t Callee)) {
        let columns = self.columns.iter().filter(|column| !column.dropped);
        let of_columns = columns.flat_map(|column| column.default.iter().chain(&column.generated));
        let of_checks = self.checks.iter().map(|check| &check.condition);
        for expr in of_columns.chain(of_checks) {
            let mut found = Vec::new();
            callees(expr, &mut found);
            found.into_iter().for_each(&mut *see);
        }
    }

    /// Whether a row that is written may have to call a function.
    pub fn calls_routines(&self) -> bool {
        let mut calls = false;
        self.callees(&mut |_| calls = true);
        calls
    }

    /// The number of the name that the definition has: a partition's own, or the table's.
    pub fn relation(&self) -> TableId {
        let part = self.partitions.as_ref().and_then(Partitions::part);
        part.map_or(self.id, |part| part.id)
    }

    /// Number of values in the table's frame (see [`crate::plan`]): its columns, and the hidden row
    /// id behind them if there is no primary key.
    pub fn frame_width(&self) -> usize {
        self.columns.len() + usize::from(self.primary_key.is_none())
    }

    /// Place of the hidden row id in the frame, if the table has one.
    pub fn rowid_column(&self) -> Option<usize> {
        self.primary_key.is_none().then_some(self.columns.len())
    }

    /// Numbers of the frame's columns that form the row's key, in order.
    pub fn key_columns(&self) -> Vec<usize> {
        match &self.primary_key {
            Some(key) => key.columns.clone(),
            None => vec![self.columns.len()],
        }
    }

    /// Type of a frame column.
    pub fn frame_type(&self, column: usize) -> SqlType {
        self.columns.get(column).map_or(SqlType::Int8, |c| c.ty)
    }

    /// Number of the visible column with this name.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns
            .iter()
            .position(|c| !c.dropped && !c.hidden && c.name == name)
    }

    /// The generated columns that are other ones when these are, hidden ones included, in an order in which they can be
    /// computed: only hidden ones are made of generated ones.
    pub fn generated_from(&self, columns: &[usize]) -> Vec<usize> {
        let mut changed = columns.to_vec();
        for hidden in [false, true] {
            let all = self.columns.iter().enumerate();
            for (number, column) in all.filter(|(_, c)| c.hidden == hidden && !c.dropped) {
                let mut used = Vec::new();
                if let Some(expr) = &column.generated {
                    expr.collect_columns(&mut used);
                }
                if used.iter().any(|column| changed.contains(column)) {
                    changed.push(number);
                }
            }
        }
        changed.split_off(columns.len())
    }

    /// True if it is there for one session only.
    pub fn is_temporary(&self) -> bool {
        self.schema.starts_with("pg_temp_")
    }

    /// True if an index over an expression, or a partial one, is found by a constant in a statement: a parameter in
    /// its place would not do.
    pub fn is_found_by_constants(&self) -> bool {
        fn names_constant(expr: &Expr) -> bool {
            let truth = matches!(expr, Expr::Const(Value::Bool(_) | Value::Null, _));
            let mut found = matches!(expr, Expr::Const(..)) && !truth;
            expr.for_each_part(&mut |part| found = found || names_constant(part));
            found
        }
        let hidden = self.columns.iter().filter(|c| c.hidden && !c.dropped);
        let mut sources = hidden.filter_map(|column| column.generated.as_ref());
        sources.any(names_constant)
    }

    /// True if rows may have equal keys until somebody looks, or may not be beside others.
    pub fn has_late_keys(&self) -> bool {
        let mut indexes = self.indexes.iter();
        indexes.any(|index| index.late.is_some() || index.excludes.is_some())
    }

    /// The checks that are the table's own.
    pub fn own_checks(&self) -> impl Iterator<Item = &CheckDef> {
        self.checks
            .iter()
            .filter(|check| check.kind == CheckKind::Own)
    }

    /// Visible columns with their numbers.
    pub fn visible_columns(&self) -> impl Iterator<Item = (usize, &ColumnDef)> {
        self.columns
            .iter()
            .enumerate()
            .filter(|(_, c)| !c.dropped && !c.hidden)
    }
}

/// How plans share a table.
pub type TableRef = Arc<TableDef>;

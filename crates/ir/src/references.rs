//! Foreign keys as statements see them: which rows must be there for others.
//!
//! Relies on: `schema`.  Promises: all that a change of the first table may have to look at, or to change in
//! turn, is in one value; tables in it have none of their own, so that tables may refer to one another
//! in circles.  Does not: read rows (engines do), or decide what a reference may be between (`sql` does).
//!
//! ```text
//!   child (columns) ──────────► parent (parent_columns: its primary key, or a unique index of it)
//!     a row whose columns are all not NULL needs a row of the parent with equal ones
//! ```
//! A row that changes brings about, when its statement has done all it does:
//!
//! 1. what follows from it: rows that refer to one that is gone go, too, or get other values, and so on;
//! 2. what must hold then: of each row that is new or refers to another row, that the other is there; of each key that is
//!    gone and has not come back, that nobody refers to it.
//!
//! Values are compared as values of the column they are looked for in ([`converted`]).

use crate::schema::{TableDef, TableRef};
use crate::statement::Arbiter;
use quintet_base::numeric::Numeric;
use quintet_base::{ConstraintId, SqlType, Value, text_format};

/// What statements that change a table have to do with foreign keys.
#[derive(Clone, Debug)]
pub struct References {
    /// The table at hand first; then those that are referred to, refer to it, or may change when it does.
    pub tables: Vec<TableRef>,
    /// Between those, in the order in which they were made.
    pub keys: Vec<ForeignKey>,
    /// When what a row brings about is done.
    pub turn: Turn,
}

/// When what a row brings about is done, and what must hold is looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Turn {
    /// When its statement has done all it does.
    #[default]
    AtOnce,
    /// The statement is one of several steps of another: when these are over.
    Kept,
    /// The statement changes nothing: such steps begin.
    Begin,
    /// The same, and they are over.
    End,
}

/// A foreign key.
#[derive(Clone, Debug)]
pub struct ForeignKey {
    /// Its number in the catalogue.
    pub id: ConstraintId,
    /// Of the constraint.
    pub name: String,
    /// Number in [`References::tables`] of the table that refers.
    pub child: usize,
    /// Its columns.
    pub columns: Vec<usize>,
    /// Number in [`References::tables`] of the table that is referred to.
    pub parent: usize,
    /// Its columns, in the order of `columns`.
    pub parent_columns: Vec<usize>,
    /// The key of the parent that has these columns.
    pub target: Arbiter,
    /// MATCH FULL: either all columns are NULL or none.
    pub full: bool,
    /// What becomes of rows that refer to one that goes.
    pub on_delete: ReferentialAction,
    /// What becomes of rows that refer to one whose key changes.
    pub on_update: ReferentialAction,
    /// Columns that ON DELETE SET NULL and SET DEFAULT set; empty: all.
    pub set: Vec<usize>,
    /// What must hold may be put off until the transaction commits.
    pub deferrable: bool,
    /// It is, unless SET CONSTRAINTS says otherwise.
    pub deferred: bool,
}

/// What becomes of a row whose parent goes or changes its key.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ReferentialAction {
    /// Refused, if at the end of the statement the row still refers to nothing.
    NoAction,
    /// Refused, whatever the statement does besides.
    Restrict,
    /// It goes, or changes, too.
    Cascade,
    /// Its columns become NULL.
    SetNull,
    /// Its columns get their defaults.
    SetDefault,
    /// It goes or changes, and triggers wait for that: the statement has steps for it, and when the transaction commits no row may refer
    /// to nothing.
    InSteps,
}

impl References {
    /// Keys by which the table with this number refers to others.
    pub fn from(&self, table: usize) -> impl Iterator<Item = &ForeignKey> {
        self.keys.iter().filter(move |key| key.child == table)
    }

    /// Keys by which others refer to the table with this number.
    pub fn to(&self, table: usize) -> impl Iterator<Item = &ForeignKey> {
        self.keys.iter().filter(move |key| key.parent == table)
    }

    /// True if a change of these columns of the first table may matter to somebody.
    pub fn heeds(&self, columns: impl IntoIterator<Item = usize>) -> bool {
        let heeded = |column| {
            self.from(0).any(|key| key.columns.contains(&column))
                || self.to(0).any(|key| key.parent_columns.contains(&column))
        };
        columns.into_iter().any(heeded)
    }
}

impl ForeignKey {
    /// What a row of the child refers to: values of the parent's columns, in the order of `columns`. `None` if it refers
    /// to nothing, for a NULL; `Some(None)` if to something that cannot be there.
    pub fn sought(&self, parent: &TableDef, row: &[Value]) -> Option<Option<Vec<Value>>> {
        if self.columns.iter().any(|column| row[*column].is_null()) {
            return None;
        }
        let pairs = self.columns.iter().zip(&self.parent_columns);
        let values =
            pairs.map(|(column, target)| converted(&row[*column], parent.columns[*target].ty));
        Some(values.collect())
    }

    /// The columns of the parent's key in its own order, as places in `columns`.
    pub fn key_places(&self, parent: &TableDef) -> Vec<usize> {
        let columns = match self.target {
            Arbiter::Primary => parent.key_columns(),
            Arbiter::Index(number) => parent.indexes[number].columns.clone(),
        };
        let place = |column| self.parent_columns.iter().position(|own| *own == column);
        columns.into_iter().filter_map(place).collect()
    }

    /// MATCH FULL, and some of the columns are NULL, but not all.
    pub fn is_half_null(&self, row: &[Value]) -> bool {
        let nulls = self.columns.iter().filter(|column| row[**column].is_null());
        let nulls = nulls.count();
        self.full && nulls > 0 && nulls < self.columns.len()
    }

    /// What an action sets in a row of the child: columns with their values. `new`: the parent's row as it is now, if
    /// it is still there.
    pub fn assigned(
        &self,
        child: &TableDef,
        new: Option<&[Value]>,
        default: &mut dyn FnMut(usize) -> quintet_base::SqlResult<Value>,
    ) -> quintet_base::SqlResult<Vec<(usize, Value)>> {
        let action = match new {
            Some(_) => self.on_update,
            None => self.on_delete,
        };
        let set = match new {
            None if !self.set.is_empty() => &self.set,
            _ => &self.columns,
        };
        match (action, new) {
            (ReferentialAction::Cascade, Some(new)) => {
                let pairs = self.columns.iter().zip(&self.parent_columns);
                let assign = |(column, from): (&usize, &usize)| {
                    let ty = child.columns[*column].ty;
                    let modifier = child.columns[*column].modifier;
                    let value = converted(&new[*from], ty).ok_or_else(|| {
                        quintet_base::SqlError::new(
                            quintet_base::SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
                            format!("{ty} out of range"),
                        )
                    });
                    let value = text_format::coerce_length(value?, ty, modifier, false)?;
                    Ok((*column, value))
                };
                pairs.map(assign).collect()
            }
            (ReferentialAction::SetDefault, _) => set
                .iter()
                .map(|column| Ok((*column, default(*column)?)))
                .collect(),
            _ => Ok(set.iter().map(|column| (*column, Value::Null)).collect()),
        }
    }
}

/// True if values of these types may be compared by a foreign key: each as a value of the other, if it is one.
pub fn are_comparable(child: SqlType, parent: SqlType) -> bool {
    let ints = [SqlType::Int2, SqlType::Int4, SqlType::Int8];
    let texts = [SqlType::Text, SqlType::Varchar];
    child == parent
        || (ints.contains(&child) && (ints.contains(&parent) || parent == SqlType::Numeric))
        || (texts.contains(&child) && texts.contains(&parent))
}

/// A value as one of another type that it may be compared with; `None`: no value of that type is equal to it.
pub fn converted(value: &Value, ty: SqlType) -> Option<Value> {
    let number = match value {
        Value::Int2(v) => i64::from(*v),
        Value::Int4(v) => i64::from(*v),
        Value::Int8(v) => *v,
        Value::Numeric(v) => match ty {
            SqlType::Int2 | SqlType::Int4 | SqlType::Int8 => {
                v.to_i64().filter(|whole| Numeric::from(*whole) == *v)?
            }
            _ => return Some(value.clone()),
        },
        _ => return Some(value.clone()),
    };
    Some(match ty {
        SqlType::Int2 => Value::Int2(i16::try_from(number).ok()?),
        SqlType::Int4 => Value::Int4(i32::try_from(number).ok()?),
        SqlType::Int8 => Value::Int8(number),
        SqlType::Numeric => Value::Numeric(Numeric::from(number)),
        _ => return None,
    })
}

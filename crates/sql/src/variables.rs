//! Variables in sight of the SQL inside a routine.
//!
//! Relies on: nothing but the routine's slots.  Promises: a name means what PL/pgSQL says: the innermost
//! block that declares it; a block's or the routine's name may stand before it; a record's fields are slots
//! of their own.  Does not: choose between a variable and a column; who looks a name up asks for both.

use crate::plpgsql::TRIGGER_VARIABLES;
use pg_query::protobuf::Node;
use quintet_base::{SqlError, SqlResult, SqlState, SqlType, TypeMod};
use quintet_ir::routine::Slot;
use std::collections::BTreeMap;

/// See the module.
#[derive(Clone, Debug, Default)]
pub(crate) struct Variables {
    /// All slots of the routine so far.
    pub slots: Vec<Slot>,
    /// Their modifiers.
    pub modifiers: Vec<TypeMod>,
    /// The slots that `$n` names, from `$1` on; none for a row.
    pub numbered: Vec<Option<usize>>,
    /// Queries that the routine's statements find as tables, with their names.
    pub tables: Vec<(String, Node)>,
    /// What a name means that is a column's too.
    pub conflict: Conflict,
    /// Slots of variables and parameters that are of a domain, with its number.
    pub domains: BTreeMap<usize, u32>,
    /// The slot of an array whose first element has the number 0: TG_ARGV.
    pub from_zero: Option<usize>,
    /// Rows of a trigger, NEW and OLD, that the function sets to NULL somewhere, with slots that say whether they are; they may be NULL for no.
    pub emptied: BTreeMap<usize, usize>,
    /// Rows are those of a trigger's condition: there are such rows, also where all fields are NULL.
    pub are_there: bool,
    /// The domain that the routine returns.
    pub result_domain: Option<u32>,
    blocks: Vec<Block>,
    /// By a variable's number.
    shapes: Vec<Shape>,
}

/// What a name means that is a variable's and a column's.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Conflict {
    /// Neither: `42702`.
    #[default]
    Error,
    /// The column: LANGUAGE sql, and `#variable_conflict use_column`.
    Column,
    /// The variable: `#variable_conflict use_variable`.
    Variable,
}

#[derive(Clone, Debug)]
struct Block {
    label: Option<String>,
    /// Names with their variables' numbers.
    names: Vec<(String, usize)>,
    /// They are columns of a row of the statement itself: what a subquery brings along is nearer.
    is_row: bool,
}

/// What a variable is.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Shape {
    /// One value.
    Scalar(usize),
    /// A row: names of fields, with their slots.
    Row(Vec<(String, usize)>),
    /// A record that nothing has been assigned to yet.
    Unassigned,
    /// A record that has other fields behind one branch or loop than behind another.
    Doubtful,
}

impl Variables {
    /// A new slot.
    pub fn add_slot(&mut self, slot: Slot, modifier: TypeMod) -> usize {
        self.slots.push(slot);
        self.modifiers.push(modifier);
        self.slots.len() - 1
    }

    /// A slot without a name.
    pub fn hidden(&mut self, ty: SqlType) -> usize {
        self.add_slot(Slot::hidden(ty), TypeMod::NONE)
    }

    /// Types of all slots.
    pub fn types(&self) -> Vec<SqlType> {
        self.slots.iter().map(|slot| slot.ty).collect()
    }

    /// A block begins.
    pub fn enter(&mut self, label: Option<&str>) {
        self.blocks.push(Block {
            label: label.map(str::to_string),
            names: Vec::new(),
            is_row: false,
        });
    }

    /// The innermost block ends.
    pub fn leave(&mut self) {
        self.blocks.pop();
    }

    /// A block with a variable for each of these slots begins; what [`Variables::leave_row`] wants to know.
    pub fn enter_row(&mut self, label: &str, fields: &[(String, usize)]) -> usize {
        let before = self.shapes.len();
        self.enter(Some(label));
        if let Some(block) = self.blocks.last_mut() {
            block.is_row = true;
        }
        for (name, slot) in fields {
            let variable = self.shapes.len();
            self.shapes.push(Shape::Scalar(*slot));
            self.declare(name, variable);
        }
        before
    }

    /// A block with a row variable for each of these, with its fields, begins; what [`Variables::leave_row`] wants to know.
    pub fn enter_rows(&mut self, rows: Vec<(&str, Vec<(String, usize)>)>) -> usize {
        let before = self.shapes.len();
        self.enter(None);
        for (name, fields) in rows {
            let variable = self.shapes.len();
            self.shapes.push(Shape::Row(fields));
            self.declare(name, variable);
        }
        before
    }

    /// That block ends.
    pub fn leave_row(&mut self, before: usize) {
        self.leave();
        self.shapes.truncate(before);
    }

    /// Puts a variable in sight of the innermost block.
    pub fn declare(&mut self, name: &str, variable: usize) {
        if let Some(block) = self.blocks.last_mut() {
            block.names.push((name.to_string(), variable));
        }
    }

    /// What a variable is from here on.
    pub fn reshape(&mut self, variable: usize, shape: Shape) {
        if self.shapes.len() <= variable {
            self.shapes.resize(variable + 1, Shape::Unassigned);
        }
        self.shapes[variable] = shape;
    }

    /// What a variable is now.
    pub fn shape(&self, variable: usize) -> &Shape {
        self.shapes.get(variable).unwrap_or(&Shape::Unassigned)
    }

    /// What this name means if it is a column's too, one of a subquery or of the statement itself.
    pub fn meant(&self, name: &[&str], in_subquery: bool) -> Conflict {
        let (label, name) = match *name {
            [name] => (None, name),
            [label, name] => (Some(label), name),
            _ => return self.conflict,
        };
        let is_it = |block: &&Block| match label {
            Some(_) => block.label.as_deref() == label,
            None => block.names.iter().any(|(known, _)| known == name),
        };
        match self.blocks.iter().rev().find(is_it) {
            Some(block) if block.is_row && in_subquery => Conflict::Column,
            _ => self.conflict,
        }
    }

    /// The slot that a name stands for; none if it is no variable's.
    ///
    /// # Errors
    /// `0A000` for a row as a whole, `55000` for a record without a shape, `42703` for a field that is
    /// not there.
    pub fn resolve(&self, name: &[&str]) -> SqlResult<Option<usize>> {
        match *name {
            [name] => match self.innermost(name) {
                None => Ok(None),
                Some(Shape::Scalar(slot)) => Ok(Some(*slot)),
                Some(Shape::Row(_)) => Err(SqlError::unsupported("a row variable as one value")),
                Some(Shape::Unassigned) => Err(unassigned(name)),
                Some(Shape::Doubtful) => Err(doubtful(name)),
            },
            [first, second] => {
                if let Some(shape) = self.innermost(first)
                    && !matches!(shape, Shape::Scalar(_))
                {
                    return field(shape, first, second).map(Some);
                }
                match self.labelled(first, second) {
                    Some(Shape::Scalar(slot)) => Ok(Some(*slot)),
                    _ => Ok(None),
                }
            }
            [label, name, last] => match self.labelled(label, name) {
                Some(shape @ (Shape::Row(_) | Shape::Unassigned | Shape::Doubtful)) => {
                    field(shape, name, last).map(Some)
                }
                _ => Ok(None),
            },
            _ => Ok(None),
        }
    }

    /// What a name stands for as a whole: a variable, with its block's name before it or without.
    pub fn whole(&self, name: &[&str]) -> Option<&Shape> {
        match *name {
            [name] => self.innermost(name),
            [label, name] => self.labelled(label, name),
            _ => None,
        }
    }

    /// What the innermost variable with a name is.
    pub fn innermost(&self, name: &str) -> Option<&Shape> {
        self.number(name).map(|number| self.shape(number))
    }

    /// Of a trigger's NEW and OLD: for which `TG_OP` there is no such row. `None` of any other variable.
    pub fn absence(&self, name: &str) -> Option<&'static str> {
        let place = |name: &str| TRIGGER_VARIABLES.iter().position(|known| *known == name);
        let number = self.number(name)?;
        let is_told = self.number("tg_op") == place("tg_op");
        match (name, number) {
            _ if !is_told || place(name) != Some(number) => None,
            ("new", _) => Some("DELETE"),
            ("old", _) => Some("INSERT"),
            _ => None,
        }
    }

    /// The number of the innermost variable with a name.
    pub fn number(&self, name: &str) -> Option<usize> {
        let blocks = self.blocks.iter().rev();
        let mut names = blocks.flat_map(|block| block.names.iter().rev());
        names
            .find(|(known, _)| known == name)
            .map(|(_, number)| *number)
    }

    fn labelled(&self, label: &str, name: &str) -> Option<&Shape> {
        let is_it = |block: &&Block| block.label.as_deref() == Some(label);
        let block = self.blocks.iter().rev().find(is_it)?;
        let found = block.names.iter().rev().find(|(known, _)| known == name)?;
        Some(self.shape(found.1))
    }
}

/// The slot of a field.
pub(crate) fn field(shape: &Shape, name: &str, field: &str) -> SqlResult<usize> {
    match shape {
        Shape::Row(fields) => {
            let found = fields.iter().find(|(known, _)| known == field);
            found.map(|(_, slot)| *slot).ok_or_else(|| {
                SqlError::new(
                    SqlState::UNDEFINED_COLUMN,
                    format!("record \"{name}\" has no field \"{field}\""),
                )
            })
        }
        Shape::Doubtful => Err(doubtful(name)),
        _ => Err(unassigned(name)),
    }
}

/// What a record has is not known from the order of the text.
pub(crate) fn doubtful(name: &str) -> SqlError {
    let what = format!("record \"{name}\" with other fields in one branch or loop than in another");
    SqlError::unsupported(what)
}

fn unassigned(name: &str) -> SqlError {
    SqlError::new(
        SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
        format!("record \"{name}\" is not assigned yet"),
    )
    .detail("The tuple structure of a not-yet-assigned record is indeterminate.")
}

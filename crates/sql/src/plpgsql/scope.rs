//! Which variable a name is, at any place.
//!
//! Relies on: the tree, whose blocks are entered and left in the order of the text.  Promises:
//! the answer that PL/pgSQL gives: the innermost variable of that name, `label.name` for one of a
//! block or loop with that label, the routine's own name for its parameters; a name behind a
//! variable without fields is none of it.  Does not: know the columns of queries, which may hide
//! or contest a name.

use super::tree::{Variable, VariableNumber};
#[cfg(test)]
use super::{Block, tree::Declaration};
use super::{Exception, Header};

/// The variables in scope.
#[derive(Clone, Debug)]
pub(crate) struct Scope {
    levels: Vec<Level>,
}

#[derive(Clone, Debug)]
struct Level {
    label: Option<String>,
    names: Vec<(String, VariableNumber)>,
}

/// What a dotted name is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Found {
    /// The variable.
    pub variable: VariableNumber,
    /// How many parts of the name are its name: what follows is a field.
    pub parts: usize,
}

impl Scope {
    /// What is there before a body begins: parameters, by name and by number, and `found`.
    pub(crate) fn of(header: &Header) -> Scope {
        let mut scope = Scope { levels: Vec::new() };
        scope.enter(header.name.last().map(String::as_str));
        for (number, parameter) in header.parameters.iter().enumerate() {
            scope.declare(&format!("${}", number + 1), VariableNumber(number));
            if let Some(name) = &parameter.name {
                scope.declare(name, VariableNumber(number));
            }
        }
        scope.declare("found", VariableNumber(header.parameters.len()));
        scope
    }

    /// Enters a block before its declarations, or a loop.
    pub(crate) fn enter(&mut self, label: Option<&str>) {
        self.levels.push(Level {
            label: label.map(str::to_string),
            names: Vec::new(),
        });
    }

    /// Adds a name to what was entered last.
    pub(crate) fn declare(&mut self, name: &str, variable: VariableNumber) {
        if let Some(level) = self.levels.last_mut() {
            level.names.push((name.to_string(), variable));
        }
    }

    /// Enters a block and adds all that it declares.
    #[cfg(test)]
    pub(crate) fn enter_block(&mut self, block: &Block, variables: &[Variable]) {
        self.enter(block.label.as_deref());
        for declaration in &block.declarations {
            match declaration {
                Declaration::Variable(number) => {
                    self.declare(&variables[number.0].name, *number);
                }
                Declaration::Alias { name, of } => self.declare(name, *of),
            }
        }
    }

    /// Adds what handlers know, after the block's statements and before its handlers.
    pub(crate) fn enter_handlers(&mut self, exception: &Exception) {
        self.declare("sqlstate", exception.sqlstate);
        self.declare("sqlerrm", exception.sqlerrm);
    }

    /// Leaves what was entered last.
    pub(crate) fn leave(&mut self) {
        self.levels.pop();
    }

    /// The variable that a name begins with.
    pub(crate) fn find<N: AsRef<str>>(&self, names: &[N], variables: &[Variable]) -> Option<Found> {
        let first = names.first()?.as_ref();
        let second = names.get(1).map(AsRef::as_ref);
        for level in self.levels.iter().rev() {
            let named = |name: &str, alone: bool| {
                let mut latest_first = level.names.iter().rev();
                latest_first
                    .find(|(own, number)| {
                        own == name
                            && (alone || variables.get(number.0).is_some_and(|it| it.fields))
                    })
                    .map(|(_, number)| *number)
            };
            if let Some(variable) = named(first, second.is_none()) {
                return Some(Found { variable, parts: 1 });
            }
            if level.label.as_deref() == Some(first)
                && let Some(variable) = second.and_then(|second| named(second, names.len() == 2))
            {
                return Some(Found { variable, parts: 2 });
            }
        }
        None
    }
}

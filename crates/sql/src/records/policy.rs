//! Row security of a table, as it is stored.
//!
//! Relies on: `records` for versions and keys.  Promises: a table's policies are one record, by their names; conditions stay the SQL
//! text they were written as, with what they use beside it.  Does not: bind them (`row_security`).

use quintet_base::{RoleId, RoutineId, TableId};
use serde::{Deserialize, Serialize};

/// Row security of a table; none is kept of one that has neither policies nor a flag.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SecurityRecord {
    pub table: TableId,
    /// ENABLE ROW LEVEL SECURITY.
    pub enabled: bool,
    /// FORCE ROW LEVEL SECURITY.
    pub forced: bool,
    /// By their names.
    pub policies: Vec<PolicyRecord>,
}

impl SecurityRecord {
    /// Of a table without any.
    pub fn none(table: TableId) -> SecurityRecord {
        SecurityRecord {
            table,
            enabled: false,
            forced: false,
            policies: Vec::new(),
        }
    }

    /// The policy with this name.
    pub fn policy(&self, name: &str) -> Option<&PolicyRecord> {
        self.policies.iter().find(|policy| policy.name == name)
    }
}

/// A policy. What it uses is what keeps others from going.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct PolicyRecord {
    pub id: u32,
    pub name: String,
    /// As PostgreSQL's catalogue has it: `r`, `a`, `w`, `d`, `*`.
    pub command: char,
    pub permissive: bool,
    /// Whom it is for; [`RoleId::PUBLIC`]: everybody.
    pub roles: Vec<RoleId>,
    /// USING.
    pub using: Option<PolicyText>,
    /// WITH CHECK.
    pub check: Option<PolicyText>,
}

/// A condition of a policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct PolicyText {
    /// The search path it was made with: bare names in it mean what they meant then.
    pub path: String,
    /// SQL text.
    pub text: String,
    /// Tables and views it names, its own among them, with the places of their columns that it names.
    pub uses: Vec<(TableId, Vec<usize>)>,
    pub routines: Vec<RoutineId>,
}

impl PolicyRecord {
    /// Its conditions.
    pub fn texts(&self) -> impl Iterator<Item = &PolicyText> {
        self.using.iter().chain(&self.check)
    }

    /// The same, to be changed.
    pub fn texts_mut(&mut self) -> impl Iterator<Item = &mut PolicyText> {
        self.using.iter_mut().chain(&mut self.check)
    }

    /// Whether a condition names a relation; `column`: this one of its columns.
    pub fn uses(&self, relation: TableId, column: Option<usize>) -> bool {
        self.texts().any(|text| {
            text.uses.iter().any(|(used, columns)| {
                *used == relation && column.is_none_or(|column| columns.contains(&column))
            })
        })
    }
}

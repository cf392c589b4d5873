//! What somebody must be allowed to do before a statement is run.
//!
//! Relies on: `base` for roles.  Promises: a statement's needs are a short list that was made when it was planned, in the
//! order in which PostgreSQL asks; who may do everything is not asked.  Does not: know who has which privilege; the catalogue
//! does, and the session asks it each time the statement begins, so that a REVOKE is in force for the next one.

use quintet_base::RoleId;
use std::fmt;
use std::ops::{BitAnd, BitOr, BitOrAssign, Not};
use std::sync::Arc;

/// A set of privileges, by the bits that PostgreSQL has for them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Privileges(pub u16);

impl Privileges {
    /// None.
    pub const NONE: Privileges = Privileges(0);
    /// INSERT.
    pub const INSERT: Privileges = Privileges(1);
    /// SELECT.
    pub const SELECT: Privileges = Privileges(1 << 1);
    /// UPDATE.
    pub const UPDATE: Privileges = Privileges(1 << 2);
    /// DELETE.
    pub const DELETE: Privileges = Privileges(1 << 3);
    /// TRUNCATE.
    pub const TRUNCATE: Privileges = Privileges(1 << 4);
    /// REFERENCES.
    pub const REFERENCES: Privileges = Privileges(1 << 5);
    /// TRIGGER.
    pub const TRIGGER: Privileges = Privileges(1 << 6);
    /// EXECUTE.
    pub const EXECUTE: Privileges = Privileges(1 << 7);
    /// USAGE.
    pub const USAGE: Privileges = Privileges(1 << 8);
    /// CREATE.
    pub const CREATE: Privileges = Privileges(1 << 9);
    /// TEMPORARY.
    pub const TEMPORARY: Privileges = Privileges(1 << 10);
    /// CONNECT.
    pub const CONNECT: Privileges = Privileges(1 << 11);

    /// Names and letters, in the order in which an item of an access list has them.
    pub const ALL: [(Privileges, &'static str, char); 12] = [
        (Privileges::INSERT, "INSERT", 'a'),
        (Privileges::SELECT, "SELECT", 'r'),
        (Privileges::UPDATE, "UPDATE", 'w'),
        (Privileges::DELETE, "DELETE", 'd'),
        (Privileges::TRUNCATE, "TRUNCATE", 'D'),
        (Privileges::REFERENCES, "REFERENCES", 'x'),
        (Privileges::TRIGGER, "TRIGGER", 't'),
        (Privileges::EXECUTE, "EXECUTE", 'X'),
        (Privileges::USAGE, "USAGE", 'U'),
        (Privileges::CREATE, "CREATE", 'C'),
        (Privileges::TEMPORARY, "TEMPORARY", 'T'),
        (Privileges::CONNECT, "CONNECT", 'c'),
    ];

    /// True if there is none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// True if all of `others` are among these.
    pub fn contains(self, others: Privileges) -> bool {
        self & others == others
    }

    /// How many there are.
    pub fn count(self) -> u32 {
        self.0.count_ones()
    }

    /// The privilege with this name, in any case.
    pub fn named(name: &str) -> Option<Privileges> {
        if name.eq_ignore_ascii_case("TEMP") {
            return Some(Privileges::TEMPORARY);
        }
        let all = Privileges::ALL.iter();
        all.into_iter()
            .find(|(_, known, _)| known.eq_ignore_ascii_case(name))
            .map(|(privilege, ..)| *privilege)
    }
}

impl BitOr for Privileges {
    type Output = Privileges;

    fn bitor(self, other: Privileges) -> Privileges {
        Privileges(self.0 | other.0)
    }
}

impl BitOrAssign for Privileges {
    fn bitor_assign(&mut self, other: Privileges) {
        self.0 |= other.0;
    }
}

impl BitAnd for Privileges {
    type Output = Privileges;

    fn bitand(self, other: Privileges) -> Privileges {
        Privileges(self.0 & other.0)
    }
}

impl Not for Privileges {
    type Output = Privileges;

    fn not(self) -> Privileges {
        Privileges(!self.0)
    }
}

impl fmt::Debug for Privileges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letters = Privileges::ALL.iter();
        letters
            .filter(|(privilege, ..)| self.contains(*privilege))
            .try_for_each(|(.., letter)| write!(f, "{letter}"))
    }
}

/// What an object is, as far as its privileges go.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ObjectKind {
    /// A table, or a view.
    Table,
    /// A sequence.
    Sequence,
    /// A procedure or function.
    Routine,
    /// A schema.
    Schema,
    /// The database.
    Database,
    /// A type or domain that a user made.
    Type,
}

impl ObjectKind {
    /// All of them.
    pub const ALL: [ObjectKind; 6] = [
        ObjectKind::Table,
        ObjectKind::Sequence,
        ObjectKind::Routine,
        ObjectKind::Schema,
        ObjectKind::Database,
        ObjectKind::Type,
    ];
}

/// Something that has an owner. Its number is its own among all kinds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Object {
    /// What it is.
    pub kind: ObjectKind,
    /// Its number in the catalogue.
    pub number: u32,
}

/// How much of an object privileges are needed on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// All of it.
    Whole,
    /// A relation, or any column of it.
    Any,
    /// A relation, or its column with this number, from 1.
    Column(u16),
}

impl Part {
    /// As a number: 0 the whole, the column's, or the greatest for any.
    fn number(self) -> u32 {
        match self {
            Part::Whole => 0,
            Part::Any => u32::MAX,
            Part::Column(number) => u32::from(number),
        }
    }

    fn of_number(number: u32) -> Option<Part> {
        match number {
            0 => Some(Part::Whole),
            u32::MAX => Some(Part::Any),
            number => u16::try_from(number).ok().map(Part::Column),
        }
    }
}

/// What is needed on one object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Need {
    /// Which.
    pub object: Object,
    /// All of these.
    pub privileges: Privileges,
    /// Who must have them: the owner of a view or of a routine that is run with its owner's rights; `None`: who runs the
    /// statement.
    pub role: Option<RoleId>,
    /// On how much of it.
    pub part: Part,
}

impl Need {
    /// Needs as numbers, for an expression that asks for them: kind, number, privileges, role and part of each; role 0: who runs the statement.
    pub fn numbers(needs: &[Need]) -> Vec<u32> {
        let parts = |need: &Need| {
            let Need {
                object,
                privileges,
                role,
                part,
            } = *need;
            let kind = ObjectKind::ALL.iter().position(|kind| *kind == object.kind);
            let role = role.unwrap_or(RoleId::PUBLIC);
            let kind = u32::try_from(kind.unwrap_or(0)).unwrap_or(0);
            let privileges = u32::from(privileges.0);
            [kind, object.number, privileges, role.0, part.number()]
        };
        needs.iter().flat_map(parts).collect()
    }

    /// The needs that are these numbers.
    pub fn of_numbers(numbers: &[u32]) -> Vec<Need> {
        let (all, _) = numbers.as_chunks::<5>();
        let need = |[kind, number, privileges, role, part]: &[u32; 5]| {
            let kind = usize::try_from(*kind).ok();
            Some(Need {
                object: Object {
                    kind: *ObjectKind::ALL.get(kind?)?,
                    number: *number,
                },
                privileges: Privileges(u16::try_from(*privileges).ok()?),
                role: Some(RoleId(*role)).filter(|role| *role != RoleId::PUBLIC),
                part: Part::of_number(*part)?,
            })
        };
        all.iter().filter_map(need).collect()
    }
}

/// All that a statement needs.
pub type Needs = Arc<[Need]>;

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Object { kind, number } = self.object;
        let kind = match kind {
            ObjectKind::Table => "table",
            ObjectKind::Sequence => "sequence",
            ObjectKind::Routine => "routine",
            ObjectKind::Schema => "schema",
            ObjectKind::Database => "database",
            ObjectKind::Type => "type",
        };
        write!(f, "{:?} on {kind} {number}", self.privileges)?;
        match self.part {
            Part::Whole => Ok(()),
            Part::Any => write!(f, ", any column"),
            Part::Column(column) => write!(f, ", column {column}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn needs_are_numbers_and_back() {
        let all: Vec<Need> = (1..)
            .zip(ObjectKind::ALL)
            .map(|(number, kind)| Need {
                object: Object { kind, number },
                privileges: Privileges::SELECT | Privileges::USAGE,
                role: (number % 2 == 0).then_some(RoleId(number)),
                part: [Part::Whole, Part::Any, Part::Column(7)][number as usize % 3],
            })
            .collect();
        assert_eq!(Need::of_numbers(&Need::numbers(&all)), all);
    }

    #[test]
    fn privileges_have_one_name_and_one_letter_each() {
        let mut all = Privileges::NONE;
        for (privilege, name, letter) in Privileges::ALL {
            assert!(!all.contains(privilege), "{name} twice");
            all |= privilege;
            assert_eq!(Privileges::named(&name.to_lowercase()), Some(privilege));
            assert_eq!(format!("{privilege:?}"), letter.to_string());
        }
        assert_eq!(all.count(), 12);
        assert_eq!(Privileges::named("temp"), Some(Privileges::TEMPORARY));
        assert_eq!(Privileges::named("MAINTAIN"), None);
    }
}

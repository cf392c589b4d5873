//! Which privileges a statement needs, gathered while it is planned.
//!
//! Relies on: whoever binds a name says so here.  Promises: what is needed on one object stands together, in the order in which PostgreSQL
//! asks.  Does not: ask whether a role has them (`access`), which is done when the statement runs.

use super::Planner;
use crate::ddl::table_object;
use quintet_base::{RoleId, RoutineId, SqlResult, TableId};
use quintet_ir::{Need, Needs, Object, ObjectKind, Part, Privileges};

impl Planner<'_> {
    /// The statement needs privileges on an object.
    pub fn need(&self, object: Object, privileges: Privileges) {
        self.need_part(object, privileges, Part::Whole);
    }

    /// The statement needs privileges on a part of an object. What is needed on one stands together.
    pub fn need_part(&self, object: Object, privileges: Privileges, part: Part) {
        // Its routines ask by themselves.
        if self.is_of_large_objects() {
            return;
        }
        let mut needs = self.needs.borrow_mut();
        let same = |need: &Need| need.object == object && need.role.is_none();
        let is_it = |need: &&mut Need| same(need) && need.part == part;
        if let Some(need) = needs.iter_mut().find(is_it) {
            need.privileges |= privileges;
            return;
        }
        let need = Need {
            object,
            privileges,
            role: None,
            part,
        };
        match needs.iter().rposition(same) {
            Some(place) => needs.insert(place + 1, need),
            None => needs.push(need),
        }
    }

    /// The statement reads a relation: which columns of it, names will say.
    pub fn need_source(&self, relation: TableId) {
        self.need_some(relation, Privileges::SELECT);
        self.sources.borrow_mut().insert(relation);
    }

    /// The statement needs privileges on some column of a relation, or on all of it.
    pub fn need_some(&self, relation: TableId, privileges: Privileges) {
        self.need_part(table_object(relation), privileges, Part::Any);
    }

    /// The statement needs privileges on a column, by its number from 0.
    pub fn need_column(&self, relation: TableId, column: usize, privileges: Privileges) {
        let number = u16::try_from(column + 1).unwrap_or(u16::MAX);
        self.need_part(table_object(relation), privileges, Part::Column(number));
    }

    /// The statement needs privileges on a table.
    pub fn need_table(&self, table: TableId, privileges: Privileges) {
        self.need(table_object(table), privileges);
    }

    /// The statement calls a routine.
    pub fn need_routine(&self, routine: RoutineId) {
        let object = Object {
            kind: ObjectKind::Routine,
            number: routine.0,
        };
        self.need(object, Privileges::EXECUTE);
    }

    /// The statement changes a table; of what it writes to columns is said elsewhere, one by one.
    pub fn need_target(&self, table: TableId, privileges: Privileges) {
        match (Privileges::INSERT | Privileges::UPDATE).contains(privileges) {
            true => self.need_some(table, privileges),
            false => self.need_table(table, privileges),
        }
        self.targets.borrow_mut().push(table);
    }

    /// A column is named, or stands in a row that is: it is read. What is neither a source of the statement nor changed by it has its
    /// columns looked at for other reasons (policies, checks), for which nobody needs privileges.
    pub fn names_column(&self, origin: Option<(TableId, u16)>) {
        let Some((table, number)) = origin else {
            return;
        };
        let is_target = self.targets.borrow().contains(&table);
        if is_target {
            self.read_targets.borrow_mut().insert(table);
        }
        if is_target || self.sources.borrow().contains(&table) {
            let column = usize::from(number).saturating_sub(1);
            self.need_column(table, column, Privileges::SELECT);
        }
    }

    /// Something of a relation is read that is in none of its columns.
    pub fn names_beyond_columns(&self, relation: TableId) {
        let is_source = self.sources.borrow().contains(&relation);
        if is_source || self.targets.borrow().contains(&relation) {
            self.need_table(relation, Privileges::SELECT);
        }
    }

    /// Whether the statement reads what it changes.
    pub fn reads_target(&self, target: TableId) -> bool {
        self.read_targets.borrow().contains(&target)
    }

    /// What the statement changes is read.
    pub fn note_target_read(&self, target: TableId) {
        self.read_targets.borrow_mut().insert(target);
    }

    /// What something within the statement needs.
    pub fn need_all(&self, needs: Vec<Need>) {
        self.needs.borrow_mut().extend(needs);
    }

    /// Who owns a relation.
    pub fn owner_of(&self, relation: TableId) -> RoleId {
        let object = Object {
            kind: ObjectKind::Table,
            number: relation.0,
        };
        self.catalog().roles().access_of(object).owner
    }

    /// Another needs privileges on a relation: who owns the view that it is below.
    pub fn need_as(&self, role: RoleId, relation: TableId, privileges: Privileges, part: Part) {
        self.needs.borrow_mut().push(Need {
            object: table_object(relation),
            privileges,
            role: Some(role),
            part,
        });
    }

    /// What a view's expressions need, its owner must have.
    pub fn need_of_view(&self, view: TableId, inside: Vec<Need>) {
        let owner = self.owner_of(view);
        let owned = inside.into_iter().map(|need| Need {
            role: need.role.or(Some(owner)),
            ..need
        });
        self.needs.borrow_mut().extend(owned);
    }

    /// Runs `plan` for what is checked and not run: nobody needs privileges for it.
    pub fn for_nothing<T>(&self, plan: impl FnOnce() -> SqlResult<T>) -> SqlResult<()> {
        let needs = self.needs.borrow().clone();
        let planned = plan();
        *self.needs.borrow_mut() = needs;
        planned.map(|_| ())
    }

    /// What the statement needs.
    pub fn take_needs(&self) -> Vec<Need> {
        let mut needs = self.needs.take();
        needs.extend(self.users_needs.take());
        // As PostgreSQL asks: what the statement itself names, then what is below views.
        needs.sort_by_key(|need| need.role.is_some());
        needs
    }

    /// The same of what was defined before and is used now, a view or a policy: what its names mean was found when it was made, so
    /// nobody needs to find it now.
    pub fn needs_of_definition(&self) -> Vec<Need> {
        let mut needs = self.take_needs();
        needs.retain(|need| need.object.kind != ObjectKind::Schema);
        needs
    }

    /// A view is read, or changed, that has the rights of whoever uses it.
    pub fn need_of_user(&self, inside: Vec<Need>) {
        self.users_needs.borrow_mut().extend(inside);
    }
}

/// Of a statement that asks for nothing that is anybody's; whoever plans the whole fills them in.
pub(crate) fn no_needs() -> Needs {
    Needs::from([])
}

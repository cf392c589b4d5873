//! What a statement does to rows, with what is known of their keys before the call begins.
//!
//! Relies on: `flow` for what the slots hold where the statement stands, `columns` for what it looks at.
//! Promises: every row that the statement may read, add, change, remove or lock is in one of its deeds, and so
//! is every unique key that it takes or gives up.  Does not: say which calls conflict.
//!
//! | statement | deeds |
//! |---|---|
//! | SELECT | a read for each table; with FOR UPDATE or FOR SHARE a lock, too |
//! | UPDATE | the reads of its source; an update of the columns it sets |
//! | UPDATE of key columns | a delete at the old key, an insert at the new one |
//! | DELETE | the reads of its source; a delete |
//! | INSERT | the reads of its source; an insert. ON CONFLICT DO UPDATE: a read and an update, too |
//!
//! Of each unique index: INSERT claims a key of it, DELETE releases one, UPDATE does both if it sets one of the
//! index's columns or of the primary key's.
//!
//! **Columns that are checked together are written together.** Who sets one column of a unique key, or of a CHECK,
//! counts as setting all of them: else two calls could each keep the promise, and the row with the
//! columns of both would break it.

use crate::columns::{Columns, columns_of, looked_at, of_conflict};
use crate::expressions::calls;
use crate::flow::{Inside, Walk};
use crate::known::{Known, known};
use crate::operation::{Bound, Template};
use crate::references::Fate;
use quintet_base::SequenceId;
use quintet_ir::plan::{KeyRange, LockStrength, LockTarget, Path, Plan};
use quintet_ir::routine::Callee;
use quintet_ir::schema::TableRef;
use quintet_ir::statement::{Arbiter, ConflictAction, Insert, Update};
use quintet_ir::{Access, Expr, Program, Statement, TableDef};

/// Alternatives of one deed that are told apart; more are taken for any row.
const ALTERNATIVES_MAX: usize = 64;

/// What is done to rows, or to a unique key.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Effect {
    /// Looks at these columns, and at whether there is a row.
    Read(Columns),
    /// A constraint needs a row to be there, with these columns as they are, at every level.
    Check(Columns),
    /// Keeps others from writing the rows: FOR UPDATE, or FOR SHARE, which leaves others the same.
    Lock {
        /// FOR SHARE.
        shared: bool,
    },
    /// Sets these columns, and those that are checked together with them.
    Update(Columns),
    /// Adds rows.
    Insert,
    /// Adds rows in whose keys a column comes from this sequence. Footprints say [`Effect::Insert`] and
    /// [`crate::Mark::numbered`]; classes may go by it.
    InsertNumbered(SequenceId),
    /// Removes rows.
    Delete,
    /// Takes a key of the unique index with this number.
    Claim(usize),
    /// Gives up a key of the unique index with this number.
    Release(usize),
}

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Deed {
    pub table: TableRef,
    pub effect: Effect,
    /// See [`crate::Mark::glanced`].
    pub glanced: bool,
    /// See [`crate::Mark::numbered`].
    pub numbered: Option<SequenceId>,
    pub pins: Vec<Pin>,
    pub context: Context,
}

/// A call of another routine.
#[derive(Clone, Debug)]
pub(crate) struct Site<'p> {
    pub program: &'p Program,
    pub routine: usize,
    /// As far as they are known before the call begins.
    pub arguments: Vec<Option<Known>>,
    pub context: Context,
}

/// A column of which something is known.
#[derive(Clone, Debug)]
pub(crate) struct Pin {
    pub column: usize,
    pub bound: Bound,
    pub template: Template,
}

/// Where in the routine something stands.
#[derive(Clone, Debug)]
pub(crate) struct Context {
    pub line: u32,
    pub loops: Vec<usize>,
    pub branches: Vec<(usize, bool)>,
}

impl<'p> Walk<'p> {
    /// Where the walk is.
    pub fn context(&self) -> Context {
        let mut context = Context {
            line: self.line,
            loops: Vec::new(),
            branches: Vec::new(),
        };
        for inside in &self.inside {
            match inside {
                Inside::Loop(_, number) => context.loops.push(*number),
                Inside::Branch(condition, held) => context.branches.push((*condition, *held)),
                Inside::Guard | Inside::Handler(_) => {}
            }
        }
        context
    }

    /// Notes what a statement does. `glanced`: an engine remembers which columns its rows are read for.
    pub fn note(&mut self, statement: &'p Statement, glanced: bool) {
        let mut found = Vec::new();
        looked_at(statement, &mut |access, locks, columns| {
            found.push((access, locks, columns));
        });
        for (access, locks, columns) in found {
            let pins = self.pins_of(access);
            self.deed(&access.table, Effect::Read(columns), &pins);
            if glanced && let Some(deed) = self.deeds.last_mut() {
                deed.glanced = true;
            }
            if let Some(shared) = lock_of(locks, &access.table) {
                self.deed(&access.table, Effect::Lock { shared }, &pins);
            }
        }
        match statement {
            Statement::Query(_) => {}
            Statement::Insert(insert) => self.note_insert(insert),
            Statement::Update(update) => self.note_update(update),
            Statement::Delete(delete) => {
                let pins = self.pins_of_changed(&delete.table, &delete.source);
                self.deed(&delete.table, Effect::Delete, &pins);
                for index in unique_indexes(&delete.table) {
                    self.deed(&delete.table, Effect::Release(index), &pins);
                }
                self.follow(&delete.table, Fate::Removed, &pins, &[]);
            }
        }
        let checked = match statement {
            Statement::Insert(insert) => Some(&insert.table),
            Statement::Update(update) => Some(&update.table),
            Statement::Query(_) | Statement::Delete(_) => None,
        };
        for check in checked.into_iter().flat_map(|table| &table.checks) {
            let mut called = Vec::new();
            calls(&check.condition, &mut called);
            for (callee, arguments) in called {
                self.note_call(callee, arguments);
            }
        }
    }

    /// Notes a call of a function of the catalogue.
    pub fn note_call(&mut self, callee: &'p Callee, arguments: &'p [Expr]) {
        let found = match &callee.program {
            Some(program) => Some((&**program, 0)),
            None => (self.program.numbers.get(&callee.id)).map(|number| (self.program, *number)),
        };
        // What the program does not know cannot be called, either.
        if let Some((program, routine)) = found {
            self.note_site(program, routine, arguments);
        }
    }

    /// Notes a call of a routine.
    pub fn note_site(&mut self, program: &'p Program, routine: usize, arguments: &'p [Expr]) {
        let known = arguments.iter().map(|value| known(value, &self.state));
        self.sites.push(Site {
            program,
            routine,
            arguments: known.collect(),
            context: self.context(),
        });
    }

    /// One deed for each of the alternatives.
    pub(crate) fn deed(&mut self, table: &TableRef, effect: Effect, alternatives: &[Vec<Pin>]) {
        let context = self.context();
        let any = [Vec::new()];
        let alternatives = match alternatives.len() {
            0 => return,
            count if count > ALTERNATIVES_MAX => &any[..],
            _ => alternatives,
        };
        for pins in alternatives {
            self.deeds.push(Deed {
                table: TableRef::clone(table),
                effect: effect.clone(),
                glanced: false,
                numbered: None,
                pins: pins.clone(),
                context: context.clone(),
            });
        }
    }

    /// What is known of the rows of an access path: any of these.
    fn pins_of(&self, access: &Access) -> Vec<Vec<Pin>> {
        let table = &access.table;
        let (columns, ranges) = match &access.path {
            Path::Full | Path::Elements(..) => return vec![Vec::new()],
            Path::Primary(ranges) => (table.key_columns(), ranges),
            Path::Index(number, ranges) => (table.indexes[*number].columns.clone(), ranges),
        };
        let of_range = |range: &KeyRange| {
            let mut pins = Vec::new();
            for (value, column) in range.equal.iter().zip(&columns) {
                pins.push(self.pin(*column, Bound::Equal, value));
            }
            if let Some(&column) = columns.get(range.equal.len()) {
                if let Some(lower) = &range.lower {
                    let inclusive = lower.inclusive;
                    pins.push(self.pin(column, Bound::Lower { inclusive }, &lower.value));
                }
                if let Some(upper) = &range.upper {
                    let inclusive = upper.inclusive;
                    pins.push(self.pin(column, Bound::Upper { inclusive }, &upper.value));
                }
            }
            pins
        };
        ranges.iter().map(of_range).collect()
    }

    /// The same of the rows that UPDATE and DELETE change.
    fn pins_of_changed(&self, table: &TableRef, source: &Plan) -> Vec<Vec<Pin>> {
        match crate::statement::target(source) {
            Some(access) if access.table.id == table.id => self.pins_of(access),
            _ => vec![Vec::new()],
        }
    }

    fn pin(&self, column: usize, bound: Bound, value: &Expr) -> Pin {
        Pin {
            column,
            bound,
            template: self.template(value),
        }
    }

    fn note_update(&mut self, update: &Update) {
        let table = &update.table;
        let before = self.pins_of_changed(table, &update.source);
        self.note_assignments(table, &before, &update.assignments);
    }

    /// Rows with these pins get new values in some columns.
    fn note_assignments(
        &mut self,
        table: &TableRef,
        before: &[Vec<Pin>],
        assignments: &[(usize, Expr)],
    ) {
        let assigned: Columns = assignments.iter().map(|(column, _)| *column).collect();
        let after: Vec<Vec<Pin>> = before
            .iter()
            .map(|pins| {
                let kept = pins.iter().filter(|pin| !assigned.contains(&pin.column));
                let new = assignments
                    .iter()
                    .map(|(column, value)| self.pin(*column, Bound::Equal, value));
                kept.cloned().chain(new).collect()
            })
            .collect();
        let moves = table
            .key_columns()
            .iter()
            .any(|column| assigned.contains(column));
        if moves {
            self.deed(table, Effect::Delete, before);
            self.deed(table, Effect::Insert, &after);
        } else {
            let written = written_together(table, &assigned);
            self.deed(table, Effect::Update(written), before);
        }
        for index in unique_indexes(table) {
            let columns = &table.indexes[index].columns;
            if moves || columns.iter().any(|column| assigned.contains(column)) {
                self.deed(table, Effect::Release(index), before);
                self.deed(table, Effect::Claim(index), &after);
            }
        }
        let beside = checked_with(table, &assigned);
        if !beside.is_empty() {
            self.deed(table, Effect::Read(beside), before);
        }
        self.follow(table, Fate::Set(&assigned), before, &after);
    }

    fn note_insert(&mut self, insert: &Insert) {
        let table = &insert.table;
        let rows = match &insert.source {
            Plan::Values { rows, .. } if rows.len() <= ALTERNATIVES_MAX => rows
                .iter()
                .map(|row| self.pins_of_row(insert, row))
                .collect(),
            _ => vec![self.pins_of_row(insert, &[])],
        };
        let before = self.deeds.len();
        self.deed(table, Effect::Insert, &rows);
        let numbered = numbered_by(insert);
        let added = self.deeds[before..].iter_mut();
        added.for_each(|deed| deed.numbered = numbered);
        for index in unique_indexes(table) {
            self.deed(table, Effect::Claim(index), &rows);
        }
        self.follow(table, Fate::Added, &[], &rows);
        let Some(conflict) = &insert.conflict else {
            return;
        };
        let ConflictAction::Update { assignments, .. } = &conflict.action else {
            return;
        };
        // The row in the way has the proposed one's values in the columns of the arbiter, and in no others.
        let columns = match conflict.arbiter {
            Some(Arbiter::Primary) => table.key_columns(),
            Some(Arbiter::Index(number)) => table.indexes[number].columns.clone(),
            None => Vec::new(),
        };
        let of_arbiter = |pins: &Vec<Pin>| {
            let shared = pins.iter().filter(|pin| columns.contains(&pin.column));
            shared.cloned().collect()
        };
        let before: Vec<Vec<Pin>> = rows.iter().map(of_arbiter).collect();
        let mut read = of_conflict(&conflict.action, table);
        read.extend(&columns);
        self.deed(table, Effect::Read(read), &before);
        self.note_assignments(table, &before, assignments);
    }

    /// What is known of a row that is added.
    fn pins_of_row(&self, insert: &Insert, row: &[Expr]) -> Vec<Pin> {
        let values = insert.values.iter().enumerate();
        let pins = values.filter_map(|(column, value)| {
            let mut value = value.clone();
            given(&mut value, row).then(|| self.pin(column, Bound::Equal, &value))
        });
        pins.collect()
    }
}

/// The sequence that a column of the key of the rows comes from.
fn numbered_by(insert: &Insert) -> Option<SequenceId> {
    let primary = insert.table.primary_key.as_ref()?;
    let sequence = |column: &usize| {
        let mut value = &insert.values[*column];
        while let Expr::Cast { input, .. } = value {
            value = input;
        }
        match value {
            Expr::NextVal(sequence) => Some(*sequence),
            _ => None,
        }
    };
    primary.columns.iter().find_map(sequence)
}

/// Puts the values of a given row in the place of its columns; false if one is not there.
fn given(value: &mut Expr, row: &[Expr]) -> bool {
    if let Expr::Column(place, _) = value {
        return match row.get(*place) {
            Some(known) => {
                *value = known.clone();
                true
            }
            None => false,
        };
    }
    let mut all = true;
    value.for_each_part_mut(&mut |part| all = all && given(part, row));
    all
}

/// Whether rows of a table are locked, and then if FOR SHARE only.
fn lock_of(targets: &[LockTarget], table: &TableDef) -> Option<bool> {
    let of_table = targets.iter().filter(|target| target.table.id == table.id);
    of_table
        .map(|target| target.strength == LockStrength::Share)
        .reduce(|one, other| one && other)
}

/// Numbers of the unique indexes.
pub(crate) fn unique_indexes(table: &TableDef) -> Vec<usize> {
    let indexes = table.indexes.iter().enumerate();
    let unique = indexes.filter(|(_, index)| index.is_unique());
    unique.map(|(number, _)| number).collect()
}

/// Sets of columns that something is promised of.
fn checked_sets(table: &TableDef) -> Vec<Columns> {
    let unique = table.indexes.iter().filter(|index| index.is_unique());
    let unique = unique.map(|index| index.columns.iter().copied().collect::<Columns>());
    let checks = table.checks.iter();
    // What a row belongs to is decided by the whole partition key.
    let divided = table.partitions.iter();
    let divided = divided.map(|all| all.all.key_columns().into_iter().collect());
    let sets = unique.chain(checks.map(|check| columns_of([&check.condition])));
    let sets = sets.chain(divided);
    // A row keeps its key for life: who sets one of its columns removes the row and adds another.
    let key = table.key_columns();
    sets.map(|set| {
        set.into_iter()
            .filter(|column| !key.contains(column))
            .collect()
    })
    .collect()
}

/// The assigned columns with those that are checked together with them, and so on.
pub(crate) fn written_together(table: &TableDef, assigned: &Columns) -> Columns {
    let mut written = assigned.clone();
    let sets = checked_sets(table);
    loop {
        let before = written.len();
        for set in &sets {
            if !set.is_disjoint(&written) {
                written.extend(set);
            }
        }
        if written.len() == before {
            return written;
        }
    }
}

/// Columns that are looked at when these are set: what a CHECK or a unique key compares them with.
fn checked_with(table: &TableDef, assigned: &Columns) -> Columns {
    let sets = checked_sets(table);
    let touched = sets.into_iter().filter(|set| !set.is_disjoint(assigned));
    touched
        .flatten()
        .filter(|column| !assigned.contains(column))
        .collect()
}

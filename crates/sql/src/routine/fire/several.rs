//! Changes of one table that are parts of one statement: what the clauses of a MERGE do.
//!
//! Relies on: `fire`.  Promises: triggers of statements fire once for each kind of change that some clause has, also if no row
//! came to it; triggers of columns by what any clause sets; AFTER … FOR EACH ROW behind the last row of all.
//! Does not: fire those in the order of the rows where rows were changed in several ways (updated ones go first, added ones last).

use super::{Behind, Event, Firing, firing_of_all};
use crate::routine::embed::{Embedding, Planned};
use quintet_base::SqlResult;
use quintet_ir::Statement;
use quintet_ir::references::Turn;

/// What they fire, and where it is kept, for each kind of change.
pub(in crate::routine) struct Several {
    firing: Firing,
    behind: Vec<(Event, Behind)>,
}

pub(super) fn event_of(statement: &Statement) -> Option<Event> {
    match statement {
        Statement::Insert(_) => Some(Event::Insert),
        Statement::Update(_) => Some(Event::Update),
        Statement::Delete(_) => Some(Event::Delete),
        Statement::Query(_) => None,
    }
}

impl Embedding<'_, '_> {
    /// Begins a statement of these parts; `None` if it fires nothing. `count`: the slot of how many rows were changed.
    ///
    /// # Errors
    /// `0A000` for what cannot be done row by row.
    pub(in crate::routine) fn begin_several(
        &mut self,
        statements: &[&Statement],
        count: usize,
    ) -> SqlResult<Option<Several>> {
        let Some(firing) = firing_of_all(self.context.catalog, statements) else {
            return Ok(None);
        };
        let mut behind = Vec::new();
        for event in [Event::Insert, Event::Update, Event::Delete] {
            if statements.iter().any(|part| event_of(part) == Some(event)) {
                self.fire_statement(&firing, event, true, None)?;
                let mut kept = self.begin_behind(&firing, [event].into_iter(), count)?;
                kept.in_merge = true;
                behind.push((event, kept));
            }
        }
        self.turn(&firing, Turn::Begin);
        Ok(Some(Several { firing, behind }))
    }

    /// One of the parts, for the rows at hand.
    ///
    /// # Errors
    /// As [`Embedding::begin_several`].
    pub(in crate::routine) fn one_of_several(
        &mut self,
        several: &mut Several,
        part: Planned,
    ) -> SqlResult<()> {
        let event = event_of(&part.statement);
        let mut all = several.behind.iter_mut();
        if let Some((_, behind)) = all.find(|(kind, _)| Some(*kind) == event) {
            behind.checks = part.checks;
            self.fire_rows(&several.firing, part.statement, behind)?;
        }
        Ok(())
    }

    /// What comes behind all rows.
    ///
    /// # Errors
    /// As [`Embedding::begin_several`].
    pub(in crate::routine) fn end_several(&mut self, several: &Several) -> SqlResult<()> {
        let of = |event: Event| {
            several
                .behind
                .iter()
                .filter(move |(kind, _)| *kind == event)
        };
        let events = [Event::Update, Event::Delete, Event::Insert];
        if !several.firing.follows() {
            self.turn(&several.firing, Turn::End);
        }
        for (event, behind) in events.into_iter().flat_map(of) {
            self.fire_behind(&several.firing, [*event].into_iter(), behind)?;
        }
        if several.firing.follows() {
            self.turn(&several.firing, Turn::End);
        }
        let events = [Event::Delete, Event::Update, Event::Insert];
        for (event, behind) in events.into_iter().flat_map(of) {
            self.fire_ends(&several.firing, *event, behind)?;
        }
        Ok(())
    }
}

//! What defaults of views' columns need.
//!
//! Relies on: `stored` to bind them.  Promises: what one needs is told of it as of a table's default, and a sequence's new name stands in it.
//! Does not: look into the defaults of views that do not read any more.

use super::sequence::{next_of, next_value};
use super::uses_sequence;
use crate::draft::Draft;
use crate::planner::Planner;
use crate::records::{SequenceRecord, ViewRecord};
use crate::stored;
use crate::system::print::quoted;
use quintet_base::{SqlError, SqlResult, TableId};
use quintet_ir::Expr;

/// A column of a view whose default needs something.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Place {
    pub view: TableId,
    pub column: usize,
}

/// The defaults that need something, with what messages call them. Views in `going` go anyway.
pub(super) fn needing(
    draft: &Draft,
    going: &[TableId],
    needs: impl Fn(&Expr) -> bool,
) -> SqlResult<Vec<(Place, String)>> {
    let planner = draft.planner;
    let mut found = Vec::new();
    for view in planner.catalog().views() {
        if view.defaults.is_empty() || going.contains(&view.id) || draft.has_dropped_view(view.id) {
            continue;
        }
        let changed = draft.changed_view(view.id)?;
        let Ok(bound) = stored::defaults_of_view(planner.catalog(), view) else {
            continue;
        };
        for (column, default) in bound {
            let is_gone = changed
                .as_ref()
                .is_some_and(|now| now.defaults.iter().all(|(place, _)| *place != column));
            if !is_gone && needs(&default) {
                let place = Place {
                    view: view.id,
                    column,
                };
                found.push((place, described(planner, view, column)));
            }
        }
    }
    Ok(found)
}

/// As messages call it.
fn described(planner: &Planner, view: &ViewRecord, column: usize) -> String {
    let name = match planner.shows(&view.schema, &view.name) {
        true => quoted(&view.name),
        false => format!("{}.{}", quoted(&view.schema), quoted(&view.name)),
    };
    let column = &view.columns[column].name;
    format!("default value for column {column} of view {name}")
}

/// Takes them away.
pub(super) fn drop(draft: &mut Draft, places: &[Place]) -> SqlResult<()> {
    for place in places {
        let now = match draft.changed_view(place.view)? {
            Some(now) => Some(now),
            None => (draft.planner.catalog().view(place.view)).map(|view| ViewRecord::clone(view)),
        };
        if let Some(mut now) = now.filter(|_| !draft.has_dropped_view(place.view)) {
            now.defaults.retain(|(column, _)| *column != place.column);
            draft.put_view(&now)?;
        }
    }
    Ok(())
}

/// Has them name a sequence by its new name.
///
/// # Errors
/// `0A000` for one that is more than the sequence's next value.
pub(super) fn rename_sequence(draft: &mut Draft, sequence: &SequenceRecord) -> SqlResult<()> {
    let planner = draft.planner;
    let uses = |default: &Expr| uses_sequence(default, sequence.id);
    for (place, _) in needing(draft, &[], uses)? {
        let Some(view) = planner.catalog().view(place.view) else {
            continue;
        };
        let bound = stored::defaults_of_view(planner.catalog(), view)?;
        let mut bound = bound.iter().filter(|(column, _)| *column == place.column);
        if bound.next().and_then(|(_, default)| next_of(default)) != Some(sequence.id) {
            return Err(SqlError::unsupported(
                "renaming a sequence that a column's default uses in an expression",
            ));
        }
        let now = draft.changed_view(place.view)?;
        let mut now = now.unwrap_or_else(|| ViewRecord::clone(view));
        let text = next_value(&view.schema, &sequence.schema, &sequence.name);
        for (column, default) in &mut now.defaults {
            if *column == place.column {
                default.clone_from(&text);
            }
        }
        draft.put_view(&now)?;
    }
    Ok(())
}

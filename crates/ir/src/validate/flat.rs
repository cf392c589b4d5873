//! Flat code: jumps land inside, and the stacks have one height at each place.
//!
//! Relies on: nothing.  Promises: the heights are followed from the first operation along every jump; two
//! ways to a place must bring the same.  Does not: look at expressions: they are those of the tree.

use super::{Checked, Fault};
use crate::code::{Code, Heights, Operation, Place};
use crate::routine::Routine;

pub(super) fn code(code: &Code, routine: &Routine) -> Checked<()> {
    let walk = Walk {
        code,
        name: &routine.name,
    };
    if code.lines.len() != code.operations.len() {
        return walk.fault(0, "there is not one line for each operation");
    }
    let mut known: Vec<Option<Heights>> = vec![None; code.operations.len() + 1];
    let mut waiting = vec![(0, 0, Heights::default())];
    while let Some((from, place, heights)) = waiting.pop() {
        match known.get_mut(place) {
            None => return walk.fault(from, format!("it goes on at {place}, outside of the code")),
            Some(Some(before)) if *before != heights => {
                return walk.fault(
                    place,
                    format!("it comes here with {before:?} and {heights:?}"),
                );
            }
            Some(Some(_)) => continue,
            Some(unknown) => *unknown = Some(heights),
        }
        let Some(operation) = code.operations.get(place) else {
            let nothing = heights == Heights::default();
            match nothing {
                true => continue,
                false => return walk.fault(place, format!("it ends with {heights:?}")),
            }
        };
        let next = walk.next(place, operation, heights)?;
        waiting.extend(next.into_iter().map(|(to, heights)| (place, to, heights)));
    }
    Ok(())
}

struct Walk<'c> {
    code: &'c Code,
    name: &'c str,
}

impl Walk<'_> {
    fn fault<T>(&self, place: Place, message: impl Into<String>) -> Checked<T> {
        let at = match self.code.lines.get(place) {
            Some(line) if *line > 0 => format!("operation {place} of line {line}"),
            _ => format!("operation {place}"),
        };
        Err(Fault {
            place: vec![format!("the code of \"{}\"", self.name), at],
            message: message.into(),
        })
    }

    /// Where an operation may go on, with which heights.
    fn next(
        &self,
        place: Place,
        operation: &Operation,
        heights: Heights,
    ) -> Checked<Vec<(Place, Heights)>> {
        let Heights { loops, guards } = heights;
        let on = place + 1;
        let looping = Heights {
            loops: loops + 1,
            guards,
        };
        Ok(match operation {
            Operation::Jump(to) => vec![(*to, heights)],
            Operation::Unless(_, to) => vec![(on, heights), (*to, heights)],
            Operation::Leave { to, place: target } => {
                if to.loops > loops || to.guards > guards {
                    return self.fault(place, format!("{heights:?} are left to {to:?}"));
                }
                vec![(*target, *to)]
            }
            Operation::Dynamic { loops, .. } => vec![(on, if *loops { looping } else { heights })],
            Operation::BeginIntegers { .. }
            | Operation::BeginRows(_)
            | Operation::BeginElements(_) => vec![(on, looping)],
            Operation::NextInteger { end, .. }
            | Operation::NextRow { end, .. }
            | Operation::NextElement { end, .. } => {
                let Some(loops) = loops.checked_sub(1) else {
                    return self.fault(place, "a turn of no loop");
                };
                vec![(on, heights), (*end, Heights { loops, guards })]
            }
            Operation::BeginGuard { handlers, .. } => {
                let guarded = Heights {
                    loops,
                    guards: guards + 1,
                };
                // A handler begins with its guard on the stack, and the loops as they were.
                let handlers = handlers.iter().map(|(_, handler)| (*handler, guarded));
                handlers.chain([(on, guarded)]).collect()
            }
            Operation::BeginState | Operation::EndState => vec![(on, heights)],
            Operation::EndGuard => {
                let Some(guards) = guards.checked_sub(1) else {
                    return self.fault(place, "the end of no guard");
                };
                vec![(on, Heights { loops, guards })]
            }
            Operation::Reraise | Operation::Fail(_) | Operation::Return(_) => vec![],
            Operation::Assign { .. }
            | Operation::AssignElement { .. }
            | Operation::Run { .. }
            | Operation::Call { .. }
            | Operation::Raise(_)
            | Operation::ReturnNext(_)
            | Operation::ReturnQuery(_)
            | Operation::Commit
            | Operation::Rollback
            | Operation::Landmark(_)
            | Operation::RowCount { .. }
            | Operation::Diagnose { .. } => vec![(on, heights)],
        })
    }
}

//! A block with handlers that is running, or whose handler is.
//!
//! Relies on: the code that it was made in.  Promises: a handler is not asked about errors of its own.
//! Does not: undo anything; who handles does.

use quintet_base::{SqlError, SqlState};
use quintet_ir::PutOffSoFar;
use quintet_ir::code::{Code, Heights, Operation, Place};
use quintet_tc::Mark;

/// See the module.
pub(crate) struct Guard {
    /// Of its `BeginGuard`.
    begin: Place,
    /// Of all that the call has begun, the number of this one, from 1.
    number: u64,
    so_far: SoFar,
    heights: Heights,
    /// What a handler of it is busy with.
    handled: Option<SqlError>,
}

/// What there was when a block began.
#[derive(Clone, Copy)]
pub(crate) struct SoFar {
    /// What to undo to.
    pub mark: Mark,
    /// Which notifications stay.
    pub notified: usize,
    /// What was put off that stays.
    pub put_off: PutOffSoFar,
    /// Which cursors stay.
    pub opened: u64,
}

/// Where to go on with an error.
pub(crate) struct Handling {
    pub place: Place,
    /// For SQLSTATE and SQLERRM.
    pub slots: [usize; 2],
}

impl Guard {
    /// A block begins here, with the transaction and the loops as they are.
    pub fn new(begin: Place, number: u64, so_far: SoFar, heights: Heights) -> Guard {
        Guard {
            begin,
            number,
            so_far,
            heights,
            handled: None,
        }
    }

    /// Which it is.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The routine was made anew, and the block begins here now.
    pub fn move_to(&mut self, begin: Place) {
        self.begin = begin;
    }

    /// What there was when it began.
    pub fn so_far(&self) -> SoFar {
        self.so_far
    }

    /// How many loops stood around the block.
    pub fn heights(&self) -> Heights {
        self.heights
    }

    /// The first handler that takes an error of the block.
    pub fn take(&mut self, code: &Code, state: SqlState) -> Option<Handling> {
        if self.handled.is_some() {
            return None;
        }
        let Operation::BeginGuard { handlers, slots } = &code.operations[self.begin] else {
            unreachable!("a guard was made at its beginning");
        };
        let takes = |conditions: &[quintet_ir::routine::Condition]| {
            conditions.iter().any(|condition| condition.takes(state))
        };
        let (_, place) = handlers.iter().find(|(conditions, _)| takes(conditions))?;
        Some(Handling {
            place: *place,
            slots: *slots,
        })
    }

    /// The handler begins.
    pub fn handle(&mut self, error: SqlError) {
        self.handled = Some(error);
    }

    /// The error that a handler of it is busy with.
    pub fn handled(&self) -> Option<&SqlError> {
        self.handled.as_ref()
    }
}

//! Whether planning is still wanted.
//!
//! Relies on: whoever has a statement planned says how to find out ([`watched`]).  Promises: what is planned within it ends with the error
//! that was said, soon after; whoever turns errors of parts into something else does not lose it.  Does not: read a clock,
//! or look into the parser, which takes as long as the text is.
//!
//! It belongs to the thread, as room on the stack does: what may take long (conditions, orders of joins) is done in
//! functions that know of no planner. One look is some atomic loads; a step is an addition.

use quintet_base::{SqlError, SqlResult};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::OnceLock;

/// Says why planning is to end, if it is.
pub type Look = Rc<dyn Fn() -> Option<SqlError>>;

/// So many steps are made between two looks: a step is an expression, some hundred nanoseconds at least.
const STEPS_PER_LOOK: u32 = 64;

thread_local! {
    static LOOK: RefCell<Option<Look>> = const { RefCell::new(None) };
    /// Why it ends, as soon as that is known.
    static OVER: RefCell<Option<SqlError>> = const { RefCell::new(None) };
    static STEPS: Cell<u32> = const { Cell::new(0) };
}

/// What was there before comes back, whatever becomes of the work.
struct Around {
    look: Option<Look>,
    over: Option<SqlError>,
}

impl Drop for Around {
    fn drop(&mut self) {
        LOOK.set(self.look.take());
        OVER.set(self.over.take());
    }
}

/// Runs `work`, which plans, as long as `asked` has nothing against it.
///
/// # Errors
/// Those of `work`; what `asked` says.
pub fn watched<R>(asked: Look, work: impl FnOnce() -> SqlResult<R>) -> SqlResult<R> {
    let around = Around {
        look: LOOK.replace(Some(asked)),
        over: OVER.take(),
    };
    let result = look().and_then(|()| work());
    // Somebody may have made something of the error, or have left out a part for it.
    let over = look();
    drop(around);
    over.and(result)
}

/// Something was done, of which there may be many.
///
/// # Errors
/// What was said to [`watched`].
pub(crate) fn step() -> SqlResult<()> {
    let steps = STEPS.get().wrapping_add(1);
    STEPS.set(steps);
    match steps.is_multiple_of(STEPS_PER_LOOK) {
        true => look(),
        false => Ok(()),
    }
}

/// The same of something that may take long by itself.
///
/// # Errors
/// What was said to [`watched`].
pub(crate) fn look() -> SqlResult<()> {
    match is_over() {
        false => Ok(()),
        true => OVER.with_borrow(|over| over.clone().map_or(Ok(()), Err)),
    }
}

/// Whether planning is to end, for who cannot say so with an error: what it gives is not used any more.
pub(crate) fn is_over() -> bool {
    if OVER.with_borrow(Option::is_some) {
        return true;
    }
    let Some(asked) = LOOK.with_borrow(Clone::clone) else {
        return false;
    };
    let over = asked();
    let is_over = over.is_some();
    OVER.set(over);
    is_over
}

/// What is made once for everybody, and kept: not what comes of planning that is to end, which may be an error that is this
/// statement's alone.
///
/// # Errors
/// What was made; what was said to [`watched`].
pub(crate) fn kept<T>(
    place: &OnceLock<SqlResult<T>>,
    make: impl FnOnce() -> SqlResult<T>,
) -> SqlResult<&T> {
    if place.get().is_none() {
        let made = make();
        look()?;
        // Somebody else may have made it meanwhile.
        let _ = place.set(made);
    }
    match place.get() {
        Some(made) => made.as_ref().map_err(Clone::clone),
        None => Err(SqlError::internal("nothing is kept")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_base::SqlState;

    fn after(looks: u32) -> Look {
        let made = Cell::new(0);
        Rc::new(move || {
            made.set(made.get() + 1);
            let over = made.get() > looks;
            over.then(|| SqlError::new(SqlState::QUERY_CANCELED, "over"))
        })
    }

    #[test]
    fn what_is_over_stays_so_whoever_drops_the_error() {
        assert!(look().is_ok() && !is_over(), "nobody watches");
        let state = |result: SqlResult<()>| result.unwrap_err().state;
        let swallowed = watched(after(1), || {
            let _ = look();
            Ok(())
        });
        assert_eq!(state(swallowed), SqlState::QUERY_CANCELED);
        let begun = Cell::new(false);
        let first = watched(after(0), || {
            begun.set(true);
            Ok(())
        });
        assert_eq!(state(first), SqlState::QUERY_CANCELED);
        assert!(!begun.get());
        let inner = watched(after(100), || {
            let _ = watched(after(0), || Ok(()));
            assert!(!is_over(), "that was the inner one's");
            (0..STEPS_PER_LOOK * 90).try_for_each(|_| step())
        });
        assert!(inner.is_ok());
        let many = watched(after(100), || {
            (0..STEPS_PER_LOOK * 110).try_for_each(|_| step())
        });
        assert_eq!(state(many), SqlState::QUERY_CANCELED);
        assert!(look().is_ok() && !is_over());
    }

    #[test]
    fn what_is_kept_is_nobodys_end() {
        let place = OnceLock::new();
        let over = watched(after(1), || kept(&place, || look().map(|()| 1)).copied());
        assert!(over.is_err() && place.get().is_none());
        assert_eq!(kept(&place, || Ok(2)).copied().ok(), Some(2));
        assert_eq!(kept(&place, || Ok(3)).copied().ok(), Some(2));
    }
}

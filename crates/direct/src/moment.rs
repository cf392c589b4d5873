//! What a statement of a routine reads, if that is not the newest state: a large object that was opened for reading stays as it was.
//!
//! Relies on: the session's cursors, where the routine has said what it wants.  Promises: at READ COMMITTED the statement reads what was
//! kept; at the stronger levels all statements of a transaction read the same anyway.  Does not: hide what the transaction has
//! written itself.

use crate::context::Context;
use quintet_base::Level;
use quintet_ir::large_objects::Moment;
use quintet_tc::KeptSnapshot;
use std::sync::Arc;

/// A statement has begun.
pub(crate) fn settle(context: &mut Context<'_>) {
    let Some(cursors) = context.host.cursors() else {
        return;
    };
    let mut cursors = cursors.borrow_mut();
    let moment = std::mem::take(&mut cursors.moment);
    if context.txn.level() != Level::ReadCommitted {
        return;
    }
    match moment {
        Moment::Newest => {}
        Moment::Kept => cursors.kept = Some(Arc::new(context.txn.keep_snapshot())),
        Moment::Past(state) => {
            if let Some(kept) = state.downcast_ref::<KeptSnapshot>() {
                context.txn.return_to_snapshot(kept.clone());
            }
        }
    }
}

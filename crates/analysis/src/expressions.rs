//! Every expression of a statement, and what is in it, as `ir` shows them.
//!
//! Relies on: `ir::expressions`.  Promises: nothing of its own.  Does not: look into called routines.

pub(crate) use quintet_ir::expressions::{
    Use, callees, calls, each_beside_source, each_node_of_statement, each_of_node,
    each_of_statement, ranges, slots, sought, source, sources, subqueries,
};

//! The procedure IR: one source, several readers (design §3).
//!
//! SQL statements and procedures lower to this representation. A lone statement is a procedure
//! with one block. Whoever wants to know what a call may touch, run it, print it or route it, reads
//! the same tree.
//!
//! Relies on: `base`.  Promises: names are resolved, types are decided, plans are fixed; nothing
//! in here needs the catalogue or the text again.  Does not: do I/O, read a clock, or know which
//! engine runs it.
//!
//! | file | what it holds |
//! |---|---|
//! | `schema` | tables, columns, indexes, sequences as plans see them |
//! | `expr` | typed scalar expressions |
//! | `expressions` | every expression of a statement, and what is in it |
//! | `function` | the built-in functions and operators, by name and types |
//! | `eval` | what an expression means |
//! | `formula` | expressions computed without making values |
//! | `fold` | constants computed once |
//! | `cast` | conversions between types, and which of them are implicit |
//! | `aggregate` | what an aggregate means |
//! | `window` | what a window function means |
//! | `ahead` | keys that are known before a call begins |
//! | `references` | foreign keys: what a change brings about in other tables |
//! | `partition` | which part of a table a row belongs to |
//! | `plan` | sources of rows: access paths, joins, sorts, groups |
//! | `elements` | what an inverted index has entries for |
//! | `equal` | joins that are found by equal values |
//! | `subquery` | queries inside expressions |
//! | `statement` | queries, inserts, updates, deletes; procedures |
//! | `privilege` | what somebody must be allowed to do |
//! | `point` | statements about one row, flat |
//! | `sweep` | statements about a range of rows, flat |
//! | `ddl` | physical work that a schema change asks an engine to do |
//! | `explain` | statements as EXPLAIN prints them |
//! | `routine`, `code` | steps of routines: as a tree, and flat |
//! | `guise`, `condition` | in whose name and with which settings a routine runs; the names of errors that it may catch |
//! | `dynamic` | statements of routines that are planned when they are reached |
//! | `cursors` | rows by a name that routines open, go through and leave to others |
//! | `large_objects` | descriptors of large objects, and their pages |
//! | `text` | programs as text that reads back |
//! | `validate` | whether a program is one |

pub mod aggregate;
pub mod ahead;
pub mod cast;
pub mod code;
pub mod condition;
pub mod cursors;
pub mod ddl;
pub mod depth;
pub mod dynamic;
pub mod elements;
pub mod equal;
pub mod eval;
pub mod explain;
pub mod expr;
pub mod expressions;
pub mod fold;
pub mod formula;
pub mod function;
pub mod guise;
pub mod large_objects;
pub mod partition;
pub mod plan;
pub mod point;
pub mod privilege;
pub mod references;
pub mod routine;
pub mod schema;
pub mod statement;
pub mod subquery;
pub mod sweep;
pub mod text;
pub mod validate;
pub mod window;

pub use elements::{Elements, Sought, Test};
pub use eval::{
    Host, PutOffSoFar, SequenceState, Spill, eval, eval_predicate, leaf, out_of_memory,
};
pub use expr::{CompareOp, Expr};
pub use fold::{DetachedHost, fold};
pub use formula::{Computed, Formula};
pub use function::Function;
pub use guise::Guise;
pub use plan::{Access, KeyRange, Path, Plan};
pub use privilege::{Need, Needs, Object, ObjectKind, Part, Privileges};
pub use references::{ForeignKey, References, ReferentialAction};
pub use routine::{Program, Routine};
pub use schema::{ColumnDef, IndexDef, SequenceDef, TableDef};
pub use statement::{OutputColumn, Procedure, Statement};
pub use subquery::{Subquery, SubqueryForm};

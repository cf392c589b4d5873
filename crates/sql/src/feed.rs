//! What the database tells of itself as rows: `SELECT * FROM quintet_…(…)`, statements of our own.
//!
//! Relies on: the parser's tree.  Promises: such a name is taken for ours only where it is all that the statement
//! reads, as `SELECT * FROM name(arguments)`; with anything beside it is refused by name.  Does not: make rows
//! (the session does, from the log and from STORE, past every snapshot).

use crate::coerce;
use crate::command::{Command, Planned};
use crate::expr::Binder;
use crate::names::inner;
use crate::planner::Planner;
use crate::scope::Scope;
use pg_query::NodeEnum;
use pg_query::protobuf::{FuncCall, ResTarget, SelectStmt};
use quintet_base::{SqlError, SqlResult, SqlState, SqlType, TypeMod};
use quintet_ir::cast::CastContext;
use quintet_ir::{Expr, OutputColumn};

/// What is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Feed {
    /// `quintet_backup()`: everything that is stored, as of one position of the log.
    Backup,
    /// `quintet_schema()`: the catalogue as statements.
    Schema,
    /// `quintet_changes(position, commits)`: what was committed after a position.
    Changes,
}

/// A feed by its name.
struct Known {
    name: &'static str,
    feed: Feed,
    /// Arguments at least and at most; all are bigint.
    arguments: (usize, usize),
    columns: &'static [(&'static str, SqlType)],
}

const KNOWN: &[Known] = &[
    Known {
        name: "quintet_backup",
        feed: Feed::Backup,
        arguments: (0, 0),
        columns: &[("kind", SqlType::Text), ("body", SqlType::Bytea)],
    },
    Known {
        name: "quintet_schema",
        feed: Feed::Schema,
        arguments: (0, 0),
        columns: &[
            ("section", SqlType::Text),
            ("object", SqlType::Text),
            ("statement", SqlType::Text),
        ],
    },
    Known {
        name: "quintet_changes",
        feed: Feed::Changes,
        arguments: (0, 2),
        columns: &[
            ("position", SqlType::Int8),
            ("committed", SqlType::TimestampTz),
            ("change", SqlType::Text),
            ("schema", SqlType::Text),
            ("table", SqlType::Text),
            ("key", SqlType::Json),
            ("row", SqlType::Json),
        ],
    },
];

/// Plans a SELECT of one of these; `None` if it is another.
///
/// # Errors
/// `0A000` for more than `SELECT * FROM name(…)`, `42883` for other arguments, `42501` for who is no superuser.
pub(crate) fn plan_feed(planner: &Planner, select: &SelectStmt) -> SqlResult<Option<Planned>> {
    let Some((known, call)) = select.from_clause.iter().find_map(named) else {
        return Ok(None);
    };
    let denied = format!("permission denied for function {}", known.name);
    planner.must_be_superuser(&denied)?;
    if !is_all(select) {
        let form = format!("{} in other than SELECT * FROM {0}(…)", known.name);
        return Err(planner.unsupported(form, call.location));
    }
    // It tells of every table, whoever may read which.
    planner.must_be_superuser(&format!("must be superuser to use {}", known.name))?;
    let (least, most) = known.arguments;
    if !(least..=most).contains(&call.args.len()) {
        let given = vec!["bigint"; call.args.len()].join(", ");
        let message = format!("function {}({given}) does not exist", known.name);
        return Err(planner.error(SqlState::UNDEFINED_FUNCTION, message, call.location));
    }
    let nothing = Scope::empty();
    let binder = Binder::new(planner, &nothing, "arguments");
    let argument = |node| -> SqlResult<Expr> {
        let bound = binder.bind(node)?;
        if bound.calls_routine() {
            let what = format!("a function as an argument of {}", known.name);
            return Err(SqlError::unsupported(what));
        }
        coerce::convert(planner, bound, SqlType::Int8, CastContext::Implicit)
    };
    let arguments = call.args.iter().map(argument);
    let arguments = arguments.collect::<SqlResult<Vec<Expr>>>()?;
    let columns = known.columns.iter().map(|(name, ty)| OutputColumn {
        name: (*name).to_string(),
        ty: *ty,
        modifier: TypeMod::NONE,
        origin: None,
    });
    Ok(Some(Planned {
        params: planner.finish_params()?,
        columns: columns.collect(),
        ..planner.command(Command::Feed(known.feed, arguments), "SELECT")
    }))
}

/// One of ours, if that is what the item of FROM calls.
fn named(item: &pg_query::protobuf::Node) -> Option<(&'static Known, &FuncCall)> {
    let Some(NodeEnum::RangeFunction(function)) = inner(item) else {
        return None;
    };
    let [of_one] = function.functions.as_slice() else {
        return None;
    };
    let Some(NodeEnum::List(pair)) = inner(of_one) else {
        return None;
    };
    let Some(NodeEnum::FuncCall(call)) = pair.items.first().and_then(inner) else {
        return None;
    };
    let [name] = call.funcname.as_slice() else {
        return None;
    };
    let Some(NodeEnum::String(name)) = inner(name) else {
        return None;
    };
    let known = KNOWN.iter().find(|known| known.name == name.sval)?;
    Some((known, call))
}

/// Whether the statement says `SELECT * FROM one` and nothing else.
fn is_all(select: &SelectStmt) -> bool {
    let bare = SelectStmt {
        target_list: select.target_list.clone(),
        from_clause: select.from_clause.clone(),
        limit_option: select.limit_option,
        op: select.op,
        ..SelectStmt::default()
    };
    let star = |target: &ResTarget| {
        let value = target.val.as_deref().and_then(inner);
        let Some(NodeEnum::ColumnRef(column)) = value else {
            return false;
        };
        matches!(
            column.fields.as_slice().first().and_then(inner),
            Some(NodeEnum::AStar(_))
        )
    };
    let is_star = match select.target_list.as_slice() {
        [target] => matches!(inner(target), Some(NodeEnum::ResTarget(target)) if star(target)),
        _ => false,
    };
    *select == bare && is_star && select.from_clause.len() == 1
}

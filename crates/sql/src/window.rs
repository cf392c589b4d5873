//! Window functions: OVER, and the WINDOW clause.
//!
//! Relies on: `expr` for arguments, `ir::window` for what there is.  Promises: a call over a window stands at a
//! place above [`WINDOW_BASE`] until `finish` has put the windows above what they look at; windows with the
//! same partitions and order are computed together, and sorted for once.  Does not: evaluate anything.
//!
//! ```text
//! joins or groups -> [Sort] -> Window -> [Sort] -> Window …     frame:  below | calls of 1st | calls of 2nd …
//! ```

use crate::coerce;
use crate::comparable;
use crate::expr::{AGGREGATE_BASE, Binder};
use crate::names::{self, inner, required};
use crate::once::Computed;
use crate::planner::Planner;
use crate::rewrite::transform;
use crate::routine::named;
use crate::scope::Scope;
use crate::select::sort_key;
use pg_query::NodeEnum;
use pg_query::protobuf::{FuncCall, Node, WindowDef};
use quintet_base::{SqlError, SqlResult, SqlState, SqlType};
use quintet_ir::Expr;
use quintet_ir::aggregate::{AggregateFunction, is_aggregate_name};
use quintet_ir::cast::CastContext;
use quintet_ir::function::does_not_exist;
use quintet_ir::function::sets::set_width;
use quintet_ir::plan::{Plan, SortKey};
use quintet_ir::window::{
    Exclusion, FrameBound, FrameMode, WindowCall, WindowFrame, WindowFunction, offset_type,
    resolve_window,
};
use std::cell::RefCell;

/// Places of window functions in an expression that is not yet above its windows: the results of the
/// calls, in order.
pub(crate) const WINDOW_BASE: usize = AGGREGATE_BASE >> 1;

/// Bits of the grammar's frame options.
mod option {
    pub const NONDEFAULT: i32 = 0x1;
    pub const ROWS: i32 = 0x4;
    pub const GROUPS: i32 = 0x8;
    pub const START_UNBOUNDED_PRECEDING: i32 = 0x20;
    pub const END_UNBOUNDED_PRECEDING: i32 = 0x40;
    pub const START_UNBOUNDED_FOLLOWING: i32 = 0x80;
    pub const END_UNBOUNDED_FOLLOWING: i32 = 0x100;
    pub const START_CURRENT_ROW: i32 = 0x200;
    pub const END_CURRENT_ROW: i32 = 0x400;
    pub const START_PRECEDING: i32 = 0x800;
    pub const END_PRECEDING: i32 = 0x1000;
    pub const START_FOLLOWING: i32 = 0x2000;
    pub const END_FOLLOWING: i32 = 0x4000;
    pub const EXCLUDE_CURRENT_ROW: i32 = 0x8000;
    pub const EXCLUDE_GROUP: i32 = 0x10000;
    pub const EXCLUDE_TIES: i32 = 0x20000;
}

/// A window: partitions, their order, and a frame.
#[derive(Clone, Debug)]
struct Spec {
    partition: Vec<Expr>,
    order: Vec<SortKey>,
    /// `None`: nothing is said of it.
    frame: Option<WindowFrame>,
}

/// Partitions and order, with the calls over them: numbers of their places.
#[derive(Debug)]
struct Shared {
    partition: Vec<Expr>,
    order: Vec<SortKey>,
    /// Both, as they were written: windows are many with those that are compared by it.
    text: String,
    calls: Vec<(usize, WindowCall)>,
}

/// The windows of one SELECT.
#[derive(Debug, Default)]
pub(crate) struct Windows {
    named: RefCell<Vec<(String, Spec)>>,
    shared: RefCell<Vec<Shared>>,
}

impl Windows {
    /// Binds the WINDOW clause.
    ///
    /// # Errors
    /// `42P20` for a name that is there already, and what OVER says of a window.
    pub fn declare(&self, binder: &Binder, clause: &[Node]) -> SqlResult<()> {
        for node in clause {
            let Some(NodeEnum::WindowDef(window)) = inner(node) else {
                return Err(SqlError::internal("a WINDOW clause without a window"));
            };
            if self.find(&window.name).is_some() {
                let message = format!("window \"{}\" is already defined", window.name);
                return Err(binder.planner.error(
                    SqlState::WINDOWING_ERROR,
                    message,
                    window.location,
                ));
            }
            let spec = self.spec(binder, window)?;
            self.named.borrow_mut().push((window.name.clone(), spec));
        }
        Ok(())
    }

    fn find(&self, name: &str) -> Option<Spec> {
        let named = self.named.borrow();
        let found = named.iter().find(|(other, _)| other == name);
        found.map(|(_, spec)| spec.clone())
    }

    fn known(&self, planner: &Planner, name: &str, location: i32) -> SqlResult<Spec> {
        self.find(name).ok_or_else(|| {
            let message = format!("window \"{name}\" does not exist");
            planner.error(SqlState::UNDEFINED_OBJECT, message, location)
        })
    }

    /// The window of OVER: a name, or a definition.
    fn over(&self, binder: &Binder, over: &WindowDef) -> SqlResult<Spec> {
        match over.name.as_str() {
            "" => self.spec(binder, over),
            name => self.known(binder.planner, name, over.location),
        }
    }

    /// A window from its definition, which may build on one that has a name.
    fn spec(&self, binder: &Binder, window: &WindowDef) -> SqlResult<Spec> {
        let planner = binder.planner;
        let binder = &Binder {
            windows: None,
            clause: "window definitions",
            ..*binder
        };
        let partition = window.partition_clause.iter().map(|node| {
            let expr = coerce::settle(planner, binder.bind(node)?)?;
            comparable::equated(planner, expr.ty(), names::location(node))?;
            Ok(expr)
        });
        let partition = partition.collect::<SqlResult<Vec<Expr>>>()?;
        let order = window.order_clause.iter().map(|node| {
            let Some(NodeEnum::SortBy(sort)) = inner(node) else {
                return Err(SqlError::internal("ORDER BY without a key"));
            };
            let expr = binder.bind(required(sort.node.as_deref())?)?;
            sort_key(planner, sort, coerce::settle(planner, expr)?)
        });
        let order = order.collect::<SqlResult<Vec<SortKey>>>()?;
        let mut spec = Spec {
            partition,
            order,
            frame: None,
        };
        if !window.refname.is_empty() {
            let base = self.known(planner, &window.refname, window.location)?;
            let refuse = |what: &str| {
                let message = format!("cannot override {what} of window \"{}\"", window.refname);
                Err(planner.error(SqlState::WINDOWING_ERROR, message, window.location))
            };
            if !spec.partition.is_empty() {
                return refuse("PARTITION BY clause");
            }
            if !spec.order.is_empty() && !base.order.is_empty() {
                return refuse("ORDER BY clause");
            }
            if base.frame.is_some() {
                let message = format!(
                    "cannot copy window \"{}\" because it has a frame clause",
                    window.refname
                );
                return Err(planner.error(SqlState::WINDOWING_ERROR, message, window.location));
            }
            spec.partition = base.partition;
            if spec.order.is_empty() {
                spec.order = base.order;
            }
        }
        if window.frame_options & option::NONDEFAULT != 0 {
            spec.frame = Some(frame(planner, window, &spec.order)?);
        }
        Ok(spec)
    }

    /// The place of a call.
    fn add(&self, spec: Spec, call: WindowCall) -> Expr {
        let ty = call.ty;
        let mut shared = self.shared.borrow_mut();
        let place = shared.iter().map(|one| one.calls.len()).sum::<usize>();
        let text = format!("{:?}", (&spec.partition, &spec.order));
        match shared.iter_mut().find(|one| one.text == text) {
            Some(one) => one.calls.push((place, call)),
            None => shared.push(Shared {
                partition: spec.partition,
                order: spec.order,
                text,
                calls: vec![(place, call)],
            }),
        }
        Expr::Column(WINDOW_BASE + place, ty)
    }

    /// True if there is no call over a window.
    pub fn is_empty(&self) -> bool {
        self.shared.borrow().is_empty()
    }

    /// Everything that windows look at, over the frame below them.
    pub fn exprs(&self) -> Vec<Expr> {
        let mut exprs = Vec::new();
        for one in self.shared.borrow().iter() {
            exprs.extend(one.partition.iter().cloned());
            exprs.extend(one.order.iter().map(|key| key.expr.clone()));
            let calls = one.calls.iter();
            exprs.extend(calls.flat_map(|(_, call)| call.exprs().cloned()));
        }
        exprs
    }

    /// Changes what windows look at: another frame lies below them.
    ///
    /// # Errors
    /// What `change` says.
    pub fn change(&self, change: &mut dyn FnMut(&Expr) -> SqlResult<Expr>) -> SqlResult<()> {
        for one in self.shared.borrow_mut().iter_mut() {
            for expr in &mut one.partition {
                *expr = change(expr)?;
            }
            for key in &mut one.order {
                key.expr = change(&key.expr)?;
            }
            for (_, call) in &mut one.calls {
                for expr in call.args.iter_mut().chain(&mut call.filter) {
                    *expr = change(expr)?;
                }
            }
        }
        Ok(())
    }

    /// Puts the windows above a plan; what they give is then in the place of the calls in `above`.
    pub fn finish<'e>(self, mut plan: Plan, above: impl Iterator<Item = &'e mut Expr>) -> Plan {
        let mut shared = self.shared.into_inner();
        // Those that ask for more order come first: it may do for others.
        shared.sort_by_key(|one| std::cmp::Reverse(one.partition.len() + one.order.len()));
        let (below, computed) = {
            let keys = shared.iter().flat_map(|one| {
                let order = one.order.iter().map(|key| &key.expr);
                one.partition.iter().chain(order)
            });
            Computed::below(plan, keys)
        };
        plan = below;
        for one in &mut shared {
            let order = one.order.iter_mut().map(|key| &mut key.expr);
            one.partition
                .iter_mut()
                .chain(order)
                .for_each(|key| computed.take(key));
        }
        let mut width = plan.frame_types().len();
        let mut places = vec![0; shared.iter().map(|one| one.calls.len()).sum()];
        let mut sorted: Vec<String> = Vec::new();
        for one in shared {
            let keys: Vec<SortKey> = one
                .partition
                .iter()
                .map(|expr| SortKey {
                    expr: expr.clone(),
                    descending: false,
                    nulls_first: false,
                })
                .chain(one.order.iter().cloned())
                .collect();
            let wanted: Vec<String> = keys.iter().map(|key| format!("{key:?}")).collect();
            if !sorted.starts_with(&wanted) {
                sorted = wanted;
                plan = Plan::Sort {
                    input: Box::new(plan),
                    keys,
                    top: None,
                };
            }
            for (number, (place, _)) in one.calls.iter().enumerate() {
                places[*place] = width + number;
            }
            width += one.calls.len();
            plan = Plan::Window {
                input: Box::new(plan),
                partition: one.partition,
                order: one.order,
                calls: one.calls.into_iter().map(|(_, call)| call).collect(),
            };
        }
        for expr in above {
            computed.take(expr);
            *expr = transform(expr, &mut |part| match part {
                Expr::Column(place, ty) if is_window(*place) => {
                    Some(Expr::Column(places[place - WINDOW_BASE], *ty))
                }
                _ => None,
            });
        }
        plan
    }
}

/// True for the place of a call over a window.
pub(crate) fn is_window(place: usize) -> bool {
    (WINDOW_BASE..AGGREGATE_BASE).contains(&place)
}

/// True if a window function is called in the expression.
pub(crate) fn has_window(expr: &Expr) -> bool {
    let mut columns = Vec::new();
    expr.collect_columns(&mut columns);
    columns.iter().any(|place| is_window(*place))
}

impl Binder<'_, '_> {
    /// Binds `name(args) OVER …`.
    pub(crate) fn over(&self, name: &str, call: &FuncCall, over: &WindowDef) -> SqlResult<Expr> {
        let location = call.location;
        let here = self.planner.at(location);
        let refuse = |state: SqlState, message: String| -> SqlResult<Expr> {
            Err(self.planner.error(state, message, location))
        };
        let Some(windows) = self.windows else {
            return match self.clause {
                "aggregate function calls" => refuse(
                    SqlState::GROUPING_ERROR,
                    "aggregate function calls cannot contain window function calls".into(),
                ),
                "window function calls" => refuse(
                    SqlState::WINDOWING_ERROR,
                    "window function calls cannot be nested".into(),
                ),
                clause => refuse(
                    SqlState::WINDOWING_ERROR,
                    format!("window functions are not allowed in {clause}"),
                ),
            };
        };
        if call.agg_within_group {
            return Err(self.planner.unsupported("WITHIN GROUP", location));
        }
        if call.func_variadic {
            return Err(self.planner.unsupported("VARIADIC", location));
        }
        let inside = Binder {
            windows: None,
            clause: "window function calls",
            ..*self
        };
        let is_aggregate = is_aggregate_name(name);
        let args = match is_aggregate {
            true => inside.aggregated(name, &call.args)?,
            false => {
                let args = call.args.iter().map(|arg| inside.bind(arg));
                args.collect::<SqlResult<Vec<Expr>>>()?
            }
        };
        let types: Vec<SqlType> = args.iter().map(Expr::ty).collect();
        let (function, params, ty) = match resolve_window(name, &types) {
            _ if call.agg_star && name == "count" => {
                let rows = WindowFunction::Aggregate(AggregateFunction::CountRows);
                (rows, vec![], SqlType::Int8)
            }
            Some(_) if is_aggregate && args.is_empty() && !call.agg_star => {
                return refuse(
                    SqlState::WRONG_OBJECT_TYPE,
                    format!("{name}(*) must be used to call a parameterless aggregate function"),
                );
            }
            Some(resolved) => resolved.map_err(&here)?,
            None if !self.planner.has_function(name)
                && set_width(name).is_none()
                && named(self.planner, call).is_empty() =>
            {
                return Err(here(does_not_exist(name, &types)));
            }
            None => {
                return refuse(
                    SqlState::WRONG_OBJECT_TYPE,
                    format!(
                        "OVER specified, but {name} is not a window function nor an aggregate function"
                    ),
                );
            }
        };
        let unsupported = |what: &str| refuse(SqlState::FEATURE_NOT_SUPPORTED, what.into());
        if call.agg_distinct {
            return unsupported("DISTINCT is not implemented for window functions");
        }
        if !call.agg_order.is_empty() {
            return unsupported("aggregate ORDER BY is not implemented for window functions");
        }
        if call.agg_filter.is_some() && !is_aggregate {
            return unsupported("FILTER is not implemented for non-aggregate window functions");
        }
        let args = args.into_iter().zip(params);
        let args = args.map(|(arg, ty)| coerce::implicit(self.planner, arg, ty));
        let args = args.collect::<SqlResult<Vec<Expr>>>().map_err(&here)?;
        let filter = inside.filter(call)?;
        let spec = windows.over(self, over)?;
        let frame = spec.frame.clone().unwrap_or_else(WindowFrame::usual);
        Ok(windows.add(
            spec,
            WindowCall {
                function,
                args,
                filter,
                frame,
                ty,
            },
        ))
    }
}

/// The frame that is written.
fn frame(planner: &Planner, window: &WindowDef, order: &[SortKey]) -> SqlResult<WindowFrame> {
    use option::*;
    let bits = window.frame_options;
    let has = |bit: i32| bits & bit != 0;
    let mode = if has(ROWS) {
        FrameMode::Rows
    } else if has(GROUPS) {
        FrameMode::Groups
    } else {
        FrameMode::Range
    };
    let wrong =
        |message: &str| Err(planner.error(SqlState::WINDOWING_ERROR, message, window.location));
    if mode == FrameMode::Groups && order.is_empty() {
        return wrong("GROUPS mode requires an ORDER BY clause");
    }
    let measured = has(START_PRECEDING | START_FOLLOWING | END_PRECEDING | END_FOLLOWING);
    if mode == FrameMode::Range && measured && order.len() != 1 {
        return wrong("RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column");
    }
    let bound = |unbounded: (i32, i32), current: i32, offsets: (i32, i32), node: Option<&Node>| {
        Ok(if has(unbounded.0) {
            FrameBound::UnboundedPreceding
        } else if has(unbounded.1) {
            FrameBound::UnboundedFollowing
        } else if has(current) {
            FrameBound::CurrentRow
        } else {
            let offset = offset(planner, mode, order, required(node)?)?;
            match has(offsets.0) {
                true => FrameBound::Preceding(offset),
                false => FrameBound::Following(offset),
            }
        })
    };
    Ok(WindowFrame {
        mode,
        start: bound(
            (START_UNBOUNDED_PRECEDING, START_UNBOUNDED_FOLLOWING),
            START_CURRENT_ROW,
            (START_PRECEDING, START_FOLLOWING),
            window.start_offset.as_deref(),
        )?,
        end: bound(
            (END_UNBOUNDED_PRECEDING, END_UNBOUNDED_FOLLOWING),
            END_CURRENT_ROW,
            (END_PRECEDING, END_FOLLOWING),
            window.end_offset.as_deref(),
        )?,
        exclusion: if has(EXCLUDE_CURRENT_ROW) {
            Exclusion::CurrentRow
        } else if has(EXCLUDE_GROUP) {
            Exclusion::Group
        } else if has(EXCLUDE_TIES) {
            Exclusion::Ties
        } else {
            Exclusion::Nothing
        },
    })
}

/// An offset: it names no column, and has the type that the frame counts in.
fn offset(planner: &Planner, mode: FrameMode, order: &[SortKey], node: &Node) -> SqlResult<Expr> {
    let (clause, word) = match mode {
        FrameMode::Rows => ("window ROWS", "ROWS"),
        FrameMode::Groups => ("window GROUPS", "GROUPS"),
        FrameMode::Range => ("window RANGE", "RANGE"),
    };
    let here = planner.at(names::location(node));
    let nothing = Scope::empty();
    let bound = Binder::new(planner, &nothing, clause).bind(node);
    let bound = bound.map_err(|error| match error.state {
        SqlState::UNDEFINED_COLUMN | SqlState::UNDEFINED_TABLE => error
            .state(SqlState::INVALID_COLUMN_REFERENCE)
            .message(format!("argument of {word} must not contain variables")),
        _ => error,
    })?;
    if bound.calls_routine() {
        return Err(here(SqlError::unsupported(
            "a function in a window's frame",
        )));
    }
    let from = bound.ty();
    if mode != FrameMode::Range {
        return coerce::convert(planner, bound, SqlType::Int8, CastContext::Assignment).map_err(
            |error| {
                let message = format!("argument of {word} must be type bigint, not type {from}");
                here(match error.state {
                    SqlState::CANNOT_COERCE => SqlError::new(SqlState::DATATYPE_MISMATCH, message),
                    _ => error,
                })
            },
        );
    }
    let column = order.first().map_or(SqlType::Unknown, |key| key.expr.ty());
    let refuse = |more: String| {
        here(SqlError::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            format!(
                "RANGE with offset PRECEDING/FOLLOWING is not supported for column type {column}{more}"
            ),
        ))
    };
    let Some(ty) = offset_type(column) else {
        return Err(refuse(String::new()));
    };
    coerce::implicit(planner, bound, ty).map_err(|error| match error.state {
        SqlState::CANNOT_COERCE => refuse(format!(" and offset type {from}")),
        _ => here(error),
    })
}

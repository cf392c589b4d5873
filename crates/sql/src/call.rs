//! Function calls: built-ins, aggregates, sequences, and the words that are functions.
//!
//! Relies on: `ir::function` and `ir::aggregate` for what exists.  Promises: a name is looked up
//! as PostgreSQL does: aggregates, functions, then a type's name as a cast; sequences that
//! constants name are found when the statement is planned.  Does not: run anything.

use crate::catalog::Relation;
use crate::coerce;
use crate::comparable;
use crate::domain;
use crate::expanded::{index_position, true_type};
use crate::expr::{AGGREGATE_BASE, Binder};
use crate::names::{self, inner, required};
use crate::planner::Planner;
use crate::rewrite::{are_alike, same};
use crate::routine::{check_schema, is_routine};
use crate::system::descriptions;
use pg_query::NodeEnum;
use pg_query::protobuf::{
    FuncCall, Node, SortByDir, SortByNulls, SqlValueFunction, SqlValueFunctionOp,
};
use quintet_base::types::TypeFamily;
use quintet_base::{SequenceId, SqlError, SqlResult, SqlState, SqlType, TypeMod, Value};
use quintet_ir::aggregate::{
    AggregateCall, AggregateFunction, is_aggregate_name, resolve_aggregate,
};
use quintet_ir::cast::cast_context;
use quintet_ir::function::extension::is_of_extension;
use quintet_ir::function::jsonpath::{PARAMETERS, default_of, has_parameters};
use quintet_ir::function::large_object::PREFIX as LARGE_OBJECT;
use quintet_ir::function::{Called, does_not_exist, is_function_name, other_call};
use quintet_ir::plan::SortKey;
use quintet_ir::window::WindowFunction;
use quintet_ir::{CompareOp, Expr};
use std::cell::RefCell;

/// Whether a range type's name with one argument is a cast: there are constructors of that name, which take bounds, or ranges.
fn is_cast_to_range(from: SqlType, to: SqlType) -> bool {
    let constructed = matches!(from, SqlType::Range(_)) && matches!(to, SqlType::Multirange(_));
    to.range_kind().is_some() && !constructed && cast_context(from, to).is_some()
}

/// The same of a figure's: a text is read, and a figure of the type is it already.
fn is_cast_to_figure(from: SqlType, to: SqlType) -> bool {
    to.family() == TypeFamily::Geometry && (from == SqlType::Unknown || from == to)
}

impl Binder<'_, '_> {
    /// Binds `name(args)`.
    pub(crate) fn call(&self, call: &FuncCall) -> SqlResult<Expr> {
        let location = call.location;
        let here = self.planner.at(location);
        if let Some(plain) = plain_call(self.planner, call)? {
            return self.call(&plain);
        }
        let Some(name) = names::built_in(&call.funcname) else {
            if let Some(expr) = self.routine_call(call)? {
                return Ok(expr);
            }
            let full = names::strings(&call.funcname).join(".");
            if let [schema, _] = names::strings(&call.funcname).as_slice() {
                check_schema(self.planner, Some(schema)).map_err(&here)?;
            }
            return Err(here(self.no_such_function(&full, &call.args)?));
        };
        if let Some(case) = true_type(name, &call.args) {
            return self.bind(&case);
        }
        if let Some(query) = index_position(name, &call.args)? {
            return self.bind(&query);
        }
        if name.starts_with(LARGE_OBJECT) && !self.planner.is_of_large_objects() {
            return Err(self.planner.error(
                SqlState::UNDEFINED_FUNCTION,
                format!("function {name} does not exist"),
                location,
            ));
        }
        if call.agg_within_group {
            return self.within_group(name, call);
        }
        if let Some(over) = call.over.as_deref() {
            return self.over(name, call, over);
        }
        if let (true, Some(other)) = (call.func_variadic, other_call(name)) {
            return self.with_array(name, &other, call).map_err(here);
        }
        if let Some(expr) = self.aggregate(name, call)? {
            return Ok(expr);
        }
        if call.agg_star
            || call.agg_distinct
            || call.agg_filter.is_some()
            || !call.agg_order.is_empty()
        {
            let what = if call.agg_star {
                format!("{name}(*) specified, but {name} is not an aggregate function")
            } else {
                format!(
                    "DISTINCT, FILTER or ORDER BY specified, but {name} is not an aggregate function"
                )
            };
            return Err(self
                .planner
                .error(SqlState::WRONG_OBJECT_TYPE, what, location));
        }
        if let Some(expr) = self.sequence_function(name, &call.args, location)? {
            return Ok(expr);
        }
        if self.planner.has_set(name) {
            return Err(self
                .planner
                .unsupported(format!("{name}() outside of FROM"), location));
        }
        // A user's function goes before one that an extension would have to be asked for, if it takes these arguments.
        let is_there = self.planner.has_function(name);
        let of_extension = is_there && is_of_extension(name);
        if !is_there || of_extension {
            match self.routine_call(call) {
                Ok(Some(expr)) => return Ok(expr),
                Ok(None) => {}
                Err(error) if of_extension && error.state == SqlState::UNDEFINED_FUNCTION => {}
                Err(error) => return Err(error),
            }
            if !is_there && is_function_name(name) {
                let args = call.args.iter().map(|arg| Ok(self.bind(arg)?.ty()));
                let types = args.collect::<SqlResult<Vec<SqlType>>>()?;
                return Err(here(does_not_exist(name, &types)));
            }
        }
        if WindowFunction::from_name(name).is_some() {
            let message = format!("window function {name} requires an OVER clause");
            return Err(self
                .planner
                .error(SqlState::WRONG_OBJECT_TYPE, message, location));
        }
        if let Some(expr) = self.remark(name, &call.args).map_err(&here)? {
            return Ok(expr);
        }
        if let Some(expr) = self.document(name, &call.args).map_err(&here)? {
            return Ok(expr);
        }
        let mut args = match named_arguments(call) {
            Some(named) if has_parameters(name) => self.with_defaults(name, named)?,
            Some(named) => self.in_their_places(name, named)?,
            None => {
                let args = call.args.iter().map(|arg| self.bind(arg));
                args.collect::<SqlResult<Vec<Expr>>>()?
            }
        };
        if let Some(expr) = self.enum_function(name, &args).map_err(&here)? {
            return Ok(expr);
        }
        if let Some(expr) = self.text_call(name, &args).map_err(&here)? {
            return Ok(expr);
        }
        if name == "pg_typeof" && args.len() == 1 {
            return Ok(Expr::Const(
                Value::Oid(args[0].ty().oid()),
                SqlType::RegType,
            ));
        }
        if let [arg] = args.as_slice()
            && let Some(ty) = SqlType::from_name(name)
            && (!is_function_name(name)
                || is_cast_to_range(arg.ty(), ty)
                || is_cast_to_figure(arg.ty(), ty))
        {
            let arg = args.swap_remove(0);
            return coerce::explicit(self.planner, arg, ty, TypeMod::NONE).map_err(here);
        }
        if !is_function_name(name)
            && args.len() == 1
            && let Some(record) = self.planner.find_type(None, name)
            && let Some(ty) = self.planner.catalog().type_of_oid(record.id)
        {
            let arg = args.swap_remove(0);
            let modifier = record.domain().map_or(TypeMod::NONE, |d| d.modifier);
            let cast = coerce::explicit(self.planner, arg, ty, modifier);
            let cast = cast.and_then(|cast| domain::checked(self.planner, record, cast));
            return cast.map_err(here);
        }
        if let ([_], Some(known)) = (args.as_slice(), descriptions(self.planner, name)) {
            return self
                .described(name, args.swap_remove(0), known)
                .map_err(here);
        }
        let of_vector =
            name == "array_position" && args.first().is_some_and(|a| a.ty().is_vector());
        // A type's name that is a function's as well, which takes no such argument: `text(5)`. Of a row, nobody means that.
        let cast = match (args.as_slice(), SqlType::from_name(name)) {
            ([arg], Some(ty)) if !arg.ty().is_record() && arg.ty() != SqlType::Record => {
                Some((arg.clone(), ty))
            }
            _ => None,
        };
        let found = match self.apply(name, args) {
            Err(error) if error.state == SqlState::UNDEFINED_FUNCTION => {
                // A user's function of the same name may take what the built-in one does not.
                if !of_extension && is_routine(self.planner, call) {
                    match self.routine_call(call) {
                        Ok(Some(expr)) => return Ok(expr),
                        Err(other) if other.state != SqlState::UNDEFINED_FUNCTION => {
                            return Err(other);
                        }
                        _ => {}
                    }
                }
                let cast =
                    cast.map(|(arg, ty)| coerce::explicit(self.planner, arg, ty, TypeMod::NONE));
                return cast.and_then(Result::ok).ok_or_else(|| here(error));
            }
            other => other.map_err(&here)?,
        };
        if !of_vector {
            return Ok(found);
        }
        let one = Expr::Const(Value::Int4(1), SqlType::Int4);
        self.apply("-", vec![found, one]).map_err(here)
    }

    /// A call with VARIADIC of a function that takes any number of arguments.
    fn with_array(&self, name: &str, other: &Called, call: &FuncCall) -> SqlResult<Expr> {
        let args = call.args.iter().map(|arg| self.bind(arg));
        let args = args.collect::<SqlResult<Vec<Expr>>>()?;
        if args.len() != other.before + 1 {
            let types: Vec<SqlType> = args.iter().map(Expr::ty).collect();
            return Err(does_not_exist(name, &types));
        }
        let given = (call.args.last().zip(args.last())).filter(|_| !other.of_text);
        if let Some((node, array)) = given
            && array.ty().element().is_none()
        {
            let message = "VARIADIC argument must be an array";
            let location = names::location(node);
            return Err(self
                .planner
                .error(SqlState::DATATYPE_MISMATCH, message, location));
        }
        self.apply(other.function, args)
    }

    /// What is asked of an enum as a whole; `None` if nothing is.
    fn enum_function(&self, name: &str, args: &[Expr]) -> SqlResult<Option<Expr>> {
        if !matches!(name, "enum_first" | "enum_last" | "enum_range") {
            return Ok(None);
        }
        let Some(ty) = args.iter().map(Expr::ty).find(|ty| ty.is_enum()) else {
            return Ok(None);
        };
        let SqlType::Enum(number) = ty else {
            return Ok(None);
        };
        let mut values = self.planner.catalog().values_of(number);
        let whole = |values| {
            let array = quintet_base::value::Array {
                shape: None,
                element: ty,
                values,
            };
            Expr::Const(Value::Array(Box::new(array)), SqlType::EnumArray(number))
        };
        Ok(match (name, args) {
            ("enum_first", [_]) if !values.is_empty() => Some(Expr::Const(values.remove(0), ty)),
            ("enum_last", [_]) => values.pop().map(|last| Expr::Const(last, ty)),
            ("enum_range", [_]) => Some(whole(values)),
            ("enum_range", [low, high]) => {
                let bound = |arg: &Expr| coerce::implicit(self.planner, arg.clone(), ty);
                let args = vec![whole(values), bound(low)?, bound(high)?];
                Some(self.apply("[enum]", args)?)
            }
            _ => None,
        })
    }

    /// Arguments with names, those that are not given filled in: of the one built-in that is called so.
    fn in_their_places(&self, name: &str, args: &[Node]) -> SqlResult<Vec<Expr>> {
        const PARTS: [&str; 7] = ["years", "months", "weeks", "days", "hours", "mins", "secs"];
        let zero = |at: usize| match at {
            6 => Expr::Const(Value::Float8(0.0), SqlType::Float8),
            _ => Expr::Const(Value::Int4(0), SqlType::Int4),
        };
        let mut placed: Vec<Expr> = (0..PARTS.len()).map(zero).collect();
        for (at, node) in args.iter().enumerate() {
            let location = names::location(node);
            let (place, value) = match inner(node) {
                Some(NodeEnum::NamedArgExpr(named)) if name == "make_interval" => (
                    PARTS.iter().position(|part| *part == named.name),
                    required(named.arg.as_deref())?,
                ),
                Some(NodeEnum::NamedArgExpr(_)) => {
                    return Err(self.planner.unsupported("a named argument", location));
                }
                _ => (Some(at), node),
            };
            let Some(place) = place.filter(|place| *place < placed.len()) else {
                let message = format!("function {name} has no such argument");
                return Err(self
                    .planner
                    .error(SqlState::UNDEFINED_FUNCTION, message, location));
            };
            placed[place] = self.bind(value)?;
        }
        Ok(placed)
    }

    /// Arguments of `jsonb_path_query` and its kin, some with names; what is left out before others has its default.
    ///
    /// # Errors
    /// `42883` as PostgreSQL says it where no function has such arguments.
    pub(crate) fn with_defaults(&self, name: &str, args: &[Node]) -> SqlResult<Vec<Expr>> {
        let mut placed: Vec<Option<Expr>> = vec![None; PARAMETERS.len()];
        let mut given = Vec::new();
        let mut fits = true;
        for (at, node) in args.iter().enumerate() {
            let (place, value) = match inner(node) {
                Some(NodeEnum::NamedArgExpr(named)) => {
                    let place = PARAMETERS.iter().position(|own| *own == named.name);
                    let value = self.bind(required(named.arg.as_deref())?)?;
                    given.push((Some(named.name.as_str()), value.ty()));
                    (place, value)
                }
                _ => {
                    let value = self.bind(node)?;
                    given.push((None, value.ty()));
                    (Some(at), value)
                }
            };
            match place.and_then(|place| placed.get_mut(place)) {
                Some(free) if free.is_none() => *free = Some(value),
                _ => fits = false,
            }
        }
        if !fits || placed[..2].iter().any(Option::is_none) {
            let said = given.iter().map(|(name, ty)| match name {
                Some(name) => format!("{name} => {ty}"),
                None => ty.to_string(),
            });
            let said = said.collect::<Vec<_>>().join(", ");
            let message = format!("function {name}({said}) does not exist");
            return Err(SqlError::new(SqlState::UNDEFINED_FUNCTION, message).hint(
                "No function matches the given name and argument types. You might need to add explicit type casts.",
            ));
        }
        let last = placed.iter().rposition(Option::is_some).unwrap_or(0);
        let placed = placed.into_iter().take(last + 1).enumerate();
        let with_type = |place| match place {
            3 => SqlType::Bool,
            _ => SqlType::Jsonb,
        };
        Ok(placed
            .map(|(place, arg)| {
                arg.unwrap_or_else(|| Expr::Const(default_of(place), with_type(place)))
            })
            .collect())
    }

    /// What a function says of a routine by its number, as the catalogue is now; plans do not outlive it.
    fn described(&self, name: &str, number: Expr, known: Vec<(u32, String)>) -> SqlResult<Expr> {
        let number = coerce::implicit(self.planner, number, SqlType::Oid)?;
        // What is built in is asked for when the statement runs.
        let otherwise = match is_function_name(name) {
            true => Some(Box::new(self.apply(name, vec![number.clone()])?)),
            false => None,
        };
        let branches = known.into_iter().map(|(oid, text)| {
            let is_it = Expr::Compare {
                op: CompareOp::Eq,
                left: Box::new(number.clone()),
                right: Box::new(Expr::Const(Value::Oid(oid), SqlType::Oid)),
            };
            let text = self.planner.with_type_names(text);
            (is_it, Expr::Const(Value::text(&text), SqlType::Text))
        });
        let branches: Vec<(Expr, Expr)> = branches.collect();
        Ok(match (branches.is_empty(), otherwise) {
            (true, None) => Expr::null(SqlType::Text),
            (true, Some(otherwise)) => *otherwise,
            (false, otherwise) => Expr::Case {
                branches,
                otherwise,
                ty: SqlType::Text,
            },
        })
    }

    /// `42883` for a function that there is none of, whatever its arguments.
    fn no_such_function(&self, full: &str, args: &[Node]) -> SqlResult<SqlError> {
        let said = args.iter().map(|arg| match inner(arg) {
            Some(NodeEnum::NamedArgExpr(named)) => {
                let ty = self.bind(required(named.arg.as_deref())?)?.ty();
                Ok(format!("{} => {ty}", named.name))
            }
            _ => Ok(self.bind(arg)?.ty().to_string()),
        });
        let said = said.collect::<SqlResult<Vec<String>>>()?.join(", ");
        let message = format!("function {full}({said}) does not exist");
        Ok(SqlError::new(SqlState::UNDEFINED_FUNCTION, message).hint(
            "No function matches the given name and argument types. You might need to add explicit type casts.",
        ))
    }

    /// Binds an aggregate: its place among the results of the aggregation to come.
    fn aggregate(&self, name: &str, call: &FuncCall) -> SqlResult<Option<Expr>> {
        let location = call.location;
        let here = self.planner.at(location);
        if !is_aggregate_name(name) {
            return Ok(None);
        }
        if self.planner.is_in_subquery()
            && let Some(outer) = self.outer_aggregate(name, call)?
        {
            return Ok(Some(outer));
        }
        let Some(collected) = self.aggregates else {
            return Err(self.planner.error(
                SqlState::GROUPING_ERROR,
                format!("aggregate functions are not allowed in {}", self.clause),
                location,
            ));
        };
        let inside = Binder {
            aggregates: None,
            groupings: None,
            windows: None,
            clause: "aggregate function calls",
            ..*self
        };
        let nested = |error: SqlError| match error.state {
            SqlState::GROUPING_ERROR => error.message("aggregate function calls cannot be nested"),
            _ => error,
        };
        let args = inside.aggregated(name, &call.args).map_err(nested)?;
        let types: Vec<SqlType> = args.iter().map(Expr::ty).collect();
        let (function, params, ty) = match resolve_aggregate(name, &types) {
            _ if call.agg_star && name == "count" => {
                (AggregateFunction::CountRows, vec![], SqlType::Int8)
            }
            Some(resolved) => resolved.map_err(&here)?,
            None => return Ok(None),
        };
        let args: SqlResult<Vec<Expr>> = args
            .into_iter()
            .zip(params)
            .map(|(arg, ty)| coerce::implicit(self.planner, arg, ty))
            .collect();
        let filter = inside.filter(call)?;
        let order: SqlResult<Vec<SortKey>> = call
            .agg_order
            .iter()
            .map(|node| inside.aggregate_order(node))
            .collect();
        let (args, mut order) = (args.map_err(&here)?, order?);
        if call.agg_distinct {
            // As they were written: some functions take their arguments as documents.
            for node in &call.args {
                let ty = inside.bind(node).map_or(SqlType::Unknown, |arg| arg.ty());
                comparable::equated(self.planner, ty, names::location(node))?;
            }
            inside.order_of_distinct(call, &order)?;
        }
        // PostgreSQL finds the distinct ones by sorting, which an array or a text shows.
        if call.agg_distinct && order.is_empty() && is_ordered(function) {
            let ascending = |expr: &Expr| SortKey {
                expr: expr.clone(),
                descending: false,
                nulls_first: false,
            };
            order = args.iter().map(ascending).collect();
        }
        let bound = AggregateCall {
            function,
            args,
            distinct: call.agg_distinct,
            filter,
            order,
            ty,
        };
        let mut collected = collected.borrow_mut();
        // The same call twice is computed once.
        let text = format!("{bound:?}");
        let is_it = |other: &AggregateCall| {
            let mut pairs = other.args.iter().zip(&bound.args);
            pairs.all(|(one, other)| are_alike(one, other)) && format!("{other:?}") == text
        };
        let place = match collected.iter().position(is_it) {
            Some(place) => place,
            None => {
                collected.push(bound);
                collected.len() - 1
            }
        };
        Ok(Some(Expr::Column(AGGREGATE_BASE + place, ty)))
    }

    /// An aggregate whose columns are all of queries around the subquery at hand belongs to the innermost of these: its result there,
    /// as it is handed to the subquery; `None` for any other.
    fn outer_aggregate(&self, name: &str, call: &FuncCall) -> SqlResult<Option<Expr>> {
        let before = self.planner.handed_so_far();
        // What it consists of is bound to see whose columns it has; what is wrong with it is said when it is bound for good.
        let trial = RefCell::new(Vec::new());
        let inside = Binder {
            aggregates: Some(&trial),
            groupings: None,
            windows: None,
            subqueries: None,
            ..*self
        };
        let of_order = |node: &Node| match inner(node) {
            Some(NodeEnum::SortBy(sort)) => sort.node.as_deref().cloned(),
            _ => None,
        };
        let parts = call.args.iter().cloned();
        let parts = parts.chain(call.agg_filter.as_deref().cloned());
        let parts = parts.chain(call.agg_order.iter().filter_map(of_order));
        let bound: Vec<Expr> = parts.flat_map(|part| inside.bind(&part)).collect();
        self.planner.hand_back(&before);
        let is_outer = bound.iter().any(Expr::uses_outer)
            && !bound.iter().any(Expr::uses_columns)
            && trial.borrow().is_empty();
        if !is_outer {
            return Ok(None);
        }
        self.planner.one_level_out(|level| {
            let collected = level.around.aggregates.take().map(RefCell::new);
            let around = Binder {
                planner: self.planner,
                scope: &level.scope,
                clause: level.around.clause,
                aggregates: collected.as_ref(),
                groupings: None,
                windows: None,
                subqueries: None,
            };
            let found = around.aggregate(name, call);
            level.around.aggregates = collected.map(RefCell::into_inner);
            found
        })
    }

    /// FILTER, bound like the arguments of the call.
    pub(crate) fn filter(&self, call: &FuncCall) -> SqlResult<Option<Expr>> {
        let Some(node) = call.agg_filter.as_deref() else {
            return Ok(None);
        };
        let inside = Binder {
            clause: "FILTER",
            ..*self
        };
        inside.condition(node).map(Some)
    }

    /// What is made distinct is in an order only if that is one of its arguments, as they were written.
    fn order_of_distinct(&self, call: &FuncCall, order: &[SortKey]) -> SqlResult<()> {
        if order.is_empty() {
            return Ok(());
        }
        // A name that stands for a row has no expression; ORDER BY refuses it as well.
        let args: Vec<Expr> = call.args.iter().flat_map(|arg| self.bind(arg)).collect();
        let stranger = |key: &SortKey| !args.iter().any(|arg| same(arg, &key.expr));
        let Some(place) = order.iter().position(stranger) else {
            return Ok(());
        };
        let at = match inner(&call.agg_order[place]) {
            Some(NodeEnum::SortBy(sort)) => sort.node.as_deref().map_or(-1, names::location),
            _ => -1,
        };
        Err(self.planner.error(
            SqlState::INVALID_COLUMN_REFERENCE,
            "in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list",
            at,
        ))
    }

    fn aggregate_order(&self, node: &Node) -> SqlResult<SortKey> {
        let Some(NodeEnum::SortBy(sort)) = inner(node) else {
            return Err(SqlError::internal("ORDER BY without a key"));
        };
        let node = required(sort.node.as_deref())?;
        let expr = coerce::settle(self.planner, self.bind(node)?)?;
        comparable::ordered(self.planner, expr.ty(), names::location(node))?;
        let (descending, nulls_first) = direction(sort.sortby_dir(), sort.sortby_nulls());
        Ok(SortKey {
            expr,
            descending,
            nulls_first,
        })
    }

    fn sequence_function(
        &self,
        name: &str,
        args: &[Node],
        location: i32,
    ) -> SqlResult<Option<Expr>> {
        let here = self.planner.at(location);
        let known = match (name, args) {
            ("nextval" | "currval", [sequence]) => self.sequence(sequence)?,
            ("setval", [sequence, _] | [sequence, _, _]) => self.sequence(sequence)?,
            _ => None,
        };
        // Any other is found when the call is evaluated: these are also functions.
        let Some(sequence) = known else {
            return Ok(None);
        };
        Ok(Some(match (name, args) {
            ("nextval", _) => Expr::NextVal(sequence),
            ("currval", _) => Expr::CurrVal(sequence),
            (_, [_, value, rest @ ..]) => {
                let value = coerce::implicit(self.planner, self.bind(value)?, SqlType::Int8)
                    .map_err(&here)?;
                let is_called = match rest.first() {
                    Some(node) => coerce::implicit(self.planner, self.bind(node)?, SqlType::Bool)
                        .map_err(&here)?,
                    None => Expr::Const(Value::Bool(true), SqlType::Bool),
                };
                Expr::SetVal {
                    sequence,
                    value: Box::new(value),
                    is_called: Box::new(is_called),
                }
            }
            _ => return Ok(None),
        }))
    }

    /// The sequence that a constant names; `None` if no constant does.
    fn sequence(&self, node: &Node) -> SqlResult<Option<SequenceId>> {
        let location = names::location(node);
        let Some(text) = self.constant_name(node)? else {
            return Ok(None);
        };
        match self.find_relation(&text, location)? {
            Relation::Sequence(id) => Ok(Some(id)),
            _ => Err(self.planner.error(
                SqlState::WRONG_OBJECT_TYPE,
                format!("\"{text}\" is not a sequence"),
                location,
            )),
        }
    }

    /// The text of a name, if it is known when the statement is planned.
    fn constant_name(&self, node: &Node) -> SqlResult<Option<String>> {
        // `'name'::regclass` stands for the name.
        let node = match inner(node) {
            Some(NodeEnum::TypeCast(cast)) => cast.arg.as_deref().unwrap_or(node),
            _ => node,
        };
        let is_literal = matches!(
            inner(node),
            Some(NodeEnum::AConst(_) | NodeEnum::TypeCast(_))
        );
        if !is_literal {
            return Ok(None);
        }
        Ok(match self.bind(node)? {
            // A number is an object's own.
            Expr::Const(Value::Text(text), _)
                if !text.bytes().all(|byte| byte.is_ascii_digit()) =>
            {
                Some(text.to_string())
            }
            _ => None,
        })
    }

    fn find_relation(&self, text: &str, location: i32) -> SqlResult<Relation> {
        let (schema, name) = split_name(text);
        self.planner
            .find_relation(schema.as_deref(), &name)
            .ok_or_else(|| {
                let message = format!("relation \"{text}\" does not exist");
                self.planner
                    .error(SqlState::UNDEFINED_TABLE, message, location)
            })
    }

    /// CURRENT_TIMESTAMP, CURRENT_USER and the like.
    pub(crate) fn value_function(&self, function: &SqlValueFunction) -> SqlResult<Expr> {
        use SqlValueFunctionOp::*;
        let here = self.planner.at(function.location);
        let plain = |name: &str| self.apply(name, vec![]).map_err(&here);
        let now_as = |ty: SqlType, modifier: TypeMod| -> SqlResult<Expr> {
            let now = self.apply("now", vec![]).map_err(&here)?;
            let now = coerce::explicit(self.planner, now, ty, TypeMod::NONE).map_err(&here)?;
            Ok(match modifier {
                TypeMod::NONE => now,
                modifier => Expr::Cast {
                    input: Box::new(now),
                    to: ty,
                    modifier,
                    explicit: true,
                },
            })
        };
        let digits = TypeMod(function.typmod);
        match function.op() {
            SvfopCurrentDate => now_as(SqlType::Date, TypeMod::NONE),
            SvfopCurrentTimestamp => plain("now"),
            SvfopCurrentTimestampN => now_as(SqlType::TimestampTz, digits),
            SvfopLocaltimestamp => now_as(SqlType::Timestamp, TypeMod::NONE),
            SvfopLocaltimestampN => now_as(SqlType::Timestamp, digits),
            SvfopCurrentRole | SvfopCurrentUser | SvfopUser => plain("current_user"),
            SvfopSessionUser => plain("session_user"),
            SvfopCurrentCatalog => plain("current_database"),
            SvfopCurrentSchema => plain("current_schema"),
            SvfopCurrentTime => now_as(SqlType::TimeTz, TypeMod::NONE),
            SvfopCurrentTimeN => now_as(SqlType::TimeTz, digits),
            SvfopLocaltime => now_as(SqlType::Time, TypeMod::NONE),
            SvfopLocaltimeN => now_as(SqlType::Time, digits),
            SqlvalueFunctionOpUndefined => Err(SqlError::internal("a value function of no kind")),
        }
    }
}

/// True for the aggregates whose result shows the order of the rows.
fn is_ordered(function: AggregateFunction) -> bool {
    use AggregateFunction::*;
    matches!(
        function,
        ArrayAgg | StringAgg | JsonAgg | JsonbAgg | JsonObjectAgg | JsonbObjectAgg
    )
}

/// The call without what says nothing, if it has such: the database's own name, and parameters that a client
/// has declared void, as JDBC does for what the function gives back.
///
/// # Errors
/// `0A000` for another database's.
pub(crate) fn plain_call(planner: &Planner, call: &FuncCall) -> SqlResult<Option<FuncCall>> {
    let mut plain = None;
    if let [_, _, _] = call.funcname[..] {
        let name = names::strings(&call.funcname);
        planner.local(&name, 2).map_err(planner.at(call.location))?;
        plain.get_or_insert_with(|| call.clone()).funcname.remove(0);
    }
    let is_void = |node: &Node| match inner(node) {
        Some(NodeEnum::ParamRef(param)) if planner.variables.is_none() => {
            let place = usize::try_from(param.number - 1);
            place.is_ok_and(|place| planner.declared(place) == SqlType::Void)
        }
        _ => false,
    };
    if !call.agg_within_group && call.args.iter().any(is_void) {
        let plain = plain.get_or_insert_with(|| call.clone());
        plain.args.retain(|node| !is_void(node));
    }
    Ok(plain)
}

/// Whether an argument of a call has a name.
pub(crate) fn has_names(call: &FuncCall) -> bool {
    named_arguments(call).is_some()
}

/// A call's arguments, if one has a name.
fn named_arguments(call: &FuncCall) -> Option<&[Node]> {
    let is_named = |node: &Node| matches!(inner(node), Some(NodeEnum::NamedArgExpr(_)));
    call.args.iter().any(is_named).then_some(&call.args)
}

/// Descending, and NULLs first: PostgreSQL puts NULLs last ascending and first descending.
pub(crate) fn direction(dir: SortByDir, nulls: SortByNulls) -> (bool, bool) {
    let descending = dir == SortByDir::SortbyDesc;
    let nulls_first = match nulls {
        SortByNulls::SortbyNullsFirst => true,
        SortByNulls::SortbyNullsLast => false,
        _ => descending,
    };
    (descending, nulls_first)
}

/// `schema.name` as text, folded and unquoted.
pub(crate) fn split_name(text: &str) -> (Option<String>, String) {
    let mut parts = vec![String::new()];
    let mut quoted = false;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let part = parts.last_mut().expect("begins with one part");
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                part.push('"');
            }
            '"' => quoted = !quoted,
            '.' if !quoted => parts.push(String::new()),
            c if quoted => part.push(c),
            c => part.extend(c.to_lowercase()),
        }
    }
    let name = parts.pop().unwrap_or_default();
    (parts.pop(), name)
}

//! Which routine a call means, and what its arguments are.
//!
//! Relies on: signatures, `ir::function` for the choice among overloads.  Promises: PostgreSQL's rules;
//! defaults fill in what is left out; names may stand before arguments; a VARIADIC parameter takes all that are left.
//! `polymorphic` says what types that stand for others are.  Does not: ranges among them.

use super::StoredRoutine;
use super::polymorphic::{self, Fit, is_polymorphic};
use super::signature::{Parameter, ROW, Signature};
use crate::call::plain_call;
use crate::coerce;
use crate::composite;
use crate::expr::Binder;
use crate::names::{inner, required};
use crate::planner::Planner;
use crate::plpgsql::ParameterMode;
use crate::row_value::{Row, unless};
use crate::scope::Scope;
use pg_query::NodeEnum;
use pg_query::protobuf::{FuncCall, Node};
use quintet_base::{SqlError, SqlResult, SqlState, SqlType, Value};
use quintet_ir::Expr;
use quintet_ir::cast::CastContext;
use quintet_ir::function::{self, Choice, choose_among};
use quintet_ir::schema::TableDef;
use std::ops::Range;
use std::sync::Arc;

/// A call that has found its routine: one expression per slot of its parameters, of its type.
pub(crate) struct Matched {
    pub signature: Arc<Signature>,
    pub arguments: Vec<Expr>,
}

/// An argument as it is written.
struct Given {
    name: Option<String>,
    value: Argument,
}

/// What is given.
enum Argument {
    Value(Expr),
    Row(Row),
}

impl Argument {
    /// Its type; of a row, what stands for rows among types, see [`Parameter::ty`].
    fn ty(&self) -> SqlType {
        match self {
            Argument::Value(expr) => expr.ty(),
            Argument::Row(_) => ROW,
        }
    }

    /// Whether it may be a parameter's value, as far as one of them is a row.
    fn fits(&self, parameter: &Parameter) -> bool {
        match (self, &parameter.row) {
            (Argument::Value(_), None) => true,
            (Argument::Value(expr), Some(_)) => expr.ty() == SqlType::Unknown,
            (Argument::Row(_), None) => false,
            (Argument::Row(row), Some(table)) => match row.table {
                Some(id) => id == table.id,
                // If it has not as many fields, that is said of the one function that fits.
                None => true,
            },
        }
    }
}

/// True if some routine has this name.
pub(crate) fn is_routine(planner: &Planner, call: &FuncCall) -> bool {
    !named(planner, call).is_empty()
}

/// The routines that a call may mean by its name.
pub(crate) fn named<'a>(planner: &Planner<'a>, call: &FuncCall) -> Vec<&'a Arc<StoredRoutine>> {
    let Some((schema, name)) = parts(planner, call) else {
        return Vec::new();
    };
    meant(planner, schema, name)
}

/// The routines that a name may mean, those of large objects among them.
fn meant<'a>(
    planner: &Planner<'a>,
    schema: Option<&str>,
    name: &str,
) -> Vec<&'a Arc<StoredRoutine>> {
    let mut found = match schema {
        None | Some("pg_catalog") => planner.large_object_routines(name),
        Some(_) => Vec::new(),
    };
    let built_in = found.len();
    let key = |stored: &StoredRoutine| Some(stored.signature(planner.catalog()).ok()?.key());
    for stored in planner.find_routines(schema, name) {
        // pg_catalog comes first on the path.
        let own = if built_in > 0 { key(stored) } else { None };
        let hides = |other: &&Arc<StoredRoutine>| own.is_some() && key(other) == own;
        if !found[..built_in].iter().any(hides) {
            found.push(stored);
        }
    }
    found
}

fn parts<'c>(planner: &Planner, call: &'c FuncCall) -> Option<(Option<&'c str>, &'c str)> {
    let name = crate::names::strings(&call.funcname);
    match planner.local(&name, 2).ok()? {
        [name] => Some((None, name)),
        [schema, name] => Some((Some(schema), name)),
        _ => None,
    }
}

/// Finds the routine of a call and binds its arguments. `procedure`: CALL.
///
/// # Errors
/// `42883` if none fits, `42725` if several do, `42809` if it is of the other kind.
pub(crate) fn matched(binder: &Binder, call: &FuncCall, procedure: bool) -> SqlResult<Matched> {
    let found = best_match(binder, call, procedure)?;
    let stored = binder.planner.catalog().routine(found.signature.id);
    let id = stored.map_or(found.signature.id, |stored| stored.record.id);
    binder.planner.need_routine(id);
    Ok(found)
}

fn best_match(binder: &Binder, call: &FuncCall, procedure: bool) -> SqlResult<Matched> {
    let planner = binder.planner;
    let here = planner.at(call.location);
    let plain = match procedure {
        // CALL names its OUT arguments.
        true => None,
        false => plain_call(planner, call)?,
    };
    let call = plain.as_ref().unwrap_or(call);
    let Some((schema, name)) = parts(planner, call) else {
        return Err(here(SqlError::unsupported(
            "a reference to another database",
        )));
    };
    check_schema(planner, schema).map_err(&here)?;
    // Messages say it as it was written.
    let full = match schema {
        Some(schema) => format!("{schema}.{name}"),
        None => name.to_string(),
    };
    let argument = |node: &Node| match binder.row(node)? {
        Some(row) => Ok::<_, SqlError>(Argument::Row(row)),
        None => {
            let value = binder.bind(node)?;
            Ok(match binder.row_of_value(&value)? {
                Some(row) => Argument::Row(row),
                None => Argument::Value(value),
            })
        }
    };
    let mut given: Vec<Given> = Vec::with_capacity(call.args.len());
    for node in &call.args {
        given.push(match inner(node) {
            Some(NodeEnum::NamedArgExpr(named)) => Given {
                name: Some(named.name.clone()),
                value: argument(required(named.arg.as_deref())?)?,
            },
            _ if given.last().is_some_and(|given| given.name.is_some()) => {
                let message = "positional argument cannot follow named argument";
                return Err(here(SqlError::new(SqlState::SYNTAX_ERROR, message)));
            }
            _ => Given {
                name: None,
                value: argument(node)?,
            },
        });
    }
    let types = given.iter().map(|given| match given.value.ty() {
        // JDBC's word for an OUT argument.
        SqlType::Void if procedure => SqlType::Unknown,
        ty => ty,
    });
    let types: Vec<SqlType> = types.collect();
    let mut candidates = Vec::new();
    let mut unknown = None;
    for stored in meant(planner, schema, name) {
        let signature = stored.signature(planner.catalog())?;
        let Some(places) = places(signature, &given, (procedure, call.func_variadic)) else {
            continue;
        };
        if !is_polymorphic(signature) {
            candidates.push((Arc::clone(signature), places, false));
            continue;
        }
        let of = given_types(planner, signature, (&places, &types))?;
        match polymorphic::fit(signature, &of) {
            Fit::Types(of) => {
                let form = planner.catalog().variants().of(signature, of)?;
                candidates.push((Arc::new(form), places, true));
            }
            Fit::No => {}
            Fit::Unknown(message) => unknown = Some(message),
        }
    }
    prefer_plain(&mut candidates, &types);
    let mut candidates: Vec<(Arc<Signature>, Vec<Place>)> = candidates
        .into_iter()
        .map(|(signature, places, _)| (signature, places))
        .collect();
    let mut lists: Vec<Vec<SqlType>> = candidates
        .iter()
        .map(|(signature, places)| types_by_argument(signature, places, given.len()))
        .collect();
    prefer_exact(&mut candidates, &mut lists);
    let (signature, places) = match choose_among(&lists, &types) {
        Choice::One(number) => candidates.swap_remove(number),
        Choice::None => {
            return Err(here(match unknown {
                Some(message) => SqlError::new(SqlState::DATATYPE_MISMATCH, message),
                // CALL of what is built in.
                None if procedure
                    && schema.is_none_or(|schema| schema == "pg_catalog")
                    && (function::resolve(name, &types).is_ok() || is_sleep(name, &types)) =>
                {
                    other_kind(&written(&full, &given), procedure)
                }
                None => not_found(&written(&full, &given), procedure),
            }));
        }
        Choice::Several => {
            let what = if procedure { "procedure" } else { "function" };
            let message = format!("{what} {} is not unique", written(&full, &given));
            let hint = format!(
                "Could not choose a best candidate {what}. You might need to add explicit type casts."
            );
            let error = SqlError::new(SqlState::AMBIGUOUS_FUNCTION, message);
            return Err(here(error.hint(hint)));
        }
    };
    if signature.procedure != procedure {
        return Err(here(other_kind(&written(&full, &given), procedure)));
    }
    let given = given.into_iter().map(|given| Some(given.value));
    let mut given: Vec<Option<Argument>> = given.collect();
    let mut arguments = Vec::with_capacity(places.len());
    let mut markers = Vec::new();
    for (place, parameter) in places.iter().zip(&signature.parameters) {
        if let Some(table) = &parameter.row {
            let row = match place {
                Place::Given(number) => given[*number].take(),
                _ => None,
            };
            if signature.strict {
                markers.push(is_given(planner, row.as_ref(), table).map_err(&here)?);
            }
            arguments.extend(fields(planner, row, table).map_err(&here)?);
            continue;
        }
        if let (Place::Rest(numbers), Some(element)) = (place, parameter.taken()) {
            let mut elements = Vec::with_capacity(numbers.len());
            for number in numbers.clone() {
                if let Some(Argument::Value(expr)) = given[number].take() {
                    elements.push(coerce::implicit(planner, expr, element).map_err(&here)?);
                }
            }
            arguments.push(Expr::Array { elements, element });
            continue;
        }
        let taken = match place {
            Place::Given(number) => match given[*number].take() {
                Some(Argument::Value(expr)) => Some(expr),
                _ => None,
            },
            _ => None,
        };
        let expr = match place {
            Place::Given(_) => match taken {
                Some(expr) if parameter.is_input() => {
                    coerce::implicit(planner, expr, parameter.ty).map_err(&here)?
                }
                // What stands for an OUT argument says nothing; a parameter there is of its type.
                Some(expr) => {
                    coerce::implicit(planner, expr, parameter.ty).ok();
                    Expr::Const(Value::Null, parameter.ty)
                }
                None => return Err(SqlError::internal("an argument was given twice")),
            },
            Place::Default => default(planner, parameter)?.unwrap_or(Expr::null(parameter.ty)),
            Place::Nothing | Place::Rest(_) => Expr::Const(Value::Null, parameter.ty),
        };
        arguments.push(expr);
    }
    arguments.extend(markers);
    Ok(Matched {
        signature,
        arguments,
    })
}

/// What is NULL if a row that is given for a parameter is, and not if its fields are only.
fn is_given(planner: &Planner, row: Option<&Argument>, table: &TableDef) -> SqlResult<Expr> {
    let yes = || Expr::Const(Value::Bool(true), SqlType::Bool);
    let when = |condition: Expr| Expr::Case {
        branches: vec![(condition, yes())],
        otherwise: None,
        ty: SqlType::Bool,
    };
    let of_value = |value: Expr| {
        when(Expr::Distinct {
            right: Box::new(Expr::null(value.ty())),
            left: Box::new(value),
            negated: false,
        })
    };
    Ok(match row {
        None => Expr::null(SqlType::Bool),
        Some(Argument::Value(expr)) => {
            let ty = composite::type_of_rows(planner.catalog(), table.id);
            let ty = ty.ok_or_else(|| SqlError::internal("a row of no type"))?;
            of_value(coerce::implicit(planner, expr.clone(), ty)?)
        }
        Some(Argument::Row(row)) => match (&row.missing, &row.whole) {
            (Some(missing), _) => unless(Some(missing.clone()), yes()),
            (None, Some(whole)) => of_value(whole.clone()),
            (None, None) if row.if_any => {
                let fields = row.fields.iter().map(|field| Expr::IsNull {
                    input: Box::new(field.expr.clone()),
                    negated: true,
                });
                let mut fields: Vec<Expr> = fields.collect();
                match fields.len() {
                    1 => when(fields.remove(0)),
                    _ => when(Expr::Or(fields)),
                }
            }
            (None, None) => yes(),
        },
    })
}

/// For each parameter the types of what it is given, or of its default.
fn given_types(
    planner: &Planner,
    signature: &Signature,
    (places, types): (&[Place], &[SqlType]),
) -> SqlResult<Vec<Vec<SqlType>>> {
    let of = |(place, parameter): (&Place, &Parameter)| {
        Ok(match place {
            Place::Given(number) => vec![types[*number]],
            Place::Rest(numbers) => types[numbers.clone()].to_vec(),
            Place::Default => {
                let default = default(planner, parameter)?;
                default.iter().map(Expr::ty).collect()
            }
            Place::Nothing => Vec::new(),
        })
    };
    places.iter().zip(&signature.parameters).map(of).collect()
}

/// A routine that is declared with the very types of the call comes before those whose types are the call's.
fn prefer_plain(candidates: &mut Vec<(Arc<Signature>, Vec<Place>, bool)>, types: &[SqlType]) {
    let exact = |(signature, places, is_form): &(Arc<Signature>, Vec<Place>, bool)| {
        !is_form && types_by_argument(signature, places, types.len()) == types
    };
    if candidates.iter().any(exact) {
        candidates.retain(|(_, _, is_form)| !is_form);
    }
}

/// The fields of a row that is given for a parameter; all NULL if NULL is.
fn fields(planner: &Planner, row: Option<Argument>, table: &TableDef) -> SqlResult<Vec<Expr>> {
    let columns = table.visible_columns().map(|(_, column)| column);
    let row = match row {
        Some(Argument::Value(expr)) => {
            let ty = composite::type_of_rows(planner.catalog(), table.id);
            let ty = ty.ok_or_else(|| SqlError::internal("a row of no type"))?;
            let value = coerce::implicit(planner, expr, ty)?;
            if !matches!(value, Expr::Const(Value::Null, _)) {
                let of = table.visible_columns().enumerate();
                let fields =
                    of.map(|(place, (_, column))| composite::field(&value, place, column.ty));
                return fields.collect();
            }
            None
        }
        row => row,
    };
    let Some(Argument::Row(row)) = row else {
        return Ok(columns
            .map(|column| Expr::Const(Value::Null, column.ty))
            .collect());
    };
    let wanted = table.visible_columns().count();
    if row.fields.len() != wanted {
        let message = format!("cannot cast type record to {}", table.name);
        let detail = match row.fields.len() < wanted {
            true => "Input has too few columns.",
            false => "Input has too many columns.",
        };
        return Err(SqlError::new(SqlState::CANNOT_COERCE, message).detail(detail));
    }
    let pairs = row.fields.into_iter().zip(columns);
    pairs
        .map(|(field, column)| {
            let expr = coerce::convert(planner, field.expr, column.ty, CastContext::Assignment)?;
            Ok(match field.modifier == column.modifier {
                true => expr,
                false => coerce::with_length(expr, column.ty, column.modifier),
            })
        })
        .collect()
}

/// Where a parameter's value comes from.
enum Place {
    Given(usize),
    /// All of these, as an array.
    Rest(Range<usize>),
    Default,
    Nothing,
}

/// Where each parameter's value comes from; `None` if the arguments' number or names do not fit.
fn places(
    signature: &Signature,
    given: &[Given],
    (procedure, as_array): (bool, bool),
) -> Option<Vec<Place>> {
    // CALL names OUT arguments, also where it turns out to name a function.
    let with_out = procedure || signature.procedure;
    let takes = |parameter: &Parameter| {
        parameter.is_input() || (with_out && parameter.mode == ParameterMode::Out)
    };
    let mut places: Vec<Option<Place>> = signature.parameters.iter().map(|_| None).collect();
    let mut open = signature.parameters.iter().enumerate();
    let (all, rest_of) = (given.len(), given);
    let rest = signature
        .parameters
        .iter()
        .position(|p| p.taken().is_some());
    let rest = rest.filter(|_| !as_array);
    if rest.is_some() && given.iter().any(|given| given.name.is_some()) {
        return None;
    }
    for (number, given) in given.iter().enumerate() {
        let (at, _) = match &given.name {
            None => open.find(|(_, parameter)| takes(parameter))?,
            Some(name) => signature
                .parameters
                .iter()
                .enumerate()
                .find(|(_, parameter)| takes(parameter) && parameter.name.as_ref() == Some(name))?,
        };
        if rest == Some(at) {
            let values = &rest_of[number..];
            if values
                .iter()
                .any(|given| matches!(given.value, Argument::Row(_)))
            {
                return None;
            }
            places[at] = Some(Place::Rest(number..all));
            break;
        }
        if places[at].is_some() || !given.value.fits(&signature.parameters[at]) {
            return None;
        }
        places[at] = Some(Place::Given(number));
    }
    let filled = places.into_iter().zip(&signature.parameters);
    filled
        .map(|(place, parameter)| match place {
            Some(place) => Some(place),
            None if parameter.default.is_some() => Some(Place::Default),
            None if takes(parameter) => None,
            None => Some(Place::Nothing),
        })
        .collect()
}

/// The types that a candidate wants for the arguments as they were written.
fn types_by_argument(signature: &Signature, places: &[Place], count: usize) -> Vec<SqlType> {
    let mut types = vec![SqlType::Unknown; count];
    for (place, parameter) in places.iter().zip(&signature.parameters) {
        match (place, parameter.taken()) {
            (Place::Given(number), _) => types[*number] = parameter.ty,
            (Place::Rest(numbers), Some(element)) => types[numbers.clone()].fill(element),
            _ => {}
        }
    }
    types
}

/// Of routines that want the same types, those that take the arguments one by one come before those that make an array of them.
fn prefer_exact(candidates: &mut Vec<(Arc<Signature>, Vec<Place>)>, lists: &mut Vec<Vec<SqlType>>) {
    let gathers = |places: &[Place]| places.iter().any(|p| matches!(p, Place::Rest(_)));
    let exact = |types: &[SqlType]| {
        let mut all = candidates.iter().zip(lists.iter());
        all.any(|((_, places), own)| own == types && !gathers(places))
    };
    let kept: Vec<bool> = (candidates.iter().zip(lists.iter()))
        .map(|((_, places), own)| !gathers(places) || !exact(own))
        .collect();
    let mut by_place = kept.iter();
    candidates.retain(|_| by_place.next() == Some(&true));
    let mut by_place = kept.iter();
    lists.retain(|_| by_place.next() == Some(&true));
}

/// `name(a => type, ...)`, as a call that does not fit is described.
fn written(name: &str, given: &[Given]) -> String {
    let arguments = given.iter().map(|given| {
        let ty = match &given.value {
            Argument::Value(expr) => expr.ty().to_string(),
            Argument::Row(_) => "record".to_string(),
        };
        match &given.name {
            Some(name) => format!("{name} => {ty}"),
            None => ty,
        }
    });
    format!("{name}({})", arguments.collect::<Vec<_>>().join(", "))
}

/// Whether a schema in a routine's name is there.
///
/// # Errors
/// `3F000`.
pub(crate) fn check_schema(planner: &Planner, schema: Option<&str>) -> SqlResult<()> {
    let has_own = || {
        let own = planner.temporary();
        own.is_some_and(|own| planner.catalog().has_schema(own))
    };
    match schema {
        None => Ok(()),
        Some("pg_temp") if has_own() => Ok(()),
        Some(schema) if planner.catalog().has_schema(schema) => Ok(()),
        Some(other) => Err(SqlError::new(
            SqlState::INVALID_SCHEMA_NAME,
            format!("schema \"{other}\" does not exist"),
        )),
    }
}

/// A parameter's default, if it has one.
///
/// # Errors
/// What binding it says.
pub(crate) fn default(planner: &Planner, parameter: &Parameter) -> SqlResult<Option<Expr>> {
    let Some(node) = &parameter.default else {
        return Ok(None);
    };
    let scope = Scope::empty();
    let expr = Binder::new(planner, &scope, "DEFAULT expressions").bind(node)?;
    match parameter.ty {
        // It has its own type, which the call is of then.
        SqlType::Any(_) => Ok(Some(expr)),
        ty => coerce::convert(planner, expr, ty, CastContext::Assignment).map(Some),
    }
}

/// A function that waits, which is none that `function` knows.
fn is_sleep(name: &str, types: &[SqlType]) -> bool {
    matches!(name, "pg_sleep" | "pg_sleep_for" | "pg_sleep_until") && types.len() == 1
}

/// A call of a procedure as a function, or the other way round.
fn other_kind(written: &str, procedure: bool) -> SqlError {
    let (message, hint) = match procedure {
        true => (
            format!("{written} is not a procedure"),
            "To call a function, use SELECT.",
        ),
        false => (
            format!("{written} is a procedure"),
            "To call a procedure, use CALL.",
        ),
    };
    SqlError::new(SqlState::WRONG_OBJECT_TYPE, message).hint(hint)
}

fn not_found(written: &str, procedure: bool) -> SqlError {
    let what = if procedure { "procedure" } else { "function" };
    SqlError::new(
        SqlState::UNDEFINED_FUNCTION,
        format!("{what} {written} does not exist"),
    )
    .hint(format!(
        "No {what} matches the given name and argument types. You might need to add explicit type casts."
    ))
}

//! CREATE and DROP of procedures and functions.
//!
//! Relies on: `draft`.  Promises: a routine that is created can be called: its body has been made against
//! the schema as it is; OR REPLACE keeps its number and refuses another kind of result.  Does not: look who
//! calls a routine that is dropped or replaced; who does is made again, and says then what it lacks.

use super::Own;
use super::link::Linker;
use super::matching::{check_schema, default};
use super::polymorphic::{self, is_polymorphic};
use super::query;
use super::signature::{Parameter, ROW, Resolved, Signature, describe, resolve};
use super::single_types;
use crate::catalog::Catalog;
use crate::command::Planned;
use crate::ddl::{GoingRoutine, may_use_built_in, release_functions, routine_at_home};
use crate::draft::Draft;
use crate::names::{self, inner, required};
use crate::planner::{NOTHING_DYNAMIC, Planner};
use crate::plpgsql::{self, DataType, ParameterMode, Returns};
use crate::records::RoutineRecord;
use pg_query::NodeEnum;
use pg_query::protobuf::{
    CreateFunctionStmt, DropBehavior, DropStmt, FunctionParameterMode, ObjectType, ObjectWithArgs,
};
use quintet_base::{RoutineId, SqlError, SqlResult, SqlState, SqlType};
use quintet_ir::{Object, ObjectKind, Privileges};
use std::sync::Arc;

/// CREATE [OR REPLACE] PROCEDURE or FUNCTION.
pub(crate) fn plan_create(planner: &Planner, statement: &CreateFunctionStmt) -> SqlResult<Planned> {
    let name = names::strings(&statement.funcname);
    let (schema, name) = match planner.local(&name, 2)? {
        [name] => (planner.schema()?, *name),
        [schema, name] => (*schema, *name),
        _ => return Err(SqlError::unsupported("a name of four parts")),
    };
    let is_own = schema == "pg_temp" || planner.temporary() == Some(schema);
    let schema = match is_own {
        true => planner.temporary_schema(schema)?,
        false => schema,
    };
    let is_system = matches!(schema, "pg_catalog" | "information_schema");
    if is_system || !(is_own || planner.catalog().has_schema(schema)) {
        return Err(match schema {
            "pg_catalog" | "information_schema" => SqlError::new(
                SqlState::INSUFFICIENT_PRIVILEGE,
                format!("permission denied for schema {schema}"),
            ),
            _ => SqlError::new(
                SqlState::INVALID_SCHEMA_NAME,
                format!("schema \"{schema}\" does not exist"),
            ),
        });
    }
    if !is_own {
        planner.must_have(planner.schema_object(schema), Privileges::CREATE)?;
    }
    let text = planner.statement_text();
    let signature = Signature::of(RoutineId(0), statement, text, planner.context)?;
    check_parameters(planner, &signature)?;
    polymorphic::check(&signature)?;
    let parameters = signature.parameters.iter().map(|parameter| parameter.ty);
    let columns = signature.columns.iter().map(|column| column.ty);
    let all: Vec<SqlType> = parameters.chain(columns).collect();
    for ty in &all {
        may_use_built_in(planner, *ty)?;
    }
    let made = all
        .into_iter()
        .filter_map(|ty| match ty.element().unwrap_or(ty) {
            SqlType::Enum(number) | SqlType::Composite(number) => Some(number),
            _ => None,
        });
    for number in signature.types.iter().copied().chain(made) {
        if planner.catalog().user_type(number).is_some() {
            let kind = ObjectKind::Type;
            planner.must_have(Object { kind, number }, Privileges::USAGE)?;
        }
    }
    tell_types(planner, statement, text)?;
    let mut draft = Draft::new(planner);
    draft.enter(schema)?;
    let catalog = planner.catalog();
    let id = match same_key(catalog, schema, name, &signature.key())? {
        Some(old) if !statement.replace => {
            let message = format!(
                "function \"{}\" already exists with same argument types",
                old.name
            );
            return Err(SqlError::new(SqlState::DUPLICATE_FUNCTION, message));
        }
        Some(old) => {
            planner.must_own(routine_object(old.id))?;
            check_replaced(&old, &signature)?;
            old.id
        }
        None => {
            // A body that is SQL itself is read before there is such a routine: it cannot call itself.
            if statement.sql_body.is_some() && !is_polymorphic(&signature) {
                let mut linker = Linker::behind(1);
                query::routine(&signature, statement, text, planner.context, &mut linker)?;
            }
            RoutineId(draft.id())
        }
    };
    draft.put_routine(&RoutineRecord {
        id,
        schema: schema.to_string(),
        name: name.to_string(),
        text: routine_at_home(planner, schema, text)?,
        altered: Vec::new(),
    })?;
    draft.check_settings(Own::of(statement)?.settings);
    // Whether it can be called is known now, not at the first call; of a trigger's function only that it can be read.
    // Of one of any types, too: what they are a call says.
    if signature.trigger || (is_polymorphic(&signature) && !signature.of_sql) {
        let tree = plpgsql::read(statement, text, &single_types(planner.context))?;
        let mut variables = tree.body.variables.iter();
        variables.try_for_each(polymorphic::check_variable)?;
    } else if !planner.context.user.bodies_unchecked && !is_polymorphic(&signature) {
        let next = draft.catalog_to_be()?;
        if let Some(stored) = next.routine(id) {
            stored.program_within(&next, planner.path(), &NOTHING_DYNAMIC)?;
        }
    }
    draft.finish(match statement.is_procedure {
        true => "CREATE PROCEDURE",
        false => "CREATE FUNCTION",
    })
}

pub(super) fn routine_object(id: RoutineId) -> Object {
    Object {
        kind: ObjectKind::Routine,
        number: id.0,
    }
}

/// Whether names are different, and what a call may leave out comes last and is of its parameter's type.
fn check_parameters(planner: &Planner, signature: &Signature) -> SqlResult<()> {
    let refuse = |message: &str| {
        let state = SqlState::INVALID_FUNCTION_DEFINITION;
        Err(SqlError::new(state, message))
    };
    let (mut any, mut last) = (false, false);
    for (number, parameter) in signature.parameters.iter().enumerate() {
        // One that is given and one that comes out may share a name, as far as the language can tell them apart.
        let clashes = |other: &Parameter| {
            other.name.is_some()
                && other.name == parameter.name
                && (other.is_input() && parameter.is_input()
                    || other.mode.is_result() && parameter.mode.is_result())
        };
        if signature.parameters[..number].iter().any(clashes) {
            let name = parameter.name.as_deref().unwrap_or_default();
            return refuse(&format!("parameter name \"{name}\" used more than once"));
        }
        if last && (parameter.is_input() || signature.procedure) {
            let input = if signature.procedure { "" } else { "input " };
            return refuse(&format!(
                "VARIADIC parameter must be the last {input}parameter"
            ));
        }
        if parameter.mode == ParameterMode::Variadic {
            if parameter.taken().is_none() {
                return refuse("VARIADIC parameter must be an array");
            }
            last = true;
        }
        if default(planner, parameter)?.is_some() {
            if !parameter.is_input() {
                return refuse("only input parameters can have default values");
            }
            any = true;
        } else if any && parameter.is_input() {
            return refuse(
                "input parameters after one with a default value must also have defaults",
            );
        } else if any && signature.procedure && parameter.mode == ParameterMode::Out {
            return refuse("procedure OUT parameters cannot appear after one with a default value");
        }
    }
    Ok(())
}

/// Says what the types of columns are now, that parameters and results are declared by: they stay so in
/// PostgreSQL.
fn tell_types(planner: &Planner, statement: &CreateFunctionStmt, text: &str) -> SqlResult<()> {
    let (header, _) = plpgsql::header(statement, text)?;
    if header.returns == Returns::Trigger {
        return Ok(());
    }
    let parameters = header.parameters.iter().map(|given| &given.data_type);
    let result = match &header.returns {
        Returns::Value(ty) | Returns::SetOf(ty) => Some(ty),
        _ => None,
    };
    for ty in parameters.chain(result) {
        if let DataType::TypeOf { names, .. } = ty
            && let Resolved::Scalar(is, _) = resolve(planner, ty)?
        {
            let names = names.join(".");
            planner.notice(format!("type reference {names}%TYPE converted to {is}"));
        }
    }
    Ok(())
}

fn same_key(
    catalog: &Catalog,
    schema: &str,
    name: &str,
    key: &[SqlType],
) -> SqlResult<Option<Arc<Signature>>> {
    for stored in catalog.routines(schema, name) {
        let signature = stored.signature(catalog)?;
        if signature.key() == key {
            return Ok(Some(Arc::clone(signature)));
        }
    }
    Ok(None)
}

fn check_replaced(old: &Signature, new: &Signature) -> SqlResult<()> {
    if old.procedure != new.procedure {
        let is = if old.procedure {
            "procedure"
        } else {
            "function"
        };
        let error = SqlError::new(SqlState::WRONG_OBJECT_TYPE, "cannot change routine kind");
        return Err(error.detail(format!("\"{}\" is a {is}.", old.name)));
    }
    let row = |signature: &Signature| -> Vec<_> {
        // One parameter alone is no row, whose columns have names.
        let named = signature.of_parameters && signature.columns.len() > 1;
        let columns = signature.columns.iter();
        columns
            .map(|column| (named.then(|| column.name.clone()), column.ty))
            .collect()
    };
    if old.output != new.output || row(old) != row(new) {
        let kind = if old.procedure {
            "PROCEDURE"
        } else {
            "FUNCTION"
        };
        let message = match old.procedure && old.output != new.output {
            true => "cannot change whether a procedure has output parameters",
            false => "cannot change return type of existing function",
        };
        let error = SqlError::new(SqlState::INVALID_FUNCTION_DEFINITION, message);
        return Err(error.hint(format!("Use DROP {kind} {} first.", old.describe())));
    }
    for (old, new) in old.parameters.iter().zip(&new.parameters) {
        if old.name.is_some() && old.is_input() && old.name != new.name {
            let was = old.name.clone().unwrap_or_default();
            let message = format!("cannot change name of input parameter \"{was}\"");
            let state = SqlState::INVALID_FUNCTION_DEFINITION;
            return Err(SqlError::new(state, message));
        }
    }
    Ok(())
}

/// DROP PROCEDURE, FUNCTION or ROUTINE.
pub(crate) fn plan_drop(planner: &Planner, statement: &DropStmt) -> SqlResult<Planned> {
    let (tag, what, procedure) = match statement.remove_type() {
        ObjectType::ObjectProcedure => ("DROP PROCEDURE", "procedure", Some(true)),
        ObjectType::ObjectFunction => ("DROP FUNCTION", "function", Some(false)),
        _ => ("DROP ROUTINE", "routine", None),
    };
    let mut going = Vec::new();
    for object in &statement.objects {
        let Some(NodeEnum::ObjectWithArgs(object)) = inner(object) else {
            return Err(SqlError::unsupported(tag));
        };
        match find(planner, object, what, procedure) {
            Ok(id) => {
                planner.may_drop(routine_object(id))?;
                let one = required(GoingRoutine::of(planner, id))?;
                if !going.iter().any(|other: &GoingRoutine| other.id == id) {
                    going.push(one);
                }
            }
            Err(error) if statement.missing_ok && is_missing(&error) => {
                let message = match error.state {
                    SqlState::UNDEFINED_FUNCTION => {
                        format!("{what} {} does not exist", as_written(object))
                    }
                    _ => error.into_told().message,
                };
                planner.notice(format!("{message}, skipping"));
            }
            Err(error) => return Err(error),
        }
    }
    let mut draft = Draft::new(planner);
    let cascade = statement.behavior() == DropBehavior::DropCascade;
    release_functions(&mut draft, &going, cascade, &[])?;
    for one in going {
        draft.drop_routine(one.id);
    }
    draft.finish(tag)
}

fn is_missing(error: &SqlError) -> bool {
    [
        SqlState::UNDEFINED_FUNCTION,
        SqlState::UNDEFINED_OBJECT,
        SqlState::INVALID_SCHEMA_NAME,
    ]
    .contains(&error.state)
}

/// `name(types)` with the types' names as the parser has them.
pub(crate) fn as_written(object: &ObjectWithArgs) -> String {
    let types = object.objargs.iter().filter_map(|node| match inner(node) {
        Some(NodeEnum::TypeName(name)) => {
            let array = "[]".repeat(name.array_bounds.len());
            Some(names::strings(&name.names).join(".") + &array)
        }
        _ => None,
    });
    let types: Vec<String> = types.collect();
    let name = names::strings(&object.objname).join(".");
    format!("{name}({})", types.join(","))
}

pub(crate) fn find(
    planner: &Planner,
    object: &ObjectWithArgs,
    what: &str,
    procedure: Option<bool>,
) -> SqlResult<RoutineId> {
    let name = names::strings(&object.objname);
    let (schema, name) = match planner.local(&name, 2)? {
        [name] => (None, *name),
        [schema, name] => (Some(*schema), *name),
        _ => return Err(SqlError::unsupported("a name of four parts")),
    };
    check_schema(planner, schema)?;
    let catalog = planner.catalog();
    let mut found = Vec::new();
    let mut unreadable = Vec::new();
    let key = match object.args_unspecified {
        true => None,
        false => Some(key(planner, object)?),
    };
    for stored in planner.find_routines(schema, name) {
        let signature = match stored.signature(catalog) {
            Ok(signature) => signature,
            Err(error) => {
                unreadable.push((stored.record.id, error));
                continue;
            }
        };
        let fits = match &key {
            Some(key) => *key == signature.key(),
            None => procedure.is_none_or(|wanted| wanted == signature.procedure),
        };
        if fits {
            found.push(Arc::clone(signature));
        }
    }
    if let ([], [(id, error), ..]) = (found.as_slice(), unreadable.as_slice()) {
        // Of a column, say, whose table has been dropped: it can be named by its name alone, if nothing else has it.
        return match (&key, unreadable.len()) {
            (None, 1) => Ok(*id),
            _ => Err(error.clone()),
        };
    }
    // Who names none of the two kinds is told of functions.
    let named = if what == "routine" { "function" } else { what };
    match (found.as_slice(), key) {
        // One that cannot be read may be meant as well.
        ([one], key) if key.is_some() || unreadable.is_empty() => {
            if procedure.is_some_and(|wanted| wanted != one.procedure) {
                let message = format!("{} is not a {what}", one.describe());
                return Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, message));
            }
            Ok(one.id)
        }
        ([], Some(key)) => Err(SqlError::new(
            SqlState::UNDEFINED_FUNCTION,
            format!("{named} {} does not exist", describe(name, &key)),
        )),
        ([], None) => Err(SqlError::new(
            SqlState::UNDEFINED_FUNCTION,
            format!("could not find a {named} named \"{name}\""),
        )),
        _ => {
            let message = format!("{named} name \"{name}\" is not unique");
            let hint = format!("Specify the argument list to select the {named} unambiguously.");
            Err(SqlError::new(SqlState::AMBIGUOUS_FUNCTION, message).hint(hint))
        }
    }
}

/// The types of the parameters that take values.
fn key(planner: &Planner, object: &ObjectWithArgs) -> SqlResult<Vec<SqlType>> {
    let mut types = Vec::new();
    let mut add = |name: &pg_query::protobuf::TypeName| -> SqlResult<()> {
        match resolve(planner, &plpgsql::data_type(name)?)? {
            Resolved::Scalar(ty, _) => types.push(ty),
            Resolved::Domain(record) => {
                types.extend(record.domain().map(|domain| domain.base));
            }
            Resolved::Row(_) => types.push(ROW),
            Resolved::Record => {
                return Err(SqlError::unsupported("a parameter of type record"));
            }
        }
        Ok(())
    };
    if object.objfuncargs.is_empty() {
        for node in &object.objargs {
            if let Some(NodeEnum::TypeName(name)) = inner(node) {
                add(name)?;
            }
        }
    }
    for node in &object.objfuncargs {
        if let Some(NodeEnum::FunctionParameter(parameter)) = inner(node)
            && !matches!(
                parameter.mode(),
                FunctionParameterMode::FuncParamOut | FunctionParameterMode::FuncParamTable
            )
            && let Some(name) = &parameter.arg_type
        {
            add(name)?;
        }
    }
    Ok(types)
}

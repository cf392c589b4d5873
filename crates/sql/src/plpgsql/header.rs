//! What CREATE FUNCTION and CREATE PROCEDURE say about a routine besides its body.
//!
//! Relies on: the parser's tree.  Promises: an option that changes what a routine does and that is
//! not in the header is refused; COST, ROWS, PARALLEL and LEAKPROOF, which only advise a planner,
//! are left out.  Does not: resolve types.

use super::inline;
use super::tree::{DataType, Header, Parameter, ParameterMode, Returns, Volatility};
use crate::names::{inner, option_text, required, string, strings};
use crate::parse;
use pg_query::NodeEnum;
use pg_query::protobuf::{
    CreateFunctionStmt, DefElem, FunctionParameter, FunctionParameterMode, TypeName,
};
use quintet_base::{SqlError, SqlResult, SqlState, SqlType};

/// PostgreSQL's invalid_function_definition.
const INVALID_FUNCTION_DEFINITION: SqlState = SqlState(*b"42P13");

/// Types that stand for ranges, and for anything.
const POLYMORPHIC: &[&str] = &[
    "any",
    "anycompatiblemultirange",
    "anycompatiblerange",
    "anymultirange",
    "anyrange",
];

/// The header and the text of the body; `text` is what the statement was parsed from.
pub(crate) fn read(statement: &CreateFunctionStmt, text: &str) -> SqlResult<(Header, String)> {
    let options = options(statement, text)?;
    let parameters: SqlResult<Vec<Parameter>> = statement
        .parameters
        .iter()
        .map(|node| match inner(node) {
            Some(NodeEnum::FunctionParameter(parameter)) => read_parameter(parameter, text),
            _ => required(None),
        })
        .collect();
    let mut parameters = parameters?;
    let returns = returns(statement, &parameters, text)?;
    if returns == Returns::Trigger {
        parameters = of_trigger();
    }
    let header = Header {
        name: strings(&statement.funcname)
            .into_iter()
            .map(str::to_string)
            .collect(),
        procedure: statement.is_procedure,
        replace: statement.replace,
        strict: options.strict,
        volatility: options.volatility,
        returns,
        parameters,
    };
    Ok((header, options.body))
}

/// What a trigger function finds, in this order: the rows first.
pub(crate) const TRIGGER_VARIABLES: [&str; 12] = [
    "new",
    "old",
    "tg_name",
    "tg_when",
    "tg_level",
    "tg_op",
    "tg_relid",
    "tg_relname",
    "tg_table_name",
    "tg_table_schema",
    "tg_nargs",
    "tg_argv",
];

/// The same as parameters; of their types only counts here which of them are rows.
fn of_trigger() -> Vec<Parameter> {
    let text = TypeName {
        names: vec![crate::tree::string("text")],
        ..TypeName::default()
    };
    let parameter = |(number, name): (usize, &&str)| Parameter {
        name: Some((*name).to_string()),
        mode: ParameterMode::In,
        data_type: match number {
            0 | 1 => DataType::Record,
            _ => DataType::Named {
                text: "text".to_string(),
                name: Box::new(text.clone()),
            },
        },
        default: None,
    };
    TRIGGER_VARIABLES
        .iter()
        .enumerate()
        .map(parameter)
        .collect()
}

struct Options {
    strict: bool,
    volatility: Volatility,
    body: String,
}

fn options(statement: &CreateFunctionStmt, text: &str) -> SqlResult<Options> {
    let (mut strict, mut volatility) = (false, Volatility::Volatile);
    let (mut body, mut language) = (None, None);
    for option in &statement.options {
        let Some(NodeEnum::DefElem(option)) = inner(option) else {
            return required(None);
        };
        // Of the others a procedure has none.
        let known = ["as", "language", "security", "set"];
        if statement.is_procedure && !known.contains(&option.defname.as_str()) {
            let message = "invalid attribute in procedure definition";
            return Err(SqlError::new(INVALID_FUNCTION_DEFINITION, message));
        }
        match option.defname.as_str() {
            "as" => body = Some(body_text(option)?),
            "language" => language = value(option),
            "strict" => strict = value(option).as_deref() == Some("true"),
            "volatility" => {
                volatility = match value(option).as_deref() {
                    Some("immutable") => Volatility::Immutable,
                    Some("stable") => Volatility::Stable,
                    _ => Volatility::Volatile,
                }
            }
            // Who it runs as, and with which settings, is `routine::guise`'s.
            "cost" | "rows" | "parallel" | "leakproof" | "security" | "set" => {}
            other => {
                let option = other.to_ascii_uppercase();
                return Err(SqlError::unsupported(format!("{option} for a function")));
            }
        }
    }
    let refuse = |message: &str| Err(SqlError::new(INVALID_FUNCTION_DEFINITION, message));
    match language.as_deref() {
        Some("plpgsql") if statement.sql_body.is_some() => {
            return refuse("inline SQL function body only valid for language SQL");
        }
        None if statement.sql_body.is_some() => {}
        Some("plpgsql" | "sql") => {}
        Some(other @ ("c" | "internal")) => {
            return Err(SqlError::unsupported(format!("language {other}")));
        }
        Some(other) => {
            let message = format!("language \"{other}\" does not exist");
            return Err(SqlError::new(SqlState::UNDEFINED_OBJECT, message));
        }
        None => {
            return Err(SqlError::new(
                INVALID_FUNCTION_DEFINITION,
                "no language specified",
            ));
        }
    }
    if statement.sql_body.is_some() {
        if body.is_some() {
            return refuse("duplicate function body specified");
        }
        body = Some(inline::body(text)?);
    }
    let body = body.ok_or_else(|| {
        let message = "no function body specified";
        SqlError::new(INVALID_FUNCTION_DEFINITION, message)
    })?;
    Ok(Options {
        strict,
        volatility,
        body,
    })
}

/// The language that a routine is written in, if it says so.
pub(crate) fn language(statement: &CreateFunctionStmt) -> Option<String> {
    let named = statement
        .options
        .iter()
        .find_map(|option| match inner(option) {
            Some(NodeEnum::DefElem(option)) if option.defname == "language" => value(option),
            _ => None,
        });
    let unsaid = statement.sql_body.as_ref().map(|_| "sql".to_string());
    named.map(|name| name.to_ascii_lowercase()).or(unsaid)
}

fn value(option: &DefElem) -> Option<String> {
    option.arg.as_deref().and_then(option_text)
}

fn body_text(option: &DefElem) -> SqlResult<String> {
    match option.arg.as_deref().and_then(crate::names::list) {
        Some([body]) => required(string(body).map(str::to_string)),
        _ => Err(SqlError::new(
            INVALID_FUNCTION_DEFINITION,
            "only one AS item needed for language \"plpgsql\"",
        )),
    }
}

fn read_parameter(parameter: &FunctionParameter, text: &str) -> SqlResult<Parameter> {
    let mode = match parameter.mode() {
        FunctionParameterMode::FuncParamOut => ParameterMode::Out,
        FunctionParameterMode::FuncParamInout => ParameterMode::InOut,
        FunctionParameterMode::FuncParamTable => ParameterMode::Table,
        FunctionParameterMode::FuncParamVariadic => ParameterMode::Variadic,
        _ => ParameterMode::In,
    };
    Ok(Parameter {
        name: Some(parameter.name.clone()).filter(|name| !name.is_empty()),
        mode,
        data_type: of_name_in(required(parameter.arg_type.as_ref())?, text)?,
        default: parameter.defexpr.as_deref().cloned(),
    })
}

fn returns(
    statement: &CreateFunctionStmt,
    parameters: &[Parameter],
    text: &str,
) -> SqlResult<Returns> {
    let results = parameters
        .iter()
        .filter(|parameter| parameter.mode.is_result())
        .count();
    let name = match &statement.return_type {
        _ if statement.is_procedure => return Ok(Returns::Nothing),
        Some(name) => name,
        None if results > 0 => return Ok(Returns::Parameters),
        None => {
            return Err(SqlError::new(
                INVALID_FUNCTION_DEFINITION,
                "function result type must be specified",
            ));
        }
    };
    let plain = strings(&name.names);
    match plain.as_slice() {
        ["trigger"] | ["pg_catalog", "trigger"] if parameters.is_empty() && !name.setof => {
            return Ok(Returns::Trigger);
        }
        ["trigger"] | ["pg_catalog", "trigger"] => {
            return Err(SqlError::new(
                INVALID_FUNCTION_DEFINITION,
                "trigger functions cannot have declared arguments",
            )
            .hint("The arguments of the trigger can be accessed through TG_NARGS and TG_ARGV instead."));
        }
        ["event_trigger"] | ["pg_catalog", "event_trigger"] => {
            return Err(SqlError::unsupported("an event trigger function"));
        }
        ["void"] | ["pg_catalog", "void"] if results == 0 && !name.setof => {
            return Ok(Returns::Nothing);
        }
        _ => {}
    }
    let of_parameters = if name.setof {
        Returns::SetOfParameters
    } else {
        Returns::Parameters
    };
    match results {
        0 if name.setof => Ok(Returns::SetOf(of_name_in(name, text)?)),
        0 => Ok(Returns::Value(of_name_in(name, text)?)),
        // RETURNS TABLE gives the type of its only column, or record.
        _ if parameters
            .iter()
            .any(|parameter| parameter.mode == ParameterMode::Table) =>
        {
            Ok(Returns::SetOfParameters)
        }
        1 => {
            let out = parameters
                .iter()
                .find(|parameter| parameter.mode.is_result());
            match (of_name_in(name, text)?, out.map(|out| &out.data_type)) {
                (said, Some(meant)) if same(&said, meant) => Ok(of_parameters),
                (_, meant) => Err(contradiction(meant)),
            }
        }
        _ if plain.last() == Some(&"record") => Ok(of_parameters),
        _ => Err(contradiction(Some(&DataType::Record))),
    }
}

fn same(one: &DataType, other: &DataType) -> bool {
    match (one, other) {
        (DataType::Named { name: one, .. }, DataType::Named { name: other, .. }) => {
            (strings(&one.names), one.array_bounds.len())
                == (strings(&other.names), other.array_bounds.len())
        }
        _ => one == other,
    }
}

fn contradiction(meant: Option<&DataType>) -> SqlError {
    let meant = match meant {
        Some(DataType::Named { text, .. }) => match SqlType::from_name(text) {
            Some(known) => known.to_string(),
            None => text.clone(),
        },
        Some(other) => other.to_string(),
        None => String::new(),
    };
    SqlError::new(
        INVALID_FUNCTION_DEFINITION,
        format!("function result type must be {meant} because of OUT parameters"),
    )
}

/// The same with the place of an error.
fn of_name_in(name: &TypeName, text: &str) -> SqlResult<DataType> {
    of_name(name).map_err(|error| match usize::try_from(name.location) {
        Ok(offset) => error.at(parse::position(text, offset)),
        Err(_) => error,
    })
}

/// A type as the parser gives it.
pub(crate) fn of_name(name: &TypeName) -> SqlResult<DataType> {
    let parts = strings(&name.names);
    if name.pct_type {
        return Ok(DataType::TypeOf {
            names: parts.into_iter().map(str::to_string).collect(),
            array: false,
        });
    }
    let plain = match parts.as_slice() {
        [plain] | ["pg_catalog", plain] => *plain,
        _ => "",
    };
    if POLYMORPHIC.contains(&plain) {
        return Err(SqlError::unsupported(format!("polymorphic type {plain}")));
    }
    if plain == "record" && name.array_bounds.is_empty() {
        return Ok(DataType::Record);
    }
    let mut bare = name.clone();
    bare.setof = false;
    Ok(DataType::Named {
        text: type_text(&bare),
        name: Box::new(bare),
    })
}

/// The text of a type, made from its tree. The parser's own way back to text ends the process in
/// builds with its checks if a modifier is no constant.
fn type_text(name: &TypeName) -> String {
    let mut names = strings(&name.names);
    if names.first() == Some(&"pg_catalog") {
        names.remove(0);
    }
    let mut text = names.join(".");
    if !name.typmods.is_empty() {
        let modifiers: Vec<String> = name
            .typmods
            .iter()
            .map(|node| option_text(node).unwrap_or_else(|| "?".to_string()))
            .collect();
        text = format!("{text}({})", modifiers.join(", "));
    }
    text + &"[]".repeat(name.array_bounds.len())
}

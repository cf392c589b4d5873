//! Calls of functions by their numbers.
//!
//! Relies on: `functions.txt` for what is built in, the catalogue for the rest.  Promises: the text of the call means that function and
//! no other of its name.  Does not: check who may call it; planning the text does.

use super::functions;
use super::print::quoted;
use crate::catalog::Catalog;
use crate::routine::is_polymorphic;
use quintet_base::{RoutineId, SqlError, SqlResult, SqlState, SqlType};
use quintet_ir::routine::Output;

impl Catalog {
    /// The statement that calls the function with this number, and the types of its parameters.
    ///
    /// # Errors
    /// `42883` if there is none; `0A000` for a procedure, a set, a window function or an aggregate, and for parameters of any type.
    pub fn function_call(&self, number: u32) -> SqlResult<(String, Vec<SqlType>)> {
        let (schema, name, types) = match functions::with_number(number) {
            Some(function) if function.is_plain() => {
                let types = function.arguments.iter().map(|ty| SqlType::from_oid(*ty));
                let types = types.collect::<Option<Vec<SqlType>>>();
                ("pg_catalog", function.name, types)
            }
            Some(function) => return Err(not_so(function.name)),
            None => {
                let stored = self
                    .routine(RoutineId(number))
                    .ok_or_else(|| none(number))?;
                let signature = stored.signature(self)?;
                let record = &stored.record;
                if signature.procedure || signature.output == Output::Rows || signature.trigger {
                    return Err(not_so(&record.name));
                }
                let inputs = signature.parameters.iter().filter(|it| it.is_input());
                let types = inputs.map(|it| it.row.is_none().then_some(it.ty));
                let types = match is_polymorphic(signature) {
                    true => None,
                    false => types.collect(),
                };
                (&*record.schema, &*record.name, types)
            }
        };
        let types = types.ok_or_else(|| {
            let what = format!("a call by number of {name}(), whose parameters are of any type,");
            SqlError::unsupported(what)
        })?;
        let arguments: Vec<String> = (1..=types.len()).map(|place| format!("${place}")).collect();
        let (schema, name) = (quoted(schema), quoted(name));
        Ok((
            format!("SELECT {schema}.{name}({})", arguments.join(", ")),
            types,
        ))
    }
}

fn none(number: u32) -> SqlError {
    SqlError::new(
        SqlState::UNDEFINED_FUNCTION,
        format!("function with OID {number} does not exist"),
    )
}

fn not_so(name: &str) -> SqlError {
    SqlError::new(
        SqlState::FEATURE_NOT_SUPPORTED,
        format!("cannot call function \"{name}\" via fastpath interface"),
    )
}

//! Calls of the functions that types are read by and printed with: `uuid_in('…')`, `int4out(5)`.
//!
//! Relies on: `system::functions` for what they are called and take, `coerce`.  Promises: what the cast from text, or to it, gives; a text is
//! taken as PostgreSQL takes it, as a `cstring` only.  Does not: read with a length (0A000), nor what needs to know of which type it is
//! (`array_in`, `record_in`, `enum_in`: 42883).

use crate::coerce;
use crate::expr::Binder;
use crate::system::reading_and_printing;
use quintet_base::{SqlError, SqlResult, SqlType, TypeMod, Value};
use quintet_ir::Expr;

/// What such a function does.
pub(crate) enum TextCall {
    /// It reads a value of this type; with the number of a type and a length besides, or without.
    Reads(SqlType, bool),
    /// It prints one.
    Prints(SqlType),
}

impl Binder<'_, '_> {
    /// The call, if it is one of these and the arguments fit.
    pub(crate) fn text_call(&self, name: &str, args: &[Expr]) -> SqlResult<Option<Expr>> {
        let Some((text, others)) = args.split_first() else {
            return Ok(None);
        };
        let cast = |expr, ty| coerce::explicit(self.planner, expr, ty, TypeMod::NONE);
        match (reading_and_printing(name), others) {
            (Some(TextCall::Reads(ty, false)), []) if is_text(text) => {
                cast(as_text(self, text)?, ty).map(Some)
            }
            (Some(TextCall::Reads(ty, true)), [_, length]) if is_text(text) => match length {
                Expr::Const(Value::Int4(-1), _) => cast(as_text(self, text)?, ty).map(Some),
                _ => Err(SqlError::unsupported(format!(
                    "{name} with a length that is not -1"
                ))),
            },
            // The cast of a character to a text takes its blanks away.
            (Some(TextCall::Prints(SqlType::Bpchar)), []) => Err(SqlError::unsupported(name)),
            (Some(TextCall::Prints(ty)), []) => {
                let Ok(value) = coerce::implicit(self.planner, text.clone(), ty) else {
                    return Ok(None);
                };
                let printed = match ty {
                    SqlType::Cstring => value,
                    // The cast writes the word out.
                    SqlType::Bool => {
                        let one = Expr::Const(Value::Int4(1), SqlType::Int4);
                        let word = cast(value, SqlType::Text)?;
                        let letter = self.apply("substr", vec![word, one.clone(), one])?;
                        cast(letter, SqlType::Cstring)?
                    }
                    _ => cast(cast(value, SqlType::Text)?, SqlType::Cstring)?,
                };
                Ok(Some(printed))
            }
            _ => Ok(None),
        }
    }
}

fn is_text(expr: &Expr) -> bool {
    matches!(expr.ty(), SqlType::Unknown | SqlType::Cstring)
}

/// What is read. A constant is read when the call runs, not when it is planned, as its function would.
fn as_text(binder: &Binder, expr: &Expr) -> SqlResult<Expr> {
    let expr = coerce::implicit(binder.planner, expr.clone(), SqlType::Cstring)?;
    coerce::explicit(binder.planner, expr, SqlType::Text, TypeMod::NONE)
}

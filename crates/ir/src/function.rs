//! Built-in functions and operators, found by name and argument types. (being built)

use crate::eval::Host;
use quintet_base::{SqlError, SqlResult, SqlType, Value};

/// When a function gives the same answer for the same arguments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Volatility {
    /// Always; may be folded when the plan is made.
    Immutable,
    /// Within one statement.
    Stable,
    /// Never.
    Volatile,
}

/// A built-in function or operator.
pub struct Function {
    /// Name, or the operator's symbol.
    pub name: &'static str,
    /// Parameter types.
    pub args: &'static [SqlType],
    /// The last parameter may be repeated.
    pub variadic: bool,
    /// Type of the result.
    pub result: SqlType,
    /// NULL if any argument is NULL, without being called.
    pub strict: bool,
    /// See [`Volatility`].
    pub volatility: Volatility,
    /// What it does.
    pub eval: fn(&[Value], &dyn Host) -> SqlResult<Value>,
}

impl std::fmt::Debug for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}({:?})", self.name, self.args)
    }
}

/// What a call by name resolved to.
#[derive(Debug)]
pub struct Resolved {
    /// The function.
    pub function: &'static Function,
    /// Types to convert each argument to.
    pub args: Vec<SqlType>,
    /// Type of the result.
    pub result: SqlType,
}

/// Finds the function or operator (`+`, `||`, `~~` …) that PostgreSQL would choose for these
/// argument types; `Unknown` stands for an untyped literal or parameter.
///
/// # Errors
/// `42883` if there is none, `42725` if several fit equally well.
pub fn resolve(name: &str, args: &[SqlType]) -> SqlResult<Resolved> {
    let _ = args;
    Err(SqlError::unsupported(name))
}

//! Arguments and parameters of workloads as the database's own values and types.
//!
//! Relies on: nothing.  Promises: an argument has the type of its parameter.  Does not: convert anything.

use quintet_base::{Array, Numeric, SqlType, Value};
use quintet_workloads::Argument;
#[cfg(feature = "scheduling")]
use quintet_workloads::ParameterType;

/// An argument as the parameter's type has it.
pub(crate) fn value(argument: &Argument) -> Value {
    let array = |element, values: Vec<Value>| {
        Value::Array(Box::new(Array {
            shape: None,
            element,
            values,
        }))
    };
    match argument {
        Argument::Int(number) => number.map_or(Value::Null, Value::Int4),
        Argument::BigInt(number) => Value::Int8(*number),
        Argument::Cents(cents) => {
            let amount = Numeric::from_parts(i128::from(*cents), 2);
            Value::numeric(amount.expect("hundredths of an i64 are within the range"))
        }
        Argument::Text(text) => text.as_ref().map_or(Value::Null, Value::text),
        Argument::Ints(numbers) => array(
            SqlType::Int4,
            numbers.iter().map(|n| Value::Int4(*n)).collect(),
        ),
        Argument::BigInts(numbers) => array(
            SqlType::Int8,
            numbers.iter().map(|n| Value::Int8(*n)).collect(),
        ),
    }
}

/// The type of a parameter.
#[cfg(feature = "scheduling")]
pub(crate) fn sql_type(parameter: ParameterType) -> SqlType {
    match parameter {
        ParameterType::Int => SqlType::Int4,
        ParameterType::BigInt => SqlType::Int8,
        ParameterType::Cents => SqlType::Numeric,
        ParameterType::Text => SqlType::Text,
        ParameterType::Ints => SqlType::Int4Array,
        ParameterType::BigInts => SqlType::Int8Array,
    }
}

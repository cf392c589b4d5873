//! A call: one transaction as a procedure with typed arguments.
//!
//! Relies on: nothing.  Promises: a call carries everything that a run of it depends on, so running it
//! again is running the same transaction; as text it is one statement of plain SQL.  Does not: know how
//! a database is reached, or what a protocol makes of the arguments.

use std::fmt::Write;

/// A transaction of a workload, as the database knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Procedure {
    /// Its name in reports.
    pub name: &'static str,
    /// The statement that runs it, with `$1` to `$n` for the arguments.
    pub statement: &'static str,
    /// Types of the arguments.
    pub parameters: &'static [ParameterType],
    /// SQLSTATEs with which it may refuse by its own rules, as an overdrawn account.
    pub refusals: &'static [&'static str],
    /// What the first column of its answer says.
    pub answers: Answers,
}

/// What the first column of a procedure's answer says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answers {
    /// Nothing that anybody looks at here.
    Nothing,
    /// A number (`bigint`) that the call's effect can be checked by.
    Count,
    /// A text that the stream of calls is told, see [`Calls::ended`].
    Text,
}

/// Types of arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterType {
    /// `int`.
    Int,
    /// `bigint`.
    BigInt,
    /// `numeric` with two digits after the point.
    Cents,
    /// `text`.
    Text,
    /// `int[]`.
    Ints,
    /// `bigint[]`.
    BigInts,
}

/// One argument; `None` is NULL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// `int`.
    Int(Option<i32>),
    /// `bigint`.
    BigInt(i64),
    /// `numeric` with two digits after the point, in hundredths.
    Cents(i64),
    /// `text`.
    Text(Option<String>),
    /// `int[]`.
    Ints(Vec<i32>),
    /// `bigint[]`.
    BigInts(Vec<i64>),
}

impl Argument {
    /// The type of the parameter that it is for.
    pub fn parameter_type(&self) -> ParameterType {
        match self {
            Argument::Int(_) => ParameterType::Int,
            Argument::BigInt(_) => ParameterType::BigInt,
            Argument::Cents(_) => ParameterType::Cents,
            Argument::Text(_) => ParameterType::Text,
            Argument::Ints(_) => ParameterType::Ints,
            Argument::BigInts(_) => ParameterType::BigInts,
        }
    }

    /// Appends it as an SQL literal with its type.
    pub fn write_literal(&self, sql: &mut String) {
        // Writing to a string cannot fail.
        let _ = match self {
            Argument::Int(None) => write!(sql, "NULL::int"),
            Argument::Int(Some(number)) => write!(sql, "{number}"),
            Argument::BigInt(number) => write!(sql, "{number}::bigint"),
            Argument::Cents(cents) => write!(sql, "{}", Cents(*cents)),
            Argument::Text(None) => write!(sql, "NULL::text"),
            Argument::Text(Some(text)) => write!(sql, "'{}'", text.replace('\'', "''")),
            Argument::Ints(numbers) => write!(sql, "'{{{}}}'::int[]", Listed(numbers)),
            Argument::BigInts(numbers) => write!(sql, "'{{{}}}'::bigint[]", Listed(numbers)),
        };
    }
}

/// Hundredths, written with a decimal point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cents(pub i64);

impl std::fmt::Display for Cents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let cents = self.0.unsigned_abs();
        write!(f, "{sign}{}.{:02}", cents / 100, cents % 100)
    }
}

struct Listed<'a, T>(&'a [T]);

impl<T: std::fmt::Display> std::fmt::Display for Listed<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (i, number) in self.0.iter().enumerate() {
            let comma = if i > 0 { "," } else { "" };
            write!(f, "{comma}{number}")?;
        }
        Ok(())
    }
}

/// How a call must end if the database is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With a commit.
    Commit,
    /// With a commit or a refusal of the procedure's own, as the data have it.
    Either,
    /// With a refusal of the procedure's own.
    Refusal,
}

/// One transaction to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Which of the workload's procedures, by position.
    pub procedure: usize,
    /// What it is called with.
    pub arguments: Vec<Argument>,
    /// How it must end.
    pub ending: Ending,
}

impl Call {
    /// The call as one statement of SQL.
    pub fn to_sql(&self, procedure: &Procedure) -> String {
        let mut sql = String::with_capacity(256);
        let mut rest = procedure.statement;
        while let Some(at) = rest.find('$') {
            sql.push_str(&rest[..at]);
            rest = &rest[at + 1..];
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let number: usize = rest[..digits].parse().expect("a parameter has a number");
            self.arguments[number - 1].write_literal(&mut sql);
            rest = &rest[digits..];
        }
        sql.push_str(rest);
        sql
    }
}

/// How a call ended, once it was run for the last time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallEnd<'a> {
    /// It committed.
    Committed {
        /// What its procedure answered, if that is [`Answers::Text`].
        answer: Option<&'a str>,
    },
    /// It left nothing behind: refused, or lost so often that it was given up.
    Undone,
}

/// An endless stream of calls: what one client does.
pub trait Calls: Send {
    /// The next call. The one before has ended.
    fn next_call(&mut self) -> Call;

    /// How it ended. Not called if the run ends because the connection is lost.
    fn ended(&mut self, _: CallEnd<'_>) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_become_literals_in_their_places() {
        let procedure = Procedure {
            name: "p",
            statement: "SELECT p($2, $1, $3, $10, NULL)",
            parameters: &[],
            refusals: &[],
            answers: Answers::Nothing,
        };
        let mut arguments = vec![
            Argument::Int(Some(-7)),
            Argument::Text(Some("O'Hara $1".into())),
            Argument::Cents(-5),
        ];
        arguments.resize(9, Argument::Int(None));
        arguments.push(Argument::BigInts(vec![1, 2]));
        let call = Call {
            procedure: 0,
            arguments,
            ending: Ending::Commit,
        };
        assert_eq!(
            call.to_sql(&procedure),
            "SELECT p('O''Hara $1', -7, -0.05, '{1,2}'::bigint[], NULL)"
        );
    }

    #[test]
    fn hundredths_keep_their_zeros() {
        for (cents, text) in [
            (0, "0.00"),
            (7, "0.07"),
            (-123_450, "-1234.50"),
            (100, "1.00"),
        ] {
            assert_eq!(Cents(cents).to_string(), text);
        }
    }
}

//! Which engine runs a call.
//!
//! Relies on: nothing.  Promises: plain data.  Does not: decide; whoever makes a call, or runs the database,
//! does.

use quintet_base::{SqlError, SqlResult, SqlState};

/// A way of running calls.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Engine {
    /// At once; a call that loses a conflict at its commit is run again.
    #[default]
    Direct,
    /// Behind the pending calls that it conflicts with, as far as its routine says which they are.
    Chain,
    /// In batches: calls that are pending together are one transaction, run in the order of their arrival.
    Queue,
    /// [`Engine::Direct`] while hardly any call of the routine loses a conflict, else [`Engine::Queue`].
    Auto,
    /// [`Engine::Direct`], with rows locked when they are first read or written: strict two-phase locking, as
    /// databases have it that others are compared with. At READ COMMITTED only, which it is stronger than.
    Locking,
}

impl Engine {
    /// Reads a name.
    ///
    /// # Errors
    /// `22023` for any other word.
    pub fn parse(text: &str) -> SqlResult<Engine> {
        match text.to_ascii_lowercase().as_str() {
            "direct" => Ok(Engine::Direct),
            "chain" => Ok(Engine::Chain),
            "queue" => Ok(Engine::Queue),
            "auto" => Ok(Engine::Auto),
            "locking" => Ok(Engine::Locking),
            _ => Err(SqlError::new(
                SqlState::INVALID_PARAMETER_VALUE,
                format!("there is no engine \"{text}\""),
            )
            .hint("The engines are direct, chain, queue, auto and locking.")),
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Engine::Direct => "direct",
            Engine::Chain => "chain",
            Engine::Queue => "queue",
            Engine::Auto => "auto",
            Engine::Locking => "locking",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_is_known_by_its_name() {
        for engine in [Engine::Direct, Engine::Chain, Engine::Queue, Engine::Auto] {
            assert_eq!(Engine::parse(engine.name()).unwrap(), engine);
        }
        let error = Engine::parse("quick").unwrap_err();
        assert_eq!(error.state, SqlState::INVALID_PARAMETER_VALUE);
    }
}

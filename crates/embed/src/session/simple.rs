//! The simple protocol: a string of statements, run one after the other.
//!
//! Relies on: `sql` to split a string, and to take the literals out of a text.  Promises: texts that differ in their literals
//! alone share a plan, as long as a plan with the literals in it could not be another; an error says the place in the text that
//! was sent.  Does not: run anything: each statement becomes the portal "".

use super::Session;
use super::planning::{PLANS_MAX, Prepared, Source};
use super::portal::Portal;
use quintet_base::{SqlError, SqlResult, SqlState, SqlType, TypeMod, Value, stack, text_format};
use quintet_ir::cast::cast;
use quintet_sql::{Normalized, Parsed};
use std::sync::Arc;

/// One statement of a simple-protocol string.
pub struct SimpleStatement {
    form: SimpleForm,
    /// Its end is the end of the string, where an implicit transaction commits.
    last: bool,
}

enum SimpleForm {
    Parsed(Arc<Parsed>),
    Normalized {
        original: Arc<str>,
        normalized: Normalized,
    },
}

impl Session {
    /// Splits a query string. For each statement call `begin_simple`, then `execute` the portal ""
    /// until it is done, then `sync` once.
    ///
    /// # Errors
    /// `42601`, before anything has run.
    pub fn split(&mut self, sql: &str) -> SqlResult<Vec<SimpleStatement>> {
        if let Some(normalized) = quintet_sql::normalize(sql) {
            let form = SimpleForm::Normalized {
                original: sql.into(),
                normalized,
            };
            return Ok(vec![SimpleStatement { form, last: true }]);
        }
        self.split_parsed(sql)
    }

    fn split_parsed(&self, sql: &str) -> SqlResult<Vec<SimpleStatement>> {
        let parsed = quintet_sql::parse(sql)?;
        let count = parsed.len();
        Ok(parsed
            .into_iter()
            .enumerate()
            .map(|(i, parsed)| SimpleStatement {
                form: SimpleForm::Parsed(Arc::new(parsed)),
                last: i + 1 == count,
            })
            .collect())
    }

    /// Plans one statement and binds it to the portal "".
    ///
    /// # Errors
    /// Whatever planning says.
    pub fn begin_simple(&mut self, statement: &SimpleStatement) -> SqlResult<()> {
        stack::for_running(|| self.begin_statement(statement))
    }

    fn begin_statement(&mut self, statement: &SimpleStatement) -> SqlResult<()> {
        let (prepared, params) = match &statement.form {
            SimpleForm::Parsed(parsed) => {
                let source = Source {
                    parsed: Arc::clone(parsed),
                    declared: Arc::from([]),
                };
                self.refuse_if_failed(&source)?;
                let prepared = self.plan(source)?;
                if !prepared.params.is_empty() {
                    return Err(SqlError::new(
                        SqlState::UNDEFINED_PARAMETER,
                        "there is no parameter $1",
                    ));
                }
                (prepared, Vec::new())
            }
            SimpleForm::Normalized {
                original,
                normalized,
            } => self.plan_normalized(original, normalized)?,
        };
        let mut portal = Portal::new(prepared, params);
        if let SimpleForm::Normalized { original, .. } = &statement.form {
            portal.text = Some(Arc::clone(original));
        }
        portal.announce = true;
        portal.commits = statement.last;
        self.portals.put("", portal);
        Ok(())
    }

    /// The plan of a text without its literals, and the literals as its parameters.
    fn plan_normalized(
        &mut self,
        original: &str,
        normalized: &Normalized,
    ) -> SqlResult<(Arc<Prepared>, Vec<Value>)> {
        let cached = match self.plans.get(&normalized.key).cloned() {
            Some(Some(prepared)) if self.is_current(&prepared) => Some(prepared),
            // What literals stand for is found out anew: a column may be of another type now.
            Some(Some(prepared)) => {
                self.keep_normalized(normalized, Some(prepared.source.clone()))?
            }
            Some(None) => None,
            None => {
                let source = source_of(normalized);
                self.keep_normalized(normalized, source)?
            }
        };
        if let Some(prepared) = cached.filter(|prepared| !prepared.constants) {
            self.refuse_if_failed(&prepared.source)?;
            let params: SqlResult<Vec<Value>> = normalized
                .literals
                .iter()
                .zip(&prepared.params)
                .map(|((value, ty), to)| self.literal(value, *ty, *to))
                .collect();
            if let Ok(params) = params {
                return Ok((prepared, params));
            }
            // A literal that its type refuses: planning the original text says so with its position.
        }
        let mut statements = self.split_parsed(original)?;
        let Some(SimpleStatement {
            form: SimpleForm::Parsed(parsed),
            ..
        }) = statements.pop()
        else {
            return Err(SqlError::internal("a normalized text holds one statement"));
        };
        let source = Source {
            parsed,
            declared: Arc::from([]),
        };
        self.refuse_if_failed(&source)?;
        Ok((self.plan(source)?, Vec::new()))
    }

    /// Plans a text without its literals, if it can be planned so, and keeps what came of it.
    ///
    /// # Errors
    /// `57014`, of which nothing is learned.
    fn keep_normalized(
        &mut self,
        normalized: &Normalized,
        source: Option<Source>,
    ) -> SqlResult<Option<Arc<Prepared>>> {
        let planned = source.map(|source| self.plan(source)).transpose();
        let prepared = match planned {
            Err(error) if error.state == SqlState::QUERY_CANCELED => return Err(error),
            planned => planned.ok().flatten(),
        };
        let prepared =
            prepared.filter(|prepared| prepared.params.len() == normalized.literals.len());
        if self.plans.len() >= PLANS_MAX {
            self.plans.clear();
        }
        self.plans.insert(normalized.key.clone(), prepared.clone());
        Ok(prepared)
    }

    /// A literal, or an argument of EXECUTE, as a parameter's value.
    pub(super) fn literal(&self, value: &Value, from: SqlType, to: SqlType) -> SqlResult<Value> {
        match value {
            Value::Text(text) if from == SqlType::Unknown => {
                text_format::read(to, text, self.format())
            }
            _ if from == to => Ok(value.clone()),
            _ => cast(value.clone(), from, to, TypeMod::NONE, false, &self.host),
        }
    }
}

/// What a text without its literals is planned from, if it may be.
fn source_of(normalized: &Normalized) -> Option<Source> {
    let types: Vec<SqlType> = normalized.literals.iter().map(|(_, ty)| *ty).collect();
    let mut parsed = quintet_sql::parse(&normalized.text).ok()?;
    let only = parsed.pop().filter(|_| parsed.is_empty());
    let parsed = only.filter(Parsed::may_be_normalized)?;
    Some(Source {
        parsed: Arc::new(parsed),
        declared: types.into(),
    })
}

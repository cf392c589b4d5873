//! RAISE and ASSERT.
//!
//! Relies on: `lower`.  Promises: what is said is what PostgreSQL says.  Does not: evaluate anything now.

use super::Lowering;
use crate::plpgsql::{self, RaiseSubject, SqlText};
use quintet_base::{SqlError, SqlResult, SqlState, SqlType, TypeMod, Value};
use quintet_ir::Expr;
use quintet_ir::routine::{Action, Raise, RaiseOption, RaiseState, Severity, Step};

impl Lowering<'_, '_, '_> {
    /// RAISE.
    pub(super) fn raise(&mut self, raise: &plpgsql::Raise) -> SqlResult<()> {
        let severity = raise.level;
        let (mut state, mut format, mut arguments) = (RaiseState::Default, Vec::new(), Vec::new());
        match &raise.subject {
            RaiseSubject::Again => {
                self.at.add(Action::Reraise);
                return Ok(());
            }
            RaiseSubject::Options => {}
            RaiseSubject::Format {
                format: text,
                arguments: texts,
            } => {
                format = pieces(text);
                for text in texts {
                    let value = match self.row_as_text(&text.text)? {
                        Some(row) => row,
                        None => self.at.expression(&text.text)?,
                    };
                    let ty = match value.ty() {
                        SqlType::Unknown => SqlType::Text,
                        ty => ty,
                    };
                    arguments.push(self.at.converted(value, ty, TypeMod::NONE)?);
                }
                if format.len() != arguments.len() + 1 {
                    let message = match format.len() > arguments.len() + 1 {
                        true => "too few parameters specified for RAISE",
                        false => "too many parameters specified for RAISE",
                    };
                    return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
                }
            }
            RaiseSubject::Condition { name, state: known } => {
                state = RaiseState::Given(*known);
                if raise
                    .options
                    .iter()
                    .all(|(option, _)| !matches!(option, RaiseOption::Message))
                {
                    format = vec![name.clone()];
                }
            }
        }
        let mut options = Vec::new();
        for (option, text) in &raise.options {
            let value = self.at.typed(&text.text, SqlType::Text, TypeMod::NONE)?;
            options.push((*option, value));
        }
        self.at.add(Action::Raise(Box::new(Raise {
            severity,
            state,
            format,
            arguments,
            options,
        })));
        Ok(())
    }

    /// ASSERT.
    pub(super) fn assert(
        &mut self,
        condition: &SqlText,
        message: Option<&SqlText>,
    ) -> SqlResult<()> {
        let holds = self.at.condition(&condition.text)?;
        let line = self.at.line;
        let plain = "assertion failed";
        let (options, mut failing) = self.at.apart(|at| match message {
            Some(text) => {
                let value = at.typed(&text.text, SqlType::Text, TypeMod::NONE)?;
                let plain = Expr::Const(Value::text(plain), SqlType::Text);
                let value = Expr::Coalesce {
                    args: vec![value, plain],
                    ty: SqlType::Text,
                };
                Ok(vec![(RaiseOption::Message, value)])
            }
            None => Ok(Vec::new()),
        })?;
        let format = match message {
            Some(_) => Vec::new(),
            None => vec![plain.to_string()],
        };
        failing.push(Step {
            line,
            needs: None,
            action: Action::Raise(Box::new(Raise {
                severity: Severity::Exception,
                state: RaiseState::Given(SqlState::ASSERT_FAILURE),
                format,
                arguments: Vec::new(),
                options,
            })),
        });
        self.at.add(Action::If {
            branches: vec![(holds, Vec::new())],
            otherwise: failing,
        });
        Ok(())
    }
}

/// The pieces of a format between its arguments: `%` is one, `%%` a percent sign.
fn pieces(format: &str) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut characters = format.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '%' if characters.peek() == Some(&'%') => {
                characters.next();
                if let Some(piece) = pieces.last_mut() {
                    piece.push('%');
                }
            }
            '%' => pieces.push(String::new()),
            other => {
                if let Some(piece) = pieces.last_mut() {
                    piece.push(other);
                }
            }
        }
    }
    pieces
}

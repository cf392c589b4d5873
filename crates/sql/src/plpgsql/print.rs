//! The tree as text, for tests and for people.
//!
//! Relies on: `tree`.  Promises: one line for each statement with the line of the body before it;
//! variables with their numbers (`total#3`), SQL in braces on one line.  Does not: print anything
//! that PL/pgSQL would read.

use super::tree::*;
use quintet_ir::dynamic::Direction;
use std::fmt::{self, Display, Formatter};

impl Display for Routine {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.header)?;
        let printer = Printer(&self.body.variables);
        printer.block(f, &self.body.block, 0)
    }
}

impl Display for Header {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let kind = if self.procedure {
            "procedure"
        } else {
            "function"
        };
        write!(f, "{kind} {}(", self.name.join("."))?;
        for (number, parameter) in self.parameters.iter().enumerate() {
            let comma = if number > 0 { ", " } else { "" };
            let mode = match parameter.mode {
                ParameterMode::In => "in",
                ParameterMode::Out => "out",
                ParameterMode::InOut => "inout",
                ParameterMode::Variadic => "variadic",
                ParameterMode::Table => "table",
            };
            let name = parameter.name.as_deref().unwrap_or("$");
            write!(f, "{comma}{mode} {name}#{number} {}", parameter.data_type)?;
            if parameter.default.is_some() {
                f.write_str(" default")?;
            }
        }
        f.write_str(")")?;
        match &self.returns {
            Returns::Nothing => {}
            Returns::Parameters => f.write_str(" returns parameters")?,
            Returns::Value(data_type) => write!(f, " returns {data_type}")?,
            Returns::SetOfParameters => f.write_str(" returns set of parameters")?,
            Returns::Trigger => f.write_str(" returns trigger")?,
            Returns::SetOf(data_type) => write!(f, " returns set of {data_type}")?,
        }
        match self.volatility {
            Volatility::Immutable => f.write_str(" immutable")?,
            Volatility::Stable => f.write_str(" stable")?,
            Volatility::Volatile => {}
        }
        if self.strict {
            f.write_str(" strict")?;
        }
        Ok(())
    }
}

impl Display for DataType {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            DataType::Named { text, .. } => f.write_str(text),
            DataType::TypeOf { names, array } => {
                let array = if *array { "[]" } else { "" };
                write!(f, "{}%type{array}", names.join("."))
            }
            DataType::RowOf { names } => write!(f, "{}%rowtype", names.join(".")),
            DataType::Record => f.write_str("record"),
        }
    }
}

impl Display for SqlText {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{{{}}}", self.text.replace('\n', "\\n"))
    }
}

impl Display for Raise {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let level = match self.level {
            Severity::Debug => "debug",
            Severity::Log => "log",
            Severity::Info => "info",
            Severity::Notice => "notice",
            Severity::Warning => "warning",
            Severity::Exception => "exception",
        };
        write!(f, "raise {level}")?;
        match &self.subject {
            RaiseSubject::Again => f.write_str(" again")?,
            RaiseSubject::Options => {}
            RaiseSubject::Format { format, arguments } => {
                write!(f, " {format:?}")?;
                for argument in arguments {
                    write!(f, ", {argument}")?;
                }
            }
            RaiseSubject::Condition { name, state } => write!(f, " {name} ({state})")?,
        }
        for (option, text) in &self.options {
            write!(f, " {}={text}", option.word().to_ascii_lowercase())?;
        }
        Ok(())
    }
}

impl Display for Diagnostic {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

/// The variables that numbers are of.
struct Printer<'a>(&'a [Variable]);

impl Printer<'_> {
    fn name(&self, number: VariableNumber) -> String {
        format!("{}#{}", self.0[number.0].name, number.0)
    }

    fn target(&self, target: &Target) -> String {
        let mut text = self.name(target.variable);
        if let Some(field) = &target.field {
            text = format!("{text}.{field}");
        }
        for part in &target.subscripts {
            let bound = |bound: &Option<SqlText>| bound.as_ref().map(SqlText::to_string);
            let lower = bound(&part.lower).unwrap_or_default();
            let upper = bound(&part.upper).unwrap_or_default();
            let colon = if part.is_slice { ":" } else { "" };
            text += &format!("[{lower}{colon}{upper}]");
        }
        text
    }

    fn row_target(&self, target: &RowTarget) -> String {
        match target {
            RowTarget::Record(number) => format!("record {}", self.name(*number)),
            RowTarget::List(targets) => {
                let texts: Vec<String> = targets.iter().map(|it| self.target(it)).collect();
                texts.join(", ")
            }
        }
    }

    fn block(&self, f: &mut Formatter<'_>, block: &Block, depth: usize) -> fmt::Result {
        writeln!(
            f,
            "{}",
            Line(depth, block.line, &head(&block.label, "block"))
        )?;
        for declaration in &block.declarations {
            match declaration {
                Declaration::Variable(number) => self.declared(f, *number, depth + 1)?,
                Declaration::Alias { name, of } => {
                    let text = format!("declare {name} alias {}", self.name(*of));
                    writeln!(f, "{}", Line(depth + 1, 0, &text))?;
                }
            }
        }
        self.statements(f, &block.statements, depth + 1)?;
        let Some(exception) = &block.exception else {
            return Ok(());
        };
        let (state, text) = (exception.sqlstate, exception.sqlerrm);
        let text = format!("exception {}, {}", self.name(state), self.name(text));
        writeln!(f, "{}", Line(depth, 0, &text))?;
        for handler in &exception.handlers {
            let conditions: Vec<String> =
                handler.conditions.iter().map(ToString::to_string).collect();
            let text = format!("when {}", conditions.join(" or "));
            writeln!(f, "{}", Line(depth + 1, handler.line, &text))?;
            self.statements(f, &handler.statements, depth + 2)?;
        }
        Ok(())
    }

    fn declared(&self, f: &mut Formatter<'_>, number: VariableNumber, depth: usize) -> fmt::Result {
        let variable = &self.0[number.0];
        let mut text = format!("declare {}", self.name(number));
        if variable.constant {
            text += " constant";
        }
        if let VariableKind::Declared(data_type) = &variable.kind {
            text = format!("{text} {data_type}");
        }
        if variable.not_null {
            text += " not null";
        }
        if let Some(default) = &variable.default {
            text = format!("{text} := {default}");
        }
        writeln!(f, "{}", Line(depth, variable.line, &text))
    }

    fn statements(
        &self,
        f: &mut Formatter<'_>,
        statements: &[Statement],
        depth: usize,
    ) -> fmt::Result {
        for statement in statements {
            self.statement(f, statement, depth)?;
        }
        Ok(())
    }

    fn statement(&self, f: &mut Formatter<'_>, statement: &Statement, depth: usize) -> fmt::Result {
        use StatementKind::*;
        let mut line = |text: &str| writeln!(f, "{}", Line(depth, statement.line, text));
        match &statement.kind {
            Block(block) => self.block(f, block, depth),
            Assign { target, value } => line(&format!("{} := {value}", self.target(target))),
            If {
                branches,
                otherwise,
            } => {
                for (number, branch) in branches.iter().enumerate() {
                    let word = if number == 0 { "if" } else { "elsif" };
                    self.branch(f, statement.line, depth, word, branch)?;
                }
                if !otherwise.is_empty() {
                    writeln!(f, "{}", Line(depth, 0, "else"))?;
                }
                self.statements(f, otherwise, depth + 1)
            }
            Case {
                subject,
                arms,
                otherwise,
            } => {
                match subject {
                    Some(subject) => line(&format!("case {subject}"))?,
                    None => line("case")?,
                }
                for arm in arms {
                    self.branch(f, arm.condition.line, depth + 1, "when", arm)?;
                }
                match otherwise {
                    Some(otherwise) => {
                        writeln!(f, "{}", Line(depth + 1, 0, "else"))?;
                        self.statements(f, otherwise, depth + 2)
                    }
                    None => Ok(()),
                }
            }
            Loop { label, body } => {
                line(&head(label, "loop"))?;
                self.statements(f, body, depth + 1)
            }
            While {
                label,
                condition,
                body,
            } => {
                line(&format!("{} {condition}", head(label, "while")))?;
                self.statements(f, body, depth + 1)
            }
            ForInteger {
                label,
                variable,
                reverse,
                lower,
                upper,
                step,
                body,
            } => {
                let mut text = format!("{} {} in", head(label, "for"), self.name(*variable));
                if *reverse {
                    text += " reverse";
                }
                text = format!("{text} {lower} .. {upper}");
                if let Some(step) = step {
                    text = format!("{text} by {step}");
                }
                line(&text)?;
                self.statements(f, body, depth + 1)
            }
            ForQuery {
                label,
                target,
                query,
                body,
            } => {
                let target = self.row_target(target);
                line(&format!("{} {target} in {query}", head(label, "for")))?;
                self.statements(f, body, depth + 1)
            }
            ForCursor {
                label,
                variable,
                cursor,
                arguments,
                offset: _,
                body,
            } => {
                let (variable, cursor) = (self.name(*variable), self.name(*cursor));
                let cursor = with(&cursor, arguments);
                line(&format!("{} {variable} in {cursor}", head(label, "for")))?;
                self.statements(f, body, depth + 1)
            }
            Open { cursor, how, .. } => {
                let cursor = self.name(*cursor);
                line(&match how {
                    OpenHow::Bound(arguments) => with(&format!("open {cursor}"), arguments),
                    OpenHow::Query { query, .. } => format!("open {cursor} for {query}"),
                    OpenHow::Execute { sql, .. } => {
                        format!("open {cursor} for execute {}", sql.text)
                    }
                })
            }
            Fetch {
                cursor,
                direction,
                count,
                target,
                ..
            } => {
                let cursor = self.name(*cursor);
                let count = match count {
                    FetchCount::Number(number) => number.to_string(),
                    FetchCount::All => "all".to_string(),
                    FetchCount::Value(text) => text.to_string(),
                };
                let way = match (direction, count.as_str()) {
                    (Direction::Forward, "1") => String::new(),
                    (direction, count) => format!(" {direction:?} {count}").to_ascii_lowercase(),
                };
                line(&match target {
                    Some(target) => {
                        format!("fetch{way} {cursor} into {}", self.row_target(target))
                    }
                    None => format!("move{way} {cursor}"),
                })
            }
            Close { cursor, .. } => line(&format!("close {}", self.name(*cursor))),
            ForEach {
                label,
                target,
                slice,
                array,
                body,
            } => {
                let target = match slice {
                    0 => self.target(target),
                    slice => format!("{} slice {slice}", self.target(target)),
                };
                line(&format!("{} {target} in {array}", head(label, "foreach")))?;
                self.statements(f, body, depth + 1)
            }
            Exit { label, condition } => line(&leave("exit", label, condition)),
            Continue { label, condition } => line(&leave("continue", label, condition)),
            Return(value) => line(&with("return", value)),
            ReturnNext(value) => line(&with("return next", value)),
            ReturnQuery(query) => line(&format!("return query {query}")),
            Raise(raise) => line(&raise.to_string()),
            Assert { condition, message } => line(&with(&format!("assert {condition}"), message)),
            Sql { statement, into } => match into {
                None => line(&format!("sql {statement}")),
                Some(into) => {
                    let strict = if into.strict { "strict " } else { "" };
                    let target = self.row_target(&into.target);
                    line(&format!("sql {statement} into {strict}{target}"))
                }
            },
            Dynamic { sql, into: None } => line(&sql.to_string()),
            Dynamic {
                sql,
                into: Some(into),
            } => {
                let strict = if into.strict { "strict " } else { "" };
                let target = self.row_target(&into.target);
                line(&format!("{sql} into {strict}{target}"))
            }
            ForDynamic {
                label,
                target,
                sql,
                body,
            } => {
                let target = self.row_target(target);
                line(&format!("{} {target} in {sql}", head(label, "for")))?;
                self.statements(f, body, depth + 1)
            }
            ReturnDynamic(sql) => line(&format!("return query {sql}")),
            Perform(query) => line(&format!("perform {query}")),
            Call(text) => line(&format!("call {text}")),
            GetDiagnostics { stacked, items } => {
                let items: Vec<String> = items
                    .iter()
                    .map(|(target, item)| format!("{} = {item}", self.target(target)))
                    .collect();
                let stacked = if *stacked { "stacked " } else { "" };
                line(&format!("get {stacked}diagnostics {}", items.join(", ")))
            }
            Commit => line("commit"),
            Rollback => line("rollback"),
            Null => line("null"),
        }
    }

    fn branch(
        &self,
        f: &mut Formatter<'_>,
        line: u32,
        depth: usize,
        word: &str,
        branch: &Branch,
    ) -> fmt::Result {
        let text = format!("{word} {}", branch.condition);
        writeln!(f, "{}", Line(depth, line, &text))?;
        self.statements(f, &branch.statements, depth + 1)
    }
}

impl Display for DynamicSql {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let word = if self.fixed { "utility" } else { "execute" };
        write!(f, "{word} {}", self.text)?;
        for (number, argument) in self.arguments.iter().enumerate() {
            let before = if number == 0 { " using" } else { "," };
            write!(f, "{before} {argument}")?;
        }
        Ok(())
    }
}

fn head(label: &Option<String>, word: &str) -> String {
    match label {
        Some(label) => format!("<{label}> {word}"),
        None => word.to_string(),
    }
}

fn leave(word: &str, label: &Option<String>, condition: &Option<SqlText>) -> String {
    let word = match label {
        Some(label) => format!("{word} {label}"),
        None => word.to_string(),
    };
    match condition {
        Some(condition) => format!("{word} when {condition}"),
        None => word,
    }
}

fn with(word: &str, text: &Option<SqlText>) -> String {
    match text {
        Some(text) => format!("{word} {text}"),
        None => word.to_string(),
    }
}

/// A line: depth, line of the body unless 0, text.
struct Line<'a>(usize, u32, &'a str);

impl Display for Line<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let number = match self.1 {
            0 => String::new(),
            number => number.to_string(),
        };
        write!(f, "{number:>3} {:width$}{}", "", self.2, width = self.0 * 2)
    }
}

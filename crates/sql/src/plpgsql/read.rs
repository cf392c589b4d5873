//! Statements: from the parser's answer and the words of the body to the tree.
//!
//! Relies on: `walk`.  Promises: see there; what Quintet lacks is refused where its first word
//! stands.  Does not: look into SQL.

use super::Failure;
use super::declare::{ItemKind, Sections, dotted, has_fields};
use super::json::Json;
use super::portals;
use super::raise;
use super::tokens::Tokens;
use super::tree::{
    Block, Body, Branch, CursorQuery, Declaration, DynamicSql, Exception, Handler, Header,
    IntoClause, RowTarget, SqlText, Statement, StatementKind, Subscript, Target, Variable,
    VariableKind, VariableNumber,
};
use super::walk::Walk;
use crate::advisory::is_of_calls;
use quintet_base::{SqlError, SqlState};
use serde_json::Value;

/// What statements begin with that are planned with their routine.
const PLANNED_EARLY: &[&str] = &[
    "select", "insert", "update", "delete", "merge", "with", "values", "table", "(",
];

/// True for a collation that compares text by its bytes, as all text compares here.
fn is_byte_order(name: &str) -> bool {
    let name = name.strip_prefix("pg_catalog.").unwrap_or(name);
    matches!(name, "C" | "POSIX" | "default" | "ucs_basic")
}

/// The body of a routine.
pub(crate) fn body(
    header: &Header,
    tokens: &Tokens,
    sections: Sections,
    answer: &Value,
) -> Result<Body, Failure> {
    let function = answer.as_array().and_then(|functions| functions.first());
    let function = Json::of(function.unwrap_or(&Value::Null));
    let conflict = sections.conflict;
    let mut walk = Walk::new(header, tokens, sections, function);
    for (number, parameter) in header.parameters.iter().enumerate() {
        let name = match &parameter.name {
            Some(name) => name.clone(),
            None => format!("${}", number + 1),
        };
        let mut variable = variable(&name, 0, VariableKind::Parameter(number));
        variable.fields = has_fields(tokens, &parameter.data_type);
        walk.claim(variable)?;
    }
    walk.claim(variable("found", 0, VariableKind::Found))?;
    let mut action = function.node("action").ok_or_else(|| walk.differ())?;
    // A block of no line is the parser's own, around one that a RETURN cannot be added to.
    if action.number("lineno") == 0
        && let Some(&inner) = action.nodes("body").first()
    {
        action = inner;
    }
    let block = walk.block(action)?;
    walk.take_if(";");
    walk.finish()?;
    let portals = portals::portals(tokens, &walk.variables, &block);
    Ok(Body {
        conflict,
        is_dynamic: walk.is_dynamic || walk.plans_late || !portals.is_empty(),
        plans_late: walk.plans_late,
        portals,
        variables: walk.variables,
        block,
    })
}

pub(super) fn variable(name: &str, line: u32, kind: VariableKind) -> Variable {
    Variable {
        name: name.to_string(),
        line,
        constant: matches!(kind, VariableKind::SqlState | VariableKind::SqlErrm),
        kind,
        fields: false,
        default: None,
        not_null: false,
    }
}

impl Walk<'_> {
    fn block(&mut self, node: Json) -> Result<Block, Failure> {
        let label = self.label(node)?;
        self.scope.enter(label.as_deref());
        let declarations = self.declarations()?;
        let line = self.line_of(node)?;
        self.take("begin")?;
        let statements = self.statements(node.nodes("body"))?;
        let exception = match node.node("exceptions") {
            Some(exceptions) => Some(self.exception(exceptions)?),
            None => None,
        };
        self.take("end")?;
        self.end_label();
        self.scope.leave();
        Ok(Block {
            label,
            line,
            declarations,
            statements,
            exception,
        })
    }

    /// The label before a block or loop.
    fn label(&mut self, node: Json) -> Result<Option<String>, Failure> {
        let label = node.text("label").map(str::to_string);
        if label.is_some() {
            self.take("<<")?;
            self.at += 1;
            self.take(">>")?;
        }
        Ok(label)
    }

    /// The label behind an END, which the parser has compared.
    fn end_label(&mut self) {
        if self.tokens.name(self.at).is_some() {
            self.at += 1;
        }
    }

    fn declarations(&mut self) -> Result<Vec<Declaration>, Failure> {
        let mut declarations = Vec::new();
        if !self.is("declare") {
            return Ok(declarations);
        }
        let section = self.section()?;
        for item in section.items {
            let offset = self.tokens.start(item.token);
            match item.kind {
                ItemKind::Alias(names) => {
                    let found = self.scope.find(&names, &self.variables);
                    let found = found.ok_or_else(|| self.differ())?;
                    if found.parts < names.len() {
                        return Err(Failure::unsupported("an alias of a field", offset));
                    }
                    self.scope.declare(&item.name, found.variable);
                    declarations.push(Declaration::Alias {
                        name: item.name,
                        of: found.variable,
                    });
                }
                ItemKind::Cursor(declared) => {
                    let line = self.tokens.line(item.token);
                    let mut arguments = Vec::new();
                    for argument in declared.arguments {
                        let line = self.tokens.line(argument.token);
                        let kind = VariableKind::CursorArgument(argument.data_type);
                        let mut named = variable(&argument.name, line, kind);
                        named.fields = argument.fields;
                        arguments.push(self.claim(named)?);
                    }
                    let query = self.text_between(declared.query.start, declared.query.end);
                    let kind = VariableKind::Cursor(Box::new(CursorQuery {
                        query,
                        arguments,
                        scroll: declared.scroll,
                    }));
                    let number = self.claim(variable(&item.name, line, kind))?;
                    self.scope.declare(&item.name, number);
                    declarations.push(Declaration::Variable(number));
                }
                ItemKind::Variable(declared) => {
                    if let Some(name) = &declared.collation
                        && !is_byte_order(name)
                    {
                        let what = format!("collation \"{name}\"");
                        return Err(Failure::unsupported(&what, offset));
                    }
                    let default = declared.default.as_ref();
                    let number = self.claim(Variable {
                        name: item.name.clone(),
                        line: self.tokens.line(item.token),
                        kind: VariableKind::Declared(declared.data_type),
                        fields: declared.fields,
                        default: default.map(|range| self.text_between(range.start, range.end)),
                        constant: declared.constant,
                        not_null: declared.not_null,
                    })?;
                    self.scope.declare(&item.name, number);
                    declarations.push(Declaration::Variable(number));
                }
            }
        }
        self.at = section.end;
        Ok(declarations)
    }

    fn exception(&mut self, node: Json) -> Result<Exception, Failure> {
        let line = self.tokens.line(self.at);
        self.take("exception")?;
        let sqlstate = self.claim(variable("sqlstate", line, VariableKind::SqlState))?;
        let sqlerrm = self.claim(variable("sqlerrm", line, VariableKind::SqlErrm))?;
        let mut exception = Exception {
            sqlstate,
            sqlerrm,
            handlers: Vec::new(),
        };
        self.scope.enter_handlers(&exception);
        for handler in node.nodes("exc_list") {
            let (line, offset) = (self.tokens.line(self.at), self.offset());
            self.take("when")?;
            let conditions = raise::conditions(self, handler)?;
            self.skip_to(&["then"])?;
            self.take("then")?;
            exception.handlers.push(Handler {
                line,
                offset,
                conditions,
                statements: self.statements(handler.nodes("action"))?,
            });
        }
        Ok(exception)
    }

    fn statements(&mut self, nodes: Vec<Json>) -> Result<Vec<Statement>, Failure> {
        let mut statements = Vec::new();
        // What has no line is the parser's own RETURN at the end.
        for node in nodes.iter().filter(|node| node.number("lineno") > 0) {
            self.nulls(&mut statements);
            statements.push(self.statement(*node)?);
        }
        self.nulls(&mut statements);
        Ok(statements)
    }

    /// NULL statements, which the answer leaves out.
    fn nulls(&mut self, statements: &mut Vec<Statement>) {
        while self.is("null") && self.tokens.is(self.at + 1, ";") {
            let line = self.tokens.line(self.at);
            let kind = StatementKind::Null;
            statements.push(Statement { line, kind });
            self.at += 2;
        }
    }

    fn statement(&mut self, node: Json) -> Result<Statement, Failure> {
        self.refuse(node)?;
        if node.kind == "stmt_block" {
            let block = self.block(node)?;
            self.take(";")?;
            return Ok(Statement {
                line: block.line,
                kind: StatementKind::Block(block),
            });
        }
        let label = match node.kind {
            "stmt_loop" | "stmt_while" | "stmt_fori" | "stmt_fors" | "stmt_forc"
            | "stmt_dynfors" | "stmt_foreach_a" => self.label(node)?,
            _ => None,
        };
        let line = self.line_of(node)?;
        let kind = match node.kind {
            "stmt_assign" => self.assign(node)?,
            "stmt_if" => self.branches(node)?,
            "stmt_case" => self.case(node)?,
            "stmt_loop" => {
                self.take("loop")?;
                let body = self.repeated(label.as_deref(), None, node)?;
                StatementKind::Loop { label, body }
            }
            "stmt_while" => {
                self.take("while")?;
                let condition = self.text(node.expression("cond"))?;
                self.take("loop")?;
                let body = self.repeated(label.as_deref(), None, node)?;
                StatementKind::While {
                    label,
                    condition,
                    body,
                }
            }
            "stmt_fori" => self.for_integer(node, label)?,
            "stmt_fors" => self.for_query(node, label)?,
            "stmt_forc" => self.for_cursor(node, label)?,
            "stmt_open" => self.open(node)?,
            "stmt_fetch" => self.fetch(node)?,
            "stmt_close" => self.close(node)?,
            "stmt_foreach_a" => self.for_each(node, label)?,
            "stmt_exit" => self.exit(node)?,
            "stmt_return" | "stmt_return_next" | "stmt_return_query" => self.returns(node)?,
            "stmt_raise" => raise::raise(self, node)?,
            "stmt_getdiag" => raise::diagnostics(self, node)?,
            "stmt_assert" => {
                self.take("assert")?;
                let condition = self.text(node.expression("cond"))?;
                let message = match node.expression("message") {
                    Some(message) => {
                        self.take(",")?;
                        Some(self.text(Some(message))?)
                    }
                    None => None,
                };
                StatementKind::Assert { condition, message }
            }
            "stmt_execsql" => self.sql(node)?,
            "stmt_dynexecute" => self.execute(node)?,
            "stmt_dynfors" => self.for_dynamic(node, label)?,
            "stmt_perform" => self.perform(node)?,
            "stmt_commit" => {
                self.take("commit")?;
                self.skip_to(&[";"])?;
                StatementKind::Commit
            }
            "stmt_rollback" => {
                self.take("rollback")?;
                self.skip_to(&[";"])?;
                StatementKind::Rollback
            }
            "stmt_call" => StatementKind::Call(self.text(node.expression("expr"))?),
            _ => return Err(self.differ()),
        };
        self.take(";")?;
        Ok(Statement { line, kind })
    }

    /// Refuses what Quintet lacks.
    fn refuse(&self, node: Json) -> Result<(), Failure> {
        let what = match node.kind {
            "stmt_commit" | "stmt_rollback" if node.flag("chain") => "AND CHAIN in a routine",
            "stmt_call" if !node.flag("is_call") => "DO in a routine",
            _ => return Ok(()),
        };
        Err(Failure::unsupported(what, self.offset()))
    }

    fn assign(&mut self, node: Json) -> Result<StatementKind, Failure> {
        let mut target = self.target(node.number("varno"))?;
        let whole = node.expression("expr").unwrap_or_default();
        let start = self.offset();
        let (names, behind) = dotted(self.tokens, self.at);
        let found = self.scope.find(&names, &self.variables);
        let used = match found {
            Some(found) if found.variable == target.variable => found.parts,
            _ => return Err(self.differ()),
        };
        if names.len() > used + usize::from(target.field.is_some()) {
            return Err(Failure::unsupported("a field of a field", start));
        }
        self.at = behind;
        self.element(&mut target)?;
        if !self.take_if(":=") {
            self.take("=")?;
        }
        if self.is(";") {
            // The parser lets this pass, and PostgreSQL finds it when it runs.
            let message = "assignment source returned 0 columns";
            let error = SqlError::new(SqlState::SYNTAX_ERROR, message);
            return Err(Failure::at(error, self.offset()));
        }
        let value = self.text_before(&[";"])?;
        if self
            .tokens
            .source
            .get(start..value.offset + value.text.len())
            != Some(whole)
        {
            return Err(self.differ());
        }
        // A call that may wait is the session's.
        let query = format!("SELECT {}", value.text);
        if target.subscripts.is_empty() && is_of_calls(&query) {
            let text = SqlText {
                offset: value.offset.saturating_sub("SELECT ".len()),
                text: query,
                ..value
            };
            let into = IntoClause {
                strict: false,
                target: RowTarget::List(vec![target]),
            };
            return Ok(self.asked_of_session(text, Some(into)));
        }
        Ok(StatementKind::Assign { target, value })
    }

    /// What may stand between a name and `:=`.
    fn element(&mut self, target: &mut Target) -> Result<(), Failure> {
        let start = self.offset();
        while self.take_if("[") {
            let end = self.tokens.find_outside(self.at, &["]"]);
            let is_slice = self.tokens.find_outside(self.at, &[":"]) < end;
            let mut lower = None;
            if is_slice {
                if !self.is(":") {
                    lower = Some(self.text_before(&[":"])?);
                }
                self.take(":")?;
            }
            let upper = match is_slice && self.is("]") {
                true => None,
                false => Some(self.text_before(&["]"])?),
            };
            self.take("]")?;
            target.subscripts.push(Subscript {
                lower,
                upper,
                is_slice,
            });
        }
        if self.is(".") {
            return Err(Failure::unsupported("a field of an element", start));
        }
        Ok(())
    }

    fn branches(&mut self, node: Json) -> Result<StatementKind, Failure> {
        self.take("if")?;
        let mut branches = vec![self.branch(node.expression("cond"), node.nodes("then_body"))?];
        for branch in node.nodes("elsif_list") {
            if !self.take_if("elsif") {
                self.take("elseif")?;
            }
            branches.push(self.branch(branch.expression("cond"), branch.nodes("stmts"))?);
        }
        let otherwise = match self.take_if("else") {
            true => self.statements(node.nodes("else_body"))?,
            false => Vec::new(),
        };
        self.take("end")?;
        self.take("if")?;
        Ok(StatementKind::If {
            branches,
            otherwise,
        })
    }

    fn branch(&mut self, condition: Option<&str>, body: Vec<Json>) -> Result<Branch, Failure> {
        let condition = self.text(condition)?;
        self.take("then")?;
        Ok(Branch {
            condition,
            statements: self.statements(body)?,
        })
    }

    fn case(&mut self, node: Json) -> Result<StatementKind, Failure> {
        self.take("case")?;
        let (mut subject, mut before) = (None, String::new());
        if let Some(expression) = node.expression("t_expr") {
            subject = Some(self.text(Some(expression))?);
            // The parser has made a comparison of each list of values.
            let hidden = self.datum(node.number("t_varno"))?;
            let name = hidden.text("refname").unwrap_or_default();
            before = format!("\"{name}\" IN (");
        }
        let mut arms = Vec::new();
        for arm in node.nodes("case_when_list") {
            self.take("when")?;
            let text = arm.expression("expr").unwrap_or_default();
            let values = match subject {
                Some(_) => text
                    .strip_prefix(&before)
                    .and_then(|text| text.strip_suffix(')')),
                None => Some(text),
            };
            arms.push(self.branch(values, arm.nodes("stmts"))?);
        }
        let otherwise = match node.flag("have_else") {
            true => {
                self.take("else")?;
                Some(self.statements(node.nodes("else_stmts"))?)
            }
            false => None,
        };
        self.take("end")?;
        self.take("case")?;
        Ok(StatementKind::Case {
            subject,
            arms,
            otherwise,
        })
    }

    /// What a loop repeats, from behind its LOOP to its end label.
    pub(super) fn repeated(
        &mut self,
        label: Option<&str>,
        counter: Option<(&str, VariableNumber)>,
        node: Json,
    ) -> Result<Vec<Statement>, Failure> {
        self.scope.enter(label);
        if let Some((name, number)) = counter {
            self.scope.declare(name, number);
        }
        let body = self.statements(node.nodes("body"))?;
        self.scope.leave();
        self.take("end")?;
        self.take("loop")?;
        self.end_label();
        Ok(body)
    }

    fn for_integer(&mut self, node: Json, label: Option<String>) -> Result<StatementKind, Failure> {
        self.take("for")?;
        let (token, names) = (self.at, dotted(self.tokens, self.at).0);
        let [name] = names.as_slice() else {
            let what = "a qualified name of a loop variable";
            return Err(Failure::unsupported(what, self.offset()));
        };
        self.skip_to(&["in"])?;
        self.take("in")?;
        let reverse = node.flag("reverse");
        if reverse {
            self.take("reverse")?;
        }
        let lower = self.text(node.expression("lower"))?;
        self.take("..")?;
        let upper = self.text(node.expression("upper"))?;
        let step = match node.expression("step") {
            Some(step) => {
                self.take("by")?;
                Some(self.text(Some(step))?)
            }
            None => None,
        };
        self.take("loop")?;
        let line = self.tokens.line(token);
        let number = self.claim(variable(name, line, VariableKind::Counter))?;
        let body = self.repeated(label.as_deref(), Some((name, number)), node)?;
        Ok(StatementKind::ForInteger {
            label,
            variable: number,
            reverse,
            lower,
            upper,
            step,
            body,
        })
    }

    fn for_query(&mut self, node: Json, label: Option<String>) -> Result<StatementKind, Failure> {
        self.take("for")?;
        let target = self.row_target(node.node("var"))?;
        self.skip_to(&["in"])?;
        self.take("in")?;
        let query = self.text(node.expression("query"))?;
        self.take("loop")?;
        let body = self.repeated(label.as_deref(), None, node)?;
        Ok(StatementKind::ForQuery {
            label,
            target,
            query,
            body,
        })
    }

    fn for_each(&mut self, node: Json, label: Option<String>) -> Result<StatementKind, Failure> {
        self.take("foreach")?;
        let number = node.number("varno");
        if self.datum(number)?.kind == "row" {
            let what = "FOREACH with several variables";
            return Err(Failure::unsupported(what, self.offset()));
        }
        let target = self.target(number)?;
        self.skip_to(&["in"])?;
        self.take("in")?;
        self.take("array")?;
        let array = self.text(node.expression("expr"))?;
        self.take("loop")?;
        let body = self.repeated(label.as_deref(), None, node)?;
        Ok(StatementKind::ForEach {
            label,
            target,
            slice: node.number("slice"),
            array,
            body,
        })
    }

    fn exit(&mut self, node: Json) -> Result<StatementKind, Failure> {
        let leaves = node.flag("is_exit");
        self.take(if leaves { "exit" } else { "continue" })?;
        let label = node.text("label").map(str::to_string);
        if label.is_some() {
            self.at += 1;
        }
        let condition = match node.expression("cond") {
            Some(condition) => {
                self.take("when")?;
                Some(self.text(Some(condition))?)
            }
            None => None,
        };
        Ok(match leaves {
            true => StatementKind::Exit { label, condition },
            false => StatementKind::Continue { label, condition },
        })
    }

    fn returns(&mut self, node: Json) -> Result<StatementKind, Failure> {
        self.take("return")?;
        if node.kind == "stmt_return_query" {
            self.take("query")?;
            if node.node("dynquery").is_some() {
                let sql = self.dynamic(node, "dynquery")?;
                return Ok(StatementKind::ReturnDynamic(sql));
            }
            return Ok(StatementKind::ReturnQuery(
                self.text(node.expression("query"))?,
            ));
        }
        if node.kind == "stmt_return_next" {
            self.take("next")?;
        }
        let value = match node.expression("expr") {
            Some(expression) => Some(self.text(Some(expression))?),
            // The answer leaves out a variable alone.
            None if !self.is(";") => Some(self.text_before(&[";"])?),
            None => None,
        };
        Ok(match node.kind {
            "stmt_return_next" => StatementKind::ReturnNext(value),
            _ => StatementKind::Return(value),
        })
    }

    fn sql(&mut self, node: Json) -> Result<StatementKind, Failure> {
        let text = node.expression("sqlstmt");
        if !node.flag("into") {
            let is_planned_early = self.tokens.is_any(self.at, PLANNED_EARLY);
            let statement = self.text(text)?;
            if !is_planned_early {
                self.plans_late = true;
                let sql = DynamicSql {
                    text: statement,
                    fixed: true,
                    calls: false,
                    arguments: Vec::new(),
                };
                return Ok(StatementKind::Dynamic { sql, into: None });
            }
            return Ok(StatementKind::Sql {
                statement,
                into: None,
            });
        }
        let statement = self.text_with_gap(text)?;
        // An INTO at the end is no gap, but left out.
        self.skip_to(&[";"])?;
        let into = Some(IntoClause {
            strict: node.flag("strict"),
            target: self.row_target(node.node("target"))?,
        });
        Ok(match is_of_calls(&statement.text) {
            true => self.asked_of_session(statement, into),
            false => StatementKind::Sql { statement, into },
        })
    }

    /// What only the session can do is asked of it when it is reached.
    fn asked_of_session(&mut self, text: SqlText, into: Option<IntoClause>) -> StatementKind {
        self.plans_late = true;
        let sql = DynamicSql {
            text,
            fixed: true,
            calls: true,
            arguments: Vec::new(),
        };
        StatementKind::Dynamic { sql, into }
    }

    /// EXECUTE.
    fn execute(&mut self, node: Json) -> Result<StatementKind, Failure> {
        let sql = self.dynamic(node, "query")?;
        // INTO may stand behind USING, too.
        self.skip_to(&[";"])?;
        let into = match node.flag("into") {
            true => Some(IntoClause {
                strict: node.flag("strict"),
                target: self.row_target(node.node("target"))?,
            }),
            false => None,
        };
        Ok(StatementKind::Dynamic { sql, into })
    }

    /// From EXECUTE to the end of its USING.
    pub(super) fn dynamic(&mut self, node: Json, query: &str) -> Result<DynamicSql, Failure> {
        self.take("execute")?;
        self.plans_late = true;
        let mut sql = DynamicSql {
            text: self.text(node.expression(query))?,
            fixed: false,
            calls: false,
            arguments: Vec::new(),
        };
        let arguments = node.nodes("params");
        if arguments.is_empty() {
            return Ok(sql);
        }
        self.skip_to(&["using"])?;
        self.take("using")?;
        for (number, argument) in arguments.iter().enumerate() {
            if number > 0 {
                self.take(",")?;
            }
            sql.arguments.push(self.text(argument.query())?);
        }
        Ok(sql)
    }

    fn for_dynamic(&mut self, node: Json, label: Option<String>) -> Result<StatementKind, Failure> {
        self.take("for")?;
        let target = self.row_target(node.node("var"))?;
        self.skip_to(&["in"])?;
        self.take("in")?;
        let sql = self.dynamic(node, "query")?;
        self.take("loop")?;
        let body = self.repeated(label.as_deref(), None, node)?;
        Ok(StatementKind::ForDynamic {
            label,
            target,
            sql,
            body,
        })
    }

    /// The parser has written SELECT over PERFORM and moved it to the left.
    fn perform(&mut self, node: Json) -> Result<StatementKind, Failure> {
        let text = node.expression("expr").unwrap_or_default();
        let Some(rest) = text.strip_prefix("SELECT") else {
            return Err(self.differ());
        };
        let word = &self.tokens.source[self.offset()..self.tokens.end(self.at)];
        let mut query = self.text(Some(&format!("{word}{rest}")))?;
        query.text = text.to_string();
        query.offset += word.len() - "SELECT".len();
        Ok(match is_of_calls(&query.text) {
            true => self.asked_of_session(query, None),
            false => StatementKind::Perform(query),
        })
    }
}

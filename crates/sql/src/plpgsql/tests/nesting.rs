//! However blocks are nested and names declared again, every target is the variable that a naive
//! reading of the text says.
//!
//! Method: a random program is written line by line, one declaration or assignment in each, while
//! a list of the names in scope grows and shrinks.  A variable is known by the line that declares
//! it.  The tree must agree with the list, and so must `Scope` walking along the tree.

use super::super::scope::Scope;
use super::super::*;
use proptest::prelude::*;

/// Few, so that most are declared again.
const NAMES: &[&str] = &["a", "b", "\"C d\"", "e"];

/// Deeper blocks than the parser's answer may nest are no matter of scopes.
const DEPTH_MAX: usize = 8;

/// Writes a program, with a byte for each decision.
struct Writer {
    decisions: std::vec::IntoIter<u8>,
    lines: Vec<String>,
    /// Names in scope and their lines, the innermost last.
    names: Vec<(&'static str, u32)>,
    /// By the line of an assignment, the line of its variable.
    expected: Vec<(u32, u32)>,
}

impl Writer {
    fn decide(&mut self, below: usize) -> usize {
        usize::from(self.decisions.next().unwrap_or(0)) % below
    }

    fn name(&mut self) -> &'static str {
        NAMES[self.decide(NAMES.len())]
    }

    fn line(&mut self, text: impl Into<String>) -> u32 {
        self.lines.push(text.into());
        u32::try_from(self.lines.len()).unwrap()
    }

    fn find(&self, name: &str) -> u32 {
        let own = self.names.iter().rev().find(|own| own.0 == name);
        own.unwrap().1
    }

    fn block(&mut self, depth: usize) {
        let outside = self.names.len();
        if self.decide(4) > 0 {
            self.line("DECLARE");
            for name in NAMES {
                match self.decide(4) {
                    0 => {
                        let line = self.line(format!("{name} int;"));
                        self.names.push((name, line));
                    }
                    1 => {
                        let line = self.line(format!("{name} t%ROWTYPE := NULL;"));
                        self.names.push((name, line));
                    }
                    2 => {
                        let of = self.name();
                        // An alias of itself is one of the outer variable.
                        let line = self.find(of);
                        self.line(format!("{name} ALIAS FOR {of};"));
                        self.names.push((name, line));
                    }
                    _ => {}
                }
            }
        }
        self.line("BEGIN");
        self.statements(depth);
        if self.decide(4) == 0 {
            self.line("EXCEPTION");
            for condition in ["unique_violation", "others"] {
                self.line(format!("WHEN {condition} THEN"));
                self.statements(depth);
            }
        }
        self.line("END;");
        self.names.truncate(outside);
    }

    fn statements(&mut self, depth: usize) {
        for _ in 0..self.decide(5) {
            match self.decide(if depth < DEPTH_MAX { 9 } else { 4 }) {
                0 | 1 => {
                    let name = self.name();
                    let line = self.line(format!("{name} := {name};"));
                    self.expected.push((line, self.find(name)));
                }
                2 => {
                    let name = self.name();
                    let line = self.line(format!("SELECT 1 INTO {name} FROM t;"));
                    self.expected.push((line, self.find(name)));
                }
                3 => {
                    self.line("NULL;");
                }
                4 | 5 => self.block(depth + 1),
                6 => {
                    let name = self.name();
                    let outside = self.names.len();
                    let line = self.line(format!("FOR {name} IN 1..2 LOOP"));
                    self.names.push((name, line));
                    self.statements(depth + 1);
                    self.names.truncate(outside);
                    self.line("END LOOP;");
                }
                7 => {
                    self.line("CASE 1 WHEN 1, 2 THEN");
                    self.statements(depth + 1);
                    self.line("ELSE");
                    self.statements(depth + 1);
                    self.line("END CASE;");
                }
                _ => {
                    self.line("IF true THEN");
                    self.statements(depth + 1);
                    self.line("END IF;");
                }
            }
        }
    }
}

/// Walks the tree with a scope and notes, for each assignment, the line of its variable.
struct Reader<'a> {
    variables: &'a [Variable],
    scope: Scope,
    found: Vec<(u32, u32)>,
}

impl Reader<'_> {
    fn block(&mut self, block: &Block) {
        self.scope.enter_block(block, self.variables);
        self.statements(&block.statements);
        if let Some(exception) = &block.exception {
            self.scope.enter_handlers(exception);
            for handler in &exception.handlers {
                self.statements(&handler.statements);
            }
        }
        self.scope.leave();
    }

    fn statements(&mut self, statements: &[Statement]) {
        for statement in statements {
            match &statement.kind {
                StatementKind::Block(block) => self.block(block),
                StatementKind::Assign { target, value } => {
                    // The value is the name alone, in or without quotes.
                    let name = value.text.trim_matches('"');
                    self.target(statement.line, target.variable, Some(name));
                }
                StatementKind::Sql { into, .. } => {
                    let variable = match &into.as_ref().unwrap().target {
                        RowTarget::Record(variable) => *variable,
                        RowTarget::List(targets) => targets[0].variable,
                    };
                    self.target(statement.line, variable, None);
                }
                StatementKind::ForInteger { variable, body, .. } => {
                    self.scope.enter(None);
                    let name = &self.variables[variable.0].name;
                    self.scope.declare(name, *variable);
                    self.statements(body);
                    self.scope.leave();
                }
                StatementKind::Case {
                    arms, otherwise, ..
                } => {
                    self.statements(&arms[0].statements);
                    self.statements(otherwise.as_ref().unwrap());
                }
                StatementKind::If { branches, .. } => self.statements(&branches[0].statements),
                StatementKind::Null => {}
                other => panic!("never written: {other:?}"),
            }
        }
    }

    fn target(&mut self, line: u32, variable: VariableNumber, name: Option<&str>) {
        if let Some(name) = name {
            let found = self.scope.find(&[name], self.variables).unwrap();
            assert_eq!(found.variable, variable, "line {line}");
        }
        let declared = &self.variables[variable.0];
        self.found.push((line, declared.line));
    }
}

proptest! {
    #[test]
    fn targets_are_the_innermost_variables(
        decisions in proptest::collection::vec(any::<u8>(), 0..400),
    ) {
        let mut writer = Writer {
            decisions: decisions.into_iter(),
            lines: Vec::new(),
            // Parameters have no line.
            names: NAMES.iter().map(|name| (*name, 0)).collect(),
            expected: Vec::new(),
        };
        writer.block(0);
        let body = writer.lines.join("\n");
        let parameters = NAMES.iter().map(|name| format!("{name} int")).collect::<Vec<_>>().join(", ");
        let text = format!("CREATE PROCEDURE p({parameters}) LANGUAGE plpgsql AS $$ {body} $$");
        let tree = super::routine(&text).map_err(|error| {
            TestCaseError::fail(format!("{error:?}\n{body}"))
        })?;
        let mut reader = Reader {
            variables: &tree.body.variables,
            scope: Scope::of(&tree.header),
            found: Vec::new(),
        };
        reader.block(&tree.body.block);
        prop_assert_eq!(reader.found, writer.expected, "{}", body);
    }
}

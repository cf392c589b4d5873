//! The cursor that goes through the parser's answer and the words of a body together.
//!
//! Relies on: `tokens`, `json`, `scope`.  Promises: every word that should be there is looked at,
//! every text of the answer is found in the body where it should be, and every variable of the
//! answer is one that was declared there: anything else is an error, so an answer is never tied to
//! the wrong place.  Does not: know statements; `read` does.
//!
//! The answer numbers variables in the order of the text, with rows of INTO, fields that are used
//! and the hidden variables of CASE in between.  Declarations claim their numbers in that order.

use super::Failure;
use super::declare::{Section, Sections};
use super::json::Json;
use super::scope::Scope;
use super::tokens::{Tokens, line};
use super::tree::{Header, RowTarget, SqlText, Target, Variable, VariableNumber};
use quintet_base::SqlError;
use std::collections::BTreeMap;

/// What the parser calls the hidden variable of a CASE, with a number and two more underscores.
const CASE_VARIABLE: &str = "__Case__Variable_";

/// Where we are.
pub(crate) struct Walk<'a> {
    pub tokens: &'a Tokens<'a>,
    /// The token that comes next.
    pub at: usize,
    pub variables: Vec<Variable>,
    pub scope: Scope,
    /// Some statements are planned when they are reached, or are about portals.
    pub is_dynamic: bool,
    /// Some are planned when they are reached.
    pub plans_late: bool,
    /// DECLARE sections that have not been met.
    sections: BTreeMap<usize, Section>,
    /// The variables of the answer, and which of ours they are.
    datums: Vec<Json<'a>>,
    numbers: Vec<Option<VariableNumber>>,
    /// The first that may be claimed.
    next_datum: usize,
}

impl<'a> Walk<'a> {
    /// At the beginning.
    pub(crate) fn new(
        header: &Header,
        tokens: &'a Tokens<'a>,
        sections: Sections,
        function: Json<'a>,
    ) -> Walk<'a> {
        let datums = function.nodes("datums");
        Walk {
            tokens,
            at: sections.start,
            variables: Vec::new(),
            scope: Scope::of(header),
            is_dynamic: false,
            plans_late: false,
            sections: sections.by_token,
            numbers: vec![None; datums.len()],
            datums,
            next_datum: 0,
        }
    }

    /// The error that answer and text differ here: a bug, but one that does no harm.
    pub(crate) fn differ(&self) -> Failure {
        let near = self.tokens.text(self.at);
        let message = format!("PL/pgSQL is read in two ways at or near \"{near}\"");
        Failure::at(SqlError::internal(message), self.offset())
    }

    /// The byte of the next token.
    pub(crate) fn offset(&self) -> usize {
        self.tokens.start(self.at)
    }

    /// True if the next token is this word.
    pub(crate) fn is(&self, word: &str) -> bool {
        self.tokens.is(self.at, word)
    }

    /// Takes this word, which must be next.
    pub(crate) fn take(&mut self, word: &str) -> Result<(), Failure> {
        match self.take_if(word) {
            true => Ok(()),
            false => Err(self.differ()),
        }
    }

    /// Takes this word if it is next.
    pub(crate) fn take_if(&mut self, word: &str) -> bool {
        let is = self.is(word);
        self.at += usize::from(is);
        is
    }

    /// Goes to the next of these words outside of parentheses.
    pub(crate) fn skip_to(&mut self, words: &[&str]) -> Result<(), Failure> {
        let end = self.tokens.find_outside(self.at, words);
        if end >= self.tokens.len() {
            return Err(self.differ());
        }
        self.at = end;
        Ok(())
    }

    /// The line of the next token, which must be the one that a node is said to be in.
    pub(crate) fn line_of(&self, node: Json) -> Result<u32, Failure> {
        let line = self.tokens.line(self.at);
        match usize::try_from(line) == Ok(node.number("lineno")) {
            true => Ok(line),
            false => Err(self.differ()),
        }
    }

    /// Takes the section that begins at the next token.
    pub(crate) fn section(&mut self) -> Result<Section, Failure> {
        self.sections.remove(&self.at).ok_or_else(|| self.differ())
    }

    /// Takes the tokens before the next of these words: a text that the answer leaves out.
    pub(crate) fn text_before(&mut self, words: &[&str]) -> Result<SqlText, Failure> {
        let start = self.at;
        self.skip_to(words)?;
        if start == self.at {
            return Err(self.differ());
        }
        Ok(self.text_between(start, self.at))
    }

    /// The text of some tokens.
    pub(crate) fn text_between(&self, first: usize, behind: usize) -> SqlText {
        let start = self.tokens.start(first);
        let end = self.tokens.end(behind.saturating_sub(1)).max(start);
        SqlText {
            text: self.tokens.source[start..end].to_string(),
            offset: start,
            line: self.tokens.line(first),
        }
    }

    /// Takes a text of the answer, which must be next.
    pub(crate) fn text(&mut self, text: Option<&str>) -> Result<SqlText, Failure> {
        let text = text.ok_or_else(|| self.differ())?;
        let rest = &self.tokens.source[self.offset()..];
        if !rest.starts_with(text) {
            return Err(self.differ());
        }
        self.take_text(text)
    }

    /// The same for a text that something was taken out of, one blank for each byte.
    pub(crate) fn text_with_gap(&mut self, text: Option<&str>) -> Result<SqlText, Failure> {
        let text = text.ok_or_else(|| self.differ())?;
        let rest = &self.tokens.source.as_bytes()[self.offset()..];
        let Some(rest) = rest.get(..text.len()) else {
            return Err(self.differ());
        };
        let other = |at: &usize| rest[*at] != text.as_bytes()[*at];
        let first = (0..text.len()).find(other);
        let last = (0..text.len()).rev().find(other);
        if let (Some(first), Some(last)) = (first, last)
            && text.as_bytes()[first..=last]
                .iter()
                .any(|&byte| byte != b' ')
        {
            return Err(self.differ());
        }
        self.take_text(text)
    }

    fn take_text(&mut self, text: &str) -> Result<SqlText, Failure> {
        let offset = self.offset();
        let next = self.tokens.first_behind(offset + text.len());
        // It must not end in the middle of a token.
        if next == self.at || self.tokens.end(next - 1) > offset + text.len() {
            return Err(self.differ());
        }
        self.at = next;
        Ok(SqlText {
            text: text.to_string(),
            offset,
            line: line(self.tokens.source, offset),
        })
    }

    /// Adds a variable: the next one of the answer must have its name.
    pub(crate) fn claim(&mut self, variable: Variable) -> Result<VariableNumber, Failure> {
        let kind = if variable.fields { "rec" } else { "var" };
        while let Some(datum) = self.datums.get(self.next_datum) {
            let name = datum.text("refname").unwrap_or_default();
            if datum.kind == kind && name == variable.name {
                let number = VariableNumber(self.variables.len());
                self.numbers[self.next_datum] = Some(number);
                self.variables.push(variable);
                self.next_datum += 1;
                return Ok(number);
            }
            if is_declared(datum) {
                break;
            }
            self.next_datum += 1;
        }
        Err(self.differ())
    }

    /// Sees that nothing is left.
    pub(crate) fn finish(&self) -> Result<(), Failure> {
        let unclaimed = self.datums.get(self.next_datum..).unwrap_or_default();
        let done = self.at == self.tokens.len()
            && self.sections.is_empty()
            && !unclaimed.iter().any(is_declared);
        match done {
            true => Ok(()),
            false => Err(self.differ()),
        }
    }

    /// A variable of the answer.
    pub(crate) fn datum(&self, number: usize) -> Result<Json<'a>, Failure> {
        let datum = self.datums.get(number).copied();
        datum.ok_or_else(|| self.differ())
    }

    /// The variable, or the field of one, that the answer gives a number.
    pub(crate) fn target(&self, number: usize) -> Result<Target, Failure> {
        let datum = self.datum(number)?;
        let (own, field) = match datum.kind {
            "recfield" => (datum.number("recparentno"), datum.text("fieldname")),
            _ => (number, None),
        };
        let variable = self.numbers.get(own).copied().flatten();
        Ok(Target {
            variable: variable.ok_or_else(|| self.differ())?,
            field: field.map(str::to_string),
            subscripts: Vec::new(),
        })
    }

    /// Where a row goes.
    pub(crate) fn row_target(&self, node: Option<Json<'a>>) -> Result<RowTarget, Failure> {
        let node = node.ok_or_else(|| self.differ())?;
        match node.kind {
            "rec" => Ok(RowTarget::Record(self.target(node.number("dno"))?.variable)),
            "row" => {
                let fields = node.values("fields").iter();
                let number = |field: &serde_json::Value| {
                    let number = field.get("varno").and_then(serde_json::Value::as_u64);
                    usize::try_from(number.unwrap_or(0)).unwrap_or(usize::MAX)
                };
                let targets: Result<Vec<Target>, Failure> =
                    fields.map(|field| self.target(number(field))).collect();
                Ok(RowTarget::List(targets?))
            }
            _ => Err(self.differ()),
        }
    }
}

/// True for what some declaration must claim.
fn is_declared(datum: &Json) -> bool {
    let name = datum.text("refname").unwrap_or_default();
    match datum.kind {
        "rec" => true,
        "var" => !name.starts_with(CASE_VARIABLE),
        _ => false,
    }
}

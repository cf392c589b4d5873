//! The grammar of paths.
//!
//! Promises: what PostgreSQL's grammar takes, and its errors at the word where it stops.  Does not: go
//! deeper than [`DEPTH_MAX`]; a chain of operators nests to the left, so that is a bound on them as well.

use super::lex::{Lexer, Word};
use super::{Binary, Chain, DEPTH_MAX, ITEMS_MAX, Item, JsonPath, LAST_LEVEL, Like, Method};
use crate::error::{SqlError, SqlResult, SqlState};
use crate::numeric::Numeric;
use crate::value::Str;

/// What a part of a path is: the grammar never takes one for the other.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    Value,
    /// A condition.
    Predicate,
}

/// A part that was read, and how deep its items nest.
struct Part {
    chain: Chain,
    sort: Sort,
    depth: usize,
}

pub(super) fn read(text: &str) -> SqlResult<JsonPath> {
    let mut lexer = Lexer::new(text);
    let word = lexer.next()?;
    if word == Word::End {
        return Err(SqlError::new(
            SqlState::INVALID_TEXT_REPRESENTATION,
            format!("invalid input syntax for type jsonpath: \"{text}\""),
        ));
    }
    let mut reader = Reader {
        lexer,
        word,
        depth: 0,
        items: 0,
    };
    let lax = !reader.is_keyword("strict");
    if !lax || reader.is_keyword("lax") {
        reader.advance()?;
    }
    let part = reader.or()?;
    if reader.word != Word::End {
        return Err(reader.unexpected());
    }
    check(&part.chain, false, false)?;
    Ok(JsonPath {
        lax,
        body: part.chain,
    })
}

/// What stands where it means nothing: `@` outside of filters, `last` outside of subscripts.
fn check(chain: &[Item], filtered: bool, subscript: bool) -> SqlResult<()> {
    let refuse = |message| Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
    for item in chain {
        match item {
            Item::Current if !filtered => return refuse("@ is not allowed in root expressions"),
            Item::Last if !subscript => return refuse("LAST is allowed only in array subscripts"),
            Item::Binary(_, left, right) => {
                check(left, filtered, subscript)?;
                check(right, filtered, subscript)?;
            }
            Item::Filter(inner) => check(inner, true, subscript)?,
            Item::Plus(inner)
            | Item::Minus(inner)
            | Item::Not(inner)
            | Item::IsUnknown(inner)
            | Item::Exists(inner)
            | Item::Like(inner, _) => check(inner, filtered, subscript)?,
            Item::Elements(subscripts) => {
                for (from, to) in subscripts {
                    check(from, filtered, true)?;
                    to.as_ref().map_or(Ok(()), |to| check(to, filtered, true))?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Words of the language that are written in small letters only.
const SMALL: &[&str] = &["null", "true", "false"];

struct Reader<'a> {
    lexer: Lexer<'a>,
    /// The word that comes next.
    word: Word,
    depth: usize,
    items: usize,
}

impl Reader<'_> {
    fn advance(&mut self) -> SqlResult<Word> {
        let next = self.lexer.next()?;
        Ok(std::mem::replace(&mut self.word, next))
    }

    fn unexpected(&self) -> SqlError {
        self.lexer.error("syntax error")
    }

    fn is_sign(&self, sign: &str) -> bool {
        matches!(&self.word, Word::Sign(own) if *own == sign)
    }

    fn is_keyword(&self, keyword: &str) -> bool {
        match &self.word {
            Word::Name(name) if SMALL.contains(&keyword) => name == keyword,
            Word::Name(name) => name.eq_ignore_ascii_case(keyword),
            _ => false,
        }
    }

    fn take(&mut self, sign: &str) -> SqlResult<bool> {
        let found = self.is_sign(sign);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    fn take_keyword(&mut self, keyword: &str) -> SqlResult<bool> {
        let found = self.is_keyword(keyword);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    fn expect(&mut self, sign: &str) -> SqlResult<()> {
        match self.take(sign)? {
            true => Ok(()),
            false => Err(self.unexpected()),
        }
    }

    /// What was read must be of this sort; if not, the word behind it is the one that does not fit.
    fn must_be(&self, part: Part, sort: Sort) -> SqlResult<Part> {
        match part.sort == sort {
            true => Ok(part),
            false => Err(self.unexpected()),
        }
    }

    /// A part of these items, over parts as deep as that.
    fn part(&mut self, item: Item, sort: Sort, below: usize) -> SqlResult<Part> {
        self.items += 1;
        if self.items > ITEMS_MAX {
            let message = format!("jsonpath has more than {ITEMS_MAX} items");
            return Err(SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message));
        }
        let part = Part {
            chain: vec![item],
            sort,
            depth: below + 1,
        };
        match part.depth > DEPTH_MAX {
            true => Err(too_deep()),
            false => Ok(part),
        }
    }

    fn binary(&mut self, binary: Binary, left: Part, right: Part) -> SqlResult<Part> {
        let sort = match binary.is_arithmetic() {
            true => Sort::Value,
            false => Sort::Predicate,
        };
        let below = left.depth.max(right.depth);
        let item = Item::Binary(binary, Box::new(left.chain), Box::new(right.chain));
        self.part(item, sort, below)
    }

    fn or(&mut self) -> SqlResult<Part> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(too_deep());
        }
        let mut left = self.and()?;
        while self.is_sign("||") {
            left = self.must_be(left, Sort::Predicate)?;
            self.advance()?;
            let right = self.and()?;
            let right = self.must_be(right, Sort::Predicate)?;
            left = self.binary(Binary::Or, left, right)?;
        }
        self.depth -= 1;
        Ok(left)
    }

    fn and(&mut self) -> SqlResult<Part> {
        let mut left = self.condition()?;
        while self.is_sign("&&") {
            left = self.must_be(left, Sort::Predicate)?;
            self.advance()?;
            let right = self.condition()?;
            let right = self.must_be(right, Sort::Predicate)?;
            left = self.binary(Binary::And, left, right)?;
        }
        Ok(left)
    }

    /// `(…)` around a condition.
    fn enclosed_predicate(&mut self) -> SqlResult<Part> {
        self.expect("(")?;
        let inner = self.or()?;
        let inner = self.must_be(inner, Sort::Predicate)?;
        self.expect(")")?;
        Ok(inner)
    }

    fn exists(&mut self) -> SqlResult<Part> {
        self.advance()?;
        self.expect("(")?;
        let inner = self.sum()?;
        let inner = self.must_be(inner, Sort::Value)?;
        self.expect(")")?;
        let below = inner.depth;
        self.part(Item::Exists(Box::new(inner.chain)), Sort::Predicate, below)
    }

    /// A condition without `&&` and `||`, or a value.
    fn condition(&mut self) -> SqlResult<Part> {
        if self.take("!")? {
            let inner = match self.is_keyword("exists") {
                true => self.exists()?,
                false => self.enclosed_predicate()?,
            };
            let below = inner.depth;
            return self.part(Item::Not(Box::new(inner.chain)), Sort::Predicate, below);
        }
        if self.is_keyword("exists") {
            return self.exists();
        }
        let left = self.sum()?;
        if left.sort == Sort::Predicate {
            return Ok(left);
        }
        let compare = [
            ("==", Binary::Equal),
            ("!=", Binary::NotEqual),
            ("<>", Binary::NotEqual),
            ("<=", Binary::LessOrEqual),
            (">=", Binary::GreaterOrEqual),
            ("<", Binary::Less),
            (">", Binary::Greater),
        ];
        if let Some((_, binary)) = compare.iter().find(|(sign, _)| self.is_sign(sign)) {
            self.advance()?;
            let right = self.sum()?;
            let right = self.must_be(right, Sort::Value)?;
            return self.binary(*binary, left, right);
        }
        if self.take_keyword("starts")? {
            if !self.take_keyword("with")? {
                return Err(self.unexpected());
            }
            let initial = match &self.word {
                Word::Text(text) => Item::Text(Str::from(text.as_str())),
                Word::Variable(name) => Item::Variable(Str::from(name.as_str())),
                _ => return Err(self.unexpected()),
            };
            self.advance()?;
            let initial = self.part(initial, Sort::Value, 0)?;
            return self.binary(Binary::StartsWith, left, initial);
        }
        if self.take_keyword("like_regex")? {
            return self.like(left);
        }
        Ok(left)
    }

    fn text(&mut self) -> SqlResult<String> {
        match self.word {
            Word::Text(_) => match self.advance()? {
                Word::Text(text) => Ok(text),
                _ => Err(self.unexpected()),
            },
            _ => Err(self.unexpected()),
        }
    }

    fn like(&mut self, operand: Part) -> SqlResult<Part> {
        let mut like = Like {
            pattern: Str::from(self.text()?),
            ..Like::default()
        };
        let flags = match self.take_keyword("flag")? {
            true => self.text()?,
            false => String::new(),
        };
        for flag in flags.chars() {
            match flag {
                'i' => like.any_case = true,
                's' => like.dots_all = true,
                'm' => like.lines = true,
                'x' => like.expanded = true,
                'q' => like.literal = true,
                other => {
                    let error = SqlError::new(
                        SqlState::SYNTAX_ERROR,
                        "invalid input syntax for type jsonpath",
                    );
                    return Err(error.detail(format!(
                        "Unrecognized flag character \"{other}\" in LIKE_REGEX predicate."
                    )));
                }
            }
        }
        if like.expanded && !like.literal {
            return Err(SqlError::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                "XQuery \"x\" flag (expanded regular expressions) is not implemented",
            ));
        }
        let item = Item::Like(Box::new(operand.chain), Box::new(like));
        self.part(item, Sort::Predicate, operand.depth)
    }

    fn sum(&mut self) -> SqlResult<Part> {
        let mut left = self.product()?;
        loop {
            let binary = match self.word {
                Word::Sign("+") => Binary::Add,
                Word::Sign("-") => Binary::Subtract,
                _ => return Ok(left),
            };
            left = self.must_be(left, Sort::Value)?;
            self.advance()?;
            let right = self.product()?;
            let right = self.must_be(right, Sort::Value)?;
            left = self.binary(binary, left, right)?;
        }
    }

    fn product(&mut self) -> SqlResult<Part> {
        let mut left = self.signed()?;
        loop {
            let binary = match self.word {
                Word::Sign("*") => Binary::Multiply,
                Word::Sign("/") => Binary::Divide,
                Word::Sign("%") => Binary::Modulo,
                _ => return Ok(left),
            };
            left = self.must_be(left, Sort::Value)?;
            self.advance()?;
            let right = self.signed()?;
            let right = self.must_be(right, Sort::Value)?;
            left = self.binary(binary, left, right)?;
        }
    }

    /// Signs before a value; those of a number alone become part of it.
    fn signed(&mut self) -> SqlResult<Part> {
        let minus = match self.word {
            Word::Sign("+") => false,
            Word::Sign("-") => true,
            _ => return self.accessors(),
        };
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(too_deep());
        }
        self.advance()?;
        let inner = self.signed()?;
        let mut inner = self.must_be(inner, Sort::Value)?;
        self.depth -= 1;
        if let [Item::Number(number)] = inner.chain.as_mut_slice() {
            if minus {
                *number = number.neg();
            }
            return Ok(inner);
        }
        let below = inner.depth;
        let item = match minus {
            true => Item::Minus(Box::new(inner.chain)),
            false => Item::Plus(Box::new(inner.chain)),
        };
        self.part(item, Sort::Value, below)
    }

    /// A value and what is asked of it.
    fn accessors(&mut self) -> SqlResult<Part> {
        let mut part = match self.is_sign("(") {
            false => self.primary()?,
            true => {
                self.advance()?;
                let inner = self.or()?;
                self.expect(")")?;
                if inner.sort == Sort::Predicate && self.take_keyword("is")? {
                    if !self.take_keyword("unknown")? {
                        return Err(self.unexpected());
                    }
                    let below = inner.depth;
                    let item = Item::IsUnknown(Box::new(inner.chain));
                    return self.part(item, Sort::Predicate, below);
                }
                inner
            }
        };
        loop {
            let next = match self.word {
                Word::Sign(".") => self.member()?,
                Word::Sign("[") => self.subscripts()?,
                Word::Sign("?") => {
                    self.advance()?;
                    let inner = self.enclosed_predicate()?;
                    let below = inner.depth;
                    self.part(Item::Filter(Box::new(inner.chain)), Sort::Value, below)?
                }
                _ => return Ok(part),
            };
            // What follows is run by what it follows.
            part.depth = part.depth.max(next.depth) + 1;
            if part.depth > DEPTH_MAX {
                return Err(too_deep());
            }
            part.chain.extend(next.chain);
            part.sort = Sort::Value;
        }
    }

    fn primary(&mut self) -> SqlResult<Part> {
        let item = match &self.word {
            Word::Text(text) => Item::Text(Str::from(text.as_str())),
            Word::Variable(name) => Item::Variable(Str::from(name.as_str())),
            Word::Integer(digits) | Word::Number(digits) => Item::Number(Numeric::parse(digits)?),
            Word::Sign("$") => Item::Root,
            Word::Sign("@") => Item::Current,
            Word::Name(_) if self.is_keyword("null") => Item::Null,
            Word::Name(_) if self.is_keyword("true") => Item::Bool(true),
            Word::Name(_) if self.is_keyword("false") => Item::Bool(false),
            Word::Name(_) if self.is_keyword("last") => Item::Last,
            _ => return Err(self.unexpected()),
        };
        self.advance()?;
        self.part(item, Sort::Value, 0)
    }

    /// What is behind a dot.
    fn member(&mut self) -> SqlResult<Part> {
        self.advance()?;
        let item = match &self.word {
            Word::Sign("*") => {
                self.advance()?;
                Item::AnyKey
            }
            Word::Sign("**") => {
                self.advance()?;
                self.levels()?
            }
            Word::Text(key) => {
                let key = Str::from(key.as_str());
                self.advance()?;
                Item::Key(key)
            }
            Word::Name(name) => {
                let name = name.clone();
                self.advance()?;
                self.named(&name)?
            }
            _ => return Err(self.unexpected()),
        };
        self.part(item, Sort::Value, 0)
    }

    /// A method, if parentheses follow the name of one; else a key.
    fn named(&mut self, name: &str) -> SqlResult<Item> {
        let methods = [
            Method::Type,
            Method::Size,
            Method::Abs,
            Method::Floor,
            Method::Ceiling,
            Method::Double,
            Method::KeyValue,
        ];
        let is_datetime = name.eq_ignore_ascii_case("datetime");
        let method = methods
            .into_iter()
            .find(|method| name.eq_ignore_ascii_case(method.name()));
        if !self.is_sign("(") || !is_datetime && method.is_none() {
            return Ok(Item::Key(Str::from(name)));
        }
        self.advance()?;
        let item = match method {
            Some(method) => Item::Method(method),
            None if matches!(self.word, Word::Text(_)) => {
                Item::Datetime(Some(Str::from(self.text()?)))
            }
            None => Item::Datetime(None),
        };
        self.expect(")")?;
        Ok(item)
    }

    fn levels(&mut self) -> SqlResult<Item> {
        if !self.take("{")? {
            return Ok(Item::Any {
                first: 0,
                last: LAST_LEVEL,
            });
        }
        let first = self.level()?;
        let last = match self.take_keyword("to")? {
            true => self.level()?,
            false => first,
        };
        self.expect("}")?;
        Ok(Item::Any { first, last })
    }

    fn level(&mut self) -> SqlResult<u32> {
        let level = match &self.word {
            Word::Integer(digits) => {
                digits.parse::<i32>().map(i32::unsigned_abs).map_err(|_| {
                    SqlError::new(
                        SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
                        format!("value \"{digits}\" is out of range for type integer"),
                    )
                })?
            }
            _ if self.is_keyword("last") => LAST_LEVEL,
            _ => return Err(self.unexpected()),
        };
        self.advance()?;
        Ok(level)
    }

    fn subscripts(&mut self) -> SqlResult<Part> {
        self.advance()?;
        if self.take("*")? {
            self.expect("]")?;
            return self.part(Item::AnyElement, Sort::Value, 0);
        }
        let mut subscripts = Vec::new();
        let mut below = 0;
        loop {
            let from = self.subscript()?;
            below = below.max(from.depth);
            let to = match self.take_keyword("to")? {
                true => Some(self.subscript()?),
                false => None,
            };
            below = to.as_ref().map_or(below, |to| below.max(to.depth));
            subscripts.push((from.chain, to.map(|to| to.chain)));
            if !self.take(",")? {
                break;
            }
        }
        self.expect("]")?;
        self.part(Item::Elements(subscripts), Sort::Value, below)
    }

    fn subscript(&mut self) -> SqlResult<Part> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(too_deep());
        }
        let part = self.sum()?;
        self.depth -= 1;
        self.must_be(part, Sort::Value)
    }
}

fn too_deep() -> SqlError {
    SqlError::new(SqlState(*b"54001"), "stack depth limit exceeded").hint(format!(
        "A jsonpath nests at most {DEPTH_MAX} levels deep; each accessor behind another is a level."
    ))
}

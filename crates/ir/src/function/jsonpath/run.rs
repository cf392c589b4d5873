//! What a path gives.
//!
//! Relies on: the path's reader, which bounds how deep items nest.  Promises: the items of PostgreSQL 15, in
//! its order, and its errors; between items it asks whether the statement's time is over.  Does not: hold more
//! than [`FOUND_MAX`] items.
//!
//! An item is run over one value and hands what it finds to the item behind it. Where nobody wants the values
//! (`found` is `None`) a run ends with the first.

use super::found::{Found, Pair};
use super::layout::{self, Places};
use super::moment::Moment;
use crate::eval::Host;
use quintet_base::jsonpath::{Binary, Chain, Item, LAST_LEVEL, Method};
use quintet_base::{
    Json, Numeric, SqlError, SqlResult, SqlState, SqlType, Str, Value, text_format,
};
use std::rc::Rc;

/// Items that one run may hold at once.
const FOUND_MAX: usize = 4_000_000;

/// Items between two looks at the clock.
const STEPS_BETWEEN_LOOKS: u64 = 4096;

/// How an item ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Outcome {
    Found,
    Nothing,
    /// An error that nobody is told of.
    Error,
}

/// Which document objects are told apart in.
#[derive(Clone)]
enum Base<'a> {
    Document,
    Pair(Rc<Pair<'a>>),
}

/// Where found values go, if anywhere.
pub(super) type Sink<'r, 'a> = Option<&'r mut Vec<Found<'a>>>;

/// A path at work.
pub(super) struct Run<'a, 'h> {
    pub(super) lax: bool,
    pub(super) throws: bool,
    /// The session's time zone may be used.
    pub(super) with_zone: bool,
    pub(super) host: &'h dyn Host,
    ignores_structure: bool,
    root: &'a Json,
    vars: Option<&'a Json>,
    /// What `@` is.
    current: Found<'a>,
    /// What `last` counts from.
    array_size: Option<usize>,
    base: Base<'a>,
    base_number: i64,
    objects_made: i64,
    places: Option<Places>,
    steps: u64,
}

impl<'a, 'h> Run<'a, 'h> {
    pub(super) fn new(
        root: &'a Json,
        vars: Option<&'a Json>,
        lax: bool,
        host: &'h dyn Host,
    ) -> Run<'a, 'h> {
        Run {
            lax,
            throws: true,
            with_zone: false,
            host,
            ignores_structure: lax,
            root,
            vars,
            current: Found::Part(root),
            array_size: None,
            base: Base::Document,
            base_number: 0,
            objects_made: if vars.is_some() { 2 } else { 1 },
            places: None,
            steps: 0,
        }
    }

    /// Runs a whole path.
    pub(super) fn path(&mut self, body: &Chain, found: Sink<'_, 'a>) -> SqlResult<Outcome> {
        let root = Found::Part(self.root);
        if self.lax || found.is_some() {
            return self.item(body, &root, found);
        }
        // Strictly, only the whole list tells that there was no error.
        let mut all = Vec::new();
        Ok(match self.item(body, &root, Some(&mut all))? {
            Outcome::Error => Outcome::Error,
            _ if all.is_empty() => Outcome::Nothing,
            _ => Outcome::Found,
        })
    }

    /// Counts a step, and looks at the clock now and then.
    pub(super) fn look(&mut self) -> SqlResult<()> {
        self.steps += 1;
        if self.steps.is_multiple_of(STEPS_BETWEEN_LOOKS) && self.host.is_overdue() {
            return Err(SqlError::new(
                SqlState::QUERY_CANCELED,
                "canceling statement due to statement timeout",
            ));
        }
        Ok(())
    }

    /// An error of the document's shape or of its values.
    fn fail(&self, state: SqlState, message: impl Into<String>) -> SqlResult<Outcome> {
        match self.throws {
            true => Err(SqlError::new(state, message)),
            false => Ok(Outcome::Error),
        }
    }

    /// The same where only `strict` minds.
    fn fail_strictly(&self, state: SqlState, message: impl Into<String>) -> SqlResult<Outcome> {
        match self.ignores_structure {
            true => Ok(Outcome::Nothing),
            false => self.fail(state, message),
        }
    }

    fn hold(found: &mut Vec<Found<'a>>, value: Found<'a>) -> SqlResult<()> {
        if found.len() >= FOUND_MAX {
            return Err(SqlError::new(
                SqlState::PROGRAM_LIMIT_EXCEEDED,
                format!("a jsonpath finds more than {FOUND_MAX} items"),
            ));
        }
        found.push(value);
        Ok(())
    }

    /// Hands a value to the items that follow, or to who asked.
    fn next(&mut self, rest: &[Item], value: Found<'a>, found: Sink<'_, 'a>) -> SqlResult<Outcome> {
        if !rest.is_empty() {
            return self.item(rest, &value, found);
        }
        if let Some(found) = found {
            Self::hold(found, value)?;
        }
        Ok(Outcome::Found)
    }

    /// Runs an item and those behind it; in lax mode an array stands for its elements.
    pub(super) fn item(
        &mut self,
        chain: &[Item],
        value: &Found<'a>,
        found: Sink<'_, 'a>,
    ) -> SqlResult<Outcome> {
        self.item_unwrapping(chain, value, found, self.lax)
    }

    fn item_unwrapping(
        &mut self,
        chain: &[Item],
        value: &Found<'a>,
        found: Sink<'_, 'a>,
        unwrap: bool,
    ) -> SqlResult<Outcome> {
        self.look()?;
        let rest = &chain[1..];
        let wanted = !rest.is_empty() || found.is_some();
        match &chain[0] {
            Item::Binary(binary, left, right) if binary.is_arithmetic() => {
                self.arithmetic(*binary, (left, right), rest, value, found)
            }
            Item::Binary(..)
            | Item::Not(_)
            | Item::IsUnknown(_)
            | Item::Exists(_)
            | Item::Like(..) => {
                let truth = self.predicate(&chain[0], value)?;
                match wanted {
                    true => self.next(
                        rest,
                        Found::Made(truth.map_or(Json::Null, Json::Bool)),
                        found,
                    ),
                    false => Ok(Outcome::Found),
                }
            }
            Item::Plus(operand) => self.sign(operand, false, rest, value, found),
            Item::Minus(operand) => self.sign(operand, true, rest, value, found),
            Item::Key(key) => self.member(key, chain, value, found, unwrap),
            Item::Root => {
                let base = self.with_base(Base::Document, 0);
                let outcome = self.next(rest, Found::Part(self.root), found);
                self.restore(base);
                outcome
            }
            Item::Current => self.next(rest, self.current.clone(), found),
            Item::AnyElement => match value.is_array() {
                true => self.elements_of(value, rest, found, self.lax),
                false if self.lax => self.next(rest, value.clone(), found),
                false => self.fail_strictly(
                    SqlState::SQL_JSON_ARRAY_NOT_FOUND,
                    "jsonpath wildcard array accessor can only be applied to an array",
                ),
            },
            Item::Elements(subscripts) => match value.is_array() || self.lax {
                true => self.elements(subscripts, rest, value, found),
                false => self.fail_strictly(
                    SqlState::SQL_JSON_ARRAY_NOT_FOUND,
                    "jsonpath array accessor can only be applied to an array",
                ),
            },
            Item::Last => {
                let Some(size) = self.array_size else {
                    return Err(SqlError::internal(
                        "evaluating jsonpath LAST outside of array subscript",
                    ));
                };
                let last = Found::number(Numeric::from_i64(size as i64 - 1));
                self.next(rest, last, found)
            }
            Item::AnyKey => match value.is_object() {
                true => self.below(value, rest, found, (1, 1, 1), false, self.lax),
                false if unwrap && value.is_array() => self.elements_of(value, chain, found, false),
                false => self.fail_strictly(
                    SqlState::SQL_JSON_OBJECT_NOT_FOUND,
                    "jsonpath wildcard member accessor can only be applied to an object",
                ),
            },
            Item::Any { first, last } => self.any((*first, *last), rest, value, found),
            Item::Filter(condition) => {
                if unwrap && value.is_array() {
                    return self.elements_of(value, chain, found, false);
                }
                let outer = std::mem::replace(&mut self.current, value.clone());
                let truth = self.condition(condition, value);
                self.current = outer;
                match truth? {
                    Some(true) => self.next(rest, value.clone(), found),
                    _ => Ok(Outcome::Nothing),
                }
            }
            Item::Null => self.next(rest, Found::Made(Json::Null), found),
            Item::Bool(truth) => self.next(rest, Found::bool(*truth), found),
            Item::Number(number) => self.next(rest, Found::number(number.clone()), found),
            Item::Text(text) => self.next(rest, Found::Made(Json::Text(text.clone())), found),
            Item::Variable(name) => self.variable(name, rest, found),
            Item::Method(method) => self.method(*method, chain, value, found, unwrap),
            Item::Datetime(template) => {
                if unwrap && value.is_array() {
                    return self.elements_of(value, chain, found, false);
                }
                self.datetime(template.as_ref(), rest, value, found)
            }
        }
    }

    fn with_base(&mut self, base: Base<'a>, number: i64) -> (Base<'a>, i64) {
        let outer = std::mem::replace(&mut self.base, base);
        (outer, std::mem::replace(&mut self.base_number, number))
    }

    fn restore(&mut self, (base, number): (Base<'a>, i64)) {
        (self.base, self.base_number) = (base, number);
    }

    fn variable(&mut self, name: &Str, rest: &[Item], found: Sink<'_, 'a>) -> SqlResult<Outcome> {
        let Some(vars) = self.vars else {
            return self.next(rest, Found::Made(Json::Null), found);
        };
        let Some(own) = vars.get(name) else {
            return Err(SqlError::new(
                SqlState::UNDEFINED_OBJECT,
                format!("could not find jsonpath variable \"{name}\""),
            ));
        };
        let base = self.with_base(Base::Document, 1);
        let outcome = self.next(rest, Found::Part(own), found);
        self.restore(base);
        outcome
    }

    fn member(
        &mut self,
        key: &str,
        chain: &[Item],
        value: &Found<'a>,
        found: Sink<'_, 'a>,
        unwrap: bool,
    ) -> SqlResult<Outcome> {
        if value.is_object() {
            return match value.get(key) {
                Some(own) => self.next(&chain[1..], own, found),
                None => self.fail_strictly(
                    SqlState::SQL_JSON_MEMBER_NOT_FOUND,
                    format!("JSON object does not contain key \"{key}\""),
                ),
            };
        }
        if unwrap && value.is_array() {
            return self.elements_of(value, chain, found, false);
        }
        self.fail_strictly(
            SqlState::SQL_JSON_MEMBER_NOT_FOUND,
            "jsonpath member accessor can only be applied to an object",
        )
    }

    /// Runs a chain over each element of an array.
    fn elements_of(
        &mut self,
        value: &Found<'a>,
        chain: &[Item],
        found: Sink<'_, 'a>,
        unwrap: bool,
    ) -> SqlResult<Outcome> {
        self.below(value, chain, found, (1, 1, 1), false, unwrap)
    }

    /// Runs a chain over what lies in a container, on levels from the first to the last.
    fn below(
        &mut self,
        value: &Found<'a>,
        chain: &[Item],
        mut found: Sink<'_, 'a>,
        (level, first, last): (u32, u32, u32),
        ignoring: bool,
        unwrap: bool,
    ) -> SqlResult<Outcome> {
        let mut outcome = Outcome::Nothing;
        if level > last {
            return Ok(outcome);
        }
        for place in 0..value.parts().unwrap_or(0) {
            let Some(part) = value.part(place) else {
                continue;
            };
            let is_container = part.parts().is_some();
            let leaves_only = first == LAST_LEVEL && last == LAST_LEVEL;
            if level >= first || leaves_only && !is_container {
                if chain.is_empty() {
                    match found.as_deref_mut() {
                        Some(found) => Self::hold(found, part.clone())?,
                        None => return Ok(Outcome::Found),
                    }
                } else {
                    let before = self.ignores_structure;
                    self.ignores_structure |= ignoring;
                    let ran = self.item_unwrapping(chain, &part, found.as_deref_mut(), unwrap);
                    self.ignores_structure = before;
                    outcome = ran?;
                    if outcome == Outcome::Error || outcome == Outcome::Found && found.is_none() {
                        break;
                    }
                }
            }
            if level < last && is_container {
                let levels = (level + 1, first, last);
                outcome =
                    self.below(&part, chain, found.as_deref_mut(), levels, ignoring, unwrap)?;
                if outcome == Outcome::Error || outcome == Outcome::Found && found.is_none() {
                    break;
                }
            }
        }
        Ok(outcome)
    }

    fn any(
        &mut self,
        (first, last): (u32, u32),
        rest: &[Item],
        value: &Found<'a>,
        mut found: Sink<'_, 'a>,
    ) -> SqlResult<Outcome> {
        let mut outcome = Outcome::Nothing;
        if first == 0 {
            let before = self.ignores_structure;
            self.ignores_structure = true;
            let ran = self.next(rest, value.clone(), found.as_deref_mut());
            self.ignores_structure = before;
            outcome = ran?;
            if outcome == Outcome::Found && found.is_none() {
                return Ok(outcome);
            }
        }
        match value.parts() {
            Some(_) => self.below(value, rest, found, (1, first, last), true, self.lax),
            None => Ok(outcome),
        }
    }

    fn elements(
        &mut self,
        subscripts: &[(Chain, Option<Chain>)],
        rest: &[Item],
        value: &Found<'a>,
        mut found: Sink<'_, 'a>,
    ) -> SqlResult<Outcome> {
        let size = match value.is_array() {
            true => value.parts().unwrap_or(0),
            // What is no array is one of itself.
            false => 1,
        };
        let outer = self.array_size.replace(size);
        let mut outcome = Outcome::Nothing;
        for (from, to) in subscripts {
            outcome = self.range(from, to.as_ref(), size, rest, value, found.as_deref_mut())?;
            if outcome == Outcome::Error || outcome == Outcome::Found && found.is_none() {
                break;
            }
        }
        self.array_size = outer;
        Ok(outcome)
    }

    fn range(
        &mut self,
        from: &Chain,
        to: Option<&Chain>,
        size: usize,
        rest: &[Item],
        value: &Found<'a>,
        mut found: Sink<'_, 'a>,
    ) -> SqlResult<Outcome> {
        let Ok(first) = self.index(from, value)? else {
            return Ok(Outcome::Error);
        };
        let last = match to {
            None => first,
            Some(to) => match self.index(to, value)? {
                Ok(last) => last,
                Err(()) => return Ok(Outcome::Error),
            },
        };
        let size = size as i64;
        if !self.ignores_structure && (first < 0 || first > last || last >= size) {
            return self.fail(
                SqlState::INVALID_SQL_JSON_SUBSCRIPT,
                "jsonpath array subscript is out of bounds",
            );
        }
        let mut outcome = Outcome::Nothing;
        for place in first.max(0)..=last.min(size - 1) {
            let part = match value.is_array() {
                true => value.part(place as usize),
                false => Some(value.clone()),
            };
            let Some(part) = part else {
                continue;
            };
            outcome = self.next(rest, part, found.as_deref_mut())?;
            if outcome == Outcome::Error || outcome == Outcome::Found && found.is_none() {
                break;
            }
        }
        Ok(outcome)
    }

    /// A subscript's number, or an error that nobody is told of.
    fn index(&mut self, chain: &Chain, value: &Found<'a>) -> SqlResult<Result<i64, ()>> {
        let mut found = Vec::new();
        if self.item(chain, value, Some(&mut found))? == Outcome::Error {
            return Ok(Err(()));
        }
        let number = match found.as_slice() {
            [one] => one.as_number(),
            _ => None,
        };
        let Some(number) = number else {
            return self
                .fail(
                    SqlState::INVALID_SQL_JSON_SUBSCRIPT,
                    "jsonpath array subscript is not a single numeric value",
                )
                .map(|_| Err(()));
        };
        let whole = number.trunc(0)?.to_i64();
        match whole.filter(|whole| i32::try_from(*whole).is_ok()) {
            Some(whole) => Ok(Ok(whole)),
            None => self
                .fail(
                    SqlState::INVALID_SQL_JSON_SUBSCRIPT,
                    "jsonpath array subscript is out of integer range",
                )
                .map(|_| Err(())),
        }
    }

    /// What a chain gives, arrays among it as their elements in lax mode; `None` after an error.
    pub(super) fn operand(
        &mut self,
        chain: &Chain,
        value: &Found<'a>,
        unwrap: bool,
    ) -> SqlResult<Option<Vec<Found<'a>>>> {
        let mut found = Vec::new();
        if self.item(chain, value, Some(&mut found))? == Outcome::Error {
            return Ok(None);
        }
        if !unwrap || !self.lax || !found.iter().any(Found::is_array) {
            return Ok(Some(found));
        }
        let mut unwrapped = Vec::new();
        for own in found {
            match own.is_array() {
                true => {
                    self.elements_of(&own, &[], Some(&mut unwrapped), false)?;
                }
                false => Self::hold(&mut unwrapped, own)?,
            }
        }
        Ok(Some(unwrapped))
    }

    fn arithmetic(
        &mut self,
        binary: Binary,
        (left, right): (&Chain, &Chain),
        rest: &[Item],
        value: &Found<'a>,
        found: Sink<'_, 'a>,
    ) -> SqlResult<Outcome> {
        let Some(left) = self.operand(left, value, true)? else {
            return Ok(Outcome::Error);
        };
        let Some(right) = self.operand(right, value, true)? else {
            return Ok(Outcome::Error);
        };
        let single = |operands: &[Found<'a>]| match operands {
            [one] => one.as_number().cloned(),
            _ => None,
        };
        let (Some(a), b) = (single(&left), single(&right)) else {
            return self.no_number("left", binary);
        };
        let Some(b) = b else {
            return self.no_number("right", binary);
        };
        let computed = match binary {
            Binary::Add => a.add(&b),
            Binary::Subtract => a.sub(&b),
            Binary::Multiply => a.mul(&b),
            Binary::Divide => a.div(&b),
            _ => a.rem(&b),
        };
        match computed {
            Ok(number) => self.next(rest, Found::number(number), found),
            Err(error) if self.throws => Err(error),
            Err(_) => Ok(Outcome::Error),
        }
    }

    fn no_number(&self, side: &str, binary: Binary) -> SqlResult<Outcome> {
        self.fail(
            SqlState::SINGLETON_SQL_JSON_ITEM_REQUIRED,
            format!(
                "{side} operand of jsonpath operator {} is not a single numeric value",
                binary.symbol()
            ),
        )
    }

    fn sign(
        &mut self,
        operand: &Chain,
        minus: bool,
        rest: &[Item],
        value: &Found<'a>,
        mut found: Sink<'_, 'a>,
    ) -> SqlResult<Outcome> {
        let Some(operands) = self.operand(operand, value, true)? else {
            return Ok(Outcome::Error);
        };
        let mut outcome = Outcome::Nothing;
        let wanted = found.is_some() || !rest.is_empty();
        for own in operands {
            let Some(number) = own.as_number() else {
                if !wanted {
                    continue;
                }
                let symbol = if minus { "-" } else { "+" };
                return self.fail(
                    SqlState::SQL_JSON_NUMBER_NOT_FOUND,
                    format!("operand of unary jsonpath operator {symbol} is not a numeric value"),
                );
            };
            let number = if minus { number.neg() } else { number.clone() };
            match self.next(rest, Found::number(number), found.as_deref_mut())? {
                Outcome::Error => return Ok(Outcome::Error),
                Outcome::Found if found.is_none() => return Ok(Outcome::Found),
                Outcome::Found => outcome = Outcome::Found,
                Outcome::Nothing => {}
            }
        }
        Ok(outcome)
    }

    fn method(
        &mut self,
        method: Method,
        chain: &[Item],
        value: &Found<'a>,
        found: Sink<'_, 'a>,
        unwrap: bool,
    ) -> SqlResult<Outcome> {
        let rest = &chain[1..];
        let name = method.name();
        match method {
            Method::Type => {
                let kind = Json::Text(Str::from(value.kind()));
                return self.next(rest, Found::Made(kind), found);
            }
            Method::Size => {
                let size = match value.is_array() {
                    true => value.parts().unwrap_or(0) as i64,
                    false if self.lax => 1,
                    false => {
                        return self.fail_strictly(
                            SqlState::SQL_JSON_ARRAY_NOT_FOUND,
                            "jsonpath item method .size() can only be applied to an array",
                        );
                    }
                };
                return self.next(rest, Found::number(Numeric::from_i64(size)), found);
            }
            _ if unwrap && value.is_array() => {
                return self.elements_of(value, chain, found, false);
            }
            Method::KeyValue => return self.key_value(rest, value, found),
            Method::Double => return self.double(rest, value, found),
            Method::Abs | Method::Floor | Method::Ceiling => {}
        }
        let Some(number) = value.as_number() else {
            return self.fail(
                SqlState::NON_NUMERIC_SQL_JSON_ITEM,
                format!("jsonpath item method .{name}() can only be applied to a numeric value"),
            );
        };
        let number = match method {
            Method::Floor => number.floor()?,
            Method::Ceiling => number.ceil()?,
            _ => number.abs(),
        };
        self.next(rest, Found::number(number), found)
    }

    fn double(
        &mut self,
        rest: &[Item],
        value: &Found<'a>,
        found: Sink<'_, 'a>,
    ) -> SqlResult<Outcome> {
        let read = |text: &str| match text_format::read(SqlType::Float8, text, self.host.format()) {
            Ok(Value::Float8(double)) if double.is_finite() => Some(double),
            _ => None,
        };
        if let Some(number) = value.as_number() {
            return match read(&number.to_string()) {
                Some(_) => self.next(rest, value.clone(), found),
                None => self.fail(
                    SqlState::NON_NUMERIC_SQL_JSON_ITEM,
                    "numeric argument of jsonpath item method .double() is out of range for type double precision",
                ),
            };
        }
        let Some(text) = value.as_text() else {
            return self.fail(
                SqlState::NON_NUMERIC_SQL_JSON_ITEM,
                "jsonpath item method .double() can only be applied to a string or numeric value",
            );
        };
        match read(text) {
            Some(double) => self.next(rest, Found::number(Numeric::from_f64(double)), found),
            None => self.fail(
                SqlState::NON_NUMERIC_SQL_JSON_ITEM,
                "string argument of jsonpath item method .double() is not a valid representation of a double precision number",
            ),
        }
    }

    fn datetime(
        &mut self,
        template: Option<&Str>,
        rest: &[Item],
        value: &Found<'a>,
        found: Sink<'_, 'a>,
    ) -> SqlResult<Outcome> {
        let Some(text) = value.as_text() else {
            return self.fail(
                SqlState::INVALID_ARGUMENT_FOR_SQL_JSON_DATETIME_FUNCTION,
                "jsonpath item method .datetime() can only be applied to a string",
            );
        };
        match Moment::read(text, template.map(Str::as_str)) {
            Ok(moment) => self.next(rest, Found::Moment(moment), found),
            Err(error) if self.throws => Err(error),
            Err(_) => Ok(Outcome::Error),
        }
    }

    fn key_value(
        &mut self,
        rest: &[Item],
        value: &Found<'a>,
        mut found: Sink<'_, 'a>,
    ) -> SqlResult<Outcome> {
        if !value.is_object() {
            return self.fail(
                SqlState::SQL_JSON_OBJECT_NOT_FOUND,
                "jsonpath item method .keyvalue() can only be applied to an object",
            );
        }
        let id = self.place(value) + self.base_number * 10_000_000_000;
        let mut outcome = Outcome::Nothing;
        for (key, own) in value.pairs() {
            let pair = Rc::new(Pair {
                id,
                key,
                value: own,
            });
            let number = self.objects_made;
            self.objects_made += 1;
            let base = self.with_base(Base::Pair(pair.clone()), number);
            let ran = self.next(rest, Found::Pair(pair), found.as_deref_mut());
            self.restore(base);
            outcome = ran?;
            if outcome == Outcome::Error || outcome == Outcome::Found && found.is_none() {
                break;
            }
        }
        Ok(outcome)
    }

    /// Where an object is in the document it is told apart in.
    fn place(&mut self, value: &Found<'a>) -> i64 {
        let (root, vars) = (self.root, self.vars);
        let places = self.places.get_or_insert_with(|| {
            let mut places = Places::new();
            layout::note(root, &mut places);
            if let Some(vars) = vars {
                layout::note(vars, &mut places);
            }
            places
        });
        let place_of = |json: &Json| places.get(&std::ptr::from_ref(json)).copied().unwrap_or(0);
        let place = match (&self.base, value) {
            (Base::Document, Found::Part(json)) => place_of(json),
            (Base::Pair(pair), Found::Part(json)) => {
                let inner = match &pair.value {
                    Found::Part(own) => place_of(json).saturating_sub(place_of(own)),
                    _ => 0,
                };
                layout::value_of_pair(pair.id, &pair.key) + inner
            }
            (Base::Pair(pair), Found::Pair(own)) if !Rc::ptr_eq(pair, own) => {
                layout::value_of_pair(pair.id, &pair.key)
            }
            _ => 0,
        };
        place as i64
    }
}

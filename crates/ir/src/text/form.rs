//! Words, texts and lists: printing with indentation, reading with places.
//!
//! Relies on: nothing.  Promises: what prints reads back the same; nesting deeper than [`DEPTH_MAX`] is
//! refused.  Does not: know what any word means.
//!
//! ```text
//!   form  = word | text [":" word] | "(" form* ")"
//!   word  = characters other than blanks, quotes and parentheses
//!   text  = "'" characters, a quote twice "'"
//! ```

use super::TextError;
use std::fmt;

/// Deeper text is refused before it takes too much of the stack.
const DEPTH_MAX: usize = 400;

/// Lists that are no longer than this stand on one line.
const WIDTH: usize = 96;

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Form {
    pub shape: Shape,
    pub place: Place,
}

/// Where a form begins.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place {
    pub line: u32,
    pub column: u32,
}

#[derive(Clone, Debug)]
pub(super) enum Shape {
    Word(String),
    Text(String),
    /// A text with the word behind it: a constant with its type.
    Typed(String, String),
    List(Vec<Form>),
}

impl Form {
    pub fn new(shape: Shape) -> Form {
        Form {
            shape,
            place: Place::default(),
        }
    }

    pub fn word(word: impl Into<String>) -> Form {
        Form::new(Shape::Word(word.into()))
    }

    pub fn text(text: impl Into<String>) -> Form {
        Form::new(Shape::Text(text.into()))
    }

    pub fn list(head: &str, items: impl IntoIterator<Item = Form>) -> Form {
        let head = std::iter::once(Form::word(head));
        Form::new(Shape::List(head.chain(items).collect()))
    }

    /// A list without a word in front.
    pub fn plain(items: impl IntoIterator<Item = Form>) -> Form {
        Form::new(Shape::List(items.into_iter().collect()))
    }

    pub fn error(&self, message: impl Into<String>) -> TextError {
        self.place.error(message)
    }

    /// Reads one form that is the whole text.
    pub fn read(text: &str) -> Result<Form, TextError> {
        let mut scanner = Scanner {
            rest: text,
            place: Place { line: 1, column: 1 },
        };
        let form = scanner.form(0)?;
        scanner.skip_blanks();
        match scanner.rest.is_empty() {
            true => Ok(form),
            false => Err(scanner.place.error("something stands behind the end")),
        }
    }

    fn print(&self, indent: usize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shape::List(items) = &self.shape else {
            return write!(f, "{}", Flat(self));
        };
        let flat = Flat(self).to_string();
        if indent + flat.chars().count() <= WIDTH {
            return f.write_str(&flat);
        }
        f.write_str("(")?;
        // What belongs to the word in front stays on its line; a line number stays before its step.
        let mut same_line = true;
        for (number, item) in items.iter().enumerate() {
            let is_list = matches!(item.shape, Shape::List(_));
            let is_line = matches!(&item.shape, Shape::Word(word) if word.starts_with('@'));
            match (number, same_line && !is_list && !is_line) {
                (0, _) => {}
                (_, true) => f.write_str(" ")?,
                (_, false) => {
                    let behind_line = matches!(
                        &items[number - 1].shape,
                        Shape::Word(word) if word.starts_with('@')
                    );
                    match behind_line {
                        true => f.write_str(" ")?,
                        false => write!(f, "\n{:1$}", "", indent + 2)?,
                    }
                    same_line = false;
                }
            }
            item.print(indent + 2, f)?;
        }
        f.write_str(")")
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.print(0, f)
    }
}

/// On one line.
struct Flat<'f>(&'f Form);

impl fmt::Display for Flat<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.shape {
            Shape::Word(word) => f.write_str(word),
            Shape::Text(text) => write!(f, "'{}'", text.replace('\'', "''")),
            Shape::Typed(text, word) => write!(f, "'{}':{word}", text.replace('\'', "''")),
            Shape::List(items) => {
                f.write_str("(")?;
                for (number, item) in items.iter().enumerate() {
                    let blank = if number > 0 { " " } else { "" };
                    write!(f, "{blank}{}", Flat(item))?;
                }
                f.write_str(")")
            }
        }
    }
}

impl Place {
    pub fn error(self, message: impl Into<String>) -> TextError {
        TextError {
            line: self.line,
            column: self.column,
            message: message.into(),
        }
    }
}

struct Scanner<'t> {
    rest: &'t str,
    place: Place,
}

impl Scanner<'_> {
    fn form(&mut self, depth: usize) -> Result<Form, TextError> {
        self.skip_blanks();
        let place = self.place;
        if depth > DEPTH_MAX {
            return Err(place.error("lists are nested too deep"));
        }
        let shape = match self.rest.chars().next() {
            None => return Err(place.error("the text ends here")),
            Some(')') => return Err(place.error("nothing is open here")),
            Some('(') => {
                self.take();
                let mut items = Vec::new();
                loop {
                    self.skip_blanks();
                    match self.rest.chars().next() {
                        None => return Err(place.error("the list that begins here has no end")),
                        Some(')') => break,
                        Some(_) => items.push(self.form(depth + 1)?),
                    }
                }
                self.take();
                Shape::List(items)
            }
            Some('\'') => {
                let text = self.quoted(place)?;
                match self.rest.starts_with(':') {
                    true => {
                        self.take();
                        Shape::Typed(text, self.word())
                    }
                    false => Shape::Text(text),
                }
            }
            Some(_) => Shape::Word(self.word()),
        };
        Ok(Form { shape, place })
    }

    fn quoted(&mut self, place: Place) -> Result<String, TextError> {
        self.take();
        let mut text = String::new();
        loop {
            match self.take() {
                None => return Err(place.error("the text that begins here has no end")),
                Some('\'') if self.rest.starts_with('\'') => {
                    self.take();
                    text.push('\'');
                }
                Some('\'') => return Ok(text),
                Some(character) => text.push(character),
            }
        }
    }

    fn word(&mut self) -> String {
        let is_end = |c: char| c.is_whitespace() || matches!(c, '(' | ')' | '\'');
        let length = self.rest.find(is_end).unwrap_or(self.rest.len());
        let word = self.rest[..length].to_string();
        for _ in word.chars() {
            self.take();
        }
        word
    }

    fn skip_blanks(&mut self) {
        while self.rest.starts_with(char::is_whitespace) {
            self.take();
        }
    }

    fn take(&mut self) -> Option<char> {
        let character = self.rest.chars().next()?;
        self.rest = &self.rest[character.len_utf8()..];
        match character {
            '\n' => {
                self.place.line += 1;
                self.place.column = 1;
            }
            _ => self.place.column += 1,
        }
        Some(character)
    }
}

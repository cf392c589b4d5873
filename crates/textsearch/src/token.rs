//! A text as tokens: words, numbers, addresses and what is between them.
//!
//! Relies on: nothing.  Promises: the types of tokens that PostgreSQL's default parser finds; the tokens of a text, blanks included,
//! put together are the text, but for parts of compounds, hosts and paths, which come again behind the whole; time in proportion to
//! the text.  Does not: make words of tokens (`dictionary`).
//!
//! A token is looked for at a place in the order of `Tokens::at_base`; the first kind that fits is it. What may fail after a long
//! way and be looked for again at the next place is remembered: the addresses of a run (`Run`), paths that lead nowhere, and that
//! there is no end of a comment.

pub use crate::kind::Kind;
use crate::letters::{is_alnum, is_alpha, is_mark, is_space};
use std::collections::VecDeque;
use std::ops::Range;

/// A token of a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Token<'t> {
    /// What it is.
    pub kind: Kind,
    /// Its text.
    pub text: &'t str,
}

/// Letters and digits of ASCII with single `.`, `-` and `_` between them: what hosts and users of mail are made of.
#[derive(Clone, Debug, Default)]
struct Run {
    range: Range<usize>,
    /// The last label in it behind a dot that has two letters or more and nothing else: where its dot is, and where it ends.
    domain: Option<(usize, usize)>,
    /// Where an address of mail ends whose user ends where this ends.
    mail: Option<usize>,
}

/// The tokens of a text.
pub struct Tokens<'t> {
    text: &'t str,
    at: usize,
    /// Within a compound whose parts come one by one.
    in_parts: bool,
    /// Within `<script>` or `<style>`.
    ignores: bool,
    waiting: VecDeque<Token<'t>>,
    run: Run,
    /// Behind these slashes is no path.
    no_path: Vec<usize>,
    /// From here on no comment ends.
    no_comment: usize,
}

/// What a word has come to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Letters {
    Ascii,
    All,
    Digits,
}

impl<'t> Iterator for Tokens<'t> {
    type Item = Token<'t>;

    fn next(&mut self) -> Option<Token<'t>> {
        if let Some(token) = self.waiting.pop_front() {
            return Some(token);
        }
        self.peek(self.at)?;
        let part = if self.in_parts { self.part() } else { None };
        self.in_parts = part.is_some();
        let (kind, end) = match part {
            Some(found) => found,
            None => self.at_base(),
        };
        let token = self.token(kind, self.at, end);
        match kind {
            Kind::AsciiHyphenated | Kind::Hyphenated | Kind::NumHyphenated => self.in_parts = true,
            Kind::Url => {
                // A host has no slash.
                let host = self.at + token.text.find('/').unwrap_or(token.text.len());
                let host = self.token(Kind::Host, self.at, host);
                self.waiting.push_back(host);
                let path = self.token(Kind::UrlPath, self.at + host.text.len(), end);
                self.waiting.push_back(path);
                self.at = end;
            }
            _ => self.at = end,
        }
        Some(token)
    }
}

impl<'t> Tokens<'t> {
    /// Those of this text.
    pub fn new(text: &'t str) -> Tokens<'t> {
        Tokens {
            text,
            at: 0,
            in_parts: false,
            ignores: false,
            waiting: VecDeque::new(),
            run: Run::default(),
            no_path: Vec::new(),
            no_comment: usize::MAX,
        }
    }

    fn token(&self, kind: Kind, start: usize, end: usize) -> Token<'t> {
        Token {
            kind,
            text: &self.text[start..end],
        }
    }

    fn peek(&self, at: usize) -> Option<char> {
        self.text.get(at..)?.chars().next()
    }

    /// The byte there, 0 at the end.
    fn byte(&self, at: usize) -> u8 {
        self.text.as_bytes().get(at).copied().unwrap_or(0)
    }

    /// Where what fulfils a condition ends.
    fn past(&self, at: usize, wanted: impl Fn(char) -> bool) -> usize {
        let rest = &self.text[at..];
        at + rest.find(|c| !wanted(c)).unwrap_or(rest.len())
    }

    fn digits(&self, at: usize) -> usize {
        self.past(at, |c| c.is_ascii_digit())
    }

    /// What begins here. Something always does.
    fn at_base(&mut self) -> (Kind, usize) {
        let at = self.at;
        let Some(first) = self.peek(at) else {
            return (Kind::Blank, at);
        };
        if first == '<'
            && let Some(end) = self.tag(at + 1)
        {
            return (Kind::Tag, end);
        }
        let found = match first {
            _ if self.ignores => None,
            'a'..='z' | 'A'..='Z' | '0'..='9' => Some(self.word_or_number(at, true)),
            c if is_alpha(c) => Some(self.word(at, Letters::All)),
            '-' | '+' => self.signed(at + 1),
            '&' => self.entity(at + 1),
            '~' => self.file(FileState::Tilde, at + 1),
            '/' => self.file(FileState::First, at + 1),
            '.' => match self.byte(at + 1) {
                b'.' => self.file(FileState::Dots, at + 2),
                b'/' => self.file(FileState::First, at + 2),
                _ => None,
            },
            _ => None,
        };
        found.unwrap_or_else(|| (Kind::Blank, self.blank(at)))
    }

    /// Where what is no token ends. The first character is part of it whatever it is.
    fn blank(&self, at: usize) -> usize {
        let first = self.peek(at).map_or(0, char::len_utf8);
        let ignores = self.ignores;
        self.past(at + first, |c| match c {
            '<' => false,
            _ if ignores => true,
            '-' | '+' | '&' | '/' => false,
            c => !is_alnum(c),
        })
    }

    /// A word that begins with a letter of ASCII, or a number without a sign. `mail`: addresses of mail and paths behind hosts count.
    fn word_or_number(&mut self, at: usize, mail: bool) -> (Kind, usize) {
        match self.byte(at).is_ascii_digit() {
            true => self.number(at, mail),
            false => self.ascii_word(at, mail),
        }
    }

    fn ascii_word(&mut self, at: usize, mail: bool) -> (Kind, usize) {
        let end = self.past(at, |c| c.is_ascii_alphabetic());
        let next = self.byte(end);
        let host = match next {
            b'.' | b'-' | b'_' | b'@' | b'0'..=b'9' => self.host(end, mail),
            _ => None,
        };
        let file = |this: &mut Self| match next {
            b'.' => this.file(FileState::Next, end + 1),
            b'/' => this.file(FileState::First, end + 1),
            _ => None,
        };
        if let Some(found) = host.or_else(|| file(self)) {
            return found;
        }
        let rest = &self.text[end..];
        match next {
            b'-' => {
                let compound = self.hyphenated(end, Letters::Ascii);
                compound.unwrap_or((Kind::AsciiWord, end))
            }
            b':' if rest.starts_with("://") => (Kind::Protocol, end + 3),
            _ => match self.peek(end) {
                Some(c) if c.is_ascii_digit() => self.word(end, Letters::Digits),
                Some(c) if is_alpha(c) || is_mark(c) => self.word(end, Letters::All),
                _ => (Kind::AsciiWord, end),
            },
        }
    }

    /// A word that is known to be no host, from a place in it on.
    fn word(&mut self, at: usize, mut letters: Letters) -> (Kind, usize) {
        let mut end = at;
        if letters == Letters::All {
            end = self.past(end, |c| is_alpha(c) || is_mark(c));
            if self.byte(end).is_ascii_digit() {
                letters = Letters::Digits;
            }
        }
        if letters == Letters::All {
            let compound = match self.byte(end) {
                b'-' => self.hyphenated(end, Letters::All),
                _ => None,
            };
            return compound.unwrap_or((Kind::Word, end));
        }
        end = self.past(end, |c| is_alnum(c) || is_mark(c));
        let found = match self.byte(end) {
            b'@' => self.mail(end).map(|end| (Kind::Email, end)),
            b'/' => self.file(FileState::First, end + 1),
            b'.' => self.file(FileState::Next, end + 1),
            b'-' => self.hyphenated(end, Letters::Digits),
            _ => None,
        };
        found.unwrap_or((Kind::NumWord, end))
    }

    fn number(&mut self, at: usize, mail: bool) -> (Kind, usize) {
        let end = self.digits(at);
        let next = self.byte(end);
        let found = match next {
            b'.' => {
                let host = self.host(end, mail);
                host.or_else(|| self.decimal(end, true))
            }
            b'e' | b'E' => {
                let power = self.power(end).map(|end| (Kind::Scientific, end));
                power.or_else(|| self.host(end, mail))
            }
            b'-' | b'_' | b'@' | b'a'..=b'z' | b'A'..=b'Z' => self.host(end, mail),
            b'/' => self.file(FileState::First, end + 1),
            _ => None,
        };
        match (found, self.peek(end)) {
            (Some(found), _) => found,
            (None, Some(c)) if is_alpha(c) || is_mark(c) => self.word(end, Letters::Digits),
            _ => (Kind::UInt, end),
        }
    }

    /// Behind a sign.
    fn signed(&self, at: usize) -> Option<(Kind, usize)> {
        let end = self.digits(at);
        if end == at {
            return None;
        }
        if self.byte(end) == b'.' && self.byte(end + 1).is_ascii_digit() {
            return self.decimal(end, false);
        }
        let power = self.power(end).map(|end| (Kind::Scientific, end));
        Some(power.unwrap_or((Kind::Int, end)))
    }

    /// Digits behind this point, and what may follow. Versions have no sign: what looks like one is none of both.
    fn decimal(&self, point: usize, or_version: bool) -> Option<(Kind, usize)> {
        let mut end = self.digits(point + 1);
        if end == point + 1 {
            return None;
        }
        if let Some(end) = self.power(end) {
            return Some((Kind::Scientific, end));
        }
        let mut kind = Kind::Float;
        while self.byte(end) == b'.' && self.byte(end + 1).is_ascii_digit() {
            if !or_version {
                return None;
            }
            kind = Kind::Version;
            end = self.digits(end + 1);
        }
        Some((kind, end))
    }

    /// The power of ten here.
    fn power(&self, at: usize) -> Option<usize> {
        if !matches!(self.byte(at), b'e' | b'E') {
            return None;
        }
        let sign = matches!(self.byte(at + 1), b'+' | b'-');
        let start = at + 1 + usize::from(sign);
        let end = self.digits(start);
        (end > start).then_some(end)
    }

    /// The run that a place is in or at the end of; the byte before it is one of the run's.
    fn run(&mut self, at: usize, mail: bool) -> Run {
        if self.run.range.start < at && at <= self.run.range.end {
            return self.run.clone();
        }
        let bytes = self.text.as_bytes();
        let start = at - 1;
        let mut end = at;
        let mut domain = None;
        // Where the label began whose letters are being passed, if it may be a domain.
        let mut label = None;
        loop {
            match (self.byte(end), self.byte(end + 1)) {
                (c, _) if c.is_ascii_alphanumeric() => {
                    if !c.is_ascii_alphabetic() {
                        label = None;
                    }
                    end += 1;
                }
                (b'.' | b'-' | b'_', next) if next.is_ascii_alphanumeric() => {
                    domain = long_label(label, end).or(domain);
                    label = (bytes[end] == b'.').then_some(end);
                    end += 1;
                }
                _ => break,
            }
        }
        domain = long_label(label, end).or(domain);
        let run = Run {
            range: start..end,
            domain,
            mail: match self.byte(end) == b'@' && mail {
                true => self.mail(end),
                false => None,
            },
        };
        if mail {
            self.run = run.clone();
        }
        run
    }

    /// A host, or an address of mail, that goes on here.
    fn host(&mut self, at: usize, mail: bool) -> Option<(Kind, usize)> {
        let run = self.run(at, mail);
        if let Some(end) = run.mail.filter(|_| mail) {
            return Some((Kind::Email, end));
        }
        let (dot, mut end) = run.domain?;
        if dot < at {
            return None;
        }
        if end < run.range.end {
            return Some((Kind::Host, end));
        }
        if self.byte(end) == b':' && self.byte(end + 1).is_ascii_digit() {
            end = self.digits(end + 1);
        }
        if self.byte(end) == b'/' && mail {
            let path = self.past(end + 1, is_url_char);
            if path > end + 1 {
                return Some((Kind::Url, path));
            }
        }
        Some((Kind::Host, end))
    }

    /// Where the host behind this `@` ends.
    fn mail(&mut self, at: usize) -> Option<usize> {
        if !self.byte(at + 1).is_ascii_alphanumeric() {
            return None;
        }
        match self.word_or_number(at + 1, false) {
            (Kind::Host, end) => Some(end),
            _ => None,
        }
    }

    /// A compound, from its first hyphen on.
    fn hyphenated(&self, mut hyphen: usize, mut letters: Letters) -> Option<(Kind, usize)> {
        let mut found = None;
        loop {
            let at = hyphen + 1;
            let digits = self.digits(at);
            match self.peek(digits) {
                Some(c) if digits > at && (is_alpha(c) || is_mark(c)) => letters = Letters::Digits,
                Some(c) if digits == at && is_alpha(c) => {}
                _ => return found,
            }
            let mut end = digits;
            if letters == Letters::Ascii {
                end = self.past(end, |c| c.is_ascii_alphabetic());
                if self.peek(end).is_some_and(|c| is_alpha(c) || is_mark(c)) {
                    letters = Letters::All;
                }
            }
            if letters == Letters::All {
                end = self.past(end, |c| is_alpha(c) || is_mark(c));
            }
            if self.byte(end).is_ascii_digit() {
                letters = Letters::Digits;
            }
            if letters == Letters::Digits {
                end = self.past(end, |c| is_alnum(c) || is_mark(c));
            }
            let kind = match letters {
                Letters::Ascii => Kind::AsciiHyphenated,
                Letters::All => Kind::Hyphenated,
                Letters::Digits => Kind::NumHyphenated,
            };
            found = Some((kind, end));
            if self.byte(end) != b'-' {
                return found;
            }
            hyphen = end;
        }
    }

    /// A part of a compound, or the hyphen before one.
    fn part(&self) -> Option<(Kind, usize)> {
        let at = self.at;
        let first = self.peek(at)?;
        if first == '-' {
            let next = self.peek(at + 1)?;
            return (is_alnum(next) || is_mark(next)).then_some((Kind::Blank, at + 1));
        }
        let mut kind = Kind::AsciiPart;
        let mut end = self.past(at, |c| c.is_ascii_alphabetic());
        if end == at && first.is_ascii_digit() {
            end = self.digits(at);
            let next = self.peek(end)?;
            if !is_alpha(next) && !is_mark(next) {
                return None;
            }
            kind = Kind::NumPart;
        } else if end == at && !is_alpha(first) {
            return None;
        }
        if self.peek(end).is_some_and(|c| is_alpha(c) || is_mark(c)) && kind == Kind::AsciiPart {
            kind = Kind::Part;
            end = self.past(end, |c| is_alpha(c) || is_mark(c));
        }
        if self.byte(end).is_ascii_digit() || kind == Kind::NumPart {
            kind = Kind::NumPart;
            end = self.past(end, |c| is_alnum(c) || is_mark(c));
        }
        Some((kind, end))
    }

    /// Behind `&`.
    fn entity(&self, at: usize) -> Option<(Kind, usize)> {
        let end = match (self.byte(at), self.byte(at + 1)) {
            (b'#', b'x' | b'X') => {
                let end = self.past(at + 2, |c| c.is_ascii_hexdigit());
                (end > at + 2).then_some(end)?
            }
            (b'#', _) => {
                let end = self.digits(at + 1);
                (end > at + 1).then_some(end)?
            }
            (b'a'..=b'z' | b'A'..=b'Z' | b':' | b'_', _) => self.past(at + 1, is_name_char),
            _ => return None,
        };
        (self.byte(end) == b';').then_some((Kind::Entity, end + 1))
    }
}

/// A label behind this dot that ends here, if it is long enough for a domain.
fn long_label(dot: Option<usize>, end: usize) -> Option<(usize, usize)> {
    dot.filter(|dot| end - dot > 2).map(|dot| (dot, end))
}

fn is_url_char(c: char) -> bool {
    c.is_ascii_graphic() && !matches!(c, '"' | '<' | '>' | '\\' | '^' | '`' | '{' | '|' | '}')
}

/// Within names of tags and entities.
fn is_name_char(c: char) -> bool {
    is_alnum(c) || matches!(c, ':' | '_' | '.' | '-')
}

/// Where in a path we are.
#[derive(Clone, Copy)]
enum FileState {
    /// Behind a slash.
    First,
    /// Behind `~`.
    Tilde,
    /// Behind a slash and a dot.
    Dot,
    /// Behind two dots.
    Dots,
    /// Within a name.
    Name,
    /// Behind a dot in a name.
    Next,
}

impl Tokens<'_> {
    /// A path that goes on here.
    fn file(&mut self, mut state: FileState, mut at: usize) -> Option<(Kind, usize)> {
        let mut found = None;
        // Slashes since the last place where the path could have ended.
        let mut slashes = Vec::new();
        loop {
            let c = self.byte(at);
            let in_name = c.is_ascii_alphanumeric() || c == b'_';
            if let FileState::First = state {
                if self.no_path.binary_search(&at).is_ok() {
                    break;
                }
                slashes.push(at);
            }
            if let FileState::Name = state {
                found = Some(at);
                slashes.clear();
            }
            state = match (state, c) {
                (FileState::Dots, b'/') => {
                    found = Some(at);
                    slashes.clear();
                    FileState::First
                }
                (FileState::Dots, _) => {
                    if self.peek(at).is_none_or(is_space) {
                        found = Some(at);
                        slashes.clear();
                    }
                    break;
                }
                (_, _) if in_name => FileState::Name,
                (FileState::Name, b'-') => FileState::Name,
                (FileState::Name, b'.') => FileState::Next,
                (FileState::Name | FileState::Tilde | FileState::Dot, b'/') => FileState::First,
                (FileState::First, b'.') => FileState::Dot,
                (FileState::First, b'~') => FileState::Tilde,
                (FileState::Dot, b'.') => FileState::Dots,
                _ => break,
            };
            at += 1;
        }
        if let Some(&last) = slashes.last() {
            // Places are looked at from left to right, so what lies before can be forgotten.
            let behind = self.no_path.last().is_none_or(|&known| known < slashes[0]);
            if behind {
                self.no_path.clear();
                self.no_path.append(&mut slashes);
            } else if self.no_path.last().is_some_and(|&known| known < last) {
                self.no_path.append(&mut slashes);
                self.no_path.sort_unstable();
                self.no_path.dedup();
            }
        }
        found.map(|end| (Kind::File, end))
    }

    /// Behind `<`: where the tag or the comment ends.
    fn tag(&mut self, at: usize) -> Option<usize> {
        let name = match self.byte(at) {
            b'/' if self.byte(at + 1).is_ascii_alphabetic() => at + 1,
            b'!' if self.byte(at + 1) == b'-' => return self.comment(at),
            b'!' if matches!(self.byte(at + 1), b'd' | b'D') => return self.attributes(at + 2),
            b'?' if matches!(self.byte(at + 1), b'x' | b'X') => return self.attributes(at + 2),
            c if c.is_ascii_alphabetic() || matches!(c, b':' | b'_') => at,
            _ => return None,
        };
        let end = self.past(name, is_name_char);
        let ends = self.peek(end).is_some_and(|c| c == '>' || is_space(c));
        if ends {
            // What stands in them is no text; PostgreSQL says so before it knows whether the tag ends.
            match self.text[at..end].to_ascii_lowercase().as_str() {
                "script" | "style" => self.ignores = true,
                "/script" | "/style" => self.ignores = false,
                _ => {}
            }
            return self.attributes(end);
        }
        self.text[end..].starts_with("/>").then_some(end + 2)
    }

    /// Where a tag ends whose name has ended.
    fn attributes(&self, mut at: usize) -> Option<usize> {
        loop {
            match self.peek(at)? {
                '>' => return Some(at + 1),
                quote @ ('\'' | '"') => {
                    let behind = at + 1;
                    at = behind + self.text[behind..].find(quote)? + 1;
                }
                c if c.is_ascii_alphanumeric() || is_space(c) || "=-_#/:.&?%~".contains(c) => {
                    at += c.len_utf8();
                }
                _ => return None,
            }
        }
    }

    /// At the `!` of `<!--`.
    fn comment(&mut self, at: usize) -> Option<usize> {
        if !self.text[at..].starts_with("!--") || at >= self.no_comment {
            return None;
        }
        let inside = at + 3;
        match self.text[inside..].find("-->") {
            Some(end) => Some(inside + end + 3),
            None => {
                self.no_comment = self.no_comment.min(at);
                None
            }
        }
    }
}

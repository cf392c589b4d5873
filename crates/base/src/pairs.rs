//! Keys with texts: `hstore`.
//!
//! Relies on: nothing; no text has a zero byte.  Promises: keys are unique, shorter ones first, then by their bytes; the bytes of
//! two values compare as PostgreSQL compares such values.  Does not: tell such bytes from others; their type does.
//!
//! ```text
//! nothing at all if there is no pair; else
//!   bytes           key and text of each pair, back to back
//!   00
//!   u32 BE          number of pairs
//!   for each key and each text of them, in order:
//!     u32 BE        where it ends, counted from the first byte
//!     u8            01 for NULL instead of a text, else 00
//! ```

use crate::error::{SqlError, SqlResult, SqlState};
use crate::value::{Str, Value};

/// Bytes of one key, or of one text, at most.
const TEXT_BYTES_MAX: usize = 0x3FFF_FFFF;
/// Ends the texts; below everything in them.
const END: u8 = 0;

/// The pairs of a value, sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pairs(Vec<(Str, Option<Str>)>);

impl Pairs {
    /// Of pairs in any order; of equal keys the first one stays.
    ///
    /// # Errors
    /// `22001` for a key or a text that is too long.
    pub fn new(mut pairs: Vec<(Str, Option<Str>)>) -> SqlResult<Pairs> {
        for (key, text) in &pairs {
            let too_long = |what: &str| {
                let message = format!("string too long for hstore {what}");
                SqlError::new(SqlState::STRING_DATA_RIGHT_TRUNCATION, message)
            };
            if key.len() > TEXT_BYTES_MAX {
                return Err(too_long("key"));
            }
            if text
                .as_ref()
                .is_some_and(|text| text.len() > TEXT_BYTES_MAX)
            {
                return Err(too_long("value"));
            }
        }
        // Stable, so that the first of equal ones is the first still.
        pairs.sort_by(|(a, _), (b, _)| place(a).cmp(&place(b)));
        pairs.dedup_by(|(later, _), (first, _)| later == first);
        Ok(Pairs(pairs))
    }

    /// In the order of their keys.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, Option<&str>)> {
        self.0
            .iter()
            .map(|(key, text)| (key.as_str(), text.as_deref()))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What a key has; `Some(None)` is NULL.
    pub fn get(&self, key: &str) -> Option<Option<&str>> {
        let at = self
            .0
            .binary_search_by(|(known, _)| place(known).cmp(&place(key)));
        at.ok().map(|at| self.0[at].1.as_deref())
    }

    /// Only those that are wanted.
    pub fn retain(&mut self, wanted: impl Fn(&str, Option<&str>) -> bool) {
        self.0.retain(|(key, text)| wanted(key, text.as_deref()));
    }

    /// Both; what the others have of equal keys.
    #[must_use]
    pub fn with(&self, others: Pairs) -> Pairs {
        let mut all = others.0;
        all.extend(self.0.iter().cloned());
        all.sort_by(|(a, _), (b, _)| place(a).cmp(&place(b)));
        all.dedup_by(|(later, _), (first, _)| later == first);
        Pairs(all)
    }

    /// The value.
    pub fn to_value(&self) -> Value {
        Value::Bytea(self.to_bytes().into())
    }

    /// As the file's header says.
    fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        if self.0.is_empty() {
            return out;
        }
        let mut ends = Vec::with_capacity(10 * self.0.len());
        let mut end = |out: &[u8], is_null: bool| {
            ends.extend_from_slice(&(out.len() as u32).to_be_bytes());
            ends.push(u8::from(is_null));
        };
        for (key, text) in &self.0 {
            out.extend_from_slice(key.as_bytes());
            end(&out, false);
            out.extend_from_slice(text.as_deref().unwrap_or_default().as_bytes());
            end(&out, text.is_none());
        }
        out.push(END);
        out.extend_from_slice(&(self.0.len() as u32).to_be_bytes());
        out.extend_from_slice(&ends);
        out
    }

    /// The pairs that bytes are; none where they are damaged.
    pub fn of_bytes(bytes: &[u8]) -> Pairs {
        Pairs::read(bytes).unwrap_or_default()
    }

    fn read(bytes: &[u8]) -> Option<Pairs> {
        if bytes.is_empty() {
            return Some(Pairs::default());
        }
        let texts = bytes.iter().position(|byte| *byte == END)?;
        let (count, mut ends) = bytes[texts + 1..].split_first_chunk::<4>()?;
        let count = u32::from_be_bytes(*count) as usize;
        let mut from = 0;
        let mut next = || {
            let (end, rest) = ends.split_first_chunk::<4>()?;
            let (is_null, rest) = rest.split_first()?;
            ends = rest;
            let end = u32::from_be_bytes(*end) as usize;
            let text = bytes[..texts].get(from..end)?;
            from = end;
            Some((std::str::from_utf8(text).ok()?, *is_null != 0))
        };
        let mut pairs = Vec::with_capacity(count.min(bytes.len()));
        for _ in 0..count {
            let (key, _) = next()?;
            let (text, is_null) = next()?;
            pairs.push((Str::from(key), (!is_null).then(|| Str::from(text))));
        }
        Some(Pairs(pairs))
    }

    /// Reads the text of a value.
    ///
    /// # Errors
    /// What PostgreSQL says of what is none.
    pub fn parse(text: &str) -> SqlResult<Pairs> {
        let mut reader = Reader { text, at: 0 };
        let mut pairs = Vec::new();
        while let Some((key, _)) = reader.word(false)? {
            reader.skip_to(b'=')?;
            match reader.next() {
                Some(b'>') => {}
                None => return Err(ends_early()),
                Some(_) => return Err(reader.wrong(1)),
            }
            let Some((word, quoted)) = reader.word(true)? else {
                return Err(ends_early());
            };
            let is_null = !quoted && word.eq_ignore_ascii_case("null");
            pairs.push((key, (!is_null).then_some(word)));
            match reader.skip() {
                Some(b',') => {}
                None => break,
                Some(_) => return Err(reader.wrong(1)),
            }
        }
        Pairs::new(pairs)
    }

    /// Reads what a client sent: the number of pairs, and of each the key and the text, each behind its length.
    ///
    /// # Errors
    /// `22003`, `22P03` and `08P01` for what is no such value.
    pub fn receive(bytes: &[u8]) -> SqlResult<Pairs> {
        let ends = || {
            let message = "insufficient data left in message";
            SqlError::new(SqlState::PROTOCOL_VIOLATION, message)
        };
        let mut rest = bytes;
        let number = |rest: &mut &[u8]| {
            let (number, behind) = rest.split_first_chunk::<4>().ok_or_else(ends)?;
            *rest = behind;
            Ok::<i32, SqlError>(i32::from_be_bytes(*number))
        };
        let text = |rest: &mut &[u8], length: i32| {
            let length = usize::try_from(length).map_err(|_| ends())?;
            let (text, behind) = rest.split_at_checked(length).ok_or_else(ends)?;
            *rest = behind;
            crate::binary_format::utf8(text).map(Str::from)
        };
        let count = number(&mut rest)?;
        if count < 0 || count as usize > bytes.len() {
            let message = format!(
                "number of pairs ({count}) exceeds the maximum allowed ({})",
                bytes.len()
            );
            return Err(SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message));
        }
        let mut pairs = Vec::with_capacity(count as usize);
        for _ in 0..count {
            let length = number(&mut rest)?;
            if length < 0 {
                return Err(SqlError::new(
                    SqlState::NULL_VALUE_NOT_ALLOWED,
                    "null value not allowed for hstore key",
                ));
            }
            let key = text(&mut rest, length)?;
            let length = number(&mut rest)?;
            let value = match length < 0 {
                true => None,
                false => Some(text(&mut rest, length)?),
            };
            pairs.push((key, value));
        }
        match rest.is_empty() {
            true => Pairs::new(pairs),
            false => Err(SqlError::new(
                SqlState::INVALID_BINARY_REPRESENTATION,
                "incorrect binary data format",
            )),
        }
    }
}

/// What keys are sorted by.
fn place(key: &str) -> (usize, &[u8]) {
    (key.len(), key.as_bytes())
}

fn ends_early() -> SqlError {
    SqlError::internal("Unexpected end of string")
}

/// Words out of a text; it works on bytes, and cuts at those of ASCII alone.
struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn next(&mut self) -> Option<u8> {
        let byte = self.text.as_bytes().get(self.at).copied();
        self.at += usize::from(byte.is_some());
        byte
    }

    /// The next byte behind blanks.
    fn skip(&mut self) -> Option<u8> {
        loop {
            match self.next() {
                Some(byte) if crate::text_format::is_blank(byte) => {}
                byte => return byte,
            }
        }
    }

    fn skip_to(&mut self, wanted: u8) -> SqlResult<()> {
        match self.skip() {
            Some(byte) if byte == wanted => Ok(()),
            None => Err(ends_early()),
            Some(_) => Err(self.wrong(1)),
        }
    }

    /// The complaint about the character that was read so many bytes ago.
    fn wrong(&self, back: usize) -> SqlError {
        let at = self.at.saturating_sub(back);
        let at = self.text.floor_char_boundary(at);
        let near = self.text[at..]
            .chars()
            .next()
            .map_or(String::new(), String::from);
        SqlError::internal(format!("Syntax error near \"{near}\" at position {at}"))
    }

    /// A key, or a text, and whether it was quoted; `None` at the end.
    fn word(&mut self, is_text: bool) -> SqlResult<Option<(Str, bool)>> {
        let mut bytes = Vec::new();
        let mut quoted = false;
        match self.skip() {
            None => return Ok(None),
            Some(b'"') => {
                quoted = true;
                loop {
                    match self.next().ok_or_else(ends_early)? {
                        b'"' => break,
                        b'\\' => bytes.push(self.next().ok_or_else(ends_early)?),
                        byte => bytes.push(byte),
                    }
                }
            }
            Some(b'=') if !is_text => return Err(self.wrong(1)),
            Some(first) => {
                let mut byte = first;
                loop {
                    match byte {
                        b'\\' => bytes.push(self.next().ok_or_else(ends_early)?),
                        byte => bytes.push(byte),
                    }
                    match self.next() {
                        None => break,
                        Some(next) if crate::text_format::is_blank(next) => break,
                        Some(b'=') if !is_text => {
                            self.at -= 1;
                            break;
                        }
                        Some(b',') if is_text => {
                            self.at -= 1;
                            break;
                        }
                        Some(next) => byte = next,
                    }
                }
            }
        }
        let text = String::from_utf8(bytes).map_err(SqlError::internal)?;
        Ok(Some((Str::from(text), quoted)))
    }
}

/// Appends the text of a value.
pub fn write(bytes: &[u8], out: &mut Vec<u8>) {
    let quoted = |text: &str, out: &mut Vec<u8>| {
        out.push(b'"');
        for byte in text.bytes() {
            if matches!(byte, b'"' | b'\\') {
                out.push(b'\\');
            }
            out.push(byte);
        }
        out.push(b'"');
    };
    for (number, (key, text)) in Pairs::of_bytes(bytes).iter().enumerate() {
        if number > 0 {
            out.extend_from_slice(b", ");
        }
        quoted(key, out);
        out.extend_from_slice(b"=>");
        match text {
            Some(text) => quoted(text, out),
            None => out.extend_from_slice(b"NULL"),
        }
    }
}

/// Appends a value for the binary protocol, as [`Pairs::receive`] reads it.
pub(crate) fn send(bytes: &[u8], out: &mut Vec<u8>) {
    let pairs = Pairs::of_bytes(bytes);
    let text = |text: &str, out: &mut Vec<u8>| {
        out.extend_from_slice(&(text.len() as i32).to_be_bytes());
        out.extend_from_slice(text.as_bytes());
    };
    out.extend_from_slice(&(pairs.len() as i32).to_be_bytes());
    for (key, value) in pairs.iter() {
        text(key, out);
        match value {
            Some(value) => text(value, out),
            None => out.extend_from_slice(&(-1_i32).to_be_bytes()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let mut out = Vec::new();
        write(&Pairs::parse(text).unwrap().to_bytes(), &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn pairs_are_sorted_and_unique() {
        assert_eq!(shown(""), "");
        let text = r#"bb=>1, a=>"x, y", a=>2, c=>NULL, d=>"NULL", e\=f=>\"g"#;
        let sorted = r#""a"=>"x, y", "c"=>NULL, "d"=>"NULL", "bb"=>"1", "e=f"=>"\"g""#;
        assert_eq!(shown(text), sorted);
        assert_eq!(shown(sorted), sorted);
    }

    #[test]
    fn bytes_and_what_is_sent_read_back() {
        for text in ["", "a=>1", "a=>NULL,é=>ü", r#"""=>"", " "=>x"#] {
            let pairs = Pairs::parse(text).unwrap();
            assert_eq!(Pairs::read(&pairs.to_bytes()), Some(pairs.clone()));
            let mut sent = Vec::new();
            send(&pairs.to_bytes(), &mut sent);
            assert_eq!(Pairs::receive(&sent).unwrap(), pairs);
        }
    }

    #[test]
    fn what_is_none_is_refused() {
        for text in [
            "a", "a=", "a=>", "a=>1 b", "=>1", "a=1", "\"a", "a=>\"b", "a=>1,,", "a\\",
        ] {
            assert!(Pairs::parse(text).is_err(), "{text}");
        }
    }
}

//! Texts of statements without the passwords that stand in them, for logs and views.
//!
//! Relies on: nothing; the text need not be one that parses.  Promises: what stands as a string behind the word PASSWORD is
//! not in the result; a text without that word is not copied.  Does not: find a password that is a parameter's
//! value, which is in no text, or one in a string of dollars behind any other word.

use std::borrow::Cow;

const WORD: &str = "password";

/// What stands in place of a string.
const HIDDEN: &str = "'***'";

/// The text with `'***'` for each string that follows the word PASSWORD.
pub fn without_passwords(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(found) = find_word(&text[at..]) {
        at += found + WORD.len();
        let Some((begin, end)) = string_behind(text, at) else {
            continue;
        };
        out.push_str(&text[copied..begin]);
        out.push_str(HIDDEN);
        (copied, at) = (end, end);
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

fn find_word(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let begins = |at: usize| at == 0 || bytes[at - 1].is_ascii_whitespace();
    let mut windows = bytes.windows(WORD.len()).enumerate();
    let found =
        windows.find(|(at, window)| window.eq_ignore_ascii_case(WORD.as_bytes()) && begins(*at));
    found.map(|(at, _)| at)
}

/// Where the string begins and ends that follows, perhaps behind blanks, `=` or the letter of a form of strings. One that does
/// not end goes on to the end of the text.
fn string_behind(text: &str, at: usize) -> Option<(usize, usize)> {
    let rest = &text[at..];
    let blank = |c: char| c.is_whitespace() || c == '=';
    let begin = at + rest.len() - rest.trim_start_matches(blank).len();
    let mut string = &text[begin..];
    if string.starts_with(['E', 'e', 'U', 'u', 'N', 'n']) {
        string = string[1..].trim_start_matches('&');
    }
    let open = text.len() - string.len();
    if let Some(inner) = string.strip_prefix('\'') {
        let escapes = text[begin..open].starts_with(['E', 'e']);
        return Some((begin, open + 1 + end_of_quoted(inner, escapes)));
    }
    // $tag$ … $tag$
    let tag_end = string.strip_prefix('$')?.find('$')? + 2;
    let (tag, inner) = string.split_at(tag_end);
    let length = inner.find(tag).map_or(inner.len(), |end| end + tag.len());
    Some((begin, open + tag_end + length))
}

/// Behind the quote that ends a string: two of them are one in it.
fn end_of_quoted(inner: &str, escapes: bool) -> usize {
    let mut chars = inner.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' if escapes => {
                chars.next();
            }
            '\'' if chars.next_if(|(_, next)| *next == '\'').is_none() => return at + 1,
            _ => {}
        }
    }
    inner.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_hidden_however_they_are_written() {
        for (text, shown) in [
            (
                "CREATE ROLE a LOGIN PASSWORD 'geheim' NOINHERIT",
                "CREATE ROLE a LOGIN PASSWORD '***' NOINHERIT",
            ),
            (
                "alter role a password 'it''s', b",
                "alter role a password '***', b",
            ),
            (
                "ALTER USER a ENCRYPTED PASSWORD\n E'a\\'b' VALID UNTIL 'x'",
                "ALTER USER a ENCRYPTED PASSWORD\n '***' VALID UNTIL 'x'",
            ),
            (
                "alter role a password $x$ge$heim$x$; select 1",
                "alter role a password '***'; select 1",
            ),
            (
                "alter role a password U&'geheim'",
                "alter role a password '***'",
            ),
            (
                "alter role a password 'no end",
                "alter role a password '***'",
            ),
            (
                "create user a password 'ä'; create user b password 'ö'",
                "create user a password '***'; create user b password '***'",
            ),
            (
                "select set_config('x.password'  , 'y', false)",
                "select set_config('x.password'  , 'y', false)",
            ),
        ] {
            assert_eq!(without_passwords(text), shown);
        }
    }

    #[test]
    fn other_texts_are_the_same() {
        for text in [
            "",
            "select 1",
            "select password from users where name = 'x'",
            "alter role a password null",
            "passwor",
            "password",
            "password $",
        ] {
            assert!(
                matches!(without_passwords(text), Cow::Borrowed(same) if same == text),
                "{text}"
            );
        }
    }
}

//! Addresses as text.
//!
//! Relies on: nothing.  Promises: reads what PostgreSQL reads and refuses what it refuses; what is written reads back.
//! Does not: reproduce `abbrev` where PostgreSQL's own answer cannot be read back (`:.128/113`).
//!
//! | written | read as inet | as cidr |
//! |---|---|---|
//! | `a.b.c.d[/n]` | yes | yes, /32 if nothing is said |
//! | `a.b/n` | the rest is zero, if n does not reach into it by a byte | the rest is zero |
//! | `a.b`, `0xA0B0` | no | with the length of its class, or of what is written |
//! | `x:y::z[/n]`, the last four bytes also with dots | yes | yes |

use super::{Family, Inet, MacAddr};
use crate::error::{SqlError, SqlResult, SqlState};
use std::fmt::Write;

fn invalid(ty: &str, text: &str) -> SqlError {
    SqlError::new(
        SqlState::INVALID_TEXT_REPRESENTATION,
        format!("invalid input syntax for type {ty}: \"{text}\""),
    )
}

/// Reads an `inet`.
///
/// # Errors
/// `22P02`.
pub fn parse_inet(text: &str) -> SqlResult<Inet> {
    let read = match text.contains(':') {
        true => read_v6(text),
        false => read_v4(text),
    };
    read.ok_or_else(|| invalid("inet", text))
}

/// Reads a `cidr`.
///
/// # Errors
/// `22P02`, also for bits behind the network's.
pub fn parse_cidr(text: &str) -> SqlResult<Inet> {
    let read = match text.contains(':') {
        true => read_v6(text),
        false => read_v4_network(text),
    };
    let read = read.ok_or_else(|| invalid("cidr", text))?;
    read.exact_cidr().ok_or_else(|| {
        SqlError::new(
            SqlState::INVALID_TEXT_REPRESENTATION,
            format!("invalid cidr value: \"{text}\""),
        )
        .detail("Value has bits set to right of mask.")
    })
}

/// A number in digits; `None`: none, or above the greatest.
fn decimal(digits: &str, max: u8) -> Option<u8> {
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let significant = digits.trim_start_matches('0');
    let number: u32 = match significant.len() {
        0 => 0,
        1..=3 => significant.parse().ok()?,
        _ => return None,
    };
    u8::try_from(number).ok().filter(|number| *number <= max)
}

/// Splits what is behind a slash off.
fn split_length(text: &str) -> (&str, Option<&str>) {
    match text.split_once('/') {
        Some((address, length)) => (address, Some(length)),
        None => (text, None),
    }
}

/// Up to four numbers between dots, and how many they are.
fn octets(text: &str, may_end_in_dot: bool) -> Option<([u8; 4], usize)> {
    let text = match text.strip_suffix('.') {
        Some(rest) if may_end_in_dot => rest,
        _ => text,
    };
    let (mut out, mut count) = ([0; 4], 0);
    for part in text.split('.') {
        *out.get_mut(count)? = decimal(part, u8::MAX)?;
        count += 1;
    }
    Some((out, count))
}

fn read_v4(text: &str) -> Option<Inet> {
    let (address, length) = split_length(text);
    let (address, count) = octets(address, length.is_some())?;
    let bits = match length {
        Some(length) => decimal(length, 32)?,
        None => 32,
    };
    // What is left out is zero, but the network may not reach into it by a whole byte.
    if usize::from(bits / 8) > count {
        return None;
    }
    Inet::new(Family::V4, &address, bits)
}

fn read_v4_network(text: &str) -> Option<Inet> {
    let (address, length) = split_length(text);
    let (address, count) = match address.strip_prefix("0x").or(address.strip_prefix("0X")) {
        Some(digits) => hex_octets(digits)?,
        None => octets(address, length.is_some())?,
    };
    let bits = match length {
        Some(length) => decimal(length, 32)?,
        None => {
            let written = 8 * count as u8;
            let of_class = match address[0] {
                240.. => 32,
                // All of them, as long as nothing more is said.
                224 if written == 8 => 4,
                224.. => 8,
                192.. => 24,
                128.. => 16,
                _ => 8,
            };
            match (of_class, written) {
                (4, _) => 4,
                (of_class, written) => written.max(of_class),
            }
        }
    };
    Inet::new(Family::V4, &address, bits)
}

/// Bytes in hexadecimal digits, of the last of which half may be missing.
fn hex_octets(digits: &str) -> Option<([u8; 4], usize)> {
    if digits.is_empty() || digits.len() > 8 {
        return None;
    }
    let mut out = [0; 4];
    for (place, digit) in digits.chars().enumerate() {
        let digit = digit.to_digit(16)? as u8;
        out[place / 2] |= digit << if place % 2 == 0 { 4 } else { 0 };
    }
    Some((out, digits.len().div_ceil(2)))
}

fn read_v6(text: &str) -> Option<Inet> {
    let (address, length) = split_length(text);
    let bits = match length {
        // No zeros in front, unlike in the other family.
        Some(length) if length.len() > 1 && length.starts_with('0') => return None,
        Some(length) => decimal(length, 128)?,
        None => 128,
    };
    let (head, tail) = match address.split_once("::") {
        Some((_, tail)) if tail.contains("::") => return None,
        Some((head, tail)) => (head, Some(tail)),
        None => (address, None),
    };
    let head = groups(head, tail.is_none())?;
    let tail = match tail {
        Some(tail) => Some(groups(tail, true)?),
        None => None,
    };
    let mut bytes = [0; 16];
    let written = head.len() + tail.as_ref().map_or(0, Vec::len);
    let fits = match tail {
        Some(_) => written < 16,
        None => written == 16,
    };
    if !fits {
        return None;
    }
    bytes[..head.len()].copy_from_slice(&head);
    let tail = tail.unwrap_or_default();
    bytes[16 - tail.len()..].copy_from_slice(&tail);
    Inet::new(Family::V6, &bytes, bits)
}

/// Groups of four digits between colons, the last of which may be four bytes with dots.
fn groups(text: &str, is_last: bool) -> Option<Vec<u8>> {
    if text.is_empty() {
        return Some(Vec::new());
    }
    let mut out = Vec::with_capacity(16);
    let mut parts = text.split(':').peekable();
    while let Some(part) = parts.next() {
        if part.contains('.') {
            let ends = is_last && parts.peek().is_none();
            out.extend_from_slice(&dotted(part).filter(|_| ends)?);
            continue;
        }
        if !(1..=4).contains(&part.len()) || !part.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        out.extend_from_slice(&u16::from_str_radix(part, 16).ok()?.to_be_bytes());
    }
    (out.len() <= 16).then_some(out)
}

/// Four bytes with dots at the end of a long address; what is missing is zero, also between dots.
fn dotted(text: &str) -> Option<[u8; 4]> {
    let mut out = [0; 4];
    let (first, last) = (text.split('.').next(), text.split('.').next_back());
    if first == Some("") || last == Some("") {
        return None;
    }
    for (place, part) in text.split('.').enumerate() {
        let padded = part.len() > 1 && part.starts_with('0');
        *out.get_mut(place)? = match part {
            "" => 0,
            _ if padded => return None,
            part => decimal(part, u8::MAX)?,
        };
    }
    Some(out)
}

/// Appends a value as its type's output function does.
pub fn write(inet: Inet, out: &mut Vec<u8>) {
    let is_whole = inet.bits() == inet.family().bits();
    let text = match is_whole && !inet.is_cidr() {
        true => host(inet),
        false => with_length(inet),
    };
    out.extend_from_slice(text.as_bytes());
}

/// The address with the length of the network, whatever it is.
pub fn with_length(inet: Inet) -> String {
    format!("{}/{}", host(inet), inet.bits())
}

/// The address alone.
pub fn host(inet: Inet) -> String {
    match inet.family() {
        Family::V4 => joined(inet.address()),
        Family::V6 => v6(inet.address()),
    }
}

fn joined(octets: &[u8]) -> String {
    let texts: Vec<String> = octets.iter().map(u8::to_string).collect();
    texts.join(".")
}

fn words_of(address: &[u8]) -> Vec<u16> {
    let words = address.chunks_exact(2);
    words
        .map(|pair| u16::from_be_bytes([pair[0], pair[1]]))
        .collect()
}

/// The first of the longest runs of zeros: where it begins, and its length.
fn longest_run(words: &[u16]) -> (usize, usize) {
    let mut longest = (0, 0);
    let mut from = 0;
    for (place, word) in words.iter().enumerate() {
        if *word != 0 {
            from = place + 1;
        } else if place + 1 - from > longest.1 {
            longest = (from, place + 1 - from);
        }
    }
    longest
}

fn v6(address: &[u8]) -> String {
    let words = words_of(address);
    let (from, len) = match longest_run(&words) {
        (_, ..2) => (words.len(), 0),
        run => run,
    };
    // An address of the other family within this one.
    let is_embedded = from == 0 && (len == 6 || (len == 5 && words[5] == 0xffff));
    let mut out = String::new();
    for (place, word) in words.iter().enumerate() {
        if (from..from + len).contains(&place) {
            if place == from {
                out.push_str("::");
            }
            continue;
        }
        if !out.is_empty() && !out.ends_with(':') {
            out.push(':');
        }
        if is_embedded && place == 6 {
            return out + &joined(&address[12..]);
        }
        write!(out, "{word:x}").expect("a String takes everything");
    }
    out
}

/// As `abbrev` writes it: of a network no more bytes than it has.
pub fn abbreviated(inet: Inet) -> String {
    if !inet.is_cidr() {
        let mut out = Vec::new();
        write(inet, &mut out);
        return String::from_utf8_lossy(&out).into_owned();
    }
    let bits = usize::from(inet.bits());
    let address = match inet.family() {
        Family::V4 => joined(&inet.address()[..bits.div_ceil(8).max(1)]),
        Family::V6 => v6_network(inet.address(), bits),
    };
    format!("{address}/{bits}")
}

fn v6_network(address: &[u8], bits: usize) -> String {
    if bits == 0 {
        return "::".to_string();
    }
    let words = words_of(address);
    let words = &words[..bits.div_ceil(16).max(2)];
    let (from, len) = longest_run(words);
    let is_embedded = len < words.len()
        && words.len() > 6
        && from == 0
        && (len == 6 || (len == 5 && words[5] == 0xffff));
    let mut out = String::new();
    for (place, word) in words.iter().enumerate() {
        if (from..from + len).contains(&place) {
            if place == from {
                out.push(':');
            }
            if place == words.len() - 1 {
                out.push(':');
            }
            continue;
        }
        if place > 0 {
            out.push(':');
        }
        if is_embedded && place == 6 {
            return out + &joined(&address[12..bits.div_ceil(8).max(14)]);
        }
        write!(out, "{word:x}").expect("a String takes everything");
    }
    out
}

/// Reads the address of a network card: six pairs of digits with `:` or `-` between all of them, or after the third, or
/// with `.` or `-` after each second, or with nothing.
///
/// # Errors
/// `22P02`; `22003` for a number above 255.
pub fn parse_mac(text: &str) -> SqlResult<MacAddr> {
    let refuse = || invalid("macaddr", text);
    let body = text.trim_matches(|c: char| c.is_ascii_whitespace() || c == '\x0b');
    let is_separated = |by: char| body.matches(by).count() == 5;
    let mut out = [0; 6];
    if let Some(by) = [':', '-'].into_iter().find(|by| is_separated(*by)) {
        for (place, part) in body.split(by).enumerate() {
            let is_hex = !part.is_empty() && part.bytes().all(|b| b.is_ascii_hexdigit());
            if !is_hex {
                return Err(refuse());
            }
            let number = u32::from_str_radix(part, 16).unwrap_or(u32::MAX);
            out[place] = u8::try_from(number).map_err(|_| {
                SqlError::new(
                    SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
                    format!("invalid octet value in \"macaddr\" value: \"{text}\""),
                )
            })?;
        }
        return Ok(out);
    }
    let lengths = |by: char| body.split(by).map(str::len).collect::<Vec<_>>();
    let is_known = body.len() == 12
        || [':', '-'].iter().any(|by| lengths(*by) == [6, 6])
        || ['.', '-'].iter().any(|by| lengths(*by) == [4, 4, 4]);
    let digits: Vec<u8> = body
        .bytes()
        .filter(|b| !matches!(b, b':' | b'-' | b'.'))
        .collect();
    if !is_known || digits.len() != 12 {
        return Err(refuse());
    }
    for (place, pair) in digits.chunks_exact(2).enumerate() {
        let digit = |b: u8| char::from(b).to_digit(16).ok_or_else(refuse);
        out[place] = (digit(pair[0])? * 16 + digit(pair[1])?) as u8;
    }
    Ok(out)
}

/// Appends the address of a network card.
pub fn write_mac(mac: MacAddr, out: &mut Vec<u8>) {
    let pairs: Vec<String> = mac.iter().map(|byte| format!("{byte:02x}")).collect();
    out.extend_from_slice(pairs.join(":").as_bytes());
}

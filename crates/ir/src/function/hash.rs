//! `hashtext`: the numbers by which PostgreSQL spreads texts, which applications use as keys of advisory locks.
//!
//! Relies on: Bob Jenkins' lookup3 (burtleburtle.net/bob/hash, public domain), which PostgreSQL begins and ends in its own way.
//! Promises: PostgreSQL's numbers on machines whose least byte comes first.  Does not: hash other types than texts and bytes.

use super::{Function, builtin as new, int, str};
use crate::eval::Host;
use quintet_base::SqlType::{Int4, Int8, Text};
use quintet_base::{SqlResult, Value};

/// The golden ratio, and what PostgreSQL adds to it.
const START: u32 = 0x9e37_79b9_u32.wrapping_add(3_923_095);
/// Bytes that are taken in at once.
const BLOCK: usize = 12;

fn mix([mut a, mut b, mut c]: [u32; 3]) -> [u32; 3] {
    for [first, second, third] in [[4, 6, 8], [16, 19, 4]] {
        a = a.wrapping_sub(c) ^ c.rotate_left(first);
        c = c.wrapping_add(b);
        b = b.wrapping_sub(a) ^ a.rotate_left(second);
        a = a.wrapping_add(c);
        c = c.wrapping_sub(b) ^ b.rotate_left(third);
        b = b.wrapping_add(a);
    }
    [a, b, c]
}

fn finish([mut a, mut b, mut c]: [u32; 3]) -> [u32; 3] {
    c = (c ^ b).wrapping_sub(b.rotate_left(14));
    a = (a ^ c).wrapping_sub(c.rotate_left(11));
    b = (b ^ a).wrapping_sub(a.rotate_left(25));
    c = (c ^ b).wrapping_sub(b.rotate_left(16));
    a = (a ^ c).wrapping_sub(c.rotate_left(4));
    b = (b ^ a).wrapping_sub(a.rotate_left(14));
    c = (c ^ b).wrapping_sub(b.rotate_left(24));
    [a, b, c]
}

/// Three words of up to twelve bytes.
fn words(bytes: &[u8]) -> [u32; 3] {
    let word = |place: usize| {
        let own = bytes.iter().skip(4 * place).take(4).zip(0u32..);
        own.fold(0, |word, (&byte, at)| word | u32::from(byte) << (8 * at))
    };
    [word(0), word(1), word(2)]
}

fn add([a, b, c]: [u32; 3], [x, y, z]: [u32; 3]) -> [u32; 3] {
    [a.wrapping_add(x), b.wrapping_add(y), c.wrapping_add(z)]
}

fn hash(bytes: &[u8], seed: u64) -> [u32; 3] {
    let mut state = [START.wrapping_add(bytes.len() as u32); 3];
    if seed != 0 {
        state = mix(add(state, [(seed >> 32) as u32, seed as u32, 0]));
    }
    let mut blocks = bytes.chunks_exact(BLOCK);
    for block in &mut blocks {
        state = mix(add(state, words(block)));
    }
    let [x, y, z] = words(blocks.remainder());
    // The lowest byte of the last word is left to the length.
    finish(add(state, [x, y, z << 8]))
}

/// The number of bytes.
pub(super) fn of_bytes(bytes: &[u8]) -> u32 {
    let [_, _, low] = hash(bytes, 0);
    low
}

fn of_text(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(Value::Int4(of_bytes(str(args[0]).as_bytes()) as i32))
}

fn extended(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let [_, high, low] = hash(str(args[0]).as_bytes(), int(args[1]) as u64);
    Ok(Value::Int8((u64::from(high) << 32 | u64::from(low)) as i64))
}

pub(super) static FUNCTIONS: &[Function] = &[
    new("hashtext", &[Text], Int4, of_text),
    new("hashtextextended", &[Text, Int8], Int8, extended),
];

//! Eight bytes of a key as an integer that is ordered as they are.
//!
//! Promises: a head that is smaller belongs to a key that is smaller.  Does not: say anything
//! about keys whose heads are equal.

/// The 8 bytes of a key from `at` on as a number that is ordered as they are; zeros past its end.
#[inline]
pub(super) fn head_of(key: &[u8], at: usize) -> u64 {
    let rest = key.get(at..).unwrap_or_default();
    if let Some(bytes) = rest.first_chunk::<8>() {
        return u64::from_be_bytes(*bytes);
    }
    match key.last_chunk::<8>() {
        // The last 8 bytes of a key that is long enough hold what is wanted: push the rest out.
        Some(_) if rest.is_empty() => 0,
        Some(bytes) => u64::from_be_bytes(*bytes) << (8 * (8 - rest.len())),
        None => (rest.iter().zip((0..8).rev())).fold(0, |head, (&byte, place)| {
            head | u64::from(byte) << (8 * place)
        }),
    }
}

/// A mask of the first `bytes` bytes of a head.
#[inline]
pub(super) fn top(bytes: usize) -> u64 {
    match bytes {
        0 => 0,
        1..8 => u64::MAX << (8 * (8 - bytes)),
        _ => u64::MAX,
    }
}

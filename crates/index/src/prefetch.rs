//! Asking the cache for memory before it is read.
//!
//! Relies on: nothing.  Promises: no effect but on time, whatever the address.
//! Does not: do anything on processors other than x86-64.
#![allow(unsafe_code, reason = "the instruction is an intrinsic")]

/// Starts to bring the line at an address into the cache.
#[inline(always)]
pub fn prefetch<T>(address: *const T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a prefetch never faults, and SSE is part of x86-64.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = address;
}

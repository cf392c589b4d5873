//! Memory of the program's allocator: there before it is needed, and not given back at once.
//!
//! Relies on: `rt::pages` to ask the system for it; this program's allocator, mimalloc.  Promises: what is allocated from then
//! on, the log's buffers included, comes out of memory that is there, as long as that lasts, and none of it goes back to the
//! system.  Does not: bound what the program takes; `--memory` does.

#![cfg_attr(
    not(feature = "system-allocator"),
    allow(
        unsafe_code,
        reason = "the allocator is asked for memory, and where it is, by calls into C"
    )
)]

use crate::exit::{Code, Exit};
use crate::quantity::Size;
use std::io;

/// Memory that nobody uses stays the program's for so long, in ms, and whole regions of it for ten times that. A load that follows another, a
/// statement that builds what the one before has thrown away, find theirs there.
#[cfg(not(feature = "system-allocator"))]
const KEPT_MS: std::ffi::c_long = 1000;

/// Has the allocator keep what is free for a moment, unless the environment says for how long (`MIMALLOC_PURGE_DELAY`).
#[cfg(not(feature = "system-allocator"))]
pub fn keep_for_a_moment() {
    if std::env::var_os("MIMALLOC_PURGE_DELAY").is_none() {
        // SAFETY: an option of the allocator's.
        unsafe { mimalloc::mi_option_set(mimalloc::PURGE_DELAY, KEPT_MS) };
    }
}

/// The system's allocator has its own ways.
#[cfg(feature = "system-allocator")]
pub fn keep_for_a_moment() {}

/// Asks the system for all memory that `--memory` allows, now. Takes 0.1 s for each GiB, and up to 2.5 s on a virtual machine
/// whose host has to find it first.
pub fn populate(memory: Size) -> Result<(), Exit> {
    populated(memory.0 as usize).map_err(|error| {
        let message = match error.kind() {
            io::ErrorKind::OutOfMemory => {
                format!("this machine has less than {memory} of memory to give")
            }
            _ => format!("memory cannot be populated: {error}"),
        };
        Exit::new(Code::Usage, message).hint(
            "Without --populate-memory it is asked for when it is needed; --memory says how much.",
        )
    })
}

#[cfg(not(feature = "system-allocator"))]
mod mimalloc {
    use std::ffi::{c_int, c_long, c_void};

    /// How many ms until memory that nobody uses goes back to the system: an index of `mi_option_t`.
    pub const PURGE_DELAY: c_int = 15;
    pub const NEVER: c_long = -1;

    // Of mimalloc 2.
    unsafe extern "C" {
        pub fn mi_option_set(option: c_int, value: c_long);
        #[cfg(test)]
        pub fn mi_option_get(option: c_int) -> c_long;
        /// Regions are numbered from 1. 0 if it was done.
        pub fn mi_reserve_os_memory_ex(
            bytes: usize,
            commit: bool,
            allow_large_pages: bool,
            exclusive: bool,
            region: *mut c_int,
        ) -> c_int;
        /// Where a region is; nothing if there is none of that number.
        pub fn mi_arena_area(region: c_int, bytes: *mut usize) -> *mut c_void;
    }
}

#[cfg(not(feature = "system-allocator"))]
fn populated(bytes: usize) -> io::Result<()> {
    use mimalloc::{NEVER, PURGE_DELAY, mi_arena_area, mi_option_set, mi_reserve_os_memory_ex};

    // It has regions from before; the rest is asked for in one more.
    let regions = || {
        (1..).map_while(|region| {
            let mut bytes = 0;
            // SAFETY: it only reads the allocator's own table, and writes the number of bytes.
            let start = unsafe { mi_arena_area(region, &raw mut bytes) }.addr();
            (start != 0).then_some(start..start + bytes)
        })
    };
    let there: usize = regions().map(|region| region.len()).sum();
    let mut region = 0;
    // SAFETY: an option of the allocator's, and memory that it maps for itself.
    let refused = unsafe {
        mi_option_set(PURGE_DELAY, NEVER);
        there < bytes
            && mi_reserve_os_memory_ex(bytes - there, true, true, false, &raw mut region) != 0
    };
    if refused {
        return Err(io::ErrorKind::OutOfMemory.into());
    }
    regions().try_for_each(quintet_rt::pages::touch)
}

/// The system's allocator has no regions to be touched.
#[cfg(feature = "system-allocator")]
fn populated(_bytes: usize) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(all(test, not(feature = "system-allocator")))]
mod tests {
    use super::mimalloc::{PURGE_DELAY, mi_option_get};

    /// The allocator's options have numbers, and no names: this is the one whose default is 10 ms.
    #[test]
    fn the_option_is_the_one_that_is_meant() {
        // SAFETY: it reads the allocator's own table.
        assert_eq!(unsafe { mi_option_get(PURGE_DELAY) }, 10);
    }
}

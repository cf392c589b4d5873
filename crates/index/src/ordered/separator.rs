//! Whatever stands in a sorted slot and knows its key: entries, and the separators of inner nodes.
//!
//! Relies on: nothing.  Promises: a separator is one allocation behind one thin pointer, so that
//! a slot can hold it in an `AtomicPtr`.  Does not: free itself; who takes it out of a node does.
//!
//! A separator owns its bytes, because the entry that it was made from may be removed and freed
//! while the separator goes on dividing.
//!
//! ```text
//!   offset 0   length (u32)
//!   offset 4   the bytes
//! ```

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};

use crate::Entry;

/// Has a key that can be read through a pointer.
///
/// # Safety
/// `key_at` returns the same bytes for as long as what is pointed to lives.
pub(super) unsafe trait Keyed {
    /// # Safety
    /// `this` is live for all of `'a` and has the provenance it was published with.
    unsafe fn key_at<'a>(this: *const Self) -> &'a [u8]
    where
        Self: 'a;
}

// SAFETY: `Entry` promises the same.
unsafe impl<E: Entry> Keyed for E {
    #[inline]
    unsafe fn key_at<'a>(this: *const Self) -> &'a [u8]
    where
        Self: 'a,
    {
        // SAFETY: the caller says that it is live for 'a.
        unsafe { &*this }.key()
    }
}

/// Divides the keys left of it (smaller) from those right of it (the same or greater).
#[repr(C)]
pub(super) struct Separator {
    length: u32,
}

const BYTES: usize = size_of::<Separator>();

impl Separator {
    fn layout(length: usize) -> Layout {
        Layout::from_size_align(BYTES + length, align_of::<Separator>())
            .expect("a key is in memory already, so its length is a length of memory")
    }

    /// The shortest that divides `left` from `right`.
    pub(super) fn between(left: &[u8], right: &[u8]) -> *mut Self {
        assert!(left < right, "nothing divides {left:?} from {right:?}");
        let shared = shared(left, right);
        // `right` is longer than what they share, or it would not be the greater one.
        Self::allocate(&right[..=shared])
    }

    /// Copies the bytes. The pointer is for [`Self::free`].
    pub(super) fn allocate(bytes: &[u8]) -> *mut Self {
        let layout = Self::layout(bytes.len());
        // SAFETY: the layout is not of size zero, the length is part of it.
        let this = unsafe { alloc(layout) }.cast::<Self>();
        if this.is_null() {
            handle_alloc_error(layout);
        }
        let length = u32::try_from(bytes.len()).expect("keys are shorter than 4 GiB");
        // SAFETY: allocated just now, long enough and aligned for a length and the bytes after it.
        unsafe {
            this.write(Self { length });
            let to = this.cast::<u8>().add(BYTES);
            to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        }
        this
    }

    /// # Safety
    /// `this` is from [`Self::allocate`], nobody else frees it and nobody reads it any more.
    pub(super) unsafe fn free(this: *mut Self) {
        // SAFETY: live until here, and allocated with this layout.
        unsafe {
            let layout = Self::layout((*this).length as usize);
            dealloc(this.cast(), layout);
        }
    }
}

// SAFETY: nobody writes to a separator after `allocate`.
unsafe impl Keyed for Separator {
    #[inline]
    unsafe fn key_at<'a>(this: *const Self) -> &'a [u8] {
        // SAFETY: the caller says that it is live; the bytes follow the length.
        unsafe {
            let length = (*this).length as usize;
            std::slice::from_raw_parts(this.cast::<u8>().add(BYTES), length)
        }
    }
}

/// How many bytes two keys have in common at their beginning.
pub(super) fn shared(left: &[u8], right: &[u8]) -> usize {
    let length = left.len().min(right.len());
    (0..length)
        .find(|&at| left[at] != right[at])
        .unwrap_or(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(left: &[u8], right: &[u8], expected: &[u8]) {
        let separator = Separator::between(left, right);
        // SAFETY: allocated above, freed below.
        let bytes = unsafe { Separator::key_at(separator) };
        assert_eq!(bytes, expected);
        assert!(left < bytes && bytes <= right);
        // SAFETY: not used after this.
        unsafe { Separator::free(separator) };
    }

    #[test]
    fn a_separator_is_as_short_as_it_can_be() {
        check(b"apple", b"banana", b"b");
        check(b"order/1999", b"order/2000", b"order/2");
        check(b"a", b"a\0", b"a\0");
        check(b"", b"\0\0", b"\0");
        check(b"a\xff\xff", b"b", b"b");
    }
}

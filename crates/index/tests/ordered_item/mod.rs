//! What the tests of the ordered index put in: an entry that counts itself and can be freed.
//!
//! Promises: `Live` counts the items that were allocated and not yet freed.
#![allow(dead_code, reason = "not every test file uses all of it")]

use std::{
    ptr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicPtr, AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use quintet_index::{Entry, Guard, pin};

/// An entry.
pub struct Item {
    key: Box<[u8]>,
    /// The pointer it was allocated with, by which it is freed.
    this: AtomicPtr<Item>,
    /// 1 until freed: a reader that finds 0 has found a freed one.
    pub alive: AtomicUsize,
    live: Arc<AtomicUsize>,
}

// SAFETY: the key never changes; the tests free items as `Entry` asks.
unsafe impl Entry for Item {
    fn key(&self) -> &[u8] {
        &self.key
    }
}

impl Item {
    pub fn allocate(key: &[u8], live: &Live) -> *mut Self {
        live.count.fetch_add(1, SeqCst);
        let this = Box::into_raw(Box::new(Self {
            key: key.into(),
            this: AtomicPtr::new(ptr::null_mut()),
            alive: AtomicUsize::new(1),
            live: live.count.clone(),
        }));
        // SAFETY: allocated just now.
        unsafe { (*this).this.store(this, SeqCst) };
        this
    }

    pub fn bytes(&self) -> &[u8] {
        assert_eq!(self.alive.load(SeqCst), 1, "read after it was freed");
        &self.key
    }

    pub fn pointer(&self) -> *mut Self {
        self.this.load(SeqCst)
    }

    /// Frees an item that was taken out.
    pub fn free(&self, guard: &Guard) {
        let this = self.pointer();
        // SAFETY: taken out of the index, by one.
        unsafe { guard.defer_unchecked(move || Self::free_now(this)) };
    }

    /// # Safety
    /// Nobody uses it any more.
    pub unsafe fn free_now(this: *mut Self) {
        // SAFETY: allocated as a box.
        drop(unsafe { Box::from_raw(this) });
    }
}

impl Drop for Item {
    fn drop(&mut self) {
        assert_eq!(self.alive.swap(0, SeqCst), 1, "freed twice");
        self.live.fetch_sub(1, SeqCst);
    }
}

/// How many items there are. One test at a time: a guard that another holds keeps items from
/// being freed.
pub struct Live {
    count: Arc<AtomicUsize>,
    _alone: MutexGuard<'static, ()>,
}

static ALONE: Mutex<()> = Mutex::new(());

impl Live {
    pub fn new() -> Self {
        Self {
            count: Arc::new(AtomicUsize::new(0)),
            // A test that failed before says so itself.
            _alone: ALONE.lock().unwrap_or_else(PoisonError::into_inner),
        }
    }

    /// Moves the epoch on until all items were freed.
    pub fn wait_until_none_left(&self) {
        for _ in 0..60_000 {
            if self.count.load(SeqCst) == 0 {
                return;
            }
            pin().flush();
            std::thread::park_timeout(Duration::from_millis(1));
        }
        panic!("{} items were not freed", self.count.load(SeqCst));
    }
}

pub fn keys_of(item: &Item) -> Vec<u8> {
    item.bytes().to_vec()
}

/// Splitmix: the same numbers in every run.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    pub fn shuffle(&mut self, order: &mut [u64]) {
        for at in (1..order.len()).rev() {
            order.swap(at, self.below(at as u64 + 1) as usize);
        }
    }
}

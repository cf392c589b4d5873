//! Atomics with a point before each access.
//!
//! Relies on: [`point`](crate::point).  Promises: what `std`'s do, in one order that all threads agree on;
//! the size and alignment of `std`'s, so that layouts stay what they are.  Does not: fail a weak
//! compare-exchange without a reason; a fence has nothing to do.

use crate::point;
pub use std::sync::atomic::{Ordering, fence};

macro_rules! atomic {
    ($name:ident $(<$of:ident>)?, $value:ty) => {
        /// Stands in for the type of the same name in `std`.
        #[repr(transparent)]
        #[derive(Debug, Default)]
        pub struct $name $(<$of>)? (std::sync::atomic::$name $(<$of>)?);

        #[allow(missing_docs, reason = "as in `std`")]
        impl $(<$of>)? $name $(<$of>)? {
            pub const fn new(value: $value) -> Self {
                Self(std::sync::atomic::$name::new(value))
            }

            pub fn load(&self, order: Ordering) -> $value {
                point();
                self.0.load(order)
            }

            pub fn store(&self, value: $value, order: Ordering) {
                point();
                self.0.store(value, order);
            }

            pub fn swap(&self, value: $value, order: Ordering) -> $value {
                point();
                self.0.swap(value, order)
            }

            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                point();
                self.0.compare_exchange(current, new, success, failure)
            }

            pub fn compare_exchange_weak(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                self.compare_exchange(current, new, success, failure)
            }

            /// No point: nobody else has it.
            pub fn get_mut(&mut self) -> &mut $value {
                self.0.get_mut()
            }
        }
    };
}

macro_rules! number {
    ($name:ident, $value:ty) => {
        atomic!($name, $value);

        #[allow(missing_docs, reason = "as in `std`")]
        impl $name {
            pub fn fetch_add(&self, value: $value, order: Ordering) -> $value {
                point();
                self.0.fetch_add(value, order)
            }

            pub fn fetch_sub(&self, value: $value, order: Ordering) -> $value {
                point();
                self.0.fetch_sub(value, order)
            }

            pub fn fetch_max(&self, value: $value, order: Ordering) -> $value {
                point();
                self.0.fetch_max(value, order)
            }

            pub fn fetch_or(&self, value: $value, order: Ordering) -> $value {
                point();
                self.0.fetch_or(value, order)
            }

            pub fn fetch_and(&self, value: $value, order: Ordering) -> $value {
                point();
                self.0.fetch_and(value, order)
            }
        }
    };
}

atomic!(AtomicBool, bool);
atomic!(AtomicPtr<T>, *mut T);
number!(AtomicU16, u16);
number!(AtomicU32, u32);
number!(AtomicU64, u64);
number!(AtomicI64, i64);
number!(AtomicUsize, usize);

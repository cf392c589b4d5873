//! Who reads at which timestamp.
//!
//! Relies on: `visible` only grows.  Promises: the oldest snapshot it names is at or below every
//! snapshot that is in use or will ever be taken.  Does not: limit how long a snapshot lives.

use crate::view::View;
use parking_lot::{Mutex, RwLock};
use quintet_base::Timestamp;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The registry, the visible timestamp and the current view: what a new snapshot is made of.
pub(crate) struct Snapshots {
    /// Newest timestamp whose commit, and every commit before it, is installed. Written under the
    /// sequencer after the install; Release there pairs with Acquire here.
    visible: AtomicU64,
    active: Mutex<BTreeMap<Timestamp, usize>>,
    view: RwLock<Arc<View>>,
}

/// A timestamp to read at, and where to read. Registered until dropped.
pub(crate) struct Snapshot {
    pub timestamp: Timestamp,
    pub view: Arc<View>,
    owner: Arc<Snapshots>,
}

impl Snapshots {
    pub fn new(visible: Timestamp, view: View) -> Snapshots {
        Snapshots {
            visible: AtomicU64::new(visible.0),
            active: Mutex::new(BTreeMap::new()),
            view: RwLock::new(Arc::new(view)),
        }
    }

    pub fn visible(&self) -> Timestamp {
        Timestamp(self.visible.load(Ordering::Acquire))
    }

    /// Makes commits up to here visible. Under the sequencer, after their installs.
    pub fn publish(&self, timestamp: Timestamp) {
        debug_assert!(timestamp >= self.visible());
        self.visible.store(timestamp.0, Ordering::Release);
    }

    pub fn view(&self) -> Arc<View> {
        Arc::clone(&self.view.read())
    }

    /// Replaces the current view. Under the sequencer.
    pub fn replace_view(&self, view: View) {
        *self.view.write() = Arc::new(view);
    }

    /// A snapshot of now. The order matters: the timestamp is registered before the view is read,
    /// so a view that this snapshot could not read is never made in between.
    pub fn take(self: &Arc<Self>) -> Arc<Snapshot> {
        let timestamp = {
            let mut active = self.active.lock();
            let timestamp = self.visible();
            *active.entry(timestamp).or_insert(0) += 1;
            timestamp
        };
        Arc::new(Snapshot {
            timestamp,
            view: self.view(),
            owner: Arc::clone(self),
        })
    }

    /// At or below every snapshot in use now or taken later.
    pub fn oldest(&self) -> Timestamp {
        let active = self.active.lock();
        let visible = self.visible();
        active
            .first_key_value()
            .map_or(visible, |(oldest, _)| (*oldest).min(visible))
    }

    /// How many snapshots are in use.
    pub fn count(&self) -> usize {
        self.active.lock().values().sum()
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        let mut active = self.owner.active.lock();
        if let Some(count) = active.get_mut(&self.timestamp) {
            *count -= 1;
            if *count == 0 {
                active.remove(&self.timestamp);
            }
        }
    }
}

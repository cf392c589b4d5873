//! LISTEN and NOTIFY: who listens to which channel, and what has not been told to him yet.
//!
//! Relies on: sessions, which say something only once it is committed.  Promises: who listens when something is
//! said hears it, once, in the order in which it was said; what one listener has not taken is bounded
//! ([`NOTIFICATION_BYTES_MAX`]): beyond that nobody says anything more on his channels.
//! Does not: keep anything on disk, or for who comes later.
//!
//! Lock order: the channels, then one ear.

use parking_lot::Mutex;
use quintet_base::limits::NOTIFICATION_BYTES_MAX;
use quintet_base::{SqlError, SqlResult, SqlState};
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, OnceLock};

/// Something that was said.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Notification {
    /// The session that said it.
    pub process_id: i32,
    /// Where.
    pub channel: String,
    /// What; often nothing.
    pub payload: String,
}

/// See the module.
#[derive(Default)]
pub(crate) struct Channels {
    listeners: Mutex<HashMap<String, Vec<Arc<Ear>>>>,
}

/// A session that may listen.
#[derive(Default)]
pub(crate) struct Ear {
    heard: Mutex<Heard>,
    /// Told of each notification; set once, by who carries them to the client.
    wake: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

#[derive(Default)]
struct Heard {
    waiting: VecDeque<Notification>,
    bytes: usize,
}

/// What LISTEN and UNLISTEN want once they are committed.
#[derive(Clone, Debug)]
pub(crate) enum Listening {
    To(String),
    NotTo(String),
    ToNothing,
}

impl Channels {
    /// `ear` listens to what is said from now on.
    pub fn listen(&self, channel: &str, ear: &Arc<Ear>) {
        let mut listeners = self.listeners.lock();
        let there = listeners.entry(channel.to_string()).or_default();
        if !there.iter().any(|other| Arc::ptr_eq(other, ear)) {
            there.push(Arc::clone(ear));
        }
    }

    /// `ear` does not listen to it any more.
    pub fn leave(&self, channel: &str, ear: &Arc<Ear>) {
        let mut listeners = self.listeners.lock();
        if let Some(there) = listeners.get_mut(channel) {
            there.retain(|other| !Arc::ptr_eq(other, ear));
            if there.is_empty() {
                listeners.remove(channel);
            }
        }
    }

    /// Where `ear` listens, by name.
    pub fn of(&self, ear: &Arc<Ear>) -> BTreeSet<String> {
        let listeners = self.listeners.lock();
        let listens = |there: &[Arc<Ear>]| there.iter().any(|other| Arc::ptr_eq(other, ear));
        let names = listeners.iter().filter(|(_, there)| listens(there));
        names.map(|(name, _)| name.clone()).collect()
    }

    /// Refuses what some listener has no room for.
    ///
    /// # Errors
    /// `54000`.
    pub fn check_room(&self, channel: &str) -> SqlResult<()> {
        let listeners = self.listeners.lock();
        let mut there = listeners.get(channel).into_iter().flatten();
        match there.any(|ear| ear.heard.lock().bytes >= NOTIFICATION_BYTES_MAX) {
            false => Ok(()),
            true => Err(SqlError::new(
                SqlState::PROGRAM_LIMIT_EXCEEDED,
                "too many notifications in the NOTIFY queue",
            )
            .detail(format!(
                "A client that listens to \"{channel}\" does not take them."
            ))),
        }
    }

    /// Tells those who listen. What one transaction says stands together.
    pub fn say(&self, said: Vec<Notification>) {
        let listeners = self.listeners.lock();
        for notification in said {
            for ear in listeners.get(&notification.channel).into_iter().flatten() {
                ear.hear(notification.clone());
            }
        }
    }
}

impl Ear {
    /// Has `wake` called whenever there is something to take.
    pub fn on_notification(&self, wake: impl Fn() + Send + Sync + 'static) {
        // The first one stays.
        let _ = self.wake.set(Box::new(wake));
    }

    fn hear(&self, notification: Notification) {
        let mut heard = self.heard.lock();
        heard.bytes += size(&notification);
        heard.waiting.push_back(notification);
        drop(heard);
        if let Some(wake) = self.wake.get() {
            wake();
        }
    }

    /// What has been heard since the last time.
    pub fn take(&self) -> VecDeque<Notification> {
        let mut heard = self.heard.lock();
        heard.bytes = 0;
        std::mem::take(&mut heard.waiting)
    }
}

fn size(notification: &Notification) -> usize {
    size_of::<Notification>() + notification.channel.len() + notification.payload.len()
}

/// Carries out what was wanted; `channels` are those that a session listens to.
pub(crate) fn settle(
    wanted: Vec<Listening>,
    channels: &mut BTreeSet<String>,
    all: &Channels,
    ear: &Arc<Ear>,
) {
    for one in wanted {
        match one {
            Listening::To(channel) => {
                all.listen(&channel, ear);
                channels.insert(channel);
            }
            Listening::NotTo(channel) => {
                all.leave(&channel, ear);
                channels.remove(&channel);
            }
            Listening::ToNothing => {
                for channel in std::mem::take(channels) {
                    all.leave(&channel, ear);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(channel: &str, payload: &str) -> Notification {
        Notification {
            process_id: 1,
            channel: channel.to_string(),
            payload: payload.to_string(),
        }
    }

    #[test]
    fn who_listens_hears_in_order_and_only_then() {
        let (channels, ear, other) = (Channels::default(), Arc::default(), Arc::default());
        channels.say(vec![said("a", "too early")]);
        channels.listen("a", &ear);
        channels.listen("a", &ear);
        channels.listen("b", &other);
        channels.say(vec![said("a", "1"), said("b", "2"), said("a", "3")]);
        assert_eq!(ear.take(), [said("a", "1"), said("a", "3")]);
        assert_eq!(other.take(), [said("b", "2")]);
        channels.leave("a", &ear);
        channels.say(vec![said("a", "too late")]);
        assert!(ear.take().is_empty());
        assert_eq!(channels.listeners.lock().len(), 1, "nothing is left of a");
    }

    #[test]
    fn a_listener_who_takes_nothing_is_a_limit() {
        let (channels, ear) = (Channels::default(), Arc::default());
        channels.listen("a", &ear);
        let long = "x".repeat(NOTIFICATION_BYTES_MAX / 2);
        channels.check_room("a").unwrap();
        channels.say(vec![said("a", &long), said("a", &long)]);
        let refused = channels.check_room("a").unwrap_err();
        assert_eq!(refused.state, SqlState::PROGRAM_LIMIT_EXCEEDED);
        channels.check_room("b").unwrap();
        ear.take();
        channels.check_room("a").unwrap();
    }
}

//! Names: of a front end, of its attempts, and the mark that an attempt leaves in the log.
//!
//! Relies on: nothing.  Promises: what is printed is read back the same.  Does not: hand numbers out.
//!
//! ```text
//!   front     lower-case letters, digits, underscores; at most 30
//!   gid       quintet:<front>:<epoch>:<number>             one per attempt, a run of a call
//!   tag       <gid> <place> [<number> <token>]             in the attempt's transaction, as a logical message
//!   mark      applied <gid>                                the same in the transaction that applies its write set
//! ```

use crate::error::Error;
use std::fmt;
use std::sync::Arc;

/// The prefix of our messages in the log, and the schema of our tables.
pub(crate) const PREFIX: &str = "quintet";

/// Before the gid in the mark of an applied write set.
pub(crate) const APPLIED: &str = "applied ";

/// Longest name: that of the application has to fit into 63 bytes with it.
const NAME_BYTES_MAX: usize = 30;

/// The name of a front end and which start of it this is.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Front {
    name: Arc<str>,
    epoch: u64,
}

impl Front {
    /// # Errors
    /// [`Error::Name`] if the name has other characters than it may, or too many.
    pub fn new(name: &str, epoch: u64) -> Result<Front, Error> {
        let fits = !name.is_empty()
            && name.len() <= NAME_BYTES_MAX
            && name
                .bytes()
                .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_'));
        if !fits {
            return Err(Error::Name(name.to_owned()));
        }
        Ok(Front {
            name: name.into(),
            epoch,
        })
    }

    /// The same front end at another start.
    pub fn at_epoch(&self, epoch: u64) -> Front {
        Front {
            name: self.name.clone(),
            epoch,
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Which start.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The identity of an attempt of this start.
    pub fn gid(&self, number: u64) -> Gid {
        Gid(format!("{PREFIX}:{}:{}:{number}", self.name, self.epoch).into())
    }

    /// `application_name` of all sessions; what fencing looks for.
    pub fn application(&self) -> String {
        format!("{PREFIX} front {}", self.name)
    }

    /// Of the replication slot, and of the publication.
    pub(crate) fn slot(&self) -> String {
        format!("{PREFIX}_{}", self.name)
    }

    /// What the gids of all starts begin with.
    pub(crate) fn gid_prefix(&self) -> String {
        format!("{PREFIX}:{}:", self.name)
    }
}

/// The identity of a prepared transaction; ours is that of an attempt.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Gid(Arc<str>);

impl Gid {
    /// Any text that a server gave as the identity of a prepared transaction.
    pub fn of(text: &str) -> Gid {
        Gid(text.into())
    }

    /// As the server has it.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Name of the front end, epoch and number; nothing if it is none of a front end.
    pub fn parts(&self) -> Option<(&str, u64, u64)> {
        let mut parts = self.0.split(':');
        let prefix = parts.next()?;
        let (name, epoch, number) = (parts.next()?, parts.next()?, parts.next()?);
        if prefix != PREFIX || parts.next().is_some() {
            return None;
        }
        Some((name, epoch.parse().ok()?, number.parse().ok()?))
    }
}

impl fmt::Display for Gid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The client that makes a call and wants to be able to ask later what became of it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ClientCall {
    /// Who; no zero byte.
    pub token: Arc<str>,
    /// Which of its calls.
    pub number: i64,
}

/// What an attempt says of itself in the log.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Tag {
    /// Its identity.
    pub gid: Gid,
    /// The call's place in the order that the front end gave.
    pub place: u64,
    /// The client's name for the call.
    pub client: Option<ClientCall>,
}

impl Tag {
    /// Reads what [`Tag`] prints.
    pub fn parse(text: &str) -> Option<Tag> {
        let mut parts = text.splitn(4, ' ');
        let gid = Gid::of(parts.next()?);
        let place = parts.next()?.parse().ok()?;
        let client = match (parts.next(), parts.next()) {
            (None, _) => None,
            (Some(number), Some(token)) => Some(ClientCall {
                token: token.into(),
                number: number.parse().ok()?,
            }),
            (Some(_), None) => return None,
        };
        gid.parts()?;
        Some(Tag { gid, place, client })
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.gid, self.place)?;
        match &self.client {
            Some(client) => write!(f, " {} {}", client.number, client.token),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gids_and_tags_read_as_they_are_printed() {
        let front = Front::new("shop_1", 7).unwrap();
        let gid = front.gid(12);
        assert_eq!(gid.as_str(), "quintet:shop_1:7:12");
        assert_eq!(gid.parts(), Some(("shop_1", 7, 12)));
        for client in [
            None,
            Some(ClientCall {
                token: "a token with spaces".into(),
                number: -3,
            }),
        ] {
            let tag = Tag {
                gid: gid.clone(),
                place: u64::MAX,
                client,
            };
            assert_eq!(Tag::parse(&tag.to_string()), Some(tag));
        }
        for text in [
            "",
            "x",
            "quintet:a:1:2",
            "quintet:a:1:2 x",
            "quintet:a:1:2 3 4",
            "other 3",
        ] {
            assert_eq!(Tag::parse(text), None, "{text}");
        }
        assert_eq!(Gid::of("quintet:a:1:2:3").parts(), None);
    }

    #[test]
    fn a_name_fits_into_a_slot_and_an_application() {
        for name in ["", "Shop", "a-b", "a:b", &"a".repeat(31)] {
            assert!(matches!(Front::new(name, 1), Err(Error::Name(_))), "{name}");
        }
    }
}

//! The numbers by which a front end and its driver speak of things.
//!
//! Relies on: nothing.  Promises: plain data; a [`WriteId`] is written as text and read back.
//! Does not: know what a driver keeps under a number.

use std::fmt;

/// A replica, as the configuration numbers it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ReplicaId(pub u32);

/// A client's session, as the driver numbers it. Not used again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SessionId(pub u64);

/// A position in the write-ahead log of one replica. Those of two replicas are not compared.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Lsn(pub u64);

/// One run of a call, at one replica. A call that runs again is another attempt.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct AttemptId {
    /// Of the front end: grows with each of its starts.
    pub epoch: u32,
    /// Counted by the front end from its start.
    pub number: u64,
}

/// A write set: what an attempt left, or an ordinary transaction that did not come through the front end.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum WriteId {
    /// An attempt's.
    Attempt(AttemptId),
    /// Of a transaction that somebody committed at a replica.
    Foreign {
        /// Where.
        replica: ReplicaId,
        /// Its commit's position there.
        at: Lsn,
    },
}

/// The place of an attempt in the order of runs. It stands in the attempt's tag: of two attempts that conflict
/// and both commit, the first has the smaller place, whatever epochs they are of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Place(pub u64);

/// Which call of a client this is, told by the client itself so that it can ask again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Token {
    /// The client's token, as the driver numbers it.
    pub client: u64,
    /// The client's own number for the call; grows.
    pub number: u64,
}

/// The rows of a write set, as hashes of table and replica identity. Equal rows have equal hashes; that
/// others may, too, costs a refusal at most.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Rows {
    /// Nothing was written.
    None,
    /// These.
    These(Vec<u64>),
    /// Any row may be among them: a table was emptied, or one has no replica identity.
    Any,
}

/// Bits of a place below its epoch.
const PLACE_BITS: u32 = 40;

impl Place {
    pub(crate) fn new(epoch: u32, number: u64) -> Place {
        assert!(number < 1 << PLACE_BITS, "an epoch's places are counted");
        assert!(
            epoch < 1 << (63 - PLACE_BITS),
            "epoch {epoch} has no places"
        );
        Place(u64::from(epoch) << PLACE_BITS | number)
    }
}

impl WriteId {
    /// As it is called in a server: the identifier of a prepared transaction, the key of a mark.
    pub fn to_text(&self, front: &str) -> String {
        match self {
            WriteId::Attempt(AttemptId { epoch, number }) => {
                format!("quintet:{front}:{epoch}:{number}")
            }
            WriteId::Foreign { replica, at } => {
                format!("quintet:{front}:foreign:{}:{}", replica.0, at.0)
            }
        }
    }

    /// Reads what [`WriteId::to_text`] wrote; nothing if it is another front end's, or nobody's.
    pub fn parse(front: &str, text: &str) -> Option<WriteId> {
        let rest = text.strip_prefix("quintet:")?.strip_prefix(front)?;
        let rest = rest.strip_prefix(':')?;
        let mut parts = rest.split(':');
        let id = match parts.next()? {
            "foreign" => WriteId::Foreign {
                replica: ReplicaId(parts.next()?.parse().ok()?),
                at: Lsn(parts.next()?.parse().ok()?),
            },
            epoch => WriteId::Attempt(AttemptId {
                epoch: epoch.parse().ok()?,
                number: parts.next()?.parse().ok()?,
            }),
        };
        parts.next().is_none().then_some(id)
    }
}

impl fmt::Display for AttemptId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.epoch, self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn write_sets_are_named_and_read_back_by_their_own_front_end_only() {
        let attempt = WriteId::Attempt(AttemptId {
            epoch: 7,
            number: 42,
        });
        let foreign = WriteId::Foreign {
            replica: ReplicaId(2),
            at: Lsn(99),
        };
        for id in [attempt, foreign] {
            let text = id.to_text("main");
            assert_eq!(WriteId::parse("main", &text), Some(id), "{text}");
            assert_eq!(WriteId::parse("mai", &text), None, "{text}");
            assert_eq!(WriteId::parse("main", &format!("{text}:1")), None);
        }
        assert_eq!(WriteId::parse("main", "quintet:main:x:1"), None);
    }

    #[test]
    fn places_of_a_later_epoch_are_later() {
        assert!(Place::new(2, 0) > Place::new(1, (1 << PLACE_BITS) - 1));
    }
}

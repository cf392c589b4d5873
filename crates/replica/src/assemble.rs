//! From messages of a stream to items: whole transactions.
//!
//! Relies on: a server sends the messages of one transaction together, and a relation before the first change of its rows.
//! Promises: rows of applied write sets, and of our own tables but `calls`, are not kept; a write set that grows over the
//! limit is counted and not kept.  Does not: read sockets.
//!
//! ```text
//!   Begin         ─► [message, changes] ─► Commit    one item: Committed, Applied, or KeepAlive if nothing is left
//!   BeginPrepare  ─► [message, changes] ─► Prepare   one item: Prepared
//!   CommitPrepared, RollbackPrepared                 an item each
//! ```

use crate::decode::{self, Message};
use crate::front::{APPLIED, Gid, PREFIX, Tag};
use crate::item::{Captured, Item, TooLarge};
use crate::uniques::Uniques;
use crate::write_set::{Change, Relation, WriteSet};
use hashbrown::HashMap;
use std::sync::Arc;

/// Puts the messages of one stream together.
#[derive(Debug)]
pub(crate) struct Assembler {
    relations: HashMap<u32, Known, foldhash::fast::FixedState>,
    uniques: Uniques,
    open: Option<Open>,
    limit: usize,
}

#[derive(Debug)]
struct Known {
    relation: Arc<Relation>,
    /// False for our own tables, of which only `calls` is part of the data.
    travels: bool,
}

/// The transaction whose messages are coming.
#[derive(Debug, Default)]
struct Open {
    /// If it was prepared.
    prepared: bool,
    tag: Option<Tag>,
    /// If it is an apply: its rows are not kept.
    applied: Option<Gid>,
    write_set: WriteSet,
    /// Set once the write set is over the limit: what it would be.
    bytes_over: Option<usize>,
}

impl Assembler {
    pub fn new(uniques: Uniques, limit: usize) -> Assembler {
        Assembler {
            relations: HashMap::default(),
            uniques,
            open: None,
            limit,
        }
    }

    /// Takes a message; an item if that completes one.
    pub fn take(&mut self, bytes: &[u8]) -> Result<Option<Item>, String> {
        let skips = self
            .open
            .as_ref()
            .is_some_and(|open| open.applied.is_some());
        let relations = &self.relations;
        let message = decode::message(bytes, |oid| match relations.get(&oid) {
            None => Err(format!("a change of relation {oid}, which was not told")),
            Some(known) if skips || !known.travels => Ok(None),
            Some(known) => Ok(Some(known.relation.columns.len())),
        })?;
        match message {
            Message::Begin => self.begin(false),
            Message::BeginPrepare => self.begin(true),
            Message::Relation { oid, mut relation } => {
                self.uniques.put_into(&mut relation);
                let travels = relation.schema != PREFIX || relation.name == "calls";
                let relation = Arc::new(relation);
                self.relations.insert(oid, Known { relation, travels });
                Ok(None)
            }
            Message::Insert { oid, new } => {
                let relation = self.relation(oid);
                self.change(Change::Insert { relation, new })
            }
            Message::Update { oid, old, new } => {
                let relation = self.relation(oid);
                self.change(Change::Update { relation, old, new })
            }
            Message::Delete { oid, old } => {
                let relation = self.relation(oid);
                self.change(Change::Delete { relation, old })
            }
            Message::Truncate {
                oids,
                cascade,
                restart,
            } => {
                let mut relations = Vec::new();
                for oid in oids {
                    let known = self.relations.get(&oid);
                    let known = known.ok_or_else(|| format!("relation {oid} was not told"))?;
                    if known.travels {
                        relations.push(known.relation.clone());
                    }
                }
                if relations.is_empty() || skips {
                    return Ok(None);
                }
                self.change(Change::Truncate {
                    relations,
                    cascade,
                    restart,
                })
            }
            Message::Logical {
                transactional,
                prefix,
                content,
            } => {
                if transactional && prefix == PREFIX {
                    self.mark(&content);
                }
                Ok(None)
            }
            Message::Commit { position } => {
                let open = self.end(false)?;
                Ok(Some(if let Some(gid) = open.applied {
                    Item::Applied { gid, position }
                } else if open.tag.is_none() && open.is_empty() {
                    Item::KeepAlive { position }
                } else {
                    let (tag, write_set) = open.captured(self.limit);
                    Item::Committed {
                        tag,
                        position,
                        write_set,
                    }
                }))
            }
            Message::Prepare { gid, position } => {
                let (tag, write_set) = self.end(true)?.captured(self.limit);
                let gid = Gid::of(&gid);
                Ok(Some(Item::Prepared {
                    // A mark that names another attempt is none of this one.
                    tag: tag.filter(|tag| tag.gid == gid),
                    gid,
                    position,
                    write_set,
                }))
            }
            Message::CommitPrepared { gid, position } => Ok(Some(Item::CommitPrepared {
                gid: Gid::of(&gid),
                position,
            })),
            Message::RollbackPrepared { gid, position } => Ok(Some(Item::RollbackPrepared {
                gid: Gid::of(&gid),
                position,
            })),
            Message::Other | Message::Skipped => Ok(None),
        }
    }

    /// True between two transactions.
    pub fn is_between(&self) -> bool {
        self.open.is_none()
    }

    fn relation(&self, oid: u32) -> Arc<Relation> {
        // `decode` asked for its columns before it read the row.
        self.relations[&oid].relation.clone()
    }

    fn begin(&mut self, prepared: bool) -> Result<Option<Item>, String> {
        let open = Open {
            prepared,
            ..Open::default()
        };
        match self.open.replace(open) {
            None => Ok(None),
            Some(_) => Err("a transaction begins inside of another".to_owned()),
        }
    }

    fn end(&mut self, prepared: bool) -> Result<Open, String> {
        match self.open.take() {
            Some(open) if open.prepared == prepared => Ok(open),
            _ => Err("a transaction ends that did not begin".to_owned()),
        }
    }

    fn mark(&mut self, content: &str) {
        let Some(open) = &mut self.open else { return };
        match content.strip_prefix(APPLIED) {
            Some(gid) => {
                open.applied = Some(Gid::of(gid));
                open.write_set = WriteSet::default();
            }
            None => open.tag = Tag::parse(content),
        }
    }

    fn change(&mut self, change: Change) -> Result<Option<Item>, String> {
        let limit = self.limit;
        let open = self
            .open
            .as_mut()
            .ok_or("a change outside of a transaction")?;
        open.write_set.push(change);
        let bytes = open.write_set.bytes();
        if let Some(over) = &mut open.bytes_over {
            *over += bytes;
            open.write_set = WriteSet::default();
        } else if bytes > limit {
            open.bytes_over = Some(bytes);
            open.write_set = WriteSet::default();
        }
        Ok(None)
    }
}

impl Open {
    fn is_empty(&self) -> bool {
        self.write_set.is_empty() && self.bytes_over.is_none()
    }

    fn captured(self, limit: usize) -> (Option<Tag>, Captured) {
        let captured = match self.bytes_over {
            Some(bytes) => Err(TooLarge { bytes, limit }),
            None => Ok(Arc::new(self.write_set)),
        };
        (self.tag, captured)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::{BufMut, BytesMut};

    /// Messages of a stream, written by hand as the manual has them. A message is named by its letter.
    struct Script {
        assembler: Assembler,
    }

    fn message(kind: u8, write: impl FnOnce(&mut BytesMut)) -> Vec<u8> {
        let mut bytes = BytesMut::new();
        bytes.put_u8(kind);
        write(&mut bytes);
        bytes.to_vec()
    }

    fn text(bytes: &mut BytesMut, text: &str) {
        bytes.put_slice(text.as_bytes());
        bytes.put_u8(0);
    }

    fn begin() -> Vec<u8> {
        message(b'B', |bytes| bytes.put_slice(&[0; 20]))
    }

    fn commit(position: u64) -> Vec<u8> {
        message(b'C', |bytes| {
            bytes.put_slice(&[0; 9]);
            bytes.put_u64(position);
            bytes.put_u64(0);
        })
    }

    fn begin_prepare(gid: &str) -> Vec<u8> {
        message(b'b', |bytes| {
            bytes.put_slice(&[0; 28]);
            text(bytes, gid);
        })
    }

    /// `P` or `K`.
    fn prepared(kind: u8, gid: &str, position: u64) -> Vec<u8> {
        message(kind, |bytes| {
            bytes.put_slice(&[0; 9]);
            bytes.put_u64(position);
            bytes.put_slice(&[0; 12]);
            text(bytes, gid);
        })
    }

    fn rollback_prepared(gid: &str, position: u64) -> Vec<u8> {
        message(b'r', |bytes| {
            bytes.put_slice(&[0; 9]);
            bytes.put_u64(position);
            bytes.put_slice(&[0; 20]);
            text(bytes, gid);
        })
    }

    fn relation(oid: u32, schema: &str, name: &str) -> Vec<u8> {
        message(b'R', |bytes| {
            bytes.put_u32(oid);
            text(bytes, schema);
            text(bytes, name);
            bytes.put_u8(b'd');
            bytes.put_u16(1);
            bytes.put_u8(1);
            text(bytes, "a");
            bytes.put_u32(25);
            bytes.put_i32(-1);
        })
    }

    fn insert(oid: u32, value: &str) -> Vec<u8> {
        message(b'I', |bytes| {
            bytes.put_u32(oid);
            bytes.put_slice(b"N\0\x01t");
            bytes.put_u32(value.len() as u32);
            bytes.put_slice(value.as_bytes());
        })
    }

    fn mark(transactional: u8, prefix: &str, content: &str) -> Vec<u8> {
        message(b'M', |bytes| {
            bytes.put_u8(transactional);
            bytes.put_u64(0);
            text(bytes, prefix);
            bytes.put_u32(content.len() as u32);
            bytes.put_slice(content.as_bytes());
        })
    }

    impl Script {
        fn new(limit: usize) -> Script {
            let assembler = Assembler::new(Uniques::default(), limit);
            Script { assembler }
        }

        fn run(&mut self, messages: &[Vec<u8>]) -> Vec<Item> {
            let items = messages
                .iter()
                .filter_map(|bytes| self.assembler.take(bytes).unwrap());
            items.collect()
        }

        fn error(&mut self, messages: &[Vec<u8>]) -> String {
            let (last, front) = messages.split_last().unwrap();
            assert!(self.run(front).is_empty());
            self.assembler.take(last).unwrap_err()
        }
    }

    const GID: &str = "quintet:shop:1:5";

    #[test]
    fn an_attempt_is_one_item_and_its_decision_another() {
        let tag = format!("{GID} 17 3 token");
        let items = Script::new(1_000).run(&[
            begin_prepare(GID),
            mark(1, "quintet", &tag),
            relation(9, "public", "t"),
            insert(9, "x"),
            insert(9, "y"),
            prepared(b'P', GID, 100),
            prepared(b'K', GID, 200),
            rollback_prepared("other", 300),
        ]);
        let [
            Item::Prepared {
                gid,
                tag: Some(found),
                position,
                write_set: Ok(write_set),
            },
            committed,
            rolled_back,
        ] = &items[..]
        else {
            panic!("{items:?}");
        };
        assert_eq!((gid.as_str(), position.0, found.place), (GID, 100, 17));
        assert_eq!(found.client.as_ref().unwrap().number, 3);
        assert_eq!(write_set.changes().len(), 2);
        let expected = Item::CommitPrepared {
            gid: Gid::of(GID),
            position: crate::WalPosition(200),
        };
        assert_eq!(*committed, expected);
        let expected = Item::RollbackPrepared {
            gid: Gid::of("other"),
            position: crate::WalPosition(300),
        };
        assert_eq!(*rolled_back, expected);
    }

    #[test]
    fn rows_of_an_apply_are_not_kept_and_our_tables_do_not_travel() {
        let mut script = Script::new(10);
        let long = "x".repeat(1_000);
        let items = script.run(&[
            begin(),
            mark(1, "quintet", &format!("applied {GID}")),
            relation(9, "public", "t"),
            insert(9, &long),
            commit(1),
            begin(),
            relation(8, "quintet", "front"),
            insert(8, &long),
            commit(2),
            begin(),
            relation(7, "quintet", "calls"),
            insert(7, ""),
            commit(3),
        ]);
        let position = crate::WalPosition;
        assert_eq!(
            items[0],
            Item::Applied {
                gid: Gid::of(GID),
                position: position(1)
            }
        );
        assert_eq!(
            items[1],
            Item::KeepAlive {
                position: position(2)
            }
        );
        let expected = (position(3), true);
        match &items[2] {
            Item::Committed {
                position,
                write_set,
                tag: None,
            } => {
                assert_eq!((*position, write_set.is_err()), expected);
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn messages_of_others_mean_nothing() {
        let items = Script::new(1_000).run(&[
            mark(0, "quintet", "applied x"),
            begin(),
            mark(1, "other", "applied x"),
            mark(1, "quintet", "no tag"),
            relation(9, "public", "t"),
            insert(9, "x"),
            message(b'O', |bytes| bytes.put_u64(0)),
            message(b'Y', |bytes| bytes.put_u32(0)),
            commit(1),
        ]);
        assert!(
            matches!(&items[..], [Item::Committed { tag: None, .. }]),
            "{items:?}"
        );
        // A mark that names another attempt is none of this one.
        let items = Script::new(1_000).run(&[
            begin_prepare("quintet:shop:1:6"),
            mark(1, "quintet", &format!("{GID} 17")),
            prepared(b'P', "quintet:shop:1:6", 1),
        ]);
        assert!(
            matches!(&items[..], [Item::Prepared { tag: None, .. }]),
            "{items:?}"
        );
    }

    #[test]
    fn a_write_set_over_the_limit_is_counted_and_the_next_is_not() {
        let mut script = Script::new(500);
        let mut messages = vec![begin(), relation(9, "public", "t")];
        messages.extend((0..100).map(|_| insert(9, "0123456789")));
        messages.extend([commit(1), begin(), insert(9, "x"), commit(2)]);
        let items = script.run(&messages);
        match &items[..] {
            [
                Item::Committed {
                    write_set: Err(large),
                    ..
                },
                Item::Committed {
                    write_set: Ok(small),
                    ..
                },
            ] => {
                assert_eq!(large.limit, 500);
                assert!(large.bytes > 1_000, "{large}");
                assert_eq!(small.changes().len(), 1);
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_makes_no_sense_is_an_error() {
        let error = |messages: &[Vec<u8>]| Script::new(1_000).error(messages);
        let known = || relation(9, "public", "t");
        assert_eq!(
            error(&[begin(), insert(3, "x")]),
            "a change of relation 3, which was not told"
        );
        assert_eq!(
            error(&[known(), insert(9, "x")]),
            "a change outside of a transaction"
        );
        assert_eq!(
            error(&[begin(), begin()]),
            "a transaction begins inside of another"
        );
        assert_eq!(
            error(&[begin(), prepared(b'P', GID, 1)]),
            "a transaction ends that did not begin"
        );
        assert_eq!(error(&[message(b'S', |_| {})]), "a message of kind 0x53");
        let mut long = insert(9, "x");
        long.push(0);
        assert_eq!(
            error(&[known(), begin(), long]),
            "1 bytes behind the end of a message"
        );
        let mut two = insert(9, "x");
        two[7] = 2;
        assert_eq!(
            error(&[known(), begin(), two]),
            "a row of 2 columns in a table of 1"
        );
    }

    /// Property: no cut of a message is taken for a whole one, and none ends in a panic.
    #[test]
    fn a_message_that_is_cut_is_an_error() {
        for whole in [
            begin(),
            commit(1),
            begin_prepare(GID),
            prepared(b'K', GID, 1),
            rollback_prepared(GID, 1),
            relation(9, "public", "t"),
            insert(9, "xyz"),
            mark(1, "quintet", GID),
        ] {
            for end in 0..whole.len() {
                let mut script = Script::new(1_000);
                script.run(&[relation(9, "public", "t"), begin()]);
                assert!(
                    script.assembler.take(&whole[..end]).is_err(),
                    "{whole:?} cut at {end}"
                );
            }
        }
    }
}

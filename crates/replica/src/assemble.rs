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
use crate::write_set::{Change, Relation, WriteSet};
use hashbrown::HashMap;
use std::sync::Arc;

/// Puts the messages of one stream together.
#[derive(Debug)]
pub(crate) struct Assembler {
    relations: HashMap<u32, Known, foldhash::fast::FixedState>,
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
    pub fn new(limit: usize) -> Assembler {
        Assembler {
            relations: HashMap::default(),
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
            Message::Relation { oid, relation } => {
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

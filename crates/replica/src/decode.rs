//! One message of pgoutput, protocol version 3 without streaming, from its bytes.
//!
//! Relies on: the layout in PostgreSQL's manual, "Logical Replication Message Formats".  Promises: a message that is not
//! understood is an error and never skipped.  Does not: put messages together (`assemble` does).

use crate::frame::Reader;
use crate::position::WalPosition;
use crate::write_set::{Column, Identity, Relation, Tuple};

/// A message. Changes carry their relation's number.
#[derive(Debug)]
pub(crate) enum Message {
    Begin,
    Commit {
        position: WalPosition,
    },
    BeginPrepare,
    Prepare {
        gid: String,
        position: WalPosition,
    },
    CommitPrepared {
        gid: String,
        position: WalPosition,
    },
    RollbackPrepared {
        gid: String,
        position: WalPosition,
    },
    Relation {
        oid: u32,
        relation: Relation,
    },
    Insert {
        oid: u32,
        new: Tuple,
    },
    Update {
        oid: u32,
        old: Option<Tuple>,
        new: Tuple,
    },
    Delete {
        oid: u32,
        old: Tuple,
    },
    Truncate {
        oids: Vec<u32>,
        cascade: bool,
        restart: bool,
    },
    /// `pg_logical_emit_message`.
    Logical {
        transactional: bool,
        prefix: String,
        content: String,
    },
    /// Where a change came from first, or the name of a type: of no use here.
    Other,
    /// A change of a table that was not asked for by `columns_of`.
    Skipped,
}

/// Reads a message. `columns_of` says how many columns a relation has, or that its changes are not wanted.
pub(crate) fn message(
    bytes: &[u8],
    columns_of: impl Fn(u32) -> Result<Option<usize>, String>,
) -> Result<Message, String> {
    let mut reader = Reader::new(bytes);
    let r = &mut reader;
    let position = |r: &mut Reader<'_>| r.u64().map(WalPosition);
    let message = match r.u8()? {
        b'B' => {
            r.bytes(8 + 8 + 4)?;
            Message::Begin
        }
        b'C' => {
            r.bytes(1 + 8)?;
            let position = position(r)?;
            r.u64()?;
            Message::Commit { position }
        }
        b'b' => {
            r.bytes(8 + 8 + 8 + 4)?;
            r.text()?;
            Message::BeginPrepare
        }
        b'P' => {
            r.bytes(1 + 8)?;
            let position = position(r)?;
            r.bytes(8 + 4)?;
            let gid = r.text()?.to_owned();
            Message::Prepare { gid, position }
        }
        b'K' => {
            r.bytes(1 + 8)?;
            let position = position(r)?;
            r.bytes(8 + 4)?;
            let gid = r.text()?.to_owned();
            Message::CommitPrepared { gid, position }
        }
        b'r' => {
            r.bytes(1 + 8)?;
            let position = position(r)?;
            r.bytes(8 + 8 + 4)?;
            let gid = r.text()?.to_owned();
            Message::RollbackPrepared { gid, position }
        }
        b'R' => {
            let oid = r.u32()?;
            let relation = relation(r)?;
            Message::Relation { oid, relation }
        }
        b'I' => {
            let oid = r.u32()?;
            let Some(columns) = columns_of(oid)? else {
                return Ok(Message::Skipped);
            };
            expect(r, b'N')?;
            let new = Tuple::read(r, columns)?;
            Message::Insert { oid, new }
        }
        b'U' => {
            let oid = r.u32()?;
            let Some(columns) = columns_of(oid)? else {
                return Ok(Message::Skipped);
            };
            let mut old = None;
            match r.u8()? {
                b'K' | b'O' => {
                    old = Some(Tuple::read(r, columns)?);
                    expect(r, b'N')?;
                }
                b'N' => {}
                kind => return Err(format!("an update with a row of kind {kind:#04x}")),
            }
            let new = Tuple::read(r, columns)?;
            Message::Update { oid, old, new }
        }
        b'D' => {
            let oid = r.u32()?;
            let Some(columns) = columns_of(oid)? else {
                return Ok(Message::Skipped);
            };
            match r.u8()? {
                b'K' | b'O' => {}
                kind => return Err(format!("a delete with a row of kind {kind:#04x}")),
            }
            let old = Tuple::read(r, columns)?;
            Message::Delete { oid, old }
        }
        b'T' => {
            let count = r.u32()?;
            let options = r.u8()?;
            let oids: Result<Vec<u32>, String> = (0..count).map(|_| r.u32()).collect();
            Message::Truncate {
                oids: oids?,
                cascade: options & 1 != 0,
                restart: options & 2 != 0,
            }
        }
        b'M' => {
            let transactional = r.u8()? & 1 != 0;
            r.u64()?;
            let prefix = r.text()?.to_owned();
            let length = r.u32()? as usize;
            // Others may write messages that are no text; they are not looked at.
            let content = String::from_utf8_lossy(r.bytes(length)?).into_owned();
            Message::Logical {
                transactional,
                prefix,
                content,
            }
        }
        b'O' | b'Y' => return Ok(Message::Other),
        kind => return Err(format!("a message of kind {kind:#04x}")),
    };
    match reader.rest() {
        [] => Ok(message),
        rest => Err(format!("{} bytes behind the end of a message", rest.len())),
    }
}

fn expect(reader: &mut Reader<'_>, kind: u8) -> Result<(), String> {
    match reader.u8()? {
        found if found == kind => Ok(()),
        found => Err(format!("a row of kind {found:#04x} instead of {kind:#04x}")),
    }
}

fn relation(r: &mut Reader<'_>) -> Result<Relation, String> {
    // The system's own schema is left out in the message.
    let schema = match r.text()? {
        "" => "pg_catalog",
        schema => schema,
    };
    let schema = schema.to_owned();
    let name = r.text()?.to_owned();
    let identity = match r.u8()? {
        b'd' => Identity::Default,
        b'i' => Identity::Index,
        b'f' => Identity::Full,
        b'n' => Identity::Nothing,
        kind => return Err(format!("a replica identity of kind {kind:#04x}")),
    };
    let count = r.u16()?;
    let mut columns = Vec::with_capacity(usize::from(count));
    for _ in 0..count {
        let key = r.u8()? & 1 != 0;
        let name = r.text()?.to_owned();
        let type_oid = r.u32()?;
        r.u32()?;
        columns.push(Column {
            name,
            type_oid,
            key,
        });
    }
    Ok(Relation {
        schema,
        name,
        identity,
        columns,
        // The log does not tell them; `assemble` knows.
        uniques: Vec::new(),
    })
}

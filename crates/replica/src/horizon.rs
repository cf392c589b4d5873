//! How far the logs of replicas are dealt with, as it is recorded at a replica when marks of applied write sets go.
//!
//! Relies on: `quintet.horizon`.  Promises: marks go and the horizon moves in one transaction, so that a write set whose
//! mark is gone is never applied again.  Does not: decide how far that is.

use crate::applier::Applier;
use crate::connection::Connection;
use crate::error::Error;
use crate::front::{Front, Gid};
use crate::position::WalPosition;
use crate::runner::literal;

/// What is recorded for a front end.
pub(crate) async fn read(
    connection: &mut Connection,
    front: &Front,
) -> Result<Vec<(u32, WalPosition)>, Error> {
    let name = literal(front.name());
    let rows = connection
        .simple(&format!(
            "SELECT replica, position FROM quintet.horizon WHERE name = {name}"
        ))
        .await?;
    let read = rows.iter().map(|row| match row.as_slice() {
        [Some(replica), Some(position)] => {
            Some((replica.parse().ok()?, WalPosition::parse(position)?))
        }
        _ => None,
    });
    let read: Option<Vec<_>> = read.collect();
    read.ok_or_else(|| connection.protocol("a row of quintet.horizon that nobody wrote".to_owned()))
}

impl Applier {
    /// Records how far the logs of replicas are dealt with, and forgets the marks of these write sets; durably.
    ///
    /// # Errors
    /// Those of the connection and the server; nothing is done then, or it is not known.
    pub async fn prune_to(
        &mut self,
        front: &Front,
        gids: &[Gid],
        horizons: &[(u32, WalPosition)],
    ) -> Result<(), Error> {
        let name = literal(front.name());
        let mut sql = String::from("BEGIN; SET LOCAL synchronous_commit = on;");
        for (replica, position) in horizons {
            sql += &format!(
                "INSERT INTO quintet.horizon AS h VALUES ({name}, {replica}, '{position}') \
                 ON CONFLICT (name, replica) DO UPDATE SET position = greatest(h.position, excluded.position);"
            );
        }
        if !gids.is_empty() {
            let gids: Vec<String> = gids.iter().map(|gid| literal(gid.as_str())).collect();
            let list = gids.join(",");
            sql += &format!("DELETE FROM quintet.applied WHERE gid IN ({list});");
        }
        sql += "COMMIT";
        match self.connection().simple(&sql).await {
            Ok(_) => Ok(()),
            Err(error) => {
                if !error.is_lost() {
                    self.connection().simple("ROLLBACK").await?;
                }
                Err(error)
            }
        }
    }
}

//! Two tables that are the same but for the indexes of one: whatever happens to both, they answer alike.
//!
//! Relies on: a test's own random statements ([`Statements`]).  Promises: indexes are made between changes, in blocks of every level, with
//! savepoints, schema changes and restarts; at the end nothing is left in them.  Does not: know what is in the tables.

// Few test files have twins.
#![allow(dead_code)]

use super::{open, reopen, rows};
use quintet_embed::Client;
use quintet_rt::Rand;

/// The table with indexes is called `i`, the other one `p`.
pub struct Twins<'t> {
    pub tables: &'t str,
    /// Made one by one, every third round.
    pub indexes: &'t [&'t str],
    pub rounds: usize,
    /// In this round both are altered; the table is called `$`.
    pub altered: (usize, [&'t str; 2]),
    /// Conditions that no row fulfils once all are gone.
    pub none_left: [&'t str; 3],
}

/// What a test says at random.
pub trait Statements {
    fn rand(&mut self) -> &mut Rand;

    /// A change of the table `$`, whose keys are mostly below `ids`.
    fn change(&mut self, ids: u64) -> String;

    /// Asks both tables the same.
    fn compare(&mut self, c: &mut Client);

    /// What a block begins with.
    fn settings(&mut self) -> Option<String> {
        None
    }

    fn pick<'t>(&mut self, from: &[&'t str]) -> &'t str {
        from[self.rand().below(from.len() as u64) as usize]
    }
}

/// The seed that was asked for, or a test's own.
pub fn seed(own: u64) -> u64 {
    let given = std::env::var("QUINTET_SEED").ok();
    let seed = given.and_then(|seed| seed.parse().ok()).unwrap_or(own);
    println!("seed {seed}");
    seed
}

/// Runs a statement for both tables, of which `$` is either.
pub fn both(c: &mut Client, sql: &str) {
    for table in ["i", "p"] {
        let sql = sql.replace('$', table);
        c.query(&sql)
            .unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    }
}

/// Changes both, and asks both, again and again.
pub fn live_alike(twins: &Twins<'_>, words: &mut impl Statements) {
    let (dir, mut db) = open();
    let mut c = db.client().unwrap();
    c.query(twins.tables).unwrap();
    let mut to_make = twins.indexes.iter();
    for round in 0..twins.rounds {
        if round % 3 == 1
            && let Some(index) = to_make.next()
        {
            c.query(index).unwrap();
        }
        let level = words.pick(&["read committed", "repeatable read", "serializable"]);
        c.query(&format!("begin isolation level {level}")).unwrap();
        if let Some(settings) = words.settings() {
            c.query(&settings).unwrap();
        }
        for _ in 0..6 {
            let change = words.change(60);
            match words.rand().one_in(4) {
                true => {
                    c.query("savepoint s").unwrap();
                    both(&mut c, &change);
                    words.compare(&mut c);
                    c.query("rollback to s").unwrap();
                }
                false => both(&mut c, &change),
            }
            words.compare(&mut c);
        }
        let end = words.pick(&["commit", "commit", "rollback"]);
        c.query(end).unwrap();
        for _ in 0..6 {
            words.compare(&mut c);
        }
        let (when, statements) = twins.altered;
        if round == when {
            statements.iter().for_each(|sql| both(&mut c, sql));
            words.compare(&mut c);
        }
        if round % 10 == 9 {
            drop(c);
            db.close().unwrap();
            drop(db);
            db = reopen(&dir);
            c = db.client().unwrap();
        }
    }
    // An entry that was left behind would name a row that is not there, or be in the way of one.
    both(&mut c, "delete from $");
    for condition in twins.none_left {
        let sql = format!("select id from i where {condition}");
        assert_eq!(rows(&mut c, &sql).len(), 0, "{condition}");
    }
}

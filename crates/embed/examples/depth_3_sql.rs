//! Depth 3 of 3: the whole database in the process: SQL, and buckets of keys beside it.
//!
//! The same engine and the same guarantees as behind the network, without a server. Depend on
//! `quintet-embed`.
//!
//! `cargo run -p quintet-embed --example depth_3_sql`

use quintet_embed::{Database, DatabaseConfig, Level};

/// Runs the example in a temporary directory.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = tempfile::tempdir()?;
    let (db, _) = Database::open(DatabaseConfig::new(directory.path()))?;

    let mut client = db.client()?;
    client.query(
        "CREATE TABLE accounts (id int PRIMARY KEY, owner text NOT NULL, balance int NOT NULL CHECK (balance >= 0));
         INSERT INTO accounts VALUES (1, 'ann', 100), (2, 'bob', 50)",
    )?;
    // Several statements in one text are one transaction.
    client.query(
        "UPDATE accounts SET balance = balance - 30 WHERE id = 1;
         UPDATE accounts SET balance = balance + 30 WHERE id = 2",
    )?;
    let refused = client.query("UPDATE accounts SET balance = balance - 1000 WHERE id = 1");
    println!(
        "refused as it should be: {}",
        refused.expect_err("a check forbids it")
    );

    let answers = client.query("SELECT owner, balance FROM accounts ORDER BY id")?;
    let rows = answers[0].text_rows();
    println!("{rows:?}");
    let text = |word: &str| Some(word.to_string());
    assert_eq!(rows, [[text("ann"), text("70")], [text("bob"), text("80")]]);

    // Keys and values beside the tables: the same log, the same transactions underneath.
    let settings = db.bucket("settings")?;
    let mut txn = db.begin(Level::Serializable);
    txn.put(&settings, b"theme", b"dark")?;
    txn.commit()?;
    assert!(
        db.begin(Level::Snapshot)
            .get(&settings, b"theme")?
            .is_some()
    );
    db.close()?;
    Ok(())
}

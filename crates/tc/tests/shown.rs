//! Rows that are shown where they lie are those that a scan gives, wherever whoever looks at them pauses.

#![allow(clippy::unwrap_used)]

mod support;

use quintet_base::{Bytes, Durability, Level};
use quintet_dc::{Direction, KeyRange};
use quintet_rt::Rand;
use quintet_tc::{Error, Tc, TcConfig, Txn, Wants};
use support::*;

fn keys(rows: &[(String, String)]) -> Vec<(&str, &str)> {
    rows.iter().map(|(k, v)| (&k[..], &v[..])).collect()
}

/// All rows, by chunks that end where they end or at one row of `pause`.
fn shown(txn: &Txn, direction: Direction, rand: &mut Rand, pause: u64) -> Vec<(String, String)> {
    let mut scan = txn.scan(SPACE, &KeyRange::all(), direction).unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let mut rows = vec![];
    loop {
        let more = scan.show(txn, &mut |key, row| {
            rows.push((text(key), text(row)));
            match rand.below(pause) {
                0 => Wants::NoMore,
                _ => Wants::More,
            }
        });
        if !more.unwrap() {
            return rows;
        }
    }
}

fn agrees(txn: &Txn, rand: &mut Rand) {
    let mut expected = rows(txn);
    for direction in [Direction::Forward, Direction::Backward] {
        for pause in [1, 7, 1_000_000] {
            assert_eq!(
                shown(txn, direction, rand, pause),
                expected,
                "{direction:?}"
            );
        }
        expected.reverse();
    }
}

#[test]
fn what_is_shown_is_what_a_scan_gives() {
    let seed = 5;
    println!("seed {seed}");
    let mut rand = Rand::seeded(seed);
    let media = Media::new(seed);
    let all: Vec<_> = (0..1500)
        .map(|i| (format!("k{i:04}"), i.to_string()))
        .collect();
    // Whole in memory; then in STORE alone; then memory has a part, and has evicted some.
    for (round, config) in [
        TcConfig::for_memory(64 << 20),
        TcConfig::for_memory(64 << 20),
        tiny(),
    ]
    .into_iter()
    .enumerate()
    {
        let Running { tc, .. } = &media.open_with(Durability::Sync, config);
        if round == 0 {
            for some in all.chunks(200) {
                set(tc, &keys(some));
            }
        }
        let old = tc.begin(Level::Serializable);
        let before = rows(&old);
        set(
            tc,
            &[("k0003", "new"), ("k0400x", "added"), ("k1499", "last")],
        );
        let mut txn = tc.begin(Level::Serializable);
        agrees(&txn, &mut rand);
        for (key, value) in [("k0000", "own"), ("k0700y", "own"), ("zz", "own")] {
            put(&mut txn, key, value);
        }
        txn.delete(SPACE, bytes("k0800")).unwrap();
        agrees(&txn, &mut rand);
        txn.abort();
        assert_eq!(
            shown(&old, Direction::Forward, &mut rand, 50),
            before,
            "round {round}"
        );
        agrees(&old, &mut rand);
        old.abort();
        tc.compact().unwrap();
    }
}

fn verdict(tc: &Tc, txn: Txn) -> &'static str {
    match commit(tc, txn, Durability::Sync) {
        Ok(_) => "committed",
        Err(Error::Conflict { .. }) => "conflict",
        Err(error) => panic!("neither committed nor a conflict: {error}"),
    }
}

/// Goal: what was shown counts as read as far as was said, and no further.
#[test]
fn what_is_shown_counts_as_read_once_it_is_noted() {
    let Running { tc, .. } = &Media::new(1).open(Durability::Sync);
    set(tc, &[("b", "1"), ("d", "1"), ("f", "1")]);
    for (noted, changed, expected) in [
        (None, "b", "committed"),
        (Some("b"), "a", "conflict"),
        (Some("b"), "c", "committed"),
        (Some("d"), "c", "conflict"),
        (Some("end"), "y", "conflict"),
    ] {
        let mut reader = tc.begin(Level::Serializable);
        let mut scan = reader
            .scan(SPACE, &KeyRange::all(), Direction::Forward)
            .unwrap();
        assert!(scan.is_remembered());
        assert!(!scan.show(&reader, &mut |_, _| Wants::More).unwrap());
        match noted {
            None => {}
            Some("end") => scan.note_end(&reader),
            Some(key) => scan.note(&reader, &Bytes::copy_from_slice(key.as_bytes())),
        }
        drop(scan);
        put(&mut reader, "z", "sum");
        set(tc, &[(changed, "2")]);
        assert_eq!(verdict(tc, reader), expected, "{noted:?}, {changed}");
        // As it was.
        let mut txn = tc.begin(Level::Snapshot);
        for key in ["a", "c", "y", "z"] {
            txn.delete(SPACE, bytes(key)).unwrap();
        }
        commit(tc, txn, Durability::Sync).unwrap();
    }
}

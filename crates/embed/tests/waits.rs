//! Who waits for whom, and over which row: told while it lasts, and counted when it is over, by every engine.

#![allow(clippy::unwrap_used)]

mod support;

use quintet_base::SqlState;
use quintet_embed::{Client, Engine};
use support::{ends, open_by, rows, waits};

const SCHEMA: &str = "
    create table account (id int primary key, n bigint);
    insert into account select i, 0 from generate_series(1, 5) i;
    create table district (w_id int, d_id int, name text, primary key (w_id, d_id));
    insert into district values (1, 5, 'a');
    create procedure add(account int) language plpgsql as $$
    begin update account set n = n + 1 where id = add.account; end $$;
    create procedure rename(w int, d int, called text) language plpgsql as $$
    begin update district set name = called where w_id = w and d_id = d; end $$";

fn number(client: &mut Client) -> i32 {
    client.session().process_id()
}

const CONTENTION: &str =
    "select kind, relation, key, procedure, other, events, lost_ms >= 0 from quintet_contention";

/// Goal: a row lock, its holder, those who wait, and whom each waits for; by a key of two columns; then nothing any more.
#[test]
fn a_row_is_waited_for_by_its_key() {
    let (_dir, db) = open_by(Engine::Direct, SCHEMA);
    let mut clients = [(); 4].map(|()| db.client().unwrap());
    let numbers = clients.each_mut().map(number);
    let [holder, first, second, looker] = &mut clients;
    let locks = "select pid, relation, mode, granted, waitstart is null from pg_locks
                 where locktype = 'tuple' order by granted desc, waitstart";
    let waits_now = "select pid, waits_for, kind, relation, key, mode from quintet_waits order by pid, waits_for";
    assert!(rows(looker, locks).is_empty() && rows(looker, waits_now).is_empty());
    holder
        .query("begin; update district set name = 'b' where w_id = 1 and d_id = 5")
        .unwrap();
    let update = "update district set name = 'c' where w_id = 1 and d_id = 5";
    let one = waits(first, update);
    let two = waits(second, "call rename(1, 5, 'd')");
    let [h, f, s, _] = numbers;
    let lock = |number, granted| {
        let flag = if granted { "t|t" } else { "f|f" };
        format!("{number}|district|ExclusiveLock|{flag}")
    };
    // `relation` is a number that regclass has a name for.
    let locks = locks.replace("relation,", "relation::regclass,");
    assert_eq!(
        rows(looker, &locks),
        [lock(h, true), lock(f, false), lock(s, false)]
    );
    let wait = |who, whom| format!("{who}|{whom}|row|district|(w_id, d_id) = (1, 5)|exclusive");
    assert_eq!(
        rows(looker, waits_now),
        [wait(f, h), wait(s, h), wait(s, f)]
    );
    let joined = "select w.pid, h.pid from pg_locks w join pg_locks h using (locktype, relation, page, tuple)
                  where not w.granted and h.granted order by 1";
    assert_eq!(
        rows(looker, joined),
        [format!("{f}|{h}"), format!("{s}|{h}")]
    );
    for (who, whom) in [
        (h, "{}".into()),
        (f, format!("{{{h}}}")),
        (s, format!("{{{h},{f}}}")),
    ] {
        let asked = format!("select pg_blocking_pids({who})");
        assert_eq!(rows(looker, &asked), [whom]);
    }
    let blocked =
        |who, by| format!("select pg_isolation_test_session_is_blocked({who}, array[{by}, 1, 2])");
    assert_eq!(rows(looker, &blocked(f, h)), ["t"]);
    assert_eq!(rows(looker, &blocked(f, s)), ["f"]);
    assert_eq!(rows(looker, &blocked(h, f)), ["f"]);
    assert_eq!(
        rows(
            looker,
            &format!("select pg_safe_snapshot_blocking_pids({f})")
        ),
        ["{}"]
    );
    holder.query("rollback").unwrap();
    ends(first, one);
    ends(second, two);
    assert!(rows(looker, &locks).is_empty() && rows(looker, waits_now).is_empty());
    assert_eq!(rows(looker, &blocked(f, h)), ["f"]);
    let mut counted = rows(looker, CONTENTION);
    counted.sort();
    assert_eq!(
        counted,
        [
            "wait|district|(w_id, d_id) = (1, 5)|UPDATE|UPDATE|1|t",
            "wait|district|(w_id, d_id) = (1, 5)|rename|UPDATE|1|t"
        ]
    );
    let report = rows(looker, "select * from quintet_contention_report()");
    let headline = "district (w_id, d_id) = (1, 5): 2 waits, ";
    assert!(report[0].starts_with(headline), "{report:?}");
    assert!(report[1].contains("make it a procedure"), "{report:?}");
    rows(looker, "select quintet_contention_reset()");
    assert!(rows(looker, CONTENTION).is_empty());
    let report = rows(looker, "select * from quintet_contention_report()");
    assert_eq!(report, ["Nothing was in the way."]);
}

/// Goal: of calls in line, who waits for a row, and who for the call before it, by the key that they have in common.
#[test]
fn a_call_in_line_waits_for_the_call_before_it() {
    let (_dir, db) = open_by(Engine::Chain, SCHEMA);
    let mut clients = [(); 5].map(|()| db.client().unwrap());
    let [h, f, s, o, _] = clients.each_mut().map(number);
    let [holder, first, second, other, looker] = &mut clients;
    holder
        .query("begin; update account set n = 9 where id = 1")
        .unwrap();
    let one = waits(first, "call add(1)");
    let two = waits(second, "call add(1)");
    other.query("call add(2)").unwrap();
    let seen = "select pid, waits_for, kind, key from quintet_waits order by pid";
    assert_eq!(
        rows(looker, seen),
        [format!("{f}|{h}|row|id = 1"), format!("{s}|{f}|line|-")]
    );
    assert_eq!(
        rows(
            looker,
            &format!("select pg_blocking_pids({s}), pg_blocking_pids({o})")
        ),
        [format!("{{{f}}}|{{}}")]
    );
    let event = format!("select wait_event from pg_stat_activity where pid = {s}");
    assert_eq!(rows(looker, &event), ["Line"]);
    holder.query("commit").unwrap();
    ends(first, one);
    ends(second, two);
    assert!(rows(looker, seen).is_empty());
    let mut counted = rows(looker, CONTENTION);
    counted.sort();
    assert_eq!(
        counted,
        [
            "line|account|id = 1|add|add|1|t",
            "wait|account|id = 1|add|UPDATE|1|t"
        ]
    );
}

/// Goal: a call of a batch waits for the row, and one that is to be in the batch with it waits for it.
#[test]
fn a_call_for_a_batch_waits_for_the_one_that_waits_for_the_row() {
    let (_dir, db) = open_by(Engine::Queue, SCHEMA);
    let mut clients = [(); 4].map(|()| db.client().unwrap());
    let [h, f, s, _] = clients.each_mut().map(number);
    let [holder, first, second, looker] = &mut clients;
    holder
        .query("begin; update account set n = 9 where id = 1")
        .unwrap();
    let one = waits(first, "call add(1)");
    let two = waits(second, "call add(1)");
    let seen = "select pid, waits_for, kind, key from quintet_waits order by pid";
    assert_eq!(
        rows(looker, seen),
        [format!("{f}|{h}|row|id = 1"), format!("{s}|{f}|batch|-")]
    );
    holder.query("commit").unwrap();
    ends(first, one);
    ends(second, two);
    assert!(rows(looker, seen).is_empty());
    let counted = rows(looker, CONTENTION);
    assert_eq!(counted, ["wait|account|id = 1|add|UPDATE|1|t"]);
}

/// Goal: waits for advisory locks are told like those for rows, with the parts of the key where PostgreSQL has them.
#[test]
fn advisory_locks_are_waited_for_like_rows() {
    let (_dir, db) = open_by(Engine::Direct, SCHEMA);
    let mut clients = [(); 4].map(|()| db.client().unwrap());
    let [h, f, s, _] = clients.each_mut().map(number);
    let [holder, first, second, looker] = &mut clients;
    holder.query("select pg_advisory_lock(4294967303)").unwrap();
    let one = waits(first, "select pg_advisory_lock(4294967303)");
    let two = waits(second, "select pg_advisory_lock_shared(4294967303)");
    let seen = "select pid, waits_for, kind, key, mode from quintet_waits order by 1, 2";
    let wait = |who, whom, mode| format!("{who}|{whom}|advisory|4294967303|{mode}");
    assert_eq!(
        rows(looker, seen),
        [
            wait(f, h, "exclusive"),
            wait(s, h, "shared"),
            wait(s, f, "shared")
        ]
    );
    let locks = "select pid, classid, objid, objsubid, mode, granted from pg_locks
                 where locktype = 'advisory' order by granted desc, waitstart";
    assert_eq!(
        rows(looker, locks),
        [
            format!("{h}|1|7|1|ExclusiveLock|t"),
            format!("{f}|1|7|1|ExclusiveLock|f"),
            format!("{s}|1|7|1|ShareLock|f")
        ]
    );
    let asked = format!("select pg_blocking_pids({f}), pg_blocking_pids({s})");
    assert_eq!(rows(looker, &asked), [format!("{{{h}}}|{{{h},{f}}}")]);
    holder
        .query("select pg_advisory_unlock(4294967303)")
        .unwrap();
    ends(first, one);
    first
        .query("select pg_advisory_unlock(4294967303)")
        .unwrap();
    ends(second, two);
    assert!(rows(looker, seen).is_empty());
    assert_eq!(rows(looker, locks), [format!("{s}|1|7|1|ShareLock|t")]);
}

/// Goal: who waits, and who is waited for, are of one database, also where another has sessions and locks of the same numbers; who
/// looks may be anywhere.
#[test]
fn databases_do_not_mix_who_waits() {
    let (_dir, db) = open_by(Engine::Direct, "create table t (id int primary key)");
    let mut looker = db.client().unwrap();
    let names = ["one", "two", "three"];
    for name in names {
        looker.query(&format!("create database {name}")).unwrap();
    }
    // In each database the first session holds and the second waits.
    let mut pairs = names.map(|name| {
        let there = db.named(name).unwrap();
        [(); 2].map(|()| there.client().unwrap())
    });
    let pids = pairs.each_mut().map(|pair| pair.each_mut().map(number));
    for [holder, _] in &mut pairs {
        holder.query("select pg_advisory_lock(1)").unwrap();
    }
    let waiting = pairs
        .each_mut()
        .map(|[_, waiter]| waits(waiter, "select pg_advisory_lock(1)"));
    let mut pairs_seen: Vec<String> = pids.iter().map(|[h, w]| format!("{w}|{h}")).collect();
    pairs_seen.sort();
    let seen = "select pid, waits_for from quintet_waits order by pid::text";
    let joined = "select w.pid, h.pid, datname from pg_locks w
                  join pg_locks h using (locktype, database, classid, objid, objsubid)
                  join pg_database d on d.oid = database
                  where locktype = 'advisory' and not w.granted and h.granted order by w.pid::text";
    assert_eq!(rows(&mut looker, seen), pairs_seen);
    let mut named: Vec<String> = pids
        .iter()
        .zip(names)
        .map(|([h, w], name)| format!("{w}|{h}|{name}"))
        .collect();
    named.sort();
    assert_eq!(rows(&mut looker, joined), named);
    for ([holder, _], [h, w]) in pairs.iter_mut().zip(pids) {
        let asked = format!("select pg_blocking_pids({w})");
        assert_eq!(rows(holder, &asked), [format!("{{{h}}}")]);
    }
    for ([holder, waiter], wait) in pairs.iter_mut().zip(waiting) {
        holder.query("select pg_advisory_unlock(1)").unwrap();
        ends(waiter, wait);
    }
    assert!(rows(&mut looker, seen).is_empty());
}

/// Goal: a conflict that the client is told of is counted with its row and with whom it met; so is a ring.
#[test]
fn refusals_and_rings_are_counted_by_their_rows() {
    let (_dir, db) = open_by(Engine::Direct, SCHEMA);
    let mut clients = [(); 3].map(|()| db.client().unwrap());
    let [one, two, looker] = &mut clients;
    let begin = "begin isolation level repeatable read; select n from account where id = 3";
    one.query(begin).unwrap();
    two.query("call add(3)").unwrap();
    let lost = one.query("update account set n = 1 where id = 3");
    assert_eq!(lost.unwrap_err().state, SqlState::SERIALIZATION_FAILURE);
    one.query("rollback").unwrap();
    let refused = "refused|account|id = 3|UPDATE|add|1|t";
    assert_eq!(rows(looker, CONTENTION), [refused]);
    // The same at the commit.
    let begin = "begin isolation level serializable; select n from account where id = 4;
                 update account set n = 1 where id = 5";
    one.query(begin).unwrap();
    two.query("call add(4)").unwrap();
    let lost = one.query("commit");
    assert_eq!(lost.unwrap_err().state, SqlState::SERIALIZATION_FAILURE);
    let at_commit = "refused|account|id = 4|UPDATE|add|1|t";
    let counted = rows(looker, CONTENTION);
    assert!(counted.iter().any(|line| line == at_commit), "{counted:?}");

    one.query("begin; update account set n = 1 where id = 1")
        .unwrap();
    two.query("begin; update account set n = 1 where id = 2")
        .unwrap();
    let pause = waits(one, "update account set n = 2 where id = 2");
    let ring = two.query("update account set n = 2 where id = 1");
    assert_eq!(ring.unwrap_err().state, SqlState::DEADLOCK_DETECTED);
    two.query("rollback").unwrap();
    ends(one, pause);
    one.query("rollback").unwrap();
    let counted = rows(looker, CONTENTION);
    let ring = "deadlock|account|id = 1|UPDATE|-|1|t";
    assert!(counted.iter().any(|line| line == ring), "{counted:?}");
}

/// Goal: keys are data: a role without rights sees that somebody waits, and not for what; nor may it forget.
#[test]
fn keys_are_for_those_who_may_see_them() {
    let (_dir, db) = open_by(Engine::Direct, SCHEMA);
    let mut clients = [(); 3].map(|()| db.client().unwrap());
    let [holder, waiter, looker] = &mut clients;
    looker
        .query("create role stranger; create role doctor in role pg_read_all_stats")
        .unwrap();
    holder
        .query("begin; update account set n = 9 where id = 1")
        .unwrap();
    let pause = waits(waiter, "call add(1)");
    let keys = "select coalesce(key, 'hidden'), relation from quintet_waits";
    for (role, expected) in [("stranger", "hidden|account"), ("doctor", "id = 1|account")] {
        looker.query(&format!("set role {role}")).unwrap();
        assert_eq!(rows(looker, keys), [expected]);
        let forget = looker.query("select quintet_contention_reset()");
        assert_eq!(forget.unwrap_err().state, SqlState::INSUFFICIENT_PRIVILEGE);
    }
    // Of whom a role is told goes back with the transaction that took it.
    for (before, within, expected) in [
        ("stranger", "quintet", "hidden|account"),
        ("quintet", "stranger", "id = 1|account"),
    ] {
        looker.query(&format!("set role {before}")).unwrap();
        let taken =
            format!("begin; set role {within}; select count(*) from quintet_waits; rollback");
        looker.query(&taken).unwrap();
        assert_eq!(rows(looker, keys), [expected], "{before}, {within}");
    }
    holder.query("rollback").unwrap();
    ends(waiter, pause);
}

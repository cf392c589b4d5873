//! What foreign keys promise to one session, and to the next: PostgreSQL's answers and messages.
//! Concurrency is in `anomalies/orphan_*.script`.

#![allow(clippy::unwrap_used)]

mod support;

use quintet_embed::{Client, Progress};
use support::{answer, open, reopen};

/// Runs a script of lines `statement -- expected`. What is expected: rows as `a|b, c|d`, a tag, or `ERROR state message` with the
/// detail behind ` / `; `-` is NULL, nothing at all is not looked at.
fn check(script: &str) {
    let (_dir, db) = open();
    run(&mut db.client().unwrap(), script);
}

fn run(client: &mut Client, script: &str) {
    for line in script
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
    {
        let (sql, expected) = line.split_once(" -- ").unwrap_or((line, ""));
        let found = match answer(client, sql) {
            Err(error) => {
                let detail = error.detail.as_deref().map(|detail| format!(" / {detail}"));
                let detail = detail.unwrap_or_default().replace('\n', " ");
                format!("ERROR {} {}{detail}", error.state, error.message)
            }
            Ok(found) => found,
        };
        match expected {
            "" => assert!(!found.starts_with("ERROR"), "{sql}\n  {found}"),
            expected => assert_eq!(found, expected, "{sql}"),
        }
    }
}

#[test]
fn rows_refer_to_what_is_there() {
    check(
        "create table p (id int primary key, name text)
        create table c (id int primary key, p int references p)
        insert into c values (1, 1) -- ERROR 23503 insert or update on table \"c\" violates foreign key constraint \"c_p_fkey\" / Key (p)=(1) is not present in table \"p\".
        insert into p values (1, 'a'), (2, 'b')
        insert into c values (1, 1), (2, null), (3, 2) -- INSERT 0 3
        insert into c values (4, 1), (5, 7) -- ERROR 23503 insert or update on table \"c\" violates foreign key constraint \"c_p_fkey\" / Key (p)=(7) is not present in table \"p\".
        update c set p = 9 where id = 2 -- ERROR 23503 insert or update on table \"c\" violates foreign key constraint \"c_p_fkey\" / Key (p)=(9) is not present in table \"p\".
        update c set p = 2 where id = 2 -- UPDATE 1
        update p set name = 'z' -- UPDATE 2
        delete from p where id = 1 -- ERROR 23503 update or delete on table \"p\" violates foreign key constraint \"c_p_fkey\" on table \"c\" / Key (id)=(1) is still referenced from table \"c\".
        update p set id = 5 where id = 1 -- ERROR 23503 update or delete on table \"p\" violates foreign key constraint \"c_p_fkey\" on table \"c\" / Key (id)=(1) is still referenced from table \"c\".
        update p set id = id -- UPDATE 2
        delete from c where p = 1 -- DELETE 1
        delete from p where id = 1 -- DELETE 1
        select id, p from c order by 1 -- 2|2, 3|2
        insert into c values (9, 3) on conflict do nothing -- ERROR 23503 insert or update on table \"c\" violates foreign key constraint \"c_p_fkey\" / Key (p)=(3) is not present in table \"p\".
        insert into c values (2, 2) on conflict (id) do update set p = 44 -- ERROR 23503 insert or update on table \"c\" violates foreign key constraint \"c_p_fkey\" / Key (p)=(44) is not present in table \"p\".",
    );
}

#[test]
fn actions_follow_deletes_and_updates() {
    check(
        "create table p (id int primary key, u int unique)
        create table cascades (id int primary key, p int references p on delete cascade on update cascade)
        create table nulls (id int primary key, p int references p on delete set null on update set null)
        create table defaults (id int primary key, p int default 9 references p on delete set default on update set default)
        create table below (id int primary key, c int references cascades on delete cascade)
        insert into p values (1, 10), (2, 20), (9, 90)
        insert into cascades values (1, 1), (2, 2)
        insert into nulls values (1, 1), (2, 2)
        insert into defaults values (1, 1), (2, 2)
        insert into below values (1, 1), (2, 2), (3, 1)
        delete from p where id = 1 -- DELETE 1
        select * from cascades -- 2|2
        select * from nulls order by 1 -- 1|-, 2|2
        select * from defaults order by 1 -- 1|9, 2|2
        select * from below -- 2|2
        update p set id = 3 where id = 2 -- UPDATE 1
        select * from cascades -- 2|3
        select * from nulls order by 1 -- 1|-, 2|-
        select * from defaults order by 1 -- 1|9, 2|9
        delete from p where id = 9 -- ERROR 23503 update or delete on table \"p\" violates foreign key constraint \"defaults_p_fkey\" on table \"defaults\" / Key (id)=(9) is still referenced from table \"defaults\".
        create table part (a int, b int, primary key (a, b))
        create table partly (id int primary key, a int not null, b int, foreign key (a, b) references part on delete set null (b))
        insert into part values (1, 1)
        insert into partly values (1, 1, 1)
        delete from part -- DELETE 1
        select * from partly -- 1|1|-",
    );
}

#[test]
fn tables_refer_to_themselves_and_in_circles() {
    check(
        "create table tree (id int primary key, up int references tree on delete cascade)
        insert into tree values (2, 1), (1, null), (3, 2), (4, 4) -- INSERT 0 4
        delete from tree where id = 1 -- DELETE 1
        select * from tree -- 4|4
        update tree set id = 5, up = 5 -- UPDATE 1
        delete from tree -- DELETE 1
        create table a (id int primary key, b int)
        create table b (id int primary key, a int references a on delete cascade)
        alter table a add constraint ab foreign key (b) references b on delete cascade
        insert into a values (1, null)
        insert into b values (1, 1)
        update a set b = 1
        delete from a -- DELETE 1
        select count(*) from b -- 0
        create table s (id int primary key, next int references s)
        insert into s values (1, 2), (2, 1) -- INSERT 0 2
        delete from s where id = 1 -- ERROR 23503 update or delete on table \"s\" violates foreign key constraint \"s_next_fkey\" on table \"s\" / Key (id)=(1) is still referenced from table \"s\".
        delete from s -- DELETE 2",
    );
}

#[test]
fn keys_of_several_columns_and_other_types() {
    check(
        "create table p (a bigint, b varchar(5), c int, primary key (a, b), unique (c, a))
        create table c (x text, y int, z smallint, foreign key (y, x) references p (a, b), foreign key (z, y) references p (c, a))
        insert into p values (1, 'x', 7)
        insert into c values ('x', 1, 7) -- INSERT 0 1
        insert into c values ('x', null, 8) -- INSERT 0 1
        insert into c values ('y', 1, null) -- ERROR 23503 insert or update on table \"c\" violates foreign key constraint \"c_y_x_fkey\" / Key (y, x)=(1, y) is not present in table \"p\".
        insert into c values ('x', 1, 8) -- ERROR 23503 insert or update on table \"c\" violates foreign key constraint \"c_z_y_fkey\" / Key (z, y)=(8, 1) is not present in table \"p\".
        create table full_match (x text, y int, foreign key (y, x) references p match full)
        insert into full_match values (null, 1) -- ERROR 23503 insert or update on table \"full_match\" violates foreign key constraint \"full_match_y_x_fkey\" / MATCH FULL does not allow mixing of null and nonnull key values.
        insert into full_match values (null, null), ('x', 1) -- INSERT 0 2
        delete from p -- ERROR 23503 update or delete on table \"p\" violates foreign key constraint \"c_y_x_fkey\" on table \"c\" / Key (a, b)=(1, x) is still referenced from table \"c\".",
    );
}

#[test]
fn what_a_key_needs_is_checked_when_it_is_made() {
    check(
        "create table p (id int primary key, n int, t text)
        create table c (id int, p int, t text)
        insert into p values (1, 1, 'a')
        insert into c values (1, 1, 'a'), (2, 5, 'b')
        alter table c add foreign key (p) references nothing -- ERROR 42P01 relation \"nothing\" does not exist
        alter table c add foreign key (p) references p (n) -- ERROR 42830 there is no unique constraint matching given keys for referenced table \"p\"
        alter table c add foreign key (p) references c -- ERROR 42704 there is no primary key for referenced table \"c\"
        alter table c add foreign key (t) references p -- ERROR 42804 foreign key constraint \"c_t_fkey\" cannot be implemented / Key columns \"t\" and \"id\" are of incompatible types: text and integer.
        alter table c add foreign key (id, p) references p (id) -- ERROR 42830 number of referencing and referenced columns for foreign key disagree
        alter table c add foreign key (q) references p -- ERROR 42703 column \"q\" referenced in foreign key constraint does not exist
        alter table c add foreign key (p) references p -- ERROR 23503 insert or update on table \"c\" violates foreign key constraint \"c_p_fkey\" / Key (p)=(5) is not present in table \"p\".
        alter table c add constraint later foreign key (p) references p not valid
        insert into c values (3, 6, '') -- ERROR 23503 insert or update on table \"c\" violates foreign key constraint \"later\" / Key (p)=(6) is not present in table \"p\".
        alter table c validate constraint later -- ERROR 23503 insert or update on table \"c\" violates foreign key constraint \"later\" / Key (p)=(5) is not present in table \"p\".
        delete from c where p = 5
        alter table c validate constraint later
        alter table c add constraint later check (id > 0) -- ERROR 42710 constraint \"later\" for relation \"c\" already exists
        alter table c rename constraint later to now
        delete from p -- ERROR 23503 update or delete on table \"p\" violates foreign key constraint \"now\" on table \"c\" / Key (id)=(1) is still referenced from table \"c\".
        alter table c alter p type bigint
        delete from p -- ERROR 23503 update or delete on table \"p\" violates foreign key constraint \"now\" on table \"c\" / Key (id)=(1) is still referenced from table \"c\".
        alter table c alter p type text -- ERROR 42804 foreign key constraint \"now\" cannot be implemented
        alter table c drop constraint now
        delete from p -- DELETE 1",
    );
}

#[test]
fn what_others_refer_to_is_not_dropped() {
    check(
        "create table p (id int primary key, u int constraint pu unique)
        create table c (a int references p, b int references p (u))
        drop table p -- ERROR 2BP01 cannot drop table p because other objects depend on it / constraint c_a_fkey on table c depends on table p constraint c_b_fkey on table c depends on table p
        alter table p drop column u -- ERROR 2BP01 cannot drop column u of table p because other objects depend on it / constraint c_b_fkey on table c depends on column u of table p
        alter table p drop constraint pu -- ERROR 2BP01 cannot drop constraint pu on table p because other objects depend on it / constraint c_b_fkey on table c depends on index pu
        truncate p -- ERROR 0A000 cannot truncate a table referenced in a foreign key constraint / Table \"c\" references \"p\".
        insert into p values (1, 1)
        insert into c values (1, 1)
        truncate p cascade -- TRUNCATE TABLE
        select count(*) from c -- 0
        truncate p, c -- TRUNCATE TABLE
        alter table p drop constraint pu cascade
        insert into c values (null, 5) -- INSERT 0 1
        drop table p cascade -- DROP TABLE
        insert into c values (5, 5) -- INSERT 0 1
        create table p (id int primary key)
        create table d (a int references p)
        drop table p, d -- DROP TABLE",
    );
}

#[test]
fn checks_may_wait_for_the_commit() {
    check(
        "create table p (id int primary key)
        create table c (id int primary key, p int references p deferrable initially deferred, q int references p deferrable)
        begin
        insert into c values (1, 1, null) -- INSERT 0 1
        insert into p values (1)
        commit -- COMMIT
        begin
        insert into c values (2, 2, null) -- INSERT 0 1
        commit -- ERROR 23503 insert or update on table \"c\" violates foreign key constraint \"c_p_fkey\" / Key (p)=(2) is not present in table \"p\".
        select id from c -- 1
        insert into c values (3, 3, null) -- ERROR 23503 insert or update on table \"c\" violates foreign key constraint \"c_p_fkey\" / Key (p)=(3) is not present in table \"p\".
        begin
        delete from p -- DELETE 1
        insert into p values (1)
        commit -- COMMIT
        begin
        savepoint s
        insert into c values (4, 4, null)
        rollback to s
        commit -- COMMIT
        begin
        insert into c values (5, 5, null)
        delete from c where id = 5
        commit -- COMMIT
        begin
        insert into c values (6, null, 6) -- ERROR 23503 insert or update on table \"c\" violates foreign key constraint \"c_q_fkey\" / Key (q)=(6) is not present in table \"p\".
        rollback
        begin
        set constraints c_q_fkey deferred
        insert into c values (6, null, 6)
        set constraints all immediate -- ERROR 23503 insert or update on table \"c\" violates foreign key constraint \"c_q_fkey\" / Key (q)=(6) is not present in table \"p\".
        rollback
        begin
        insert into c values (8, 8, null)
        savepoint s
        insert into p values (8)
        set constraints all immediate
        rollback to s
        commit -- ERROR 23503 insert or update on table \"c\" violates foreign key constraint \"c_p_fkey\" / Key (p)=(8) is not present in table \"p\".
        begin
        insert into c values (8, 8, null)
        update c set id = 80 where id = 8
        commit -- ERROR 23503 insert or update on table \"c\" violates foreign key constraint \"c_p_fkey\" / Key (p)=(8) is not present in table \"p\".
        begin
        insert into c values (8, 8, null)
        update c set id = 80, p = 1 where id = 8
        delete from c where id = 80
        commit -- COMMIT
        begin
        insert into c values (8, 8, null)
        insert into p values (8)
        alter table c add column more int
        delete from c where id = 8
        delete from p where id = 8
        commit -- COMMIT
        set constraints nothing deferred -- ERROR 42704 constraint \"nothing\" does not exist
        alter table c alter constraint c_p_fkey not deferrable
        begin
        insert into c values (7, 7, null) -- ERROR 23503 insert or update on table \"c\" violates foreign key constraint \"c_p_fkey\" / Key (p)=(7) is not present in table \"p\".
        rollback",
    );
}

#[test]
fn routines_and_copies_are_checked() {
    check(
        "create table p (id int primary key)
        create table c (id int primary key, p int references p on delete cascade)
        create procedure add_child(i int, j int) language plpgsql as $$ begin insert into c values (i, j); end $$
        create procedure drop_parent(i int) language plpgsql as $$ begin delete from p where id = i; end $$
        call add_child(1, 1) -- ERROR 23503 insert or update on table \"c\" violates foreign key constraint \"c_p_fkey\" / Key (p)=(1) is not present in table \"p\".
        insert into p values (1), (2)
        call add_child(1, 1)
        call add_child(2, 2)
        call drop_parent(1)
        select * from c -- 2|2
        create function try_child(i int, j int) returns text language plpgsql as $$ begin insert into c values (i, j); return 'added'; exception when foreign_key_violation then return 'refused'; end $$
        select try_child(3, 2), try_child(4, 9) -- added|refused",
    );
}

/// Goal: a call in line or in a batch is checked as any other, and what is put off is checked when the call ends.
#[test]
fn calls_of_every_engine_are_checked() {
    for engine in ["direct", "chain", "queue"] {
        check(&format!(
            "set quintet.engine = {engine}
            create table p (id int primary key)
            create table c (id int primary key, p int references p, q int references p deferrable initially deferred)
            create procedure add_child(i int, j int, k int) language plpgsql as $$ begin insert into c values (i, j, k); end $$
            create procedure drop_parent(i int) language plpgsql as $$ begin delete from p where id = i; end $$
            insert into p values (1), (2)
            create procedure move_children(i int, j int, k int) language plpgsql as $$ begin update c set p = k where id between i and j; end $$
            create procedure move_child(i int, k int) language plpgsql as $$ begin update c set p = k where id = i; end $$
            call add_child(1, 1, 1)
            call move_children(1, 9, 3) -- ERROR 23503 insert or update on table \"c\" violates foreign key constraint \"c_p_fkey\" / Key (p)=(3) is not present in table \"p\".
            call move_child(1, 3) -- ERROR 23503 insert or update on table \"c\" violates foreign key constraint \"c_p_fkey\" / Key (p)=(3) is not present in table \"p\".
            call move_children(1, 9, 2)
            call move_child(1, 1)
            call add_child(2, 3, 1) -- ERROR 23503 insert or update on table \"c\" violates foreign key constraint \"c_p_fkey\" / Key (p)=(3) is not present in table \"p\".
            call add_child(2, 1, 3) -- ERROR 23503 insert or update on table \"c\" violates foreign key constraint \"c_q_fkey\" / Key (q)=(3) is not present in table \"p\".
            call drop_parent(1) -- ERROR 23503 update or delete on table \"p\" violates foreign key constraint \"c_p_fkey\" on table \"c\" / Key (id)=(1) is still referenced from table \"c\".
            call drop_parent(2)
            select count(*) from c -- 1"
        ));
    }
}

/// Goal: what is kept is read back, and holds.
#[test]
fn keys_are_there_after_reopening() {
    let (dir, db) = open();
    let mut client = db.client().unwrap();
    run(
        &mut client,
        "create table p (id int primary key)
        create table c (p int references p on delete set null)
        insert into p values (1)
        insert into c values (1)",
    );
    drop((client, db));
    let db = reopen(&dir);
    let mut client = db.client().unwrap();
    run(
        &mut client,
        "insert into c values (2) -- ERROR 23503 insert or update on table \"c\" violates foreign key constraint \"c_p_fkey\" / Key (p)=(2) is not present in table \"p\".
        delete from p -- DELETE 1
        select * from c -- -",
    );
}

/// Goal: a parent that many refer to stays free for updates of its other columns, at every level, and the other way round.
#[test]
fn a_hot_parent_is_not_in_the_way() {
    for level in ["read committed", "repeatable read", "serializable"] {
        let (_dir, db) = open();
        let (mut one, mut two) = (db.client().unwrap(), db.client().unwrap());
        run(
            &mut one,
            "create table p (id int primary key, hits int)
            create table c (id int primary key, p int references p)
            insert into p values (1, 0)",
        );
        run(&mut one, &format!("begin isolation level {level}"));
        run(&mut one, "insert into c values (1, 1) -- INSERT 0 1");
        // Would wait for ever if a check locked the row.
        run(&mut two, &format!("begin isolation level {level}"));
        run(&mut two, "update p set hits = hits + 1 -- UPDATE 1");
        run(&mut two, "insert into c values (2, 1) -- INSERT 0 1");
        run(&mut two, "commit -- COMMIT");
        run(&mut one, "insert into c values (3, 1) -- INSERT 0 1");
        run(&mut one, "commit -- COMMIT");
    }
}

/// Goal: whoever waits with a check at its commit can be cancelled, and lets go.
#[test]
fn a_late_check_that_waits_can_be_cancelled() {
    let (_dir, db) = open();
    let (mut one, mut two) = (db.client().unwrap(), db.client().unwrap());
    run(
        &mut one,
        "create table p (id int primary key)
        create table c (p int references p deferrable initially deferred)
        insert into p values (1)
        begin
        delete from p -- DELETE 1",
    );
    let waits = two.start("insert into c values (1)").unwrap();
    let Progress::Waiting(pause) = waits else {
        panic!("the parent is about to go");
    };
    two.session().cancel_handle().cancel();
    let error = two.resume().err().expect("it was cancelled");
    assert_eq!(error.state.as_str(), "57014");
    drop(pause);
    run(&mut one, "commit -- COMMIT");
    run(&mut two, "select count(*) from c -- 0");
}

/// Goal: waits inside a block's own commands end by a cancel request as those of statements do. Method: the parent
/// is about to go while a deferred check looks for it: at COMMIT, which a cancel request rolls back, and at SET
/// CONSTRAINTS, after which the block can only be left.
#[test]
fn a_commit_that_waits_for_a_parent_can_be_cancelled() {
    let (_dir, db) = open();
    let (mut one, mut two) = (db.client().unwrap(), db.client().unwrap());
    run(
        &mut one,
        "create table p (id int primary key)
        create table c (p int references p deferrable initially deferred)
        insert into p values (1)
        begin
        delete from p -- DELETE 1",
    );
    let after = [
        ("commit", "rollback -- ROLLBACK"),
        ("set constraints all immediate", "commit -- ROLLBACK"),
    ];
    for (command, end) in after {
        run(&mut two, "begin\ninsert into c values (1) -- INSERT 0 1");
        let Progress::Waiting(pause) = two.start(command).unwrap() else {
            panic!("{command}: the parent is about to go");
        };
        two.session().cancel_handle().cancel();
        let error = two.resume().err().expect("it was cancelled");
        assert_eq!(error.state.as_str(), "57014", "{command}");
        drop(pause);
        run(&mut two, end);
        // A request that came before a statement is not for it.
        two.session().cancel_handle().cancel();
        run(&mut two, "select count(*) from c -- 0");
    }
    run(&mut one, "rollback -- ROLLBACK");
    run(
        &mut two,
        "begin
        insert into c values (1)
        commit -- COMMIT
        select count(*) from c -- 1",
    );
}

/// Goal: what a trigger keeps back of a cascade is told at the commit, since then a row would refer to nothing; what is taken away before
/// then is no fault.
#[test]
fn a_cascade_that_a_trigger_keeps_back_is_told_at_the_commit() {
    let (_dir, db) = open();
    let mut one = db.client().unwrap();
    run(
        &mut one,
        "create table p (id int primary key)
        create table c (id int primary key, p int references p on delete cascade)
        create function keep() returns trigger language plpgsql as $$ begin return case when old.id = 1 then null else old end; end $$
        create trigger keep before delete on c for each row execute function keep()
        insert into p values (1), (2)
        insert into c values (1, 1), (2, 2)
        delete from p where id = 2 -- DELETE 1
        select * from c -- 1|1
        delete from p -- ERROR 23503 update or delete on table \"p\" violates foreign key constraint \"c_p_fkey\" on table \"c\" / Key (id)=(1) is still referenced from table \"c\".
        select * from c -- 1|1
        begin
        delete from p -- DELETE 1
        update c set p = null -- UPDATE 1
        commit -- COMMIT
        select * from c -- 1|-",
    );
}

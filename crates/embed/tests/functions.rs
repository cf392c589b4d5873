//! What functions of the catalogue promise where they are called in expressions and in FROM: they run in
//! their statement's transaction, as often as they are reached, and are undone with it.

#![allow(clippy::unwrap_used)]

mod support;

use quintet_base::SqlState;
use quintet_embed::{Client, Progress};
use support::{error, open_with, rows};

/// `note(what, x)` leaves a row behind and gives `x` back; `bump(k)` counts in a row of `u`.
const SETUP: &str = "
    create table t (id int primary key, v int);
    create table u (id int primary key, v int not null);
    create table log (id serial primary key, what text);
    insert into t values (1, 10), (2, 20), (3, 30);
    insert into u values (1, 0), (2, 0), (3, 0);
    create function note(what text, x int) returns int language plpgsql as $$
    begin
      insert into log (what) values (what || x);
      return x;
    end $$;
    create function bump(k int) returns int language plpgsql as $$
    declare
      now_is int;
    begin
      raise notice 'bump %', k;
      update u set v = v + 1 where id = k returning v into now_is;
      return now_is;
    end $$;
    create function numbers(n int) returns setof int language plpgsql as $$
    begin
      for i in 1 .. n loop
        return next i;
      end loop;
    end $$";

fn log(client: &mut Client) -> String {
    rows(client, "select what from log order by id").join(" ")
}

#[test]
fn a_function_is_called_for_each_row_that_its_place_is_reached_for() {
    let (_dir, db) = open_with(SETUP);
    let mut c = db.client().unwrap();
    let each = [
        ("select note('s', id) from t order by id", "s1 s2 s3"),
        (
            "select 1 from t where v > 10 and note('w', id) > 0",
            "w2 w3",
        ),
        ("select sum(note('a', id)) from t", "a1 a2 a3"),
        ("select note('g', 7) from t group by 1", "g7 g7 g7"),
        ("select count(*) from t having note('h', 1) > 0", "h1"),
        (
            "select id, note('o', -id) as k from t order by k",
            "o-1 o-2 o-3",
        ),
        ("select note('l', id) from t order by id limit 1", "l1"),
        ("values (note('v', 1)), (note('v', 2))", "v1 v2"),
        ("select case id when 2 then note('c', id) end from t", "c2"),
        ("select coalesce(nullif(id, 2), note('n', id)) from t", "n2"),
        (
            "select id from t where id = 3 or note('r', id) = 0",
            "r1 r2",
        ),
        ("select note('i', note('j', 1) + 1)", "j1 i2"),
        ("select (select note('q', 5)) from t", "q5"),
        (
            "insert into u values (note('k', 9), 0), (note('k', 8), 0)",
            "k9 k8",
        ),
        ("update t set v = note('u', v) where id < 3", "u10 u20"),
        ("delete from u where note('d', id) = 9 and id > 3", "d8 d9"),
        (
            "insert into u values (8, note('x', 1)) on conflict (id) do update \
             set v = note('y', excluded.v) returning note('z', v)",
            "x1 y1 z1",
        ),
        ("select * from numbers(note('m', 2)) a, numbers(a) b", "m2"),
    ];
    for (sql, expected) in each {
        c.query("delete from log").unwrap();
        c.query(sql)
            .unwrap_or_else(|error| panic!("{sql}: {error}"));
        assert_eq!(log(&mut c), expected, "{sql}");
    }
}

#[test]
fn a_statement_does_not_meet_what_its_functions_write() {
    let (_dir, db) = open_with(SETUP);
    let mut c = db.client().unwrap();
    c.query(
        "create function add(k int) returns int language plpgsql as $$
         begin insert into t values (k + 1000, 0); return k; end $$",
    )
    .unwrap();
    // More rows of the transaction's own than a scan reads ahead; what is added stands behind them.
    c.query("delete from t; begin; insert into t select i, 0 from generate_series(1, 300) i")
        .unwrap();
    let called = "select count(*) from (select add(id) as x from t) q";
    assert_eq!(rows(&mut c, called), ["300"]);
    assert_eq!(rows(&mut c, "select count(*) from t"), ["600"]);
    let called = "select count(*) from t where id > 1000 and add(id) > 0";
    assert_eq!(rows(&mut c, called), ["300"]);
    let called = c.query("update t set v = add(id + 1000) where id > 2000");
    assert_eq!(called.unwrap()[0].tag, "UPDATE 300");
    let called = c.query("delete from t where id > 4000 and add(id) > 0");
    assert_eq!(called.unwrap()[0].tag, "DELETE 300");
    assert_eq!(
        rows(&mut c, "select count(*), sum(v) from t where id > 2000"),
        ["600|945150"]
    );
    c.query("commit").unwrap();
}

/// A function waits for a row in the midst of a query: the query is undone and run again, so that
/// everything in it has happened once when it is over, messages included.
#[test]
fn a_function_that_waits_has_run_once_when_the_statement_is_over() {
    let (_dir, db) = open_with(SETUP);
    let mut one = db.client().unwrap();
    for sql in [
        "select id, bump(id) from t order by id",
        "update t set v = bump(id)",
        "insert into t select id + 10, bump(id) from u order by id",
        "select b from t, lateral bump_rows(t.id) b",
        "select case when bump(3) > 0 then (select max(bump(id)) from t where id < 3) end",
    ] {
        let mut two = db.client().unwrap();
        one.query(
            "create or replace function bump_rows(k int) returns setof int language plpgsql as $$
             begin return next bump(k); end $$;
             delete from t where id > 3; update u set v = 0",
        )
        .unwrap();
        one.query("begin; update u set v = 100 where id = 2")
            .unwrap();
        let Progress::Waiting(pause) = two.start(sql).unwrap() else {
            panic!("{sql} must wait");
        };
        one.query("commit").unwrap();
        pause.wait();
        loop {
            match two.resume().unwrap() {
                Progress::Done(_) => break,
                Progress::Waiting(pause) => pause.wait(),
            }
        }
        assert_eq!(
            rows(&mut one, "select v from u order by id"),
            ["1", "101", "1"],
            "{sql}"
        );
        let mut said: Vec<String> = two
            .session()
            .take_notices()
            .into_iter()
            .map(|notice| notice.message.into_told().message)
            .collect();
        said.sort();
        assert_eq!(said, ["bump 1", "bump 2", "bump 3"], "{sql}");
    }
}

#[test]
fn an_error_in_a_function_undoes_the_statement_and_a_handler_only_its_block() {
    let (_dir, db) = open_with(SETUP);
    let mut c = db.client().unwrap();
    c.query(
        "create function third(k int) returns int language plpgsql as $$
         begin
           perform bump(k);
           if k = 3 then raise exception 'third' using errcode = 'P0007'; end if;
           return k;
         end $$;
         create function careful(k int) returns int language plpgsql as $$
         begin
           return third(k);
         exception when others then
           return -1;
         end $$",
    )
    .unwrap();
    let failed = error(&mut c, "select third(id) from t");
    assert_eq!(
        (failed.message.as_str(), failed.state),
        ("third", SqlState(*b"P0007"))
    );
    assert_eq!(rows(&mut c, "select sum(v) from u"), ["0"]);
    assert_eq!(
        rows(&mut c, "select careful(id) from t order by id"),
        ["1", "2", "-1"]
    );
    assert_eq!(rows(&mut c, "select v from u order by id"), ["1", "1", "0"]);
}

#[test]
fn a_read_only_transaction_refuses_what_a_function_writes_by_its_name() {
    let (_dir, db) = open_with(SETUP);
    let mut c = db.client().unwrap();
    let reads = "create function seen() returns bigint language sql as 'select count(*) from t'";
    c.query(reads).unwrap();
    for sql in [
        "select bump(1)",
        "select bump(id) from t",
        "select case when true then bump(1) end",
        "select 1 from t where bump(id) > 0",
    ] {
        c.query("begin read only").unwrap();
        assert_eq!(
            rows(&mut c, "select seen(), seen() from u"),
            ["3|3", "3|3", "3|3"]
        );
        let refused = error(&mut c, sql);
        assert_eq!(refused.state, SqlState::READ_ONLY_SQL_TRANSACTION, "{sql}");
        assert_eq!(
            refused.message,
            "cannot execute UPDATE in a read-only transaction"
        );
        c.query("rollback").unwrap();
    }
}

/// Functions that call one another in queries take the thread's stack; an expression without FROM does
/// not, and may go deeper.
#[test]
fn recursion_through_queries_ends_in_an_error_and_not_in_the_stack() {
    let (_dir, db) = open_with(SETUP);
    let mut c = db.client().unwrap();
    c.query(
        "create function down(n int) returns int language plpgsql as $$
         declare r int;
         begin
           if n = 0 then return 0; end if;
           select max(x.s) into r from (
             select t.id, coalesce(nullif(greatest(1, 1 + coalesce(down(n - 1), 0)), -1), 0) as s
             from t join u on u.id = t.id where t.id = 1 order by t.id limit 3) x
           group by x.id having max(x.s) >= 0 order by 1 limit 1;
           return r;
         end $$;
         create function steps(n int) returns int language plpgsql as $$
         begin
           if n = 0 then return 0; end if;
           return 1 + steps(n - 1);
         end $$;
         create function down_rows(n int) returns setof int language plpgsql as $$
         begin
           if n > 0 then return query select r + 1 from down_rows(n - 1) r; end if;
           return next 0;
         end $$",
    )
    .unwrap();
    assert_eq!(rows(&mut c, "select down(4) from u where id = 1"), ["4"]);
    assert_eq!(rows(&mut c, "select count(*) from down_rows(4)"), ["5"]);
    assert_eq!(rows(&mut c, "select steps(500)"), ["500"]);
    for sql in ["select down(1000)", "select count(*) from down_rows(1000)"] {
        assert_eq!(error(&mut c, sql).state, SqlState::STATEMENT_TOO_COMPLEX);
        assert_eq!(rows(&mut c, "select 1"), ["1"]);
    }
}

/// What a query keeps of one function counts while another runs inside it.
#[test]
fn the_memory_of_a_statement_and_of_its_functions_is_one() {
    let (_dir, db) = open_with(SETUP);
    let mut c = db.client().unwrap();
    c.query(
        "create function large(n int) returns setof text language plpgsql as $$
         begin
           for i in 1 .. n loop
             return next repeat('x', 1000000);
           end loop;
         end $$",
    )
    .unwrap();
    assert_eq!(rows(&mut c, "select count(*) from large(150)"), ["150"]);
    for sql in [
        "select count(*) from large(150) a, large(150) b",
        "select count(*) from large(300)",
    ] {
        assert_eq!(error(&mut c, sql).state, SqlState::OUT_OF_MEMORY, "{sql}");
    }
}

#[test]
fn arguments_of_call_may_call_functions() {
    let (_dir, db) = open_with(SETUP);
    let mut c = db.client().unwrap();
    c.query(
        "create procedure keep(k int, inout x int) language plpgsql as $$
         begin insert into t values (k, x); x := x + 1; end $$;
         create procedure keep_twice() language plpgsql as $$
         declare r int := 1;
         begin
           call keep(note('b', 51), r);
           call keep(coalesce(null, note('c', 52)), r);
           raise notice '%', r;
         end $$",
    )
    .unwrap();
    assert_eq!(
        rows(&mut c, "call keep(note('a', 50), note('x', 2) + 1)"),
        ["4"]
    );
    c.query("call keep_twice()").unwrap();
    assert_eq!(
        rows(&mut c, "select * from t where id > 3 order by id"),
        ["50|3", "51|1", "52|2"]
    );
    assert_eq!(log(&mut c), "a50 x2 b51 c52");
}

#[test]
fn domains_and_limits_call_no_functions() {
    let (_dir, db) = open_with(SETUP);
    let mut c = db.client().unwrap();
    for sql in [
        "create domain d as int check (note('d', value) > 0)",
        "select id from t limit note('l', 1)",
        "select id + numbers(2), numbers(2) from t",
    ] {
        let refused = error(&mut c, sql);
        assert_eq!(refused.state, SqlState::FEATURE_NOT_SUPPORTED, "{sql}");
    }
}

#[test]
fn explain_names_the_function() {
    let (_dir, db) = open_with(SETUP);
    let mut c = db.client().unwrap();
    let plan = rows(
        &mut c,
        "explain select * from numbers(2) n, t where t.id = n",
    );
    assert!(
        plan.iter()
            .any(|line| line.contains("Function Scan on numbers")),
        "{plan:?}"
    );
    let plan = rows(&mut c, "explain select id from t where note('e', id) > 0");
    assert!(
        plan.iter()
            .any(|line| line.trim() == "Filter: (note('e'::text, id) > 0)"),
        "{plan:?}"
    );
}

/// Goal: an index that an array cannot have fails the assignment, and changes nothing. Random programs
/// found the variable empty in the handler.
#[test]
fn a_refused_subscript_leaves_the_array_as_it_was() {
    let (_dir, db) = open_with(SETUP);
    let mut client = db.client().unwrap();
    client
        .query(
            "create function refused() returns int[] language plpgsql as $$
             declare
               a int[] := array[1, 2];
             begin
               begin
                 a[2000000000] := 4;
               exception when program_limit_exceeded then
                 a[2] := 5;
               end;
               return a;
             end $$",
        )
        .unwrap();
    assert_eq!(rows(&mut client, "select refused()"), ["{1,5}"]);
}

/// Goal: a strict function looks at its arguments when it is called, and never again. One that began with
/// a loop did so at each turn.
#[test]
fn a_strict_function_may_forget_its_argument() {
    let (_dir, db) = open_with(SETUP);
    let mut client = db.client().unwrap();
    client
        .query(
            "create function forgets(n int) returns int strict language plpgsql as $$
             begin
               loop
                 exit when n is null;
                 n := null;
               end loop;
               return 7;
             end $$",
        )
        .unwrap();
    assert_eq!(rows(&mut client, "select forgets(1)"), ["7"]);
    assert_eq!(rows(&mut client, "select forgets(null)"), ["-"]);
}

/// Goal: a query that locks, or calls, is read no further than INTO must know: one row is locked, one call
/// made, and ROW_COUNT says so. Random programs found the count of all rows.
#[test]
fn into_reads_one_row_of_a_query_that_calls() {
    let (_dir, db) = open_with(SETUP);
    let mut client = db.client().unwrap();
    client
        .query(
            "create function first_of_all() returns text language plpgsql as $$
             declare
               x int;
               n bigint;
             begin
               select note('seen ', id) into x from t order by id;
               get diagnostics n = row_count;
               perform note('kept ', id) from t where id < 3;
               select v into x from t order by id for update;
               get diagnostics n = row_count;
               return x || ' of ' || n;
             end $$",
        )
        .unwrap();
    assert_eq!(rows(&mut client, "select first_of_all()"), ["10 of 1"]);
    assert_eq!(log(&mut client), "seen 1 kept 1 kept 2");
}

/// Goal: a row that a function changed is not changed by the statement that calls it, too: the index entry that
/// the function made would stay behind, and lead to a row that is another by then.
#[test]
fn a_statement_refuses_rows_that_its_functions_changed() {
    let (_dir, db) = open_with(SETUP);
    let mut client = db.client().unwrap();
    client
        .query(
            "create index t_v on t (v);
             create function raises(k int) returns int language plpgsql as $$
             begin
               update t set v = v + 1 where id = k;
               return 100;
             end $$",
        )
        .unwrap();
    for statement in [
        "update t set v = raises(id) where id = 1",
        "delete from t where raises(id) > 0",
    ] {
        let error = error(&mut client, statement);
        assert_eq!(
            error.state,
            SqlState::TRIGGERED_DATA_CHANGE_VIOLATION,
            "{statement}"
        );
    }
    assert!(rows(&mut client, "select * from t where v = 11").is_empty());
    assert_eq!(rows(&mut client, "select * from t where v = 10"), ["1|10"]);
    // Another row than the one that the function changes.
    assert_eq!(
        rows(
            &mut client,
            "update t set v = raises(2) where id = 1 returning v"
        ),
        ["100"]
    );
    assert_eq!(rows(&mut client, "select * from t where v = 21"), ["2|21"]);
}

/// The executor leaves away what nobody looks at; nobody may notice.
#[test]
fn a_variable_that_nobody_looks_at_is_filled_as_far_as_anybody_can_tell() {
    let (_dir, db) = open_with(SETUP);
    let mut client = db.client().unwrap();
    client
        .query(
            "create table w (id int primary key, a int, b text, c int);
             insert into w values (1, 5, 'five', null), (2, 0, 'nothing', 1);
             create function seen(k int, out result text) language plpgsql as $$
             declare
               unused_a int; unused_b text; used text; n int;
             begin
               select a, b, b, c into unused_a, unused_b, used, n from w where id = k;
               result := used || coalesce(n::text, '?');
               if not found then result := 'none'; end if;
             end $$;
             create function fails(k int) returns int language plpgsql as $$
             declare
               unused int;
             begin
               select 10 / a into unused from w where id = k;
               return 1;
             end $$;
             create function refuses(k int) returns int language plpgsql as $$
             declare
               unused int not null := 0;
             begin
               select c into unused from w where id = k;
               return 1;
             end $$;
             create function changes(k int, out was text, out rows int) language plpgsql as $$
             declare
               unused int;
             begin
               update w set a = a + 1 where id = k returning c, b into strict unused, was;
               get diagnostics rows = row_count;
             end $$",
        )
        .unwrap();
    assert_eq!(
        rows(&mut client, "select seen(1), seen(2), seen(3)"),
        ["five?|nothing1|none"]
    );
    assert_eq!(rows(&mut client, "select fails(1)"), ["1"]);
    assert_eq!(
        error(&mut client, "select fails(2)").state,
        SqlState::DIVISION_BY_ZERO
    );
    assert_eq!(rows(&mut client, "select refuses(2)"), ["1"]);
    assert_eq!(
        error(&mut client, "select refuses(1)").state,
        SqlState::NULL_VALUE_NOT_ALLOWED
    );
    assert_eq!(rows(&mut client, "select * from changes(1)"), ["five|1"]);
    assert_eq!(rows(&mut client, "select a from w where id = 1"), ["6"]);
    assert_eq!(
        error(&mut client, "select * from changes(3)").state,
        SqlState::STRICT_NO_ROW
    );
}

/// A function that is declared with a column's type is read with the table that is there. Without one it can still be dropped.
#[test]
fn a_function_of_a_column_that_is_gone_can_be_dropped_by_its_name() {
    let (_dir, db) = open_with(
        "create table z (v int);
         create function f(x z.v%type) returns int language sql as $$ select x + 1 $$;
         create function f() returns int language sql as $$ select 1 $$",
    );
    let mut c = db.client().unwrap();
    assert_eq!(rows(&mut c, "select f(1)"), ["2"]);
    c.query("drop table z").unwrap();
    assert_eq!(
        error(&mut c, "select f(1)").state,
        SqlState::UNDEFINED_TABLE
    );
    assert_eq!(
        error(&mut c, "drop function f(int)").state,
        SqlState::UNDEFINED_TABLE
    );
    // Which of the two is meant, nobody can tell.
    assert_eq!(
        error(&mut c, "drop function f").state,
        SqlState::AMBIGUOUS_FUNCTION
    );
    c.query("drop function f()").unwrap();
    c.query("drop function f").unwrap();
    assert_eq!(
        error(&mut c, "drop function f").state,
        SqlState::UNDEFINED_FUNCTION
    );
}

/// Goal: rows of statements stay apart, also where there are more of them than places for their rows (`ir::code`). Method: texts, numbers and
/// integers in turn, read and changed, twice over.
#[test]
fn a_routine_of_very_many_statements_keeps_their_rows_apart() {
    const STATEMENTS: usize = 400;
    const ROWS: usize = 20;
    let statement = |n: usize| {
        let id = n % ROWS;
        match n % 4 {
            0 => {
                format!("select word, id into w, i from t where id = {id}; said := said || w || i;")
            }
            1 => format!(
                "select id, word, amount into i, w, a from t where id = {id}; total := total + a; said := said || w;"
            ),
            2 => format!(
                "update t set seen = seen + 1 where id = {id} returning seen, word into i, w; said := said || w;"
            ),
            _ => format!("select amount into a from t where id = {id}; total := total + a;"),
        }
    };
    let statements: String = (0..STATEMENTS).map(statement).collect();
    let (_dir, db) = open_with(&format!(
        "create table t (id int primary key, word text, amount numeric(6, 2), seen int default 0);
         insert into t select n, repeat(chr(97 + n), n * 3), n + 0.25 from generate_series(0, {}) n;
         create function all_of_it(out said text, out total numeric) language plpgsql as $$
         declare w text; i int; a numeric; begin said := ''; total := 0; {statements} end $$",
        ROWS - 1
    ));
    let mut c = db.client().unwrap();
    let (mut said, mut quarters) = (String::new(), 0);
    for n in 0..STATEMENTS {
        let id = n % ROWS;
        let word = char::from(b'a' + id as u8).to_string().repeat(id * 3);
        match n % 4 {
            0 => said += &format!("{word}{id}"),
            1 | 2 => said += &word,
            _ => {}
        }
        if n % 2 == 1 {
            quarters += 4 * id + 1;
        }
    }
    let expected = format!("{said}|{}.{:02}", quarters / 4, quarters % 4 * 25);
    for _ in 0..2 {
        assert_eq!(rows(&mut c, "select * from all_of_it()"), [&*expected]);
    }
    let seen = "select sum(seen), max(seen) from t";
    let each = STATEMENTS / 4 * 2;
    assert_eq!(
        rows(&mut c, seen),
        [format!("{each}|{}", each / (ROWS / 4))]
    );
}

//! Statements that nest deeply, on threads with the stacks that threads have: at the bound they are answered, beyond it refused,
//! and what keeps them comes back after reopening.

#![allow(clippy::unwrap_used)]

mod support;

use quintet_base::SqlState;
use support::{open, reopen, rows, state};

const AT: usize = 2_400;
const BEYOND: usize = 20_000;

fn shapes(n: usize) -> [String; 8] {
    [
        format!("select 1{}", " + 1".repeat(n)),
        format!("select length('a'{})", " || 'b'".repeat(n)),
        format!("select {}true", "not ".repeat(n)),
        format!("select {}1{}", "abs(".repeat(n), ")".repeat(n)),
        format!(
            "select {}1{}",
            "case when false then 0 else ".repeat(n / 2),
            " end".repeat(n / 2)
        ),
        format!(
            "select {}1{}",
            "(select ".repeat(n / 30),
            ")".repeat(n / 30)
        ),
        format!(
            "select count(*) from (select 1{}) s",
            " union all select 1".repeat(n)
        ),
        format!("explain select 1{}", " + 1".repeat(n)),
    ]
}

#[test]
fn deep_statements_are_answered_or_refused() {
    let (_dir, db) = open();
    let mut c = db.client().unwrap();
    for text in shapes(AT) {
        c.query(&text).unwrap();
        c.query(&text).unwrap();
    }
    for text in shapes(BEYOND) {
        let state = state(&mut c, &text);
        // The grammar's own stack has an end, too.
        let refused = [SqlState::STATEMENT_TOO_COMPLEX, SqlState::SYNTAX_ERROR];
        assert!(refused.contains(&state), "{state:?} {}", &text[..40]);
    }
    // Written out twice at each level.
    let twice = [
        ("nullif(", ", 2)", 100),
        ("case ", " when 1 then 1 else 2 end", 100),
    ];
    for (open, close, n) in twice {
        let text = format!("select {}1{}", open.repeat(n), close.repeat(n));
        assert_eq!(rows(&mut c, &text), ["1"]);
    }
    let rows_in_rows = format!("select {}1{}", "row(".repeat(60), ", 2)".repeat(60));
    assert_eq!(
        state(&mut c, &rows_in_rows),
        SqlState::STATEMENT_TOO_COMPLEX
    );
}

#[test]
fn deep_definitions_come_back() {
    let (dir, db) = open();
    let mut c = db.client().unwrap();
    let more = " + 1".repeat(1_000);
    let definitions = [
        format!(
            "create table t (a int primary key, b int default 1{more}, c int check (c{more} > 0),
             d int generated always as (a{more}) stored)"
        ),
        format!("create view v as select a{more} as x from t"),
        format!("create function f(a int) returns int language sql as $$ select a{more} $$"),
        format!(
            "create function g(a int) returns int language plpgsql as $$ begin return a{more}; end $$"
        ),
    ];
    for text in &definitions {
        c.query(text).unwrap();
    }
    c.query("insert into t (a, c) values (1, 1)").unwrap();
    let questions = [
        ("select a, b, c, d from t", "1|1001|1|1001"),
        ("select x from v", "1001"),
        ("select f(1)", "1001"),
        ("select g(1)", "1001"),
    ];
    // Each is the first deep one that its process, or its thread, sees.
    drop(c);
    let mut db = db;
    for (question, answer) in questions {
        db.close().unwrap();
        drop(db);
        db = reopen(&dir);
        std::thread::scope(|scope| {
            let asked = scope.spawn(|| {
                let mut c = db.client().unwrap();
                assert_eq!(rows(&mut c, question), [answer], "{question}");
            });
            asked.join().unwrap();
        });
    }
    let mut c = db.client().unwrap();
    assert_eq!(
        state(&mut c, "insert into t (a, c) values (2, -1001)"),
        SqlState::CHECK_VIOLATION
    );
}

/// Each view is as deep as a statement may be, and they stand in one another.
#[test]
fn views_do_not_add_up_beyond_the_bound() {
    let (_dir, db) = open();
    let mut c = db.client().unwrap();
    c.query("create view v0 as select 1 as x").unwrap();
    let more = " + 1".repeat(1_500);
    for n in 1..8 {
        let text = format!("create view v{n} as select x{more} as x from v{}", n - 1);
        if c.query(&text).is_err() {
            assert_eq!(state(&mut c, &text), SqlState::STATEMENT_TOO_COMPLEX);
            break;
        }
        let text = format!("select * from v{n}");
        let answer = rows(&mut c, &text);
        assert_eq!(answer, [(1 + 1_500 * n).to_string()]);
    }
    c.query("create view w0 as select 1 as x").unwrap();
    for n in 1..120 {
        let text = format!("create view w{n} as select x + 1 as x from w{}", n - 1);
        c.query(&text).unwrap();
    }
    assert_eq!(rows(&mut c, "select * from w119"), ["120"]);
}

/// Each level of quotes within quotes takes twice the bytes of the one within it.
#[test]
fn what_is_quoted_forty_times_is_refused_before_it_takes_the_memory() {
    let (_dir, db) = open();
    let mut c = db.client().unwrap();
    for (opening, closing) in [("array[(", ")::text]"), ("row((", ")::text)")] {
        let deep = |n: usize| {
            format!(
                "select ({}'\"'{})::text",
                opening.repeat(n),
                closing.repeat(n)
            )
        };
        assert!(rows(&mut c, &deep(8))[0].len() > 256);
        let refused = state(&mut c, &deep(40));
        let expected = [
            SqlState::PROGRAM_LIMIT_EXCEEDED,
            SqlState::STATEMENT_TOO_COMPLEX,
        ];
        assert!(expected.contains(&refused), "{refused:?}");
    }
}

/// What is large is evaluated once where it is compared with several others, wherever that is.
#[test]
fn a_large_part_that_is_used_several_times_is_evaluated_wherever_it_stands() {
    let (_dir, db) = open();
    let mut c = db.client().unwrap();
    let (of_a, alone) = (
        format!("a{}", " + 1".repeat(300)),
        format!("1{}", " + 1".repeat(300)),
    );
    c.query(&format!(
        "create table t (a int check (nullif({of_a}, 3) > 0), b int default nullif({alone}, 3),
           c int generated always as (case {of_a} when 301 then 1 else 2 end) stored);
         create function f(a int) returns text language plpgsql as $$
         declare r record;
         begin
           if {of_a} between 5 and 1000 then
             select case {of_a} when 301 then 1 else 2 end as x, nullif({of_a}, 3) as y into r;
             return nullif({of_a}, 3) || ' ' || r.x || ' ' || r.y;
           end if;
           return 'outside';
         end $$;
         insert into t (a) values (1), (2)"
    ))
    .unwrap();
    assert_eq!(
        rows(&mut c, "select * from t order by a"),
        ["1|301|1", "2|301|2"]
    );
    assert_eq!(
        rows(&mut c, "select f(1), f(2), f(-300)"),
        ["301 1 301|302 2 302|outside"]
    );
    for index in [
        format!("((nullif({of_a}, 3)))"),
        format!("(a) where {of_a} between 1 and 1000"),
    ] {
        let sql = format!("create index on t {index}");
        assert_eq!(state(&mut c, &sql), SqlState::STATEMENT_TOO_COMPLEX);
    }
    // So is what is volatile.
    c.query("create sequence s").unwrap();
    let sql = "do $$ declare v int; begin v := nullif(nextval('s')::int, 3);
               raise notice '% %', nullif(nextval('s')::int, 7), case nextval('s') when 3 then 'three' end; end $$";
    c.query(sql).unwrap();
    assert_eq!(rows(&mut c, "select last_value from s"), ["3"]);
}

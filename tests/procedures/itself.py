"""The suite for procedures itself: where statements end, what answers look like, and that it can fail."""

import psycopg
from harness import Options, check, equal, server, test

from procedures.answers import complaints, difference, known_differences
from procedures.databases import closing
from procedures.refused import complaint, expectations
from procedures.script import Runner, as_text, shown, steps


def texts(script):
    return [step.text for step in steps(script)]


@test
def statements_end_where_psql_ends_them():
    equal(texts("select 1; select ';'; select 'it''s;' ;"), ["select 1", "select ';'", "select 'it''s;'"])
    equal(texts("select e'\\';'; select \"a;b\";"), ["select e'\\';'", 'select "a;b"'])
    equal(texts("do $$ ; $$; do $a$ $$;$$ $a$;"), ["do $$ ; $$", "do $a$ $$;$$ $a$"])
    equal(texts("select $1; select 2;"), ["select $1", "select 2"])
    equal(texts("-- a; b\nselect 1 -- c;\n; /* d; /* e; */ f; */ select 2;"), ["select 1 -- c;", "select 2"])
    equal(texts("create rule r as on insert to t do also (a; b); c;"), ["create rule r as on insert to t do also (a; b)", "c"])
    equal(texts("insert into t values (1) \\; select 1; x;"), ["insert into t values (1) ; select 1", "x"])
    atomic = "create or replace function f() returns int begin atomic select case 1 when 1 then 2 end; select 3; end"
    equal(texts(f"{atomic}; begin; end;"), [atomic, "begin", "end"])
    try:
        steps("select 1")
        raise AssertionError("a statement without an end was taken")
    except ValueError as error:
        check("no semicolon" in str(error), error)


@test
def comments_say_how_a_statement_is_run():
    first, second, third = steps("-- detail\nselect 1;\n-- binary: CALL p(%s) | 1\n-- either\n-- or not\nselect 2;")
    equal((first.text, first.how, first.detail, first.either), ("select 1", "plain", True, False))
    equal((second.text, second.how, second.detail), ("CALL p(%s) | 1", "binary", False))
    equal((third.text, third.detail, third.either), ("select 2", False, True))


@test
def values_cannot_be_mistaken():
    equal([shown(v) for v in (None, "NULL", "", " a", "a|b", "a\nb", "a b")], ["NULL", '"NULL"', '""', '" a"', '"a|b"', '"a\\nb"', "a b"])
    equal([as_text(v) for v in (True, 7, b"\x01", [1, None, [2]], None)], ["t", "7", "\\x01", "{1,NULL,{2}}", None])


@test
def answers_of_a_server_are_written_as_promised():
    script = """
        create table t (id int primary key, v varchar(5), n numeric(8,2));
        insert into t values (1, 'a', 1.5), (2, '', null);
        select * from t order by id;
        begin;
        select count(*) from t \\; select 1/0;
        select 1;
        rollback;
-- detail
        insert into t values (1);
-- prepared: select %s::int as a | 5
-- binary: select %s::int as a, %s::text as b | Int4(5) | 'x'
-- either
        select 1/0;
        select 5;
-- either
        select 1 as x;
        select 2 as x;
        drop table if exists nothing;
"""
    expected = """\
> create table t (id int primary key, v varchar(5), n numeric(8,2))
  CREATE TABLE
> insert into t values (1, 'a', 1.5), (2, '', null)
  INSERT 0 2
> select * from t order by id
  id integer | v character varying(5) | n numeric(8,2)
  1 | a | 1.50
  2 | "" | NULL
  SELECT 2
> begin
  BEGIN
  (in a transaction)
> select count(*) from t ; select 1/0
  count bigint
  2
  SELECT 1
  ERROR 22012 division by zero
  (in a failed transaction)
> select 1
  ERROR 25P02 current transaction is aborted, commands ignored until end of transaction block
  (in a failed transaction)
> rollback
  ROLLBACK
> insert into t values (1)
  ERROR 23505 duplicate key value violates unique constraint "t_pkey"
  DETAIL Key (id)=(1) already exists.
> prepared: select %s::int as a | 5
  a integer
  5
  SELECT 1
> binary: select %s::int as a, %s::text as b | Int4(5) | 'x'
  a integer binary | b text binary
  5 | x
  SELECT 1
> select 1/0 / select 5
  ERROR 22012 division by zero
> select 1 as x / select 2 as x
  x integer
  2
  SELECT 1
> drop table if exists nothing
  NOTICE 00000 table "nothing" does not exist, skipping
  DROP TABLE
"""
    with server() as s, s.connect() as connection:
        found = Runner(connection).run(script)
    equal(difference("it", expected, found), "")


@test
def a_server_that_ends_is_an_answer_too():
    if Options.reference:
        return  # PostgreSQL's processes outlive the first one for a moment.
    for last in ("select 2 as b;", "-- binary: select %s as b | 2"):
        with server() as s, closing(s.connect()) as connection:
            runner = Runner(connection)
            check("  SELECT 1" in runner.run("select 1 as a;"), "before")
            s.kill()
            found = runner.run(f"{last}\nselect 3;")
            check("\n  no answer: " in found and "select 3" not in found, found)


@test
def a_difference_is_seen_and_known_ones_are_exact():
    check("-  1\n+  2" in difference("a", "> x\n  1\n", "> x\n  2\n"), "the diff")
    known = known_differences("# why\n\na: not there yet\n")
    equal(known, {"a": "not there yet"})
    equal(complaints({"a"}, known, ["a", "b"]), [])
    equal(len(complaints({"a", "b"}, known, ["a", "b"])), 1)
    equal(len(complaints(set(), known, ["a", "b"])), 1)
    equal(complaints(set(), known, ["b"]), [])
    for wrong in ("a", "a: ", "a: x\na: y"):
        try:
            known_differences(wrong)
        except AssertionError:
            continue
        raise AssertionError(f"taken: {wrong}")


@test
def a_refusal_must_have_state_words_and_line():
    text = "create function f() returns void\nlanguage plpgsql as $$\nbegin\n  open c; -- refused: 0A000 OPEN\nend $$"
    expected = expectations(text)
    equal(expected, [("0A000", "OPEN", 3, 4)])
    equal(expectations("create function f() security definer -- refused: 0A000 SECURITY\nas '';"), [("0A000", "SECURITY", None, 1)])
    equal(expectations("select 1"), [])

    class Answer(psycopg.Error):
        def __init__(self, sqlstate, primary, hint=None, position=None):
            self.answer = (sqlstate, primary, hint, position)

        @property
        def diag(self):
            class Diagnostic:
                sqlstate, message_primary, message_hint, statement_position = self.answer
                message_detail = context = None

            return Diagnostic

    equal(complaint(text, expected, Answer("0A000", "OPEN is not supported (line 3)")), None)
    equal(complaint(text, expected, Answer("0A000", "OPEN is not supported", hint="See line 3.")), None)
    equal(complaint(text, expected, Answer("0A000", "open is not supported", position=str(text.index("open") + 1))), None)
    for wrong in (
        None,
        Answer("42601", "OPEN is not supported (line 3)"),
        Answer("0A000", "CLOSE is not supported (line 3)"),
        Answer("0A000", "OPEN is not supported (line 30)"),
        Answer("0A000", "OPEN is not supported", position="1"),
    ):
        check(complaint(text, expected, wrong), "no complaint about", wrong and wrong.answer)
    # One of several marks is enough.
    either = [*expected, ("0A000", "refcursor", 2, 3)]
    equal(complaint(text, either, Answer("0A000", "type refcursor is not supported (line 2)")), None)
    equal(complaint(text, either, Answer("0A000", "OPEN is not supported (line 3)")), None)
    check(complaint(text, either, Answer("0A000", "OPEN is not supported (line 2)")), "the words of one, the line of the other")
    equal(complaint("select 1", [], None), None)
    check(complaint("select 1", [], Answer("42601", "no")), "an error without a mark")

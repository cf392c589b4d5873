-- Strict functions of rows: a row of NULLs is none that is not there.
create table t (a int, b text)
insert into t values (1, 'x'), (2, null), (null, null)
create function f(r t) returns int strict language sql as 'select r.a'
create function g(r t) returns int strict language plpgsql as $$ begin return coalesce(r.a, -5); end $$
create function f2(r t, i int) returns int returns null on null input language sql as 'select r.a + i'
select f(t) from t order by a
select g(t) from t order by a
select f2(t, 1), f2(t, null) from t order by a
select f(null), g(null), g(row(null, null)), g(row(null, null)::t), f(row(3, 'q'))
select g(t) from (values (1)) v(x) left join t on t.a = 77
create type c as (x int, y int)
create function h(c) returns text strict language plpgsql as $$ begin return coalesce($1.x, 0) || '!'; end $$
select h(row(1, 2)), h(null), h(row(null, null)), h('(,)')
create function p(r t) returns setof int strict language sql as 'select r.a union all select 9'
select * from p(null)
select * from p(row(null, null))
select * from p(row(1, 'a'))
create function two(r t, out x int, q c, out y int) strict language plpgsql as $$ begin x := coalesce(r.a, 0); y := coalesce(q.y, 0); end $$
select * from two(row(1, 'a'), row(2, 3))
select * from two(row(1, 'a'), null)
select * from two(row(null, 'a'), row(null, null))
select two(null, row(2, 3))
create function m(r t) returns int strict immutable language plpgsql as $$ begin return coalesce(r.a, 0); end $$
create table u (v t)
insert into u values (null), (row(null, null)), (row(5, 'b'))
select m(v), v is null from u order by 1
select g((select t from t where a = 99))
select g((select t from t where a is null))
create table res (n int)
do $$ declare r t; begin insert into res values (g(r)); r.a := 4; insert into res values (g(r)); r := null; insert into res values (g(r)); end $$
select n from res
create view vv as select g(t) n from t
select * from vv order by n
select pg_get_function_arguments('two'::regproc), proisstrict from pg_proc where proname = 'two'
drop table t, u, res cascade
drop type c cascade

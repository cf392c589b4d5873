-- Volatile expressions that are used several times and evaluated once.
create sequence s
create table t (a int primary key, b text)
insert into t values (1, 'x'), (2, 'y'), (3, 'z')
create function k(i int) returns int language plpgsql as $$ begin perform nextval('s'); return i; end $$
select nullif(nextval('s'), 0), nextval('s')
select case nextval('s') when 1 then 'a' when 2 then 'b' when 3 then 'c' when 4 then 'd' else 'z' end, nextval('s')
select a, case k(a) when 1 then b when 2 then b || b else 'else' end from t order by a
select nextval('s')
select a, case k(a) + a when 1 then 'one' when 2 then case k(a) when 1 then 'inner' else b end when 4 then 'four' end from t order by a
select nextval('s')
select max(case k(a) when 1 then 1 when 2 then 20 when 3 then 3 end), nextval('s') from t group by case k(a % 2) when 0 then 'even' when 1 then 'odd' end order by 1
select nextval('s')
update t set b = case k(a) when 3 then 'three' when 2 then 'two' else b end where nullif(k(a), 2) is not null
select *, nextval('s') from t order by a
select count(*) from generate_series(1, 2000) where nullif(floor(random() * 2), 0) = 0
select count(*) from (select case floor(random() * 2)::int when 0 then 'a' when 1 then 'b' end as x from generate_series(1, 2000)) q where x is null
create function once(i int) returns text language plpgsql as $$ declare x text; begin x := case k(i) when 1 then 'one' when 2 then 'two' when 3 then 'three' end; return x || nullif(k(i), 7); end $$
select once(3), once(1), nextval('s')
-- Keys of sorts and windows.
select count(*) from (select r, lag(r) over () as before from (select random() as r from generate_series(1, 200) order by r) q) z where before > r
select count(*) from (select r, lag(r) over () as before from (select random() as r from generate_series(1, 200) order by 1 desc limit 100) q) z where before < r
create sequence numbers
select nextval('numbers') as n from generate_series(1, 3) order by n desc
select nextval('numbers') as n from t order by nextval('numbers') desc
select a from t order by k(a), k(a)
select nextval('s')
select count(distinct r) from (select rank() over (order by floor(random() * 2)) as r from generate_series(1, 1000)) q
select count(distinct c) <= 2 from (select count(*) over (partition by floor(random() * 2)) as c from generate_series(1, 1000)) q
select k(a), row_number() over (order by k(a), a) from t order by a
select nextval('s')
select count(*) from (select distinct on (floor(random() * 3)) g from generate_series(1, 1000) g order by floor(random() * 3)) q
-- NULLIF has the type in which its values are compared.
select pg_typeof(nullif(1, 2.5)), pg_typeof(nullif(null, 2)), pg_typeof(nullif('5', 2)), pg_typeof(nullif(null, null)), pg_typeof(nullif(2::smallint, 4::bigint)), pg_typeof(nullif(date '2020-01-01', timestamp '2020-01-02'))
select nullif(7, 2.0) / 2, 7 / nullif(2, 3.0), nullif(null, 2), nullif('5', 2), nullif(1, 1.0)
select nullif(1, true)
select nullif('a', 1)
-- WITH queries that nobody names are checked, and not run.
with w as (select nextval('numbers') as n) select 1
select nextval('numbers')
with w as (select nosuch from t) select 1
with w as (select a from t where b = 1) select 1
drop function once(int), k(int)
drop sequence s, numbers

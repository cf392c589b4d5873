create table t (id int primary key, v int);
insert into t values (1, 10), (2, 20), (3, null);
create procedure p(a int, b int) language plpgsql as $$
declare
  r text;
  n int;
begin
  n := (a + b) * 2 - a % 3; raise notice '%', n;
  n := case when a > b then a else b end; raise notice '%', n;
  n := coalesce(null, a, b); raise notice '%', n;
  n := (select sum(v) from t); raise notice '%', n;
  n := (select v from t where id = 3); raise notice '%', n;
  n := (select v from t where id = 4); raise notice '%', n;
  n := count(*) from t where v > a; raise notice '%', n;
  n := max(id) from t; raise notice '%', n;
  r := a || '-' || b; raise notice '%', r;
  r := a between 1 and 5; raise notice '%', r;
  r := a in (1, 2, b); raise notice '%', r;
  r := exists (select 1 from t where v > 15); raise notice '%', r;
  r := 20 = any (array[10, 20]); raise notice '%', r;
  r := a is distinct from null; raise notice '%', r;
  r := not (a < b) or null; raise notice '%', r;
  r := upper(substr('abcdef', a, b)); raise notice '%', r;
  r := greatest(a, b)::numeric(5,2); raise notice '%', r;
end $$;
call p(2, 3);

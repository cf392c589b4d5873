-- Variables where a query's shape is decided: LIMIT, OFFSET, ranges, IN, ORDER BY with CASE.
create table t (id int primary key, v int);
insert into t select i, (i * 7) % 10 from generate_series(1, 10) i;
create function page(n int, size int) returns setof int language plpgsql stable as $$
begin
  return query select id from t order by v, id limit size offset (n - 1) * size;
end $$;
select * from page(1, 3);
select * from page(4, 3);
select * from page(1, null);
select * from page(1, -1);
create function between_them(a int, b int) returns text language plpgsql stable as $$
declare
  r record;
  seen text := '';
begin
  for r in select id from t where id between a and b and v not in (a, b) order by case when a > 3 then -id else id end limit 4 loop
    seen := seen || ' ' || r.id;
  end loop;
  return seen;
end $$;
select between_them(1, 9), between_them(4, 9), between_them(9, 1), between_them(null, 5);

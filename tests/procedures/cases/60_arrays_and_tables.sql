create table stock (id int primary key, quantity int not null);
insert into stock select i, i * 10 from generate_series(1, 5) i;
create table baskets (id int primary key, items int[] not null, names text[]);
create procedure p(ids int[], amounts int[]) language plpgsql as $$
declare
  r record;
  rest int[];
  k int;
begin
  for i in 1 .. array_length(ids, 1) loop
    update stock set quantity = quantity - amounts[i] where id = ids[i];
  end loop;
  select array_agg(quantity order by id) into rest from stock where id = any (ids);
  raise notice '%', rest;
  insert into baskets values (1, ids, array['n' || ids[1], null]);
  for r in select items, array_length(items, 1) as n from baskets loop
    raise notice '% % %', r.items, r.items[2], r.n;
  end loop;
  update baskets set items = items || 9 where id = 1 returning items into ids;
  raise notice '%', ids;
  foreach k in array (select items from baskets where id = 1) loop
    raise notice '%', k;
  end loop;
end $$;
call p(array[1, 3, 5], array[1, 2, 3]);
select * from stock order by id;
select * from baskets;
create function sums(a int[]) returns bigint language sql as $$ select sum(x) from unnest(a) x $$;
select sums('{1,2,3}'), sums('{}'), sums(null);
create function squares(n int) returns int[] language plpgsql as $$
declare
  r int[] := '{}';
begin
  for i in 1 .. n loop r := r || i * i; end loop;
  return r;
end $$;
select squares(3), squares(0);

-- Rows that are passed, compared, tested, taken apart and given back.
create table item (id int primary key, name varchar(10), price numeric(8,2));
insert into item values (1, 'one', 1.5), (2, 'two', null), (3, null, null);
create function shown(i item, prefix text default '>') returns text language plpgsql as $$
begin
  i.name := prefix || i.name;
  return i.id || ' ' || coalesce(i.name, 'nothing') || ' ' || coalesce(i.price::text, 'free');
end $$;
select shown(i) from item i order by i.id;
select shown(i.*, '#') from item i where id = 1;
select shown(prefix => '-', i => item) from item where price is null order by 1;
select shown(row(7, 'seven', 7));
select shown(null);
select shown(row(7, 'seven'));
select shown(5);
create function twice(i item) returns item language plpgsql as $$
begin
  i.price := i.price * 2;
  return i;
end $$;
select * from twice(row(4, 'four', 4));
select (twice(row(4, 'four', 4))).price, (twice(row(4, 'four', 4))).*;
create function made(n int) returns item language plpgsql as $$
begin
  if n = 0 then
    return null;
  end if;
  return row(n, 'made'::varchar(10), (n + 0.5)::numeric(8,2));
end $$;
select * from made(3);
select (made(5)).price + 1 as more;
create function of_sql(i item) returns text language sql as $$ select i.name || i.price from item where item.id = i.id $$;
select id, of_sql(item) from item order by id;
create function unnamed(item, int) returns text language sql as $$ select $1.name || $2 || ($1).price $$;
select unnamed(i, 5) from item i where id = 1;
create function unnamed_too(item) returns text language plpgsql as $$ begin return $1.id || $1.name; end $$;
select unnamed_too(row(8, 'x', 1));
do $$
begin
  raise notice '% %', row(1, 'two words', null), twice(row(1, 'one', 2));
end $$;
create procedure p() language plpgsql as $$
declare
  a item;
  b item;
  r record;
  s record;
begin
  raise notice '% % %', a, a is null, a is not null;
  a := row(1, 'one', 1);
  b := a;
  raise notice '% % %', a = b, a <> b, b is not null;
  b.price := null;
  raise notice '% % % %', a = b, a <> b, b is null, b is not null;
  r := row(1, 2);
  s := row(r.f2, r.f1);
  raise notice '% % % %', r, s, r = s, s.f1;
  r := row(r.f2, r.f1);
  raise notice '% %', r, r = s;
  a := made(8);
  raise notice '% %', a, shown(a);
  r := twice(a);
  raise notice '% %', r, r.price;
  a := null;
  raise notice '% %', a, a.id is null;
end $$;
call p();
drop function shown(item, text);

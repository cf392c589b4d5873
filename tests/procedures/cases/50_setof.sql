create function numbers(n int) returns setof int language plpgsql as $$
begin
  for i in 1 .. n loop
    return next i * i;
  end loop;
  return;
end $$;
select * from numbers(3);
select * from numbers(0);
select sum(numbers) from numbers(4);
select n + 1 as m from numbers(3) as n where n > 1;
select n.x from numbers(3) as n(x) order by n.x desc;
select a, b from numbers(2) a, numbers(2) b order by a, b;
create function from_query(low int) returns setof text language plpgsql as $$
begin
  return query select 'row ' || i from generate_series(1, 4) i where i >= low order by i;
  raise notice 'found %', found;
  return query values ('end');
end $$;
select * from from_query(3);
select * from from_query(9);
select count(*) from from_query(1);
-- either
-- detail
create function wrong() returns setof int language plpgsql as $$ begin return query select 'x'::text; end $$;
select * from wrong();
create function stops() returns setof int language plpgsql as $$ begin return next 1; return next 1 / 0; end $$;
select * from stops();

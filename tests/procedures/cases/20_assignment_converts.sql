create procedure p() language plpgsql as $$
declare
  i int;
  s smallint;
  n numeric(5,2);
  t text;
  v varchar(5);
  c char(4);
  f float8;
  b boolean;
  d date;
begin
  i := 2.5; raise notice 'i %', i;
  i := 3.5; raise notice 'i %', i;
  i := -2.5; raise notice 'i %', i;
  i := 2.5::float8; raise notice 'i %', i;
  i := '42'; raise notice 'i %', i;
  s := 7::bigint; raise notice 's %', s;
  n := 1.005; raise notice 'n %', n;
  n := '99'; raise notice 'n %', n;
  t := 1.50; raise notice 't %', t;
  t := true; raise notice 't %', t;
  v := 12345; raise notice 'v %', v;
  v := 'abc   '; raise notice 'v [%]', v;
  v := 'abc     '; raise notice 'v [%]', v;
  c := 'ab'; raise notice 'c [%] %', c, length(c);
  f := 1; raise notice 'f %', f;
  f := 0.1; raise notice 'f %', f;
  b := 'yes'; raise notice 'b %', b;
  b := 1; raise notice 'b %', b;
  d := '2026-03-04 05:06'; raise notice 'd %', d;
  i := null; raise notice 'i %', i;
end $$;
call p();

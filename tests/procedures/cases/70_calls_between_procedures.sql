create table log (id serial primary key, what text);
create procedure note(w text) language plpgsql as $$ begin insert into log (what) values (w); end $$;
create procedure swap(inout a int, inout b int) language plpgsql as $$
declare
  c int := a;
begin
  a := b;
  b := c;
end $$;
create function twice(a int) returns int language plpgsql as $$ begin call note('twice ' || a); return a * 2; end $$;
create procedure p() language plpgsql as $$
declare
  x int := 1;
  y int := 2;
begin
  call note('start');
  call swap(x, y);
  raise notice '% %', x, y;
  call swap(b => x, a => y);
  raise notice '% %', x, y;
  x := twice(twice(x));
  raise notice '%', x;
  call note('end');
end $$;
call p();
select what from log order by id;
-- either
create procedure bad() language plpgsql as $$ declare x int := 1; begin call swap(x, 5); end $$;
call bad();
-- either
create procedure into_an_array() language plpgsql as $$ declare a int[] := '{5,6}'; begin call swap(a[1], a[2]); raise notice '%', a; end $$;
call into_an_array();
create procedure into_a_record() language plpgsql as $$
declare
  r record;
begin
  select 5 as a, 6 as b into r;
  call swap(r.a, r.b);
  raise notice '%', r;
end $$;
call into_a_record();
-- either
create procedure worse() language plpgsql as $$ begin call no_such_procedure(1); end $$;
call worse();
-- either
create procedure select_it() language plpgsql as $$ declare a int := 1; b int := 2; begin select swap(a, b); end $$;
call select_it();

create function missing(a int) returns int language plpgsql as $$ begin if a > 0 then return a; end if; end $$;
select missing(1);
select missing(0);
create function nothing() returns void language plpgsql as $$ begin end $$;
select nothing();
create function early() returns void language plpgsql as $$ begin raise notice 'a'; return; raise notice 'b'; end $$;
select early();
create procedure stop(a int) language plpgsql as $$
begin
  for i in 1 .. 3 loop
    raise notice '%', i;
    if i = a then return; end if;
  end loop;
  raise notice 'end';
end $$;
call stop(2);
call stop(5);
create function from_query() returns int language plpgsql as $$ begin return (select count(*) from generate_series(1, 3)); end $$;
select from_query();
create function expression(a int) returns numeric language plpgsql as $$ begin return a / 2.0 + 1; end $$;
select expression(3);
create function of_null() returns int language plpgsql as $$ begin return null; end $$;
select of_null(), of_null() is null;
create function bad(t text) returns int language plpgsql as $$ begin return t; end $$;
select bad('5');
select bad('x');

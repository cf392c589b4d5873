-- A constant expression that fails does so when it is run, not when the procedure is made, and not if it is not reached.
create procedure p(a int) language plpgsql as $$
declare
  n int;
begin
  if a = 1 then n := 1 / 0; end if;
  if a = 2 then n := 'x'; end if;
  if a = 3 then n := 3000000000; end if;
  if a = 4 then perform '2026-02-30'::date; end if;
  if a = 5 then n := 2147483647 + 1; end if;
  raise notice 'passed %', n;
end $$;
call p(0);
call p(1);
call p(2);
call p(3);
call p(4);
call p(5);
create procedure in_a_default(a int) language plpgsql as $$ declare n int := 1 / 0; begin raise notice 'never'; end $$;
call in_a_default(1);
create function in_sql(a int) returns int language plpgsql as $$ begin return (select case when a > 0 then a else 1 / 0 end); end $$;
select in_sql(5);

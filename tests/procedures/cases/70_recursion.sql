create function factorial(n int) returns numeric language plpgsql as $$
begin
  if n <= 1 then return 1; end if;
  return n * factorial(n - 1);
end $$;
select factorial(0), factorial(5), factorial(25);
create function fibonacci(n int) returns int language plpgsql as $$
declare
  a int;
begin
  if n < 2 then return n; end if;
  a := fibonacci(n - 1);
  return a + fibonacci(n - 2);
end $$;
select fibonacci(12);
create table t (depth int primary key, v int);
create procedure descend(n int, inout bottom int) language plpgsql as $$
declare
  mine int := n * 10;
begin
  insert into t values (n, mine);
  if n > 0 then
    call descend(n - 1, bottom);
  else
    bottom := mine;
  end if;
  update t set v = mine + 1 where depth = n;
end $$;
call descend(3, null);
select * from t order by depth;
create function sql_sum(n int) returns int language sql as $$ select case when n = 0 then 0 else n + sql_sum(n - 1) end $$;
select sql_sum(10);

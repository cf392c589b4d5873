create function collatz(n int) returns int language plpgsql as $$
declare
  steps int := 0;
begin
  while n <> 1 loop
    if n % 2 = 0 then n := n / 2; else n := 3 * n + 1; end if;
    steps := steps + 1;
  end loop;
  return steps;
end $$;
select i, collatz(i) from generate_series(1, 9) i order by i;
create function long_loop(n int) returns bigint language plpgsql as $$
declare
  total bigint := 0;
  i int := 0;
begin
  while i < n loop
    i := i + 1;
    total := total + i % 7;
  end loop;
  return total;
end $$;
select long_loop(100000);
create procedure p(a int) language plpgsql as $$
declare
  b int := 0;
begin
  while b < a loop
    b := b + 1;
    continue when b % 2 = 0;
    raise notice '%', b;
    <<inner_loop>>
    while true loop
      exit inner_loop;
    end loop;
  end loop;
  while null loop raise notice 'never'; end loop;
  raise notice 'end %', b;
end $$;
call p(4);
call p(0);
call p(null);

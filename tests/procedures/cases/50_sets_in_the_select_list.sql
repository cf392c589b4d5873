-- A set where a value is expected gives a row for each.
create function numbers(n int) returns setof int language plpgsql as $$
begin
  for i in 1 .. n loop
    return next i * i;
  end loop;
end $$;
create function numbers_sql(n int) returns setof int language sql as $$ select i * i from generate_series(1, n) i order by i $$;
select numbers(3);
select numbers_sql(2);
select numbers(0);
select i, numbers(i) from generate_series(0, 3) i;

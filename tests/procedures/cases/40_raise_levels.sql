create procedure p(a int, b text) language plpgsql as $$
begin
  raise debug 'debug %', a;
  raise log 'log %', a;
  raise info 'info %', b;
  raise notice 'notice % and %', a, b;
  raise warning 'warning %% %', a;
  raise notice 'plain';
  raise notice 'end%', a;
end $$;
call p(1, 'x');
call p(null, null);
create procedure values_of() language plpgsql as $$
begin
  raise notice '% % % % %', true, 1.50, '2026-01-02'::date, array[1, null, 3], 1e10::float8;
  raise notice '%', 'line' || chr(10) || 'end';
  raise notice '%', (select count(*) from generate_series(1, 3));
end $$;
call values_of();

create procedure p(name text, n int) language plpgsql as $$
begin
  raise notice '%', format('%s has %s', name, n);
  raise notice '%', format('%2$s %1$s%%', name, n);
  raise notice '%', format('%I %L %L', 'a b', name, null::text);
  raise exception '%', format('no %s', name) using detail = format('%s', n);
end $$;
-- detail
call p('it''s', 5);

create procedure p(a int, b int, s int) language plpgsql as $$
declare
  seen text := '';
  i int := 77;
begin
  for i in a .. b loop seen := seen || i || ' '; end loop;
  seen := seen || '| ';
  for i in reverse b .. a loop seen := seen || i || ' '; end loop;
  seen := seen || '| ';
  for i in a .. b by s loop seen := seen || i || ' '; end loop;
  seen := seen || '| ';
  for i in reverse b .. a by s loop seen := seen || i || ' '; end loop;
  raise notice '% %', seen, i;
end $$;
call p(1, 5, 2);
call p(3, 3, 1);
call p(5, 1, 1);
call p(-2, 2, 3);
call p(1, 5, 0);
call p(1, 5, -1);
call p(null, 5, 1);
call p(1, null, 1);
call p(1, 5, null);
create procedure changed() language plpgsql as $$
declare
  top int := 3;
begin
  for i in 1 .. top loop
    top := 10;
    raise notice 'i %', i;
    i := i + 1;
    raise notice 'now %', i;
  end loop;
  for i in 2147483646 .. 2147483647 loop raise notice '%', i; end loop;
  for i in 1.4 .. 2.6 loop raise notice 'rounded %', i; end loop;
end $$;
call changed();
create procedure too_far(a bigint) language plpgsql as $$ begin for i in 1 .. a loop null; end loop; end $$;
call too_far(3);
call too_far(3000000000);

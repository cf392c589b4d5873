create procedure p() language plpgsql as $$
declare
  a int[] := '{1,2}';
  n int;
begin
  a[5] := 5; raise notice '% %', a, array_length(a, 1);
  a[null] := 1;
  raise notice 'not reached';
end $$;
call p();
create procedure q() language plpgsql as $$
declare
  a int[] := '{1,2,3,4}';
begin
  raise notice '%', a[null];
  a[1] := 'x';
end $$;
call q();
create procedure below() language plpgsql as $$
declare
  a int[] := '{1,2}';
begin
  a[0] := 0;
  raise notice '% % %', a, array_lower(a, 1), array_upper(a, 1);
end $$;
call below();

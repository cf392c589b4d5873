create procedure slices() language plpgsql as $$
declare
  a int[] := '{1,2,3,4}';
begin
  a[2:3] := array[20, 30];
  raise notice '%', a;
  a := a[2:4];
  raise notice '% %', a, a[1];
  raise notice '% % %', a[2:3], a[:1], a[5:6];
end $$;
call slices();

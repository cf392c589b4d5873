create procedure p(a int[]) language plpgsql as $$
declare
  x int := -1;
  t text;
  total int := 0;
begin
  foreach x in array a loop
    continue when x is null;
    exit when x > 100;
    total := total + x;
  end loop;
  raise notice '% % %', total, x, found;
  foreach t in array array['a', 'b'] || array['c'] loop
    raise notice '%', t;
  end loop;
  <<outer_loop>>
  foreach x in array a loop
    foreach t in array '{x,y}'::text[] loop
      raise notice '% %', x, t;
      exit outer_loop;
    end loop;
  end loop;
end $$;
call p(array[1, 2, 3]);
call p('{4,null,5,101,6}');
call p('{}');
call p(null);
-- either
create procedure q() language plpgsql as $$ declare x int; begin foreach x in array 5 loop null; end loop; end $$;
call q();

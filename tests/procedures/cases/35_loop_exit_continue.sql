create procedure p() language plpgsql as $$
declare
  i int := 0;
begin
  loop
    i := i + 1;
    continue when i = 2;
    exit when i > 4;
    raise notice 'i %', i;
  end loop;
  raise notice 'after %', i;
  <<rows>>
  for r in 1 .. 3 loop
    <<columns>>
    for c in 1 .. 3 loop
      continue rows when c = 2 and r = 1;
      continue columns when c = 1;
      exit rows when r = 3;
      raise notice '% %', r, c;
    end loop columns;
    raise notice 'row % done', r;
  end loop rows;
  <<block>>
  begin
    raise notice 'in the block';
    if i > 1 then exit block; end if;
    raise notice 'not reached';
  end;
  loop
    exit;
  end loop;
  <<l>>
  begin
    loop
      exit l when null;
      exit l;
    end loop;
  end;
  raise notice 'end';
end $$;
call p();

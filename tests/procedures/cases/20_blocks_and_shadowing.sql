create procedure p(a int) language plpgsql as $$
<<outer_block>>
declare
  x int := 1;
  y int := 10;
begin
  raise notice 'outer % % %', x, y, a;
  declare
    x text := 'inner';
    z int := y + 1;
    a int := 99;
  begin
    raise notice 'inner % % % % % %', x, outer_block.x, y, z, a, p.a;
    y := z;
    outer_block.x := 2;
    <<innermost>>
    declare
      x boolean := true;
    begin
      raise notice 'innermost % % %', x, innermost.x, outer_block.x;
    end innermost;
    raise notice 'inner again %', x;
  end;
  raise notice 'outer again % % %', x, y, a;
  for i in 1 .. 2 loop
    declare
      n int := 0;
    begin
      n := n + i;
      raise notice 'n %', n;
    end;
  end loop;
end $$;
call p(5);

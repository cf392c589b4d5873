create procedure p(a int[], inout b text[]) language plpgsql as $$
declare
  c int[] := array[10, 20, 30];
  d int[];
  e numeric(5,2)[] := '{1.005,2}';
  x int;
begin
  raise notice '% % %', a[1], a[5], a[0];
  raise notice '% % %', array_length(a, 1), array_length(d, 1), cardinality(c);
  c[2] := 21; raise notice '%', c;
  c[4] := 40; raise notice '%', c;
  c[1] := null; raise notice '%', c;
  d[1] := 5; raise notice '%', d;
  d[2] := d[1] + 1; raise notice '%', d;
  c := c || 50; raise notice '%', c;
  c := 0 || c; raise notice '%', c;
  c := c || d; raise notice '%', c;
  c := array_append(d, 7); raise notice '%', c;
  x := c[array_length(c, 1)]; raise notice '%', x;
  e[2] := 3.14159; raise notice '%', e;
  b := b || 'x'::text; raise notice '%', b;
  select array_agg(i order by i desc) into c from generate_series(1, 3) i; raise notice '%', c;
  select sum(u) into x from unnest(c) u; raise notice '%', x;
  raise notice '% %', 3 = any (c), 5 = any (c);
  raise notice '%', c = array[3, 2, 1];
  raise notice '%', c[1 + 1] * c[c[3]];
  for i in 1 .. coalesce(array_length(a, 1), 0) loop
    a[i] := a[i] * 2;
  end loop;
  raise notice '%', a;
end $$;
call p(array[1, 2, 3], array['a', 'b']);
call p('{}', '{}');
call p('{1,null}', '{"a b",null,"c,d"}');
call p(null, null);

create procedure sum_of(a int[], b numeric[], out s bigint, out n numeric) language plpgsql as $$
declare
  x int;
  y numeric;
begin
  s := 0; n := 0;
  foreach x in array a loop s := s + coalesce(x, 0); end loop;
  foreach y in array b loop n := n + y; end loop;
end $$;
-- binary: call sum_of(%s, %s, null, null) | [Int4(1), Int4(2), Int4(70000)] | [Decimal('0.1'), Decimal('0.2')]
-- binary: call sum_of(%s, %s, null, null) | [Int4(1), None] | []
-- binary: call sum_of(%s, %s, null, null) | [1, 2, 3] | [Decimal('1')]
-- prepared: call sum_of(%s, %s, null, null) | [1, 2, 3] | [Decimal('1')]
-- prepared: call sum_of(%s, %s, null, null) | '{4,5}' | '{0.5}'
create function reversed(a text[]) returns text[] language plpgsql as $$
declare
  r text[] := '{}';
begin
  for i in reverse coalesce(array_length(a, 1), 0) .. 1 loop
    r := r || a[i];
  end loop;
  return r;
end $$;
-- binary: select reversed(%s) | ['a', 'b c', None]
-- binary: select reversed(%s) | []

create table t (id int primary key, v text, n numeric(8,2));
create procedure put(k int, x text, y numeric) language plpgsql as $$ begin insert into t values (k, x, y); end $$;
create procedure get(k int, inout x text, out y numeric) language plpgsql as $$
begin
  select v, n into x, y from t where id = k;
end $$;
create function label(k int, fallback text default 'none') returns text language plpgsql as $$
begin
  return coalesce((select v from t where id = k), fallback);
end $$;
-- prepared: call put(%s, %s, %s) | 1 | 'one' | Decimal('1.50')
-- prepared: call put(%s, %s, %s) | 2 | 'two' | Decimal('2')
-- prepared: call put(%s, %s, %s) | 70000 | None | None
-- prepared: call put(%s, %s, %s) | 1 | 'again' | Decimal('0')
-- prepared: call get(%s, %s, null) | 1 | 'x'
-- prepared: call get(%s, %s, null) | 70000 | 'x'
-- prepared: select label(%s) | 2
-- prepared: select label(%s, %s) | 5 | 'other'
-- prepared: select id, label(id) from t where label(id) <> %s order by id | 'one'
-- prepared: call put(%s, 'literal', 0) | 3
-- prepared: call put(%s) | 1
-- prepared: call put(%s, %s, %s) | 'x' | 'y' | 'z'
select * from t order by id;

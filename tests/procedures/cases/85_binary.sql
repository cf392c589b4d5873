create table t (id int primary key, v text, n numeric(8,2), d timestamp, b boolean, big bigint, f float8);
create procedure put(k int, x text, y numeric, z timestamp, w boolean, big bigint, f float8) language plpgsql as $$
begin
  insert into t values (k, x, y, z, w, big, f);
end $$;
create procedure get(inout k int, out x text, out y numeric, out z timestamp, out w boolean, out big bigint, out f float8) language plpgsql as $$
begin
  select t.id, t.v, t.n, t.d, t.b, t.big, t.f into k, x, y, z, w, big, f from t where t.id = k;
end $$;
-- binary: call put(%s, %s, %s, %s, %s, %s, %s) | Int4(1) | 'one' | Decimal('1.50') | datetime(2026, 1, 2, 3, 4, 5, 600) | True | Int8(1 << 40) | 0.5
-- binary: call put(%s, %s, %s, %s, %s, %s, %s) | 2 | '' | Decimal('-0.01') | datetime(1999, 12, 31) | False | 3 | -1e300
-- binary: call put(%s, %s, %s, %s, %s, %s, %s) | 3 | None | None | None | None | None | None
-- binary: call get(%s, null, null, null, null, null, null) | Int4(1)
-- binary: call get(%s, null, null, null, null, null, null) | 2
-- binary: call get(%s, null, null, null, null, null, null) | 3
-- binary: call get(%s, null, null, null, null, null, null) | 4
create function days(a date, b int) returns date language plpgsql as $$ begin return a + b; end $$;
-- binary: select days(%s, %s) | date(2024, 2, 28) | 2
create function pairs(n int) returns table (i int, s text) language plpgsql as $$
begin
  return query select j, 'n' || j from generate_series(1, n) j;
end $$;
-- binary: select * from pairs(%s) | Int4(2)
-- binary: select i, s from pairs(%s) where i > %s | 3 | 1
create function fails(a int) returns int language plpgsql as $$ begin return 1 / a; end $$;
-- binary: select fails(%s) | 0
-- binary: select fails(%s) | 1
select * from t order by id;

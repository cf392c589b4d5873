create table t (id int primary key, v int);
insert into t values (1, 10), (2, 20), (3, 30);
create procedure p() language plpgsql as $$
declare
  r record;
  total int := 0;
begin
  for r in update t set v = v + 1 where id < 3 returning id, v loop
    total := total + r.v;
  end loop;
  raise notice 'total %', total;
  for r in delete from t where id = 3 returning * loop
    raise notice '% %', r.id, r.v;
  end loop;
  for r in insert into t values (7, 70), (8, 80) returning id loop
    exit;
  end loop;
end $$;
call p();
select * from t order by id;

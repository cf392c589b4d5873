create table t (id int primary key, v int);
insert into t values (1, 1), (2, 2), (3, 3);
create procedure grow() language plpgsql as $$
declare
  r record;
  n int := 0;
  now_there bigint;
begin
  for r in select id, v from t order by id loop
    insert into t values (r.id + 10, r.v);
    update t set v = v + 100 where id = r.id + 1;
    n := n + 1;
    raise notice '% %', r.id, r.v;
    exit when n > 50;
  end loop;
  select count(*) into now_there from t;
  raise notice 'rounds %, rows %', n, now_there;
end $$;
call grow();
create procedure clear() language plpgsql as $$
declare
  r record;
begin
  for r in select id from t order by id loop
    delete from t;
    raise notice '%', r.id;
  end loop;
end $$;
select * from t order by id;
call clear();
select * from t order by id;

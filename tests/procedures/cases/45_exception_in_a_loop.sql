create table t (id int primary key, v int);
insert into t values (2, 0), (4, 0);
create procedure p(ids int[]) language plpgsql as $$
declare
  x int;
  good int := 0;
  bad int := 0;
begin
  foreach x in array ids loop
    begin
      insert into t values (x, x);
      continue when x = 7;
      good := good + 1;
    exception when unique_violation then
      bad := bad + 1;
      update t set v = v + 1 where id = x;
      exit when bad > 3;
    end;
  end loop;
  raise notice 'good % bad %', good, bad;
end $$;
call p(array[1, 2, 3, 4, 5, 1, 7]);
select * from t order by id;
call p(array[1, 2, 3, 4, 5, 100]);
select * from t order by id;
create function upsert(k int) returns text language plpgsql as $$
begin
  loop
    update t set v = v + 1000 where id = k;
    if found then return 'updated'; end if;
    begin
      insert into t values (k, 0);
      return 'inserted';
    exception when unique_violation then null;
    end;
  end loop;
end $$;
select upsert(50), upsert(50);
select * from t where id = 50;

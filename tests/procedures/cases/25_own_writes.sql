create table t (id int primary key, v int);
create procedure inner_step(k int) language plpgsql as $$
declare
  seen int;
begin
  select v into seen from t where id = k;
  raise notice 'inner sees %', seen;
  update t set v = v * 2 where id = k;
end $$;
create procedure outer_step(k int) language plpgsql as $$
declare
  n bigint;
begin
  insert into t values (k, 5);
  call inner_step(k);
  update t set v = v + 1 where id = k;
  call inner_step(k);
  select sum(v) into n from t; raise notice 'sum %', n;
  delete from t where id = k;
  select count(*) into n from t; raise notice 'count %', n;
  insert into t values (k, 1);
end $$;
call outer_step(1);
call outer_step(2);
call outer_step(1);
select * from t order by id;

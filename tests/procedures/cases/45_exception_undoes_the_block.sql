create table t (id int primary key, v int);
insert into t values (1, 10);
create procedure p() language plpgsql as $$
declare
  a int := 0;
  r record;
begin
  insert into t values (2, 20);
  a := 1;
  begin
    a := 2;
    insert into t values (3, 30);
    update t set v = v + 1;
    delete from t where id = 1;
    select * into r from t where id = 2;
    a := 3;
    insert into t values (2, 99);
    a := 4;
  exception when unique_violation then
    raise notice 'a %, r % %, rows %', a, r.id, r.v, (select count(*) from t);
    insert into t values (4, 40);
  end;
  raise notice 'after %', a;
  insert into t values (5, 50);
end $$;
call p();
select * from t order by id;
call p();
select * from t order by id;

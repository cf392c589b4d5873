create table t (id int primary key, v int);
create procedure put(k int, x int) language plpgsql as $$
begin
  insert into t values (k, x);
  update t set v = v + 1 where id < k;
end $$;
begin;
call put(1, 10);
savepoint a;
call put(2, 20);
savepoint b;
call put(2, 20);
select 1;
rollback to b;
select * from t order by id;
call put(3, 30);
rollback to a;
select * from t order by id;
call put(4, 40);
release a;
commit;
select * from t order by id;
create procedure inner_savepoint() language plpgsql as $$
begin
  begin
    call put(5, 50);
    raise exception 'undone';
  exception when others then
    call put(6, 60);
  end;
end $$;
begin;
call inner_savepoint();
savepoint c;
call inner_savepoint();
rollback to c;
call inner_savepoint();
rollback to c;
commit;
select * from t order by id;

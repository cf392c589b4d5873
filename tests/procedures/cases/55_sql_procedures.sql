create table t (id int primary key, v int);
create procedure add(k int, x int) language sql as $$ insert into t values (k, x) $$;
call add(1, 10);
call add(2, 20);
call add(1, 10);
create procedure move(a int, b int, amount int) language sql as $$
  update t set v = v - amount where id = a;
  update t set v = v + amount where id = b;
$$;
call move(1, 2, 3);
select * from t order by id;
create procedure with_result(k int, inout x int) language sql as $$
  update t set v = v + 100 where id = k;
  select v from t where id = k;
$$;
call with_result(1, null);
create procedure nothing() language sql as '';
call nothing();
create or replace procedure add(k int, x int default 7) language sql as $$ insert into t values (add.k, add.x) $$;
call add(3);
select * from t order by id;
create procedure fails_late(k int) language sql as $$ insert into t values (k, 1); insert into t values (k, 2) $$;
call fails_late(8);
select count(*) from t;

-- COMMIT and ROLLBACK in procedures.
create table t (id int primary key, v int);
create procedure parts() language plpgsql as $$
begin
  for n in 1 .. 4 loop
    insert into t values (n, n);
    if n % 2 = 0 then
      commit;
    else
      rollback;
    end if;
  end loop;
  insert into t values (5, 5);
end $$;
call parts();
select * from t order by id;
create procedure fails_later() language plpgsql as $$
begin
  insert into t values (10, 10);
  commit;
  insert into t values (11, 11);
  insert into t values (2, 0);
end $$;
call fails_later();
select * from t order by id;
create procedure in_handler(inout said text) language plpgsql as $$
begin
  insert into t values (20, 20);
  insert into t values (2, 0);
exception when unique_violation then
  said := sqlstate;
  insert into t values (21, 21);
  rollback;
  insert into t values (22, 22);
end $$;
call in_handler('');
select * from t where id between 20 and 29 order by id;
create procedure in_guarded_block() language plpgsql as $$
begin
  begin
    insert into t values (30, 30);
    commit;
  exception when division_by_zero then
    null;
  end;
end $$;
call in_guarded_block();
create procedure rolls_back_in_guarded_block() language plpgsql as $$
begin
  begin
    insert into t values (30, 30);
    rollback;
  exception when unique_violation then
    null;
  end;
end $$;
call rolls_back_in_guarded_block();
create procedure inner_one() language plpgsql as $$
begin
  insert into t values (40, 40);
  rollback;
  insert into t values (41, 41);
end $$;
create procedure outer_one() language plpgsql as $$
begin
  insert into t values (42, 42);
  call inner_one();
  insert into t values (43, 43);
end $$;
call outer_one();
select * from t where id between 40 and 49 order by id;
create procedure caught_outside() language plpgsql as $$
begin
  begin
    call inner_one();
  exception when unique_violation then
    null;
  end;
end $$;
call caught_outside();
begin;
call parts();
rollback;
begin;
savepoint s;
call inner_one();
rollback;
create function f() returns int language plpgsql as $$
begin
  commit;
  return 1;
end $$;
select f();
create procedure variables_stay(inout n int) language plpgsql as $$
begin
  n := n + 1;
  insert into t values (50, n);
  rollback;
  n := n + 1;
  insert into t values (51, n);
  commit;
  n := n + 1;
end $$;
call variables_stay(0);
select * from t where id between 50 and 59 order by id;
create procedure over_rows() language plpgsql as $$
declare
  r record;
begin
  for r in select id from t order by id loop
    update t set v = v + 1000 where id = r.id;
    commit;
  end loop;
end $$;
call over_rows();
select count(*), min(v) from t;
do $$
begin
  insert into t values (60, 60);
  commit;
  insert into t values (61, 61);
  rollback;
end $$;
select * from t where id between 60 and 69 order by id;
create procedure nothing_to_end() language plpgsql as $$
begin
  commit;
  rollback;
  commit;
end $$;
call nothing_to_end();

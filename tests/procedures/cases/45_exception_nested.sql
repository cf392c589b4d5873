create table t (id int primary key);
create procedure p(a int) language plpgsql as $$
begin
  insert into t values (1);
  begin
    insert into t values (2);
    begin
      insert into t values (3);
      if a = 1 then perform 1 / 0; end if;
      if a = 2 then raise unique_violation; end if;
      if a = 3 then raise exception 'outermost'; end if;
    exception when division_by_zero then
      raise notice 'inner %', (select count(*) from t);
    end;
    insert into t values (4);
  exception when unique_violation then
    raise notice 'middle %', (select count(*) from t);
    insert into t values (5);
  end;
  insert into t values (6);
exception when others then
  raise notice 'outer % %', sqlerrm, (select count(*) from t);
end $$;
call p(0);
select * from t order by id;
delete from t;
call p(1);
select * from t order by id;
delete from t;
call p(2);
select * from t order by id;
delete from t;
call p(3);
select * from t order by id;

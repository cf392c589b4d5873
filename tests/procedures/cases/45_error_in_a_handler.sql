create table t (id int primary key);
create procedure p(a int) language plpgsql as $$
begin
  begin
    insert into t values (1);
    perform 1 / 0;
  exception
    when division_by_zero then
      insert into t values (2);
      if a = 1 then raise exception 'in the handler'; end if;
      if a = 2 then raise; end if;
      if a = 3 then raise division_by_zero using message = 'again'; end if;
    when raise_exception then
      raise notice 'the same block does not catch it';
  end;
exception when raise_exception then
  raise notice 'the outer block does: %, rows %', sqlerrm, (select count(*) from t);
end $$;
call p(0);
select * from t;
delete from t;
call p(1);
select * from t;
call p(2);
call p(3);
select * from t;

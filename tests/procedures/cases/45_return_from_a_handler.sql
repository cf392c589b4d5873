create table t (id int primary key);
create function f(a int) returns text language plpgsql as $$
begin
  begin
    insert into t values (a);
    if a = 1 then return 'from the block'; end if;
    perform 1 / 0;
  exception when division_by_zero then
    if a = 2 then return 'from the handler'; end if;
  end;
  return 'from the end';
end $$;
select f(1);
select f(2);
select f(3);
select * from t order by id;
create procedure out_of_one(inout n int) language plpgsql as $$
begin
  n := n * 2;
  perform 1 / 0;
exception when others then
  n := n + 1;
end $$;
call out_of_one(5);

create table t (id int primary key, name text, v int);
insert into t values (1, 'one', 10), (2, 'two', 20);
create function of_record(k int) returns record language plpgsql as $$
declare
  r record;
begin
  select id, name into r from t where id = k;
  return r;
end $$;
select * from of_record(1) as (a int, b text);
-- detail
select * from of_record(1);
-- detail
select * from of_record(1) as (a int, b int);

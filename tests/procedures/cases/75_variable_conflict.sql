create table t (id int primary key, v int);
insert into t values (1, 10), (2, 20);
create function column_first(id int) returns bigint language plpgsql as $$
#variable_conflict use_column
declare
  n bigint;
begin
  select count(*) into n from t where id = id;
  return n;
end $$;
select column_first(1);
create function variable_first(id int) returns bigint language plpgsql as $$
#variable_conflict use_variable
declare
  n bigint;
begin
  select count(*) into n from t where t.id = id;
  return n;
end $$;
select variable_first(1), variable_first(3);

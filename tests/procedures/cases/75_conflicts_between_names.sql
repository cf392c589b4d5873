-- What a name means that is a variable's and a column's, or two columns'.
create table t (id int primary key, v int);
create table u (id int primary key, w int);
insert into t values (1, 10), (2, 20);
insert into u values (1, 100), (2, 200);
create function variable(id int) returns bigint language plpgsql as $$
#variable_conflict use_variable
begin
  return (select count(*) from t join u on t.id = u.id where id = 1);
end $$;
select variable(1), variable(5);
create function of_columns(id int) returns bigint language plpgsql as $$
#variable_conflict use_column
begin
  return (select count(*) from t join u on t.id = u.id where id = 1);
end $$;
select of_columns(1);
create function by_default(id int) returns bigint language plpgsql as $$
begin
  return (select count(*) from t where id = 1);
end $$;
select by_default(1);
create function said(id int) returns bigint language plpgsql as $$
#variable_conflict error
begin
  return (select count(*) from t where t.id = said.id);
end $$;
select said(1);
create function in_sql(v int) returns bigint language sql as $$ select count(*) from t where id = 1 and v = in_sql.v $$;
select in_sql(10), in_sql(20);
create function assigned(v int) returns int language plpgsql as $$
#variable_conflict use_column
begin
  v := v + 1;
  update t set v = t.v + 1 where id = 1 returning v into v;
  return v;
end $$;
select assigned(1);

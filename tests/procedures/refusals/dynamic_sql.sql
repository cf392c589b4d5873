create table t (id int primary key, v int);
create function f(k int) returns int language plpgsql as $$
declare
  n int;
begin

  execute 'select v from t where id = $1' into n using k; -- refused: 0A000 EXECUTE
  return n;
end $$;
create function rows_of() returns setof t language plpgsql as $$
begin
  return query execute 'select * from t'; -- refused: 0A000 EXECUTE
end $$;

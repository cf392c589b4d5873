-- A change that the rest of the statement would see, where PostgreSQL shows the state before.
create table t (id int primary key, v int);
create procedure sees() language plpgsql as $$
declare
  n int;
begin
  with c as (update t set v = v + 1 returning id) select count(*) into n from t join c on c.id = t.id; -- refused: 0A000 WITH
end $$;
create procedure twice() language plpgsql as $$
begin
  with a as (update t set v = v + 1 returning id), b as (delete from t where v > 5 returning id) -- refused: 0A000 WITH
  insert into t select a.id + 100, 0 from a;
end $$;
create function deep() returns int language sql as $$
  with c as (delete from t returning id) select (select max(v) from t)::int; -- refused: 0A000 WITH
$$;

create table t (id int primary key, v int);
insert into t values (1, 10), (2, 20);
-- either
-- detail
create procedure in_where(id int) language plpgsql as $$
declare
  n int;
begin
  select v into n from t where id = id;
end $$;
call in_where(1);
create procedure qualified(id int) language plpgsql as $$
declare
  n int;
begin
  select v into n from t where t.id = qualified.id; raise notice '%', n;
  select t.v into n from t where t.id = qualified.id + 1; raise notice '%', n;
end $$;
call qualified(1);
-- either
create function in_result() returns table (id int, v int) language plpgsql as $$ begin return query select id, v from t; end $$;
select * from in_result();
create procedure targets_are_no_names(v int) language plpgsql as $$
begin
  insert into t (id, v) values (3, targets_are_no_names.v) on conflict (id) do nothing;
  update t set v = targets_are_no_names.v + 1 where t.id = 3;
end $$;
call targets_are_no_names(5);
create procedure of_a_block(k int) language plpgsql as $$
<<b>>
declare
  v int := 7;
begin
  update t set v = b.v where id = k;
  select t.v into b.v from t where id = k;
  raise notice '%', v;
end $$;
call of_a_block(2);
create procedure other_tables(v int) language plpgsql as $$ begin raise notice '%', v; perform 1 where v = 1; raise notice '%', found; end $$;
call other_tables(1);
select * from t order by id;

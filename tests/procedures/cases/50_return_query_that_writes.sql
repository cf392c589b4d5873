create table t (id int primary key, v int);
insert into t values (1, 10), (2, 20), (3, 30);
create function add(low int) returns table (k int, was int, now_is int) language plpgsql as $$
begin
  return query update t set v = t.v + 1 where t.id >= low returning t.id, t.v - 1, t.v;
  if not found then
    raise notice 'none';
  end if;
end $$;
select * from add(2) order by k;
select * from add(9);
select k from add(1) where now_is > 11 order by k;
select * from t order by id;
create function move_out(ids int[]) returns setof t language plpgsql as $$
begin
  return query delete from t where t.id = any (ids) returning *;
  return query insert into t values (100, 0) returning *;
end $$;
select * from move_out('{1,3}') order by id;
select * from t order by id;

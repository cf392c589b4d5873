create table t (id int primary key, v int);
create table log (id serial primary key, what text);
create function next_id(step int) returns int language plpgsql as $$ begin return (select coalesce(max(id), 0) + step from t); end $$;
create function checked(x int) returns int language plpgsql as $$
begin
  if x < 0 then
    raise exception 'below zero: %', x using errcode = '22003';
  end if;
  insert into log (what) values ('checked ' || x);
  return x;
end $$;
insert into t values (next_id(1), checked(5));
insert into t values (next_id(10), checked(6)), (50, checked(-1));
insert into t select i, checked(i * 2) from generate_series(20, 22) i;
update t set v = checked(v - 40) where id >= 20;
update t set v = checked(v + 1) where id = next_id(0);
delete from t where checked(v) = 42;
select * from t order by id;
select what from log order by id;
insert into t values (60, checked(1)) on conflict (id) do update set v = checked(excluded.v + 100) returning v, checked(v);
select count(*) from log;

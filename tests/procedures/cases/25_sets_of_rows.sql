create table t (id int primary key, grp int, v int);
insert into t select i, i % 3, i * i from generate_series(1, 9) i;
create table total (grp int primary key, v bigint, n int default 0);
create procedure summarize(at_least int) language plpgsql as $$
declare
  most int;
begin
  insert into total select grp, sum(v) from t where v >= at_least group by grp
    on conflict (grp) do update set v = excluded.v, n = total.n + 1;
  update t set v = 0 from total where total.grp = t.grp and total.v > 100;
  delete from t using total where total.grp = t.grp and total.v < 90;
  select grp into most from total order by v desc, grp limit 1;
  raise notice 'most %', most;
end $$;
call summarize(4);
select * from total order by grp;
select * from t order by id;
call summarize(0);
select * from total order by grp;
create procedure of_list(ids int[]) language plpgsql as $$
begin
  update t set v = -1 where id = any (ids);
  insert into t select u, 9, 9 from unnest(ids) u where u > 100;
end $$;
call of_list(array[1, 3, 200]);
select * from t order by id;

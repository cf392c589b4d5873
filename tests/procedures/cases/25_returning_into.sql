create table t (id serial primary key, v int default 5, w text);
create procedure p() language plpgsql as $$
declare
  k int;
  x int;
  r record;
  whole t%rowtype;
begin
  insert into t (w) values ('a') returning id, v into k, x; raise notice '% %', k, x;
  insert into t (w) values ('b') returning * into r; raise notice '% % %', r.id, r.v, r.w;
  update t set v = v * 2 where id = k returning v, v + 1 into x, k; raise notice '% %', x, k;
  update t set v = 0 where id = 77 returning v into x; raise notice '% %', x, found;
  delete from t where id = 2 returning * into whole; raise notice '% % %', whole.id, whole.v, whole.w;
  insert into t (id, w) values (1, 'c') on conflict (id) do update set w = excluded.w || t.w returning w into r; raise notice '%', r.w;
  insert into t (id, w) values (1, 'c') on conflict do nothing returning w into r; raise notice '% %', r.w, found;
end $$;
call p();
select * from t order by id;
create procedure several() language plpgsql as $$
declare
  k int;
begin
  insert into t (w) values ('x'), ('y') returning id into k;
end $$;
call several();
-- either
create procedure nothing_asked() language plpgsql as $$ begin insert into t (w) values ('z') returning id; end $$;
call nothing_asked();
select count(*) from t;

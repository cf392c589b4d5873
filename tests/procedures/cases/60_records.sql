create table t (id int primary key, name varchar(10), v numeric(6,2));
insert into t values (1, 'one', 1.5), (2, 'two', 2.5);
create procedure p() language plpgsql as $$
declare
  r record;
  s record;
  w t%rowtype;
  x t%rowtype;
  n int;
begin
  select id, name as label into r from t where id = 1;
  raise notice '% %', r.id, r.label;
  r.label := 'changed'; raise notice '% %', r.id, r.label;
  s := r; s.id := 5; raise notice '% %', r.id, s.id;
  select * into w from t where id = 2; raise notice '% % % %', w.id, w.name, w.v, w.v * 2;
  w.v := 3.14159; raise notice '%', w.v;
  w.name := null; raise notice '%', w.name is null;
  x := w; x.id := x.id + 100; raise notice '% %', w.id, x.id;
  insert into t values (w.id + 1, 'new', w.v);
  insert into t values (x.id, x.name, x.v);
  update t set v = w.v where id = w.id;
  select v, 'other' as shape into r from t where id = 3; raise notice '% %', r.v, r.shape;
  select * into w from t where id = 99; raise notice '% % %', w.id, w.name, found;
  select t.* into r from t where id = 99; raise notice '%', r.id;
  n := r.id; raise notice '%', n;
  select id, v into w.id, w.v from t where id = 1; raise notice '% % %', w.id, w.v, w.name;
  update t set v = v + 1 where id = 1 returning v into r.v; raise notice '%', r.v;
end $$;
call p();
select * from t order by id;

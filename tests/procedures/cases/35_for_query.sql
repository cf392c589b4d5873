create table t (id int primary key, name text, v int);
insert into t values (1, 'one', 10), (2, 'two', null), (3, 'three', 30);
create procedure p(low int) language plpgsql as $$
declare
  r record;
  k int := -1;
  n text := 'before';
  whole t%rowtype;
begin
  for r in select * from t where id >= low order by id loop
    raise notice '% % %', r.id, r.name, r.v;
  end loop;
  raise notice 'found %', found;
  for k, n in select id, name from t where id >= low order by id desc loop
    raise notice '% %', k, n;
  end loop;
  raise notice 'after % % %', k, n, found;
  for whole in select * from t where id >= low order by id limit 1 loop
    raise notice '% % %', whole.id, whole.v, whole.name;
  end loop;
  for r in select count(*) as many, sum(v) from t where id >= low loop
    raise notice '% %', r.many, r.sum;
  end loop;
  for k in values (5), (6) loop raise notice 'k %', k; end loop;
end $$;
call p(2);
call p(4);
create procedure after_record() language plpgsql as $$
declare
  r record;
begin
  for r in select id from t order by id loop
    exit when r.id = 2;
  end loop;
  raise notice 'left at %', r.id;
  for r in select id from t where false loop null; end loop;
  raise notice 'none %', r.id;
end $$;
call after_record();

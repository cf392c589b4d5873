create table t (id int primary key, name text, v int);
insert into t values (1, 'one', 10), (2, 'two', 20), (3, 'three', null);
create procedure p(k int) language plpgsql as $$
declare
  n text := 'before';
  x int := -1;
begin
  select name, v into n, x from t where id = k;
  raise notice '% % %', n, x, found;
end $$;
call p(1);
call p(3);
call p(4);
create procedure places() language plpgsql as $$
declare
  n text;
  x int;
begin
  select into n, x name, v from t where id = 2; raise notice '% %', n, x;
  select name into n from t order by id desc; raise notice '%', n;
  select name, v from t order by id limit 1 into n, x; raise notice '% %', n, x;
  select v, name into x from t where id = 1; raise notice '%', x;
  select v into x, n from t where id = 1; raise notice '% %', x, n;
  select count(*) into x from t where id > 100; raise notice '%', x;
  select sum(v) into x from t where id > 100; raise notice '% %', x, found;
  select '7', 8 into x, n; raise notice '% %', x, n;
  select v into n from t where id = 1; raise notice '%', n;
end $$;
call places();
create procedure fails() language plpgsql as $$ declare x int; begin select name into x from t where id = 1; end $$;
call fails();

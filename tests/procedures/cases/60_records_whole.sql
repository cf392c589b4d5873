-- A record where a value is wanted: printed, compared, made by ROW.
create table t (id int primary key, name varchar(10), v numeric(6,2));
insert into t values (1, 'one', 1.5), (2, 'two words', null);
create procedure p() language plpgsql as $$
declare
  r record;
  s record;
  w t%rowtype;
begin
  raise notice '%', r;
  select * into r from t where id = 2; raise notice '%', r;
  select * into w from t where id = 1; raise notice '%', w;
  s := r; raise notice '% %', r = s, r = w;
  select * into w from t where id = 99; raise notice '% %', w, w is null;
  r := row(1, 'x'); raise notice '%', r;
  w := row(5, 'five', 5); raise notice '% %', w, w.name;
  for r in select 1 as a, 'x y'::text as b, null::int as c loop raise notice '%', r; end loop;
  for r in select id from t where false loop null; end loop;
  raise notice '%', r;
end $$;
call p();

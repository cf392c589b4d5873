-- WITH queries that change rows, whose rows the statement goes on with.
create table todo (id int primary key, what text, at int);
create table done (id int primary key, what text, at int);
insert into todo select i, case when i <> 3 then 'task ' || i end, i * 10 from generate_series(1, 6) i;
create procedure finish(n int) language plpgsql as $$
declare
  c int;
begin
  with gone as (delete from todo where id <= n returning *)
  insert into done select * from gone;
  get diagnostics c = row_count;
  raise notice 'finished % found %', c, found;
end $$;
call finish(3);
call finish(3);
select * from todo order by id;
select * from done order by id;
create function bumped(low int) returns table (id int, was int, now int) language plpgsql as $$
begin
  return query
    with old (i, a) as (select t.id, t.at from todo t where t.id >= low),
         new as (update todo t set at = t.at + 1 where t.id >= low returning t.id as i, t.at as a)
    select o.i, n.a - 1, n.a from new n join (values (4), (5), (6)) o (i) on o.i = n.i order by o.i;
end $$;
select * from bumped(5);
create procedure several() language plpgsql as $$
declare
  r record;
  total int;
begin
  with a as (insert into done values (10, 'ten', 1), (11, null, 2) returning id, what),
       b as (update todo set what = 'seen' where id = 6)
  select count(*) into total from a;
  raise notice '%', total;
  for r in with a as (delete from done where id >= 10 returning id, what, at) select * from a order by id desc loop
    raise notice '%', r;
  end loop;
  perform 1 from done where id >= 10;
  raise notice '%', found;
  with c as (delete from todo where id = 99 returning id) select max(id) into total from c;
  raise notice '%', total;
  with k as (select 5 as id), g as (delete from todo t using k where t.id = k.id returning t.what) select what into r from g;
  raise notice '%', r.what;
end $$;
call several();
select * from todo order by id;

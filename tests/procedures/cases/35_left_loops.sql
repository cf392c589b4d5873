-- What loops leave behind: FOUND, and their variables.
create table t (id int primary key, v int);
insert into t values (1, 10), (2, 20), (3, 30);
create procedure p() language plpgsql as $$
declare
  r record;
  k int := -1;
begin
  raise notice '%', found;
  for i in 1 .. 3 loop exit when i = 1; end loop; raise notice 'left %', found;
  for i in 1 .. 0 loop null; end loop; raise notice 'no turn %', found;
  for k in select id from t order by id loop exit; end loop; raise notice '% %', k, found;
  for k in select id from t where id > 5 loop null; end loop; raise notice '% %', k, found;
  perform 1 from t where id = 77; raise notice 'nothing found %', found;
  <<outside>>
  for i in 1 .. 2 loop
    for j in 1 .. 2 loop
      perform 1 from t where id = 77;
      continue outside when i = 1;
      exit outside;
    end loop;
  end loop;
  raise notice 'two loops %', found;
  perform 1 from t where id = 77;
  loop exit; end loop;
  raise notice 'no row loop %', found;
  begin
    for r in select id from t loop perform 1 from t where id = 77; raise exception 'out'; end loop;
  exception when others then raise notice 'by an error %', found;
  end;
  while found loop perform 1 from t where id = 77; end loop; raise notice 'while %', found;
  foreach k in array '{}'::int[] loop null; end loop; raise notice 'empty % %', k, found;
end $$;
call p();
create procedure returning_rows() language plpgsql as $$
declare
  k int;
begin
  update t set v = v + 1 returning id into k;
end $$;
call returning_rows();
create procedure selected() language plpgsql as $$
declare
  k int;
begin
  select id into k from t order by id; raise notice '% %', k, found;
end $$;
call selected();
create procedure deleted() language plpgsql as $$
declare
  k int;
begin
  delete from t where id = 1 returning id into strict k; raise notice '%', k;
  delete from t where id = 1 returning id into strict k;
end $$;
call deleted();
select * from t order by id;

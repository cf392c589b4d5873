-- Cursors that are declared with their query.
create table t (id int primary key, v text);
insert into t values (1, 'one'), (2, 'two'), (3, 'three'), (4, null);
create procedure all_of_them() language plpgsql as $$
declare
  n int;
  w text;
  c cursor for select id, v from t order by id;
begin
  open c;
  loop
    fetch c into n, w;
    exit when not found;
    raise notice '% %', n, w;
  end loop;
  raise notice 'at the end % %', n, w;
  fetch next from c into n, w;
  raise notice 'behind it % % %', n, w, found;
  close c;
end $$;
call all_of_them();
create procedure middle(wanted int, inout id int, inout word text) language plpgsql as $$
declare
  r record;
  c no scroll cursor is select t.id, t.v from t where t.id >= wanted order by t.id;
begin
  wanted := wanted + 1;
  open c;
  for i in 1 .. 2 loop
    fetch c into r;
    id := r.id;
    word := r.v;
  end loop;
  close c;
end $$;
call middle(1, 0, '');
call middle(3, 0, '');
create function sums() returns int language plpgsql as $$
declare
  total int := 0;
  c cursor for select id from t;
begin
  for r in c loop
    total := total + r.id;
  end loop;
  for r in c loop
    total := total + r.id * 100;
  end loop;
  return total;
end $$;
select sums();
create procedure sees_what_was() language plpgsql as $$
declare
  n int;
  c cursor for select count(*) from t;
begin
  insert into t values (5, 'five');
  open c;
  insert into t values (6, 'six');
  fetch c into n;
  raise notice '%', n;
  close c;
  open c;
  fetch c into n;
  raise notice '%', n;
end $$;
call sees_what_was();
create procedure found_stays() language plpgsql as $$
declare
  n int;
  c cursor for select id from t where id > 100;
begin
  perform 1;
  open c;
  raise notice '%', found;
  fetch c into n;
  raise notice '% %', found, n;
end $$;
call found_stays();
create procedure never_opened() language plpgsql as $$
declare
  n int;
  c cursor for select id from t;
begin
  fetch c into n;
end $$;
call never_opened();
create procedure closed() language plpgsql as $$
declare
  n int;
  c cursor for select id from t;
begin
  open c;
  close c;
  fetch c into n;
end $$;
call closed();
create procedure opened_twice() language plpgsql as $$
declare
  c cursor for select id from t;
begin
  open c;
  open c;
end $$;
call opened_twice();
create procedure of_nothing() language plpgsql as $$
declare
  c cursor for select id from nowhere;
begin
  open c;
end $$;
call of_nothing();
create procedure again_and_again() language plpgsql as $$
declare
  n int;
begin
  for i in 1 .. 2 loop
    declare
      c cursor for select id from t where id > i order by id;
    begin
      open c;
      fetch c into n;
      raise notice '% %', i, n;
      close c;
    end;
  end loop;
end $$;
call again_and_again();

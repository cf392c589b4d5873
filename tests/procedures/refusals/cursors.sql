-- Where a variable or parameter is a cursor, that may be what is refused.
create table t (id int primary key, v int);
create procedure opens() language plpgsql as $$
declare
  c refcursor; -- refused: 0A000 refcursor
begin
  open c for select * from t; -- refused: 0A000 OPEN
end $$;
create procedure declares() language plpgsql as $$
declare
  n int;
  c cursor for select id from t order by id; -- refused: 0A000 cursor
begin
  n := 1;
end $$;
create procedure fetches_rows() language plpgsql as $$
declare
  n int;
  c cursor for select id from t order by id; -- refused: 0A000 cursor
begin
  open c; -- refused: 0A000 OPEN
  loop
    fetch c into n; -- refused: 0A000 FETCH
    exit when not found;
  end loop;
  close c; -- refused: 0A000 CLOSE
end $$;
create procedure with_arguments() language plpgsql as $$
declare
  c cursor (k int) for select id from t where id > k; -- refused: 0A000 cursor
begin
  for r in c(1) loop -- refused: 0A000 cursor
    null;
  end loop;
end $$;
create procedure fetches(c refcursor) -- refused: 0A000 refcursor
language plpgsql as $$
declare
  n int;
begin
  fetch c into n; -- refused: 0A000 FETCH
end $$;
create procedure moves(c refcursor) -- refused: 0A000 refcursor
language plpgsql as $$
begin
  move c; -- refused: 0A000 MOVE
end $$;
create procedure closes(c refcursor) -- refused: 0A000 refcursor
language plpgsql as $$
begin
  close c; -- refused: 0A000 CLOSE
end $$;
create function gives(c refcursor) returns refcursor -- refused: 0A000 refcursor
language plpgsql as $$
begin
  return c;
end $$;
create procedure at_the_place() language plpgsql as $$
declare
  c cursor for select id from t for update; -- refused: 0A000 cursor
begin
  for r in c loop -- refused: 0A000 cursor
    update t set v = 1 where current of c; -- refused: 0A000 CURRENT OF
  end loop;
end $$;

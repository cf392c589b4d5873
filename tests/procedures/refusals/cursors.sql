-- Where a variable or parameter is a cursor, that may be what is refused.
create table t (id int primary key, v int);
create procedure opens() language plpgsql as $$
declare
  c refcursor; -- refused: 0A000 refcursor
begin
  open c for select * from t; -- refused: 0A000 OPEN
end $$;
create procedure goes_back() language plpgsql as $$
declare
  n int;
  c scroll cursor for select id from t order by id;
begin
  open c;
  fetch prior from c into n; -- refused: 0A000 FETCH
end $$;
create procedure skips() language plpgsql as $$
declare
  c cursor for select id from t order by id;
begin
  open c;
  move c; -- refused: 0A000 MOVE
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
  c cursor for select id from t for update;
begin
  for r in c loop
    update t set v = 1 where current of c; -- refused: 0A000 CURRENT OF
  end loop;
end $$;

create table t (id int primary key, v int);
create procedure opens() language plpgsql as $$
declare
  c refcursor;
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
create procedure with_arguments() language plpgsql as $$
declare
  c cursor (k int) for select id from t where id > k; -- refused: 0A000 cursor
begin
  for r in c(1) loop
    null;
  end loop;
end $$;
create procedure fetches(c refcursor) language plpgsql as $$
declare
  n int;
begin
  fetch c into n; -- refused: 0A000 FETCH
end $$;
create procedure moves(c refcursor) language plpgsql as $$
begin
  move c; -- refused: 0A000 MOVE
end $$;
create procedure closes(c refcursor) language plpgsql as $$
begin
  close c; -- refused: 0A000 CLOSE
end $$;
create procedure at_the_place(c refcursor) language plpgsql as $$
begin
  update t set v = 1 where current of c; -- refused: 0A000 CURRENT OF
end $$;

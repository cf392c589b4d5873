create procedure p() language plpgsql as $$
declare
  a int := 1;
  b int := a + 1;
  c int := a + b;
begin
  declare
    a int := a * 100;
    d int := a + b;
  begin
    raise notice '% % % %', a, b, c, d;
  end;
end $$;
call p();
create table counter (n int);
insert into counter values (5);
create function next() returns int language plpgsql as $$
declare
  old int := (select max(n) from counter);
begin
  update counter set n = n + 1;
  return old;
end $$;
create procedure q() language plpgsql as $$
declare
  a int := next();
  b int := next();
begin
  raise notice '% %', a, b;
end $$;
call q();
call q();
select n from counter;

create table t (id int primary key, v int);
insert into t values (1, 10), (2, 20);
create procedure p() language plpgsql as $$
declare
  x int;
begin
  raise notice 'at first %', found;
  insert into t values (3, 30); raise notice 'insert %', found;
  insert into t values (3, 30) on conflict do nothing; raise notice 'insert nothing %', found;
  update t set v = 0 where id = 1; raise notice 'update %', found;
  update t set v = 0 where id = 9; raise notice 'update none %', found;
  x := 1; raise notice 'assignment leaves it %', found;
  select v into x from t where id = 2; raise notice 'select %', found;
  delete from t where id = 9; raise notice 'delete none %', found;
  delete from t where id = 3; raise notice 'delete %', found;
  perform 1 from t where id = 9; raise notice 'perform none %', found;
  for i in 1 .. 1 loop raise notice 'in the loop %', found; end loop;
  raise notice 'loop %', found;
  for i in 1 .. 0 loop null; end loop; raise notice 'no loop %', found;
  for x in select id from t loop update t set v = 0 where id = 9; end loop; raise notice 'query loop %', found;
  for x in select id from t where id = 9 loop null; end loop; raise notice 'empty query loop %', found;
  insert into t select id + 10, v from t; raise notice 'insert select %', found;
  insert into t select id, v from t where false; raise notice 'insert select none %', found;
  found := true; raise notice 'set by hand %', found;
end $$;
call p();
create function f() returns boolean language plpgsql as $$ begin perform 1 where false; return found; end $$;
create procedure q() language plpgsql as $$
declare
  x boolean;
begin
  perform 1;
  x := f();
  raise notice '% %', x, found;
  call p();
  raise notice '%', found;
end $$;
delete from t where id > 10;
call q();

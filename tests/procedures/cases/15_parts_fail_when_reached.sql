-- A part of a statement that cannot be run fails when it is reached: conditions in their order, defaults in theirs.
create table t (id int primary key, v int);
insert into t values (1, 10);
create procedure branches(a int) language plpgsql as $$
begin
  if a = 1 then raise notice 'one';
  elsif nothing(a) then raise notice 'never';
  elsif a = 3 then raise notice 'three';
  else raise notice 'else';
  end if;
end $$;
call branches(1);
call branches(3);
create procedure arms(a int) language plpgsql as $$
begin
  case a
    when 1 then raise notice 'one';
    when 'x' then raise notice 'never';
    else raise notice 'else';
  end case;
end $$;
call arms(1);
call arms(2);
create procedure in_a_loop() language plpgsql as $$
begin
  for i in 1 .. 3 loop
    raise notice 'turn %', i;
    if i = 2 then insert into later values (i); end if;
  end loop;
end $$;
call in_a_loop();
create procedure caught() language plpgsql as $$
begin
  begin
    update t set v = 11;
    insert into later values (1);
  exception when undefined_table then raise notice 'caught %', sqlerrm;
  end;
  raise notice '%', (select v from t where id = 1);
end $$;
call caught();
create procedure columns() language plpgsql as $$
declare
  r record;
begin
  raise notice 'before';
  select nothing into r from t;
  raise notice 'after %', r.nothing;
end $$;
call columns();
create procedure loops(a int) language plpgsql as $$
begin
  while a > 0 and nothing loop a := a - 1; end loop;
end $$;
call loops(0);
create procedure in_declarations() language plpgsql as $$
declare
  a int := 1;
  b int := 'b';
begin
  raise notice 'never %', a;
end $$;
call in_declarations();
create procedure in_an_inner_block() language plpgsql as $$
begin
  raise notice 'begins';
  declare
    b date := 'no date';
  begin
    raise notice 'never';
  end;
end $$;
call in_an_inner_block();
create procedure calls(a int) language plpgsql as $$
begin
  if a > 0 then call nobody(a); end if;
  raise notice 'called nobody';
end $$;
call calls(0);
call calls(1);
create procedure asserts(a int) language plpgsql as $$ begin assert a > 0, 'a is ' || a; assert a < 5; end $$;
call asserts(1);
call asserts(0);
call asserts(7);
create function bad_result(a int) returns int language plpgsql as $$ begin if a = 0 then return 'x'; end if; return a; end $$;
select bad_result(1);
select bad_result(0);

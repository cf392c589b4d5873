create table t (id int primary key, v int);
create procedure p(name text) language plpgsql as $$
begin
  execute 'delete from ' || name; -- refused: 0A000 EXECUTE
end $$;
create function f(k int) returns int language plpgsql as $$
declare
  n int;
begin

  execute 'select v from t where id = $1' into n using k; -- refused: 0A000 EXECUTE
  return n;
end $$;
create procedure loops() language plpgsql as $$
declare
  r record;
begin
  for r in execute 'select * from t' loop -- refused: 0A000 EXECUTE
    null;
  end loop;
end $$;
create function rows_of() returns setof t language plpgsql as $$
begin
  return query execute 'select * from t'; -- refused: 0A000 EXECUTE
end $$;
-- Deep inside, and after what would be fine.
create procedure nested(a int) language plpgsql as $$
<<outermost>>
begin
  insert into t values (a, 1);
  if a > 0 then
    for i in 1 .. a loop
      begin
        case when a > 5 then null; else
          execute format('select %s', a); -- refused: 0A000 EXECUTE
        end case;
      exception when others then null;
      end;
    end loop;
  end if;
end $$;
create procedure in_a_handler() language plpgsql as $$
begin
  null;
exception when others then
  execute 'select 1'; -- refused: 0A000 EXECUTE
end $$;

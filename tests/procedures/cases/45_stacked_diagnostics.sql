create table t (id int primary key, v int, constraint positive check (v > 0));
insert into t values (1, 1);
create procedure p(k int, x int) language plpgsql as $$
declare
  state text; message text; detail text; hint text; con text; tab text; col text;
begin
  insert into t values (k, x);
  if x = 100 then
    raise exception 'own' using detail = 'own detail', hint = 'own hint';
  end if;
exception when others then
  get stacked diagnostics state = returned_sqlstate, message = message_text, detail = pg_exception_detail,
    hint = pg_exception_hint, con = constraint_name, tab = table_name, col = column_name;
  raise notice '[%] [%] [%] [%] [%] [%] [%]', state, message, detail, hint, con, tab, col;
end $$;
call p(1, 1);
call p(2, 0);
call p(null, 1);
call p(3, 100);
-- either
create procedure outside() language plpgsql as $$ declare s text; begin get stacked diagnostics s = returned_sqlstate; end $$;
call outside();
-- either
create procedure sqlstate_outside() language plpgsql as $$ begin raise notice '%', sqlerrm; end $$;
call sqlstate_outside();

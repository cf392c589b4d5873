-- What is wrong with an option is found when RAISE is run.
create procedure no_condition() language plpgsql as $$ begin raise exception 'x' using errcode = 'no_such_name'; end $$;
call no_condition();
-- either
create procedure twice() language plpgsql as $$ begin raise exception 'x' using message = 'twice'; end $$;
call twice();
create procedure of_null(t text) language plpgsql as $$ begin raise exception 'x' using detail = t; end $$;
-- detail
call of_null('d');
call of_null(null);
create procedure from_variable(c text, m text) language plpgsql as $$ begin raise exception using errcode = c, message = m; end $$;
call from_variable('23505', 'as state');
call from_variable('foreign_key_violation', 'as name');
call from_variable('nonsense', 'as nothing');

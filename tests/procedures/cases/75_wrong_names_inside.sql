create table t (id int primary key, v int);
insert into t values (1, 10);
-- either
-- detail
create procedure no_column() language plpgsql as $$ declare n int; begin select nothing into n from t; end $$;
call no_column();
-- either
create procedure no_table() language plpgsql as $$ begin delete from nothing; end $$;
call no_table();
-- either
-- detail
create procedure no_function() language plpgsql as $$ begin perform nothing(1, 'x'); end $$;
call no_function();
-- either
create procedure no_variable() language plpgsql as $$ declare n int; begin n := m + 1; end $$;
call no_variable();
-- either
-- detail
create procedure no_operator() language plpgsql as $$ declare n int; begin n := 1 + true; end $$;
call no_operator();
-- either
create procedure wrong_columns() language plpgsql as $$ begin insert into t values (1, 2, 3); end $$;
call wrong_columns();
-- either
create procedure no_column_to_set() language plpgsql as $$ begin update t set w = 1; end $$;
call no_column_to_set();
-- either
create procedure several_columns() language plpgsql as $$ declare n int; begin n := (select id, v from t where id = 1); end $$;
call several_columns();
create procedure wrong_condition() language plpgsql as $$ begin if 1 then null; end if; end $$;
call wrong_condition();
-- either
create procedure not_a_condition(n numeric) language plpgsql as $$ begin if n then null; end if; end $$;
call not_a_condition(5);

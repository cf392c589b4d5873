create table t (id int primary key, v int);
insert into t values (1, 1);
create procedure unassigned() language plpgsql as $$ declare r record; begin raise notice '%', r.id; end $$;
-- detail
call unassigned();
-- either
create procedure no_field() language plpgsql as $$ declare r record; begin select id into r from t; raise notice '%', r.v; end $$;
call no_field();
-- either
create procedure no_field_of_row() language plpgsql as $$ declare r t%rowtype; begin raise notice '%', r.nothing; end $$;
call no_field_of_row();
-- either
create procedure assigned_to_none() language plpgsql as $$ declare r t%rowtype; begin r.nothing := 1; end $$;
call assigned_to_none();
create procedure too_long() language plpgsql as $$ declare r t%rowtype; begin r.v := 3000000000; end $$;
call too_long();

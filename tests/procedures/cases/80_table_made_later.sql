-- PostgreSQL looks at tables when the procedure runs.
create procedure fill() language plpgsql as $$ begin insert into later values (1, 'x'); end $$;
call fill();
create table later (id int primary key, v text);
call fill();
select * from later;

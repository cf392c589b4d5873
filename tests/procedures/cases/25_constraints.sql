create table t (id int primary key, v int not null, w varchar(3), constraint positive check (v > 0), constraint w_once unique (w));
create procedure p(k int, x int, y text) language plpgsql as $$ begin insert into t values (k, x, y); end $$;
call p(1, 1, 'a');
-- detail
call p(1, 1, 'b');
-- detail
call p(2, 1, 'a');
-- detail
call p(2, null, 'b');
-- detail
call p(2, -1, 'b');
-- detail
call p(2, 1, 'long');
create procedure twice() language plpgsql as $$ begin insert into t values (10, 1, 'x'); insert into t values (10, 1, 'y'); end $$;
call twice();
select * from t order by id;

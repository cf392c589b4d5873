create table t (id int primary key, v int);
insert into t values (1, 10), (2, 20);
create function touch(k int) returns int language plpgsql as $$ begin update t set v = v + 1 where id = k; return 1; end $$;
create procedure p() language plpgsql as $$
begin
  perform touch(1);
  perform touch(id) from t;
  perform 1 from t where v > 1000; raise notice '%', found;
  perform 1 from t where v > 10; raise notice '%', found;
  perform count(*) from t where v > 1000; raise notice '%', found;
end $$;
call p();
select * from t order by id;
-- either
-- detail
create procedure q() language plpgsql as $$ begin select id from t; end $$;
call q();
-- either
create procedure r() language plpgsql as $$ begin select touch(1); end $$;
call r();
select * from t order by id;

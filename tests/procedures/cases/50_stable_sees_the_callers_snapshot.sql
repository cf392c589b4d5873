-- What is stable sees the table as the statement that called it did; what is volatile sees each change.
create table t (id int primary key, v int);
insert into t values (1, 0);
create function bump() returns int language plpgsql volatile as $$ declare n int; begin update t set v = v + 1 returning v into n; return n; end $$;
create function sees() returns int language plpgsql volatile as $$ begin return (select v from t where id = 1); end $$;
create function stable_sees() returns int language plpgsql stable as $$ begin return (select v from t where id = 1); end $$;
select bump(), sees();
select bump(), stable_sees();
create procedure p() language plpgsql as $$
declare
  a int;
begin
  update t set v = 100;
  a := stable_sees();
  raise notice '%', a;
  select bump() into a;
  a := stable_sees();
  raise notice '%', a;
end $$;
call p();

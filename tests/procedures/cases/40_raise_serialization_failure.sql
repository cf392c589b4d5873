-- What a procedure raises itself is no lost validation: it runs once, and the client hears of it.
create sequence runs;
create table t (id int primary key);
create procedure p(state text) language plpgsql as $$
begin
  perform nextval('runs');
  insert into t values (1);
  raise exception 'raised by hand' using errcode = state;
end $$;
call p('40001');
call p('serialization_failure');
call p('40P01');
begin;
call p('40001');
rollback;
select nextval('runs');
select count(*) from t;
create procedure again() language plpgsql as $$
declare
  tries int := 0;
begin
  loop
    begin
      tries := tries + 1;
      if tries < 3 then
        raise serialization_failure;
      end if;
      exit;
    exception when serialization_failure then
      raise notice 'try % failed', tries;
    end;
  end loop;
  raise notice 'try % succeeded', tries;
end $$;
call again();

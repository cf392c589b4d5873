create table t (id int primary key, v int);
insert into t values (1, 10), (2, 20), (3, 20);
create procedure p(x int) language plpgsql as $$
declare
  k int := -1;
begin
  select id into strict k from t where v = x;
  raise notice '% %', k, found;
end $$;
call p(10);
call p(11);
-- detail
call p(20);
create procedure changes(x int) language plpgsql as $$
declare
  k int := -1;
begin
  update t set v = v + 1 where v = x returning id into strict k;
  raise notice 'updated %', k;
end $$;
call changes(10);
call changes(10);
-- detail
call changes(20);
create procedure handles(x int) language plpgsql as $$
declare
  k int := -1;
begin
  begin
    select id into strict k from t where v = x;
  exception
    when no_data_found then raise notice 'none, %', k;
    when too_many_rows then raise notice 'many, %', k;
  end;
end $$;
call handles(1);
call handles(20);
select * from t order by id;

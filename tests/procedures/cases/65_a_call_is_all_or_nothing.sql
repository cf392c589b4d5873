create table t (id int primary key, v int);
create procedure fill(n int, bad int) language plpgsql as $$
begin
  for i in 1 .. n loop
    insert into t values (i, 100 / (bad - i));
  end loop;
end $$;
call fill(10, 8);
select count(*) from t;
call fill(7, 8);
select count(*), sum(v) from t;
create procedure caller() language plpgsql as $$
begin
  delete from t;
  call fill(3, 3);
end $$;
call caller();
select count(*) from t;
create sequence s;
create procedure numbers_are_not_given_back() language plpgsql as $$ begin perform nextval('s'); raise exception 'undone'; end $$;
call numbers_are_not_given_back();
call numbers_are_not_given_back();
select nextval('s');

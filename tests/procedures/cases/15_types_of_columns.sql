create table t (id int primary key, name varchar(5), price numeric(6,2));
insert into t values (1, 'one', 1.50);
create procedure put(k t.id%type, n t.name%type, p t.price%type) language plpgsql as $$
declare
  n2 t.name%type;
begin
  raise notice '% % %', k, n, p;
  n2 := n;
  insert into t values (k, n2, p);
end $$;
call put(2, 'two', 2.345);
call put(3, 'longer', 3);
create function price_of(k t.id%type) returns t.price%type language sql as $$ select price from t where id = k $$;
select price_of(2);
select * from t order by id;
create procedure p(a t.nothing%type) language plpgsql as $$ begin end $$;
create procedure p(a nothing.id%type) language plpgsql as $$ begin end $$;

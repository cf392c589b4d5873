create table account (id int primary key, owner text, balance numeric(8,2));
insert into account values (1, 'ann', 10), (2, 'bob', 20);
create function describe(a account) returns text language plpgsql as $$ begin return a.owner || ' has ' || a.balance; end $$;
select describe(account) from account order by id;
select describe(a) from account a where id = 2;
select describe(row(3, 'cid', 5));
create procedure p() language plpgsql as $$
declare
  a account;
begin
  select * into a from account where id = 1;
  a.balance := a.balance + 1;
  raise notice '%', describe(a);
end $$;
call p();

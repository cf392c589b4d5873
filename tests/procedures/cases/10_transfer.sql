-- Money moves or does not; the sum stays.
create table account (id int primary key, owner varchar(20) not null, balance numeric(12,2) not null);
insert into account values (1, 'ann', 100), (2, 'bob', 50.50), (3, 'cid', 0);
create procedure transfer(payer int, payee int, amount numeric) language plpgsql as $$
declare
  available numeric;
begin
  if amount <= 0 then
    raise exception 'amount % is not positive', amount using errcode = '22023';
  end if;
  select balance into available from account where id = payer for update;
  if not found then
    raise exception 'no account %', payer using errcode = 'no_data_found';
  end if;
  if available < amount then
    raise exception 'insufficient funds' using
      detail = available || ' of ' || amount, hint = 'Pay in first.', errcode = 'P0100';
  end if;
  update account set balance = balance - amount where id = payer;
  update account set balance = balance + amount where id = payee;
  if not found then
    raise exception 'no account %', payee using errcode = 'no_data_found';
  end if;
end $$;
call transfer(1, 2, 30.25);
call transfer(2, 3, 80.75);
-- detail
call transfer(2, 3, 0.01);
call transfer(1, 9, 1);
call transfer(9, 1, 1);
call transfer(1, 2, -5);
call transfer(1, 1, 10);
call transfer(1, 2, 69.75);
select id, owner, balance from account order by id;
select sum(balance) from account;

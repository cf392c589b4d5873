-- A customer by number or by last name: the middle one of those who are called so, in the order of first names.
create table warehouse (id int primary key, name varchar(10) not null, ytd numeric(12,2) not null);
create table customer (w int, id int, first varchar(16) not null, last varchar(16) not null, credit char(2) not null,
  balance numeric(12,2) not null, payments int not null, data varchar(40) not null, primary key (w, id));
create index customer_last on customer (w, last, first);
create table history (w int, customer int, amount numeric(6,2), data varchar(24));
insert into warehouse values (1, 'one', 300);
insert into customer values
  (1, 1, 'Carl', 'BAR', 'GC', -10, 1, 'first'), (1, 2, 'Abe', 'BAR', 'BC', -10, 1, 'second'),
  (1, 3, 'Bert', 'BAR', 'BC', -10, 1, 'third'), (1, 4, 'Zoe', 'OUGHT', 'GC', -10, 1, 'fourth');
create procedure payment(w_id int, amount numeric, inout c_id int, inout c_last varchar, out c_credit char(2), out c_balance numeric)
language plpgsql as $$
declare
  named int;
  w_name text;
  old_data customer.data%type;
begin
  update warehouse set ytd = ytd + amount where id = w_id returning name into strict w_name;
  if c_id is null then
    select count(*) into named from customer where w = w_id and last = c_last;
    select id into c_id from customer where w = w_id and last = c_last order by first limit 1 offset (named - 1) / 2;
    if not found then
      raise exception 'nobody is called %', c_last;
    end if;
  end if;
  select last, credit, balance, data into strict c_last, c_credit, c_balance, old_data from customer where w = w_id and id = c_id;
  c_balance := c_balance - amount;
  if c_credit = 'BC' then
    update customer set balance = c_balance, payments = payments + 1,
      data = substr(c_id || ' ' || w_id || ' ' || amount || '|' || old_data, 1, 40)
      where w = w_id and id = c_id;
  else
    update customer set balance = c_balance, payments = payments + 1 where w = w_id and id = c_id;
  end if;
  insert into history values (w_id, c_id, amount, w_name || '    ' || c_last);
end $$;
call payment(1, 12.34, 1, null, null, null);
call payment(1, 100, null, 'BAR', null, null);
call payment(1, 100, null, 'OUGHT', null, null);
call payment(1, 100, null, 'ABLE', null, null);
call payment(2, 100, 1, null, null, null);
call payment(1, 100, 9, null, null, null);
select * from warehouse;
select * from customer order by id;
select * from history order by customer;

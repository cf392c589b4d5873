-- The oldest order of each district, by a loop that skips districts without one.
create table new_orders (d int, id int, primary key (d, id));
create table orders (d int, id int, customer int not null, carrier int, primary key (d, id));
create table order_line (d int, id int, line int, amount numeric(6,2) not null, primary key (d, id, line));
create table customer (id int primary key, balance numeric(12,2) not null, deliveries int not null);
insert into orders values (1, 1, 5, 3), (1, 2, 5, null), (1, 3, 6, null), (3, 9, 6, null);
insert into new_orders values (1, 2), (1, 3), (3, 9);
insert into order_line values (1, 2, 1, 10.10), (1, 2, 2, 20.20), (1, 3, 1, 5), (3, 9, 1, 7.07);
insert into customer values (5, 0, 0), (6, -1.5, 0);
create procedure delivery(carrier_id int, inout delivered int[]) language plpgsql as $$
declare
  oldest int;
  who int;
  total numeric;
begin
  for district in 1 .. 3 loop
    select id into oldest from new_orders where d = district order by id limit 1 for update;
    continue when not found;
    delete from new_orders where d = district and id = oldest;
    update orders set carrier = carrier_id where d = district and id = oldest returning customer into who;
    select sum(amount) into total from order_line where d = district and id = oldest;
    update customer set balance = balance + total, deliveries = deliveries + 1 where id = who;
    delivered := delivered || oldest;
  end loop;
end $$;
call delivery(4, '{}');
call delivery(5, '{}');
call delivery(6, '{}');
call delivery(7, null);
select * from new_orders;
select * from orders order by d, id;
select * from customer order by id;

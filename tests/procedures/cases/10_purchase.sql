-- An upsert, stock that must not go below zero by a CHECK, and what happens to the rest when it would.
create table stock (item int primary key, quantity int not null, constraint not_below_zero check (quantity >= 0));
create table cart (customer int, item int, quantity int not null, primary key (customer, item));
create table bought (id serial primary key, customer int not null, item int not null, quantity int not null);
insert into stock values (1, 5), (2, 1);
create procedure add_to_cart(who int, what int, many int default 1) language plpgsql as $$
begin
  insert into cart values (who, what, many) on conflict (customer, item) do update set quantity = cart.quantity + excluded.quantity;
end $$;
create procedure purchase(who int, inout bought_items int) language plpgsql as $$
declare
  line record;
begin
  bought_items := 0;
  for line in select item, quantity from cart where customer = who order by item loop
    update stock set quantity = quantity - line.quantity where item = line.item;
    insert into bought (customer, item, quantity) values (who, line.item, line.quantity);
    bought_items := bought_items + 1;
  end loop;
  delete from cart where customer = who;
end $$;
call add_to_cart(7, 1);
call add_to_cart(7, 1, 2);
call add_to_cart(7, 2);
call purchase(7, null);
call purchase(7, null);
call add_to_cart(8, 1);
call add_to_cart(8, 2);
call purchase(8, null);
select * from stock order by item;
select customer, item, quantity from bought order by customer, item;
select * from cart order by customer, item;

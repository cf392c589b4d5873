-- As TPC-C's: a district's counter, an array of items, stock that is filled up, one item in a hundred that is not there.
create table district (w int, d int, tax numeric(4,4) not null, next_order int not null, primary key (w, d));
create table item (id int primary key, name varchar(24) not null, price numeric(5,2) not null);
create table stock (w int, item int, quantity int not null, ytd int not null, orders int not null, remote int not null, primary key (w, item));
create table orders (w int, d int, id int, customer int not null, lines int not null, all_local boolean not null, primary key (w, d, id));
create table new_orders (w int, d int, id int, primary key (w, d, id));
create table order_line (w int, d int, id int, line int, item int not null, supply int not null, quantity int not null, amount numeric(6,2) not null, primary key (w, d, id, line));
insert into district values (1, 1, 0.0500, 3001), (1, 2, 0.1000, 3001);
insert into item select i, 'item ' || i, i * 1.25 from generate_series(1, 10) i;
insert into stock select w, i, 10 + i, 0, 0, 0 from generate_series(1, 2) w, generate_series(1, 10) i;
create procedure new_order(
  home int, district_id int, customer_id int, items int[], supplies int[], quantities int[],
  out order_id int, out total numeric
) language plpgsql as $$
declare
  district_tax district.tax%type;
  price numeric(5,2);
  amount numeric(6,2);
  in_stock int;
  all_local boolean := true;
begin
  total := 0;
  for i in 1 .. array_length(items, 1) loop
    if supplies[i] <> home then
      all_local := false;
    end if;
  end loop;
  update district set next_order = next_order + 1 where w = home and d = district_id
    returning next_order - 1, tax into order_id, district_tax;
  insert into orders values (home, district_id, order_id, customer_id, array_length(items, 1), all_local);
  insert into new_orders values (home, district_id, order_id);
  for i in 1 .. array_length(items, 1) loop
    select item.price into price from item where id = items[i];
    if not found then
      raise exception 'item number is not valid' using errcode = 'P0001', detail = items[i]::text;
    end if;
    select quantity into in_stock from stock where w = supplies[i] and item = items[i] for update;
    if in_stock - quantities[i] >= 10 then
      in_stock := in_stock - quantities[i];
    else
      in_stock := in_stock - quantities[i] + 91;
    end if;
    update stock set quantity = in_stock, ytd = ytd + quantities[i], orders = stock.orders + 1,
      remote = remote + case when supplies[i] = home then 0 else 1 end
      where w = supplies[i] and item = items[i];
    amount := quantities[i] * price;
    total := total + amount;
    insert into order_line values (home, district_id, order_id, i, items[i], supplies[i], quantities[i], amount);
  end loop;
  total := round(total * (1 + district_tax), 2);
end $$;
call new_order(1, 1, 7, array[3, 1, 10], array[1, 1, 1], array[5, 1, 10], null, null);
call new_order(1, 1, 8, array[3, 3], array[2, 1], array[4, 9], null, null);
-- detail
call new_order(1, 2, 9, array[2, 11], array[1, 1], array[1, 1], null, null);
call new_order(1, 2, 9, '{2}', '{1}', '{1}', null, null);
select * from district order by w, d;
select * from orders order by w, d, id;
select count(*) from new_orders;
select * from order_line order by w, d, id, line;
select * from stock where orders > 0 order by w, item;

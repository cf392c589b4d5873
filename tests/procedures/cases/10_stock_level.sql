-- Reads only: a join with a range and a count of different values, as a function.
create table district (id int primary key, next_order int not null);
create table order_line (d int, id int, line int, item int not null, primary key (d, id, line));
create table stock (item int primary key, quantity int not null);
insert into district values (1, 30), (2, 1);
insert into order_line select 1, o, l, (o * l) % 17 + 1 from generate_series(1, 29) o, generate_series(1, 3) l;
insert into stock select i, i * 3 from generate_series(1, 17) i;
create function stock_level(district_id int, threshold int) returns bigint language plpgsql stable as $$
declare
  next int;
  low bigint;
begin
  select next_order into strict next from district where id = district_id;
  select count(distinct s.item) into low from order_line l, stock s
    where l.d = district_id and l.id >= next - 20 and l.id < next and s.item = l.item and s.quantity < threshold;
  return low;
end $$;
select stock_level(1, 15);
select stock_level(1, 1000);
select stock_level(2, 15);
select stock_level(3, 15);
select id, stock_level(id, 20) as low from district order by id;

-- Rows that an outer join has not, as one value; and rows that are alike only in the type in which they are compared.
create table shops (id int primary key, name text)
create table sales (shop int, note text)
insert into shops values (1, 'here'), (2, 'there')
insert into sales values (1, null), (null, null)
select s.id, count(b.*), count(b) from shops s left join sales b on b.shop = s.id group by 1 order by 1
select s.id, json_agg(b), array_to_json(array_agg(row_to_json(b))) from shops s left join sales b on b.shop = s.id group by 1 order by 1
select b.shop, count(s.*), json_agg(s) from shops s right join sales b on b.shop = s.id group by 1 order by 1
select count(s.*), count(b.*), count(*) from shops s full join sales b on b.shop = s.id
select row_to_json(x), to_jsonb(x) from shops s left join (select shop, note as words from sales where shop is null) x on x.shop = s.id order by s.id
select count(b), count(b.*), count(*) from sales b
select row_to_json(b) from sales b order by shop
select s.id, b is null, b.* is null, b is not null from shops s left join sales b on b.shop = s.id order by 1
create table floats (f float8)
create table decimals (n numeric)
insert into floats values (1), (2), (3)
insert into decimals values (1.000000000000000000001), (1), (2), (2.0), (null)
select f from floats where f in (select n from decimals) order by 1
select f from floats where (f, f + 1) in (select n, n + 1 from decimals) order by 1
select count(*) from floats where f not in (select n from decimals where n is not null)
create table padded (c char(4))
insert into padded values ('a'), ('b')
select c from padded where c in (select t from (values ('a'), ('a '), ('c')) v(t)) order by 1
select (select count(*) filter (where inner_c > 0 and outer_c > 2) from (values (1)) t0(inner_c)) from (values (2), (3)) t1(outer_c)
drop table shops, sales, floats, decimals, padded
select a.n, g from (values (1)) a(n) right join lateral generate_series(0, a.n) g on true
select a.n, g from (values (1)) a(n) full join lateral (select n as m) g on true
select a.n, g from (values (1)) a(n) left join lateral generate_series(0, a.n) g on true

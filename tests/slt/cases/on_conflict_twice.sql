-- A unique index that has a column twice is found by that column.
create table oe (a int, b int);
create unique index on oe (b, b);
insert into oe values (1, 1) on conflict (b) do nothing;
insert into oe values (2, 1) on conflict (b, b) do update set a = excluded.a returning a, b;
insert into oe values (2, 1) on conflict (a) do nothing;
drop table oe;

create table author (id int primary key, name varchar(80) not null unique, born date, note text default 'none')
create table book (id int primary key, title text not null, price numeric(8,2) default 0 check (price >= 0), author_id int references author(id), kind varchar(10) default 'novel' check (kind in ('novel','poem')))
insert into author (id, name, born) values (1, 'Ann', '1970-01-01'), (2, 'Bob', '1980-02-02')
insert into book (id, title, price, author_id) values (1, 'A', 10, 1), (2, 'B', 20, 1), (3, 'C', 5.5, 2)
create view v as select * from author
select * from v order by id
alter table author add column extra int default 7
select * from v order by id
create view bn (who, titles, total) as select a.name, count(*), sum(b.price) from author a join book b on b.author_id = a.id group by a.name
select * from bn order by 1
select who from bn where total > 10
select x.who, v.id from bn x join v on v.name = x.who order by 2
create or replace view v as select id, name, born, note, extra from author where id > 1
select * from v
create or replace view v as select id from author
create or replace view v as select id as x, name, born, note, extra from author
create view v as select 1
create view w as select name from v
create view two as select id, id from author
create view none (a, b) as select 1
create or replace view book as select 1
select pg_get_viewdef('v'), pg_get_viewdef('bn'::regclass, true), pg_get_viewdef('w')
select viewname, definition from pg_views where schemaname = 'public' order by viewname
select table_name, view_definition, is_updatable from information_schema.views where table_name = 'bn'
select table_name, table_type from information_schema.tables where table_schema = 'public' order by 1
select column_name, data_type, is_nullable, column_default, numeric_precision from information_schema.columns where table_name in ('book', 'bn') order by table_name, ordinal_position
drop table author
alter table author drop column born
alter table author alter column name type text
drop view v
insert into bn values ('x', 1, 2)
update bn set who = 'y'
delete from bn
drop table v
drop view author
drop view nothing
drop view if exists nothing
alter view w rename to w2
select * from w2
alter view w2 rename column name to nom
select nom from w2
create table copied as select id, title, price * 2 as double from book
select * from copied order by id
create table empty (a, b) as select id, title from book with no data
select count(*) from empty
create table if not exists empty as select 1
create table empty as select 1
create table narrow (a, b) as select 1
select name into names from author
select * from names order by 1
create table listed as values (1, 'x'), (2, null)
select * from listed
create table stars as select * from bn
select who, titles, total from stars order by 1
begin
create view gone as select 1 as one
select * from gone
rollback
select * from gone
drop view v cascade
select * from w2
drop table if exists copied, empty, names, listed, stars
drop view bn
drop table book, author

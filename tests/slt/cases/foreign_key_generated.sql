create table fg_p (id int primary key, code text unique)
create table fg_c (id int primary key, p int default 1 references fg_p on delete set null on update cascade, twice int generated always as (p * 2) stored, note text)
create index fg_expr on fg_c ((p + 100))
create index fg_some on fg_c (note) where p > 2
create unique index fg_one on fg_c (p, note) where p is not null
create table fg_d (id int primary key, p text default 'a' references fg_p (code) on delete set default on update cascade, big text generated always as (upper(p)) stored)
create unique index fg_big on fg_d (big)
insert into fg_p values (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd')
insert into fg_c values (10, 1, default, 'x'), (20, 2, default, 'x'), (30, 3, default, 'y'), (40, 4, default, 'z')
insert into fg_d values (1, 'b'), (2, 'c')
update fg_p set id = 5 where id = 3
select * from fg_c order by id
select id from fg_c where p + 100 = 105
select id from fg_c where p + 100 = 103
select id from fg_c where note = 'y' and p > 2
delete from fg_p where id = 5
select * from fg_c order by id
select id from fg_c where p + 100 = 105
select id from fg_c where note = 'y' and p > 2
select * from fg_d order by id
insert into fg_c values (31, 4, default, 'y')
update fg_p set id = 1004 where id = 4
select id, p, twice from fg_c where p + 100 = 1104 order by id
select * from fg_d where big = 'A'
update fg_p set code = 'zz' where code = 'a'
select * from fg_d order by id
select id from fg_d where big = 'ZZ'
insert into fg_d values (3, 'b')
insert into fg_d values (4, 'zz')
update fg_c set p = 2, note = 'x' where id = 40
insert into fg_p values (7, 'y')
insert into fg_c values (50, 7, default, 'q')
update fg_p set id = id + 1 where id = 7
select p, twice from fg_c where id = 50
delete from fg_p where id in (1, 2, 8)
select id, p, twice, note from fg_c order by id
select id from fg_c where p is not null order by id
create table fg_x (a int, g int generated always as (a) stored references fg_p on delete set null)
create table fg_x (a int, g int generated always as (a) stored references fg_p on update cascade)
create table fg_x (a int, g int generated always as (a) stored references fg_p on delete cascade)
alter table fg_x add foreign key (g) references fg_p on delete set default
drop table fg_x
create table fg_g (id int primary key, k int generated always as (id + 1) stored unique)
create table fg_h (k int references fg_g (k) on update cascade, n int generated always as (-k) stored)
insert into fg_g values (1)
insert into fg_h values (2)
update fg_g set id = 8
select * from fg_h
drop table fg_h, fg_g, fg_d, fg_c, fg_p

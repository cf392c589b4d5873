-- A restart is part of its transaction; values that were given out are not.
create table f (i int generated always as identity primary key, j int)
insert into f (j) values (1), (2), (3)
begin
truncate f restart identity
insert into f (j) values (10) returning i
rollback
insert into f (j) values (4) returning i
truncate f restart identity
insert into f (j) values (5) returning i
create sequence s
select nextval('s'), nextval('s'), nextval('s')
begin
alter sequence s restart
select nextval('s')
rollback
select nextval('s')
begin
savepoint one
alter sequence s restart with 100
select nextval('s'), currval('s')
rollback to one
select nextval('s')
commit
alter sequence s restart with 50
select nextval('s')
select setval('s', 7)
select nextval('s')
begin isolation level repeatable read
select nextval('s')
alter sequence s restart
select nextval('s')
alter sequence s restart with 20
select nextval('s')
commit
select nextval('s')
drop sequence s
create sequence s
select nextval('s')
-- Only reading.
begin read only
select nextval('s')
rollback
begin read only
select setval('s', 50)
rollback
begin read only
select j from f for update
rollback
select nextval('s')
-- What was given last, whatever sequence it came from.
create sequence other start 1000
select nextval('other'), lastval()
select nextval('s')
select lastval() = currval('s'), currval('other')
select setval('s', 77)
select lastval()
select setval('other', 2000)
select lastval()
create table with_key (id serial, v text)
insert into with_key (v) values ('a'), ('b')
select lastval()
drop table with_key
select lastval()
discard sequences
select lastval()
commit and chain
begin
commit and chain
select 1
rollback and chain
rollback
rollback and chain
drop sequence s, other

-- A partition that becomes a table of its own has indexes of what the divided table's were of.

create table detached_all (id int, n int, t text) partition by hash (id);
create table detached_one partition of detached_all for values with (modulus 1, remainder 0);
create unique index on detached_all (id) where n > 5;
create index on detached_all ((n + 1)) where t is not null;
create index on detached_all (t desc, n) include (id);
alter table detached_all add constraint detached_late unique (id, n) deferrable initially deferred;
insert into detached_all select 1, g, 'a' from generate_series(1, 5) g;
alter table detached_all detach partition detached_one;
select c.relname, pg_get_indexdef(c.oid) from pg_index join pg_class c on c.oid = indexrelid where indrelid = 'detached_one'::regclass order by 1;
select conname, pg_get_constraintdef(oid) from pg_constraint where conrelid = 'detached_one'::regclass order by 1;
insert into detached_one values (1, 6, 'b');
insert into detached_one values (1, 7, 'b');
insert into detached_one values (1, 3, 'b');
select count(*) from detached_one where n > 5 and id = 1;
drop table detached_all, detached_one;

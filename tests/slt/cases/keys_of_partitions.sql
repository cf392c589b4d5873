-- What the catalogue says of foreign keys of and to tables with partitions.
create table par (a int, b int, c int, primary key (a, b)) partition by list (a)
create table par1 partition of par for values in (1)
create table par2 partition of par for values in (2) partition by list (b)
create table par21 partition of par2 for values in (1)
create table plain (id int primary key, a int, b int, u int unique, foreign key (a, b) references par)
create table chi (x int references plain (id), y int references plain (u) on delete cascade, z int, foreign key (y, z) references par (a, b) match full on update set null) partition by list (x)
create table chi1 partition of chi for values in (1)
create table chi2 partition of chi for values in (2) partition by list (y)
create table chi21 partition of chi2 for values in (1)
create table self (k int, p int, primary key (k), foreign key (p) references self (k)) partition by list (k)
create table self1 partition of self for values in (1)
alter table chi add constraint chichk check (z > 0)
select constraint_name, table_name, column_name, ordinal_position, position_in_unique_constraint from information_schema.key_column_usage where table_schema = 'public' order by 2, 1, 4
select distinct constraint_name, unique_constraint_name, match_option, update_rule, delete_rule from information_schema.referential_constraints where unique_constraint_name is not null order by 1, 2
select table_name, constraint_name, constraint_type, is_deferrable, initially_deferred, enforced from information_schema.table_constraints where constraint_name not like '%not_null' and table_schema = 'public' order by 1, 2
select constraint_name, table_name, column_name from information_schema.constraint_column_usage where table_schema = 'public' order by 1, 2, 3
select constraint_name, table_name from information_schema.constraint_table_usage where table_schema = 'public' order by 1, 2
select conname, conrelid::regclass, confrelid::regclass, conparentid <> 0, coninhcount, conislocal, connoinherit, contype, conkey, confkey from pg_constraint where connamespace = 'public'::regnamespace order by 1, 2, 3
select information_schema._pg_index_position((select oid from pg_class where relname = 'par_pkey'), 2::smallint)
select information_schema._pg_index_position('plain_pkey'::regclass, 1::smallint), information_schema._pg_index_position('plain_pkey'::regclass, 2::smallint), information_schema._pg_index_position(0, 1::smallint), information_schema._pg_index_position(null, 1::smallint)
select conname, information_schema._pg_index_position(conindid, confkey[1]), information_schema._pg_index_position(conindid, confkey[2]) from pg_constraint where contype = 'f' order by conname, conrelid::regclass::text
select conname, conrelid::regclass, conindid::regclass, pg_get_constraintdef(c.oid), (select conname || conrelid::regclass || confrelid::regclass from pg_constraint p where p.oid = c.conparentid) from pg_constraint c where contype = 'f' order by conname, conrelid::regclass::text
alter table plain add constraint named foreign key (a, b) references par
select conname, confrelid::regclass from pg_constraint where conrelid = 'plain'::regclass and contype = 'f' order by 1
drop table chi, plain, par, self cascade

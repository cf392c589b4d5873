-- SET is undone with what came since a savepoint.
set application_name = 'outside'
begin
savepoint a
set application_name = 'inside'
set local search_path = pg_catalog
savepoint b
set application_name = 'deeper'
show application_name
rollback to b
show application_name
show search_path
rollback to a
show application_name
select current_setting('search_path') = 'pg_catalog'
commit
show application_name
begin
set local application_name = 'local'
savepoint a
set application_name = 'kept'
show application_name
rollback to a
show application_name
release a
commit
show application_name
begin
set local application_name = 'local'
set application_name = 'kept'
commit
show application_name
begin
savepoint a
savepoint b
set application_name = 'released'
release b
rollback to a
show application_name
set application_name = 'again'
rollback to a
show application_name
rollback
show application_name
begin;
savepoint s;
set transaction read only;
show transaction_read_only;
create table savepoint_refused (a int);
rollback to s;
show transaction_read_only;
create table savepoint_made (a int);
savepoint deeper;
set transaction read only;
release deeper;
show transaction_read_only;
insert into savepoint_made values (1);
savepoint s2;
set transaction read only;
savepoint s3;
set transaction read write;
rollback to s3;
show transaction_read_only;
rollback to s2;
insert into savepoint_made values (2);
select * from savepoint_made;
rollback;
begin read only;
savepoint s;
set transaction read write;
rollback;
begin;
set transaction read only;
set transaction read write;
show transaction_read_only;
rollback;

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

-- Large objects through their functions.
select lo_create(42001)
select lo_create(42001)
select lo_unlink(42001)
select lo_unlink(42001)
select lo_create(42001), lo_create(42002)
select loid, pageno, data from pg_largeobject
select oid, lomacl::text from pg_largeobject_metadata order by 1
select lo_unlink(oid) from pg_largeobject_metadata
select lo_creat(-1) > 0, lo_create(0) > 0
select count(lo_unlink(oid)) from pg_largeobject_metadata
select lo_from_bytea(42003, '\x0102030405')
select lo_get(42003), lo_get(42003, 1, 2), lo_get(42003, 3, 100), lo_get(42003, 5, 1), lo_get(42003, 50, 1), lo_get(42003, 0, 0)
select lo_get(42003, -1, 2)
select lo_get(42003, 1, -2)
select lo_get(42004)
select lo_put(42003, 2, '\xffff'), lo_put(42003, 8, 'zz')
select lo_get(42003)
select lo_put(42003, -1, 'x')
select lo_put(42004, 0, 'x')
select lo_put(42003, 0, '')
select lo_get(42003)
select pg_typeof(lo_get(42003)), pg_typeof(lo_put(42003, 0, '')), pg_typeof(lo_open(42003, 262144)), pg_typeof(lo_lseek64(0, 0, 0))
select pg_typeof(lo_creat(1))
select count(*) from pg_largeobject_metadata
select count(lo_unlink(oid)) from pg_largeobject_metadata where oid <> 42003
begin
select lo_open(42003, 131072 | 262144)
select lo_tell(0), lo_tell64(0), lo_lseek(0, 3, 0), lo_tell(0)
select loread(0, 4)
select lo_tell(0)
select lowrite(0, 'hello'), lo_tell(0)
select lo_lseek(0, -2, 1), lo_lseek(0, -2, 2), lo_lseek64(0, 4000, 0)
select loread(0, 10)
select lowrite(0, '\x00ff')
select lo_lseek(0, 0, 2)
select loid, pageno, length(data), encode(data, 'hex') ~ '^0102ffff05000000' from pg_largeobject order by 1, 2
select lo_lseek(0, 3998, 0)
select loread(0, 100)
select loread(0, 100), loread(0, -5), loread(0, 0)
select lo_truncate(0, 4), lo_tell(0), lo_lseek(0, 0, 2)
select lo_get(42003)
select lo_truncate(0, 10)
select lo_get(42003)
select lo_truncate64(0, 5000), lo_lseek(0, 0, 2)
select pageno, length(data) from pg_largeobject order by 1
select lo_truncate(0, 4096)
select pageno, length(data) from pg_largeobject order by 1
select lo_truncate(0, 0)
select pageno, length(data) from pg_largeobject order by 1
select lo_lseek(0, 0, 2), lo_lseek64(0, 0, 0)
select lo_lseek64(0, 4398046511104, 0)
rollback
begin
select lo_open(42003, 131072)
savepoint s
select lo_lseek64(0, 4398046509056, 0)
select lo_tell(0)
rollback to s
select lo_lseek(0, 3, 0)
select lo_tell64(0)
select lo_lseek64(0, 4398046509056, 0)
select lowrite(0, 'x')
rollback to s
select lo_lseek64(0, 4398046509057, 0)
rollback to s
select lo_lseek(0, -1, 0)
rollback to s
select lo_lseek(0, 0, 7)
rollback to s
select lo_truncate(0, -1)
rollback to s
select lo_truncate64(0, 4398046509057)
rollback to s
select lo_truncate(0, 2147483647), lo_lseek64(0, 0, 2)
select lo_lseek(0, 1, 2)
rollback to s
select lo_open(42003, 0)
rollback to s
select lo_open(42004, 262144)
rollback to s
select lo_open(42004, 131072)
rollback to s
select lo_open(42003, 262144), lo_open(42003, 262144), lo_close(1), lo_open(42003, 131072)
select lowrite(2, 'x')
rollback to s
select lo_close(1)
rollback to s
select lo_open(42003, 262144)
select lo_truncate(1, 0)
rollback to s
select lowrite(7, 'x')
rollback to s
select loread(-1, 1)
rollback to s
select lo_tell(2147483647)
rollback to s
select lo_lseek(99, 0, 0)
rollback to s
select lo_truncate(99, 0)
rollback to s
select lo_close(0)
select lo_close(0)
rollback
-- What was opened in a savepoint goes with it, and where others stand stays.
begin
select lo_open(42003, 262144)
savepoint s
select lo_open(42003, 262144), lo_lseek(0, 2, 0)
rollback to s
select lo_tell(0)
select lo_tell(1)
rollback
begin
select lo_open(42003, 262144)
savepoint s
select lo_open(42003, 262144)
release s
select lo_tell(1)
commit
select lo_tell(0)
begin
savepoint s
select lo_create(42005)
rollback to s
select lo_get(42005)
rollback
-- An object that goes closes its descriptors.
begin
select lo_from_bytea(42006, 'abc')
select lo_open(42003, 262144), lo_open(42006, 262144)
select lo_unlink(42006)
select lo_tell(0)
select lo_tell(1)
rollback
-- A writer sees what it has written, and what others have.
begin
select lo_open(42003, 131072), lo_open(42003, 131072)
select lowrite(0, 'one two'), loread(1, 3)
select lowrite(1, 'XYZ'), lo_lseek(0, 0, 0), loread(0, 20)
rollback
-- Without a transaction a descriptor lives for a statement.
select loread(lo_open(42003, 262144), 3)
select loread(0, 3)
select lowrite(lo_open(42003, 131072), 'replaced')
select convert_from(lo_get(42003), 'UTF8')
-- NULL is NULL.
select lo_get(null), lo_open(null, 1), lo_create(null), lo_from_bytea(42007, null), lo_unlink(null)
select * from lo_get(42003)
select length(d) from lo_get(42003) as d
select lo_get(42003, nbytes => 3)
select lo_get()
select lo_nothing(1)
select large_object_next()
select large_object_opened(42003, 131072, 10, null)
select * from large_objects
select * from large_object_pages
call large_object_give(1, 2)
-- One of the user's beside them.
create function lo_get(text) returns text language sql as 'select $1'
select lo_get('5'::text), lo_get(42003, 0, 2)
create function lo_get(oid) returns bytea language sql as 'select null::bytea'
select lo_get(42003), public.lo_get(42003)
drop function public.lo_get(text)
drop function public.lo_get(oid)
-- In tables, routines and views.
create table docs (id int primary key, body oid)
insert into docs select n, lo_from_bytea(0, repeat('page ' || n, n * 500)::bytea) from generate_series(1, 5) n
select id, length(lo_get(body)), md5(lo_get(body)) from docs order by id
create view bodies as select id, lo_get(body, 0, 10) as head from docs
select id, convert_from(head, 'UTF8') from bodies where id > 3 order by id
create function first_of(o oid) returns text language plpgsql as $$ declare fd int; begin fd := lo_open(o, 262144); return convert_from(loread(fd, 6), 'UTF8'); end $$
select id, first_of(body) from docs order by id
create function body_goes() returns trigger language plpgsql as $$ begin perform lo_unlink(old.body); return old; end $$
create trigger body_goes before delete on docs for each row execute function body_goes()
delete from docs where id in (2, 4)
select count(*) from pg_largeobject_metadata m join docs on body = m.oid
select count(*), count(distinct loid) from pg_largeobject where loid <> 42003
do $$ begin perform lo_create(42008); raise exception 'no'; exception when raise_exception then null; end $$
select lo_get(42008)
do $$ declare fd int; begin fd := lo_open(42003, 262144); begin fd := lo_open(42003, 262144); raise exception 'no'; exception when raise_exception then null; end; perform lo_tell(0); perform lo_tell(1); end $$
prepare g(oid, bigint, int) as select lo_get($1, $2, $3)
execute g(42003, 1, 3)
deallocate g
delete from docs
drop view bodies
drop table docs
drop function first_of
drop function body_goes
-- Words about objects.
comment on large object 42003 is 'it''s one'
select obj_description(42003, 'pg_largeobject')
comment on large object 42003 is null
select obj_description(42003, 'pg_largeobject')
comment on large object 42009 is 'none'
create role lo_reader
create role lo_owner
grant select on large object 42003 to lo_reader
select replace(lomacl::text, 'postgres', 'quintet') from pg_largeobject_metadata where oid = 42003
grant all on large object 42003 to lo_reader with grant option
select replace(lomacl::text, 'postgres', 'quintet') from pg_largeobject_metadata where oid = 42003
revoke grant option for update on large object 42003 from lo_reader
select replace(lomacl::text, 'postgres', 'quintet') from pg_largeobject_metadata where oid = 42003
grant select on large object 42003 to public
revoke all on large object 42003 from lo_reader
select replace(lomacl::text, 'postgres', 'quintet') from pg_largeobject_metadata where oid = 42003
grant insert on large object 42003 to lo_reader
grant select on large object 42009 to lo_reader
grant select on large object 42003 to nobody_at_all
grant select on large object 42003 to public with grant option
set role lo_reader
select length(lo_get(42003))
select lo_put(42003, 0, 'x')
select lo_open(42003, 131072)
select lo_unlink(42003)
grant update on large object 42003 to lo_owner
comment on large object 42003 is 'mine'
alter large object 42003 owner to lo_reader
select lo_create(42010)
select lo_put(42010, 0, 'own')
select data from pg_largeobject
select replace(pg_get_userbyid(lomowner), 'postgres', 'quintet') from pg_largeobject_metadata order by oid
reset role
revoke select on large object 42003 from public
set role lo_reader
select lo_get(42003)
select lo_open(42003, 262144)
reset role
alter large object 42010 owner to lo_owner
select pg_get_userbyid(lomowner), replace(lomacl::text, 'postgres', 'quintet') from pg_largeobject_metadata where oid = 42010
grant update on large object 42010 to lo_reader
select replace(lomacl::text, 'postgres', 'quintet') from pg_largeobject_metadata where oid = 42010
alter large object 42010 owner to lo_reader
select replace(lomacl::text, 'postgres', 'quintet') from pg_largeobject_metadata where oid = 42010
alter large object 42009 owner to lo_owner
select lo_unlink(42010), lo_unlink(42003)
drop role lo_reader
drop role lo_owner
select count(*) from pg_largeobject_metadata
select count(*) from pg_largeobject
select proname, pg_get_function_arguments(oid), prorettype::regtype, provolatile, proisstrict from pg_proc where proname ~ '^lo(_|read|write)' order by oid
select 'lo_open'::regproc, 'lo_get(oid)'::regprocedure

-- USAGE of the system's types.
create role r5
create role r6
grant usage on type int4 to r5
grant usage on type pg_catalog.text to r5 with grant option
revoke usage on type int4 from public
select typname, replace(typacl::text, current_user, 'me') from pg_type where typname in ('int4', 'text', 'varchar') order by 1
set role r5
create temp table x (a int4)
grant usage on type text to r6
grant usage on type int4 to r6
grant usage on type int8 to r6
create temp table x2 (a int4[])
reset role
select has_type_privilege('r6', 'int4', 'usage'), has_type_privilege('r5', 'int4', 'usage'), has_type_privilege('r6', 'int8', 'usage with grant option')
set role r6
create temp table y (a int4)
create temp table y (a int4[])
create domain pg_temp.d as int4
create type pg_temp.c as (a text, b int4)
create function pg_temp.f(int4) returns text language sql as 'select null'
create function pg_temp.f(text) returns int4 language sql as 'select null'
create temp table y (a bigint)
alter table y alter a type int4
alter table y add b int4
select '1'::int4
reset role
grant usage on type int4 to public
revoke usage on type int4 from r5
revoke usage on type text from r5
revoke usage on type text from r5 cascade
select typname, replace(typacl::text, current_user, 'me') from pg_type where typname in ('int4', 'text') order by 1
grant usage on type _int4 to r5
grant usage on type nosuch to r5
grant usage on domain int4 to r5
grant select on type int4 to r5
grant all on type date to r5
drop role r5
drop owned by r5
drop role r5
select typname, replace(typacl::text, current_user, 'me') from pg_type where typname in ('date', 'int4', 'text') order by 1
drop owned by r6
drop role r6

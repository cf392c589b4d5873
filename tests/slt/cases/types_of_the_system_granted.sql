-- USAGE of the system's types.
create role typed_a
create role typed_b
grant usage on type int4 to typed_a
grant usage on type pg_catalog.text to typed_a with grant option
revoke usage on type int4 from public
select typname, replace(typacl::text, current_user, 'me') from pg_type where typname in ('int4', 'text', 'varchar') order by 1
set role typed_a
create temp table x (a int4)
grant usage on type text to typed_b
grant usage on type int4 to typed_b
grant usage on type int8 to typed_b
create temp table x2 (a int4[])
reset role
select has_type_privilege('typed_b', 'int4', 'usage'), has_type_privilege('typed_a', 'int4', 'usage'), has_type_privilege('typed_b', 'int8', 'usage with grant option')
set role typed_b
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
revoke usage on type int4 from typed_a
revoke usage on type text from typed_a
revoke usage on type text from typed_a cascade
select typname, replace(typacl::text, current_user, 'me') from pg_type where typname in ('int4', 'text') order by 1
grant usage on type _int4 to typed_a
grant usage on type nosuch to typed_a
grant usage on domain int4 to typed_a
grant select on type int4 to typed_a
grant all on type date to typed_a
drop role typed_a
drop owned by typed_a
drop role typed_a
select typname, replace(typacl::text, current_user, 'me') from pg_type where typname in ('date', 'int4', 'text') order by 1
drop owned by typed_b
drop role typed_b

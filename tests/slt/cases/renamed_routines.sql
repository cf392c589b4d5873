-- Functions and procedures are renamed, and are found by their new names alone.
create function f(a int) returns int language sql as 'select a + 1'
create function f(a text) returns text language sql as 'select a || ''!'''
create procedure p(a int) language plpgsql as $$ begin insert into done values (a); end $$
create table done (n int)
alter function f(int) rename to "G h"
select "G h"(1), f('x')
select f(1)
alter function f rename to "G h"
select "G h"('y'), "G h"(2)
alter function "G h"(int) rename to "G h"
alter function nope(int) rename to x
alter function p(int) rename to q
alter procedure p rename to q
call q(3)
call p(3)
select n from done
alter routine q(int) rename to r
call r(4)
select proname, pg_get_function_identity_arguments(oid), prosrc from pg_proc where proname in ('f', 'G h', 'p', 'q', 'r') order by 1, 2
create or replace function "G h"(a int) returns int language sql as 'select a + 5'
select "G h"(1)
drop function "G h"(int), "G h"(text)

-- A strict function that returns void and is given a NULL returns NULL; one of SQL gives NULL always.
create function void_strict(int) returns void language plpgsql strict as $$ begin null; end $$
create function void_strict_sql(int) returns void language sql strict as $$ select $1 $$
create function void_lenient(int) returns void language plpgsql as $$ begin null; end $$
select void_strict(null), void_strict(null) is null, void_strict(1) is null
select void_strict_sql(null) is null, void_strict_sql(1) is null, void_lenient(null) is null
select * from void_strict(null)
select x, void_strict(x), void_strict(x) is null from (values (1), (null), (2)) v(x)
select count(void_strict(x)) from (values (1), (null), (2)) v(x)
create function void_told(int) returns boolean language plpgsql as $$ declare t boolean; begin select void_strict($1) is null into t; perform void_strict($1); return t; end $$
select void_told(null), void_told(1)
drop function void_strict(int), void_strict_sql(int), void_lenient(int), void_told(int)

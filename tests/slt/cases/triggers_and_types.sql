-- The type of a column that a trigger names stays.
create function tt_new() returns trigger language plpgsql as $$begin return new; end$$;
create table tt (a int, b int, c int);
create trigger tt_of before update of a on tt for each row execute function tt_new();
create trigger tt_when before update on tt for each row when (new.b > 0) execute function tt_new();
alter table tt alter a type bigint;
alter table tt alter b type bigint;
alter table tt alter b type bigint using b, alter a type bigint;
alter table tt alter a set data type int using a + 1;
alter table tt alter c type bigint;
drop trigger tt_when on tt;
alter table tt alter b type bigint;
drop table tt;
drop function tt_new();

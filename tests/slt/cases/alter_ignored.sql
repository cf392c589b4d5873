-- Commands that change nothing are of tables and columns that are there.
create table alter_ignored (a int, b text);
alter table alter_ignored alter a set statistics 10;
alter table alter_ignored alter b set storage plain, alter a set statistics 20;
alter table alter_ignored alter c set statistics 10;
alter table alter_ignored alter c set storage plain;
alter table alter_ignored_not alter a set statistics 10;
alter table alter_ignored_not alter b set storage plain;
alter table if exists alter_ignored_not alter a set statistics 10;
drop table alter_ignored;

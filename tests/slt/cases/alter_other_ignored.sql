-- Forms of ALTER INDEX, SEQUENCE and VIEW that change nothing are of relations that are there, and of their kind.
create table aoi(a int primary key, b text)
create view aoi_view as select a from aoi
create sequence aoi_seq
create materialized view aoi_mat as select 1 x
create index aoi_index on aoi(b)
create index aoi_expression on aoi((lower(b)), b)
alter index aoi_not set (fillfactor = 70)
alter index if exists aoi_not set (fillfactor = 70)
alter index aoi_not reset (fillfactor)
alter index aoi set (fillfactor = 70)
alter index aoi_view set (fillfactor = 70)
alter index aoi_seq set (fillfactor = 70)
alter index aoi_index set (fillfactor = 70)
alter index aoi_index set (something = 70)
alter index aoi_index set (fillfactor = 7)
alter index aoi_index reset (fillfactor)
alter index aoi_index alter column 1 set statistics 100
alter index aoi_expression alter column 1 set statistics 100
alter index aoi_expression alter column 2 set statistics 100
alter index aoi_expression alter column 3 set statistics 100
alter index aoi_not alter column 1 set statistics 100
alter index aoi alter column 1 set statistics 100
alter index aoi_index alter column 2 set statistics 100
alter sequence aoi_not set logged
alter sequence if exists aoi_not set logged
alter sequence aoi set logged
alter sequence aoi_seq set logged
alter sequence aoi_seq set unlogged
alter view aoi_not set (security_barrier = true)
alter view if exists aoi_not set (security_barrier = true)
alter view aoi set (security_barrier = true)
alter view aoi_mat set (security_barrier = true)
alter view aoi_seq set (security_barrier = true)
alter view aoi_view set (security_barrier = true)
alter view aoi reset (security_barrier)
alter materialized view aoi_not set (fillfactor = 70)
alter materialized view if exists aoi_not set (fillfactor = 70)
alter materialized view aoi set (fillfactor = 70)
alter materialized view aoi_view set (fillfactor = 70)
alter materialized view aoi_mat set (fillfactor = 70)
alter materialized view aoi_mat cluster on aoi_not
alter materialized view aoi_mat set without cluster
alter materialized view aoi set without cluster
alter materialized view aoi_mat alter column x set statistics 10
alter materialized view aoi_mat alter column y set statistics 10
alter materialized view aoi_mat alter column y set storage plain
alter table aoi_view alter a set statistics 10
alter table aoi_view cluster on aoi_index
alter table aoi_view set logged
alter table aoi_seq set logged
alter table aoi_index alter column 1 set statistics 10
alter table aoi_seq alter last_value set statistics 10
alter table aoi_view alter a set storage plain
alter table aoi_view set without cluster
alter table aoi_index set without cluster
alter table aoi_view replica identity full
alter table aoi cluster on aoi_index
alter table aoi cluster on aoi_not
drop materialized view aoi_mat
drop table aoi cascade
drop sequence aoi_seq

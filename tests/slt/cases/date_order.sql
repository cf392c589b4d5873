-- In which order the parts of a date stand that does not begin with its year.
set datestyle = 'ISO, DMY'
show datestyle
select '01/02/2024'::date, '3-4-2024'::date, '31.12.2024 10:00'::timestamp, date '2024-02-01', '1 Feb 2024'::date
select '{01/02/2024,NULL,"2/3/2024"}'::date[], '{1/2/2024 10:00}'::timestamp[]
select '01/13/2024'::date
select '2024-13-01'::date
set timezone = 'UTC'
select '05/06/2024 10:00+02'::timestamptz, array['01/02/2024','02/01/2024']::date[]
create table dor(id int primary key, d date)
insert into dor values (1, '01/02/2024'), (2, '2024-01-02'), (3, date '2-1-2024')
select id from dor where d = '01/02/2024' order by id
select id from dor where d in ('02/01/2024') order by id
create function dof(t text) returns date language plpgsql as $$ begin return t::date; end $$
select dof('03/04/2024')
set datestyle = 'MDY'
select dof('03/04/2024'), '01/02/2024'::date
select id from dor where d = '01/02/2024' order by id
set datestyle = 'ISO'
show datestyle
set datestyle = 'ISO, YMD'
select '01/02/2024'::date
select '2024/02/01'::date
set datestyle = 'european'
show datestyle
select '01/02/2024'::date
reset datestyle
show datestyle
select '01/02/2024'::date
begin
set local datestyle = 'ISO, DMY'
select '01/02/2024'::date
rollback
select '01/02/2024'::date
drop function dof
drop table dor
reset timezone

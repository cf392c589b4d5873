-- CURRENT_TIMESTAMP(3) and its kin in definitions.
create table p7 (a timestamptz(3) default current_timestamp(3), b time default localtime(0), c timestamp default localtimestamp(2), d timetz default current_time(1), e date default current_date, f timestamptz default current_timestamp, g timestamp default localtimestamp, h time default localtime, i timetz default current_time, j timestamptz default now(), check (a < current_timestamp(2)), check (c <> localtimestamp))
select pg_get_expr(adbin, adrelid) from pg_attrdef where adrelid = 'p7'::regclass order by adnum
select pg_get_constraintdef(oid) from pg_constraint where conrelid = 'p7'::regclass order by conname
create view v7 as select current_timestamp(3) a, localtime(0) b, localtimestamp(2) c, current_time(1) d, current_date e, current_timestamp f, localtimestamp g, localtime h, current_time i, now() j where current_timestamp(1) > localtimestamp(1) and current_date + 1 > localtimestamp
select pg_get_viewdef('v7')
select pg_get_viewdef('v7', true)
select column_name, column_default from information_schema.columns where table_name = 'p7' order by ordinal_position
select attname, format_type(atttypid, atttypmod) from pg_attribute where attrelid = 'v7'::regclass order by attnum
create view v8 as select current_timestamp(6)::date a, extract(epoch from current_timestamp(0)) b, current_timestamp(3) + interval '1 day' c, least(current_timestamp(3), now()) d
select pg_get_viewdef('v8')
alter table p7 alter a set default current_timestamp(9)
select pg_get_expr(adbin, adrelid) from pg_attrdef where adrelid = 'p7'::regclass and adnum = 1
drop view v7, v8

select interval '1 day'
select interval '1 year 2 mons 3 days 04:05:06.789'
select interval '-1 mons +2 days'
select interval '1-2'
select interval '1-2 3 4:05:06'
select interval '-1-2 +3 -4:05:06'
select interval 'P1Y2M3DT4H5M6.5S'
select interval '90' day
select interval '1' year
select interval '1.5 months'
select interval '1.75 weeks'
select interval '2 weeks ago'
select interval '1 day 2 hours 3 minutes 4.5 seconds ago'
select interval '@ 1 minute'
select interval '5'
select interval '5:30'
select interval '1.5:30'
select interval 'foo'
select interval ''
select interval '1 day 1 day'
select interval '99999999999 years'
select interval '1 decade', interval '1 century', interval '1 millennium'
select interval '3 us', interval '3 ms'
select interval '1' hour to second
select interval '1:2' minute to second
select interval '1 2:03' day to minute
select interval '10.123456789 secs'
select interval(3) '10.123456789 secs'
select interval '1 year 3 months 5 days 04:05:06' year to month
select interval '1 year 3 months 5 days 04:05:06' year
select interval '1 year 3 months 5 days 04:05:06' day
select interval '1 year 3 months 5 days 04:05:06' hour
select interval '1 day' + interval '2 hours', interval '1 day' - interval '2 days', -interval '1 day 2 hours'
select interval '1 day' * 1.5, 2.5 * interval '1 month', interval '1 month' / 7, interval '1 year' / 0
select interval '1 mon' = interval '30 days', interval '1 day' < interval '25 hours', interval '1 mon' > interval '29 days'
select date '2024-01-31' + interval '1 month', date '2024-03-31' - interval '1 month'
select timestamp '2024-01-31 10:00' + interval '1 month 2 hours', timestamptz '2024-01-31 10:00+00' - interval '1 day'
select timestamp '2024-03-01' - timestamp '2024-02-01 12:00', timestamptz '2024-03-01' - timestamptz '2023-02-01 12:00'
select date '2024-01-01' + time '10:00', time '10:00' + interval '15 hours', time '10:00' - time '12:30', time '01:00' - interval '2 hours'
select age(timestamp '2024-03-01', timestamp '2023-01-31'), age(timestamp '2023-01-31', timestamp '2024-03-01')
select age(timestamp '2024-02-29 10:00', timestamp '2000-03-31 11:30:15.5')
select age(timestamptz '2001-04-10', timestamptz '1957-06-13')
select justify_hours(interval '27 hours'), justify_days(interval '35 days'), justify_interval(interval '1 mon -1 hour')
select justify_interval(interval '-35 days 50 hours'), justify_days(interval '1 mon -35 days')
select extract(epoch from interval '1 year 2 mons 3 days 04:05:06.789'), extract(day from interval '3 days'), extract(year from interval '25 mons')
select extract(quarter from interval '7 mons'), extract(hour from interval '100 hours'), extract(millennium from interval '5000 years')
select extract(week from interval '1 day')
select extract(foo from interval '1 day')
select date_part('second', interval '1.5 seconds'), date_part('hour', time '10:20:30'), date_part('day', time '10:20:30')
select date_trunc('hour', interval '3 days 02:47:33'), date_trunc('quarter', interval '17 mons 3 days')
select date_trunc('week', interval '3 days')
select time '10:20:30.123456', time '24:00', time '04:05 PM', time '040506', time '25:00'
select time '10:20:30.6'::time(0), time(2) '10:20:30.126', '10:20'::time
select timetz '10:20:30+02', timetz '10:20:30-05:30', timetz '10:20' , timetz '10:00+00' < timetz '10:00+01'
select timetz '10:20+02' = timetz '08:20+00', timetz '10:20+02' at time zone 'UTC'
select make_interval(1, 2, 3, 4, 5, 6, 7.5), make_interval(days => 10), make_interval(hours => 2, secs => 1.5), make_time(8, 15, 23.5)
select make_timestamp(2013, 7, 15, 8, 15, 23.5), make_timestamptz(2013, 7, 15, 8, 15, 23.5), make_timestamptz(2013, 7, 15, 8, 15, 23.5, 'Europe/Berlin')
select make_time(25, 0, 0)
select make_date(2024, 2, 30)
select date_bin('15 minutes', timestamp '2020-02-11 15:44:17', timestamp '2001-01-01')
select timestamp '2024-01-01 10:00' at time zone interval '2 hours'
select '10:30'::time::interval, interval '26:30'::time, timestamp '2024-01-01 10:11:12'::time, timestamptz '2024-01-01 10:11:12+00'::timetz
select sum(x), avg(x), min(x), max(x) from (values (interval '1 day'), (interval '2 hours'), (null)) v(x)
select now() - now(), current_time = current_time, localtime = localtime, age(now()) is not null
create table iv (id int primary key, i interval, t time, z timetz, p interval day to second(3), q time(3))
insert into iv values (1, '1 day', '10:00', '10:00+02', '1 2:03:04.56789', '10:11:12.3456'), (2, '24:00', '09:00', '11:00+03', null, null), (3, '-1 month', null, null, '1 year', '1:00')
select * from iv order by i, id
select * from iv order by t, id
select * from iv order by z desc, id
select id from iv where i = interval '24 hours' order by id
select i, count(*) from iv group by i order by 1
create table ik (i interval primary key, t time unique)
insert into ik values ('1 day', '1:00')
insert into ik values ('24:00', '2:00')
insert into ik values ('25:00', '1:00')
insert into ik values ('1 mon', '3:00'), ('-1 day', '4:00')
select * from ik order by i
select * from ik where i > '1 hour' order by i
select t from ik where t between '02:00' and '03:30'
select array[interval '1 day', '2 hours'], array[time '10:00'], '{1 day,2 hours}'::interval[]
select interval '1 day'::text, '1 day'::text::interval, time '10:00'::text
select format_type(atttypid, atttypmod) from pg_attribute where attrelid = 'iv'::regclass and attnum > 0 order by attnum
select typname, typlen, typcategory, typarray from pg_type where typname in ('interval', 'time', 'timetz', 'json', 'jsonb') order by 1
select interval '1 day' is not null, coalesce(null, interval '1 day'), greatest(interval '1 day', '25:00')
select case when true then interval '1 day' else '2 days' end

select timestamp(9) '2020-01-01 00:00:00.1234567', '1 s'::interval(9), '00:00'::time(7), '10:00'::timetz(8);
create table kept_digits(a timestamp(9), b timetz(8), c timestamptz(7), d interval second(7));
select attname, format_type(atttypid,atttypmod) from pg_attribute where attrelid='kept_digits'::regclass and attnum>0 order by 1;
drop table kept_digits;
select interval '1 2' day to hour, interval '1 2 hours', interval '3 1 2' day to hour;
select interval '1 2' day to hour, interval '1 2 hours', interval '-1 2' day to hour;
select interval '1 2:03' day to minute, interval '1 2:03:04.5' day to second, interval '2:03' hour to minute,interval '5' day to second, interval '1-2' year to month, interval '5' year to month, interval '3' day to hour, interval '3:4' minute to second;
select interval '1 2' day to minute;

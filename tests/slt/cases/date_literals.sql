-- Dates and times in the forms that people write.
set timezone = 'America/Los_Angeles'
select 'Fri Jan 31 12:34:56 1997 PST'::timestamptz
select 'Jan 31 12:34:56.25 1997'::timestamp, 'Friday, January 31, 1997'::date
select '19970131 123456'::timestamp, '19970131T123456-08'::timestamptz, '970131'::date
select '1997.031'::date, '1997.366'::date, '1996.366 12:00'::timestamp
select 'J2450480'::date, 'J2450480.5'::timestamp, 'julian 2450480'::date, 'J2450480-05:00'::timestamptz
select '1/2/3'::date, '1-2-03'::date, '31/1/97'::date
select '31-Jan-97'::date, '97-Jan-31'::date, 'Jan-31-1997'::date
select '1997 Jan 31'::date, '31 Jan 1997'::date, 'Jan 31 97'::date
set datestyle = 'iso, dmy'
select '1/2/3'::date, '31/1/97'::date, '31 1 97 12:00'::timestamp, 'Jan 31 97'::date
select '1/31/97'::date
set datestyle = 'iso, ymd'
select '97/1/31'::date, '97 1 31'::date, '97-Jan-31'::date
select '31/1/97'::date
reset datestyle
select '99 BC Jan 31'::date
select 'January 31, 99 BC'::date, '0099-01-31 BC'::date, 'Jan 31 0099 AD'::date
select '1997-01-31 12:34 AM'::timestamp, '1997-01-31 12:34 pm'::timestamp, '1997-01-31 13:00 pm'::timestamp
select '1997-01-31 34:56.5'::timestamp, '1997-01-31 12:'::timestamp, '1997-01-31 24:00'::timestamp
select '1997-01-31 24:00:01'::timestamp
select '1997-01-31 12:00 MSK'::timestamptz, '1997-01-31 12:00 cest'::timestamptz, '1997-01-31 12:00 NZDT'::timestamptz
select '1997-01-31 12:00 MET DST'::timestamptz, '1997-01-31 12:00 UTC+3'::timestamptz, '1997-01-31 12:00 EST5EDT'::timestamptz
select '1997-07-31 12:00 - 05:30'::timestamptz, '1997-07-31 12:00+0530'::timestamptz, '1997-07-31 12:00 +05:30:15'::timestamptz
select '1997-07-31 12:00+023015'::timestamptz
select '1997-07-31 12:00 Atlantis/City'::timestamptz
select '1997-07-31 12:00 nowhere'::timestamptz
select 'y1997m1d31h12mm34s56.5'::timestamp, '1997-01-31 at 12:00'::timestamp
select '1997-01-31 allballs'::timestamptz, 'epoch'::timestamptz, '+infinity'::timestamp, 'infinity'::date
select '1997-01-31t'::timestamp
select '1997-01-31 1997-02-01'::timestamp
select '12:34 12:35'::time
select '123456'::time, '1234'::time, 't1234'::time, '12:34 PM'::time, '34:56.5'::time
select '12:34 Europe/Berlin'::time
select '1997-07-31 12:34 Europe/Berlin'::timetz, '12:34 EST'::timetz, '12:34+2'::timetz, '1234-08'::timetz
select 'now'::timestamptz = now(), 'now'::date = current_date, 'now'::time = localtime
select 'tomorrow'::date - 'yesterday'::date, 'today 16:30'::timestamp - 'today'::timestamp, 'tomorrow allballs'::timestamptz > now() - interval '1 day'
select 'now now'::timestamp
select 'today'::time
create table moments (at timestamptz, on_day date)
insert into moments values ('Fri Jan 31 12:34:56 1997 PST', '31 Jan 1997'), ('now', 'today')
select at, on_day from moments where at < '1 Jan 2000'
select count(*) from moments where on_day = 'today' and at > 'yesterday'
drop table moments
select '1999 foo 12'::date
select ''::timestamp
select '30 Feb 1997'::date
select '1997-13-01'::date
select '13/13/97'::date
select '294277-01-01'::timestamp
select '5874898-01-01'::date
select timestamp '1997-01-31' at time zone 'MSK', timestamptz '1997-01-31 00:00 utc' at time zone 'akst'

-- Where sequences stand.
create sequence psq start 5 increment 3
select sequencename, last_value from pg_sequences where sequencename = 'psq'
select nextval('psq'), nextval('psq')
select sequencename, start_value, increment_by, last_value from pg_sequences where sequencename = 'psq'
select setval('psq', 100)
select last_value from pg_sequences where sequencename = 'psq'
select setval('psq', 100, false)
select last_value from pg_sequences where sequencename = 'psq'
create role psqr
set role psqr
select last_value from pg_sequences where sequencename = 'psq'
reset role
grant usage on sequence psq to psqr
select setval('psq', 7)
set role psqr
select last_value from pg_sequences where sequencename = 'psq'
reset role
drop sequence psq
drop role psqr

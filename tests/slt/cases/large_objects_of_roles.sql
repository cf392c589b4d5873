-- Roles that own large objects or were granted something on them.
create role lo_roles_one
create role lo_roles_two
select lo_create(43001), lo_create(43002)
alter large object 43001 owner to lo_roles_one
grant select on large object 43002 to lo_roles_two
grant select, update on large object 43002 to lo_roles_one with grant option
drop role lo_roles_one
drop role lo_roles_two
drop role lo_roles_two, lo_roles_one
create table lo_roles_table(a int)
alter table lo_roles_table owner to lo_roles_two
drop owned by lo_roles_two
select oid, lomowner = 'lo_roles_one'::regrole, lomacl is null from pg_largeobject_metadata order by 1
reassign owned by lo_roles_one to lo_roles_two
select oid, lomowner = 'lo_roles_two'::regrole, lomacl is null from pg_largeobject_metadata order by 1
drop owned by lo_roles_one
drop role lo_roles_one
drop role lo_roles_two
begin
drop owned by lo_roles_two
select count(*) from pg_largeobject_metadata where oid = 43001
rollback
select lo_put(43001, 0, 'some bytes')
select count(*) from pg_largeobject where loid = 43001
drop owned by lo_roles_two
select oid from pg_largeobject_metadata order by 1
select count(*) from pg_largeobject where loid = 43001
drop role lo_roles_two
select lo_unlink(43002)

-- CLUSTER, which means nothing here.
create table cl (a int primary key, b int unique)
cluster cl using cl_pkey
cluster cl using cl_b_key
cluster cl using nope
cluster nope using cl_pkey
cluster
begin
cluster
rollback
alter table cl cluster on cl_pkey
cluster cl
cluster verbose cl
create role cluster_nobody
set role cluster_nobody
cluster cl using cl_pkey
reset role
drop role cluster_nobody
create index cl_partial on cl (b) where b > 0
cluster cl using cl_partial
create index cl_hash on cl using hash (b)
cluster cl using cl_hash

-- MERGE from a NATURAL join that keeps rows of its right side.
create table l (k int, a text)
create table r (k int, b text)
create table tgt (k int primary key, v text)
insert into l values (1, 'l1'), (2, 'l2')
insert into r values (2, 'r2'), (3, 'r3')
insert into tgt values (2, 'old')
merge into tgt using l natural right join r on tgt.k = r.k when matched then update set v = coalesce(a, '-') || b when not matched then insert values (r.k, coalesce(a, '-') || b)
select * from tgt order by k
merge into tgt using (l natural right join r) as j on tgt.k = j.k when matched then update set v = v || '!' when not matched then insert values (j.k, j.b)
merge into tgt using l natural full join r on tgt.k = coalesce(l.k, r.k) when matched then update set v = v || '+' when not matched then insert values (coalesce(l.k, r.k), a)
select * from tgt order by k
create table lt (j int, b text, c int)
merge into tgt using l natural right join lt on tgt.k = j when matched then delete
merge into tgt using l natural join r on tgt.k = l.k when matched then update set v = a || b
merge into tgt using l natural left join r on tgt.k = l.k when matched then update set v = a || coalesce(b, 'none')

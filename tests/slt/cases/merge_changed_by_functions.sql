-- Rows that functions have changed which the MERGE itself calls.
create table t (k int primary key, n int)
insert into t values (1, 1), (2, 2)
create function chg(i int) returns int language plpgsql as $$ begin update t set n = n + 7 where k = i; return i; end $$
merge into t using (values (1)) v(x) on k = x when matched then update set n = chg(1)
merge into t using (values (1)) v(x) on k = x when matched and chg(1) = 1 then update set n = 5
merge into t using (values (1)) v(x) on k = x when matched and chg(1) = 1 then delete
merge into t using (values (1), (2)) v(x) on k = x when matched and chg(2) = 2 then update set n = 6
merge into t using (values (1), (2)) v(x) on k = x when matched then update set n = chg(x % 2 + 1)
merge into t using (values (1)) v(x) on k = x and chg(1) = 1 when matched then update set n = 6
merge into t using (values (77)) v(x) on k = x when not matched then insert values (77, chg(1))
merge into t using (values (78), (1)) v(x) on k = x when not matched then insert values (78, chg(1)) when matched then update set n = 0
merge into t using (values (1)) v(x) on k = x when matched and chg(2) = 2 then update set n = 5
merge into t using (values (1)) v(x) on k = x when matched and chg(1) = 1 then do nothing when matched then delete
select * from t order by k
drop function chg(int)

-- suppress_redundant_updates_trigger, which is built in.
create table srt(a int primary key, b text, c numeric, j json, arr int[]);
create trigger z before update on srt for each row execute function suppress_redundant_updates_trigger();
create trigger y before insert on srt for each row execute function suppress_redundant_updates_trigger();
insert into srt values (1,'x',1.0,'{"a":1}','{1}');
drop trigger y on srt;
insert into srt values (1,'x',1.0,'{"a":1}','{1}'),(2,null,null,null,null);
update srt set b=b returning a;
update srt set b='x' where a=1 returning a;
update srt set c=1.00 where a=1 returning a, c;
update srt set c=1.00 where a=1 returning a, c;
update srt set b='y' where a=2 returning a;
update srt set b='y' where a=2 returning a;
create trigger w after update on srt for each row execute function suppress_redundant_updates_trigger();
update srt set b='zz' returning a;
drop trigger w on srt;
select proname, provolatile, proisstrict, prorettype::regtype from pg_proc where proname = 'suppress_redundant_updates_trigger';
select pg_get_triggerdef(oid) from pg_trigger where tgname='z';
drop table srt;

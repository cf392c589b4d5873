-- As SmallBank's: a penalty if both accounts together do not cover it.
create table savings (id int primary key, bal numeric(10,2) not null);
create table checking (id int primary key, bal numeric(10,2) not null);
insert into savings values (1, 10), (2, 0);
insert into checking values (1, 5), (2, 1);
create function write_check(who int, amount numeric) returns text language plpgsql as $$
declare
  total numeric;
begin
  select s.bal + c.bal into total from savings s join checking c on c.id = s.id where s.id = who;
  if total is null then
    return 'unknown';
  elsif total < amount then
    update checking set bal = bal - (amount + 1) where id = who;
    return 'penalty';
  end if;
  update checking set bal = bal - amount where id = who;
  return 'paid';
end $$;
select write_check(1, 15);
select write_check(1, 0.01);
select write_check(3, 1);
select id, write_check(id, 1) from savings order by id;
select * from checking order by id;

-- Cursors that go back.
begin
declare sc scroll cursor for select n from generate_series(1,5) n
fetch 2 from sc
fetch backward 1 from sc
fetch last from sc
fetch prior from sc
fetch absolute 2 from sc
fetch relative 2 from sc
fetch relative -1 from sc
fetch first from sc
fetch 0 from sc
move 2 from sc
move absolute 4 from sc
fetch all from sc
fetch backward all from sc
fetch 0 from sc
fetch -2 from sc
fetch 7 from sc
fetch backward 2 from sc
fetch absolute -2 from sc
fetch absolute 0 from sc
fetch next from sc
move backward all from sc
move forward all from sc
declare e scroll cursor for select 1 where false
fetch first from e
fetch last from e
fetch backward 1 from e
close sc
fetch 1 from sc
rollback
create table c(id int primary key)
insert into c select generate_series(1,3)
begin
declare h scroll cursor with hold for select id from c order by id
fetch 1 from h
delete from c
fetch 1 from h
commit
fetch 2 from h
fetch backward 1 from h
fetch first from h
close h
begin
declare nb no scroll cursor for select 1
fetch backward 1 from nb
rollback
fetch 1 from nb

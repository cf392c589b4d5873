create table log (id int primary key, what text);
create procedure note(n int, what text) language plpgsql as $$
begin
  insert into log values (n, what);
end;
$$;
call note(1, 'one');
call note(1 + 1, 'tw' || 'o');
call note((3), null);
select * from log order by id;
-- The older form of text, the clauses in another order, a label, comments, a semicolon or none after END.
create procedure quoted(n int) as '
<<outer>>
declare
  /* nothing /* nested */ yet */
begin -- and here
  insert into log values (n, ''it''''s'');
end' language 'plpgsql';
call quoted(4);
create procedure "Mixed Case"("An Argument" int) language plpgsql as $body$
begin
  insert into log values ("An Argument", $$dollars$$);
end $body$;
call "Mixed Case"(5);
call mixed_case(6);
select * from log where id > 3 order by id;
create procedure nothing() language plpgsql as $$ begin end $$;
call nothing();
create procedure null_only() language plpgsql as $$ begin null; end $$;
call null_only();

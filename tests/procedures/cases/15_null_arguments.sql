create function plain(a int, b int) returns text language plpgsql as $$
begin
  return coalesce(a::text, 'null') || ' ' || coalesce(b::text, 'null');
end $$;
create function careful(a int, b int) returns text language plpgsql strict as $$ begin return 'called'; end $$;
create function rows_of(a int) returns setof int language plpgsql strict as $$ begin return next a; end $$;
create function called(a int) returns text language plpgsql called on null input as $$ begin return 'called'; end $$;
create function refused(a int) returns text language plpgsql returns null on null input as $$ begin return 'called'; end $$;
select plain(null, 1), plain(null, null);
select careful(1, 2), careful(1, null), careful(null, null);
select * from rows_of(1);
select * from rows_of(null);
select called(null), refused(null);
select count(careful(1, nullif(i, 2))) from generate_series(1, 4) i;
create procedure p(a int) language plpgsql strict as $$ begin end $$;

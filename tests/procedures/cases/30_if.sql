create function sign_of(a int) returns text language plpgsql as $$
begin
  if a > 0 then
    return 'positive';
  elsif a < 0 then
    return 'negative';
  elseif a = 0 then
    return 'zero';
  else
    return 'unknown';
  end if;
end $$;
select sign_of(5), sign_of(-5), sign_of(0), sign_of(null);
create function null_is_false(a boolean) returns text language plpgsql as $$
begin
  if a then return 'then'; end if;
  if not a then return 'not'; end if;
  return 'neither';
end $$;
select null_is_false(true), null_is_false(false), null_is_false(null);
create function nested(a int, b int) returns text language plpgsql as $$
declare
  r text := '';
begin
  if a > 0 then
    if b > 0 then r := r || 'both'; else r := r || 'a'; end if;
  else
    if b > 0 then r := r || 'b'; end if;
  end if;
  if a is null and b is null then null; else r := r || '.'; end if;
  return r;
end $$;
select nested(1, 1), nested(1, 0), nested(0, 1), nested(0, 0), nested(null, null);
create function condition(a text) returns text language plpgsql as $$
begin
  if a then return 'true'; else return 'false'; end if;
end $$;
select condition('t'), condition('0');
select condition('what');

create table t (id int primary key, v int not null, constraint positive check (v > 0));
insert into t values (1, 1);
create function try(what text) returns text language plpgsql as $$
declare
  n int;
begin
  case what
    when 'unique' then insert into t values (1, 1);
    when 'null' then insert into t values (2, null);
    when 'check' then insert into t values (2, -1);
    when 'zero' then n := 1 / 0;
    when 'text' then n := 'x';
    when 'range' then n := 2147483647; n := n + 1;
    when 'raise' then raise exception 'raised';
    when 'state' then raise exception 'state' using errcode = 'AB001';
    when 'case' then case 1 when 2 then null; end case;
    when 'strict' then select id into strict n from t where id = 99;
    when 'long' then perform 'abcd'::varchar(3); return 'not too long';
    when 'date' then perform '2026-02-30'::date;
    when 'none' then null;
  end case;
  return 'no error';
exception
  when unique_violation then return 'unique_violation ' || sqlstate;
  when not_null_violation or check_violation then return 'null or check ' || sqlstate;
  when division_by_zero then return 'division_by_zero ' || sqlerrm;
  when invalid_text_representation then return 'text ' || sqlerrm;
  when numeric_value_out_of_range then return 'range ' || sqlerrm;
  when raise_exception then return 'raised ' || sqlerrm;
  when sqlstate 'AB001' then return 'state ' || sqlstate;
  when no_data_found then return 'strict ' || sqlerrm;
  when others then return 'others ' || sqlstate || ' ' || sqlerrm;
end $$;
select try('unique');
select try('null');
select try('check');
select try('zero');
select try('text');
select try('range');
select try('raise');
select try('state');
select try('case');
select try('strict');
select try('long');
select try('date');
select try('none');
select try('something else');
select * from t order by id;

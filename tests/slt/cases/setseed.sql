-- random() repeats itself after setseed.
select setseed(0.5);
select setseed(-1), setseed(1);
select setseed(1.5);
select setseed(null);
select setseed('nan');
create function ss_row(seed float8, n int) returns text language plpgsql as $$ declare r text := ''; begin perform setseed(seed); for i in 1..n loop r := r || (random() * 1000000)::int || ' '; end loop; return r; end $$;
select ss_row(0.25, 5) = ss_row(0.25, 5), ss_row(0.25, 5) = ss_row(0.5, 5), ss_row(0.25, 6) like ss_row(0.25, 5) || '%';
create temporary table ss_t (n int, r float8);
select setseed(0.3);
insert into ss_t select g, random() from generate_series(1, 10) g;
select setseed(0.3);
insert into ss_t select g + 10, random() from generate_series(1, 10) g;
select count(*), count(distinct r), min(r) >= 0, max(r) < 1 from ss_t;
insert into ss_t select g + 20, random() from generate_series(1, 10) g;
select count(*), count(distinct r) from ss_t;
drop table ss_t;
drop function ss_row;

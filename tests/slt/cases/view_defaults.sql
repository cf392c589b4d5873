-- Defaults of views' columns.
CREATE TABLE vd (a int PRIMARY KEY, b text DEFAULT 'tab', c int DEFAULT 7);
CREATE VIEW vd_v AS SELECT * FROM vd;
ALTER VIEW vd_v ALTER COLUMN b SET DEFAULT 'view';
INSERT INTO vd_v (a) VALUES (1);
INSERT INTO vd_v VALUES (2, DEFAULT, DEFAULT);
INSERT INTO vd (a) VALUES (3);
INSERT INTO vd_v (a, c) SELECT 4, 8;
INSERT INTO vd_v VALUES (5, 'given'), (6, DEFAULT);
UPDATE vd_v SET b = DEFAULT WHERE a = 3 RETURNING *;
SELECT * FROM vd ORDER BY a;
SELECT adnum, pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 'vd_v'::regclass;
SELECT attname, atthasdef FROM pg_attribute WHERE attrelid = 'vd_v'::regclass AND attnum > 0 ORDER BY attnum;
SELECT column_name, column_default FROM information_schema.columns WHERE table_name = 'vd_v' ORDER BY ordinal_position;
-- Views of views: the outer one's goes first.
CREATE VIEW vd_w AS SELECT c AS cc, b AS bb, a AS aa FROM vd_v;
INSERT INTO vd_w (aa) VALUES (7);
ALTER VIEW vd_w ALTER bb SET DEFAULT 'outer', ALTER COLUMN cc SET DEFAULT 1 + 1;
INSERT INTO vd_w (aa) VALUES (8);
SELECT * FROM vd WHERE a > 6 ORDER BY a;
ALTER VIEW vd_w ALTER bb DROP DEFAULT, ALTER cc SET DEFAULT NULL;
INSERT INTO vd_w (aa) VALUES (9);
SELECT * FROM vd WHERE a > 8 ORDER BY a;
-- It stays when the view gets more columns.
ALTER TABLE vd_v ALTER b SET DEFAULT 'other';
INSERT INTO vd_v (a) VALUES (10);
CREATE OR REPLACE VIEW vd_v AS SELECT a, b, c, a + 1 AS d FROM vd;
INSERT INTO vd_v (a) VALUES (11);
SELECT * FROM vd WHERE a > 9 ORDER BY a;
SELECT adnum, pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 'vd_v'::regclass;
ALTER VIEW vd_v ALTER COLUMN d SET DEFAULT 3;
INSERT INTO vd_v (a) VALUES (12);
-- What is refused.
ALTER VIEW vd_v ALTER nosuch SET DEFAULT 1;
ALTER VIEW vd_v ALTER a SET DEFAULT 'x';
ALTER VIEW vd_v ALTER a SET DEFAULT (SELECT 1);
ALTER VIEW vd_v ALTER a SET DEFAULT c;
ALTER VIEW vd_nosuch ALTER a SET DEFAULT 1;
ALTER VIEW IF EXISTS vd_nosuch ALTER a SET DEFAULT 1;
ALTER VIEW vd ALTER COLUMN a SET DEFAULT 1;
CREATE VIEW vd_g AS SELECT count(*) AS n FROM vd;
ALTER VIEW vd_g ALTER n SET DEFAULT 3;
INSERT INTO vd_g VALUES (DEFAULT);
-- Triggers instead of the rows' own.
CREATE TABLE vd_log (what text);
CREATE FUNCTION vd_instead() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO vd_log VALUES (NEW::text); RETURN NEW; END $$;
CREATE TRIGGER vd_t INSTEAD OF INSERT ON vd_g FOR EACH ROW EXECUTE FUNCTION vd_instead();
INSERT INTO vd_g DEFAULT VALUES;
INSERT INTO vd_g VALUES (DEFAULT);
INSERT INTO vd_g VALUES (5);
SELECT * FROM vd_log;
DROP VIEW vd_g, vd_w, vd_v;
DROP TABLE vd, vd_log;
DROP FUNCTION vd_instead;
-- DEFAULT NULL is kept where something is done with the NULL.
CREATE DOMAIN dn_d AS int DEFAULT 5;
CREATE TABLE dn (a int DEFAULT NULL, b text DEFAULT NULL::text, c varchar(10) DEFAULT NULL, d int[] DEFAULT NULL, e numeric(5, 2) DEFAULT NULL, f timestamp(3) DEFAULT NULL, g char(3) DEFAULT NULL, h date DEFAULT NULL::date, i varchar DEFAULT NULL, j dn_d DEFAULT NULL, k bit(3) DEFAULT NULL, l varchar(3)[] DEFAULT NULL);
SELECT adnum, pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 'dn'::regclass ORDER BY 1;
SELECT column_name, column_default FROM information_schema.columns WHERE table_name = 'dn' AND column_default IS NOT NULL ORDER BY ordinal_position;
INSERT INTO dn (a) VALUES (1);
SELECT * FROM dn;
ALTER TABLE dn ADD COLUMN m varchar(5) DEFAULT NULL, ADD COLUMN n dn_d DEFAULT NULL, ADD COLUMN o dn_d;
ALTER TABLE dn ALTER a SET DEFAULT NULL, ALTER c SET DEFAULT 'x', ALTER i SET DEFAULT NULL;
ALTER TABLE dn ALTER c SET DEFAULT NULL;
ALTER TABLE dn ALTER e DROP DEFAULT;
SELECT adnum, pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 'dn'::regclass ORDER BY 1;
SELECT c, m, n, o FROM dn;
CREATE TABLE dn2 (LIKE dn INCLUDING DEFAULTS);
SELECT adnum, pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 'dn2'::regclass ORDER BY 1;
CREATE DOMAIN dn_e AS varchar(5) DEFAULT NULL;
CREATE DOMAIN dn_f AS int DEFAULT NULL;
SELECT typname, typdefault FROM pg_type WHERE typname LIKE 'dn\_%' ORDER BY 1;
DROP TABLE dn, dn2;
DROP DOMAIN dn_d, dn_e, dn_f;
create table needed (a int, b int)
create sequence needed_s
create sequence needed_s2
create function needed_f() returns int language sql as 'select 1'
create view needing as select a, b from needed
alter view needing alter a set default nextval('needed_s'), alter b set default needed_f()
select classid::regclass, objsubid, refclassid::regclass, refobjsubid, deptype from pg_depend where refobjid = 'needed_s'::regclass
drop sequence needed_s
drop function needed_f()
alter view needing alter b set default needed_f() + nextval('needed_s2')
drop sequence needed_s2
drop function needed_f()
drop sequence needed_s, needed_s2
alter sequence needed_s rename to "Needed"
alter function needed_f() rename to needed_g
insert into needing default values
create schema needing_s
alter sequence "Needed" set schema needing_s
insert into needing default values
alter function needed_g() set schema needing_s
alter view needing set schema needing_s
insert into needing_s.needing default values
select * from needed
select pg_get_expr(adbin, adrelid) from pg_attrdef where adrelid = 'needing_s.needing'::regclass order by adnum
drop function needing_s.needed_g() cascade
drop sequence needing_s."Needed" cascade
select pg_get_expr(adbin, adrelid) from pg_attrdef where adrelid = 'needing_s.needing'::regclass order by adnum
drop sequence needed_s2
drop schema needing_s cascade
create schema needing_s
create sequence needing_s.q
create function needing_s.ff() returns int language sql as 'select 7'
create view needing as select a, b from needed
alter view needing alter a set default nextval('needing_s.q'), alter b set default needing_s.ff()
drop schema needing_s
drop schema needing_s cascade
insert into needing default values returning *
create table with_serial (n serial)
alter view needing alter a set default currval('with_serial_n_seq')
drop table with_serial
drop table with_serial cascade
insert into needing default values returning *
drop table needed cascade

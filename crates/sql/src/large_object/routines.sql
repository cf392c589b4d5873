-- The routines of large objects. Behind a line of its number and its name stands each, as CREATE FUNCTION has it. Names that begin with
-- large_object_ are those of two tables and of functions that nobody else can call: see ir::function::large_object. An object that is
-- to be written is locked as FOR KEY SHARE does, so that nobody removes it meanwhile and leaves its pages behind.

-- #715 lo_create
CREATE FUNCTION pg_catalog.lo_create(oid) RETURNS oid LANGUAGE plpgsql STRICT AS $large_object$
DECLARE
    fine boolean := large_object_writable('lo_create()');
    made oid := $1;
BEGIN
    IF made = 0 THEN
        LOOP
            made := large_object_next();
            EXIT WHEN NOT EXISTS (SELECT 1 FROM large_objects WHERE oid = made);
        END LOOP;
    END IF;
    INSERT INTO large_objects (oid, lomowner) VALUES (made, large_object_user());
    RETURN made;
END
$large_object$;

-- #957 lo_creat
CREATE FUNCTION pg_catalog.lo_creat(integer) RETURNS oid LANGUAGE plpgsql STRICT AS $large_object$
DECLARE
    fine boolean := large_object_writable('lo_creat()');
BEGIN
    RETURN lo_create(0);
END
$large_object$;

-- #3457 lo_from_bytea
CREATE FUNCTION pg_catalog.lo_from_bytea(oid, bytea) RETURNS oid LANGUAGE plpgsql STRICT AS $large_object$
DECLARE
    fine boolean := large_object_writable('lo_from_bytea()');
    made oid := lo_create($1);
BEGIN
    IF length($2) > 0 THEN
        INSERT INTO large_object_pages AS kept (loid, pageno, data)
            SELECT made, page, large_object_page(NULL, page, 0, $2)
            FROM generate_series(0, large_object_number(length($2)::bigint - 1)) AS page;
    END IF;
    RETURN made;
END
$large_object$;

-- #952 lo_open
CREATE FUNCTION pg_catalog.lo_open(oid, integer) RETURNS integer LANGUAGE plpgsql STRICT AS $large_object$
DECLARE
    fine boolean;
    owner oid;
    list oid[];
BEGIN
    IF large_object_writes($2) THEN
        fine := large_object_writable('lo_open(INV_WRITE)');
        SELECT lomowner, lomacl INTO owner, list FROM large_objects WHERE oid = $1 FOR KEY SHARE;
    ELSE
        fine := large_object_keep();
        SELECT (SELECT lomowner FROM large_objects WHERE oid = $1), (SELECT lomacl FROM large_objects WHERE oid = $1) INTO owner, list;
    END IF;
    RETURN large_object_opened($1, $2, owner, list);
END
$large_object$;

-- #953 lo_close
CREATE FUNCTION pg_catalog.lo_close(integer) RETURNS integer LANGUAGE plpgsql STRICT AS $large_object$
BEGIN
    RETURN large_object_closed($1);
END
$large_object$;

-- #954 loread
CREATE FUNCTION pg_catalog.loread(integer, integer) RETURNS bytea LANGUAGE plpgsql STRICT AS $large_object$
DECLARE
    object oid := large_object_of($1, false);
    at bigint := large_object_place($1);
    most bigint := greatest($2, 0);
    result bytea := '';
    fine boolean;
BEGIN
    IF most > 0 THEN
        fine := large_object_reads($1);
        SELECT large_object_read(at, most,
                (SELECT pageno * 2048::bigint + length(data) FROM large_object_pages WHERE loid = object ORDER BY pageno DESC LIMIT 1),
                array_agg(pageno), array_agg(data))
            INTO result
            FROM large_object_pages
            WHERE loid = object AND pageno >= large_object_number(at) AND pageno <= large_object_number(at + most - 1);
        at := large_object_moved($1, at + length(result));
    END IF;
    RETURN result;
END
$large_object$;

-- #955 lowrite
CREATE FUNCTION pg_catalog.lowrite(integer, bytea) RETURNS integer LANGUAGE plpgsql STRICT AS $large_object$
DECLARE
    fine boolean := large_object_writable('lowrite()');
    object oid := large_object_of($1, true);
    at bigint := large_object_place($1);
    bytes integer := length($2);
BEGIN
    IF bytes > 0 THEN
        fine := large_object_fits(at, bytes);
        INSERT INTO large_object_pages AS kept (loid, pageno, data)
            SELECT object, page, large_object_page(NULL, page, at, $2)
            FROM generate_series(large_object_number(at), large_object_number(at + bytes - 1)) AS page
            ON CONFLICT (loid, pageno)
            DO UPDATE SET data = large_object_page(kept.data, EXCLUDED.pageno, at, $2);
        at := large_object_moved($1, at + bytes);
    END IF;
    RETURN bytes;
END
$large_object$;

-- #3170 lo_lseek64
CREATE FUNCTION pg_catalog.lo_lseek64(integer, bigint, integer) RETURNS bigint LANGUAGE plpgsql STRICT AS $large_object$
DECLARE
    object oid := large_object_of($1, false);
    fine boolean;
    size bigint;
BEGIN
    IF $3 = 2 THEN
        fine := large_object_reads($1);
        SELECT (SELECT pageno * 2048::bigint + length(data) FROM large_object_pages WHERE loid = object ORDER BY pageno DESC LIMIT 1)
            INTO size;
    END IF;
    RETURN large_object_sought($1, $2, $3, coalesce(size, 0));
END
$large_object$;

-- #956 lo_lseek
CREATE FUNCTION pg_catalog.lo_lseek(integer, integer, integer) RETURNS integer LANGUAGE plpgsql STRICT AS $large_object$
BEGIN
    RETURN large_object_narrow(lo_lseek64($1, $2, $3), 'lo_lseek', $1);
END
$large_object$;

-- #3171 lo_tell64
CREATE FUNCTION pg_catalog.lo_tell64(integer) RETURNS bigint LANGUAGE plpgsql STRICT AS $large_object$
BEGIN
    RETURN large_object_place($1);
END
$large_object$;

-- #958 lo_tell
CREATE FUNCTION pg_catalog.lo_tell(integer) RETURNS integer LANGUAGE plpgsql STRICT AS $large_object$
BEGIN
    RETURN large_object_narrow(large_object_place($1), 'lo_tell', $1);
END
$large_object$;

-- #3172 lo_truncate64
CREATE FUNCTION pg_catalog.lo_truncate64(integer, bigint) RETURNS integer LANGUAGE plpgsql STRICT AS $large_object$
DECLARE
    fine boolean := large_object_writable('lo_truncate64()');
    object oid := large_object_of($1, true);
    bytes bigint := large_object_target($2);
    page integer := large_object_number(bytes);
BEGIN
    INSERT INTO large_object_pages AS kept (loid, pageno, data) VALUES (object, page, large_object_cut(NULL, bytes % 2048))
        ON CONFLICT (loid, pageno) DO UPDATE SET data = large_object_cut(kept.data, bytes % 2048);
    DELETE FROM large_object_pages WHERE loid = object AND pageno > page;
    RETURN 0;
END
$large_object$;

-- #1004 lo_truncate
CREATE FUNCTION pg_catalog.lo_truncate(integer, integer) RETURNS integer LANGUAGE plpgsql STRICT AS $large_object$
DECLARE
    fine boolean := large_object_writable('lo_truncate()');
BEGIN
    RETURN lo_truncate64($1, $2);
END
$large_object$;

-- #964 lo_unlink
CREATE FUNCTION pg_catalog.lo_unlink(oid) RETURNS integer LANGUAGE plpgsql STRICT AS $large_object$
DECLARE
    fine boolean := large_object_writable('lo_unlink()');
    owner oid;
BEGIN
    SELECT lomowner INTO owner FROM large_objects WHERE oid = $1;
    fine := large_object_owned($1, owner);
    fine := large_object_gone($1);
    DELETE FROM large_objects WHERE oid = $1;
    IF NOT FOUND THEN
        fine := large_object_owned($1, NULL);
    END IF;
    DELETE FROM large_object_pages WHERE loid = $1;
    RETURN 1;
END
$large_object$;

-- #3458 lo_get
CREATE FUNCTION pg_catalog.lo_get(oid) RETURNS bytea LANGUAGE plpgsql STRICT AS $large_object$
DECLARE
    fine boolean;
    owner oid;
    list oid[];
    size bigint;
    result bytea;
BEGIN
    SELECT lomowner, lomacl INTO owner, list FROM large_objects WHERE oid = $1;
    fine := large_object_allowed($1, 262144, owner, list);
    SELECT pageno * 2048::bigint + length(data) INTO size
        FROM large_object_pages WHERE loid = $1 ORDER BY pageno DESC LIMIT 1;
    size := large_object_part(0, -1, size);
    SELECT large_object_read(0, size,
            (SELECT pageno * 2048::bigint + length(data) FROM large_object_pages WHERE loid = $1 ORDER BY pageno DESC LIMIT 1),
            array_agg(pageno), array_agg(data))
        INTO result FROM large_object_pages WHERE loid = $1;
    RETURN result;
END
$large_object$;

-- #3459 lo_get
CREATE FUNCTION pg_catalog.lo_get(oid, bigint, integer) RETURNS bytea LANGUAGE plpgsql STRICT AS $large_object$
DECLARE
    fine boolean := large_object_asked($3);
    owner oid;
    list oid[];
    size bigint;
    begins bigint;
    result bytea := '';
BEGIN
    SELECT lomowner, lomacl INTO owner, list FROM large_objects WHERE oid = $1;
    fine := large_object_allowed($1, 262144, owner, list);
    SELECT pageno * 2048::bigint + length(data) INTO size
        FROM large_object_pages WHERE loid = $1 ORDER BY pageno DESC LIMIT 1;
    size := large_object_part($2, $3, size);
    begins := large_object_begin($2);
    IF size > 0 THEN
        SELECT large_object_read(begins, size,
                (SELECT pageno * 2048::bigint + length(data) FROM large_object_pages WHERE loid = $1 ORDER BY pageno DESC LIMIT 1),
                array_agg(pageno), array_agg(data))
            INTO result
            FROM large_object_pages
            WHERE loid = $1 AND pageno >= large_object_number(begins) AND pageno <= large_object_number(begins + size - 1);
    END IF;
    RETURN result;
END
$large_object$;

-- #3460 lo_put
CREATE FUNCTION pg_catalog.lo_put(oid, bigint, bytea) RETURNS void LANGUAGE plpgsql STRICT AS $large_object$
DECLARE
    fine boolean := large_object_writable('lo_put()');
    owner oid;
    list oid[];
    begins bigint;
    bytes integer := length($3);
BEGIN
    SELECT lomowner, lomacl INTO owner, list FROM large_objects WHERE oid = $1 FOR KEY SHARE;
    fine := large_object_allowed($1, 131072, owner, list);
    begins := large_object_begin($2);
    IF bytes > 0 THEN
        fine := large_object_fits(begins, bytes);
        INSERT INTO large_object_pages AS kept (loid, pageno, data)
            SELECT $1, page, large_object_page(NULL, page, begins, $3)
            FROM generate_series(large_object_number(begins), large_object_number(begins + bytes - 1)) AS page
            ON CONFLICT (loid, pageno)
            DO UPDATE SET data = large_object_page(kept.data, EXCLUDED.pageno, begins, $3);
    END IF;
END
$large_object$;

-- #764 lo_import
CREATE FUNCTION pg_catalog.lo_import(text) RETURNS oid LANGUAGE plpgsql STRICT AS $large_object$
DECLARE
    fine boolean := large_object_refuse('lo_import');
BEGIN
    RETURN 0;
END
$large_object$;

-- #767 lo_import
CREATE FUNCTION pg_catalog.lo_import(text, oid) RETURNS oid LANGUAGE plpgsql STRICT AS $large_object$
DECLARE
    fine boolean := large_object_refuse('lo_import');
BEGIN
    RETURN 0;
END
$large_object$;

-- #765 lo_export
CREATE FUNCTION pg_catalog.lo_export(oid, text) RETURNS integer LANGUAGE plpgsql STRICT AS $large_object$
DECLARE
    fine boolean := large_object_refuse('lo_export');
BEGIN
    RETURN 0;
END
$large_object$;

-- #9401 large_object_grant
CREATE PROCEDURE pg_catalog.large_object_grant(oid[], oid[], integer, boolean, boolean) LANGUAGE plpgsql AS $large_object$
DECLARE
    fine boolean := large_object_writable(CASE WHEN $4 THEN 'GRANT' ELSE 'REVOKE' END);
    object oid;
    owner oid;
    list oid[];
BEGIN
    FOREACH object IN ARRAY $1 LOOP
        owner := NULL;
        SELECT lomowner, lomacl INTO owner, list FROM large_objects WHERE oid = object FOR UPDATE;
        list := large_object_granted(object, owner, list, $2, $3, $4, $5);
        UPDATE large_objects SET lomacl = list WHERE oid = object;
    END LOOP;
END
$large_object$;

-- #9402 large_object_give
CREATE PROCEDURE pg_catalog.large_object_give(oid, oid) LANGUAGE plpgsql AS $large_object$
DECLARE
    fine boolean := large_object_writable('ALTER LARGE OBJECT');
    owner oid;
    list oid[];
BEGIN
    SELECT lomowner, lomacl INTO owner, list FROM large_objects WHERE oid = $1 FOR UPDATE;
    fine := large_object_owned($1, owner);
    UPDATE large_objects SET lomowner = $2, lomacl = large_object_given(list, owner, $2) WHERE oid = $1;
END
$large_object$;

-- #9403 large_object_remark
CREATE PROCEDURE pg_catalog.large_object_remark(oid, text) LANGUAGE plpgsql AS $large_object$
DECLARE
    fine boolean := large_object_writable('COMMENT');
    owner oid;
BEGIN
    SELECT lomowner INTO owner FROM large_objects WHERE oid = $1 FOR UPDATE;
    fine := large_object_owned($1, owner);
    UPDATE large_objects SET comment = $2 WHERE oid = $1;
END
$large_object$;

-- #9404 large_object_remarked
CREATE FUNCTION pg_catalog.large_object_remarked(oid) RETURNS text LANGUAGE plpgsql STABLE STRICT AS $large_object$
BEGIN
    RETURN (SELECT comment FROM large_objects WHERE oid = $1);
END
$large_object$;

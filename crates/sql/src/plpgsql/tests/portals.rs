//! Which cursors are a routine's own affair.

use super::routine;

/// Whether the cursor `c` of a body is a portal.
fn is_portal(body: &str) -> bool {
    let text = format!(
        "CREATE FUNCTION f() RETURNS int LANGUAGE plpgsql AS $$
         DECLARE c CURSOR FOR SELECT a FROM t WHERE a > 0; x int;
         BEGIN {body} END $$"
    );
    !routine(&text).unwrap().body.portals.is_empty()
}

/// Goal: what nobody else can see is the routine's own; a doubt makes a portal. Method: bodies of either kind.
#[test]
fn a_cursor_that_others_may_see_is_a_portal() {
    let own = [
        "OPEN c; FETCH c INTO x; CLOSE c; RETURN x;",
        "OPEN c; LOOP FETCH NEXT FROM c INTO x; EXIT WHEN NOT FOUND; END LOOP; CLOSE c; RETURN x;",
        "FOR r IN c LOOP UPDATE t SET a = 1 WHERE CURRENT OF c; END LOOP; RETURN 1;",
        "FOR r IN c LOOP RETURN r.a; END LOOP; RETURN 1;",
        "IF true THEN OPEN c; CLOSE c; END IF; OPEN c; CLOSE c; RETURN 1;",
        "OPEN c; IF x > 1 THEN RAISE NOTICE 'one'; END IF; CLOSE c; RETURN x;",
        "RETURN 1;",
    ];
    let portals = [
        // It is left open.
        "OPEN c; FETCH c INTO x; RETURN x;",
        "OPEN c; IF x > 1 THEN RETURN 1; END IF; CLOSE c; RETURN x;",
        "<<l>> LOOP OPEN c; EXIT l WHEN true; CLOSE c; END LOOP; RETURN 1;",
        "LOOP OPEN c; EXIT; CLOSE c; END LOOP; RETURN 1;",
        "OPEN c; IF true THEN CLOSE c; END IF; RETURN 1;",
        // It is named.
        "OPEN c; x := length(c::text); CLOSE c; RETURN x;",
        "OPEN c; RAISE NOTICE '%', c; CLOSE c; RETURN 1;",
        "c := 'other'; OPEN c; CLOSE c; RETURN 1;",
        // It goes another way.
        "OPEN c; FETCH PRIOR FROM c INTO x; CLOSE c; RETURN x;",
        "OPEN c; MOVE c; CLOSE c; RETURN 1;",
        "FOR r IN c LOOP FETCH c INTO x; END LOOP; RETURN 1;",
        // Something else may close it.
        "BEGIN OPEN c; CLOSE c; EXCEPTION WHEN others THEN NULL; END; RETURN 1;",
        "OPEN c; CALL p(); CLOSE c; RETURN 1;",
    ];
    for body in own {
        assert!(!is_portal(body), "{body}");
    }
    for body in portals {
        assert!(is_portal(body), "{body}");
    }
}

"""The log of statements that take long."""

from harness import check, server, test


@test
def statements_that_take_long_are_logged_with_their_text():
    with server("--log-min-duration-statement", "1s") as s:
        with s.connect() as connection:
            connection.execute("create table quick (id int primary key)")
            connection.execute("insert into quick values (1)")
            connection.execute("select id, 'secret' from quick where id = 1")
            connection.execute("begin")
            connection.execute("select id from quick where id = 1 for update")
            with s.connect() as other:
                other.execute("set lock_timeout = '2s'")
                try:
                    other.execute("update quick set id = 2 where id = 1")
                    check(False, "it did not wait")
                except Exception as error:
                    check(error.sqlstate == "55P03", error)
        text = s.log.read_text()
        lines = [line for line in text.splitlines() if "slow statement" in line]
        check(any("update quick set id" in line for line in lines), text)
        check(not any("secret" in line for line in lines), lines)
    with server("--log-min-duration-statement", "0") as s:
        with s.connect() as connection:
            connection.execute("select 40 + 2")
            connection.execute("create role guest login password 'geheim'")
            mine = "select query from pg_stat_activity where pid = pg_backend_pid() -- password 'geheim'"
            shown = connection.execute(mine).fetchall()
            check(shown[0][0].endswith("-- password '***'"), shown)
        text = s.log.read_text()
        check("password '***'" in text and "geheim" not in text, text)
        check("select 40 + 2" in s.log.read_text() or "select $1 + $2" in s.log.read_text(), s.log.read_text())
    with server() as s:
        with s.connect() as connection:
            connection.execute("select 1")
        check("slow statement" not in s.log.read_text())

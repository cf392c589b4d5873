"""NOTIFY: what was undone is not told."""

from harness import check, equal, server, test


def heard(listener):
    return [notification.payload for notification in listener.notifies(timeout=0.3)]


@test
def what_is_undone_is_not_told():
    with server() as s, s.connect() as listener, s.connect() as speaker:
        listener.execute("listen news")
        speaker.execute(
            """
            create function talk(fails bool) returns void language plpgsql as $$
            begin
              perform pg_notify('news', 'before');
              begin
                perform pg_notify('news', 'within');
                if fails then raise exception 'no'; end if;
              exception when others then
                perform pg_notify('news', 'handled');
              end;
              perform pg_notify('news', 'after');
            end $$"""
        )
        speaker.execute("select talk(false)")
        equal(heard(listener), ["before", "within", "after"])
        speaker.execute("select talk(true)")
        equal(heard(listener), ["before", "handled", "after"])
        with speaker.transaction():
            speaker.execute("notify news, 'kept'")
            try:
                with speaker.transaction():
                    speaker.execute("notify news, 'lost'")
                    speaker.execute("select 1 / 0")
                check(False, "it did not fail")
            except Exception as error:
                check(error.sqlstate == "22012", error)
        equal(heard(listener), ["kept"])

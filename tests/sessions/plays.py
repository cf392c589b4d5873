"""Scripts of several sessions: read, played on one server, and written down with what each step was answered.

    setup                          statements that make what a play begins with, each ended by `;` at the end of a line
    create table t (id int primary key, n int);

    play TITLE                     at READ COMMITTED;   `play* TITLE`: at each level
    a begin                        a step: who, and what he sends
    b update t set n = 1           `{a}` in it is the number of session a's backend
    b await                        until b has answered
    b leave                        the connection is closed; the next step of b opens another
    x2 select 1                    sessions whose names end in 2 are connected to another database
    z select * from t              z reads what is there: nobody else may be waiting for z

Played, a step is followed by what it was answered, or `waits`; and, further in, by the answers of others that it let go:

    a commit
      COMMIT
      b UPDATE 1

A step of a session that still waits is put off until it has its answer.  Those of one session come in their order.
"""

import concurrent.futures
import queue
import re
import time

from slt.wire import Failed

from .seats import SCHEMA, Stage

LEVELS = ["read committed", "repeatable read", "serializable"]
# How long `await` waits.
AWAITED = 20.0


class Play:
    def __init__(self, title, setup, steps, level):
        self.title, self.setup, self.steps, self.level = title, setup, steps, level

    def name(self):
        return f"{self.title}, {self.level}" if self.level else self.title


def read(text):
    """The plays of a script, those of several levels once for each."""
    plays, setup, steps, title, each, where = [], [], [], None, False, None

    def ended():
        if title is not None:
            for level in LEVELS if each else [None]:
                plays.append(Play(title, list(setup), list(steps), level))

    statement = ""
    for line in text.splitlines():
        if line.startswith("#") or not line.strip():
            continue
        if line == "setup":
            ended()
            title, setup, where = None, [], "setup"
        elif line.startswith(("play ", "play* ")):
            ended()
            word, title = line.split(" ", 1)
            each, steps, where = word == "play*", [], "play"
        elif where == "setup":
            statement += line + "\n"
            if line.endswith(";"):
                setup.append(statement.strip())
                statement = ""
        else:
            assert where == "play", line
            steps.append(tuple(line.split(" ", 1)))
    ended()
    assert not statement, statement
    return plays


def empty(stage):
    """A schema of its own for each play."""
    stage.looker.query(f"set client_min_messages = error; drop schema if exists {SCHEMA} cascade; create schema {SCHEMA}")
    stage.looker.query(f"set search_path = {SCHEMA}")


class Told:
    """What happened: lines to be shown, and for each session its statements with their answers, in the order in which they ended."""

    def __init__(self):
        self.lines, self.events, self.unseen = [], [], 0
        # A statement has skipped what others held who were waiting for more: at no other moment would it have.
        self.of_the_moment = False

    def answered(self, name, text, answer, by_itself):
        self.events.append((name, text, answer))
        shown = answer.shown()
        self.lines += [f"  {line}" for line in shown] if by_itself else [f"  {name} {line}" for line in shown]


def play(stage, one, finish=True):
    """Plays it on a stage whose schema is empty and filled; returns what happened."""
    told = Told()
    put_off, current, waiting = [], {}, {}

    def open_seat(name):
        if name not in stage.seats:
            stage.open(name, one.level, name.endswith("2"))
        return stage.seats[name]

    def let_go(came, by_itself=None):
        for name, answer in sorted(came, key=lambda pair: (pair[0] != by_itself, pair[0])):
            told.answered(name, current.pop(name), answer, name == by_itself)
            waiting.pop(name, None)
            if answer.gone:
                stage.seats.pop(name).close()

    def step(name, text):
        if text == "leave":
            told.lines.append(f"{name} leave")
            stage.seats.pop(name).close()
            current.pop(name, None)
            waiting.pop(name, None)
            time.sleep(0.05)
            let_go(stage.settle()[0])
            return
        if text == "await":
            told.lines.append(f"{name} await")
            ends = time.monotonic() + AWAITED
            while name in stage.seats and stage.seats[name].busy() and time.monotonic() < ends:
                let_go(stage.settle(0.2)[0], name)
            if name in current:
                told.lines.append("  in vain")
            return
        seat = open_seat(name)
        told.lines.append(f"{name} {text}")
        told.of_the_moment |= "skip locked" in text and bool(waiting)
        current[name] = text
        seat.send(re.sub(r"\{([a-z]2?)\}", lambda found: str(open_seat(found[1]).pid), text))
        came, left = stage.settle()
        let_go(came, name)
        if name in left:
            told.lines.append(f"  {left[name]}")
        told.unseen += sum(how != "waits" for how in left.values())
        waiting.update(left)

    def those_put_off():
        while True:
            for number, (name, text) in enumerate(put_off):
                if name not in current and all(n != name for n, _ in put_off[:number]):
                    del put_off[number]
                    step(name, text)
                    break
            else:
                return

    for name, text in one.steps:
        if text not in ("await", "leave") and (name in current or any(n == name for n, _ in put_off)):
            put_off.append((name, text))
            continue
        step(name, text)
        those_put_off()
    if not finish:
        return told
    ends = time.monotonic() + AWAITED
    while (current or put_off) and time.monotonic() < ends:
        let_go(stage.settle(0.2)[0])
        those_put_off()
        if current and all(name in waiting and waiting[name] == "waits" for name in current):
            # Who waits now waits for somebody who has no steps left.
            came, left = stage.settle()
            let_go(came)
            if not came:
                break
    for name in current:
        told.lines.append(f"{name} still waits")
    return told


def look(stage, texts):
    left = {}
    for text in texts:
        try:
            left[text] = stage.looker.query(text)[1]
        except Failed as failure:
            left[text] = failure.state
    return left


# So many plays at a time: most of the time they wait.
AT_A_TIME = 4


def side_by_side(places, items, do):
    """What `do(place, item)` gives for each, in their order; each place has one of them at a time."""
    free = queue.SimpleQueue()
    for place in places:
        free.put(place)

    def one(item):
        place = free.get()
        try:
            return do(place, item)
        finally:
            free.put(place)

    with concurrent.futures.ThreadPoolExecutor(len(places)) as pool:
        return list(pool.map(one, items))


def places(address, user, kind):
    made = [Place(address, user, kind, (f"one_{number}", f"two_{number}")) for number in range(AT_A_TIME)]
    for place in made:
        place.prepare()
    return made


class Place:
    """A server, and the two databases there that plays are played in."""

    def __init__(self, address, user, kind, databases):
        self.address, self.user, self.kind, self.databases = address, user, kind, databases

    def prepare(self):
        first = Stage(self.address, self.user, self.kind, self.user)
        more = " template template0 lc_collate 'C' lc_ctype 'C.UTF-8'" if self.kind == "postgres" else ""
        for name in self.databases:
            first.looker.query(f"drop database if exists {name}")
            first.looker.query(f"create database {name}{more}")
        first.close()

    def stage(self, one):
        stage = Stage(self.address, self.user, self.kind, *self.databases)
        empty(stage)
        for statement in one.setup:
            stage.looker.query(statement)
        return stage

    def played(self, one, looks=()):
        """What happened, and what the queries of `looks` give in the end."""
        stage = self.stage(one)
        try:
            told = play(stage, one)
            told.left = look(stage, looks)
            return told
        finally:
            stage.close()

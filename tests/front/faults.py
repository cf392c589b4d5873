"""Replicas die, hang or cannot be reached, and so does the front end, under load: nothing acknowledged is lost,
nothing takes place twice, and replicas are equal when it is over."""

import threading
import time

from harness import Options, check, equal, rng, test
from front.servers import Wire, front, replicas, wait_until_equal

ACCOUNTS = 20


class Client(threading.Thread):
    """Calls with a token: what it does not know it asks again. So each of its calls takes place once."""

    def __init__(self, f, number, stop):
        super().__init__(daemon=True)
        self.f, self.number, self.stop = f, number, stop
        self.done = 0
        self.seen = {}
        self.problem = None
        self.longest = 0.0
        # Of its own, whoever called before.
        self.name = f"{time.monotonic_ns()}"

    def run(self):
        import psycopg

        connection = None
        while not self.stop.is_set():
            began = time.monotonic()
            while True:
                try:
                    if connection is None:
                        connection = self.f.connect(connect_timeout=5)
                        connection.execute(f"SET quintet.client = 'client {self.name} {self.number}'")
                        connection.execute(f"SET quintet.call = {self.done}")
                    who = (self.number * 7 + self.done) % ACCOUNTS + 1
                    total = connection.execute("CALL count_up(%s, NULL)", (who,)).fetchone()[0]
                    break
                except psycopg.Error as error:
                    if getattr(error, "sqlstate", None) and error.sqlstate[:2] not in ("57", "08", "40"):
                        self.problem = error
                        return
                    if connection is not None:
                        connection.close()
                    connection = None
                    if time.monotonic() - began > 90:
                        self.problem = f"no answer for 90 s: {error}"
                        return
                    time.sleep(0.05)
            if total <= self.seen.get(who, 0):
                self.problem = f"account {who} went from {self.seen[who]} to {total}"
                return
            self.seen[who] = total
            self.done += 1
            self.longest = max(self.longest, time.monotonic() - began)



def under_load(f, servers, faults, clients=8):
    """Runs `faults` while clients call, then looks whether everything adds up."""
    with servers[0].connect() as c:
        before = c.execute("SELECT sum(sum) FROM account").fetchone()[0]
    stop = threading.Event()
    running = [Client(f, n, stop) for n in range(clients)]
    for client in running:
        client.start()
    time.sleep(1)
    faults()
    time.sleep(2)
    stop.set()
    for client in running:
        client.join(100)
        check(not client.is_alive(), "a client still waits")
        check(client.problem is None, client.problem)
    wait_until_equal(servers, 60)
    with servers[1].connect() as c:
        after = c.execute("SELECT sum(sum) FROM account").fetchone()[0]
    done = sum(client.done for client in running)
    equal(after - before, done, "calls that took place, and calls that were answered:")
    longest = max(client.longest for client in running)
    print(f"  {done} calls, the longest took {longest:.1f} s")
    return done


def settings(random):
    policy = random.choice(["chains", "chains", "chains+certify", "round-robin", "centralised-writes"])
    guarantee = random.choice(["psi", "snapshot"])
    print(f"  {policy}, {guarantee}")
    return ["--policy", policy, "--guarantee", guarantee, "--stall-after", "2s", "--connect-timeout", "2s"]


def rounds(usual):
    return Options.rounds or (10 * usual if Options.thorough else usual)


@test
def a_replica_is_killed_and_returns():
    random = rng("replica")
    with replicas(3) as servers:
        for _ in range(rounds(2)):
            with front(servers, *settings(random)) as f:
                def faults():
                    victim = random.choice(servers)
                    victim.kill()
                    time.sleep(random.uniform(0, 3))
                    victim.start()

                under_load(f, servers, faults)
                equal(f.stop(), 0)


@test
def the_front_end_is_killed_and_starts_again():
    random = rng("front")
    with replicas(3) as servers:
        with front(servers, *settings(random)) as f:
            def faults():
                for _ in range(3):
                    f.kill()
                    time.sleep(random.uniform(0, 0.5))
                    f.start()
                    time.sleep(random.uniform(0.3, 1.5))

            for _ in range(rounds(1)):
                under_load(f, servers, faults)


@test
def a_replica_cannot_be_reached_for_a_while():
    random = rng("cut")
    with replicas(3) as servers:
        wires = [Wire(server.port) for server in servers]
        urls = [server.url(wire.port) for server, wire in zip(servers, wires)]
        try:
            with front(servers, *settings(random), urls=urls) as f:
                def faults():
                    wire = random.choice(wires)
                    wire.cut = True
                    time.sleep(random.uniform(0.5, 5))
                    wire.cut = False

                for _ in range(rounds(2)):
                    under_load(f, servers, faults)
                    time.sleep(2)
        finally:
            for wire in wires:
                wire.close()


@test
def a_replica_hangs_for_a_while():
    random = rng("hang")
    with replicas(3) as servers:
        with front(servers, *settings(random)) as f:
            def faults():
                victim = random.choice(servers)
                victim.pause()
                time.sleep(random.uniform(0.5, 5))
                victim.go_on()

            for _ in range(rounds(1)):
                under_load(f, servers, faults)


@test
def everything_dies_at_once():
    random = rng("all")
    with replicas(2) as servers:
        with front(servers, *settings(random)) as f:
            def faults():
                for part in [f, *servers]:
                    part.kill()
                for server in servers:
                    server.start()
                f.start()

            for _ in range(rounds(1)):
                under_load(f, servers, faults)

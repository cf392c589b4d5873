"""Workloads of procedures: the same text loads and holds its checks here and on PostgreSQL, and runs there."""

import itertools
import json
import urllib.request

from harness import BINARY, Reference, Options, check, directory, equal, free_port, run, server, test

# As small as shows something; TPC-C twice, since its levels are what matters most.
WORKLOADS = [
    ("tpcc", "--small", "--warehouses", 2, "--level", "serializable"),
    ("tpcc", "--small", "--warehouses", 2, "--level", "read-committed"),
    ("smallbank", "--customers", 1000, "--theta", 0.5),
    ("hotrow", "--mix", "first"),
    ("ecommerce", "--users", 300, "--items", 200),
    ("ycsb-sql", "--mix", "qstore", "--records", 2000, "--theta", 0.9, "--raise", 0.1),
    ("ycsb-sql", "--mix", "deuteronomy", "--records", 2000, "--raise", 0.1),
    # Few deadlocks: PostgreSQL waits a second before it looks for one.
    ("list-append", "--lists", 60, "--operations-max", 3, "--level", "serializable"),
    ("list-append", "--lists", 60, "--operations-max", 3, "--level", "snapshot"),
    ("list-append", "--lists", 60, "--operations-max", 3, "--level", "read-committed"),
]


def bench(s, workload, *arguments):
    target = f"postgres://quintet@127.0.0.1:{s.port}/quintet"
    return run([BINARY, "bench", *workload, "--target", target, "--load", "--check", *arguments])


@test
def every_workload_loads_and_holds_its_checks():
    with server() as s:
        for workload in WORKLOADS:
            out = bench(s, workload, "--seconds", 0)
            # List-append begins with no rows.
            check("loaded 100 %" in out or workload[0] == "list-append", workload, out)
            check("checking" in out, workload, out)


def every_workload_runs(s):
    seconds = 10 if Options.thorough else 1
    for workload in WORKLOADS:
        out = bench(s, workload, "--clients", 8, "--seconds", seconds, "--warmup", 0.2, "--json")
        report = json.loads(out.splitlines()[-1])
        equal(report["checked"], True, workload)
        check(report["system"].startswith("PostgreSQL"), report["system"])
        idle = [kind["name"] for kind in report["kinds"] if kind["committed_per_second"] + kind["refused_per_second"] == 0]
        # Of the hot row's procedures a mix takes one.
        check(not idle or workload[0] == "hotrow", workload, "never ran", idle)
        if workload[0] == "list-append":
            check(report["history"]["dependencies"] > 0, workload, report["history"])
        print(f"  {' '.join(map(str, workload)):66} {report['committed_per_second']:8.0f} /s")


@test
def every_workload_runs_and_holds_its_checks():
    with server() as s:
        every_workload_runs(s)


@test
def every_workload_runs_on_postgresql_and_holds_its_checks():
    with directory() as path:
        s = Reference(path / "data")
        try:
            s.start()
            every_workload_runs(s)
        finally:
            s.end()


@test
def calls_in_line_lose_nothing():
    """With the chain as engine no call is run again; without it, the same load has calls to run again."""
    workloads = [
        ("tpcc", "--small", "--warehouses", 1),
        ("smallbank", "--customers", 100, "--theta", 0.5),
        ("hotrow",),
    ]
    lost = {}
    for engine in ("chain", "direct"):
        http = f"127.0.0.1:{free_port()}"
        with server("--engine", engine, "--http", http) as s:
            for workload in workloads:
                bench(s, workload, "--seconds", 0)
                for level, clients in itertools.product(("serializable", "snapshot"), (8, 32)):
                    target = f"postgres://quintet@127.0.0.1:{s.port}/quintet"
                    flags = ["--target", target, "--level", level, "--clients", clients, "--check"]
                    run([BINARY, "bench", *workload, *flags, "--seconds", 1, "--warmup", 0.2])
            page = urllib.request.urlopen(f"http://{http}/metrics", timeout=10).read().decode()
            said = dict(line.split() for line in page.splitlines() if not line.startswith("#"))
            lost[engine] = int(said["quintet_call_retries_total"])
            in_line, waited = (int(said[f"quintet_chain_calls{name}_total"]) for name in ("", "_waited"))
            print(f"  {engine}: {lost[engine]} run again, {in_line} in line, {waited} waited")
            check((engine == "chain") == (in_line > 0 and waited > 0), engine, in_line, waited)
            equal(int(said["quintet_chain_calls_unclassed_total"]), 0)
    equal(lost["chain"], 0)
    check(lost["direct"] > 0, "they hardly met", lost)


@test
def two_servers_are_compared_and_drawn():
    with directory() as path, server() as one, server() as other:
        targets = [f"postgres://quintet:secret@127.0.0.1:{s.port}/quintet" for s in (one, other)]
        flags = ["--workload", "smallbank", "--customers", 1000, "--load", "--check", "--rounds", 2]
        flags += ["--seconds", 1, "--warmup", 0.2, "--clients", 4, "--json", "--plot", path / "picture.svg"]
        out = run([BINARY, "bench", "compare", *flags, "--target", targets[0], "--target", targets[1]])
        check("secret" not in out, out)
        first, second = json.loads(out.splitlines()[-1])["targets"]
        equal([len(target["rounds"]) for target in (first, second)], [2, 2])
        equal((first["throughput_ratio"]["min"], first["throughput_ratio"]["max"]), (1.0, 1.0))
        ratio = second["throughput_ratio"]
        check(0 < ratio["min"] <= ratio["median"] <= ratio["max"], ratio)
        picture = (path / "picture.svg").read_text()
        for word in ("<svg", "committed per second", "latency, ms", f"127.0.0.1:{other.port}"):
            check(word in picture, word, "is missing in", picture)
        check("secret" not in picture, picture)
        run([BINARY, "bench", "compare", "--workload", "tpcc", "--target", targets[0]], expected=2)
        run([BINARY, "bench", "tpcc", "--rounds", 2], expected=2)

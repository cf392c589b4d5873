"""Workloads of procedures: the same text loads and holds its checks here and on PostgreSQL, and runs there."""

import json

from harness import BINARY, Reference, Options, check, directory, equal, run, server, test

# As small as shows something; TPC-C twice, since its levels are what matters most.
WORKLOADS = [
    ("tpcc", "--small", "--warehouses", 2, "--level", "serializable"),
    ("tpcc", "--small", "--warehouses", 2, "--level", "read-committed"),
    ("smallbank", "--customers", 1000, "--theta", 0.5),
    ("hotrow", "--mix", "first"),
    ("ecommerce", "--users", 300, "--items", 200),
    ("ycsb-sql", "--mix", "qstore", "--records", 2000, "--theta", 0.9),
    ("ycsb-sql", "--mix", "deuteronomy", "--records", 2000),
]


def bench(s, workload, *arguments):
    target = f"postgres://quintet@127.0.0.1:{s.port}/quintet"
    return run([BINARY, "bench", *workload, "--target", target, "--load", "--check", *arguments])


@test
def every_workload_loads_and_holds_its_checks():
    with server() as s:
        for workload in WORKLOADS:
            out = bench(s, workload, "--seconds", 0)
            check("loaded 100 %" in out and "checking" in out, workload, out)


@test
def every_workload_runs_on_postgresql_and_holds_its_checks():
    seconds = 10 if Options.thorough else 1
    with directory() as path:
        s = Reference(path / "data")
        try:
            s.start()
            for workload in WORKLOADS:
                out = bench(s, workload, "--clients", 8, "--seconds", seconds, "--warmup", 0.2, "--json")
                report = json.loads(out.splitlines()[-1])
                equal(report["checked"], True, workload)
                check(report["system"].startswith("PostgreSQL"), report["system"])
                idle = [kind["name"] for kind in report["kinds"] if kind["committed_per_second"] == 0]
                # Of the hot row's procedures a mix takes one.
                check(not idle or workload[0] == "hotrow", workload, "never ran", idle)
                print(f"  {' '.join(map(str, workload)):60} {report['committed_per_second']:8.0f} /s")
        finally:
            s.end()

"""kill -9 of one of several node processes in mid-batch: acknowledged calls are whole, others whole or absent."""

import json
import subprocess

from harness import BINARY, Options, check, equal, test


def killed(engine, *flags):
    kills = Options.rounds or (10 if Options.thorough else 3)
    command = [
        BINARY, "bench", "nodes", "--nodes", "3", "--engine", engine, "--workload", "transfers", "--records", "3000",
        "--outstanding", "100", "--warmup", "0.3", "--seconds", str(kills * 0.7), "--kills", str(kills),
        "--seed", str(Options.seed), "--json", *flags,
    ]  # fmt: skip
    run = subprocess.run(command, capture_output=True, text=True, timeout=300)
    check(run.stdout, f"no report: {run.stderr}")
    report = json.loads(run.stdout)
    audit = report["audit"]
    print(f"  {engine}: {audit}")
    equal(audit["kills"], kills, "kills")
    for wrong in ("lost", "torn", "risen", "surplus"):
        equal(audit[wrong], 0, f"{engine}: {wrong}")
    check(audit["acknowledged"] > 100 * kills, "hardly anything ran")
    equal(run.returncode, 0, f"exit code: {run.stderr}")


@test
def killed_nodes_of_queues_lose_no_acknowledged_batch():
    killed("queue")


@test
def killed_nodes_of_calvin_lose_no_acknowledged_batch():
    killed("calvin")


@test
def killed_nodes_under_two_phase_commit_lose_no_acknowledged_call():
    killed("no-wait")

"""pgjdbc: the checks are in PgJdbc.java; the jar is fetched by ./test."""

import pathlib
import shutil

from harness import ROOT, check, run, server, test

JAR = ROOT / "target/test-jars/postgresql-42.7.4.jar"


@test
def connects_and_works_unchanged():
    check(shutil.which("java"), "no java; install a JDK, e.g. apt-get install default-jdk-headless")
    check(JAR.exists(), JAR.name, "is missing; ./test fetches it with mvn")
    program = pathlib.Path(__file__).with_name("PgJdbc.java")
    with server() as s:
        print(run(["java", "-cp", JAR, program, "127.0.0.1", s.port]), end="")

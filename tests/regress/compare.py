"""Says how much of PostgreSQL's own regression files a server answers as PostgreSQL does.

    python3 tests/regress/compare.py --source DIR --postgres HOST:PORT --quintet HOST:PORT [--out DIR] [FILE …]

`DIR` is src/test/regress of PostgreSQL 15's source (in Debian: `apt-get source postgresql-15`); nothing of it is in this tree. Both servers are
asked as role `postgres` in database `quintet`, which is to be fresh in both and sort by bytes in PostgreSQL; `test_setup` goes first. Without FILEs those
of the schedule are run, but for what is about access methods, languages and types of PostgreSQL's own making (LEFT_OUT).

Each statement is sent alone, to both, and so what fails early fails again later: a table that could not be made is missed by all that use it.
Plans (EXPLAIN) are not compared. Where no ORDER BY is written, rows may come in any order. In `--out` each file has what was answered otherwise:

    GAP       works there, fails here       LENIENT   the other way round
    state     another SQLSTATE              msg       the same SQLSTATE in other words
    rows, order, cols, copy, tag, notes     what else differs: rows, their order, names and types, COPY's text, the tag, notices
"""

import argparse
import collections
import pathlib
import re
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from regress import peer, script  # noqa: E402
from slt.record import address  # noqa: E402

LEFT_OUT = set(
    "test_setup tablespace xid pg_lsn txid type_sanity opr_sanity misc_sanity oidjoins sanity_check"
    " create_function_c create_operator create_type create_am create_index_spgist index_including_gist gist spgist brin brin_bloom brin_multi tsearch"
    " tsdicts tstypes xml xmlmap infinite_recurse publication subscription foreign_data event_trigger largeobject security_label collate.icu.utf8"
    " collate.linux.utf8 tablesample euc_kr conversion stats stats_ext psql psql_crosstab amutils compression compression_pglz replica_identity"
    " object_address drop_operator create_cast create_aggregate alter_operator alter_generic vacuum_parallel select_parallel write_parallel"
    " maintain_every".split()
)

# A statement that takes longer than this and ten times as long as in PostgreSQL is told of.
SLOW_SECONDS = 3


def difference(theirs, ours, sql):
    """What is different; empty if nothing is."""
    if theirs.state or ours.state:
        if theirs.state == ours.state:
            return "" if theirs.message == ours.message else "msg"
        return "GAP" if not theirs.state else "LENIENT" if not ours.state else "state"
    if re.match(r"(?i)\s*explain", sql):
        return ""
    if theirs.rows != ours.rows:
        if sorted(map(str, theirs.rows)) != sorted(map(str, ours.rows)):
            return "rows"
        if re.search(r"(?i)order\s+by", sql):
            return "order"
    for name in ["cols", "copy", "tags", "notes"]:
        if getattr(theirs, name) != getattr(ours, name):
            return {"tags": "tag"}.get(name, name)
    return ""


def shown(answer):
    if answer.state:
        return f"{answer.state} {answer.message}"
    rows = " / ".join("|".join("~" if cell is None else cell for cell in row) for row in answer.rows)
    return f"{rows[:1500]}{answer.copy[:300]} {answer.tags} {answer.notes}"


class Pair:
    """A connection to each of two servers."""

    def __init__(self, postgres, quintet):
        self.addresses = [address(postgres), address(quintet)]
        self.both = [peer.Peer(where) for where in self.addresses]

    def connect(self, user):
        for place, where in enumerate(self.addresses):
            self.both[place].close()
            try:
                self.both[place] = peer.Peer(where, user)
            except OSError:
                self.both[place] = peer.Peer(where)

    def ask(self, place, sql, rows):
        try:
            return self.both[place].ask(sql, rows)
        except OSError as error:
            self.both[place] = peer.Peer(self.addresses[place])
            return peer.Answer(state="GONE", message=str(error))

    def settle(self):
        """After a file: no transaction is open, and settings are as they were."""
        for place in range(2):
            self.ask(place, "rollback", b"")
            self.ask(place, "reset session authorization", b"")
            self.ask(place, "reset all", b"")
            self.both[place].begin()

    def run(self, file, data, log):
        counts = collections.Counter()
        for sql, rows in script.statements(file.read_text(errors="replace"), data):
            if sql.startswith("\\c"):
                words = [word for word in sql.split()[2:3] if word != "-"]
                self.connect(*words or ["postgres"])
                continue
            started = time.monotonic()
            theirs = self.ask(0, sql, rows)
            between = time.monotonic()
            ours = self.ask(1, sql, rows)
            taken = time.monotonic() - between
            kind = difference(theirs, ours, sql)
            counts[kind or "same"] += 1
            if kind:
                log.write(f"#{kind}\n{sql[:3000]}\n   P: {shown(theirs)}\n   Q: {shown(ours)}\n\n")
            if taken > max(SLOW_SECONDS, 10 * (between - started)):
                log.write(f"#SLOW {taken:.1f} s, PostgreSQL {between - started:.1f}\n{sql[:500]}\n\n")
        self.settle()
        return counts


def line(name, counts):
    total = sum(counts.values())
    rest = " ".join(f"{kind} {count}" for kind, count in sorted(counts.items()) if kind != "same")
    return f"{name:24} {total:6} {100 * counts['same'] / max(total, 1):5.1f} %  {rest}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", required=True, type=pathlib.Path, help="PostgreSQL's src/test/regress")
    parser.add_argument("--postgres", required=True, help="host:port, or the path of a socket")
    parser.add_argument("--quintet", required=True, help="host:port")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("regress"), help="where differences are written [regress]")
    parser.add_argument("files", nargs="*", help="names of files, without ending")
    arguments = parser.parse_args()
    schedule = (arguments.source / "parallel_schedule").read_text()
    names = arguments.files or [name for name in re.findall(r"(?m)^test:(.*)$", schedule) for name in name.split()]
    if not arguments.files:
        names = ["test_setup", *(name for name in names if name not in LEFT_OUT)]
    arguments.out.mkdir(parents=True, exist_ok=True)
    pair = Pair(arguments.postgres, arguments.quintet)
    all_counts = collections.Counter()
    for name in names:
        file = arguments.source / "sql" / f"{name}.sql"
        with (arguments.out / f"{name}.diff").open("w") as log:
            counts = pair.run(file, arguments.source / "data", log)
        all_counts += counts
        print(line(name, counts), flush=True)
    print(line("all", all_counts))


if __name__ == "__main__":
    main()

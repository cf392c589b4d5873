#!/usr/bin/env python3
"""Known advisories about what Cargo.lock names.

Relies on: .ci/advisories.toml, the list of advisories and of crates that were looked up, and on nothing from outside.
Promises: fails if a version in Cargo.lock has a vulnerability or is unsound as the list says, unless that is accepted there
with a reason; if a crate was never looked up; if what was accepted hits nothing any more. Prints what is unmaintained.
Does not: know of an advisory that the list lacks. If cargo-audit is installed and gets its database, that is asked, too.

    .ci/advisories.py               audits Cargo.lock
    .ci/advisories.py --self-test   plants advisories and looks whether they are found
"""

import argparse
import fnmatch
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
# What fails, and what is only printed.
FAILING = ("vulnerability", "unsound")
PRINTED = ("unmaintained", "notice")


# Versions and ranges, as Cargo writes them

VERSION = re.compile(r"(\d+)(?:\.(\d+))?(?:\.(\d+))?(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?")
COMPARATOR = re.compile(r"(>=|<=|>|<|=|\^)\s*(\S+)")
# Sorts before every pre-release of the same numbers.
LOWEST = (0,)
RELEASE = (1,)


def parts(text):
    """The numbers that are written, and the key of the pre-release or of its absence."""
    found = VERSION.fullmatch(text)
    if not found:
        raise ValueError(f"not a version: {text!r}")
    numbers = [int(n) for n in found.group(1, 2, 3) if n is not None]
    if found[4] is None:
        return numbers, RELEASE
    # Numbers sort as numbers and before words; fewer identifiers before more.
    return numbers, (0, *((0, int(i), "") if i.isdigit() else (1, 0, i) for i in found[4].split(".")))


def key(numbers, pre):
    return (*numbers, *[0] * (3 - len(numbers)), pre)


def version(text):
    """A key that sorts versions by their precedence."""
    return key(*parts(text))


def bounds(comparator):
    """The versions of one comparator, as a first key (included) and a last one (excluded), either may be None.

    As cargo-audit has it, numbers that are left out are zero. Stricter than there, a range that ends at a version
    has none of its pre-releases: 2.0.0-alpha is not `< 2.0.0`.
    """
    found = COMPARATOR.fullmatch(comparator)
    if not found:
        raise ValueError(f"not a comparator: {comparator!r}")
    operator, (numbers, pre) = found[1], parts(found[2])
    here = key(numbers, pre)
    above = (*here[:3], (*pre, LOWEST))
    if operator == "<":
        return None, key(numbers, LOWEST) if pre == RELEASE else here
    if operator == "<=":
        return None, above
    if operator == ">":
        return above, None
    if operator == ">=":
        return here, None
    if operator == "=":
        return here, above
    # ^: up to the next change of the first number that is not zero.
    fixed = next((i for i, n in enumerate(numbers) if n), len(numbers) - 1)
    return here, key([*numbers[:fixed], numbers[fixed] + 1], LOWEST)


def within(at, text):
    """Whether a version is in a range: every comparator of it holds."""
    for comparator in text.split(","):
        first, last = bounds(comparator.strip())
        if (first is not None and at < first) or (last is not None and at >= last):
            return False
    return True


# The audit

def hits(advisory, at):
    ranges = [*advisory["patched"], *advisory.get("unaffected", [])]
    return "withdrawn" not in advisory and not any(within(at, r) for r in ranges)


def remedy(advisory, at):
    """The lowest version that has the fix and is newer than ours."""
    newer = []
    for text in advisory["patched"]:
        lowest = [c.strip() for c in text.split(",") if c.strip()[0] in ">^="]
        newer += [(version(v), v) for c in lowest if version(v := COMPARATOR.fullmatch(c)[2]) > at]
    return f"upgrade to {min(newer)[1]}" if newer else "no release has a fix"


def audit(packages, known):
    """What fails and what is to be told, of packages of a lock file, by a list of advisories."""
    failures, notes = [], []
    advisories = known["advisory"]
    for advisory in advisories:
        if advisory["kind"] not in (*FAILING, *PRINTED):
            raise ValueError(f"{advisory['id']}: no such kind: {advisory['kind']!r}")
    looked_up = {a["crate"] for a in advisories} | set(known["nothing_found"]["names"])
    accepted = dict(known["accepted"])
    for number, reason in accepted.items():
        if not reason.strip():
            failures.append(f"{number} is accepted without a reason")
    used = set()
    # Crates of the workspace have no source.
    outside = sorted((p["name"], p["version"]) for p in packages if "source" in p)
    for name, text in outside:
        at = version(text)
        for advisory in (a for a in advisories if a["crate"] == name and hits(a, at)):
            number = advisory["id"]
            line = f"{name} {text}: {number} ({advisory['kind']}): {advisory['what']}; {remedy(advisory, at)}"
            if number in accepted:
                used.add(number)
                notes.append(f"{line}; accepted: {accepted[number]}")
            else:
                (failures if advisory["kind"] in FAILING else notes).append(line)
    for number in accepted.keys() - used:
        failures.append(f"{number} is accepted and hits nothing: take it out")
    elsewhere = known["elsewhere"]["names"]
    for name in sorted({name for name, _ in outside} - looked_up):
        if not any(fnmatch.fnmatchcase(name, pattern) for pattern in elsewhere):
            failures.append(f"{name} was never looked up: see the top of .ci/advisories.toml")
    return failures, notes


def cargo_audit(command, lock, accepted):
    """What fails and what is to be told as cargo-audit says it, if it gets its database."""
    ignored = [f"--ignore={number}" for number in accepted if number.startswith("RUSTSEC-")]
    try:
        run = subprocess.run([command, "audit", "--json", f"--file={lock}", *ignored],
                             capture_output=True, text=True, timeout=120)
        report = json.loads(run.stdout)
        failures, notes = [], [f"cargo-audit: asked, {report['database']['advisory-count']} advisories"]
        for kind, found in [("vulnerability", report["vulnerabilities"]["list"]), *report["warnings"].items()]:
            for one in found:
                # What was withdrawn from the registry has no advisory.
                advisory = one["advisory"] or {"id": "no advisory", "title": "withdrawn from the registry"}
                package = f"{one['package']['name']} {one['package']['version']}"
                line = f"{package}: {advisory['id']} ({kind}, by cargo-audit): {advisory['title']}"
                (failures if kind in FAILING else notes).append(line)
    except (OSError, subprocess.TimeoutExpired, ValueError, LookupError, TypeError):
        return [], ["cargo-audit is installed and gave no report (is its database reached?): only the list was asked"]
    return failures, notes


def read(path):
    with open(path, "rb") as file:
        return tomllib.load(file)


def main(lock, listed):
    known, packages = read(listed), read(lock)["package"]
    failures, notes = audit(packages, known)
    command = shutil.which("cargo-audit")
    more = cargo_audit(command, lock, known["accepted"]) if command else ([], [])
    for line in notes + more[1]:
        print(f"note: {line}")
    for line in failures + more[0]:
        print(f"FAILED: {line}")
    print(f"{sum('source' in p for p in packages)} crates, {len(known['advisory'])} advisories known of them, "
          f"the newest of {known['newest']}, looked up on {known['looked_up']}: {len(failures + more[0])} failures")
    return 1 if failures or more[0] else 0


# The self-test

RANGES = """
    >= 1.2.3            yes 1.2.3  1.2.4  1.10.0  2.0.0-alpha.1  1.2.3+build     no 1.2.2  1.2.3-rc.1  0.9.9
    < 1.2.3             yes 1.2.2  0.0.1  1.2.2-rc.9                             no 1.2.3  1.2.3-alpha  1.2.4
    < 1.0.0-alpha.2     yes 0.9.9  1.0.0-alpha  1.0.0-alpha.1  1.0.0-0           no 1.0.0-alpha.2  1.0.0-alpha.10  1.0.0
    >= 1.0.0-alpha.2    yes 1.0.0-alpha.2  1.0.0-alpha.10  1.0.0-beta  1.0.0     no 1.0.0-alpha.1  1.0.0-1  0.9.9
    < 1.0.0-0           yes 0.9.9                                                no 1.0.0-0  1.0.0-alpha  1.0.0
    <= 1.2.3            yes 1.2.3  1.2.2  1.2.3-rc.1                             no 1.2.4-alpha  1.2.4
    <= 0.22             yes 0.22.0  0.21.9  0.1.0                                no 0.22.1  0.23.0
    > 1.2.3             yes 1.2.4  1.2.4-rc.1                                    no 1.2.3  1.2.3-rc.1
    > 1.2               yes 1.2.1  1.3.0                                         no 1.2.0  1.1.9
    = 1.2.3             yes 1.2.3                                                no 1.2.4  1.2.2  1.2.3-rc.1
    < 0.12              yes 0.11.9                                               no 0.12.0  0.12.0-rc.1
    >= 0.17             yes 0.17.0  0.18.0  1.0.0                                no 0.16.20
    ^1.8.1              yes 1.8.1  1.99.0                                        no 1.8.0  2.0.0  2.0.0-alpha
    ^ 0.3.1             yes 0.3.1  0.3.9                                         no 0.3.0  0.4.0
    ^0.0.3              yes 0.0.3                                                no 0.0.4  0.0.2
    >= 1.0.0, < 1.1.0   yes 1.0.0  1.0.9                                         no 1.1.0  0.9.9  1.1.0-beta
"""

PLANTED = """
newest = 2026-01-01
looked_up = 2026-01-01
[accepted]
A-5 = "only on another system"
[elsewhere]
names = ["windows-*"]
[nothing_found]
names = ["quiet"]
[[advisory]]
id = "A-1"
crate = "planted"
date = 2026-01-01
kind = "vulnerability"
patched = [">= 1.2.5, < 1.3.0", ">= 1.4.2"]
unaffected = ["< 1.0.0"]
what = "planted"
[[advisory]]
id = "A-2"
crate = "shaky"
date = 2026-01-01
kind = "unsound"
patched = []
what = "planted"
[[advisory]]
id = "A-3"
crate = "lonely"
date = 2026-01-01
kind = "unmaintained"
patched = []
what = "planted"
[[advisory]]
id = "A-4"
crate = "quiet"
date = 2026-01-01
kind = "vulnerability"
withdrawn = 2026-01-02
patched = []
what = "planted"
[[advisory]]
id = "A-5"
crate = "excused"
date = 2026-01-01
kind = "vulnerability"
patched = ["^2.0.1"]
what = "planted"
"""

# A lock file's crates, and for each the start of what must be said of it, if anything.
FINDINGS = [
    ("planted", "0.9.9", None),  # unaffected
    ("planted", "1.0.0", "FAILED A-1 upgrade to 1.2.5"),
    ("planted", "1.2.4", "FAILED A-1 upgrade to 1.2.5"),
    ("planted", "1.2.5", None),  # the fix of an older line
    ("planted", "1.3.0", "FAILED A-1 upgrade to 1.4.2"),
    ("planted", "1.4.1", "FAILED A-1 upgrade to 1.4.2"),
    ("planted", "1.4.2-rc.1", "FAILED A-1 upgrade to 1.4.2"),
    ("planted", "1.4.2", None),
    ("planted", "2.0.0+more", None),
    ("shaky", "3.0.0", "FAILED A-2 no release has a fix"),
    ("lonely", "1.0.0", "note A-3 no release has a fix"),
    ("quiet", "1.0.0", None),  # withdrawn
    ("excused", "2.0.0", "note A-5 upgrade to 2.0.1"),
    ("windows-new", "1.0.0", None),  # elsewhere
    ("stranger", "1.0.0", "FAILED never looked up"),
]

ADVISORY = {"id": "RUSTSEC-2026-0000", "title": "planted"}
PACKAGE = {"name": "planted", "version": "1.0.0"}
REPORT = {
    "database": {"advisory-count": 2},
    "vulnerabilities": {"list": [{"package": PACKAGE, "advisory": ADVISORY}]},
    "warnings": {
        "unsound": [{"package": PACKAGE, "advisory": ADVISORY}],
        "yanked": [{"package": PACKAGE, "advisory": None}],
    },
}


def self_test():
    for line in RANGES.strip().splitlines():
        text, rest = line.strip().split(" yes ")
        inside, outside = rest.split(" no ")
        for one in inside.split():
            assert within(version(one), text.strip()), f"{one} is in {text}"
        for one in outside.split():
            assert not within(version(one), text.strip()), f"{one} is not in {text}"
    for wrong in ["1.2.3", "~1.2", "*", ">= x", ""]:
        try:
            bounds(wrong)
        except ValueError:
            continue
        raise AssertionError(f"a comparator that is not understood must be refused: {wrong!r}")

    known = tomllib.loads(PLANTED)
    source = "registry+https://example.org/index"
    everything = [{"name": "ours", "version": "0.0.0"}]
    for name, text, expected in FINDINGS:
        package = {"name": name, "version": text, "source": source}
        everything.append(package)
        # Alone, without what is accepted elsewhere, so that it alone is told of.
        alone = known if name == "excused" else known | {"accepted": {}}
        failures, notes = audit([package], alone)
        said = [f"FAILED {line}" for line in failures] + [f"note {line}" for line in notes]
        if expected is None:
            assert not said, f"{name} {text}: {said}"
        else:
            level, rest = expected.split(" ", 1)
            number, _, fix = rest.partition(" ") if rest.startswith("A-") else (rest, "", "")
            assert len(said) == 1 and said[0].startswith(f"{level} {name} "), f"{name} {text}: {said}"
            assert number in said[0] and fix in said[0], f"{name} {text}: {said}"
    failures, notes = audit(everything, known)
    assert (len(failures), len(notes)) == (7, 2), (failures, notes)
    failures, _ = audit([], known)
    assert failures == ["A-5 is accepted and hits nothing: take it out"], failures
    failures, _ = audit(everything, known | {"accepted": {"A-5": " "}})
    assert "A-5 is accepted without a reason" in failures, failures

    # What cargo-audit 0.22 says with its database, and without.
    with tempfile.TemporaryDirectory() as there:
        stub = pathlib.Path(there) / "cargo-audit"
        for says, expected in [(json.dumps(REPORT), (2, 2)), ("", (0, 1))]:
            stub.write_text(f"#!/bin/sh\necho '{says}'\nexit 1\n")
            stub.chmod(0o755)
            failures, notes = cargo_audit(stub, "Cargo.lock", {})
            assert (len(failures), len(notes)) == expected, (failures, notes)

    # Every range of the real list is understood, and an advisory's own fix ends it.
    for advisory in read(HERE / "advisories.toml")["advisory"]:
        for text in [*advisory["patched"], *advisory.get("unaffected", [])]:
            within(version("1.0.0"), text)
        for first in (f for r in advisory["patched"] for f, _ in [bounds(r.split(",")[0].strip())] if f):
            assert not hits(advisory, first), f"{advisory['id']}: its fix is hit by it"
    print("self-test: planted advisories are found")


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description="Known advisories about what Cargo.lock names.")
    arguments.add_argument("--self-test", action="store_true")
    arguments.add_argument("--lock", default=HERE.parent / "Cargo.lock")
    arguments.add_argument("--list", default=HERE / "advisories.toml")
    given = arguments.parse_args()
    sys.exit(self_test() if given.self_test else main(given.lock, given.list))

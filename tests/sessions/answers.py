"""Scripts of several sessions are answered as PostgreSQL 15 answered them, step by step, or as it is written down why not.

`cases/NAME.play` is a script (plays.py), `NAME.out` what PostgreSQL answered: recorded with `--reference --record`.
`NAME.here` has the plays that Quintet answers otherwise, whole, each with the reason in lines that begin with `-- `.
It is exact: a play that is there and agrees fails, and so does one that differs and is not there, or differs in another way.
Where Quintet orders otherwise at SERIALIZABLE, what was committed is besides explained by a serial order (oracles.py).
"""

import difflib
import pathlib

from harness import Options, check, server, test

from . import oracles
from .plays import places, read, side_by_side

CASES = pathlib.Path(__file__).parent / "cases"


def recorded(path):
    """By title: reasons and lines."""
    found, title = {}, None
    for line in path.read_text().splitlines() if path.exists() else []:
        if line.startswith("== "):
            title = line[3:]
            found[title] = ([], [])
        elif line:
            found[title][line.startswith("-- ") is False].append(line)
    return found


def written(plays):
    parts = []
    for title, (reasons, lines) in plays.items():
        parts.append("\n".join([f"== {title}", *reasons, *lines]) + "\n")
    return "\n".join(parts)


def shown(name, title, found, expected):
    lines = list(difflib.unified_diff(expected, found, "expected", "found", lineterm="", n=30))[2:]
    return "\n".join([f"{name}: {title}", *("    " + line for line in lines)])


def judged(name, one, played, expected, here):
    """What is wrong with a play's answers, and whether another serial order explained them. `here`: how it is known to differ."""
    told, said = played
    title = one.name()
    check(title in expected, name, title, "was not recorded")
    wanted = expected[title][1]
    wrong = []
    if here:
        check(here[0], "no reason:", name, title)
        if told.lines == wanted:
            wrong.append(f"{name}: {title}\n    is answered as in PostgreSQL, and in {name}.here")
        wanted = here[1]
        if said:
            wrong.append(f"{name}: {title}\n    no serial order explains {said}")
    if told.lines != wanted:
        wrong.append(shown(name, title, told.lines, wanted))
    return wrong


@test
def plays_are_answered_as_recorded():
    wrong, explained = [], 0
    with server() as started:
        kind = "postgres" if Options.reference else "quintet"
        all_places = places(("127.0.0.1", started.port), "quintet", kind)
        for path in sorted(CASES.glob("*.play")):
            if Options.only and Options.only not in path.name:
                continue
            plays = read(path.read_text())
            titles = [one.name() for one in plays]
            check(len(set(titles)) == len(titles), "of one name:", path.name)
            answers = path.with_suffix(".out")
            expected = recorded(answers)
            here = {} if Options.reference else recorded(path.with_suffix(".here"))

            def play_one(place, one):
                told = place.played(one)
                strict = one.level == "serializable" and one.name() in here
                return told, oracles.one_after_the_other(place, one, told.events, {}) if strict else None

            played = side_by_side(all_places, plays, play_one)
            if Options.record:
                answers.write_text(written({one.name(): ([], told.lines) for one, (told, _) in zip(plays, played)}))
                continue
            for one, result in zip(plays, played):
                wrong += judged(path.stem, one, result, expected, here.get(one.name()))
                explained += one.level == "serializable" and one.name() in here
            wrong += [f"{path.stem}.here: {title}\n    is no play" for title in here if title not in titles]
            print(f"  {path.stem}: {len(plays)} plays, {len(here)} known to differ", flush=True)
    print(f"  {explained} at SERIALIZABLE were looked for in another serial order", flush=True)
    check(not wrong, "\n" + "\n".join(wrong))

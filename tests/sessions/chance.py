"""Random plays: nobody hangs, what is committed at SERIALIZABLE is explained by a serial order, and beside PostgreSQL 15 all the rest by the order of ends.

A seed is a play: with `--thorough`, `--seed N` begins with N.  Without PostgreSQL only plays at SERIALIZABLE are looked into, and at every level what nobody may be told.
"""

from harness import POSTGRES, Options, Reference, check, directory, server, test

from . import oracles
from .generate import LOOKS, generated
from .plays import places, side_by_side

PLAYS = 60
THOROUGH = 2000


def found(seed, here, trusted=None):
    """How the play of this seed came out: a word, and what is wrong, if something is."""
    one = generated(seed)
    told = here.played(one, LOOKS)
    text = "\n".join(told.lines)
    if any(line.endswith("still waits") for line in told.lines):
        return "hangs", text
    for _, statement, answer in told.events:
        # Bugs, the system's errors, a lack of room, a lost connection.
        if answer.state[:2] in ("XX", "58", "53", "08") or answer.gone:
            return "broken", f"{statement}: {answer.shown()}"
    if one.level == "serializable":
        said = oracles.one_after_the_other(trusted or here, one, told.events, told.left)
        return ("serial", None) if said is None else ("no serial order", f"{said}\n{text}")
    if trusted is None:
        return "ended", None
    beside = trusted.played(one, LOOKS)
    if bare(told.lines) == bare(beside.lines) and told.left == beside.left:
        return "the same", None
    if told.of_the_moment:
        return "of the moment", None
    said = oracles.in_order_of_ends(trusted, one, told.events, told.left)
    if said is None:
        return "in another order", None
    return ("would wait", None) if "would wait" in said else ("differs", f"{said}\n{text}")


def bare(lines):
    """Without messages."""
    return [line[: line.index("ERROR ") + 11] if "ERROR " in line else line for line in lines]


def told(seeds, pairs):
    """`pairs`: places here, each with one in a server that is trusted or None."""
    counts, wrong = {}, []
    results = side_by_side(pairs, seeds, lambda pair, seed: found(seed, *pair))
    for seed, (how, said) in zip(seeds, results):
        counts[how] = counts.get(how, 0) + 1
        if said:
            wrong.append(f"seed {seed} {how}: {said}")
    print(f"  {counts}", flush=True)
    check(not wrong, "\n" + "\n".join(wrong[:10]))


@test
def random_plays_end_and_are_explained():
    # The same ones each time, but for thorough runs: those may find what nobody knows of.
    first = Options.seed if Options.thorough else 1
    with server() as started:
        here = places(("127.0.0.1", started.port), "quintet", "quintet")
        if not Options.thorough or not POSTGRES.exists():
            return told(range(first, first + PLAYS), [(place, None) for place in here])
        with directory() as path:
            postgres = Reference(path / "pg")
            postgres.start()
            try:
                trusted = places(("127.0.0.1", postgres.port), "quintet", "postgres")
                told(range(first, first + THOROUGH), list(zip(here, trusted)))
            finally:
                postgres.end()

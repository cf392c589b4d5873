"""What may be said of a play whose steps were ordered otherwise than PostgreSQL would have: is it explained by an order?

Two explanations, each a play of its own on a server that is trusted (or on the same one, where only one session is left, there is nothing to be wrong about):

in the order of ends     each statement is asked when it had ended, by the same sessions: nobody waits then, everybody is
                         answered the same, and the same is left. At READ COMMITTED and REPEATABLE READ.
one after the other      the transactions that committed, one after the other in some order, are answered the same and leave
                         the same. At SERIALIZABLE. The order of their commits is tried first.

What failed for reasons of others (LOST) is asked as `select 1 / 0`, which leaves a block as such an error does.
"""

import itertools
import select

from .plays import Play, look, play

LOST = {"40001", "40P01", "55P03", "57014"}
FAILS = "select 1 / 0"
ENDS = ("commit", "rollback", "end", "abort")


def answers(events):
    return [(name, text, answer.shown(messages=False)) for name, text, answer in events]


def told_lost(answer):
    return answer.state in LOST


def in_order_of_ends(place, one, events, looks):
    """None, or what is not the same. `events`: (name, text, Answer) in the order in which they ended."""
    stage = place.stage(one)
    try:
        expected = []
        for name, text, answer in events:
            lost = told_lost(answer)
            steps = [(name, FAILS if lost and text not in ENDS else "rollback" if lost else text)]
            told = play(stage, Play("", [], steps, one.level), finish=False)
            if not told.events:
                return f"{name} {text}\n    would wait"
            again = told.events[-1][2].shown(messages=False)
            if told.events[-1][2].state == "55P03" and not lost:
                return f"{name} {text}\n    would wait, and was told not to"
            expected.append(again)
            if not lost and again != answer.shown(messages=False):
                return f"{name} {text}\n    was {answer.shown()}\n    is {told.events[-1][2].shown()}"
        return looked(stage, looks)
    finally:
        stage.close()


def looked(stage, looks):
    for text, rows in looks.items():
        found = look(stage, [text])[text]
        if found != rows:
            return f"{text}\n    was {rows}\n    is {found}"
    return None


def transactions(events):
    """What committed: lists of (text, Answer) in the order of their ends, and whether each only read."""
    open_blocks, done = {}, []
    for name, text, answer in events:
        block = open_blocks.get(name)
        if text == "begin":
            open_blocks[name] = []
        elif block is None:
            if not answer.state and text not in ENDS:
                done.append([(text, answer)])
        elif text in ENDS:
            del open_blocks[name]
            if answer.tag == "COMMIT" and not answer.state:
                done.append(block)
        elif answer.gone:
            del open_blocks[name]
        else:
            block.append((text, answer))
    return done


def reads_only(transaction):
    return all(text.startswith(("select", "savepoint", "rollback to", "release")) and " for " not in text for text, _ in transaction)


def one_after_the_other(place, one, events, looks):
    done = [t for t in transactions(events) if t]
    said = None
    writers = [t for t in done if not reads_only(t)]
    readers = [t for t in done if reads_only(t)]
    # The commits' order with readers anywhere, then any.
    orders = itertools.chain([done], placed(writers, readers), itertools.islice(itertools.permutations(done), 720))
    for number, order in enumerate(orders):
        if number and not readers and number > 720:
            break
        found = serial(place, one, order, looks)
        if found is None:
            return None
        said = said or found
    return said


def placed(writers, readers):
    for places in itertools.product(range(len(writers) + 1), repeat=len(readers)):
        order = []
        for number in range(len(writers) + 1):
            order += [reader for reader, at in zip(readers, places) if at == number]
            order += writers[number : number + 1]
        yield order


def serial(place, one, order, looks):
    stage = place.stage(one)
    try:
        seat = stage.open("a", "read committed")
        for transaction in order:
            for text in ["begin", *[pair for pair in transaction], "commit"]:
                answer = None
                if not isinstance(text, str):
                    text, answer = text
                lost = answer is not None and told_lost(answer)
                found = asked(seat, FAILS if lost else text)
                if answer is not None and not lost and found.shown(False) != answer.shown(False):
                    return f"{text}\n    was {answer.shown()}\n    is {found.shown()}"
        return looked(stage, looks)
    finally:
        stage.close()


def asked(seat, text):
    seat.send(text)
    while True:
        answer = seat.poll()
        if answer:
            return answer
        select.select([seat.socket], [], [], 10)

//! The thesis's figures, and what a driver has to expect, as scripts: an event, and below it its effects.

#![allow(clippy::unwrap_used)]

mod support;

use quintet_chain::{Config, Copies, Order};
use support::{check, modes};

/// One copy of the data, so that a call's effects are there as soon as it has ended.
fn one() -> Config {
    Config::new(modes())
}

/// A copy for each worker.
fn copies() -> Config {
    Config {
        copies: Copies::PerWorker,
        ..Config::new(modes())
    }
}

// Figure 3.3 (a): what does not conflict starts a chain of its own, at the worker with the least to do.
#[test]
fn calls_without_conflict_start_chains_of_their_own() {
    check(
        one(),
        "
        worker A
        worker B
        submit t1 x
          queue t1 at A
          run t1 at A
        submit t2 y
          queue t2 at B
          run t2 at B
        ",
    );
}

// Figure 3.3 (b): t3 conflicts with t1 alone and goes behind it, where it is.
#[test]
fn a_conflict_extends_a_chain() {
    check(
        one(),
        "
        worker A
        worker B
        submit t1 x
          queue t1 at A
          run t1 at A
        submit t2 y
          queue t2 at B
          run t2 at B
        submit t3 x
          queue t3 at A after t1
        done t2
          answer t2
        done t1
          answer t1
          run t3 at A
        done t3
          answer t3
        ",
    );
}

// Figure 3.3 (c): t3 conflicts with both and merges their chains.
#[test]
fn conflicts_with_two_chains_merge_them() {
    check(
        one(),
        "
        worker A
        worker B
        submit t1 x
          queue t1 at A
          run t1 at A
        submit t2 y
          queue t2 at B
          run t2 at B
        submit t3 x y
          queue t3 at A after t1 t2
        done t1
          answer t1
        done t2
          answer t2
          run t3 at A
        ",
    );
}

// Figure 3.3 (d): t2 and t3 conflict with t1 and not with each other. One stays where t1 is, the other goes
// to the least loaded worker, or the worker of t1 would run them one by one.
#[test]
fn a_chain_splits() {
    check(
        one(),
        "
        worker A
        worker B
        submit t1 x y
          queue t1 at A
          run t1 at A
        submit t2 x
          queue t2 at A after t1
        submit t3 y
          queue t3 at B after t1
        done t1
          answer t1
          run t2 at A
          run t3 at B
        ",
    );
}

// Figure 3.3 (e): t1 and t2 merge in t3, which splits into t4 and t5, which merge in t6. What is before
// a direct predecessor is not named again.
#[test]
fn chains_split_and_merge() {
    check(
        one(),
        "
        worker A
        worker B
        submit t1 x
          queue t1 at A
          run t1 at A
        submit t2 y
          queue t2 at B
          run t2 at B
        submit t3 x y
          queue t3 at A after t1 t2
        submit t4 x
          queue t4 at A after t3
        submit t5 y
          queue t5 at B after t3
        submit t6 x y
          queue t6 at B after t4 t5
        done t2
          answer t2
        done t1
          answer t1
          run t3 at A
        done t3
          answer t3
          run t4 at A
          run t5 at B
        done t5
          answer t5
        done t4
          answer t4
          run t6 at B
        ",
    );
}

// Algorithm 1, line 14, says that T_i joins its own dependencies. It is T_j, the call that was found.
#[test]
fn a_call_comes_after_what_it_met_and_not_after_itself() {
    check(
        one(),
        "
        worker A
        submit t1 x
          queue t1 at A
          run t1 at A
        submit t2 x x.y *
          queue t2 at A after t1
        done t1
          answer t1
          run t2 at A
        ",
    );
}

#[test]
fn readers_do_not_wait_for_readers_and_a_writer_waits_for_all() {
    check(
        one(),
        "
        worker A 9
        submit t1 x
          queue t1 at A
          run t1 at A
        submit t2 x?
          queue t2 at A after t1
        submit t3 x?
          queue t3 at A after t1
        submit t4 x
          queue t4 at A after t2 t3
        submit t5 x?
          queue t5 at A after t4
        done t1
          answer t1
          run t2 at A
          run t3 at A
        done t3
          answer t3
        done t2
          answer t2
          run t4 at A
        ",
    );
}

// A customer taken by name is any customer of the district: behind all those taken by number that are
// pending there, and before those that come later. (t7 would come after t4 without its being named: a key covers
// what was at its path or below it, not above.)
#[test]
fn a_short_path_comes_after_all_below_it_and_before_what_comes_later() {
    check(
        one(),
        "
        worker A 9
        submit t1 w.d.c
          queue t1 at A
          run t1 at A
        submit t2 w.d.e
          queue t2 at A
          run t2 at A
        submit t3 w.f.c
          queue t3 at A
          run t3 at A
        submit t4 w.d
          queue t4 at A after t1 t2
        submit t5 w.d.g
          queue t5 at A after t4
        submit t6 w.f.g
          queue t6 at A
          run t6 at A
        submit t7 w
          queue t7 at A after t3 t4 t5 t6
        submit t8 *
          queue t8 at A after t7
        submit t9 v
          queue t9 at A after t8
        done t2
          answer t2
        done t1
          answer t1
          run t4 at A
        ",
    );
}

#[test]
fn a_chain_on_one_row_is_one_predecessor_for_a_shorter_path() {
    check(
        one(),
        "
        worker A
        submit t1 w.d
          queue t1 at A
          run t1 at A
        submit t2 w.d
          queue t2 at A after t1
        submit t3 w.d
          queue t3 at A after t2
        submit t4 w
          queue t4 at A after t3
        submit t5 w.d
          queue t5 at A after t4
        ",
    );
}

// Spaces are apart even if their paths are the same.
#[test]
fn spaces_do_not_meet() {
    check(
        one(),
        "
        worker A 9
        submit t1 0:x
          queue t1 at A
          run t1 at A
        submit t2 1:x
          queue t2 at A
          run t2 at A
        submit t3 1:*
          queue t3 at A after t2
        ",
    );
}

#[test]
fn a_call_that_reads_waits_for_nobody_and_nobody_for_it() {
    check(
        one(),
        "
        worker A 9
        submit t1 x
          queue t1 at A
          run t1 at A
        submit t2 x? ro
          queue t2 at A
          run t2 at A
        submit t3 x
          queue t3 at A after t1
        submit t4 x? ro after t3
          queue t4 at A after t3
        done t1
          answer t1
          run t3 at A
        nothing t3
          answer t3
          run t4 at A
        ",
    );
}

#[test]
fn a_worker_runs_as_many_as_it_has_slots_and_the_oldest_first() {
    check(
        one(),
        "
        worker A 2
        submit t1 a
          queue t1 at A
          run t1 at A
        submit t2 b
          queue t2 at A
          run t2 at A
        submit t3 c
          queue t3 at A
        submit t4 d
          queue t4 at A
        submit t5 e old
          queue t5 at A
        done t2
          answer t2
          run t5 at A
        done t5
          answer t5
          run t3 at A
        ",
    );
}

#[test]
fn the_least_loaded_worker_is_the_one_with_the_least_cost_for_its_slots() {
    check(
        one(),
        "
        worker A 1
        worker B 4
        submit t1 a cost 10
          queue t1 at A
          run t1 at A
        submit t2 b cost 10
          queue t2 at B
          run t2 at B
        submit t3 c cost 10
          queue t3 at B
          run t3 at B
        done t1
          answer t1
        submit t4 d
          queue t4 at A
          run t4 at A
        ",
    );
}

#[test]
fn more_calls_than_may_wait_are_refused_politely() {
    check(
        Config {
            pending_max: 2,
            ..one()
        },
        "
        worker A
        submit t1 x
          queue t1 at A
          run t1 at A
        submit t2 x
          queue t2 at A after t1
        submit t3 y
          refuse t3: TooManyCalls { limit: 2 }
        done t1
          answer t1
          run t2 at A
        submit t3 y
          queue t3 at A
        ",
    );
}

// Parallel snapshot isolation: answered at once; behind it one may go on where it ran, elsewhere when the
// write set is there.
#[test]
fn a_write_set_travels_before_those_that_depend_on_it_run_elsewhere() {
    check(
        copies(),
        "
        worker A
        worker B
        submit t1 x y
          queue t1 at A
          run t1 at A
        submit t2 x
          queue t2 at A after t1
        submit t3 y
          queue t3 at B after t1
        done t1
          answer t1
          apply t1 at B as 1
          run t2 at A
        applied t1 B
          run t3 at B
        done t3
          answer t3
          apply t3 at A as 2
        done t2
          answer t2
          apply t2 at B as 3
        submit t4 x y
          queue t4 at A after t2 t3
        applied t3 A
          run t4 at A
        ",
    );
}

// Snapshot isolation: every copy commits in one order, the one that ran it among them, and the client hears
// of it when all have.
#[test]
fn a_total_order_is_the_same_everywhere_and_answered_when_it_is_everywhere() {
    check(
        copies(),
        "
        worker A
        worker B
        submit t1 x total
          queue t1 at A
          run t1 at A
        submit t2 y total
          queue t2 at B
          run t2 at B
        submit t3 x total
          queue t3 at A after t1
        done t2
          apply t2 at A as 1
          apply t2 at B as 1
        done t1
          apply t1 at A as 2
          apply t1 at B as 2
        applied t2 B
        applied t2 A
          answer t2
        applied t1 A
          run t3 at A
        applied t1 B
          answer t1
        ",
    );
}

// t2 is refused by its own rules and leaves nothing. t3 conflicts with t2 alone, which came after t1; at B
// it must not start before t1's write set is there.
#[test]
fn a_call_that_left_nothing_keeps_those_behind_it_behind_what_was_before_it() {
    check(
        copies(),
        "
        worker A
        worker B holds 0
        submit t1 x
          queue t1 at A
          run t1 at A
        submit t2 x y
          queue t2 at A after t1
        done t1
          answer t1
          apply t1 at B as 1
          run t2 at A
        nothing t2
          answer t2
        lost A
        submit t3 y
          queue t3 at B after t1
        applied t1 B
          run t3 at B
        ",
    );
}

#[test]
fn a_cancelled_call_keeps_its_place_and_is_not_run() {
    check(
        one(),
        "
        worker A 9
        submit t1 x
          queue t1 at A
          run t1 at A
        submit t2 x y
          queue t2 at A after t1
        submit t3 y
          queue t3 at A after t2
        cancel t2
          cancel t2
        submit t2 z
          queue t2 at A
          run t2 at A
        done t1
          answer t1
          run t3 at A
        cancel t3
          kill t3 at A
        nothing t3
          answer t3
        ",
    );
}

// Algorithm 4: what the lost worker had not finished is run elsewhere, in the same order.
#[test]
fn what_a_lost_worker_had_not_finished_is_run_elsewhere() {
    check(
        copies(),
        "
        worker A
        worker B
        submit t1 x
          queue t1 at A
          run t1 at A
        submit t2 x
          queue t2 at A after t1
        submit t3 y
          queue t3 at B
          run t3 at B
        done t1
          answer t1
          apply t1 at B as 1
          run t2 at A
        submit t4 x
          queue t4 at A after t2
        lost A
          queue t2 at B after t1
          queue t4 at B after t2
        done t3
          answer t3
        applied t1 B
          run t2 at B
        done t2
          answer t2
          run t4 at B
        ",
    );
}

#[test]
fn without_workers_calls_wait_for_one() {
    check(
        copies(),
        "
        submit t1 x
        submit t2 x
        worker A
          queue t1 at A
          queue t2 at A after t1
          run t1 at A
        lost A
        worker B
          queue t1 at B
          queue t2 at B after t1
          run t1 at B
        ",
    );
}

// A replica that comes back gets write sets at once, and calls when it has caught up.
#[test]
fn a_worker_that_is_behind_gets_write_sets_first() {
    check(
        copies(),
        "
        worker A
        submit t1 x
          queue t1 at A
          run t1 at A
        submit t2 y
          queue t2 at A
        worker B behind
        done t1
          answer t1
          apply t1 at B as 1
          run t2 at A
        submit t3 z
          queue t3 at A
        current B
        submit t4 v
          queue t4 at B
          run t4 at B
        submit t5 x
          queue t5 at A after t1
        ",
    );
}

#[test]
fn a_call_runs_where_the_data_are_and_its_write_set_goes_where_they_are() {
    check(
        copies(),
        "
        worker A holds 0,1
        worker B holds 1,2
        worker C holds 2
        submit t1 0:x 1:x
          queue t1 at A
          run t1 at A
        submit t2 2:x
          queue t2 at B
          run t2 at B
        submit t3 0:y 2:y
        done t1
          answer t1
          apply t1 at B as 1
        done t2
          answer t2
          apply t2 at C as 2
        worker D
          queue t3 at D
          run t3 at D
        ",
    );
}

// t3 and t4 would wait for t1; t5 would not. So t5 gets the next place, and then the oldest of the others. In the
// order of arrival t5 would be last.
#[test]
fn what_need_not_wait_gets_its_place_first() {
    check(
        Config {
            order: Order::ShortestMakespan { sample: 8 },
            ..one()
        },
        "
        worker A
        submit t1 x cost 5
          queue t1 at A
          run t1 at A
        submit t2 x cost 5
          queue t2 at A after t1
        submit t3 x cost 5
        submit t4 x
        submit t5 y
        done t1
          answer t1
          run t2 at A
          queue t5 at A
        done t2
          answer t2
          run t5 at A
          queue t4 at A
        ",
    );
}

// However cheap those are that come later, the oldest is passed over twice and not three times.
#[test]
fn nobody_is_passed_over_for_ever() {
    check(
        Config {
            order: Order::ShortestMakespan { sample: 2 },
            ..one()
        },
        "
        worker A
        submit t1 x
          queue t1 at A
          run t1 at A
        submit t2 y
          queue t2 at A
        submit t3 x cost 99
        submit t4 a
        submit t5 b
        submit t6 c
        done t1
          answer t1
          run t2 at A
          queue t4 at A
        done t2
          answer t2
          run t4 at A
          queue t5 at A
        done t4
          answer t4
          run t5 at A
          queue t3 at A
        ",
    );
}

// Found by chance: a call that was to be stopped loses its worker, and from then on is a place and nothing else, while what is
// before it is missing at its new worker. It still counted as one to be stopped: when that worker was lost, too,
// a call was cancelled that nobody knows.
#[test]
fn a_place_of_a_stopped_call_moves_from_lost_worker_to_lost_worker() {
    check(
        copies(),
        "
        worker A
        worker B
        worker C
        submit t1 x
          queue t1 at A
          run t1 at A
        done t1
          answer t1
          apply t1 at B as 1
          apply t1 at C as 1
        submit t2 x
          queue t2 at A after t1
          run t2 at A
        cancel t2
          kill t2 at A
        lost A
          cancel t2
        submit t3 x
          queue t3 at B after t1
        lost B
          queue t3 at C after t1
        applied t1 C
          run t3 at C
        ",
    );
}

// Found by chance: t2 reads and waits for t1, which has no place yet; t3 names t2. If t3 got its place first, t1
// would wait for t3, which it meets, t3 for t2, and t2 for t1.
#[test]
fn what_waits_for_a_call_without_a_place_through_a_reader_gets_none_before_it() {
    check(
        Config {
            order: Order::ShortestMakespan { sample: 4 },
            ..copies()
        },
        "
        submit t1 x cost 9
        submit t2 ro after t1
        submit t3 x after t2
        worker A
          queue t2 at A after t1
          queue t1 at A
          run t1 at A
          queue t3 at A after t2 t1
        done t1
          answer t1
          run t2 at A
        nothing t2
          answer t2
          run t3 at A
        ",
    );
}

fn soonest(passed_over_max: usize) -> Config {
    Config {
        order: Order::Soonest {
            sample: 16,
            passed_over_max,
        },
        ..copies()
    }
}

// A crowded row w and rows of its own for each call. In the order of arrival t3 would wait for t2, which waits for t1, though t2 has
// not begun; and t4 for t3, while w stands idle. Here t3 begins at once, t4 when w is free, and t2 when t3 is over.
#[test]
fn nobody_waits_for_a_call_that_waits() {
    check(
        soonest(9),
        "
        worker A 9
        submit t1 w a
          queue t1 at A
          run t1 at A
        submit t2 w b
        submit t3 b
          queue t3 at A
          run t3 at A
        submit t4 w c
        done t1
          answer t1
          queue t4 at A
          run t4 at A
        done t3
          answer t3
        done t4
          answer t4
          queue t2 at A
          run t2 at A
        ",
    );
}

// The next of a chain begins where the effects are first: where the last one ran, or elsewhere if that one has no slot and
// they have arrived at another.
#[test]
fn a_call_gets_the_worker_where_it_can_begin_first() {
    check(
        soonest(9),
        "
        worker A
        worker B
        worker C
        submit t1 x total
          queue t1 at A
          run t1 at A
        submit t2 x total
        done t1
          apply t1 at A as 1
          apply t1 at B as 1
          apply t1 at C as 1
        submit t3 y total
          queue t3 at A
          run t3 at A
        applied t1 A
        applied t1 C
          queue t2 at C after t1
          run t2 at C
        ",
    );
}

// t2 needs both rows. Calls that need one keep coming; when it was passed over twice they wait for it, and those that do
// not meet it do not.
#[test]
fn whoever_was_passed_over_often_enough_is_waited_for() {
    check(
        soonest(2),
        "
        worker A 9
        submit t1 x
          queue t1 at A
          run t1 at A
        submit t2 x y
        submit t3 y
          queue t3 at A
          run t3 at A
        done t1
          answer t1
        submit t4 x
          queue t4 at A
          run t4 at A
        done t3
          answer t3
        submit t5 y
        submit t6 z
          queue t6 at A
          run t6 at A
        done t4
          answer t4
          queue t2 at A
          run t2 at A
        done t2
          answer t2
          queue t5 at A
          run t5 at A
        ",
    );
}

// What a call names it comes after, though their keys do not meet; and a held call can be cancelled or moved.
#[test]
fn a_call_without_a_place_keeps_to_what_it_names() {
    check(
        soonest(9),
        "
        worker A
        worker B
        submit t1 x
          queue t1 at A
          run t1 at A
        submit t2 x
        submit t3 y after t2
        submit t4 z pinned C
        submit t5 x
        cancel t5
          cancel t5
        move t4 B
          queue t4 at B
          run t4 at B
        done t1
          answer t1
          apply t1 at B as 1
          queue t2 at A after t1
          run t2 at A
        nothing t2
          answer t2
          queue t3 at A after t1
          run t3 at A
        ",
    );
}

// A pinned call waits for its worker rather than run elsewhere, until it is told where it may run instead.
#[test]
fn a_pinned_call_runs_at_its_worker_only() {
    check(
        copies(),
        "
        worker A
        worker B
        submit t1 x total
          queue t1 at A
          run t1 at A
        submit t2 x total pinned B
          queue t2 at B after t1
        done t1
          apply t1 at A as 1
          apply t1 at B as 1
        applied t1 B
          run t2 at B
        lost B
        submit t3 y total pinned B
        worker C
        move t2 C
          queue t2 at C after t1
          run t2 at C
        worker B
          queue t3 at B
          run t3 at B
        ",
    );
}

// What a worker ran itself it may commit before what others ran: the next of the chain need not wait for
// write sets that it has nothing to do with.
#[test]
fn own_effects_may_be_there_out_of_turn() {
    check(
        copies(),
        "
        worker A
        worker B
        submit t1 x total
          queue t1 at A
          run t1 at A
        submit t2 y total
          queue t2 at B
          run t2 at B
        submit t3 x total
          queue t3 at A after t1
        done t2
          apply t2 at A as 1
          apply t2 at B as 1
        done t1
          apply t1 at A as 2
          apply t1 at B as 2
        applied t1 A
          run t3 at A
        applied t2 B
        applied t1 B
          answer t1
        applied t2 A
          answer t2
        ",
    );
}

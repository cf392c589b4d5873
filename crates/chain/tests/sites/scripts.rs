//! The thesis's figures as scripts.

use crate::world::{Setup, World, key};
use std::fmt::Write;

/// Plays a script: `t1 x at 0` submits, `0 to 1` delivers all that is on its way, `choice at 1`, `end at 0`.
fn check(setup: Setup, script: &str) {
    let mut world = World::new(setup);
    let script: Vec<&str> = script
        .lines()
        .map(str::trim_end)
        .filter(|line| !line.is_empty())
        .collect();
    let margin = script[0].len() - script[0].trim_start().len();
    let script: Vec<&str> = script.iter().map(|line| &line[margin..]).collect();
    for line in script.iter().filter(|line| !line.starts_with("  ")) {
        let _ = writeln!(world.trace, "{line}");
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["choice", "at", at] => {
                assert!(world.choose(at.parse().unwrap()).unwrap(), "{line}");
            }
            ["end", "at", at] => assert!(world.end(at.parse().unwrap(), 0).unwrap(), "{line}"),
            [from, "to", to] => {
                let (from, to) = (from.parse().unwrap(), to.parse().unwrap());
                assert!(world.deliver(from, to).unwrap(), "{line}");
                while world.deliver(from, to).unwrap() {}
            }
            [_, ref rows @ .., "at", at] => {
                let rows = rows.iter().map(|row| key(&[u64::from(row.as_bytes()[0])]));
                world.submit(at.parse().unwrap(), rows.collect()).unwrap();
            }
            _ => panic!("no such line: {line}"),
        }
    }
    let expected = script.join("\n") + "\n";
    assert!(
        world.trace == expected,
        "this is what happened:\n{}",
        world.trace
    );
}

// Figure 4.2: t1 is known to both; t2 and t3 come in at the same time, one at each. The branches are equally
// long, so the smaller number wins, and t3 is placed behind t2. It had not run: a cancellation.
#[test]
fn a_collision_is_settled_and_the_loser_comes_after_the_winner() {
    check(
        Setup::new(2),
        "
        t1 x at 0
          S0 schedules t1
          S0 runs t1
        0 to 1
        1 to 0
        t2 x at 0
          S0 schedules t2 after t1
        t3 x at 1
          S1 schedules t3 after t1
        0 to 1
          S1 proposes a choice
        1 to 0
        choice at 0
        choice at 1
          S1 cancels t3
          S1 schedules t3 after t1 t2
        1 to 0
        end at 0
          S0 commits t1
          S0 runs t2
        ",
    );
}

// Figure 4.3: t4 meets both sides of a choice to come, and bets on t2, the smaller number. Figure 4.2 (d) follows.
#[test]
fn a_call_that_meets_both_sides_bets_on_the_one_that_would_win() {
    check(
        Setup::new(2),
        "
        t1 x at 0
          S0 schedules t1
          S0 runs t1
        0 to 1
        1 to 0
        t2 x at 0
          S0 schedules t2 after t1
        t3 x at 1
          S1 schedules t3 after t1
        0 to 1
          S1 proposes a choice
        1 to 0
        t4 x at 0
          S0 schedules t4 after t1 t2
        choice at 0
        choice at 1
          S1 cancels t3
          S1 schedules t3 after t1 t2
        1 to 0
          S0 proposes a choice
        ",
    );
}

// The longer branch wins though the other's number is smaller. t1 had run, and is killed.
#[test]
fn the_longest_branch_wins_and_who_has_run_is_killed() {
    check(
        Setup::new(2),
        "
        t1 x at 0
          S0 schedules t1
          S0 runs t1
        t2 x at 1
          S1 schedules t2
          S1 runs t2
        t3 x at 1
          S1 schedules t3 after t2
        0 to 1
          S1 proposes a choice
        1 to 0
        end at 0
        choice at 0
          S0 kills t1
          S0 schedules t1 after t2 t3
        ",
    );
}

// A stall that ends well: t1 has run before the other site has seen it.
#[test]
fn a_call_that_has_run_waits_for_agreement() {
    check(
        Setup::new(2),
        "
        t1 x at 0
          S0 schedules t1
          S0 runs t1
        end at 0
        0 to 1
        1 to 0
          S0 commits t1
        0 to 1
          S1 applies t1
        ",
    );
}

// Figure 4.4: while t3 is placed anew after t2, t4 is placed after t2 at the other site: a collision again.
#[test]
fn a_call_may_collide_with_the_loser_that_is_placed_anew() {
    check(
        Setup::new(2),
        "
        t1 x at 0
          S0 schedules t1
          S0 runs t1
        t2 x at 0
          S0 schedules t2 after t1
        t3 x at 1
          S1 schedules t3
          S1 runs t3
        0 to 1
          S1 proposes a choice
        choice at 1
          S1 kills t3
          S1 schedules t3 after t1 t2
        t4 x at 0
          S0 schedules t4 after t1 t2
        1 to 0
        choice at 0
          S0 proposes a choice
        choice at 0
          S0 cancels t4
          S0 schedules t4 after t1 t2 t3
        ",
    );
}

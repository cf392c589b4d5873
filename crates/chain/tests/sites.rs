//! Several sites: the thesis's figures as scripts, and random schedules after which all sites have one order.

#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use quintet_base::conflict::{ConflictKey, Mode, Modes, Space};
use quintet_chain::{CallId, Choice, Message, PlaceId, Site, SiteEffect, SiteEvent, SiteId};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write;

const WRITE: Mode = Mode(0);

fn modes() -> Modes {
    let mut modes = Modes::new();
    modes.declare(Space(0), WRITE, WRITE);
    modes
}

fn key(row: u64) -> ConflictKey {
    ConflictKey::new(Space(0), WRITE, &[row])
}

/// What is wrong with the world, for tests of the judge.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Planted {
    Nothing,
    /// The last site hears choices with winner and loser exchanged.
    ChoicesDiffer,
    /// Nobody hears of choices by others, so that sites commit what they should not.
    SeenTooEarly,
}

/// Sites, the channels between them, their agreement, and calls that run.
struct World {
    sites: Vec<Site>,
    /// From, to: what is on its way.
    channels: BTreeMap<(u32, u32), VecDeque<Message>>,
    choices: Vec<Choice>,
    /// By site: how many choices it has heard.
    told: Vec<usize>,
    /// By site: what runs there.
    running: Vec<BTreeMap<PlaceId, CallId>>,
    calls: Vec<Vec<ConflictKey>>,
    /// By site: the order in which it committed or applied.
    over: Vec<Vec<CallId>>,
    planted: Planted,
    trace: String,
}

impl World {
    fn new(sites: u32, planted: Planted) -> World {
        let pairs = (0..sites).flat_map(|from| (0..sites).map(move |to| (from, to)));
        World {
            sites: (0..sites)
                .map(|id| Site::new(SiteId(id), sites, modes()))
                .collect(),
            channels: pairs
                .filter(|(from, to)| from != to)
                .map(|pair| (pair, VecDeque::new()))
                .collect(),
            choices: Vec::new(),
            told: vec![0; sites as usize],
            running: vec![BTreeMap::new(); sites as usize],
            calls: Vec::new(),
            over: vec![Vec::new(); sites as usize],
            planted,
            trace: String::new(),
        }
    }

    fn handle(&mut self, at: u32, event: SiteEvent) -> Result<(), String> {
        let mut effects = Vec::new();
        self.sites[at as usize].handle(event, &mut effects);
        for effect in effects {
            self.bring_about(at, effect)?;
        }
        Ok(())
    }

    fn bring_about(&mut self, at: u32, effect: SiteEffect) -> Result<(), String> {
        let site = at as usize;
        match effect {
            SiteEffect::Tell(message) => {
                if let Message::Scheduled(offer) = &message {
                    let after = self.sites[site].after(offer.place);
                    let after: Vec<String> =
                        after.iter().map(|call| format!(" t{}", call.0)).collect();
                    let word = if after.is_empty() { "" } else { " after" };
                    let (call, after) = (offer.call.0, after.concat());
                    let _ = writeln!(self.trace, "  S{at} schedules t{call}{word}{after}");
                }
                let sites = self.sites.len() as u32;
                for to in (0..sites).filter(|to| *to != at) {
                    let channel = self.channels.get_mut(&(at, to)).unwrap();
                    channel.push_back(message.clone());
                }
            }
            SiteEffect::Propose(choice) => {
                let _ = writeln!(self.trace, "  S{at} proposes a choice");
                self.choices.push(choice);
            }
            SiteEffect::Run { call, place } => {
                let _ = writeln!(self.trace, "  S{at} runs t{}", call.0);
                for other in self.running[site].values() {
                    if self.meet(*other, call) {
                        return Err(format!("{call:?} runs beside {other:?}"));
                    }
                }
                self.running[site].insert(place, call);
            }
            SiteEffect::Cancel { call, place } => {
                let _ = writeln!(self.trace, "  S{at} cancels t{}", call.0);
                if self.running[site].contains_key(&place) {
                    return Err(format!("{call:?} runs and is cancelled"));
                }
            }
            SiteEffect::Kill { call, place } => {
                let _ = writeln!(self.trace, "  S{at} kills t{}", call.0);
                self.running[site].remove(&place);
            }
            SiteEffect::Answer { .. } | SiteEffect::Read { .. } | SiteEffect::Gone { .. } => {}
            SiteEffect::Commit { call } => {
                let _ = writeln!(self.trace, "  S{at} commits t{}", call.0);
                self.over[site].push(call);
            }
            SiteEffect::Apply { call } => {
                let _ = writeln!(self.trace, "  S{at} applies t{}", call.0);
                self.over[site].push(call);
            }
        }
        Ok(())
    }

    fn meet(&self, a: CallId, b: CallId) -> bool {
        let keys = |call: CallId| &self.calls[call.0 as usize - 1];
        let modes = modes();
        keys(a)
            .iter()
            .any(|key| keys(b).iter().any(|other| key.meets(other, &modes)))
    }

    fn submit(&mut self, at: u32, keys: Vec<ConflictKey>) -> Result<(), String> {
        self.calls.push(keys.clone());
        let call = CallId(self.calls.len() as u64);
        self.handle(at, SiteEvent::Submitted { call, keys })
    }

    /// The first message of a channel; false if there is none.
    fn deliver(&mut self, from: u32, to: u32) -> Result<bool, String> {
        let channel = self.channels.get_mut(&(from, to)).unwrap();
        let Some(mut message) = channel.pop_front() else {
            return Ok(false);
        };
        if self.planted == Planted::SeenTooEarly
            && let Message::Seen { seen, .. } = &mut message
        {
            seen.fill(u64::MAX);
        }
        let from = SiteId(from);
        self.handle(to, SiteEvent::Heard { from, message })?;
        Ok(true)
    }

    /// The next choice; false if there is none.
    fn choose(&mut self, at: u32) -> Result<bool, String> {
        let told = &mut self.told[at as usize];
        let Some(choice) = self.choices.get(*told).copied() else {
            return Ok(false);
        };
        *told += 1;
        let last = at as usize + 1 == self.sites.len();
        let choice = match self.planted == Planted::ChoicesDiffer && last {
            true => Choice {
                winner: choice.loser,
                loser: choice.winner,
            },
            false => choice,
        };
        self.handle(at, SiteEvent::Chosen(choice))?;
        Ok(true)
    }

    fn end(&mut self, at: u32, which: usize) -> Result<bool, String> {
        let running: Vec<PlaceId> = self.running[at as usize].keys().copied().collect();
        let Some(place) = running.get(which % running.len().max(1)).copied() else {
            return Ok(false);
        };
        self.running[at as usize].remove(&place);
        self.handle(at, SiteEvent::Executed { place })?;
        Ok(true)
    }

    /// Whatever is under way arrives, until nothing is.
    fn drain(&mut self) -> Result<(), String> {
        for _ in 0..2000 {
            let mut moved = false;
            let channels: Vec<(u32, u32)> = self.channels.keys().copied().collect();
            for (from, to) in channels {
                moved |= self.deliver(from, to)?;
            }
            for at in 0..self.sites.len() as u32 {
                moved |= self.choose(at)?;
                moved |= self.end(at, 0)?;
            }
            if !moved {
                return Ok(());
            }
        }
        Err("it never ends".into())
    }

    /// Every call is over once at every site, and calls that meet in one order.
    fn judge(&self) -> Result<(), String> {
        let all: BTreeSet<CallId> = (1..=self.calls.len() as u64).map(CallId).collect();
        for (at, over) in self.over.iter().enumerate() {
            let set: BTreeSet<CallId> = over.iter().copied().collect();
            if set != all || over.len() != all.len() {
                return Err(format!("site {at} has {over:?} of {} calls", all.len()));
            }
            if self.sites[at].pending() > 0 {
                return Err(format!("site {at} has places left"));
            }
        }
        let orders = self.over.iter().map(|over| {
            let pairs = (0..over.len()).flat_map(|i| (i + 1..over.len()).map(move |j| (i, j)));
            let pairs = pairs.map(|(i, j)| (over[i], over[j]));
            pairs
                .filter(|(a, b)| self.meet(*a, *b))
                .collect::<BTreeSet<_>>()
        });
        let orders: Vec<BTreeSet<(CallId, CallId)>> = orders.collect();
        match orders.windows(2).all(|two| two[0] == two[1]) {
            true => Ok(()),
            false => Err(format!("sites differ: {:?}", self.over)),
        }
    }
}

/// One step of a random schedule.
#[derive(Clone, Debug)]
enum Step {
    Submit(u32, Vec<u64>),
    Deliver(usize),
    Choose(u32),
    End(u32, usize),
}

fn steps(sites: u32) -> impl Strategy<Value = Vec<Step>> {
    let submit = (0..sites, prop::collection::vec(0..4u64, 1..3));
    let step = prop_oneof![
        3 => submit.prop_map(|(at, rows)| Step::Submit(at, rows)),
        10 => any::<usize>().prop_map(Step::Deliver),
        2 => (0..sites).prop_map(Step::Choose),
        2 => (0..sites, any::<usize>()).prop_map(|(at, which)| Step::End(at, which)),
    ];
    prop::collection::vec(step, 1..100)
}

fn play(sites: u32, steps: &[Step], planted: Planted) -> Result<World, String> {
    let mut world = World::new(sites, planted);
    let channels: Vec<(u32, u32)> = world.channels.keys().copied().collect();
    for step in steps {
        match step {
            Step::Submit(at, rows) => {
                world.submit(*at, rows.iter().map(|row| key(*row)).collect())?;
            }
            Step::Deliver(which) => {
                let (from, to) = channels[which % channels.len()];
                world.deliver(from, to)?;
            }
            Step::Choose(at) => {
                world.choose(*at)?;
            }
            Step::End(at, which) => {
                world.end(*at, *which)?;
            }
        }
    }
    world.drain()?;
    world.judge()?;
    Ok(world)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 300,
        failure_persistence: None,
        max_shrink_iters: 2000,
        ..ProptestConfig::default()
    })]

    #[test]
    fn all_sites_end_with_one_order(
        (sites, steps) in (2..5u32).prop_flat_map(|sites| (Just(sites), steps(sites))),
    ) {
        let end = play(sites, &steps, Planted::Nothing);
        prop_assert!(end.is_ok(), "{}", end.err().unwrap_or_default());
    }
}

// Random schedules reach what they are for, and the judge finds what is wrong.
#[test]
fn schedules_have_collisions_of_every_kind_and_planted_mistakes_are_found() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let strategy = steps(3);
    let schedules: Vec<Vec<Step>> = (0..100)
        .map(|_| {
            strategy
                .new_tree(&mut runner)
                .expect("all are taken")
                .current()
        })
        .collect();
    let (mut collisions, mut cancels, mut kills, mut stalls, mut bets) = (0, 0, 0, 0, 0);
    for steps in &schedules {
        let world = play(3, steps, Planted::Nothing).expect("nothing is planted");
        for site in &world.sites {
            let counts = site.counts();
            collisions += counts.collisions;
            cancels += counts.cancels;
            kills += counts.kills;
            stalls += counts.stalls;
            bets += counts.bets;
        }
    }
    let counts = [collisions, cancels, kills, stalls, bets];
    assert!(counts.iter().all(|count| *count > 20), "{counts:?}");
    for planted in [Planted::ChoicesDiffer, Planted::SeenTooEarly] {
        let found = schedules.iter().any(|steps| {
            // A site may notice itself, by an assertion.
            let played = std::panic::catch_unwind(|| play(3, steps, planted).is_err());
            played.unwrap_or(true)
        });
        assert!(found);
    }
}

/// Plays a script: `t1 x at 0` submits, `0 to 1` delivers all that is on its way, `choice at 1`, `end at 0`.
fn check(sites: u32, script: &str) {
    let mut world = World::new(sites, Planted::Nothing);
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
                let rows = rows.iter().map(|row| key(u64::from(row.as_bytes()[0])));
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
        2,
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
        2,
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
        2,
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
        2,
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
        2,
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

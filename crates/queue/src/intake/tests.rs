use super::*;
use quintet_base::conflict::{Mode, Space};
use quintet_base::patience::LEFT_OUT_MAX;
use quintet_rt::Rand;
use std::collections::BTreeMap;

const READ: Mode = Mode(0);
const WRITE: Mode = Mode(1);

fn modes() -> Modes {
    let mut modes = Modes::new();
    modes.declare(Space(0), READ, WRITE);
    modes.declare(Space(0), WRITE, WRITE);
    modes
}

fn key(mode: Mode, row: u64) -> ConflictKey {
    ConflictKey::new(Space(0), mode, &[row])
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Call {
    number: u64,
    keys: Vec<ConflictKey>,
}

impl Keyed for Call {
    fn keys(&self) -> &[ConflictKey] {
        &self.keys
    }
}

fn write(intake: &mut Intake<Call>, number: u64, rows: &[u64]) -> Priority {
    let keys = rows.iter().map(|row| key(WRITE, *row)).collect();
    intake.submit(Call { number, keys })
}

fn calls_of(lane: &Lane<Call>) -> Vec<u64> {
    lane.calls.iter().map(|(_, call)| call.number).collect()
}

/// Looks as often as it takes to be heard.
fn take(intake: &mut Intake<Call>, calls_max: usize) -> Option<Lane<Call>> {
    (0..=LEFT_OUT_MAX).find_map(|_| intake.take(calls_max))
}

#[test]
fn a_batch_is_what_is_pending_when_somebody_has_time() {
    let mut intake = Intake::new(modes());
    assert!(take(&mut intake, 10).is_none());
    write(&mut intake, 1, &[7]);
    let first = take(&mut intake, 10).unwrap();
    assert_eq!(calls_of(&first), [1]);
    for call in 2..=5 {
        write(&mut intake, call, &[7]);
    }
    assert!(
        take(&mut intake, 10).is_none(),
        "all are of the row that is in a lane"
    );
    intake.end(first.id);
    let next = take(&mut intake, 3).unwrap();
    assert_eq!(calls_of(&next), [2, 3, 4]);
    assert_eq!((intake.pending(), intake.running()), (1, 1));
}

#[test]
fn a_second_lane_takes_what_meets_neither_the_first_nor_whom_it_holds() {
    let mut intake = Intake::new(modes());
    write(&mut intake, 1, &[7]);
    let first = take(&mut intake, 10).unwrap();
    write(&mut intake, 2, &[7, 8]);
    write(&mut intake, 3, &[8]);
    write(&mut intake, 4, &[9]);
    let second = take(&mut intake, 10).unwrap();
    assert_eq!(calls_of(&second), [4], "3 is behind 2, which is behind 1");
    write(&mut intake, 5, &[9]);
    write(&mut intake, 6, &[10]);
    let third = take(&mut intake, 10).unwrap();
    assert_eq!(calls_of(&third), [6]);
    intake.end(first.id);
    let fourth = take(&mut intake, 10).unwrap();
    assert_eq!(calls_of(&fourth), [2, 3]);
    intake.end(second.id);
    assert_eq!(calls_of(&take(&mut intake, 10).unwrap()), [5]);
}

#[test]
fn who_withdraws_is_not_run_and_holds_nobody_for_long() {
    let mut intake = Intake::new(modes());
    write(&mut intake, 1, &[7]);
    let first = take(&mut intake, 10).unwrap();
    let second = write(&mut intake, 2, &[7, 8]);
    write(&mut intake, 3, &[8]);
    assert!(take(&mut intake, 10).is_none());
    assert_eq!(intake.withdraw(second).map(|call| call.number), Some(2));
    assert!(intake.withdraw(second).is_none());
    intake.end(first.id);
    assert_eq!(calls_of(&take(&mut intake, 10).unwrap()), [3]);
    assert!(intake.first().is_none());
}

/// Goal: whatever lanes run side by side, reads and writes happen as if calls had run one by one in the order of
/// their priorities. Method: random calls of random rows; lanes begin and end at random, a lane's reads and
/// writes all happen at its end; each call notes the last writer of each row it reads, which must be that of
/// the serial order.
#[test]
fn lanes_side_by_side_are_calls_one_by_one() {
    let seed = Rand::from_os().next_u64();
    println!("seed {seed}");
    let mut rand = Rand::seeded(seed);
    let mut side_by_side = 0;
    for _ in 0..200 {
        let mut intake: Intake<Call> = Intake::new(modes());
        let mut running: Vec<Lane<Call>> = Vec::new();
        let mut submitted: Vec<Call> = Vec::new();
        let mut state: BTreeMap<u64, u64> = BTreeMap::new();
        let mut seen: BTreeMap<(u64, u64), Option<u64>> = BTreeMap::new();
        let mut left = 40;
        while left > 0 || !intake.is_idle() {
            match rand.below(4) {
                0 | 1 if left > 0 => {
                    left -= 1;
                    let keys: Vec<ConflictKey> = (0..1 + rand.below(3))
                        .map(|_| key(Mode(rand.below(2) as u8), rand.below(12)))
                        .collect();
                    let number = submitted.len() as u64 + 1;
                    let call = Call { number, keys };
                    submitted.push(call.clone());
                    intake.submit(call);
                }
                2 => {
                    let most = 1 + rand.below(5) as usize;
                    if running.len() < 3
                        && let Some(lane) = take(&mut intake, most)
                    {
                        assert!(lane.calls.len() <= most);
                        running.push(lane);
                        side_by_side += usize::from(running.len() > 1);
                    }
                }
                _ if !running.is_empty() => {
                    let lane = running.swap_remove(rand.below(running.len() as u64) as usize);
                    for (_, call) in &lane.calls {
                        run(call.number, &call.keys, &mut state, &mut seen);
                    }
                    intake.end(lane.id);
                }
                _ => {}
            }
        }
        let (mut serial, mut expected) = (BTreeMap::new(), BTreeMap::new());
        for call in &submitted {
            run(call.number, &call.keys, &mut serial, &mut expected);
        }
        assert_eq!(seen, expected);
        assert_eq!(state, serial);
    }
    assert!(
        side_by_side > 200,
        "lanes do run side by side: {side_by_side}"
    );
}

fn run(
    call: u64,
    keys: &[ConflictKey],
    state: &mut BTreeMap<u64, u64>,
    seen: &mut BTreeMap<(u64, u64), Option<u64>>,
) {
    for key in keys {
        let row = key.path()[0];
        match key.mode {
            READ => {
                seen.insert((call, row), state.get(&row).copied());
            }
            _ => {
                state.insert(row, call);
            }
        }
    }
}

/// Goal: where all calls meet, looking beside the running lane becomes rare; one that finds something makes it
/// frequent again.
#[test]
fn looking_in_vain_becomes_rare() {
    let mut intake: Intake<Call> = Intake::new(modes());
    write(&mut intake, 1, &[7]);
    let mut lane = intake.take(1).unwrap();
    let mut wanted = 0;
    for number in 2..1000 {
        write(&mut intake, number, &[7]);
        wanted += u32::from(intake.wants_keys());
        assert!(intake.take(1).is_none());
        intake.end(lane.id);
        lane = intake.take(1).unwrap();
    }
    assert!((10..40).contains(&wanted), "{wanted}");
    for number in 1000..1100 {
        write(&mut intake, number, &[number]);
        if intake.take(10).is_some() {
            assert!(intake.wants_keys());
            return;
        }
    }
    panic!("nobody looked");
}

/// Goal: a call that goes on by itself holds those that meet it and no others, however often one looks; the others
/// of its lane are where they were.
#[test]
fn a_lone_call_holds_its_own_and_the_rest_is_pending_again() {
    let mut intake: Intake<Call> = Intake::new(modes());
    for number in 1..=4 {
        write(&mut intake, number, &[7 + number % 2]);
    }
    let lane = intake.take(10).unwrap();
    write(&mut intake, 5, &[9]);
    write(&mut intake, 6, &[8]);
    // The second has failed by itself; the first of row 8 goes on alone, 3 and 4 are to be run again.
    let mut calls = lane.calls.into_iter();
    let (_, lone) = calls.next().unwrap();
    let again: Vec<_> = calls.skip(1).collect();
    intake.detach(lane.id, &lone, again);
    assert_eq!((intake.running(), intake.pending()), (0, 4));
    let second = intake.take(10).unwrap();
    assert_eq!(
        calls_of(&second),
        [4, 5],
        "3 and 6 are of the lone call's row"
    );
    intake.end(second.id);
    for _ in 0..3 {
        assert!(intake.take(10).is_none());
    }
    write(&mut intake, 7, &[10]);
    assert_eq!(
        calls_of(&intake.take(10).unwrap()),
        [7],
        "at the first look"
    );
    intake.end(lane.id);
    assert_eq!(calls_of(&take(&mut intake, 10).unwrap()), [3, 6]);
}

/// Goal: the call that waited for something by itself is run together with those that it held, in their order, beside
/// what runs meanwhile.
#[test]
fn a_detached_call_rejoins_with_those_that_it_held() {
    let mut intake = Intake::new(modes());
    for call in 1..=3 {
        write(&mut intake, call, &[8]);
    }
    let lane = take(&mut intake, 10).unwrap();
    let mut calls = lane.calls.into_iter();
    let lone = calls.next().unwrap();
    intake.detach(lane.id, &lone.1, calls.collect());
    write(&mut intake, 4, &[9]);
    write(&mut intake, 5, &[8]);
    let beside = take(&mut intake, 10).unwrap();
    assert_eq!(calls_of(&beside), [4]);
    for _ in 0..3 {
        assert!(intake.take(10).is_none(), "looking becomes rare");
    }
    write(&mut intake, 6, &[9]);
    let joined = intake.rejoin(lane.id, lone, 10).unwrap();
    assert_eq!(calls_of(&joined), [1, 2, 3, 5], "at the first look");
    intake.end(beside.id);
    assert_eq!(calls_of(&take(&mut intake, 10).unwrap()), [6]);
    intake.end(joined.id);
}

//! Every engine, the same tests: outcomes and records are those of the calls one after the other, and a crash leaves
//! each call whole or absent.

mod cluster;

use cluster::Cluster;
use quintet_nodes::{
    Action, BatchSize, Call, CallId, Change, Check, Datum, EngineKind, Field, How, Key, NodeId,
    Operand, Operation, Outcome, Record, run_serially,
};
use quintet_rt::Rand;
use std::collections::{BTreeMap, BTreeSet};

/// Seeds of each test; a hundred times as many were run when it was written.
const CASES: u64 = 60;

const TABLE: u8 = 1;
const LOG: u8 = 2;
/// Fields: how often it was written, a balance.
const VERSION: u16 = 0;
const BALANCE: u16 = 8;

fn record(version: i64, balance: i64) -> Record {
    [version.to_le_bytes(), balance.to_le_bytes()].concat()
}

fn home(group: u64, nodes: u64) -> NodeId {
    NodeId((group % nodes) as u16)
}

fn data(nodes: u64, keys: u64) -> Vec<BTreeMap<Key, Record>> {
    let mut data = vec![BTreeMap::new(); nodes as usize];
    for group in 0..keys {
        let node = home(group, nodes).index();
        data[node].insert(Key::alone(TABLE, group), record(0, 100));
    }
    data
}

/// A call and, for each of its answers, the key whose version that is and whether it was written.
struct Made {
    call: Call,
    versions: Vec<(Key, bool)>,
}

/// Reads, checks, then updates and inserts, on distinct keys, values passing from any to any later one.
fn random_call(rand: &mut Rand, nodes: u64, keys: u64) -> Made {
    let mut operations = Vec::new();
    let mut groups: Vec<u64> = (0..1 + rand.below(5)).map(|_| rand.below(keys)).collect();
    groups.sort_unstable();
    groups.dedup();
    for at in (1..groups.len()).rev() {
        groups.swap(at, rand.below(at as u64 + 1) as usize);
    }
    let reads = rand.below(groups.len() as u64 + 1) as usize;
    let mut slot = 0;
    let mut numbers: Vec<u16> = Vec::new();
    let mut answers = Vec::new();
    let mut versions = Vec::new();
    for (at, group) in groups.iter().enumerate() {
        let key = Key::alone(TABLE, *group);
        let mut take = vec![(Field::Int(VERSION), slot), (Field::Int(BALANCE), slot + 1)];
        answers.push(slot);
        versions.push((key, at >= reads));
        slot += 2;
        let by = match numbers.is_empty() || rand.one_in(2) {
            true => Operand::Int(rand.below(40) as i64 - 20),
            false => Operand::Slot(numbers[rand.below(numbers.len() as u64) as usize]),
        };
        let action = if at < reads {
            let check = rand.one_in(3).then(|| {
                slot += 1;
                let at_least = (BALANCE, Operand::Int(rand.below(120) as i64));
                Check {
                    verdict: slot - 1,
                    at_least: Some(at_least),
                }
            });
            Action::Read { take, check }
        } else {
            if rand.one_in(4) {
                take.truncate(1);
            }
            let change = |at, how, by| Change { at, how, by };
            let how = if rand.one_in(4) { How::Set } else { How::Add };
            let changes = vec![
                change(VERSION, How::Add, Operand::Int(1)),
                change(BALANCE, how, by),
            ];
            Action::Update { take, changes }
        };
        numbers.extend(
            action
                .makes()
                .filter(|made| made % 2 == 1 || rand.one_in(9)),
        );
        let node = home(*group, nodes);
        operations.push((node, Operation { key, action }));
    }
    // An insert whose key comes from a version, which no other call of that group can have seen.
    if reads < groups.len() && rand.one_in(2) {
        let (group, version) = (groups[reads], answers[reads]);
        let item = Some((version, 10));
        let record = vec![Operand::Slot(version), Operand::Int(7)];
        let key = Key {
            table: LOG,
            group,
            item: 3,
        };
        let action = Action::Insert { item, record };
        // Beside the group, or elsewhere.
        let node = home(group + rand.below(2), nodes);
        operations.push((node, Operation { key, action }));
    }
    Made {
        call: Call::new(operations, answers).expect("made to be one"),
        versions,
    }
}

/// Orders calls by what they saw, then compares with the serial run in that order.
fn check_serial(
    made: &BTreeMap<CallId, Made>,
    began: &BTreeMap<CallId, usize>,
    ended: &BTreeMap<CallId, usize>,
    outcomes: &BTreeMap<CallId, Outcome>,
    mut records: BTreeMap<Key, Record>,
    end: &BTreeMap<Key, Record>,
) {
    // Who wrote, and who read, each version of each key.
    let mut writers: BTreeMap<(Key, i64), CallId> = BTreeMap::new();
    let mut readers: Vec<(Key, i64, CallId)> = Vec::new();
    for (id, outcome) in outcomes {
        if let Outcome::Committed(answers) = outcome {
            assert_eq!(answers.len(), made[id].versions.len());
            for (value, (key, writes)) in answers.iter().zip(&made[id].versions) {
                let Datum::Int(version) = value else {
                    panic!("{id:?} saw {value:?} as a version of {key:?}")
                };
                readers.push((*key, *version, *id));
                if *writes {
                    let other = writers.insert((*key, version + 1), *id);
                    assert_eq!(other, None, "two wrote version {} of {key:?}", version + 1);
                }
            }
        }
    }
    let mut before: BTreeMap<CallId, BTreeSet<CallId>> = BTreeMap::new();
    let committed = |id: &CallId| matches!(outcomes[id], Outcome::Committed(_));
    for (key, version, id) in &readers {
        if let Some(writer) = writers.get(&(*key, *version)) {
            before.entry(*id).or_default().insert(*writer);
        }
        if let Some(next) = writers.get(&(*key, version + 1)).filter(|next| *next != id) {
            before.entry(*next).or_default().insert(*id);
        }
    }
    for (id, at) in began.iter().filter(|(id, _)| committed(id)) {
        let earlier = ended
            .iter()
            .filter(|(other, end)| committed(other) && *end < at);
        before
            .entry(*id)
            .or_default()
            .extend(earlier.map(|(other, _)| *other));
    }
    let mut left: BTreeSet<CallId> = outcomes.keys().copied().filter(committed).collect();
    let mut raised: BTreeSet<CallId> = outcomes
        .iter()
        .filter(|(_, outcome)| **outcome == Outcome::Raised)
        .map(|(id, _)| *id)
        .collect();
    let mut raise = |records: &BTreeMap<Key, Record>| {
        raised.retain(|id| run_serially(&mut records.clone(), &made[id].call) != Outcome::Raised);
        raised.len()
    };
    raise(&records);
    while !left.is_empty() {
        let next = *left
            .iter()
            .find(|id| {
                let before = before.get(id);
                !before.is_some_and(|before| before.iter().any(|other| left.contains(other)))
            })
            .expect("a cycle of dependencies");
        left.remove(&next);
        let outcome = run_serially(&mut records, &made[&next].call);
        assert_eq!(outcome, outcomes[&next], "of {next:?} in its place");
        raise(&records);
    }
    assert_eq!(raise(&records), 0, "raised, but nowhere in the order");
    assert_eq!(records, *end, "what is stored at the end");
}

fn check_engine(kind: EngineKind, seed: u64, batch: BatchSize) {
    let mut rand = Rand::seeded(seed);
    let nodes = 1 + rand.below(4);
    let keys = 2 + rand.below(12);
    let lanes = 1 + rand.below(5) as usize;
    let calls = 20 + rand.below(60);
    println!("seed {seed}: {} on {nodes} nodes, {keys} keys", kind.name());
    let data = data(nodes, keys);
    let start: BTreeMap<Key, Record> = data
        .iter()
        .flatten()
        .map(|(k, r)| (*k, r.clone()))
        .collect();
    let mut cluster = Cluster::new(kind, data, batch, lanes, seed);
    let (mut made, mut began, mut ended) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    let mut now = 0;
    for number in 0..calls {
        let id = CallId(number);
        let call = random_call(&mut rand, nodes, keys);
        began.insert(id, now);
        cluster.call(rand.below(nodes) as usize, id, call.call.clone());
        made.insert(id, call);
        for _ in 0..rand.below(30) {
            cluster.step();
            now += 1;
            for id in cluster.outcomes.keys() {
                ended.entry(*id).or_insert(now);
            }
        }
    }
    cluster.run();
    assert!(cluster.open.is_empty(), "unanswered: {:?}", cluster.open);
    let unknown = |outcome: &Outcome| *outcome == Outcome::Unknown;
    assert!(!cluster.outcomes.values().any(unknown), "nothing was lost");
    let end = cluster.records();
    check_serial(&made, &began, &ended, &cluster.outcomes, start, &end);
}

const ARRIVED: BatchSize = BatchSize::Arrived(16);

#[test]
fn queues_are_serial() {
    (0..CASES).for_each(|seed| check_engine(EngineKind::Queue, seed, ARRIVED));
    (0..40).for_each(|seed| check_engine(EngineKind::Queue, seed, BatchSize::Full(5)));
}

#[test]
fn calvin_is_serial() {
    (0..CASES).for_each(|seed| check_engine(EngineKind::Calvin, seed, ARRIVED));
    (0..40).for_each(|seed| check_engine(EngineKind::Calvin, seed, BatchSize::Full(5)));
}

#[test]
fn no_wait_is_serial() {
    (0..CASES).for_each(|seed| check_engine(EngineKind::NoWait, seed, ARRIVED));
}

#[test]
fn optimistic_is_serial() {
    (0..CASES).for_each(|seed| check_engine(EngineKind::Optimistic, seed, ARRIVED));
}

#[test]
fn serial_partitions_are_serial() {
    (0..CASES).for_each(|seed| check_engine(EngineKind::Serial, seed, ARRIVED));
}

/// Moves money between accounts of several nodes, if the first has enough, and leaves a mark at each of the nodes.
fn transfer(rand: &mut Rand, id: u64, nodes: u64, keys: u64) -> (Call, Vec<u64>, i64) {
    let mut groups: Vec<u64> = (0..2 + rand.below(2)).map(|_| rand.below(keys)).collect();
    groups.sort_unstable();
    groups.dedup();
    let amount = 1 + rand.below(9) as i64;
    let node = |group: &u64| home(*group, nodes);
    let check = Some(Check {
        verdict: 0,
        at_least: Some((BALANCE, Operand::Int(50))),
    });
    let first = (
        node(&groups[0]),
        Operation {
            key: Key::alone(TABLE, groups[0]),
            action: Action::Read {
                take: vec![],
                check,
            },
        },
    );
    let mut operations = vec![first];
    for (at, group) in groups.iter().enumerate() {
        let others = groups.len() as i64 - 1;
        let by = if at == 0 { -amount * others } else { amount };
        let changes = vec![Change {
            at: BALANCE,
            how: How::Add,
            by: Operand::Int(by),
        }];
        let key = Key::alone(TABLE, *group);
        let take = vec![(Field::Int(BALANCE), 1 + at as u16)];
        let action = Action::Update { take, changes };
        operations.push((node(group), Operation { key, action }));
        let mark = Key {
            table: LOG,
            group: node(group).0.into(),
            item: id,
        };
        let action = Action::Insert {
            item: None,
            record: vec![Operand::Slot(1)],
        };
        operations.push((node(group), Operation { key: mark, action }));
    }
    let call = Call::new(operations, vec![]).expect("made to be one");
    (call, groups, amount)
}

fn check_crashes(kind: EngineKind, seed: u64) {
    let mut rand = Rand::seeded(seed);
    let nodes = 2 + rand.below(3);
    let keys = 4 + rand.below(12);
    println!("seed {seed}: {} on {nodes} nodes, {keys} keys", kind.name());
    let mut cluster = Cluster::new(kind, data(nodes, keys), ARRIVED, 4, seed);
    let mut made = BTreeMap::new();
    for number in 0..40 + rand.below(40) {
        let id = CallId(number);
        let (call, groups, amount) = transfer(&mut rand, number, nodes, keys);
        cluster.call(rand.below(nodes) as usize, id, call);
        made.insert(id, (groups, amount));
        for _ in 0..rand.below(40) {
            cluster.step();
        }
        let node = rand.below(nodes) as usize;
        if !cluster.is_up(node) {
            cluster.restart(node);
        } else if rand.one_in(8) {
            cluster.crash(node);
        } else if rand.one_in(8) {
            let other = (node + 1) % nodes as usize;
            if cluster.is_up(other) {
                cluster.cut(node, other);
            }
        }
    }
    for node in 0..nodes as usize {
        if !cluster.is_up(node) {
            cluster.restart(node);
        }
    }
    cluster.run();
    assert!(cluster.open.is_empty(), "unanswered: {:?}", cluster.open);
    let records = cluster.records();
    let mut balances = vec![100; keys as usize];
    for (id, (groups, amount)) in &made {
        let marks: BTreeSet<bool> = groups
            .iter()
            .map(|group| {
                let group = home(*group, nodes).0.into();
                let key = Key {
                    table: LOG,
                    group,
                    item: id.0,
                };
                records.contains_key(&key)
            })
            .collect();
        assert_eq!(marks.len(), 1, "{id:?} took place in part");
        let there = marks.contains(&true);
        match &cluster.outcomes[id] {
            Outcome::Committed(_) => assert!(there, "{id:?} was answered and is lost"),
            Outcome::Raised => assert!(!there, "{id:?} was raised and took place"),
            Outcome::Unknown => {}
        }
        if there {
            balances[groups[0] as usize] -= amount * (groups.len() as i64 - 1);
            for group in &groups[1..] {
                balances[*group as usize] += amount;
            }
        }
    }
    for (group, balance) in balances.iter().enumerate() {
        let stored = &records[&Key::alone(TABLE, group as u64)];
        assert_eq!(stored[8..], balance.to_le_bytes(), "balance of {group}");
    }
    assert!(cluster.crashes + cluster.cuts > 0 || made.len() < 60);
    // Nobody is left holding something: a call on every account is answered.
    for group in 0..keys {
        let call = transfer_one(group, nodes);
        cluster.call(0, CallId(10_000 + group), call);
    }
    cluster.run();
    assert!(cluster.open.is_empty(), "stuck: {:?}", cluster.open);
}

fn transfer_one(group: u64, nodes: u64) -> Call {
    let changes = vec![Change {
        at: BALANCE,
        how: How::Add,
        by: Operand::Int(1),
    }];
    let key = Key::alone(TABLE, group);
    let take = vec![];
    let action = Action::Update { take, changes };
    let operation = Operation { key, action };
    Call::new(vec![(home(group, nodes), operation)], vec![]).expect("one update")
}

#[test]
fn crashes_leave_calls_of_queues_whole() {
    (0..CASES).for_each(|seed| check_crashes(EngineKind::Queue, seed));
}

#[test]
fn crashes_leave_calls_of_calvin_whole() {
    (0..CASES).for_each(|seed| check_crashes(EngineKind::Calvin, seed));
}

// Seed 581: a decision told twice was acknowledged before its record was durable, the coordinator forgot it, and the
// participant crashed.
#[test]
fn crashes_leave_calls_under_no_wait_whole() {
    check_crashes(EngineKind::NoWait, 581);
    (0..CASES).for_each(|seed| check_crashes(EngineKind::NoWait, seed));
}

#[test]
fn crashes_leave_optimistic_calls_whole() {
    (0..CASES).for_each(|seed| check_crashes(EngineKind::Optimistic, seed));
}

#[test]
fn crashes_leave_calls_of_serial_partitions_whole() {
    (0..CASES).for_each(|seed| check_crashes(EngineKind::Serial, seed));
}

// A batch costs one message from each planner to each other node, and one back; nothing for each call. Method: as many
// calls at each of four nodes as a batch takes, none of which passes a value.
#[test]
fn a_batch_is_one_message_for_each_pair_of_nodes() {
    let (nodes, each) = (4u64, 50);
    let mut cluster = Cluster::new(
        EngineKind::Queue,
        data(nodes, 40),
        BatchSize::Full(each),
        8,
        7,
    );
    // Hellos.
    cluster.run();
    cluster.messages.clear();
    let mut number = 0;
    for node in 0..nodes as usize {
        for _ in 0..each {
            number += 1;
            let parts = (0..4).map(|step| transfer_one((number * 7 + step) % 40, nodes));
            let parts = parts.flat_map(|call| call.operations().to_vec());
            let call = Call::new(parts.collect(), vec![]).expect("updates");
            cluster.call(node, CallId(number), call);
        }
    }
    cluster.run();
    assert_eq!(cluster.outcomes.len(), 200);
    let pairs = nodes * (nodes - 1);
    let expected = BTreeMap::from([("plan", pairs), ("done", pairs)]);
    assert_eq!(cluster.messages, expected);
}

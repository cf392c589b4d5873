//! What becomes of events, as scripts: an event, and below it its effects.
//!
//! ```text
//!   call c1 x y [ro] [pinned] [interactive] [by s2] [token 7:1]     submitted; writes rows x and y
//!   prepared 1 | failed 1 conflict | read 1                         attempts are known by their number
//!   wrote 1 A x y        the stream of replica A tells of attempt 1; foreign A x; settled 1 A yes
//!   committed 1 A | rolled back 1 A | applied 1 B [soft]            write sets by attempt, or f A:1
//!   lost A | report A [prepared 1] [applied 2 ...] | caught up A    e2:1 is attempt 1 of epoch 2
//! ```
//!
//! Replicas A, B … have one slot for calls, one for clients' transactions, one for reads.

#![allow(clippy::unwrap_used)]

use quintet_base::conflict::{ConflictKey, Mode, Modes, Space};
use quintet_front::*;
use std::collections::BTreeMap;
use std::fmt::Write;

fn letter(replica: ReplicaId) -> char {
    char::from(b'A' + replica.0 as u8)
}

fn replica(text: &str) -> ReplicaId {
    ReplicaId(u32::from(text.as_bytes()[0] - b'A'))
}

fn call(text: &str) -> CallId {
    CallId(text.strip_prefix('c').unwrap().parse().unwrap())
}

fn row(text: &str) -> u64 {
    text.bytes()
        .fold(7, |hash, byte| hash * 31 + u64::from(byte))
}

struct Script {
    front: Front,
    epoch: u32,
    /// The last position of each replica's log.
    lsn: BTreeMap<ReplicaId, u64>,
    tickets: BTreeMap<ReplicaId, u64>,
}

impl Script {
    fn attempt(&self, text: &str) -> AttemptId {
        let (epoch, number) = match text.strip_prefix('e') {
            Some(text) => {
                let (epoch, number) = text.split_once(':').unwrap();
                (epoch.parse().unwrap(), number)
            }
            None => (self.epoch, text),
        };
        let number = number.parse().unwrap();
        AttemptId { epoch, number }
    }

    fn write(&self, text: &str) -> WriteId {
        match text.split_once(':') {
            Some((at, lsn)) if at.len() == 1 => WriteId::Foreign {
                replica: replica(at),
                at: Lsn(lsn.parse().unwrap()),
            },
            _ => WriteId::Attempt(self.attempt(text)),
        }
    }

    fn next_lsn(&mut self, of: ReplicaId) -> Lsn {
        let lsn = self.lsn.entry(of).or_default();
        *lsn += 1;
        Lsn(*lsn)
    }

    fn event(&mut self, line: &str) -> Event {
        let words: Vec<&str> = line.split_whitespace().collect();
        let rows = |from: usize| match words.get(from) {
            None => Rows::None,
            Some(&"*") => Rows::Any,
            Some(_) => Rows::These(words[from..].iter().map(|word| row(word)).collect()),
        };
        match words[0] {
            "call" => {
                let mut of = Call::new(call(words[1]), SessionId(1), Vec::new());
                let mut rest = words[2..].iter();
                while let Some(word) = rest.next() {
                    match *word {
                        "ro" => of.access = Access::ReadOnly,
                        "pinned" => of.pinned = true,
                        "interactive" => (of.interactive, of.pinned) = (true, true),
                        "by" => of.session = SessionId(rest.next().unwrap()[1..].parse().unwrap()),
                        "token" => {
                            let (client, number) = rest.next().unwrap().split_once(':').unwrap();
                            let (client, number) =
                                (client.parse().unwrap(), number.parse().unwrap());
                            of.token = Some(Token { client, number });
                        }
                        key => of
                            .keys
                            .push(ConflictKey::new(Space(0), Mode(0), &[row(key)])),
                    }
                }
                Event::Submitted(of)
            }
            "asked" => Event::Asked {
                call: call(words[1]),
                answered: words[2] == "yes",
            },
            "prepared" => Event::Prepared {
                attempt: self.attempt(words[1]),
            },
            "failed" => Event::Failed {
                attempt: self.attempt(words[1]),
                why: match words[2] {
                    "conflict" => Why::Conflict,
                    "refused" => Why::Refused,
                    _ => Why::Unknown,
                },
            },
            "read" => Event::Read {
                attempt: self.attempt(words[1]),
            },
            "wrote" => {
                let attempt = self.attempt(words[1]);
                let of = replica(words[2]);
                Event::WriteSet {
                    attempt,
                    replica: of,
                    at: self.next_lsn(of),
                    place: Place(u64::from(attempt.epoch) << 40 | attempt.number),
                    rows: rows(3),
                }
            }
            "foreign" => {
                let of = replica(words[1]);
                Event::Foreign {
                    replica: of,
                    at: self.next_lsn(of),
                    rows: rows(2),
                }
            }
            "settled" => {
                let of = replica(words[2]);
                Event::Settled {
                    attempt: self.attempt(words[1]),
                    replica: of,
                    at: self.next_lsn(of),
                    committed: words[3] == "yes",
                }
            }
            "committed" => Event::Committed {
                attempt: self.attempt(words[1]),
                replica: replica(words[2]),
            },
            "rolled" => Event::RolledBack {
                attempt: self.attempt(words[2]),
                replica: replica(words[3]),
            },
            "applied" => Event::Applied {
                write: self.write(words[1]),
                replica: replica(words[2]),
                durable: words.get(3) != Some(&"soft"),
            },
            "hardened" => {
                let of = replica(words[1]);
                Event::Hardened {
                    replica: of,
                    ticket: self.tickets[&of],
                }
            }
            "blocked" => Event::Blocked {
                replica: replica(words[1]),
                by: words[2..].iter().map(|word| self.attempt(word)).collect(),
            },
            "lost" => Event::ReplicaLost {
                replica: replica(words[1]),
            },
            "report" => {
                let of = replica(words[1]);
                let mut report = Report::default();
                let mut what = "";
                for word in &words[2..] {
                    match (what, *word) {
                        (_, "prepared" | "applied") => what = word,
                        ("prepared", attempt) => report.prepared.push(self.attempt(attempt)),
                        (_, write) => report.applied.push(self.write(write)),
                    }
                }
                Event::ReplicaReported {
                    replica: of,
                    report,
                }
            }
            "caught" => Event::StreamCaughtUp {
                replica: replica(words[2]),
            },
            "cancel" => Event::Cancelled {
                call: call(words[1]),
            },
            "tick" => Event::Tick,
            other => panic!("no such event: {other}"),
        }
    }

    fn name(&self, write: &WriteId) -> String {
        match write {
            WriteId::Attempt(AttemptId { epoch, number }) if *epoch == self.epoch => {
                number.to_string()
            }
            WriteId::Attempt(AttemptId { epoch, number }) => format!("e{epoch}:{number}"),
            WriteId::Foreign { replica, at } => format!("{}:{}", letter(*replica), at.0),
        }
    }

    fn effect(&mut self, effect: Effect) -> String {
        let names = |of: &[WriteId]| -> String {
            let names = of.iter().map(|write| format!(" {}", self.name(write)));
            names.collect()
        };
        let attempt = |attempt| self.name(&WriteId::Attempt(attempt));
        let after = |write: Option<WriteId>| match write {
            Some(write) => format!(" after {}", self.name(&write)),
            None => String::new(),
        };
        match effect {
            Effect::Run {
                call,
                attempt: of,
                replica,
                ..
            } => {
                format!("run c{} as {} at {}", call.0, attempt(of), letter(replica))
            }
            Effect::Ask { call, replica } => format!("ask {} of c{}", letter(replica), call.0),
            Effect::Kill {
                attempt: of,
                replica,
            } => {
                format!("kill {} at {}", attempt(of), letter(replica))
            }
            Effect::Commit {
                attempt: of,
                replica,
                commit_after,
            } => {
                format!(
                    "commit {} at {}{}",
                    attempt(of),
                    letter(replica),
                    after(commit_after)
                )
            }
            Effect::Rollback {
                attempt: of,
                replica,
            } => {
                format!("roll back {} at {}", attempt(of), letter(replica))
            }
            Effect::Apply {
                write,
                replica,
                begin_after,
                commit_after,
                durable,
            } => {
                let begin = match begin_after.is_empty() {
                    true => String::new(),
                    false => format!(" begin after{}", names(&begin_after)),
                };
                let durable = if durable { " durably" } else { "" };
                let after = after(commit_after);
                format!(
                    "apply {} at {}{begin}{after}{durable}",
                    self.name(&write),
                    letter(replica)
                )
            }
            Effect::Harden { replica, ticket } => {
                self.tickets.insert(replica, ticket);
                format!("harden {}", letter(replica))
            }
            Effect::Answer {
                call,
                joined,
                outcome,
            } => {
                let also: String = joined
                    .iter()
                    .map(|call| format!(" and c{}", call.0))
                    .collect();
                format!("answer c{}{also}: {outcome:?}", call.0)
            }
            Effect::Refuse { call, reason } => format!("refuse c{}: {reason:?}", call.0),
            Effect::Forget { write } => format!("forget {}", self.name(&write)),
            Effect::Confirm { replica, at } => {
                format!("confirm {} up to {}", letter(replica), at.0)
            }
            Effect::Prune {
                replica, writes, ..
            } => {
                format!("prune{} at {}", names(&writes), letter(replica))
            }
            Effect::Reread { replica } => format!("read {} again", letter(replica)),
            Effect::Expelled { replica } => format!("{} is expelled", letter(replica)),
            Effect::WaitingFor { replicas } => {
                let replicas: String = replicas.into_iter().map(letter).collect();
                format!("waiting for {replicas}")
            }
            Effect::Ready => "ready".to_string(),
        }
    }
}

/// A front end over this many replicas, in its second epoch.
fn front(replicas: u32, policy: Policy, guarantee: Guarantee) -> FrontConfig {
    let mut modes = Modes::new();
    modes.declare(Space(0), Mode(0), Mode(0));
    let replicas = (0..replicas).map(|id| ReplicaConfig {
        id: ReplicaId(id),
        slots: 1,
        interactive_slots: 1,
        read_slots: 1,
    });
    FrontConfig {
        policy,
        guarantee,
        modes,
        ..FrontConfig::new(2, replicas.collect())
    }
}

/// Plays a script on a front end whose replicas have nothing to tell, and checks the trace.
fn check(config: FrontConfig, script: &str) {
    let all: Vec<ReplicaId> = config.replicas.iter().map(|replica| replica.id).collect();
    let mut first = String::new();
    for replica in &all {
        let _ = writeln!(first, "report {}", letter(*replica));
        let _ = writeln!(first, "caught up {}", letter(*replica));
    }
    let mut script_of = Script::new(config);
    script_of.play(&first);
    assert!(all.iter().all(|replica| script_of.front.is_live(*replica)));
    script_of.check(script);
}

/// Plays a script from the start of a front end.
fn check_start(config: FrontConfig, script: &str) {
    Script::new(config).check(script);
}

impl Script {
    fn new(config: FrontConfig) -> Script {
        Script {
            epoch: config.epoch,
            front: Front::new(config),
            lsn: BTreeMap::new(),
            tickets: BTreeMap::new(),
        }
    }

    fn play(&mut self, script: &str) -> String {
        let mut trace = String::new();
        for line in script.lines().filter(|line| !line.starts_with("  ")) {
            let _ = writeln!(trace, "{line}");
            let mut effects = Vec::new();
            let event = self.event(line);
            self.front.handle(event, &mut effects);
            for effect in effects {
                let line = self.effect(effect);
                let _ = writeln!(trace, "  {line}");
            }
        }
        trace
    }

    fn check(&mut self, script: &str) {
        let lines = script
            .lines()
            .map(str::trim_end)
            .filter(|line| !line.is_empty());
        let lines: Vec<&str> = lines.collect();
        let margin = lines[0].len() - lines[0].trim_start().len();
        let lines: Vec<&str> = lines.iter().map(|line| &line[margin..]).collect();
        let script = lines.join("\n") + "\n";
        let trace = self.play(&script);
        assert!(trace == script, "this is what happened:\n{trace}");
    }
}

// SNAPSHOT: every copy commits in one order, and the client hears of it when all have.
#[test]
fn a_call_is_answered_when_all_copies_have_it() {
    check(
        front(3, Policy::Chains, Guarantee::Total),
        "
        call c1 x
          run c1 as 1 at A
        prepared 1
        wrote 1 A x
          commit 1 at A
          apply 1 at B
          apply 1 at C
        applied 1 B soft
        committed 1 A
        applied 1 C soft
          answer c1: Done
        tick
          harden B
          harden C
        hardened B
        hardened C
          forget 1
        tick
          confirm A up to 1
          prune 1 at A
          prune 1 at B
          prune 1 at C
        ",
    );
}

// PSI: it is committed and answered at once, and travels after that.
#[test]
fn under_psi_a_call_is_answered_when_it_is_committed() {
    check(
        front(2, Policy::Chains, Guarantee::Causal),
        "
        call c1 x
          run c1 as 1 at A
        wrote 1 A x
        prepared 1
          commit 1 at A
        committed 1 A
          answer c1: Done
          apply 1 at B
        applied 1 B
          forget 1
        ",
    );
}

// A call that conflicts waits for the effects of the first, wherever it runs; another one does not.
#[test]
fn conflicting_calls_meet_nowhere() {
    check(
        front(2, Policy::Chains, Guarantee::Total),
        "
        call c1 x
          run c1 as 1 at A
        call c2 y by s2
          run c2 as 2 at B
        call c3 x y by s3
        prepared 1
        wrote 1 A x
          commit 1 at A
          apply 1 at B
        committed 1 A
        applied 1 B
          answer c1: Done
          forget 1
        prepared 2
        wrote 2 B y
          apply 2 at A
          commit 2 at B
        applied 2 A
          run c3 as 3 at A
        ",
    );
}

// Two attempts wrote the same row at two replicas: the second to be decided loses, and runs again when it can
// see the first.
#[test]
fn certification_refuses_what_did_not_see_a_row() {
    check(
        front(2, Policy::RoundRobin, Guarantee::Causal),
        "
        call c1 x by s1
          run c1 as 1 at B
        call c2 x by s2
          run c2 as 2 at A
        prepared 1
        prepared 2
        wrote 1 B x
          commit 1 at B
        wrote 2 A x
          forget 2
          roll back 2 at A
        rolled back 2 A
        committed 1 B
          answer c1: Done
          apply 1 at A
        applied 1 A
          forget 1
          run c2 as 3 at A
        prepared 3
        wrote 3 A x
          commit 3 at A
        ",
    );
}

// What a replica had not decided when it went is run elsewhere. When it returns, the old attempt is rolled back.
#[test]
fn undecided_attempts_are_run_elsewhere() {
    check(
        front(2, Policy::Chains, Guarantee::Total),
        "
        call c1 x
          run c1 as 1 at A
        prepared 1
        lost A
          run c1 as 2 at B
        prepared 2
        wrote 2 B x
          commit 2 at B
        committed 2 B
          answer c1: Done
        report A prepared 1
          confirm A up to 0
          roll back 1 at A
          apply 2 at A
        rolled back 1 A
        wrote 1 A x
          forget 1
        applied 2 A
          forget 2
        ",
    );
}

// What was decided goes on. Its client hears of it when another replica has it for good, and its origin
// commits when it returns.
#[test]
fn a_decision_outlives_its_origin() {
    check(
        front(3, Policy::Chains, Guarantee::Causal),
        "
        call c1 x
          run c1 as 1 at A
        prepared 1
        wrote 1 A x
          commit 1 at A
        lost A
          apply 1 at B durably
          apply 1 at C durably
        applied 1 B
          answer c1: Done
        applied 1 C
        report A prepared 1
          confirm A up to 0
          commit 1 at A
        committed 1 A
          forget 1
        ",
    );
}

// Under SNAPSHOT applies may be under way already that are not durable: somebody is asked to make them so.
#[test]
fn what_nobody_has_for_good_is_hardened_before_it_is_answered() {
    check(
        front(2, Policy::Chains, Guarantee::Total),
        "
        call c1 x
          run c1 as 1 at A
        prepared 1
        wrote 1 A x
          commit 1 at A
          apply 1 at B
        applied 1 B soft
        lost A
          harden B
        hardened B
          answer c1: Done
        report A
          confirm A up to 0
          forget 1
        ",
    );
}

// A client's transaction cannot be run again: it is told.
#[test]
fn clients_transactions_are_not_run_again() {
    check(
        front(2, Policy::ChainsCertified, Guarantee::Causal),
        "
        call c1 interactive
          run c1 as 1 at A
        failed 1 conflict
          answer c1: Conflict
        call c2 interactive
          run c2 as 2 at A
        lost A
          answer c2: Gone
        call c3 interactive
          run c3 as 3 at B
        prepared 3
        wrote 3 B x
          commit 3 at B
        committed 3 B
          answer c3: Done
        ",
    );
}

// A call that goes on losing runs alone; then it is given up.
#[test]
fn retries_have_a_bound() {
    let config = FrontConfig {
        retries_max: 2,
        alone_after: 2,
        ..front(2, Policy::ChainsCertified, Guarantee::Causal)
    };
    check(
        config,
        "
        call c1 x by s1
          run c1 as 1 at A
        failed 1 conflict
          run c1 as 2 at A
        call c2 y by s2
          run c2 as 3 at B
        failed 2 conflict
        call c3 z by s3
        prepared 3
        wrote 3 B y
          commit 3 at B
        committed 3 B
          answer c2: Done
          apply 3 at A
        applied 3 A
          forget 3
          run c1 as 4 at A
        failed 4 conflict
          answer c1: Conflict
          run c3 as 5 at A
        ",
    );
}

// A client that repeats a call meets the first one while it is pending, and what it left after that.
#[test]
fn repeated_calls_take_effect_once() {
    check(
        front(2, Policy::Chains, Guarantee::Causal),
        "
        call c1 x token 7:1
          ask A of c1
        asked c1 no
          run c1 as 1 at A
        call c2 x token 7:1
        prepared 1
        wrote 1 A x
          commit 1 at A
        committed 1 A
          answer c1 and c2: Done
          apply 1 at B
        call c3 x token 7:1
          ask A of c3
        asked c3 yes
          answer c3: Repeated
        call c4 y token 7:2
          run c4 as 2 at A
        ",
    );
}

// A restarted front end waits for all replicas. What is applied somewhere is committed, what is prepared only is
// rolled back, and the rest follows in the order of the log: 1 was run first, but prepared after 3.
#[test]
fn a_restart_decides_what_is_left() {
    check_start(
        front(2, Policy::CentralisedWrites, Guarantee::Total),
        "
        report A prepared e1:2 e1:4
          waiting for AB
        call c1 x
        wrote e1:3 A x
        settled e1:3 A yes
        wrote e1:1 A x
        settled e1:1 A yes
        wrote e1:2 A y
        wrote e1:4 A z
        caught up A
          waiting for B
        report B applied e1:4 e1:9
        caught up B
          forget e1:2
          roll back e1:2 at A
          ready
          confirm A up to 0
          commit e1:4 at A
          confirm B up to 0
          prune e1:9 at B
          apply e1:3 at B
          apply e1:1 at B begin after e1:3 after e1:3
        committed e1:4 A
          run c1 as 1 at A
        applied e1:3 B
          forget e1:3
        applied e1:1 B
          forget e1:1
        ",
    );
}

// An apply that waits for a row held by an attempt that is not decided goes on when that is stopped; a commit that
// stands in the way of an apply that comes before it goes first.
#[test]
fn what_is_in_the_way_gives_way() {
    check(
        front(2, Policy::Chains, Guarantee::Total),
        "
        call c1 x by s1
          run c1 as 1 at A
        call c2 y by s2
          run c2 as 2 at B
        prepared 1
        wrote 1 A x
          commit 1 at A
          apply 1 at B
        blocked B 2
          kill 2 at B
        failed 2 conflict
          run c2 as 3 at B
        prepared 3
        foreign A y
          apply A:2 at B after 1
        wrote 3 B y
          apply 3 at A after 1
          commit 3 at B after A:2
        blocked B 3
          commit 3 at B
        ",
    );
}

// Too much is kept for a replica that is away: it is read again from its origin's log.
#[test]
fn bytes_that_were_forgotten_are_read_again() {
    let config = FrontConfig {
        kept_max: 1,
        ..front(2, Policy::Chains, Guarantee::Causal)
    };
    check(
        config,
        "
        lost B
        call c1 x
          run c1 as 1 at A
        prepared 1
        wrote 1 A x
          commit 1 at A
        committed 1 A
          answer c1: Done
        call c2 y
          run c2 as 2 at A
        prepared 2
        wrote 2 A y
          commit 2 at A
          forget 1
        committed 2 A
          answer c2: Done
        report B
          confirm B up to 0
          read A again
        wrote 1 A x
          apply 1 at B
          apply 2 at B begin after 1 after 1
        applied 1 B
          forget 1
        ",
    );
}

// Beyond that it is given up.
#[test]
fn a_replica_that_was_away_for_too_long_is_expelled() {
    let config = FrontConfig {
        remembered_max: 1,
        ..front(2, Policy::Chains, Guarantee::Causal)
    };
    check(
        config,
        "
        lost B
        call c1 x
          run c1 as 1 at A
        prepared 1
        wrote 1 A x
          commit 1 at A
        committed 1 A
          answer c1: Done
        call c2 y
          run c2 as 2 at A
        prepared 2
        wrote 2 A y
          commit 2 at A
          B is expelled
          forget 1
        committed 2 A
          answer c2: Done
          forget 2
        report B
          B is expelled
        ",
    );
}

// Reads go where nobody waits, but not where the session's own writes are missing.
#[test]
fn sessions_read_what_they_wrote() {
    check(
        front(2, Policy::Chains, Guarantee::Causal),
        "
        call c1 x by s1
          run c1 as 1 at A
        prepared 1
        wrote 1 A x
          commit 1 at A
        committed 1 A
          answer c1: Done
          apply 1 at B
        call c2 x ro by s2
          run c2 as 2 at A
        call c3 x ro by s1
        call c4 x ro by s1
        read 2
          answer c2: Done
          run c3 as 3 at A
        applied 1 B
          forget 1
          run c4 as 4 at B
        read 3
          answer c3: Done
        cancel c4
          kill 4 at B
        read 4
          answer c4: Done
        ",
    );
}

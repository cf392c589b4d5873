//! Running a lane: its calls one after the other in one transaction, its commit, the answers.
//!
//! Relies on: `tc`'s batches, which wait for nobody.  Promises: see `batches`; a batch that cannot be committed
//! after [`RUNS_MAX`] runs, or would have waited, is committed without those that are in the way; the first of them waits for
//! the rows, or goes on by itself if it is not known for which, and the others are pending again; if it is refused for another
//! reason each of its calls finds out by itself; a panic puts out those that have no
//! answer yet.  Does not: run calls by their fragments: a call that has begun ends before the
//! next begins, so what it read can be taken back by nobody, and no abort takes others along.
//!
//! ```text
//!   announce 2   run 1 │ announce 3   run 2 │ …      the next call's rows are on their way while one runs
//!
//!   run ─┬ done ─────────► next       │ contested, lost: all of it again, without those that are in the
//!        ├ error: undone ► next       ▼ way, or with the row locked that it was lost by
//!        └ must wait: undone, later   commit ──► answers
//! ```
//! Source: Q-Store (EDBT 2019) for the batch as unit of commit and log.

use super::ticket::{Answer, Job, Landed, Row, Shared, Ticket};
use super::{Batches, Counters, Hold};
use crate::activity::Slot;
use crate::contention::Label;
use quintet_base::limits::BATCH_WRITES_BYTES_MAX;
use quintet_base::{Durability, Level, Lsn, SqlError, Value};
use quintet_direct::{Context, Direct, Run, Stop};
use quintet_queue::{Lane, LaneId, Priority};
use quintet_tc::{BatchRefused, Error as TcError, Lost, Txn};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How often a batch is run at most. What loses or is in the way is locked or put out after the first time.
const RUNS_MAX: usize = 4;

/// Rows that a call waits for at most, all its waits together; then it goes on by itself.
const AWAITED_MAX: usize = 8;

/// What a batch is run at, of whatever level its calls are: they commit together, so a call that writes what one before it
/// has written comes after that one's commit, and must have seen all that was committed by then. What was read as of the
/// batch's beginning may be older, which only a validation tells.
pub(crate) const LEVEL_OF_BATCH: Level = Level::Serializable;

/// Who runs a lane lends this.
pub(crate) struct Leader<'l> {
    pub direct: &'l Direct,
    /// Others see him run it.
    pub slot: &'l Slot,
    /// Told what a batch was lost by, whose calls it had, and since when it ran; says when it was.
    pub lost: &'l dyn Fn(Lost, Label, i64) -> i64,
    /// When his statement began.
    pub now: i64,
}

/// A call of the batch.
struct Member {
    priority: Priority,
    ticket: Arc<Ticket>,
    job: Box<Job>,
    outcome: Outcome,
}

enum Outcome {
    /// Not run yet, or to be run again.
    Open,
    Rows(Vec<Vec<Value>>),
    Failed(SqlError),
    /// Others are in its way: on these rows, if they are known.
    Blocked(Vec<Row>),
    PutOut,
}

/// A lane that is being run. Dropped, it ends, and whoever has no answer is put out.
struct Running<'r> {
    batches: &'r Arc<Batches>,
    line: usize,
    lane: LaneId,
    members: Vec<Member>,
}

/// Runs a lane that was taken, in this transaction if there is one, with the rows that it has locked.
pub(super) fn lead(
    leader: &Leader<'_>,
    (batches, line): (&Arc<Batches>, usize),
    lane: Lane<Shared>,
    txn: Option<Txn>,
) {
    let member = |(priority, Shared(ticket)): (Priority, Shared)| {
        let job = ticket.take_job()?;
        Some(Member {
            priority,
            ticket,
            job,
            outcome: Outcome::Open,
        })
    };
    let mut running = Running {
        batches,
        line,
        lane: lane.id,
        members: lane.calls.into_iter().filter_map(member).collect(),
    };
    let durable_at = running.commit(leader, txn, &batches.counters);
    running.finish(durable_at);
}

impl Running<'_> {
    /// Runs the calls until what is left of them is committed. Gives what answers have to wait for.
    fn commit(
        &mut self,
        leader: &Leader<'_>,
        txn: Option<Txn>,
        counters: &Counters,
    ) -> Option<Lsn> {
        let mut txn = txn.unwrap_or_else(|| leader.direct.begin(LEVEL_OF_BATCH));
        leader.slot.runs(Some(txn.id()));
        let mut since = leader.now;
        if let Some(first) = self.members.first() {
            txn.use_schema(first.ticket.asked().facts.schema.timestamp);
        }
        // Rows that calls must keep away from: who writes one is put out.
        let mut avoided: Vec<Row> = Vec::new();
        for _ in 0..RUNS_MAX {
            txn.write_optimistically();
            self.run(leader.direct, &mut txn, &avoided);
            let refused = match txn.commit_batch(Durability::Sync) {
                Ok(committed) => {
                    let mut members = self.members.iter();
                    if members.any(|member| !member.outcome.is_elsewhere()) {
                        add(&counters.batches, 1);
                    }
                    leader.slot.has_committed(committed.timestamp, self.label());
                    return committed.durable_at;
                }
                Err(refused) => refused,
            };
            match refused {
                BatchRefused::Contested(rows) if !rows.is_empty() => avoided.extend(rows),
                BatchRefused::Lost(error) => {
                    add(&counters.lost, 1);
                    if let Some(lost) = txn.take_lost() {
                        since = (leader.lost)(lost, self.label(), since);
                    }
                    if let TcError::Conflict {
                        space,
                        key: Some(key),
                        ..
                    } = error
                    {
                        // What it reads from here on is what it has locked.
                        if !txn.lock_at_once(space, &key) {
                            avoided.push((space, key));
                        }
                    }
                }
                BatchRefused::Contested(_) => break,
                BatchRefused::Failed(_) => {
                    // Each finds out for itself what is wrong.
                    self.end_all(|| Outcome::PutOut);
                    return None;
                }
            }
            txn.restart();
            self.reopen();
        }
        self.end_all(|| Outcome::Blocked(Vec::new()));
        None
    }

    /// Of the first call, or of those that are alike: what commits and losses of the batch are counted by.
    fn label(&self) -> Label {
        let first = self.members.first();
        first.map_or(Label::default(), |member| member.job.label)
    }

    fn end_all(&mut self, outcome: impl Fn() -> Outcome) {
        let members = self.members.iter_mut();
        members.for_each(|member| member.outcome = outcome());
    }

    /// Runs all that are open, one after the other.
    fn run(&mut self, direct: &Direct, txn: &mut Txn, avoided: &[Row]) {
        let mut next: Option<Run> = None;
        for at in 0..self.members.len() {
            let run = next.take();
            let (done, coming) = self.members.split_at_mut(at + 1);
            let member = &mut done[at];
            let mut run = match (&member.outcome, run) {
                (Outcome::Open, Some(run)) => run,
                (Outcome::Open, None) => member.begin(direct),
                _ => continue,
            };
            if let Some(coming) = coming.first_mut()
                && matches!(coming.outcome, Outcome::Open)
            {
                let mut announced = coming.begin(direct);
                announced.announce(&coming.job.context(txn));
                next = Some(announced);
            }
            member.outcome = member.run(direct, &mut run, txn, avoided);
        }
    }

    /// Those that were run are to be run again.
    fn reopen(&mut self) {
        for member in &mut self.members {
            if !member.outcome.is_elsewhere() {
                member.outcome = Outcome::Open;
            }
        }
    }

    /// The lane ends, and its sessions are told. Of those that others are in the way of, the first waits where they would all
    /// wait.
    fn finish(&mut self, durable_at: Option<Lsn>) {
        let Running {
            batches,
            line,
            lane,
            members,
        } = self;
        let mut members = std::mem::take(members);
        let is_blocked = |member: &mut Member| matches!(member.outcome, Outcome::Blocked(_));
        let blocked: Vec<Member> = members.extract_if(.., is_blocked).collect();
        let mut blocked = blocked.into_iter();
        let lone = blocked.next();
        match &lone {
            None => batches.end(*line, *lane),
            Some(lone) => {
                let again = blocked.map(|member| {
                    member.ticket.give_back(member.job);
                    (member.priority, Shared(member.ticket))
                });
                let again: Vec<(Priority, Shared)> = again.collect();
                let lone = Shared(Arc::clone(&lone.ticket));
                batches.change(*line, |intake| intake.detach(*lane, &lone, again));
            }
        }
        let mut hold = lone.is_some().then(|| Hold {
            batches: Arc::clone(batches),
            line: *line,
            lane: Some(*lane),
        });
        let (mut done, mut waits, mut put_out, mut failed) = (0, 0, 0, 0);
        for member in lone.into_iter().chain(members) {
            let Member {
                ticket,
                mut job,
                outcome,
                ..
            } = member;
            let notices = std::mem::take(job.host.notices.get_mut());
            done += 1;
            ticket.answer(match outcome {
                Outcome::Rows(rows) => Answer::Landed(Box::new(Landed {
                    rows,
                    notices,
                    given: std::mem::take(job.host.given.get_mut()),
                    durable_at,
                })),
                Outcome::Failed(error) => {
                    failed += 1;
                    Answer::Failed(Box::new(error), notices)
                }
                Outcome::Blocked(rows) => {
                    put_out += 1;
                    job.waits_for(rows);
                    match hold.take() {
                        Some(hold) if job.may_wait() => {
                            waits += 1;
                            let rows = job.awaited.clone();
                            ticket.give_back(job);
                            Answer::Waits(rows, hold)
                        }
                        hold => Answer::PutOut(job, hold),
                    }
                }
                Outcome::Open | Outcome::PutOut => {
                    put_out += 1;
                    Answer::PutOut(job, None)
                }
            });
        }
        let counters = &batches.counters;
        add(&counters.calls, done - put_out);
        add(&counters.waits, waits);
        add(&counters.put_out, put_out - waits);
        add(&counters.failed, failed);
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.end_all(|| Outcome::PutOut);
            self.finish(None);
        }
    }
}

impl Outcome {
    /// Not an outcome of the batch.
    fn is_elsewhere(&self) -> bool {
        matches!(self, Outcome::PutOut | Outcome::Blocked(_))
    }
}

impl Member {
    fn begin(&mut self, direct: &Direct) -> Run {
        self.job.host.begin(direct);
        let arguments = self.ticket.asked().arguments.clone();
        Run::with_arguments(direct, Arc::clone(&self.job.procedure), arguments)
    }

    fn run(&self, direct: &Direct, run: &mut Run, txn: &mut Txn, avoided: &[Row]) -> Outcome {
        let mark = txn.mark();
        let mut rows = Vec::new();
        let mut context = self.job.context(txn);
        let outcome = loop {
            match run.next(&mut context) {
                Ok(Some(row)) => rows.push(row.to_vec()),
                // To each call its end is that of its transaction.
                Ok(None) => match direct.check_deferred(&mut context) {
                    Ok(()) => break Outcome::Rows(rows),
                    Err(Stop::Error(error)) if !error.state.is_retryable() => {
                        break Outcome::Failed(error);
                    }
                    Err(_) => break Outcome::Blocked(Vec::new()),
                },
                Err(Stop::Error(error)) => break Outcome::Failed(error),
                Err(Stop::Blocked(_)) => {
                    let row = context.txn.awaited();
                    let row = row.map(|(space, key)| (space, key.clone()));
                    break Outcome::Blocked(row.into_iter().collect());
                }
                Err(Stop::Commit | Stop::Ask) => {
                    self.job.host.needs_session();
                    break Outcome::PutOut;
                }
            }
        };
        let avoided = avoided.iter();
        let in_its_way = avoided.filter(|(space, key)| txn.has_written(*space, key));
        let in_its_way: Vec<Row> = in_its_way.cloned().collect();
        let outcome = match outcome {
            _ if self.job.host.has_asked_session() => Outcome::PutOut,
            _ if run.is_lost() => Outcome::Blocked(Vec::new()),
            Outcome::Rows(_) if !in_its_way.is_empty() => Outcome::Blocked(in_its_way),
            // The others would be refused with it.
            Outcome::Rows(_) if txn.written_bytes() > BATCH_WRITES_BYTES_MAX => Outcome::PutOut,
            outcome => outcome,
        };
        if !matches!(outcome, Outcome::Rows(_)) {
            txn.rollback_to(mark);
        }
        txn.forget_marks();
        outcome
    }
}

impl Job {
    /// These are in its way, too.
    fn waits_for(&mut self, rows: Vec<Row>) {
        if rows.iter().all(|row| self.awaited.contains(row)) {
            // To wait again for what it has waited for would not help, nor does it for what is not known.
            self.awaited.clear();
            return;
        }
        self.awaited.extend(rows);
        // In one order, so that those who wait for several do not wait for each other.
        self.awaited.sort_unstable();
        self.awaited.dedup();
    }

    /// Whether its session can wait for what is in its way.
    fn may_wait(&self) -> bool {
        !self.awaited.is_empty() && self.awaited.len() <= AWAITED_MAX
    }

    fn context<'c>(&'c self, txn: &'c mut Txn) -> Context<'c> {
        Context {
            txn,
            host: &self.host,
            params: &[],
            cancel: &self.cancel,
        }
    }
}

fn add(counter: &AtomicU64, more: u64) {
    if more > 0 {
        counter.fetch_add(more, Ordering::Relaxed);
    }
}

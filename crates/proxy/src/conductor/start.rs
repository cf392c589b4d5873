//! Calls are started: runs, reads, descriptions, transactions of clients; and stopped.
//!
//! Relies on: sessions of the replica's pool.  Promises: each start is followed by word of its end, or the replica is
//! taken for lost.  Does not: decide what an end means.

use super::Conductor;
use super::perform::broken;
use super::word::News;
use crate::lease::Lease;
use crate::pool::{Lent, Pool};
use crate::settings::Sent;
use crate::switchboard::{Request, Work};
use crate::text::Description;
use crate::told::Told;
use quintet_base::{Level, SqlError, SqlState};
use quintet_front::{Access, AttemptId, CallId, Event, Place, ReplicaId, Why};
use quintet_replica::{Attempt, ClientCall, Error, Ran, Read, ServerError, Tag};
use quintet_rt::{Clock, RealClock};
use std::cmp::Ordering;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use tokio::sync::oneshot;

impl Conductor {
    /// Runs a call.
    pub(super) fn start(
        &mut self,
        call: CallId,
        attempt: AttemptId,
        replica: ReplicaId,
        place: Place,
    ) {
        let gid = self.gid(attempt);
        let tallies = Arc::clone(&self.tallies);
        let teller = self.words(replica);
        let kill = self.calls.kill_of(attempt);
        let Some(under) = self.calls.begin(call, attempt) else {
            return teller.tell(News::ReadEnded(attempt));
        };
        let Request {
            work,
            access,
            level,
            settings,
            client,
            service,
            ..
        } = &mut under.request;
        let (access, level, service) = (*access, *level, *service);
        let settings = Sent::clone(settings);
        let tag = Tag {
            gid: gid.clone(),
            place: place.0,
            client: client.clone(),
        };
        match work {
            Work::Text(text) if access == Access::ReadOnly => {
                let text = text.clone();
                self.at(replica, move |pool, teller| async move {
                    let read = match pool.runner(&settings).await {
                        Ok(mut lent) => {
                            let read = lent.runner.run_read(&text, level, service).await;
                            pool.give_back(lent);
                            read
                        }
                        Err(error) => Read::Lost(error),
                    };
                    teller.say(News::Read { attempt, read }).await;
                });
            }
            Work::Text(text) => {
                let work = Attempt {
                    tag,
                    text: text.clone(),
                    level,
                    service,
                };
                self.at(replica, move |pool, teller| async move {
                    let begun = RealClock.monotonic_nanos();
                    let ran = match pool.runner(&settings).await {
                        Ok(mut lent) => {
                            pool.running
                                .begin(attempt, lent.runner.connection().cancel_key());
                            let ran = lent.runner.run(&work).await;
                            pool.running.end(attempt);
                            pool.give_back(lent);
                            ran
                        }
                        Err(error) => Ran::Lost(error),
                    };
                    let micros = (RealClock.monotonic_nanos() - begun) / 1_000;
                    tallies.run_micros.fetch_add(micros, Relaxed);
                    tallies.runs.fetch_add(1, Relaxed);
                    teller.say(News::Ran { attempt, ran }).await;
                });
            }
            Work::Transaction(lend) => {
                // A transaction is not run again: its session is lent once.
                let lend = std::mem::replace(lend, oneshot::channel().0);
                let tag = (access == Access::Update).then_some(tag);
                self.at(replica, move |pool, teller| async move {
                    match open(&pool, &settings, level, tag.as_ref()).await {
                        Ok(mut lent) => {
                            pool.running
                                .begin(attempt, lent.runner.connection().cancel_key());
                            let gid = tag.map(|tag| tag.gid);
                            let lease = Lease::new(lent, pool, attempt, gid, teller, kill);
                            // If nobody wants it any more it is dropped, which tells of it.
                            let _ = lend.send(Ok(lease));
                        }
                        Err(error) => {
                            teller
                                .say(News::Ran {
                                    attempt,
                                    ran: Ran::Lost(error),
                                })
                                .await;
                        }
                    }
                });
            }
            Work::Describe {
                sql,
                types,
                described,
            } => {
                let (sql, types) = (std::mem::take(sql), std::mem::take(types));
                let described = std::mem::replace(described, oneshot::channel().0);
                self.at(replica, move |pool, teller| async move {
                    let answer = describe(&pool, &settings, &sql, &types).await;
                    let news = match answer {
                        Ok(answer) => {
                            // Who has gone needs no answer.
                            let _ = described.send(answer);
                            News::ReadEnded(attempt)
                        }
                        Err(error) => News::Read {
                            attempt,
                            read: Read::Lost(error),
                        },
                    };
                    teller.say(news).await;
                });
            }
        }
    }

    /// What is recorded of a client's call?
    pub(super) fn ask(&mut self, call: CallId, replica: ReplicaId) {
        let client = self
            .calls
            .get(call)
            .and_then(|under| under.request.client.clone());
        let Some(client) = client else {
            let recorded = None;
            return self.words(replica).tell(News::Asked { call, recorded });
        };
        self.at(replica, move |pool, teller| async move {
            let asked = async {
                let mut lent = pool.runner(&Sent::default()).await?;
                let last = lent.runner.last_call(&client.token).await?;
                pool.give_back(lent);
                Ok::<_, Error>(last)
            };
            let news = match asked.await {
                Ok(last) => {
                    let recorded =
                        last.and_then(|(number, answer)| match number.cmp(&client.number) {
                            Ordering::Less => None,
                            Ordering::Equal => Some(Ok(answer)),
                            Ordering::Greater => Some(Err(followed(&client, number))),
                        });
                    News::Asked { call, recorded }
                }
                Err(error) => broken(error),
            };
            teller.say(news).await;
        });
    }

    pub(super) fn kill(&mut self, attempt: AttemptId, replica: ReplicaId) {
        self.calls.kill(attempt);
        self.at(replica, move |pool, _| async move {
            if let Some(key) = pool.running.key(attempt) {
                // It may have ended by itself.
                let _ = key.cancel().await;
            }
        });
    }

    /// An attempt has ended; none: the replica is lost.
    pub(super) fn ran(&mut self, attempt: AttemptId, ran: Ran) -> Option<Event> {
        match ran {
            Ran::Prepared { answer } => {
                self.calls.ended(attempt, Ok(answer));
                Some(Event::Prepared { attempt })
            }
            Ran::Failed { error, notices, .. } => {
                let why = self.why(attempt, &error);
                let _ = notices;
                self.calls.ended(attempt, Err(theirs(&error)));
                Some(Event::Failed { attempt, why })
            }
            Ran::Lost(error) => {
                tracing::warn!(%error, "an attempt has lost its replica");
                None
            }
        }
    }

    /// Lost to another transaction, or wrong by itself?
    fn why(&self, attempt: AttemptId, error: &ServerError) -> Why {
        match &error.state.0 {
            b"40001" | b"40P01" => Why::Conflict,
            // Stopped by us, unless the client has set a limit of its own.
            b"57014" if !self.calls.has_limit(attempt) => Why::Conflict,
            _ => Why::Refused,
        }
    }

    /// A read has ended; none: the replica is lost.
    pub(super) fn read(&mut self, attempt: AttemptId, read: Read) -> Option<Event> {
        match read {
            Read::Answered(answer) => {
                self.calls.ended(attempt, Ok(answer));
                Some(Event::Read { attempt })
            }
            Read::Failed { error, .. } => {
                let why = self.why(attempt, &error);
                self.calls.ended(attempt, Err(theirs(&error)));
                Some(Event::Failed { attempt, why })
            }
            Read::Lost(error) => {
                tracing::warn!(%error, "a read has lost its replica");
                None
            }
        }
    }
}

/// What a client is told that asks for a call before its last.
fn followed(client: &ClientCall, last: i64) -> Told {
    let ClientCall { token, number } = client;
    SqlError::new(
        SqlState(*b"55000"),
        format!("call {number} of client \"{token}\" was followed by call {last}; its answer is not kept"),
    )
    .hint("Number the next call with quintet.call, greater than all before.")
    .into()
}

fn theirs(error: &ServerError) -> Told {
    Told::Theirs {
        state: error.state,
        body: error.raw.clone(),
    }
}

async fn open(
    pool: &Pool,
    settings: &Sent,
    level: Level,
    tag: Option<&Tag>,
) -> Result<Lent, Error> {
    let mut lent = pool.runner(settings).await?;
    match tag {
        Some(tag) => lent.runner.begin(level, Some(tag)).await?,
        None => lent.runner.begin_to_read(level).await?,
    }
    Ok(lent)
}

async fn describe(
    pool: &Pool,
    settings: &Sent,
    sql: &str,
    types: &[u32],
) -> Result<Result<Description, Told>, Error> {
    let mut lent = pool.runner(settings).await?;
    let frames = lent.runner.describe(sql, types).await?;
    pool.give_back(lent);
    Ok(Description::read(&frames))
}

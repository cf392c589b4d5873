//! Desks: threads that serve connections, each its own ones from the socket to the answer.
//!
//! Relies on: statements that may take long say so ([`apart`]), some of them after a moment (decision 72).  Promises: a short statement is
//! read, run and answered on one thread, without waking another; a long one runs elsewhere and
//! delays nobody for longer than that; a query over large tables runs on threads that stand back for all others (decision 43).
//! Does not: move a connection to another desk when its own is busy.
//!
//! ```text
//!   accept ──least busy desk──► desk 0 ◄──home──┐
//!                               desk 1          ├── the runtime that was there before: long statements
//!                               …     ──apart──►┘
//!                                     ─behind──►    threads of low priority: queries over large tables
//! ```
//! Connections with answers send them together (decision 69), and a desk that has worked for a millisecond without a rest, or for less
//! if it has many connections, lets other threads have its processor then (decision 71).
//!
//! A runtime that shares its sockets among threads hands readiness from thread to thread, and each
//! hand-over costs about what a statement does. There is a desk for each processor and no more: whose thread has
//! to wait for a processor in the middle of a call holds up those who wait for its rows. Measured in
//! `docs/decisions/0007`.

use crate::arrivals::Accepted;
use quintet_rt::{Clock, RealClock};
use std::cell::{Cell, OnceCell};
use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

type Serving = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Where a connection is served.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Desk,
    Apart,
    Behind,
}

thread_local! {
    /// Where the connection that is being polled is; `None`: not served by desks at all.
    static IS: Cell<Option<Place>> = const { Cell::new(None) };
    /// Where the connection that is being polled wants to go.
    static WANTS: Cell<Option<Place>> = const { Cell::new(None) };
    /// Connections that let others go first.
    static WAITING: Cell<usize> = const { Cell::new(0) };
    /// How many have ever done so.
    static COMERS: Cell<u64> = const { Cell::new(0) };
    /// When the desk's thread found nothing to do, and since when it has had the processor, as far as it knows.
    static RESTED: Cell<u64> = const { Cell::new(0) };
    static AT_WORK: Cell<u64> = const { Cell::new(0) };
    /// How many connections the desk has.
    static CONNECTIONS: OnceCell<Arc<AtomicUsize>> = const { OnceCell::new() };
}

/// How long a desk works before it gives its processor to whoever waits for one. The system lets it go on for three times as long, in
/// which those clients wait whose thread does: with more clients than it takes to keep the processors busy that is the p99.
const WORKS_NS: u64 = 1_000_000;

/// The same for a desk with many connections: the sooner, the shorter the longest waits. There is nearly always somebody with an answer
/// to send then, so that nobody waits for there to be none. With few, whose requests come one by one, it costs throughput.
const WORKS_BRIEFLY_NS: u64 = 400_000;
const MANY_CONNECTIONS: usize = 8;

/// A rest that is shorter was none: something had come already.
const REST_NS: u64 = 5_000;

struct Desk {
    runtime: Handle,
    connections: Arc<AtomicUsize>,
    stop: Arc<Notify>,
}

/// The desks. Clones are the same desks.
#[derive(Clone)]
pub(crate) struct Desks {
    desks: Arc<[Desk]>,
    behind: Handle,
}

/// Ends the desks when it is dropped, and waits for their threads.
struct Threads {
    desks: Desks,
    threads: Vec<quintet_rt::threads::JoinHandle<()>>,
    /// What runs there ends by itself: connections are told that the server goes down.
    behind: Option<Runtime>,
}

impl Drop for Threads {
    fn drop(&mut self) {
        if let Some(behind) = self.behind.take() {
            behind.shutdown_background();
        }
        self.desks
            .desks
            .iter()
            .for_each(|desk| desk.stop.notify_one());
        for thread in self.threads.drain(..) {
            // One that panicked has ended, too; its connections are gone.
            let _ = thread.join();
        }
    }
}

impl Desks {
    /// Starts the desks. They end, with the connections they have, when the task is aborted or the
    /// calling runtime ends.
    ///
    /// # Errors
    /// The system has no file descriptors to give.
    pub fn start() -> io::Result<(Desks, JoinHandle<()>)> {
        let count = quintet_rt::threads::processors();
        let mut desks = Vec::with_capacity(count);
        let mut threads = Vec::with_capacity(count);
        for number in 0..count {
            let runtime = Builder::new_current_thread()
                .enable_all()
                .on_thread_park(|| RESTED.set(RealClock.monotonic_nanos()))
                .on_thread_unpark(|| {
                    let now = RealClock.monotonic_nanos();
                    if now - RESTED.get() >= REST_NS {
                        AT_WORK.set(now);
                    }
                })
                .build()?;
            let stop = Arc::new(Notify::new());
            let desk = Desk {
                runtime: runtime.handle().clone(),
                connections: Arc::default(),
                stop: Arc::clone(&stop),
            };
            let name = format!("desk-{number}");
            let connections = Arc::clone(&desk.connections);
            desks.push(desk);
            threads.push(quintet_rt::threads::spawn(&name, move || {
                CONNECTIONS.with(|desk| desk.set(connections).expect("one desk for a thread"));
                runtime.block_on(stop.notified());
            }));
        }
        // Whoever blocks there has another thread started in his place.
        let behind = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_stack_size(quintet_rt::threads::STACK_BYTES)
            .thread_name("behind")
            .on_thread_start(quintet_rt::threads::stand_back)
            .enable_all()
            .build()?;
        let desks = Desks {
            desks: desks.into(),
            behind: behind.handle().clone(),
        };
        let threads = Threads {
            desks: desks.clone(),
            threads,
            behind: Some(behind),
        };
        let end = tokio::spawn(async move {
            let _until_dropped = threads;
            std::future::pending().await
        });
        Ok((desks, end))
    }

    /// The desk with the fewest connections.
    fn choose(&self) -> &Desk {
        let desks = self.desks.iter();
        desks
            .min_by_key(|desk| desk.connections.load(Ordering::Relaxed))
            .expect("there are desks")
    }

    /// Serves a connection.
    pub fn serve<F>(&self, accepted: Accepted, serve: impl FnOnce(Accepted) -> F + Send + 'static)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let desk = self.choose();
        desk.connections.fetch_add(1, Ordering::Relaxed);
        let counted = Counted(Arc::clone(&desk.connections));
        let serving: Serving = Box::pin(async move {
            let _counted = counted;
            serve(accepted).await;
        });
        let places = Places {
            desk: desk.runtime.clone(),
            apart: Handle::current(),
            behind: self.behind.clone(),
        };
        go(serving, places, Place::Desk);
    }
}

struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

struct Places {
    desk: Handle,
    apart: Handle,
    behind: Handle,
}

/// Serves a connection at a place until it wants to be at the other.
fn go(mut serving: Serving, places: Places, place: Place) {
    let runtime = match place {
        Place::Desk => &places.desk,
        Place::Apart => &places.apart,
        Place::Behind => &places.behind,
    };
    runtime.clone().spawn(async move {
        let next = poll_fn(|context| {
            IS.set(Some(place));
            let poll = serving.as_mut().poll(context);
            IS.set(None);
            match (poll, WANTS.take()) {
                (Poll::Ready(()), _) => Poll::Ready(None),
                (Poll::Pending, Some(next)) => Poll::Ready(Some(next)),
                (Poll::Pending, None) => Poll::Pending,
            }
        })
        .await;
        if let Some(place) = next {
            go(serving, places, place);
        }
    });
}

/// Lets the other connections of the desk that have something to do come as far as this; whether there were any. Called by who
/// has an answer to send: what is sent together wakes the clients' threads once, and brings the next requests together
/// (decision 69).
pub(crate) async fn others_first() -> bool {
    let comes = COMERS.get() + 1;
    COMERS.set(comes);
    let before = WAITING.replace(WAITING.get() + 1);
    tokio::task::yield_now().await;
    WAITING.set(WAITING.get() - 1);
    before > 0 || COMERS.get() != comes
}

/// Lets other threads of the machine have the processor if the desk has had it for long; called by who has sent an answer
/// (decision 71).
pub(crate) fn others_now() {
    let many = has_many_connections();
    // With few, whoever else has an answer to send comes first.
    if !at_desk() || (WAITING.get() > 0 && !many) {
        return;
    }
    let works = match many {
        true => WORKS_BRIEFLY_NS,
        false => WORKS_NS,
    };
    let now = RealClock.monotonic_nanos();
    if now - AT_WORK.get() >= works {
        quintet_rt::threads::yield_now();
        AT_WORK.set(RealClock.monotonic_nanos());
    }
}

fn has_many_connections() -> bool {
    CONNECTIONS.with(|desk| {
        desk.get()
            .is_some_and(|connections| connections.load(Ordering::Relaxed) >= MANY_CONNECTIONS)
    })
}

/// Whether the connection that is being polled is at its desk.
pub(crate) fn at_desk() -> bool {
    IS.get() == Some(Place::Desk)
}

/// Goes where a call that may take long delays no other connection: `block_in_place` is allowed
/// there. The connection stays until it goes [`home`].
pub(crate) async fn apart() {
    if matches!(IS.get(), Some(Place::Desk | Place::Behind)) {
        move_to(Place::Apart).await;
    }
}

/// The same for what may wait until nobody else wants the processor.
pub(crate) async fn behind() {
    if matches!(IS.get(), Some(Place::Desk | Place::Apart)) {
        move_to(Place::Behind).await;
    }
}

/// Goes back to the connection's own desk.
pub(crate) async fn home() {
    if matches!(IS.get(), Some(Place::Apart | Place::Behind)) {
        move_to(Place::Desk).await;
    }
}

async fn move_to(place: Place) {
    let mut asked = false;
    poll_fn(|_| {
        if std::mem::replace(&mut asked, true) {
            return Poll::Ready(());
        }
        WANTS.set(Some(place));
        Poll::Pending
    })
    .await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use tokio::net::{TcpListener, TcpStream};

    /// Connections of a desk.
    const EACH: usize = 8;

    #[tokio::test]
    async fn who_answers_lets_those_go_first_who_have_something_to_do() {
        let log = std::cell::RefCell::new(Vec::new());
        let connection = |name: char| {
            let log = &log;
            async move {
                log.borrow_mut().push(name);
                let came = others_first().await;
                log.borrow_mut().push(name.to_ascii_uppercase());
                came
            }
        };
        let came = tokio::join!(connection('a'), connection('b'), connection('c'));
        assert_eq!(came, (true, true, true));
        assert_eq!(log.borrow()[..3], ['a', 'b', 'c'], "all of them first");
        assert!(!connection('d').await, "alone");
    }

    /// It begins when it is first read.
    fn let_the_clock_run(nanos: u64) {
        RealClock.monotonic_nanos();
        RealClock.sleep(std::time::Duration::from_nanos(nanos));
    }

    #[test]
    fn a_desk_gives_its_processor_away_when_it_has_had_it_for_long_and_all_answers_are_sent() {
        let_the_clock_run(2 * WORKS_NS);
        let gives = |place, waiting, worked_ns| {
            let began = RealClock.monotonic_nanos() - worked_ns;
            AT_WORK.set(began);
            WAITING.set(waiting);
            IS.set(place);
            others_now();
            AT_WORK.get() != began
        };
        let long = 2 * WORKS_NS;
        assert!(gives(Some(Place::Desk), 0, long));
        assert!(!gives(Some(Place::Desk), 0, 0), "it has just begun");
        assert!(!gives(Some(Place::Desk), 1, long), "others send first");
        assert!(!gives(Some(Place::Apart), 0, long), "no desk");
    }

    #[test]
    fn with_many_connections_a_desk_works_for_less_whoever_waits_to_send() {
        let_the_clock_run(WORKS_NS);
        let connections = Arc::new(AtomicUsize::new(MANY_CONNECTIONS - 1));
        CONNECTIONS.with(|desk| desk.set(Arc::clone(&connections)).unwrap());
        IS.set(Some(Place::Desk));
        let gives = |waiting| {
            let began = RealClock.monotonic_nanos() - WORKS_BRIEFLY_NS;
            AT_WORK.set(began);
            WAITING.set(waiting);
            others_now();
            AT_WORK.get() != began
        };
        assert!(!gives(1), "few: others send first");
        connections.store(MANY_CONNECTIONS, Ordering::Relaxed);
        assert!(gives(0));
        assert!(gives(1));
    }

    fn thread() -> String {
        std::thread::current().name().unwrap_or_default().to_owned()
    }

    /// Sockets that clients have opened, and the clients' ends.
    async fn sockets(count: usize) -> Vec<(Accepted, TcpStream)> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut pairs = Vec::new();
        for _ in 0..count {
            let client = TcpStream::connect(listener.local_addr().unwrap()).await;
            pairs.push((listener.accept().await.unwrap().0.into(), client.unwrap()));
        }
        pairs
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_connection_goes_apart_and_comes_home_to_its_desk() {
        let (desks, end) = Desks::start().unwrap();
        let (told, heard) = mpsc::channel();
        for (stream, _client) in sockets(3).await {
            let told = told.clone();
            desks.serve(stream, |_stream| async move {
                let desk = thread();
                apart().await;
                let elsewhere = tokio::task::block_in_place(thread);
                apart().await;
                home().await;
                home().await;
                told.send((desk, elsewhere, thread())).unwrap();
            });
        }
        drop(told);
        for (desk, elsewhere, home) in
            tokio::task::block_in_place(|| heard.iter().collect::<Vec<_>>())
        {
            assert!(desk.starts_with("desk-"), "{desk}");
            assert!(!elsewhere.starts_with("desk-"), "{elsewhere}");
            assert_eq!(desk, home);
        }
        end.abort();
    }

    /// The threads behind stand back, and a connection that was there is at its desk again afterwards.
    #[tokio::test(flavor = "multi_thread")]
    async fn what_runs_behind_has_a_low_priority() {
        let nice = || {
            // Field 19; the name in field 2 may have blanks in it.
            let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
            let (_, fields) = stat.rsplit_once(") ").unwrap();
            fields.split(' ').nth(16).unwrap().parse::<i32>().unwrap()
        };
        let before = nice();
        let (desks, end) = Desks::start().unwrap();
        let (told, heard) = mpsc::channel();
        let (stream, _client) = sockets(1).await.pop().unwrap();
        desks.serve(stream, move |_stream| async move {
            let desk = nice();
            behind().await;
            let lowered = tokio::task::block_in_place(nice);
            apart().await;
            let apart = nice();
            home().await;
            told.send((desk, lowered, apart, nice())).unwrap();
        });
        let (desk, lowered, apart, home) = tokio::task::block_in_place(|| heard.recv()).unwrap();
        assert_eq!((desk, apart, home), (before, before, before));
        assert!(lowered > before || before >= 19, "{lowered}");
        end.abort();
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn who_is_apart_delays_nobody() {
        let (desks, end) = Desks::start().unwrap();
        let (go_on, wait) = mpsc::channel::<()>();
        let (told, heard) = mpsc::channel();
        // Enough that some share a desk with the one that blocks.
        let mut pairs = sockets(desks.desks.len() * EACH * 2).await;
        let (blocked, _client) = pairs.pop().unwrap();
        desks.serve(blocked, |_stream| async move {
            apart().await;
            tokio::task::block_in_place(|| wait.recv().unwrap());
            home().await;
        });
        let count = pairs.len();
        for (stream, _client) in pairs {
            let told = told.clone();
            desks.serve(
                stream,
                |_stream| async move { told.send(thread()).unwrap() },
            );
        }
        drop(told);
        let served = tokio::task::block_in_place(|| heard.iter().count());
        assert_eq!(served, count, "while one is blocked");
        go_on.send(()).unwrap();
        end.abort();
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn connections_spread_over_the_desks() {
        let (desks, end) = Desks::start().unwrap();
        let mut clients = Vec::new();
        for (stream, client) in sockets(desks.desks.len() * EACH).await {
            clients.push(client);
            desks.serve(stream, |_stream| std::future::pending());
        }
        assert!(
            desks
                .desks
                .iter()
                .all(|desk| desk.connections.load(Ordering::Relaxed) == EACH)
        );
        end.abort();
        assert!(end.await.unwrap_err().is_cancelled());
        let left = |desk: &Desk| desk.connections.load(Ordering::Relaxed);
        assert_eq!(
            desks.desks.iter().map(left).sum::<usize>(),
            0,
            "they end with their desks"
        );
    }
}

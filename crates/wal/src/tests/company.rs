//! Groups that wait for more commits: when, and that nothing hangs on it.

use super::{Rig, config, new_disk};
use crate::record::Payload;
use crate::shared::company::Lately;
use crate::{Committer, Wal};
use quintet_rt::{Clock, RealClock};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// A window with so many committers goes by, and one more is begun with a group at its end.
fn window(rig: &Rig, lately: &mut Lately, committers: &mut [Committer]) -> Duration {
    for committer in committers {
        // Twice in a window is once.
        rig.shared.count_committer(committer);
        rig.shared.count_committer(committer);
    }
    rig.clock.advance(Duration::from_millis(20));
    let now = rig.clock.monotonic_nanos();
    let begun = RealClock.monotonic_nanos();
    rig.shared.wait_for_company(lately, now);
    Duration::from_nanos(RealClock.monotonic_nanos() - begun)
}

#[test]
fn groups_wait_when_many_have_committed_lately() {
    let rig = Rig::open(&new_disk(1), config(), None).unwrap();
    let mut committers: Vec<Committer> = (0..16).map(|_| Committer::default()).collect();
    let mut lately = Lately::default();
    let company = Duration::from_micros(600);
    for (count, waits) in [(0, false), (16, true), (15, false), (16, true), (1, false)] {
        let waited = window(&rig, &mut lately, &mut committers[..count]);
        assert_eq!(lately.many(), waits, "{count} committers");
        assert!(!waits || waited >= company, "waited {waited:?}");
    }
    // Inside a window what is known does not change.
    window(&rig, &mut lately, &mut committers);
    rig.shared.wait_for_company(&mut lately, 0);
    assert!(lately.many());
}

#[test]
fn whoever_waits_for_company_is_answered() {
    const SESSIONS: usize = 24;
    const COMMITS: usize = 40;
    let (log, _) = Wal::open(Arc::new(new_disk(1)), config(), None).unwrap();
    thread::scope(|scope| {
        for _ in 0..SESSIONS {
            scope.spawn(|| {
                let mut committer = Committer::default();
                for _ in 0..COMMITS {
                    let lsn = log
                        .append(Payload::new(b"a commit".to_vec().into()))
                        .unwrap();
                    log.when_durable_for(&mut committer, lsn).wait().unwrap();
                    assert!(log.durable() >= lsn);
                }
            });
        }
    });
    let stats = log.stats();
    assert_eq!(stats.records, (SESSIONS * COMMITS) as u64);
    assert!(stats.groups < stats.records, "{stats:?}");
}

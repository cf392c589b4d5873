//! Runs a simulation.
//!
//! Relies on: `chains`, `certified`, `sites`.  Promises: the same settings and source give the same report and
//! the same trace.  Does not: decide anything: the policies do.

use crate::collisions::Collisions;
use crate::feed::Feed;
use crate::plan::Source;
use crate::report::Report;
use crate::settings::{Error, Policy, Settings};
use crate::tally::Tally;
use crate::trace::Ran;
use crate::{certified, chains, sites};

/// Something that is wrong on purpose, so that the checks of a trace can be seen to find it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// One call in eight is scheduled without one of its keys.
    KeyForgotten,
    /// One call in eight is certified without a look.
    CertifierBlind,
    /// Sites believe that the others have seen whatever they have told.
    SeenTooEarly,
}

/// What a policy gives back.
pub(crate) struct Outcome {
    pub(crate) tally: Tally,
    /// Of several sites.
    pub(crate) collisions: Option<Collisions>,
    pub(crate) trace: Vec<Ran>,
}

/// Runs a simulation; `progress` is told now and then how many calls are answered.
///
/// # Errors
/// If the settings are impossible.
pub fn run(
    settings: &Settings,
    source: Box<dyn Source>,
    progress: &mut dyn FnMut(u64),
) -> Result<Report, Error> {
    let (report, _) = simulate(settings, source, None, false, progress)?;
    Ok(report)
}

/// Runs a simulation and takes down every run of every call, with something wrong if that is asked for.
///
/// # Errors
/// If the settings are impossible.
pub fn traced(
    settings: &Settings,
    source: Box<dyn Source>,
    mistake: Option<Mistake>,
) -> Result<(Report, Vec<Ran>), Error> {
    simulate(settings, source, mistake, true, &mut |_| {})
}

fn simulate(
    settings: &Settings,
    source: Box<dyn Source>,
    mistake: Option<Mistake>,
    trace: bool,
    progress: &mut dyn FnMut(u64),
) -> Result<(Report, Vec<Ran>), Error> {
    settings.check()?;
    let workload = source.name();
    let kinds: Vec<&'static str> = source.kinds().iter().map(|kind| kind.name).collect();
    let feed = Feed::new(settings, source);
    let outcome = match settings.policy {
        Policy::Chains if settings.sites > 1 => {
            sites::run(settings, feed, mistake, trace, progress)
        }
        Policy::Chains | Policy::Centralised => {
            chains::run(settings, feed, mistake, trace, progress)?
        }
        Policy::RoundRobin | Policy::Tashkent => {
            certified::run(settings, feed, mistake, trace, progress)
        }
    };
    let unanswered = outcome.tally.unanswered();
    assert_eq!(unanswered, 0, "every call is answered in the end");
    let report = Report::new(
        settings,
        workload,
        &kinds,
        &outcome.tally,
        outcome.collisions,
    );
    Ok((report, outcome.trace))
}

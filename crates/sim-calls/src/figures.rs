//! The thesis's figures 5.1 to 5.22, measured again.
//!
//! Relies on: `run`.  Promises: every figure comes from runs with the thesis's parameters where it states them;
//! what it leaves open is said here and in `docs/schedule-simulation.md`.
//! Does not: copy its curves: they are pictures, of which the text quotes some figures.
//!
//! | figures | file | what varies |
//! |---|---|---|
//! | 5.1 to 5.10 | `single` | policy and rate, at one site |
//! | 5.11 to 5.19 | `several` | number of sites and their distance |
//! | 5.20 to 5.22 | `several` | workers |

pub(crate) mod several;
pub(crate) mod single;

use crate::exact::Coarse;
use crate::figure::Figure;
use crate::plan::Source;
use crate::report::Report;
use crate::run::run;
use crate::settings::{Error, Settings};
use crate::tpcc::TpccCalls;
use crate::tpce::{TpceCalls, TradeKeys};

/// Numbers of the figures, in order.
pub const NUMBERS: [&str; 22] = [
    "5.1", "5.2", "5.3", "5.4", "5.5", "5.6", "5.7", "5.8", "5.9", "5.10", "5.11", "5.12", "5.13",
    "5.14", "5.15", "5.16", "5.17", "5.18", "5.19", "5.20", "5.21", "5.22",
];

/// Seconds for which calls come in the thesis's runs with one site.
pub(crate) const SECONDS: f64 = 28.0;

/// Calls of the thesis's runs with several sites: 3.5 seconds' worth.
pub(crate) const CALLS: u64 = 512;

/// Warehouses of TPC-C (Table 5.1).
const WAREHOUSES: u32 = 10;

/// Which calls.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Load {
    Tpcc,
    /// Certified by keys.
    TpccCoarse,
    Tpce {
        keys: TradeKeys,
        /// Share of Trade Results, if it is not the mix's.
        results: Option<f64>,
    },
}

impl Load {
    /// TPC-E as in the thesis.
    pub(crate) const TPCE: Load = Load::Tpce {
        keys: TradeKeys::Parameters,
        results: None,
    };

    fn source(self, seed: u64) -> Box<dyn Source> {
        match self {
            Load::Tpcc => Box::new(TpccCalls::new(WAREHOUSES, seed)),
            Load::TpccCoarse => Box::new(Coarse(Load::Tpcc.source(seed))),
            Load::Tpce { keys, results } => Box::new(TpceCalls::new(keys, results, seed)),
        }
    }
}

/// Where runs are made for figures and tables, and counted.
pub(crate) struct Lab<'a> {
    pub(crate) seed: u64,
    /// Told after each run how many there have been.
    pub(crate) progress: &'a mut dyn FnMut(u64),
    runs: u64,
}

impl<'a> Lab<'a> {
    pub(crate) fn new(seed: u64, progress: &'a mut dyn FnMut(u64)) -> Lab<'a> {
        Lab {
            seed,
            progress,
            runs: 0,
        }
    }

    /// One run with the lab's seed.
    pub(crate) fn run(&mut self, load: Load, settings: Settings) -> Result<Report, Error> {
        self.run_seeded(load, settings, self.seed)
    }

    /// The same with each of the seeds that follow the lab's: what is drawn of several short runs is a mean.
    pub(crate) fn runs(&mut self, load: Load, settings: &Settings) -> Result<Vec<Report>, Error> {
        let seeds = self.seed..self.seed + SEEDS;
        seeds
            .map(|seed| self.run_seeded(load, settings.clone(), seed))
            .collect()
    }

    fn run_seeded(&mut self, load: Load, settings: Settings, seed: u64) -> Result<Report, Error> {
        let settings = Settings { seed, ..settings };
        let report = run(&settings, load.source(seed), &mut |_| {})?;
        self.runs += 1;
        (self.progress)(self.runs);
        Ok(report)
    }
}

/// Short runs that a point of a figure is the mean of.
pub(crate) const SEEDS: u64 = 5;

/// Mean of a figure of several runs.
pub(crate) fn mean(reports: &[Report], of: impl Fn(&Report) -> f64) -> f64 {
    reports.iter().map(of).sum::<f64>() / reports.len().max(1) as f64
}

/// A figure by its number, as `5.7`; nothing if there is none. `progress` is told how many runs are made.
///
/// # Errors
/// Never, as the settings are ours; the signature is that of a run.
pub fn figure(
    number: &str,
    seed: u64,
    progress: &mut dyn FnMut(u64),
) -> Result<Option<Figure>, Error> {
    let lab = &mut Lab::new(seed, progress);
    let figure = match number {
        "5.1" => single::throughput_over_time(lab, "5.1", 10.0),
        "5.2" => single::throughput_over_time(lab, "5.2", 200.0),
        "5.3" => single::by_rate(lab, "5.3", single::MAX_THROUGHPUT),
        "5.4" => single::by_rate(lab, "5.4", single::PENALTY),
        "5.5" => single::penalty_distribution(lab),
        "5.6" => single::by_rate(lab, "5.6", single::SPEED_UP),
        "5.7" => single::utilisation(lab, "5.7", 150.0),
        "5.8" => single::utilisation(lab, "5.8", 300.0),
        "5.9" => single::unbounded(lab),
        "5.10" => single::cost(lab),
        "5.11" => several::one_or_two(lab, "5.11"),
        "5.12" => several::one_or_two(lab, "5.12"),
        "5.13" => several::speed_up_tpcc(lab),
        "5.14" => several::outcomes(lab),
        "5.15" => several::wasted_time(lab),
        "5.16" => several::speed_up_tpce(lab),
        "5.17" => several::lost_places(lab, "5.17", "TPC-C", Load::Tpcc),
        "5.18" => several::lost_places(lab, "5.18", "TPC-E", Load::TPCE),
        "5.19" => {
            let half = Load::Tpce {
                keys: TradeKeys::Parameters,
                results: Some(0.5),
            };
            several::lost_places(lab, "5.19", "TPC-E, half Trade Results", half)
        }
        "5.20" => several::by_workers(lab, "5.20"),
        "5.21" => several::by_workers(lab, "5.21"),
        "5.22" => several::by_workers(lab, "5.22"),
        _ => return Ok(None),
    };
    figure.map(Some)
}

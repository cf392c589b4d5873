//! What a site has to know from the beginning.
//!
//! Relies on: nothing.  Promises: plain data.  Does not: change while the site is there.

use crate::offer::SiteId;
use quintet_base::conflict::Modes;

/// At which site calls are run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RunAt {
    /// Each at its home.
    Home,
    /// Where the chain is run that it prolongs, so that write sets need not travel between its calls. A call that
    /// prolongs none is run at its home, or, while that has no worker for it, at the site with the fewest calls.
    Chain {
        /// How many calls a site can run at once; none: as many as there are.
        workers: Option<u32>,
    },
}

/// When a call may begin that comes after another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Begin {
    /// When the other is committed, and its effects are here.
    Committed,
    /// When the other has run here, too. Sites may not agree on its place yet; if it loses that, so does this one, and
    /// has run for nothing. Only where a call can see what another has written that is not committed.
    Executed,
}

/// A site as it begins.
#[derive(Clone, Debug)]
pub struct SiteConfig {
    /// Its number.
    pub id: SiteId,
    /// How many sites there are.
    pub sites: u32,
    /// Which keys conflict.
    pub modes: Modes,
    /// At which site calls are run; the same at all.
    pub run_at: RunAt,
    /// When calls begin; the same at all.
    pub begin: Begin,
}

impl SiteConfig {
    /// Calls are run at their homes, when those before are committed.
    pub fn new(id: SiteId, sites: u32, modes: Modes) -> SiteConfig {
        SiteConfig {
            id,
            sites,
            modes,
            run_at: RunAt::Home,
            begin: Begin::Committed,
        }
    }
}

//! What sites tell each other, and what a site is told and wants done.
//!
//! Relies on: nothing.  Promises: plain data.  Does not: travel by itself; `site` says what a channel must promise.

use crate::call::CallId;
use quintet_base::conflict::ConflictKey;
use std::sync::Arc;

/// A site, numbered from 0 without gaps.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SiteId(pub u32);

/// A place that a call was given by its home. A call that loses its place gets another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PlaceId {
    /// The call's home.
    pub site: SiteId,
    /// Places of a site are numbered from 1.
    pub number: u64,
}

/// A call in its place: the thesis's SCHEDULE_REMOTE. Instead of the calls that it comes after it says how much
/// its home knew: it comes after all that the home knew and that it meets, but for those it bets against.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Offer {
    /// The place.
    pub place: PlaceId,
    /// Whose it is.
    pub call: CallId,
    /// What it may touch.
    pub keys: Vec<ConflictKey>,
    /// By site: how many of its places the home knew.
    pub seen: Vec<u64>,
    /// How many choices the home knew.
    pub chosen: u64,
    /// The site that runs it.
    pub runs_at: SiteId,
    /// Places that it meets and does not come after: the losing side of a choice to come, the home bets.
    pub against: Vec<PlaceId>,
}

/// What a site tells another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Message {
    /// A call has got a place.
    Scheduled(Arc<Offer>),
    /// What the sender knows; all that it gave a place before it knew this was told before.
    Seen {
        /// By site: how many of its places.
        seen: Vec<u64>,
        /// How many choices.
        chosen: u64,
    },
    /// The call in this place has committed where it ran. Its write set travels with this.
    Committed {
        /// Which.
        place: PlaceId,
        /// By site: how many of its places were known there.
        seen: Vec<u64>,
        /// How many choices.
        chosen: u64,
    },
}

/// Which of two calls in collision keeps its place. Sites agree on one order of choices.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Choice {
    /// It keeps its place.
    pub winner: PlaceId,
    /// It is given another, and so are all that came after it.
    pub loser: PlaceId,
}

/// What happened at a site.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SiteEvent {
    /// A client of this site made a call that writes. If the call is under way here, made by a client of a site that
    /// was lost, it keeps its place, and is answered here.
    Submitted {
        /// Its number, unlike that of any call of any site.
        call: CallId,
        /// What it may touch.
        keys: Vec<ConflictKey>,
    },
    /// A client of this site made a call that only reads.
    Asked {
        /// Its number.
        call: CallId,
        /// Calls of this site whose effects it has to see, as the last one of the same client. Those that are not
        /// under way are over.
        after: Vec<CallId>,
    },
    /// A call has run and could commit.
    Executed {
        /// Where it was run; if it has lost that place meanwhile, this is late and changes nothing.
        place: PlaceId,
    },
    /// Another site said something.
    Heard {
        /// Which.
        from: SiteId,
        /// What.
        message: Message,
    },
    /// The next choice that sites agree on.
    Chosen(Choice),
    /// Sites agree that a site is lost, all of them at the same place among their choices.
    Lost {
        /// Which. It takes no part from now on, even if it was only slow.
        site: SiteId,
        /// So many of its messages count. Each remaining site hears all of these, from whoever has them, and no site
        /// has heard more; whatever they say that the lost site knew, a remaining site has heard, too.
        told: u64,
    },
}

/// What a site wants done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SiteEffect {
    /// Tell all other sites.
    Tell(Message),
    /// Propose a choice to the agreement of all sites.
    Propose(Choice),
    /// All that a call which only reads has to see is here: run it.
    Read {
        /// Which.
        call: CallId,
    },
    /// All that the call comes after is here: run it, and do not commit.
    Run {
        /// Which.
        call: CallId,
        /// In which place.
        place: PlaceId,
    },
    /// The call lost its place before it ran; it has another already.
    Cancel {
        /// Which.
        call: CallId,
        /// The place it lost.
        place: PlaceId,
    },
    /// The call lost its place while it ran, or when it had: undo it. It has another place already.
    Kill {
        /// Which.
        call: CallId,
        /// The place it lost.
        place: PlaceId,
    },
    /// Commit the call, and let the write set travel.
    Commit {
        /// Which.
        call: CallId,
        /// The place in which it has run.
        place: PlaceId,
    },
    /// Tell the client that the call is committed. What this site commits, and is lost before another has heard of it, does
    /// not count: a driver that must not answer for that waits until another site has heard what was told before.
    Answer {
        /// Which.
        call: CallId,
    },
    /// Put the write set of another site's call into the copies here.
    Apply {
        /// Whose.
        call: CallId,
    },
    /// All that a lost site has told is known here. Of calls of its clients those that are neither under way nor over here
    /// have had no effect, and may be submitted at another site.
    Gone {
        /// Which.
        site: SiteId,
    },
}

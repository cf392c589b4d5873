//! Sites, the channels between them and their agreement, driven by hand.
//!
//! Relies on: nothing but the public names of `chain`.  Promises: messages of one site to another keep their order; choices and
//! word of lost sites come to all in one; of a lost site's messages those count that somebody has heard, and its
//! clients submit what has had no effect at another.
//! Does not: choose what happens next, or say whether it was right; `judge` does.

use quintet_base::conflict::{ConflictKey, Mode, Modes, Space};
use quintet_chain::{
    Begin, CallId, Choice, Message, PlaceId, RunAt, Site, SiteConfig, SiteCounts, SiteEffect,
    SiteEvent, SiteId,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write;

const WRITE: Mode = Mode(0);

fn modes() -> Modes {
    let mut modes = Modes::new();
    modes.declare(Space(0), WRITE, WRITE);
    modes
}

pub fn key(path: &[u64]) -> ConflictKey {
    ConflictKey::new(Space(0), WRITE, path)
}

/// What is wrong with the world, for tests of the judge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Planted {
    Nothing,
    /// The last site hears choices with winner and loser exchanged.
    ChoicesDiffer,
    /// Every site believes that all have seen all, so that sites commit what they should not.
    SeenTooEarly,
    /// What a lost site told that only some have heard does not come to the others.
    LastWordsLost,
}

/// How the sites are set up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Setup {
    pub sites: u32,
    pub run_at: RunAt,
    pub begin: Begin,
    pub planted: Planted,
}

impl Setup {
    pub fn new(sites: u32) -> Setup {
        Setup {
            sites,
            run_at: RunAt::Home,
            begin: Begin::Committed,
            planted: Planted::Nothing,
        }
    }
}

/// What the sites have agreed on.
#[derive(Clone, Copy)]
enum Verdict {
    Choice(Choice),
    Lost { site: u32, told: u64 },
}

struct Run {
    call: CallId,
    /// What it has seen of the calls that it meets.
    seen: Vec<CallId>,
}

pub struct World {
    setup: Setup,
    pub sites: Vec<Site>,
    /// From, to: what is on its way.
    channels: BTreeMap<(u32, u32), VecDeque<Message>>,
    /// From, to: how many messages have arrived.
    arrived: BTreeMap<(u32, u32), u64>,
    verdicts: Vec<Verdict>,
    /// By site: how many verdicts it has heard.
    told: Vec<usize>,
    pub lost: Vec<bool>,
    /// By site: what runs there, and what has run and is neither committed nor killed.
    running: Vec<BTreeMap<PlaceId, Run>>,
    executed: Vec<BTreeMap<PlaceId, Run>>,
    /// By number, from 1: where it came in first, and its keys.
    pub calls: Vec<(u32, Vec<ConflictKey>)>,
    /// By site: the order in which it committed or applied.
    pub over: Vec<Vec<CallId>>,
    pub answered: BTreeSet<CallId>,
    /// Reads that wait, with the calls that they have to see.
    pub reads: BTreeMap<CallId, (u32, Vec<CallId>)>,
    pub reads_that_waited: u32,
    pub trace: String,
}

impl World {
    pub fn new(setup: Setup) -> World {
        let sites = setup.sites;
        let pairs = (0..sites).flat_map(|from| (0..sites).map(move |to| (from, to)));
        let pairs: Vec<(u32, u32)> = pairs.filter(|(from, to)| from != to).collect();
        let site = |id| {
            Site::with_config(SiteConfig {
                run_at: setup.run_at,
                begin: setup.begin,
                ..SiteConfig::new(SiteId(id), sites, modes())
            })
        };
        let each = sites as usize;
        World {
            setup,
            sites: (0..sites).map(site).collect(),
            channels: pairs.iter().map(|pair| (*pair, VecDeque::new())).collect(),
            arrived: pairs.iter().map(|pair| (*pair, 0)).collect(),
            verdicts: Vec::new(),
            told: vec![0; each],
            lost: vec![false; each],
            running: (0..each).map(|_| BTreeMap::new()).collect(),
            executed: (0..each).map(|_| BTreeMap::new()).collect(),
            calls: Vec::new(),
            over: vec![Vec::new(); each],
            answered: BTreeSet::new(),
            reads: BTreeMap::new(),
            reads_that_waited: 0,
            trace: String::new(),
        }
    }

    pub fn counts(&self) -> impl Iterator<Item = SiteCounts> {
        self.sites.iter().map(Site::counts)
    }

    pub fn channels(&self) -> Vec<(u32, u32)> {
        self.channels.keys().copied().collect()
    }

    fn handle(&mut self, at: u32, event: SiteEvent) -> Result<(), String> {
        if self.lost[at as usize] {
            return Ok(());
        }
        let mut effects = Vec::new();
        self.sites[at as usize].handle(event, &mut effects);
        let mut gone = Vec::new();
        for effect in effects {
            match effect {
                SiteEffect::Gone { site } => gone.push(site.0),
                effect => self.bring_about(at, effect)?,
            }
        }
        // What is to be done is done before anything else happens.
        gone.into_iter()
            .try_for_each(|gone| self.take_over(at, gone))
    }

    fn bring_about(&mut self, at: u32, effect: SiteEffect) -> Result<(), String> {
        let site = at as usize;
        match effect {
            SiteEffect::Tell(message) => self.tell(at, &message),
            SiteEffect::Propose(choice) => {
                let _ = writeln!(self.trace, "  S{at} proposes a choice");
                self.verdicts.push(Verdict::Choice(choice));
            }
            SiteEffect::Run { call, place } => {
                let _ = writeln!(self.trace, "  S{at} runs t{}", call.0);
                for other in self.running[site].values() {
                    if self.meet(other.call, call) {
                        return Err(format!("{call:?} runs beside {:?}", other.call));
                    }
                }
                let seen = self.seen(site, call);
                self.running[site].insert(place, Run { call, seen });
            }
            SiteEffect::Cancel { call, place } => {
                let _ = writeln!(self.trace, "  S{at} cancels t{}", call.0);
                if self.running[site].contains_key(&place) {
                    return Err(format!("{call:?} runs and is cancelled"));
                }
            }
            SiteEffect::Kill { call, place } => {
                let _ = writeln!(self.trace, "  S{at} kills t{}", call.0);
                let ran = self.running[site].remove(&place);
                if ran.or(self.executed[site].remove(&place)).is_none() {
                    return Err(format!("{call:?} is killed and does not run"));
                }
            }
            SiteEffect::Commit { call, place } => {
                let _ = writeln!(self.trace, "  S{at} commits t{}", call.0);
                self.commit(site, call, place)?;
            }
            SiteEffect::Apply { call } => {
                let _ = writeln!(self.trace, "  S{at} applies t{}", call.0);
                self.over[site].push(call);
            }
            SiteEffect::Answer { call } => {
                self.answered.insert(call);
            }
            SiteEffect::Read { call } => {
                let (_, after) = self.reads.remove(&call).ok_or("read twice")?;
                if let Some(unseen) = after.iter().find(|of| !self.over[site].contains(of)) {
                    return Err(format!("{call:?} has not seen {unseen:?}"));
                }
            }
            SiteEffect::Gone { .. } => unreachable!("it is kept apart"),
        }
        Ok(())
    }

    fn tell(&mut self, at: u32, message: &Message) {
        if let Message::Scheduled(offer) = message {
            let after = self.sites[at as usize].after(offer.place);
            let after: Vec<String> = after.iter().map(|call| format!(" t{}", call.0)).collect();
            let word = if after.is_empty() { "" } else { " after" };
            let (call, after) = (offer.call.0, after.concat());
            let away = match offer.runs_at == offer.place.site {
                true => String::new(),
                false => format!(" to be run at S{}", offer.runs_at.0),
            };
            let _ = writeln!(self.trace, "  S{at} schedules t{call}{word}{after}{away}");
        }
        for to in (0..self.setup.sites).filter(|to| *to != at) {
            let channel = self.channels.get_mut(&(at, to)).unwrap();
            channel.push_back(message.clone());
        }
    }

    /// Calls that one meets and whose effects are at a site.
    fn seen(&self, site: usize, call: CallId) -> Vec<CallId> {
        let over = self.over[site].iter().copied();
        over.filter(|other| self.meet(*other, call)).collect()
    }

    fn commit(&mut self, site: usize, call: CallId, place: PlaceId) -> Result<(), String> {
        let run = self.executed[site].remove(&place);
        let run = run.ok_or(format!("{call:?} has not run"))?;
        // What was not committed when it began it could see all the same.
        if self.setup.begin == Begin::Committed && run.seen != self.seen(site, call) {
            return Err(format!("{call:?} has not seen what it comes after"));
        }
        self.over[site].push(call);
        Ok(())
    }

    pub fn meet(&self, a: CallId, b: CallId) -> bool {
        let keys = |call: CallId| &self.calls[call.0 as usize - 1].1;
        let modes = modes();
        keys(a)
            .iter()
            .any(|key| keys(b).iter().any(|other| key.meets(other, &modes)))
    }

    pub fn submit(&mut self, at: u32, keys: Vec<ConflictKey>) -> Result<(), String> {
        if self.lost[at as usize] {
            return Ok(());
        }
        self.calls.push((at, keys.clone()));
        let call = CallId(self.calls.len() as u64);
        self.handle(at, SiteEvent::Submitted { call, keys })
    }

    /// A call that reads, and has to see the calls of this site that came last.
    pub fn ask(&mut self, at: u32) -> Result<(), String> {
        if self.lost[at as usize] {
            return Ok(());
        }
        let calls = self.calls.iter().enumerate().rev();
        let own = calls.filter(|(_, (home, _))| *home == at).take(2);
        let after: Vec<CallId> = own.map(|(number, _)| CallId(number as u64 + 1)).collect();
        // Apart from the numbers of calls that write.
        let call = CallId(1_000_000 + self.reads_that_waited as u64 + self.told.len() as u64);
        if self.reads.insert(call, (at, after.clone())).is_some() {
            return Ok(());
        }
        self.handle(at, SiteEvent::Asked { call, after })?;
        self.reads_that_waited += u32::from(self.reads.contains_key(&call));
        Ok(())
    }

    /// The first message of a channel; false if there is none.
    pub fn deliver(&mut self, from: u32, to: u32) -> Result<bool, String> {
        let channel = self.channels.get_mut(&(from, to)).unwrap();
        let Some(mut message) = channel.pop_front() else {
            return Ok(false);
        };
        *self.arrived.get_mut(&(from, to)).unwrap() += 1;
        if self.setup.planted == Planted::SeenTooEarly
            && let Message::Seen { seen, .. } = &mut message
        {
            seen.fill(u64::MAX);
        }
        let from = SiteId(from);
        self.handle(to, SiteEvent::Heard { from, message })?;
        Ok(true)
    }

    /// The next verdict; false if there is none.
    pub fn choose(&mut self, at: u32) -> Result<bool, String> {
        let told = &mut self.told[at as usize];
        let Some(verdict) = self.verdicts.get(*told).copied() else {
            return Ok(false);
        };
        *told += 1;
        let last = at + 1 == self.setup.sites;
        let event = match verdict {
            Verdict::Lost { site, told } => SiteEvent::Lost {
                site: SiteId(site),
                told,
            },
            Verdict::Choice(Choice { winner, loser }) => {
                let exchanged = self.setup.planted == Planted::ChoicesDiffer && last;
                SiteEvent::Chosen(match exchanged {
                    true => Choice {
                        winner: loser,
                        loser: winner,
                    },
                    false => Choice { winner, loser },
                })
            }
        };
        self.handle(at, event)?;
        Ok(true)
    }

    pub fn end(&mut self, at: u32, which: usize) -> Result<bool, String> {
        let running: Vec<PlaceId> = self.running[at as usize].keys().copied().collect();
        let Some(place) = running.get(which % running.len().max(1)).copied() else {
            return Ok(false);
        };
        let run = self.running[at as usize].remove(&place).unwrap();
        self.executed[at as usize].insert(place, run);
        self.handle(at, SiteEvent::Executed { place })?;
        Ok(true)
    }

    /// A site stops; what somebody has heard of it comes to all who are left. Nothing happens if it would be the second,
    /// or the last.
    pub fn lose(&mut self, site: u32) {
        if self.lost.contains(&true) || self.setup.sites < 2 {
            return;
        }
        self.lost[site as usize] = true;
        self.running[site as usize].clear();
        self.executed[site as usize].clear();
        self.reads.retain(|_, (at, _)| *at != site);
        let others: Vec<u32> = (0..self.setup.sites).filter(|to| *to != site).collect();
        let told = others.iter().map(|to| self.arrived[&(site, *to)]).max();
        let told = told.unwrap_or(0);
        for to in others {
            self.channels.get_mut(&(to, site)).unwrap().clear();
            let left = told - self.arrived[&(site, to)];
            let channel = self.channels.get_mut(&(site, to)).unwrap();
            channel.truncate(left as usize);
            if self.setup.planted == Planted::LastWordsLost {
                channel.retain(|message| !matches!(message, Message::Committed { .. }));
                let short = left as usize - channel.len();
                let nothing = Message::Seen {
                    seen: vec![0; self.setup.sites as usize],
                    chosen: 0,
                };
                channel.extend(std::iter::repeat_n(nothing, short));
            }
        }
        self.verdicts.push(Verdict::Lost { site, told });
    }

    /// Clients of a lost site go to the first that is left.
    fn take_over(&mut self, at: u32, gone: u32) -> Result<(), String> {
        let first = self.lost.iter().position(|lost| !lost);
        if first != Some(at as usize) {
            return Ok(());
        }
        let calls = self.calls.clone().into_iter().enumerate();
        for (number, (_, keys)) in calls.filter(|(_, (home, _))| *home == gone) {
            let call = CallId(number as u64 + 1);
            if !self.over[at as usize].contains(&call) {
                self.handle(at, SiteEvent::Submitted { call, keys })?;
            }
        }
        Ok(())
    }

    /// Whatever is under way arrives, until nothing is.
    pub fn drain(&mut self) -> Result<(), String> {
        for _ in 0..2000 {
            let mut moved = false;
            for (from, to) in self.channels() {
                moved |= self.deliver(from, to)?;
            }
            for at in 0..self.setup.sites {
                moved |= self.choose(at)?;
                moved |= self.end(at, 0)?;
            }
            if !moved {
                return Ok(());
            }
        }
        Err("it never ends".into())
    }
}

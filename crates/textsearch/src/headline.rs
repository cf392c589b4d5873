//! A part of a text that shows what a query found, with the words marked: `ts_headline`.
//!
//! Relies on: `token`, `dictionary`, `run`.  Promises: PostgreSQL 15's choice of the part.  Does not: stop by itself where much has to be
//! tried: `tick` is asked at each try.
//!
//! A *cover* is a stretch of the text that fulfils the query and begins and ends with a word that is asked for. Of all of them, each
//! made longer or shorter until it is a headline, the best is shown, or several fragments.

use crate::dictionary::{Config, Meaning};
pub use crate::options::Options;
use crate::query::{Item, Query};
use crate::rank::Tick;
use crate::run::{Answer, Found, answer};
use crate::token::{Kind, Tokens};
use crate::vector::POSITION_MAX;

/// A token of the text, or once more the token before for another word of the query.
struct Word<'t> {
    kind: Kind,
    text: &'t str,
    /// The item of the query that it is, and its place.
    item: Option<usize>,
    place: u32,
    repeated: bool,
    selected: bool,
    shown: bool,
}

impl Word<'_> {
    /// Whether it is none of the words that are counted.
    fn is_between(&self) -> bool {
        self.kind == Kind::Blank || self.kind == Kind::Tag || self.is_whole()
    }

    /// Whether its parts come again.
    fn is_whole(&self) -> bool {
        matches!(
            self.kind,
            Kind::Url | Kind::NumHyphenated | Kind::AsciiHyphenated | Kind::Hyphenated
        )
    }

    fn is_asked_for(&self) -> bool {
        self.item.is_some() && !self.repeated
    }

    /// Whether a headline had better not end with it.
    fn is_poor_end(&self, options: &Options) -> bool {
        let kind = self.is_between()
            || matches!(
                self.kind,
                Kind::Scientific
                    | Kind::Version
                    | Kind::Float
                    | Kind::Int
                    | Kind::UInt
                    | Kind::Protocol
                    | Kind::Entity
            );
        let short = usize::try_from(options.short).unwrap_or(0);
        (kind || self.text.len() <= short) && !self.is_asked_for()
    }
}

/// A text, its query, and how it is to look.
struct Work<'t, 'q> {
    words: Vec<Word<'t>>,
    /// Which of them are asked for.
    found: Vec<usize>,
    query: &'q Query,
    options: &'q Options,
}

/// The headline of a text.
///
/// # Errors
/// What `tick` says.
pub fn headline<E>(
    config: Config,
    text: &str,
    query: &Query,
    options: &Options,
    tick: Tick<'_, E>,
) -> std::result::Result<String, E> {
    let words = words(config, text, query, tick)?;
    let found = (0..words.len()).filter(|&at| words[at].item.is_some());
    let mut work = Work {
        found: found.collect(),
        words,
        query,
        options,
    };
    match options.fragments {
        1.. => work.mark_fragments(tick)?,
        _ if options.whole => {
            let end = work.words.len();
            work.mark(0, end);
        }
        _ => work.mark_best(tick)?,
    }
    Ok(work.written())
}

fn words<'t, E>(
    config: Config,
    text: &'t str,
    query: &Query,
    tick: Tick<'_, E>,
) -> std::result::Result<Vec<Word<'t>>, E> {
    let mut words = Vec::new();
    let mut place = 0;
    for token in Tokens::new(text) {
        tick()?;
        let mut word = Word {
            kind: token.kind,
            text: token.text,
            item: None,
            place: 0,
            repeated: false,
            selected: false,
            shown: false,
        };
        let meaning = match token.text.len() > crate::words::WORD_BYTES_MAX {
            true => Meaning::None,
            false => config.meaning(token.kind, token.text),
        };
        place += u32::from(meaning != Meaning::None);
        let mut again = Vec::new();
        if let Meaning::Word(meant) = meaning {
            word.place = place.min(u32::from(POSITION_MAX));
            // PostgreSQL looks at the items from the last one on.
            for (number, item) in query.items.iter().enumerate().rev() {
                let Item::Word(operand) = item else {
                    continue;
                };
                let is_it = match operand.prefix {
                    true => meant.starts_with(&operand.word),
                    false => meant == operand.word,
                };
                match (is_it, word.item) {
                    (true, None) => word.item = Some(number),
                    (true, Some(_)) => again.push(Word {
                        item: Some(number),
                        repeated: true,
                        ..word
                    }),
                    _ => {}
                }
            }
        }
        words.push(word);
        words.append(&mut again);
    }
    Ok(words)
}

impl Work<'_, '_> {
    /// The first cover that begins at this word or behind: its first word and its last.
    fn cover<E>(
        &self,
        from: usize,
        tick: Tick<'_, E>,
    ) -> std::result::Result<Option<(usize, usize)>, E> {
        let first = self.found.partition_point(|&at| at < from);
        let reach = self.options.reach();
        let mut seen: Vec<Vec<u32>> = vec![Vec::new(); self.query.items.len()];
        let starts = &self.found[first..];
        for (number, &start) in starts.iter().enumerate() {
            seen.iter_mut().for_each(Vec::clear);
            for &end in starts[number..]
                .iter()
                .take_while(|&&end| end - start < reach)
            {
                tick()?;
                let word = &self.words[end];
                if let Some(item) = word.item {
                    seen[item].push(word.place);
                }
                let mut find =
                    |item: usize, _: &_, places: bool| match (seen[item].is_empty(), places) {
                        (true, _) => Found::Nowhere,
                        (false, false) => Found::Somewhere,
                        (false, true) => {
                            let mut at = seen[item].clone();
                            at.dedup();
                            Found::At(at)
                        }
                    };
                if answer(self.query, &mut find, Answer::No) == Answer::Yes {
                    return Ok(Some((start, end)));
                }
            }
        }
        Ok(None)
    }

    fn is_poor_end(&self, at: usize) -> bool {
        self.words[at].is_poor_end(self.options)
    }

    /// What a word adds to the words of a headline, and to those that are asked for.
    fn counts(&self, at: usize) -> (i32, i32) {
        let word = &self.words[at];
        (
            i32::from(!word.is_between()),
            i32::from(word.is_asked_for()),
        )
    }

    /// Words from here on, up to before there, are shown.
    fn mark(&mut self, start: usize, end: usize) {
        for word in &mut self.words[start..end] {
            word.selected = word.item.is_some();
            word.shown = true;
        }
    }

    fn mark_beginning(&mut self) {
        let (mut count, mut end) = (0, 0);
        while end < self.words.len() && count < self.options.words_min {
            count += self.counts(end).0;
            end += 1;
        }
        self.mark(0, end);
    }

    /// The best part of the text.
    fn mark_best<E>(&mut self, tick: Tick<'_, E>) -> std::result::Result<(), E> {
        /// A part, both ends in it.
        struct Part {
            start: usize,
            end: usize,
            asked: i32,
            has_cover: bool,
        }
        let mut best: Option<Part> = None;
        let mut from = 0;
        while let Some((start, end)) = self.cover(from, tick)? {
            from = start + 1;
            let (start, end, asked, has_cover) = self.part(start, end);
            let is_better = match &best {
                None => true,
                Some(best) => {
                    has_cover && !best.has_cover
                        || has_cover == best.has_cover
                            && (asked > best.asked
                                || asked == best.asked
                                    && !self.is_poor_end(end)
                                    && self.is_poor_end(best.end))
                }
            };
            if is_better {
                best = Some(Part {
                    start,
                    end,
                    asked,
                    has_cover,
                });
            }
        }
        match best {
            Some(best) => self.mark(best.start, best.end + 1),
            None => self.mark_beginning(),
        }
        Ok(())
    }

    /// A cover as a headline: its ends, how many words in it are asked for, and whether it has all of the cover.
    fn part(&self, first: usize, last: usize) -> (usize, usize, i32, bool) {
        let (words_min, words_max) = (self.options.words_min, self.options.words_max);
        let (mut count, mut asked) = (0, 0);
        let (mut start, mut end) = (first, first);
        let mut at = first;
        while at <= last && count < words_max {
            let (one, is_asked) = self.counts(at);
            count += one;
            asked += is_asked;
            end = at;
            at += 1;
        }
        if count < words_max {
            // There is room for more: forwards to a good end, and if the text ends, backwards.
            at -= 1;
            while at < self.words.len() && count < words_max {
                if at > last {
                    let (one, is_asked) = self.counts(at);
                    count += one;
                    asked += is_asked;
                }
                end = at;
                if !self.is_poor_end(at) && count >= words_min {
                    break;
                }
                at += 1;
            }
            if count < words_min {
                start = 0;
                for at in (0..first).rev() {
                    let (one, is_asked) = self.counts(at);
                    count += one;
                    asked += is_asked;
                    if count >= words_max || !self.is_poor_end(at) && count >= words_min {
                        start = at;
                        break;
                    }
                }
            }
        } else {
            // It may have to be shorter for a good end.
            at = at.min(last);
            while count > words_min && self.is_poor_end(at) {
                let (one, is_asked) = self.counts(at);
                count -= one;
                asked -= is_asked;
                end = at.saturating_sub(1);
                if at == 0 {
                    break;
                }
                at -= 1;
            }
        }
        (start, end, asked, start <= first && end >= last)
    }

    /// Several parts of the text.
    fn mark_fragments<E>(&mut self, tick: Tick<'_, E>) -> std::result::Result<(), E> {
        let mut fragments = self.fragments(tick)?;
        let mut any = false;
        for _ in 0..self.options.fragments {
            tick()?;
            // That with most words that are asked for, and least others.
            let open = fragments
                .iter()
                .enumerate()
                .filter(|(_, fragment)| !fragment.done);
            let open = open.filter(|(_, fragment)| fragment.asked > 0);
            let best = open.min_by_key(|(_, f)| (std::cmp::Reverse(f.asked), f.count));
            let Some((number, _)) = best else {
                break;
            };
            fragments[number].done = true;
            let (start, end) = self.stretched(&fragments[number]);
            self.mark(start, end + 1);
            any = true;
            for other in &mut fragments {
                if other.start <= end && other.end >= start {
                    other.done = true;
                }
            }
        }
        if !any {
            self.mark_beginning();
        }
        Ok(())
    }

    /// Covers in pieces of no more words than a headline may have; each begins and ends with a word that is asked for.
    fn fragments<E>(&self, tick: Tick<'_, E>) -> std::result::Result<Vec<Fragment>, E> {
        let mut fragments = Vec::new();
        let mut from = 0;
        while let Some((first, last)) = self.cover(from, tick)? {
            let mut start = first;
            while start <= last {
                tick()?;
                let fragment = self.fragment(start, last);
                start = fragment.end + 1;
                fragments.push(fragment);
            }
            from = first + 1;
        }
        Ok(fragments)
    }

    fn fragment(&self, from: usize, last: usize) -> Fragment {
        let asked_for = (from..=last).find(|&at| self.words[at].is_asked_for());
        let start = asked_for.unwrap_or(last);
        let (mut count, mut asked) = (0, 0);
        let mut at = start;
        while at <= last && count < self.options.words_max {
            let (one, is_asked) = self.counts(at);
            count += one;
            asked += is_asked;
            at += 1;
        }
        let mut end = last;
        if end > at {
            end = at;
            for at in (start..=end).rev() {
                end = at;
                if self.words[at].is_asked_for() {
                    break;
                }
                count -= self.counts(at).0;
            }
        }
        Fragment {
            start,
            end,
            count,
            asked,
            done: false,
        }
    }

    /// A fragment with what there is room for at both ends.
    fn stretched(&self, fragment: &Fragment) -> (usize, usize) {
        let (mut start, mut end, mut count) = (fragment.start, fragment.end, fragment.count);
        let words_max = self.options.words_max;
        if count >= words_max {
            return (start, end);
        }
        let most = (words_max - count) / 2;
        let mut stretch = 0;
        let mut at = start;
        while at > 0 && stretch < most && !self.words[at - 1].shown {
            at -= 1;
            stretch += self.counts(at).0;
        }
        count += stretch;
        while at < start && self.is_poor_end(at) {
            count -= self.counts(at).0;
            at += 1;
        }
        start = at;
        let mut at = end;
        while at + 1 < self.words.len() && count < words_max && !self.words[at + 1].shown {
            at += 1;
            count += self.counts(at).0;
        }
        while at > end && self.is_poor_end(at) {
            at -= 1;
        }
        end = at;
        (start, end)
    }

    fn written(&self) -> String {
        let options = self.options;
        let mut out = String::new();
        let (mut within, mut any) = (false, false);
        for word in self.words.iter().filter(|word| !word.repeated) {
            if !word.shown {
                within = false;
                continue;
            }
            if !within && any {
                out.push_str(&options.between);
            }
            (within, any) = (true, true);
            if word.kind == Kind::Tag && !options.whole {
                out.push(' ');
            } else if !word.is_whole() {
                if word.selected {
                    out.push_str(&options.start);
                }
                out.push_str(word.text);
                if word.selected {
                    out.push_str(&options.stop);
                }
            }
        }
        out
    }
}

/// A piece of a cover, both ends in it.
struct Fragment {
    start: usize,
    end: usize,
    /// Its words.
    count: i32,
    /// Those that are asked for.
    asked: i32,
    done: bool,
}

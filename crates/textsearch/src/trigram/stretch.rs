//! The stretch of a text that is most like a word: `word_similarity` and its strict kin.
//!
//! Relies on: the trigrams of both, of the text in their order.  Promises: PostgreSQL's numbers, though they come from one way over the
//! text that is not always the best: its end goes forward from one trigram that the word has to the next, and its beginning
//! follows for as long as that makes the two more alike.  Does not: take more time than the length of the text by that of
//! the stretch.

use super::{Trigram, padded, share, trigrams, words};
use std::collections::BTreeMap;

/// Places that are looked at before somebody is asked whether to go on: some milliseconds.
const STEPS_MAX: usize = 1_000_000;

/// Where stretches may begin and end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stretch {
    /// At any trigram.
    Any,
    /// Where words do.
    Words,
}

/// A trigram at its place in the text.
struct Place {
    /// Which of the text's different trigrams.
    number: usize,
    begins_word: bool,
    ends_word: bool,
}

/// What is known of the stretch that is looked at.
#[derive(Clone, Copy)]
struct Window {
    from: usize,
    /// How many different trigrams it has, and how many of them the word has.
    different: usize,
    common: usize,
}

impl Stretch {
    /// How much of a word the text has in one stretch. Asks now and then whether it may go on.
    ///
    /// # Errors
    /// What the answer to that is.
    pub fn similarity<E>(
        self,
        word: &str,
        text: &str,
        may_go_on: impl FnMut() -> Result<(), E>,
    ) -> Result<f32, E> {
        let wanted = trigrams(word);
        let mut numbers: BTreeMap<Trigram, usize> = BTreeMap::new();
        let mut in_word = Vec::new();
        let mut places = Vec::with_capacity(text.len() + 2);
        words(text, |word| {
            let word = padded(word);
            let all = word.windows(3);
            let last = all.len() - 1;
            places.extend(all.enumerate().map(|(at, chars)| {
                let trigram = Trigram::of(chars);
                let next = numbers.len();
                let number = *numbers.entry(trigram).or_insert(next);
                if number == next {
                    in_word.push(wanted.binary_search(&trigram).is_ok());
                }
                Place {
                    number,
                    begins_word: at == 0,
                    ends_word: at == last,
                }
            }));
        });
        self.best((&places, &in_word, wanted.len()), may_go_on)
    }

    fn best<E>(
        self,
        (places, in_word, wanted): (&[Place], &[bool], usize),
        mut may_go_on: impl FnMut() -> Result<(), E>,
    ) -> Result<f32, E> {
        let mut steps = 0;
        // Where in the stretch each of the trigrams was seen last.
        let mut seen: Vec<Option<usize>> = vec![None; in_word.len()];
        let mut window = (self == Stretch::Words).then_some(Window {
            from: 0,
            different: 0,
            common: 0,
        });
        let mut best: f32 = 0.0;
        for (at, place) in places.iter().enumerate() {
            let is_common = in_word[place.number];
            if window.is_some() || is_common {
                if seen[place.number].is_none()
                    && let Some(window) = &mut window
                {
                    window.different += 1;
                    window.common += usize::from(is_common);
                }
                seen[place.number] = Some(at);
            }
            let may_end = match self {
                Stretch::Any => is_common,
                Stretch::Words => place.ends_word,
            };
            if !may_end {
                continue;
            }
            // The first that the word has begins a stretch.
            let whole = *window.get_or_insert(Window {
                from: at,
                different: 1,
                common: 1,
            });
            steps += at - whole.from;
            if steps > STEPS_MAX {
                steps = 0;
                may_go_on()?;
            }
            let (kept, similarity) = self.shortened(whole, at, (places, in_word, wanted), &seen);
            for (before, place) in places.iter().enumerate().take(kept.from).skip(whole.from) {
                seen[place.number].take_if(|last| *last == before);
            }
            window = Some(kept);
            best = best.max(similarity);
        }
        Ok(best)
    }

    /// The best of the stretches that end at a place and begin in this one or with it.
    fn shortened(
        self,
        whole: Window,
        end: usize,
        (places, in_word, wanted): (&[Place], &[bool], usize),
        seen: &[Option<usize>],
    ) -> (Window, f32) {
        let alike = |window: Window| share(window.common, wanted, window.different);
        let (mut best, mut most) = (whole, alike(whole));
        let mut shorter = whole;
        for (from, place) in places.iter().enumerate().take(end + 1).skip(whole.from) {
            shorter.from = from;
            if self == Stretch::Any || place.begins_word {
                let here = alike(shorter);
                if here > most {
                    (best, most) = (shorter, here);
                }
            }
            // Without this place, whose trigram may come again behind it.
            if seen[place.number] == Some(from) {
                shorter.different -= 1;
                shorter.common -= usize::from(in_word[place.number]);
            }
        }
        (best, most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_found_in_a_text() {
        let of = |stretch: Stretch, word, text| {
            let found: Result<f32, ()> = stretch.similarity(word, text, || Ok(()));
            found.unwrap()
        };
        assert_eq!(of(Stretch::Any, "word", "two words"), 0.8);
        assert_eq!(of(Stretch::Words, "word", "two words"), 0.5714286);
        assert_eq!(of(Stretch::Any, "", "two words"), 0.0);
        assert_eq!(of(Stretch::Words, "word", ""), 0.0);
    }

    #[test]
    fn a_long_way_may_be_given_up() {
        let text = "abc ".repeat(5_000);
        let found = Stretch::Any.similarity("abc", &text, || Err("enough"));
        assert_eq!(found, Err("enough"));
    }
}

//! What a token stands for: the word in small letters, its stem, or nothing.
//!
//! Relies on: `rust-stemmers` for stems; `stop_words.txt`, the words of each language that mean nothing.  Promises: the configurations
//! that PostgreSQL has built in, under its names and numbers, as far as there are stems for the language.  Does not: know
//! configurations that a user made.

use crate::token::Kind;
use rust_stemmers::{Algorithm, Stemmer};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Longer words have no stem.
const STEM_BYTES_MAX: usize = 1000;

/// A configuration, or the dictionary of a language.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Its name.
    pub name: &'static str,
    /// Its number.
    pub number: u32,
    /// The number of its dictionary.
    pub dictionary: u32,
    stems: Option<Algorithm>,
    /// Words of ASCII are English.
    latin_is_english: bool,
}

impl PartialEq for Config {
    fn eq(&self, other: &Config) -> bool {
        self.number == other.number
    }
}

impl Eq for Config {}

const fn language(name: &'static str, number: u32, stems: Algorithm) -> Config {
    Config {
        name,
        number,
        dictionary: number - 1,
        stems: Some(stems),
        latin_is_english: false,
    }
}

/// Words in small letters.
pub const SIMPLE: Config = Config {
    name: "simple",
    number: 3748,
    dictionary: 3765,
    stems: None,
    latin_is_english: false,
};

/// English.
pub const ENGLISH: Config = language("english", 13164, Algorithm::English);

/// All of them, in the order of their numbers.
pub const CONFIGS: &[Config] = &[
    SIMPLE,
    language("arabic", 13152, Algorithm::Arabic),
    language("danish", 13160, Algorithm::Danish),
    language("dutch", 13162, Algorithm::Dutch),
    ENGLISH,
    language("finnish", 13166, Algorithm::Finnish),
    language("french", 13168, Algorithm::French),
    language("german", 13170, Algorithm::German),
    language("greek", 13172, Algorithm::Greek),
    language("hungarian", 13176, Algorithm::Hungarian),
    language("italian", 13182, Algorithm::Italian),
    language("norwegian", 13188, Algorithm::Norwegian),
    language("portuguese", 13190, Algorithm::Portuguese),
    language("romanian", 13192, Algorithm::Romanian),
    Config {
        latin_is_english: true,
        ..language("russian", 13194, Algorithm::Russian)
    },
    language("spanish", 13198, Algorithm::Spanish),
    language("swedish", 13200, Algorithm::Swedish),
    language("tamil", 13202, Algorithm::Tamil),
    language("turkish", 13204, Algorithm::Turkish),
];

/// What a token stands for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Meaning {
    /// No dictionary is asked.
    None,
    /// It takes a place, but means nothing.
    Stop,
    /// A word.
    Word(String),
}

static STOP_WORDS: LazyLock<BTreeMap<&str, Vec<&str>>> = LazyLock::new(|| {
    let mut found: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut language = "";
    for line in include_str!("stop_words.txt").lines() {
        match line
            .strip_prefix('[')
            .and_then(|line| line.strip_suffix(']'))
        {
            Some(name) => language = name,
            None => found.entry(language).or_default().extend(line.split(' ')),
        }
    }
    found.values_mut().for_each(|words| words.sort_unstable());
    found
});

impl Config {
    /// The one with this name.
    pub fn by_name(name: &str) -> Option<Config> {
        CONFIGS.iter().find(|config| config.name == name).copied()
    }

    /// The one with this number.
    pub fn by_number(number: u32) -> Option<Config> {
        CONFIGS
            .iter()
            .find(|config| config.number == number)
            .copied()
    }

    /// The one whose dictionary has this number.
    pub fn of_dictionary(number: u32) -> Option<Config> {
        let mut all = CONFIGS.iter();
        all.find(|config| config.dictionary == number).copied()
    }

    /// The dictionary that is asked about tokens of a kind.
    pub fn dictionary(self, kind: Kind) -> Option<Config> {
        if !kind.is_indexed() {
            return None;
        }
        Some(match kind.is_of_language() {
            true if self.latin_is_english && kind.is_ascii_of_language() => ENGLISH,
            true => self,
            false => SIMPLE,
        })
    }

    /// The name of its dictionary.
    pub fn dictionary_name(self) -> String {
        match self.stems {
            None => self.name.to_string(),
            Some(_) => format!("{}_stem", self.name),
        }
    }

    /// Whether some of the language's words mean nothing.
    pub fn has_stop_words(self) -> bool {
        STOP_WORDS.contains_key(self.name)
    }

    /// What a token stands for.
    pub fn meaning(self, kind: Kind, token: &str) -> Meaning {
        match self.dictionary(kind) {
            Some(dictionary) => dictionary.looked_up(token),
            None => Meaning::None,
        }
    }

    /// What the dictionary says of a word.
    pub fn looked_up(self, word: &str) -> Meaning {
        let small = lower(word);
        let Some(algorithm) = self.stems else {
            return Meaning::Word(small);
        };
        if small.len() > STEM_BYTES_MAX {
            return Meaning::Word(small);
        }
        let stop = STOP_WORDS.get(self.name);
        let is_stop = stop.is_some_and(|words| words.binary_search(&small.as_str()).is_ok());
        if is_stop || small.is_empty() {
            return Meaning::Stop;
        }
        let stem = stem(algorithm, &small);
        // A word of nothing but endings stays.
        Meaning::Word(if stem.is_empty() { small } else { stem })
    }
}

/// The stem of a word in small letters.
fn stem(algorithm: Algorithm, word: &str) -> String {
    let stemmer = Stemmer::create(algorithm);
    // The library's stemmers of these languages are older than PostgreSQL's.
    if algorithm == Algorithm::Russian && word.contains('ё') {
        return stemmer.stem(&word.replace('ё', "е")).into_owned();
    }
    if algorithm != Algorithm::French || !word.contains(['ë', 'ï']) {
        return stemmer.stem(word).into_owned();
    }
    // These letters were strangers to it; since then they are vowels behind a mark.
    let marked = word.replace('ë', "He").replace('ï', "Hi");
    let stem = stemmer.stem(&marked);
    let ending = marked.get(stem.len()..).unwrap_or_default();
    let of_nouns = ["if", "iv", "ité", "iq", "ism", "ist", "ic"];
    let is_of_verb = ending.starts_with('i') && !of_nouns.iter().any(|one| ending.starts_with(one));
    if stem.ends_with('H') && is_of_verb {
        // The mark keeps endings of verbs.
        return stemmer.stem(word).into_owned();
    }
    stem.replace("He", "ë").replace("Hi", "ï").replace('H', "")
}

/// In small letters, each letter for itself.
fn lower(word: &str) -> String {
    // Where Rust has two characters the first is what PostgreSQL has.
    word.chars()
        .map(|c| c.to_lowercase().next().unwrap_or(c))
        .collect()
}

//! Metaphone: how an English word sounds, in capital letters, `0` for *th* and `X` for *sh*.
//!
//! Relies on: the rules of Lawrence Philips (Computer Language, December 1990), as `fuzzystrmatch` reads them.  Promises: its
//! answers.  Does not: know letters but those of ASCII; others end nothing and sound like nothing.

/// A word that is read, and what it sounded like so far.
struct Reader {
    letters: Vec<u8>,
    at: usize,
    sounds: String,
    most: usize,
}

const END: u8 = 0;

fn is_vowel(letter: u8) -> bool {
    matches!(letter, b'A' | b'E' | b'I' | b'O' | b'U')
}

/// Letters before which C and G are soft.
fn softens(letter: u8) -> bool {
    matches!(letter, b'E' | b'I' | b'Y')
}

/// How a text sounds, in so many letters at most.
pub(super) fn metaphone(text: &str, most: usize) -> String {
    let letters: Vec<u8> = text.bytes().map(|byte| byte.to_ascii_uppercase()).collect();
    let Some(at) = letters.iter().position(u8::is_ascii_uppercase) else {
        return String::new();
    };
    let mut reader = Reader {
        letters,
        at,
        sounds: String::new(),
        most,
    };
    reader.first();
    while reader.at < reader.letters.len() && reader.sounds.len() < reader.most {
        reader.at += 1 + reader.letter();
    }
    reader.sounds
}

impl Reader {
    /// A letter so many places further on.
    fn ahead(&self, places: usize) -> u8 {
        self.letters.get(self.at + places).copied().unwrap_or(END)
    }

    fn back(&self, places: usize) -> u8 {
        let place = self.at.checked_sub(places);
        place.map_or(END, |place| self.letters[place])
    }

    fn say(&mut self, sound: char) {
        self.sounds.push(sound);
    }

    /// Beginnings that sound otherwise than the same letters elsewhere.
    fn first(&mut self) {
        let (own, next) = (self.ahead(0), self.ahead(1));
        let (sound, read) = match (own, next) {
            (b'A', b'E') => ('E', 2),
            (b'G' | b'K' | b'P', b'N') => ('N', 2),
            (b'X', _) => ('S', 1),
            (b'W', b'R' | b'H') => (char::from(next), 2),
            (b'W', next) if is_vowel(next) => ('W', 2),
            (own, _) if is_vowel(own) => (char::from(own), 1),
            _ => return,
        };
        self.say(sound);
        self.at += read;
    }

    /// Reads a letter; how many of those behind it went with it.
    fn letter(&mut self) -> usize {
        let (last, own) = (self.back(1), self.ahead(0));
        let (next, after) = (self.ahead(1), self.ahead(2));
        if !own.is_ascii_uppercase() || (own == last && own != b'C') {
            return 0;
        }
        let ends = |letter: u8| !letter.is_ascii_uppercase();
        match own {
            b'B' if last == b'M' => {}
            b'C' if softens(next) => {
                if next == b'I' && after == b'A' {
                    self.say('X');
                } else if last != b'S' {
                    self.say('S');
                }
            }
            b'C' if next == b'H' => {
                self.say(if after == b'R' || last == b'S' {
                    'K'
                } else {
                    'X'
                });
                return 1;
            }
            b'C' => self.say('K'),
            b'D' if next == b'G' && softens(after) => {
                self.say('J');
                return 1;
            }
            b'D' => self.say('T'),
            b'G' if next == b'H' => {
                let silent = matches!(self.back(3), b'B' | b'D' | b'H') || self.back(4) == b'H';
                if !silent {
                    self.say('F');
                    return 1;
                }
            }
            b'G' if next == b'N' => {
                let silent = ends(after) || (after == b'E' && self.ahead(3) == b'D');
                if !silent {
                    self.say('K');
                }
            }
            b'G' if softens(next) && last != b'G' => self.say('J'),
            b'G' => self.say('K'),
            b'H' => {
                if is_vowel(next) && !matches!(last, b'C' | b'G' | b'P' | b'S' | b'T') {
                    self.say('H');
                }
            }
            b'K' if last == b'C' => {}
            b'P' if next == b'H' => self.say('F'),
            b'Q' => self.say('K'),
            b'S' if next == b'I' && matches!(after, b'O' | b'A') => self.say('X'),
            b'S' if next == b'H' => {
                self.say('X');
                return 1;
            }
            b'S' if next == b'C' && after == b'H' && self.ahead(3) == b'W' => {
                self.say('X');
                return 2;
            }
            b'T' if next == b'I' && matches!(after, b'O' | b'A') => self.say('X'),
            b'T' if next == b'H' => {
                self.say('0');
                return 1;
            }
            b'V' => self.say('F'),
            b'W' | b'Y' if !is_vowel(next) => {}
            b'X' => {
                self.say('K');
                if self.sounds.len() < self.most {
                    self.say('S');
                }
            }
            b'Z' => self.say('S'),
            own if is_vowel(own) => {}
            own => self.say(char::from(own)),
        }
        0
    }
}

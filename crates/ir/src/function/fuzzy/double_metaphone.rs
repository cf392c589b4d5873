//! Double metaphone: how a name sounds in English, and how it may sound elsewhere.
//!
//! Relies on: the rules of Lawrence Philips (C/C++ Users Journal, June 2000), as `fuzzystrmatch` reads them.  Promises: its answers, four
//! letters at most.  Does not: know letters but those of ASCII; two bytes that were letters in Latin-1 count as these wherever
//! they stand, as there.

/// Letters of an answer.
const SOUNDS_MAX: usize = 4;

/// Behind the end stand blanks, which rules ask for.
const BLANKS: &[u8] = b"     ";

/// Ç and Ñ in Latin-1.
const C_CEDILLA: u8 = 0xc7;
const N_TILDE: u8 = 0xd1;

/// A name that is read.
struct Name {
    letters: Vec<u8>,
    /// Without the blanks behind it.
    length: isize,
    /// Some letters tell that it is Slavic or German.
    is_eastern: bool,
}

/// What a letter adds to the two answers, and how many letters it takes.
type Read = (&'static str, &'static str, isize);

/// How a text sounds, and how else.
pub(super) fn double_metaphone(text: &str) -> (String, String) {
    let mut letters: Vec<u8> = text.bytes().map(|byte| byte.to_ascii_uppercase()).collect();
    let length = letters.len() as isize;
    letters.extend_from_slice(BLANKS);
    let has = |part: &[u8]| letters.windows(part.len()).any(|here| here == part);
    let name = Name {
        is_eastern: has(b"W") || has(b"K") || has(b"CZ"),
        length,
        letters,
    };
    let (mut first, mut second) = (String::new(), String::new());
    let mut at = 0;
    if name.is(0, &["GN", "KN", "PN", "WR", "PS"]) {
        at = 1;
    }
    if name.at(0) == b'X' {
        first.push('S');
        second.push('S');
        at += 1;
    }
    while at < length && (first.len() < SOUNDS_MAX || second.len() < SOUNDS_MAX) {
        let (sound, other, read) = name.letter(at);
        first.push_str(sound);
        second.push_str(other);
        at += read;
    }
    first.truncate(SOUNDS_MAX);
    second.truncate(SOUNDS_MAX);
    (first, second)
}

/// Both sound alike.
const fn both(sound: &'static str, read: isize) -> Read {
    (sound, sound, read)
}

impl Name {
    fn at(&self, place: isize) -> u8 {
        let place = usize::try_from(place).ok();
        let letter = place.and_then(|place| self.letters.get(place));
        letter.copied().unwrap_or(0)
    }

    /// Whether one of these stands at a place.
    fn is(&self, place: isize, parts: &[&str]) -> bool {
        let Ok(place) = usize::try_from(place) else {
            return false;
        };
        let rest = self.letters.get(place..).unwrap_or_default();
        parts.iter().any(|part| rest.starts_with(part.as_bytes()))
    }

    /// Whether one of these letters stands at a place.
    fn one_of(&self, place: isize, letters: &[u8]) -> bool {
        letters.contains(&self.at(place))
    }

    fn is_vowel(&self, place: isize) -> bool {
        self.one_of(place, b"AEIOUY")
    }

    fn last(&self) -> isize {
        self.length - 1
    }

    fn is_german(&self) -> bool {
        self.is(0, &["VAN ", "VON ", "SCH"])
    }

    /// A letter that goes with another of its kind behind it.
    fn doubled(&self, at: isize) -> isize {
        1 + isize::from(self.at(at) == self.at(at + 1))
    }

    fn letter(&self, at: isize) -> Read {
        match self.at(at) {
            b'A' | b'E' | b'I' | b'O' | b'U' | b'Y' => both(if at == 0 { "A" } else { "" }, 1),
            b'B' => both("P", self.doubled(at)),
            b'C' => self.c(at),
            C_CEDILLA => both("S", 1),
            b'D' => self.d(at),
            b'F' => both("F", self.doubled(at)),
            b'G' => self.g(at),
            b'H' => match (at == 0 || self.is_vowel(at - 1)) && self.is_vowel(at + 1) {
                true => both("H", 2),
                false => both("", 1),
            },
            b'J' => self.j(at),
            b'K' => both("K", self.doubled(at)),
            b'L' => self.l(at),
            b'M' => {
                // dumb, thumb
                let ends = at + 1 == self.last() || self.is(at + 2, &["ER"]);
                let mute = self.is(at - 1, &["UMB"]) && ends;
                both("M", if mute { 2 } else { self.doubled(at) })
            }
            b'N' => both("N", self.doubled(at)),
            N_TILDE => both("N", 1),
            b'P' if self.at(at + 1) == b'H' => both("F", 2),
            // Campbell, raspberry
            b'P' => both("P", 1 + isize::from(self.one_of(at + 1, b"PB"))),
            b'Q' => both("K", self.doubled(at)),
            b'R' => {
                // Rogier, but not Hochmeier
                let french = at == self.last() && !self.is_eastern && self.is(at - 2, &["IE"]);
                let silent = french && !self.is(at - 4, &["ME", "MA"]);
                (if silent { "" } else { "R" }, "R", self.doubled(at))
            }
            b'S' => self.s(at),
            b'T' => self.t(at),
            b'V' => both("F", self.doubled(at)),
            b'W' => self.w(at),
            b'X' => {
                // Breaux
                let french = self.is(at - 3, &["IAU", "EAU"]) || self.is(at - 2, &["AU", "OU"]);
                let silent = at == self.last() && french;
                let read = 1 + isize::from(self.one_of(at + 1, b"CX"));
                both(if silent { "" } else { "KS" }, read)
            }
            b'Z' => {
                if self.at(at + 1) == b'H' {
                    return both("J", 2);
                }
                let eastern = self.is_eastern && at > 0 && self.at(at - 1) != b'T';
                let read = self.doubled(at);
                match self.is(at + 1, &["ZO", "ZI", "ZA"]) || eastern {
                    true => ("S", "TS", read),
                    false => both("S", read),
                }
            }
            _ => both("", 1),
        }
    }

    fn c(&self, at: isize) -> Read {
        let bacher = self.is(at - 2, &["BACHER", "MACHER"]);
        if at > 1
            && !self.is_vowel(at - 2)
            && self.is(at - 1, &["ACH"])
            && self.at(at + 2) != b'I'
            && (self.at(at + 2) != b'E' || bacher)
        {
            return both("K", 2);
        }
        if at == 0 && self.is(at, &["CAESAR"]) {
            return both("S", 2);
        }
        if self.is(at, &["CHIA"]) {
            return both("K", 2);
        }
        if self.is(at, &["CH"]) {
            return self.ch(at);
        }
        if self.is(at, &["CZ"]) && !self.is(at - 2, &["WICZ"]) {
            return ("S", "X", 2);
        }
        // focaccia
        if self.is(at + 1, &["CIA"]) {
            return both("X", 3);
        }
        if self.is(at, &["CC"]) && !(at == 1 && self.at(0) == b'M') {
            if !self.one_of(at + 2, b"IEH") || self.is(at + 2, &["HU"]) {
                return both("K", 2);
            }
            let accident = at == 1 && self.at(at - 1) == b'A';
            let hard = accident || self.is(at - 1, &["UCCEE", "UCCES"]);
            return both(if hard { "KS" } else { "X" }, 3);
        }
        if self.is(at, &["CK", "CG", "CQ"]) {
            return both("K", 2);
        }
        if self.is(at, &["CI", "CE", "CY"]) {
            let italian = self.is(at, &["CIO", "CIE", "CIA"]);
            return ("S", if italian { "X" } else { "S" }, 2);
        }
        // Mac Caffrey
        if self.is(at + 1, &[" C", " Q", " G"]) {
            return both("K", 3);
        }
        let goes_along = self.one_of(at + 1, b"CKQ") && !self.is(at + 1, &["CE", "CI"]);
        both("K", 1 + isize::from(goes_along))
    }

    fn ch(&self, at: isize) -> Read {
        // Michael
        if at > 0 && self.is(at, &["CHAE"]) {
            return ("K", "X", 2);
        }
        let greek = self.is(at + 1, &["HARAC", "HARIS", "HOR", "HYM", "HIA", "HEM"]);
        if at == 0 && greek && !self.is(0, &["CHORE"]) {
            return both("K", 2);
        }
        // Wachtler, Wechsler, but not Tichner
        let open = self.one_of(at - 1, b"AOUE") || at == 0;
        if self.is_german()
            || self.is(at - 2, &["ORCHES", "ARCHIT", "ORCHID"])
            || self.one_of(at + 2, b"TS")
            || (open && self.one_of(at + 2, b"LRNMBHFVW "))
        {
            return both("K", 2);
        }
        match at {
            0 => both("X", 2),
            _ if self.is(0, &["MC"]) => both("K", 2),
            _ => ("X", "K", 2),
        }
    }

    fn d(&self, at: isize) -> Read {
        if self.is(at, &["DG"]) {
            return match self.one_of(at + 2, b"IEY") {
                true => both("J", 3),
                false => both("TK", 2),
            };
        }
        both("T", 1 + isize::from(self.one_of(at + 1, b"TD")))
    }

    fn g(&self, at: isize) -> Read {
        let next = self.at(at + 1);
        if next == b'H' {
            return self.gh(at);
        }
        if next == b'N' {
            if at == 1 && self.is_vowel(0) && !self.is_eastern {
                return ("KN", "N", 2);
            }
            // not Cagney
            return match !self.is(at + 2, &["EY"]) && !self.is_eastern {
                true => ("N", "KN", 2),
                false => both("KN", 2),
            };
        }
        if self.is(at + 1, &["LI"]) && !self.is_eastern {
            return ("KL", "L", 2);
        }
        let begins = [
            "Y", "ES", "EP", "EB", "EL", "EY", "IB", "IL", "IN", "IE", "EI", "ER",
        ];
        if at == 0 && self.is(at + 1, &begins) {
            return ("K", "J", 2);
        }
        if self.is(at + 1, &["ER", "Y"])
            && !self.is(0, &["DANGER", "RANGER", "MANGER"])
            && !self.one_of(at - 1, b"EI")
            && !self.is(at - 1, &["RGY", "OGY"])
        {
            return ("K", "J", 2);
        }
        if self.one_of(at + 1, b"EIY") || self.is(at - 1, &["AGGI", "OGGI"]) {
            if self.is_german() || self.is(at + 1, &["ET"]) {
                return both("K", 2);
            }
            let french = self.is(at + 1, &["IER "]);
            return ("J", if french { "J" } else { "K" }, 2);
        }
        both("K", self.doubled(at))
    }

    fn gh(&self, at: isize) -> Read {
        if at > 0 && !self.is_vowel(at - 1) {
            return both("K", 2);
        }
        if at == 0 {
            return both(if self.at(at + 2) == b'I' { "J" } else { "K" }, 2);
        }
        // Hugh, bough, Broughton
        if (at > 1 && self.one_of(at - 2, b"BHD"))
            || (at > 2 && self.one_of(at - 3, b"BHD"))
            || (at > 3 && self.one_of(at - 4, b"BH"))
        {
            return both("", 2);
        }
        // laugh, cough, rough, tough
        if at > 2 && self.at(at - 1) == b'U' && self.one_of(at - 3, b"CGLRT") {
            return both("F", 2);
        }
        both(if self.at(at - 1) != b'I' { "K" } else { "" }, 2)
    }

    fn j(&self, at: isize) -> Read {
        let san = self.is(0, &["SAN "]);
        if self.is(at, &["JOSE"]) || san {
            return match (at == 0 && self.at(at + 4) == b' ') || san {
                true => both("H", 1),
                false => ("J", "H", 1),
            };
        }
        let read = self.doubled(at);
        // Jankelowicz
        if at == 0 {
            return ("J", "A", read);
        }
        if self.is_vowel(at - 1) && !self.is_eastern && self.one_of(at + 1, b"AO") {
            return ("J", "H", read);
        }
        if at == self.last() {
            return ("J", "", read);
        }
        let silent = self.one_of(at + 1, b"LTKSNMBZ") || self.one_of(at - 1, b"SKL");
        both(if silent { "" } else { "J" }, read)
    }

    fn l(&self, at: isize) -> Read {
        if self.at(at + 1) != b'L' {
            return both("L", 1);
        }
        // cabrillo, gallegos
        let ends = at == self.length - 3 && self.is(at - 1, &["ILLO", "ILLA", "ALLE"]);
        let last = self.is(self.last() - 1, &["AS", "OS"]) || self.one_of(self.last(), b"AO");
        match ends || (last && self.is(at - 1, &["ALLE"])) {
            true => ("L", "", 2),
            false => both("L", 2),
        }
    }

    fn s(&self, at: isize) -> Read {
        // island
        if self.is(at - 1, &["ISL", "YSL"]) {
            return both("", 1);
        }
        if at == 0 && self.is(at, &["SUGAR"]) {
            return ("X", "S", 1);
        }
        if self.is(at, &["SH"]) {
            let german = self.is(at + 1, &["HEIM", "HOEK", "HOLM", "HOLZ"]);
            return both(if german { "S" } else { "X" }, 2);
        }
        if self.is(at, &["SIO", "SIA"]) {
            return ("S", if self.is_eastern { "S" } else { "X" }, 3);
        }
        let before_z = self.at(at + 1) == b'Z';
        if (at == 0 && self.one_of(at + 1, b"MNLW")) || before_z {
            return ("S", "X", 1 + isize::from(before_z));
        }
        if self.is(at, &["SC"]) {
            return self.sc(at);
        }
        // Resnais, Artois
        let silent = at == self.last() && self.is(at - 2, &["AI", "OI"]);
        let read = 1 + isize::from(self.one_of(at + 1, b"SZ"));
        (if silent { "" } else { "S" }, "S", read)
    }

    fn sc(&self, at: isize) -> Read {
        if self.at(at + 2) != b'H' {
            return both(
                if self.one_of(at + 2, b"IEY") {
                    "S"
                } else {
                    "SK"
                },
                3,
            );
        }
        if self.is(at + 3, &["ER", "EN"]) {
            return ("X", "SK", 3);
        }
        // school, schooner
        if self.is(at + 3, &["OO", "UY", "ED", "EM"]) {
            return both("SK", 3);
        }
        let plain = at == 0 && !self.is_vowel(3) && self.at(3) != b'W';
        ("X", if plain { "S" } else { "X" }, 3)
    }

    fn t(&self, at: isize) -> Read {
        if self.is(at, &["TION", "TIA", "TCH"]) {
            return both("X", 3);
        }
        if self.is(at, &["TH", "TTH"]) {
            // Thomas, Thames
            return match self.is(at + 2, &["OM", "AM"]) || self.is_german() {
                true => both("T", 2),
                false => ("0", "T", 2),
            };
        }
        both("T", 1 + isize::from(self.one_of(at + 1, b"TD")))
    }

    fn w(&self, at: isize) -> Read {
        if self.is(at, &["WR"]) {
            return both("R", 2);
        }
        // Wasserman and Vasserman, Womo and Uomo
        let (first, second) = match (at, self.is_vowel(at + 1), self.is(at, &["WH"])) {
            (0, true, _) => ("A", "F"),
            (0, false, true) => ("A", "A"),
            _ => ("", ""),
        };
        // Arnow and Arnoff
        let polish = self.is(at - 1, &["EWSKI", "EWSKY", "OWSKI", "OWSKY"]);
        let ends = at == self.last() && self.is_vowel(at - 1);
        if ends || polish || self.is(0, &["SCH"]) {
            return match first {
                "" => ("", "F", 1),
                _ => (first, "FF", 1),
            };
        }
        if self.is(at, &["WICZ", "WITZ"]) {
            return match first {
                "" => ("TS", "FX", 4),
                _ => ("ATS", "FFX", 4),
            };
        }
        (first, second, 1)
    }
}

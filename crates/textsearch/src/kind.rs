//! What a token may be.
//!
//! Relies on: nothing.  Promises: PostgreSQL's numbers, names and descriptions.  Does not: find tokens (`token`).

/// Types of tokens, by PostgreSQL's numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
#[repr(u8)]
pub enum Kind {
    AsciiWord = 1,
    Word,
    NumWord,
    Email,
    Url,
    Host,
    Scientific,
    Version,
    NumPart,
    Part,
    AsciiPart,
    Blank,
    Tag,
    Protocol,
    NumHyphenated,
    AsciiHyphenated,
    Hyphenated,
    UrlPath,
    File,
    Float,
    Int,
    UInt,
    Entity,
}

impl Kind {
    /// All of them, in the order of their numbers, with alias and description.
    pub const ALL: [(Kind, &'static str, &'static str); 23] = [
        (Kind::AsciiWord, "asciiword", "Word, all ASCII"),
        (Kind::Word, "word", "Word, all letters"),
        (Kind::NumWord, "numword", "Word, letters and digits"),
        (Kind::Email, "email", "Email address"),
        (Kind::Url, "url", "URL"),
        (Kind::Host, "host", "Host"),
        (Kind::Scientific, "sfloat", "Scientific notation"),
        (Kind::Version, "version", "Version number"),
        (
            Kind::NumPart,
            "hword_numpart",
            "Hyphenated word part, letters and digits",
        ),
        (
            Kind::Part,
            "hword_part",
            "Hyphenated word part, all letters",
        ),
        (
            Kind::AsciiPart,
            "hword_asciipart",
            "Hyphenated word part, all ASCII",
        ),
        (Kind::Blank, "blank", "Space symbols"),
        (Kind::Tag, "tag", "XML tag"),
        (Kind::Protocol, "protocol", "Protocol head"),
        (
            Kind::NumHyphenated,
            "numhword",
            "Hyphenated word, letters and digits",
        ),
        (
            Kind::AsciiHyphenated,
            "asciihword",
            "Hyphenated word, all ASCII",
        ),
        (Kind::Hyphenated, "hword", "Hyphenated word, all letters"),
        (Kind::UrlPath, "url_path", "URL path"),
        (Kind::File, "file", "File or path name"),
        (Kind::Float, "float", "Decimal notation"),
        (Kind::Int, "int", "Signed integer"),
        (Kind::UInt, "uint", "Unsigned integer"),
        (Kind::Entity, "entity", "XML entity"),
    ];

    /// Its number.
    pub fn number(self) -> i32 {
        i32::from(self as u8)
    }

    /// Its name.
    pub fn alias(self) -> &'static str {
        Self::ALL[self as usize - 1].1
    }

    /// Its description.
    pub fn description(self) -> &'static str {
        Self::ALL[self as usize - 1].2
    }

    /// Whether a dictionary is asked about it.
    pub fn is_indexed(self) -> bool {
        !matches!(
            self,
            Kind::Blank | Kind::Tag | Kind::Protocol | Kind::Entity
        )
    }

    /// Whether words of a language look so.
    pub fn is_of_language(self) -> bool {
        use Kind::*;
        self.is_ascii_of_language() || matches!(self, Word | Part | Hyphenated)
    }

    /// The same in ASCII.
    pub fn is_ascii_of_language(self) -> bool {
        matches!(
            self,
            Kind::AsciiWord | Kind::AsciiPart | Kind::AsciiHyphenated
        )
    }
}

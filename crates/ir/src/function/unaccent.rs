//! What PostgreSQL's extension `unaccent` brings: texts without accents.
//!
//! Relies on: `unicode-normalization` for what a character is made of.  Promises: what the rules that come with PostgreSQL 15 make of each
//! character.  Does not: know other rules, or be a part of configurations of text search.

use super::{Function, builtin as new, str, wrong_type};
use crate::eval::Host;
use quintet_base::SqlType::{RegDictionary, Text};
use quintet_base::lexemes::textsearch::Config;
use quintet_base::lexemes::textsearch::dictionary::Meaning;
use quintet_base::{SqlError, SqlResult, Str, Value};
use std::collections::BTreeMap;
use std::sync::LazyLock;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// The dictionary, under a number that PostgreSQL gives nobody.
pub const DICTIONARY: (u32, &str) = (15_905, "unaccent");

/// Marks that are left out wherever they stand.
const MARKS: [(u32, u32); 3] = [(0x300, 0x362), (0x20dd, 0x20e0), (0x20e2, 0x20e4)];

/// Stretches of characters that become what they are made of, without marks. Elsewhere they stay.
#[rustfmt::skip]
const MADE_OF_OTHERS: &[(u32, u32)] = &[
    (0xbc, 0x1e1), (0x1e6, 0x1ed), (0x1f0, 0x1fb), (0x200, 0x233), (0x386, 0x386), (0x388, 0x3ce), (0x401, 0x401),
    (0x451, 0x451), (0x1e00, 0x1e99), (0x1ea0, 0x1f70), (0x1f72, 0x1f72), (0x1f74, 0x1f74), (0x1f76, 0x1f76),
    (0x1f78, 0x1f78), (0x1f7a, 0x1f7a), (0x1f7c, 0x1f7c), (0x1f80, 0x1fba), (0x1fbc, 0x1fbc), (0x1fc2, 0x1fc8),
    (0x1fca, 0x1fca), (0x1fcc, 0x1fcc), (0x1fd0, 0x1fd2), (0x1fd6, 0x1fda), (0x1fe0, 0x1fe2), (0x1fe4, 0x1fea),
    (0x1fec, 0x1fec), (0x1ff2, 0x1ff8), (0x1ffa, 0x1ffa), (0x1ffc, 0x1ffc), (0x2011, 0x2011), (0x2024, 0x2026),
    (0x203c, 0x203c), (0x2047, 0x2049), (0x2100, 0x2106), (0x2109, 0x210e), (0x2110, 0x211d), (0x2121, 0x2121),
    (0x2124, 0x2124), (0x2128, 0x2128), (0x212c, 0x2134), (0x2139, 0x213b), (0x2145, 0x2189), (0x2474, 0x24b5),
    (0x2a74, 0x2a76), (0x3371, 0x3377), (0x337a, 0x337a), (0x3380, 0x3381), (0x3383, 0x338b), (0x338e, 0x3394),
    (0x3399, 0x339a), (0x339c, 0x339e), (0x33a7, 0x33a7), (0x33a9, 0x33ae), (0x33b0, 0x33b1), (0x33b3, 0x33b5),
    (0x33b7, 0x33bb), (0x33bd, 0x33bf), (0x33c2, 0x33df), (0xfb00, 0xfb06), (0xfe10, 0xfe16), (0xfe19, 0xfe19),
    (0xfe30, 0xfe32), (0xfe35, 0xfe3a), (0xfe3d, 0xfe40), (0xfe47, 0xfe48), (0xfe50, 0xfe6b), (0xff01, 0xff61),
    (0xff64, 0xff64), (0x1f100, 0x1f129),
];

/// What others become, each of the characters on the right.
#[rustfmt::skip]
const OTHERS: &[(&str, &str)] = &[
    ("A", "Ⱥᴀ"), ("AA", "Ꜳ"), ("AE", "Æᴁ"), ("AO", "Ꜵ"), ("AU", "Ꜷ"), ("AV", "ꜸꜺ"), ("AY", "Ꜽ"), ("B", "ƁƂɃʙᴃ"), ("C", "ƇȻᴄꞒ"),
    ("CE", "₠"), ("Cr", "₢"), ("D", "ÐĐƉƊƋᴅᴆꝹ"), ("E", "ƐɆᴇ"), ("F", "ƑꜰꝻ"), ("G", "ƓǤɢʛꞠ"), ("H", "ĦʜⱧꞪ"), ("I", "ƖƗɪᵻ"),
    ("J", "Ɉᴊ"), ("K", "ƘᴋⱩꝀꝂꝄꞢ"), ("L", "ŁȽʟᴌⱠⱢꝆꝈĿ"), ("LL", "Ỻ"), ("M", "ᴍⱮ"), ("N", "ŊƝɴꞐꞤ"), ("O", "ØᴏꝊꝌ"), ("OE", "Œɶ"),
    ("OI", "Ƣ"), ("OO", "Ꝏ"), ("P", "Ƥᴘ℘ⱣꝐꝒꝔ"), ("Pts", "₧"), ("Q", "ꝖꝘ"), ("R", "ɌʀⱤꝶꞦ"), ("Rs", "₹"), ("Rx", "℞"),
    ("S", "ⱾꜱꞨ"), ("SS", "ẞ"), ("T", "ŦƬƮȾᴛꞆ"), ("TH", "ÞꝤꝦ"), ("TL", "₺"), ("U", "Ʉᴜᵾ"), ("V", "ƲᴠỼꝞ"), ("VY", "Ꝡ"),
    ("W", "ᴡⱲ"), ("Y", "ƳɎʏỾ"), ("Z", "ƵȤᴢⱫⱿ"), ("a", "ᶏⱥẚ"), ("aa", "ꜳ"), ("ae", "æ"), ("ao", "ꜵ"), ("au", "ꜷ"), ("av", "ꜹꜻ"),
    ("ay", "ꜽ"), ("b", "ƀƃɓᵬᶀ"), ("c", "ƈȼɕꞓ"), ("d", "ðđƌȡɖɗᵭᶁᶑꝱꝺ"), ("db", "ȸ"), ("dz", "ʣʥ"), ("e", "ɇɛᶒᶓⱸ"), ("f", "ƒᵮᶂꝼ"),
    ("g", "ǥɠɡᶃꞡ"), ("h", "ħɦɧⱨ"), ("hv", "ƕ"), ("i", "ıɨᶖ"), ("j", "ȷɉɟʝ"), ("k", "ƙᶄⱪꝁꝃꝅꞣ"), ("l", "łƚȴɫɬɭᶅⱡꝇꝉꝲŀ"),
    ("ll", "ỻ"), ("ls", "ʪ"), ("lz", "ʫ"), ("m", "ɱᵯᶆꝳ"), ("n", "ŋƞȵɲɳᵰᶇꝴꞑꞥ"), ("o", "øⱺꝋꝍ"), ("oe", "œ"), ("oi", "ƣ"),
    ("oo", "ꝏ"), ("p", "ƥᵱᵽᶈꝑꝓꝕ"), ("pH", "㏗"), ("q", "ĸʠꝗꝙ"), ("qp", "ȹ"), ("r", "ɍɼɽɾᵲᵳᶉꝵꞧ"), ("s", "ȿʂᵴᶊẜẝꞩ"), ("ss", "ß"),
    ("t", "ŧƫƭȶʈᵵⱦꝷꞇ"), ("th", "þᵺꝥꝧ"), ("ts", "ʦ"), ("u", "ʉᶙ"), ("ue", "ᵫ"), ("v", "ʋᶌỽⱱⱴꝟ"), ("vy", "ꝡ"), ("w", "ⱳ"),
    ("x", "ᶍℌ"), ("y", "ƴɏỿ"), ("z", "ƶȥɀʐʑᵶᶎⱬ"), ("!", "¡"), ("\"", "ʺ\u{201c}\u{201d}\u{201f}〝〞\u{2033}"),
    ("'", "ʹʻʼʽˈ\u{2018}\u{2019}\u{201b}\u{2032}"), ("((", "⦅"), ("(C)", "©"), ("(P)", "℗"), ("(R)", "®"), ("))", "⦆"),
    ("*", "×\u{204e}"), ("+", "˖"), ("+/-", "±"), (",", "\u{201a}、"), (",,", "\u{201e}"),
    ("-", "\u{ad}˗\u{2010}\u{2012}\u{2013}\u{2014}\u{2015}−"), ("->", "￫"), (".", "。"), ("/", "÷\u{2044}∕"), ("0", "〇"),
    (":", "ː"), ("<", "˂\u{2039}〈"), ("<-", "￩"), ("<<", "«≪《"), (">", "˃\u{203a}〉"), (">>", "»≫》"), ("?", "¿"), ("Fr.", "₣"),
    ("L.", "₤"), ("[", "\u{2045}〔〘〚"), ("\\", "∖"), ("]", "\u{2046}〕〙〛"), ("^", "˄ˆ"), ("`", "ˋ"), ("|", "∣"),
    ("||", "\u{2016}∥"), ("~", "˜"),
];

static BY_CHARACTER: LazyLock<BTreeMap<char, &'static str>> = LazyLock::new(|| {
    let all = OTHERS.iter();
    let of_one =
        |&(becomes, chars): &(&'static str, &'static str)| chars.chars().map(move |c| (c, becomes));
    all.flat_map(of_one).collect()
});

fn is_within(stretches: &[(u32, u32)], c: char) -> bool {
    let behind = stretches.partition_point(|&(_, last)| last < c as u32);
    stretches
        .get(behind)
        .is_some_and(|&(first, _)| first <= c as u32)
}

/// A text without its accents; `None`: it has none.
fn without(text: &str) -> Option<Str> {
    if text.is_ascii() {
        return None;
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii() {
            out.push(c);
        } else if is_within(&MARKS, c) {
        } else if let Some(becomes) = BY_CHARACTER.get(&c) {
            out.push_str(becomes);
        } else if is_within(MADE_OF_OTHERS, c) {
            for part in std::iter::once(c)
                .nfkd()
                .filter(|part| !is_combining_mark(*part))
            {
                match BY_CHARACTER.get(&part) {
                    Some(becomes) => out.push_str(becomes),
                    None => out.push(part),
                }
            }
        } else {
            out.push(c);
        }
    }
    (out != text).then(|| Str::from(out))
}

/// What the dictionary says of a word.
pub(super) fn looked_up(word: &str) -> Option<Str> {
    without(word)
}

fn unaccent(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let text = str(args[0]);
    Ok(Value::Text(without(text).unwrap_or_else(|| text.into())))
}

fn by_dictionary(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let Value::Oid(number) = args[0] else {
        wrong_type(args[0])
    };
    if *number == DICTIONARY.0 {
        return unaccent(&args[1..], host);
    }
    let Some(dictionary) = Config::of_dictionary(*number) else {
        return Err(SqlError::internal(format!(
            "cache lookup failed for text search dictionary {number}"
        )));
    };
    let text = str(args[1]);
    Ok(match dictionary.looked_up(text) {
        Meaning::Word(word) => Value::text(word),
        // One that says nothing changes nothing.
        Meaning::None | Meaning::Stop => Value::text(text),
    })
}

pub(super) static FUNCTIONS: &[Function] = &[
    new("unaccent", &[Text], Text, unaccent).stable(),
    new("unaccent", &[RegDictionary, Text], Text, by_dictionary).stable(),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn bare(text: &str) -> String {
        looked_up(text).map_or_else(|| text.to_string(), |bare| bare.to_string())
    }

    #[test]
    fn accents_go_and_letters_stay() {
        for (text, expected) in [
            ("Hôtel", "Hotel"),
            ("\u{c4}rger, Stra\u{df}e", "Arger, Strasse"),
            ("ÆŒ½№…", "AEOE1/2No..."),
            ("e\u{301}", "e"),
            ("Ёлка, йод", "Елка, йод"),
            ("Ώ", "Ω"),
            ("語", "語"),
        ] {
            assert_eq!(bare(text), expected);
        }
        assert_eq!(looked_up("hotel"), None);
        assert_eq!(looked_up("語"), None);
    }
}

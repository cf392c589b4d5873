//! Numbers by a template, both ways.
//!
//! Promises: `9 0 . D , G S MI PL SG PR FM TH RN EEEE V L` and quoted text.  Does not: have a
//! sign of a currency: L is a blank.
//!
//! A template is a row of columns. Left of the point a `9` shows a blank until digits begin, and a
//! sign that has no column of its own stands directly before the first digit, in a column that is
//! added for it.

use super::print::ordinal_ending;
use quintet_base::{Numeric, SqlError, SqlResult, SqlState};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Column {
    /// `9`, or `0` which shows zeros.
    Digit {
        zero: bool,
    },
    Point,
    Comma,
    /// `S`
    Sign,
    Minus,
    Plus,
    PlusMinus,
    Currency,
    Ordinal {
        upper: bool,
    },
    Literal(char),
}

struct Template {
    columns: Vec<Column>,
    bare: bool,
    angles: bool,
    scientific: bool,
    roman: Option<bool>,
    /// Digits behind V: the number is shown so many powers of ten larger.
    shift: Option<u32>,
}

fn wrong(message: &str) -> SqlError {
    SqlError::new(SqlState(*b"42601"), message)
}

fn parse(text: &str) -> SqlResult<Template> {
    let mut template = Template {
        columns: Vec::new(),
        bare: false,
        angles: false,
        scientific: false,
        roman: None,
        shift: None,
    };
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let begins = |word: &str| {
            rest.get(..word.len())
                .is_some_and(|head| head == word || head == word.to_ascii_lowercase())
        };
        let mut length = first.len_utf8();
        let column = match first {
            _ if begins("EEEE") => {
                template.scientific = true;
                length = 4;
                None
            }
            _ if begins("FM") => {
                template.bare = true;
                length = 2;
                None
            }
            _ if begins("PR") => {
                template.angles = true;
                length = 2;
                None
            }
            _ if begins("RN") => {
                template.roman = Some(first == 'R');
                length = 2;
                None
            }
            _ if begins("MI") => {
                length = 2;
                Some(Column::Minus)
            }
            _ if begins("PL") => {
                length = 2;
                Some(Column::Plus)
            }
            _ if begins("SG") => {
                length = 2;
                Some(Column::PlusMinus)
            }
            _ if begins("TH") => {
                length = 2;
                Some(Column::Ordinal {
                    upper: first == 'T',
                })
            }
            'S' | 's' => Some(Column::Sign),
            '9' | '0' => {
                template.shift = template.shift.map(|digits| digits + 1);
                Some(Column::Digit { zero: first == '0' })
            }
            '.' | 'D' | 'd' => {
                if template.columns.contains(&Column::Point) {
                    return Err(wrong("multiple decimal points"));
                }
                Some(Column::Point)
            }
            ',' | 'G' | 'g' => Some(Column::Comma),
            'L' | 'l' => Some(Column::Currency),
            'V' | 'v' => {
                template.shift = Some(0);
                None
            }
            '"' => {
                let mut chars = rest[1..].chars();
                while let Some(c) = chars.next().filter(|c| *c != '"') {
                    let escaped = if c == '\\' { chars.next() } else { None };
                    template.columns.push(Column::Literal(escaped.unwrap_or(c)));
                }
                length = rest.len() - chars.as_str().len();
                None
            }
            '\\' if rest[1..].starts_with('"') => {
                length = 2;
                Some(Column::Literal('"'))
            }
            c => Some(Column::Literal(c)),
        };
        template.columns.extend(column);
        rest = &rest[length..];
    }
    Ok(template)
}

/// By a template. `float`: how many digits a float has, and the float.
///
/// # Errors
/// `42601` for a template that contradicts itself.
pub(super) fn print(
    value: &Numeric,
    template: &str,
    float: Option<(usize, f64)>,
) -> SqlResult<String> {
    let template = parse(template)?;
    if let Some(upper) = template.roman {
        return Ok(roman(value, upper, template.bare));
    }
    let point = template.columns.iter().position(|c| *c == Column::Point);
    let is_digit = |column: &&Column| matches!(column, Column::Digit { .. });
    let (before, after) = template
        .columns
        .split_at(point.unwrap_or(template.columns.len()));
    let (whole_columns, mut fraction_columns) = (
        before.iter().filter(is_digit).count(),
        after.iter().filter(is_digit).count(),
    );
    if template.scientific {
        return Ok(scientific(
            value,
            fraction_columns,
            float.map(|(_, float)| float),
        ));
    }
    if let Some((digits, float)) = float {
        let whole = format!("{:.0}", float.abs()).len();
        fraction_columns = fraction_columns.min(digits.saturating_sub(whole));
    }
    let shifted = match template.shift {
        Some(digits) => value.mul(&Numeric::from_i128(10i128.pow(digits.min(30))))?,
        None => value.clone(),
    };
    let rounded = shifted.round(fraction_columns as i32)?;
    let negative = rounded.is_negative() && !rounded.is_zero();
    let is_finite = rounded.is_finite();
    let text = rounded.abs().to_string();
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let (whole, fraction) = (whole.trim_start_matches('0'), fraction.to_string());
    let fits = whole.len() <= whole_columns;
    let layout = Layout {
        template: &template,
        negative,
        whole: match fits {
            true => format!("{whole:>whole_columns$}"),
            false => "#".repeat(whole_columns),
        },
        fraction: match fits {
            true => fraction,
            false => "#".repeat(fraction_columns),
        },
        has_fraction: after.iter().any(|c| matches!(c, Column::Digit { .. })),
        // A word has no fraction, and a float that has no digits left shows none.
        has_point: !fits || is_finite && (fraction_columns > 0 || float.is_none()),
    };
    Ok(layout.print())
}

struct Layout<'t> {
    template: &'t Template,
    negative: bool,
    /// A character for each digit's column, blanks before the first.
    whole: String,
    fraction: String,
    has_fraction: bool,
    has_point: bool,
}

impl Layout<'_> {
    fn print(&self) -> String {
        let Template {
            columns,
            bare,
            angles,
            ..
        } = self.template;
        let own_sign = columns
            .iter()
            .any(|column| matches!(column, Column::Sign | Column::Minus | Column::PlusMinus));
        let first_digit = columns
            .iter()
            .position(|c| matches!(c, Column::Digit { .. } | Column::Point));
        let sign_at = columns.iter().position(|c| *c == Column::Sign);
        let leading_sign = sign_at.is_some_and(|at| first_digit.is_none_or(|first| at < first));
        let mut pending = match (own_sign, *angles, leading_sign) {
            (_, true, _) => Some(if self.negative { '<' } else { ' ' }),
            (_, _, true) => Some(if self.negative { '-' } else { '+' }),
            (false, _, _) => Some(if self.negative { '-' } else { ' ' }),
            _ => None,
        };
        let mut out = String::new();
        let (mut whole, mut fraction) = (self.whole.chars(), self.fraction.chars());
        // Zeros show from the first `0` on, or from the first digit.
        let mut begun = false;
        let mut in_fraction = false;
        let put_sign = |out: &mut String, pending: &mut Option<char>| {
            if let Some(sign) = pending.take()
                && !(*bare && sign == ' ')
            {
                out.push(sign);
            }
        };
        let whole_columns = self.whole.len();
        let mut seen = 0;
        // How much of the fraction shows without padding: up to the last digit that is not 0 or whose
        // column is `0`.
        let shown_fraction = self.shown_fraction();
        let mut fraction_seen = 0;
        for column in columns {
            match column {
                Column::Digit { zero } if !in_fraction => {
                    seen += 1;
                    let digit = whole.next().unwrap_or(' ');
                    begun |= *zero || digit != ' ';
                    // A number below 1 shows one zero where no fraction follows, and where FM leaves nothing
                    // of it.
                    let nothing_behind = !self.has_fraction || *bare && shown_fraction == 0;
                    let last = seen == whole_columns && nothing_behind;
                    if begun || last {
                        begun = true;
                        put_sign(&mut out, &mut pending);
                        out.push(if digit == ' ' { '0' } else { digit });
                    } else if !bare {
                        out.push(' ');
                    }
                }
                Column::Digit { .. } => {
                    fraction_seen += 1;
                    let digit = fraction.next();
                    if !bare || fraction_seen <= shown_fraction {
                        out.push_str(&digit.map_or_else(String::new, String::from));
                    }
                }
                Column::Point => {
                    put_sign(&mut out, &mut pending);
                    in_fraction = true;
                    if self.has_point && (self.has_fraction || !bare) {
                        out.push('.');
                    }
                }
                Column::Comma if in_fraction => out.push(','),
                Column::Comma => {
                    if begun {
                        out.push(',');
                    } else if !bare {
                        out.push(' ');
                    }
                }
                Column::Sign if leading_sign => {}
                Column::Sign => out.push(if self.negative { '-' } else { '+' }),
                Column::Minus => match (self.negative, bare) {
                    (true, _) => out.push('-'),
                    (false, false) => out.push(' '),
                    _ => {}
                },
                Column::Plus => match (self.negative, bare) {
                    (false, _) => out.push('+'),
                    (true, false) => out.push(' '),
                    _ => {}
                },
                Column::PlusMinus => out.push(if self.negative { '-' } else { '+' }),
                Column::Currency => {
                    if !bare {
                        out.push(' ');
                    }
                }
                Column::Ordinal { upper } => {
                    if !self.negative && !self.has_fraction {
                        let ending = ordinal_ending(&out);
                        out.push_str(&match upper {
                            true => ending.to_string(),
                            false => ending.to_ascii_lowercase(),
                        });
                    }
                }
                Column::Literal(c) => out.push(*c),
            }
        }
        if *angles {
            put_sign(&mut out, &mut pending);
            if self.negative {
                out.push('>');
            } else if !bare {
                out.push(' ');
            }
        }
        out
    }

    /// Digits of the fraction that FM keeps.
    fn shown_fraction(&self) -> usize {
        let mut columns = self.template.columns.iter();
        columns.by_ref().find(|c| **c == Column::Point);
        let zeros = columns.filter_map(|column| match column {
            Column::Digit { zero } => Some(*zero),
            _ => None,
        });
        let last_zero = zeros
            .enumerate()
            .filter(|(_, zero)| *zero)
            .map(|(at, _)| at + 1)
            .last()
            .unwrap_or(0);
        last_zero.max(self.fraction.trim_end_matches('0').len())
    }
}

/// One digit, so many behind the point, and the power of ten. A float is rounded as its digits in
/// base two say, a decimal number as its decimal ones.
fn scientific(value: &Numeric, digits: usize, float: Option<f64>) -> String {
    if !value.is_finite() {
        return format!(" #.{}####", "#".repeat(digits));
    }
    let text = match float {
        Some(float) => format!("{float:.digits$e}"),
        None => scientific_decimal(&value.abs().to_string(), digits),
    };
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { '-' } else { '+' };
    let before = match value.is_negative() {
        true => "-",
        false => " ",
    };
    let mantissa = mantissa.trim_start_matches('-');
    format!("{before}{mantissa}e{sign}{:02}", exponent.abs())
}

/// `1.24e3` out of the digits of `1235.6`; halves are rounded up.
fn scientific_decimal(text: &str, digits: usize) -> String {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let all: Vec<u8> = whole
        .bytes()
        .chain(fraction.bytes())
        .map(|b| b - b'0')
        .collect();
    let first = all.iter().position(|digit| *digit != 0);
    let mut exponent = first.map_or(0, |first| whole.len() as i64 - 1 - first as i64);
    let from = first.unwrap_or(all.len());
    let mut kept: Vec<u8> = all[from..].iter().copied().take(digits + 1).collect();
    kept.resize(digits + 1, 0);
    if all.get(from + digits + 1).is_some_and(|next| *next >= 5) {
        let last = kept.iter().rposition(|digit| *digit != 9);
        match last {
            Some(last) => {
                kept[last] += 1;
                kept[last + 1..].fill(0);
            }
            None => {
                kept.fill(0);
                kept[0] = 1;
                exponent += 1;
            }
        }
    }
    let shown: String = kept.iter().map(|digit| char::from(b'0' + digit)).collect();
    let (head, tail) = shown.split_at(1);
    let point = if digits > 0 { "." } else { "" };
    format!("{head}{point}{tail}e{exponent}")
}

fn roman(value: &Numeric, upper: bool, bare: bool) -> String {
    const PARTS: [(i64, &str); 13] = [
        (1000, "M"),
        (900, "CM"),
        (500, "D"),
        (400, "CD"),
        (100, "C"),
        (90, "XC"),
        (50, "L"),
        (40, "XL"),
        (10, "X"),
        (9, "IX"),
        (5, "V"),
        (4, "IV"),
        (1, "I"),
    ];
    let Some(mut rest) = value.to_i64().filter(|n| (1..4000).contains(n)) else {
        return "#".repeat(15);
    };
    let mut out = String::new();
    for (worth, letters) in PARTS {
        while rest >= worth {
            out.push_str(letters);
            rest -= worth;
        }
    }
    if !upper {
        out = out.to_ascii_lowercase();
    }
    match bare {
        true => out,
        false => format!("{out:>15}"),
    }
}

/// A number out of text by a template; `None` for nothing.
///
/// # Errors
/// `22P02` for text without digits.
pub(super) fn read(text: &str, template: &str) -> SqlResult<Option<Numeric>> {
    let template = parse(template)?;
    if template.columns.is_empty() {
        return Ok(None);
    }
    let point = template.columns.contains(&Column::Point);
    let mut digits = String::new();
    let mut negative = false;
    let mut whole = template
        .columns
        .iter()
        .take_while(|c| **c != Column::Point)
        .filter(|c| matches!(c, Column::Digit { .. }))
        .count();
    let mut fraction = template
        .columns
        .iter()
        .skip_while(|c| **c != Column::Point)
        .filter(|c| matches!(c, Column::Digit { .. }))
        .count();
    let mut in_fraction = false;
    for c in text.chars() {
        match c {
            '-' | '<' => negative = true,
            '0'..='9' if in_fraction && fraction > 0 => {
                fraction -= 1;
                digits.push(c);
            }
            '0'..='9' if !in_fraction && whole > 0 => {
                whole -= 1;
                digits.push(c);
            }
            '.' if point && !in_fraction => {
                in_fraction = true;
                digits.push('.');
            }
            '0'..='9' | '.' => break,
            _ => {}
        }
    }
    if !digits.bytes().any(|b| b.is_ascii_digit()) {
        return Err(SqlError::new(
            SqlState::INVALID_TEXT_REPRESENTATION,
            format!("invalid input syntax for type numeric: \"{}\"", text.trim()),
        ));
    }
    let digits = digits.trim_end_matches('.');
    let sign = if negative { "-" } else { "" };
    Numeric::parse(&format!("{sign}{digits}")).map(Some)
}

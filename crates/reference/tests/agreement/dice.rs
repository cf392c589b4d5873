//! Choices and small values from a seed.
//!
//! Relies on: `rt::Rand`.  Promises: the same seed makes the same case; values come from domains so small
//! that keys meet.  Does not: know tables or expressions.

use quintet_base::{Numeric, SqlType, TypeMod, Value, value::Array};
use quintet_rt::Rand;

pub struct Dice(Rand);

/// Types of columns and variables; some twice, to be drawn more often.
pub const TYPES: &[SqlType] = &[
    SqlType::Int4,
    SqlType::Int4,
    SqlType::Int4,
    SqlType::Int8,
    SqlType::Int2,
    SqlType::Text,
    SqlType::Text,
    SqlType::Varchar,
    SqlType::Bpchar,
    SqlType::Numeric,
    SqlType::Bool,
    SqlType::Int4Array,
    SqlType::TextArray,
    SqlType::Date,
];

const TEXTS: &[&str] = &[
    "",
    "a",
    "b",
    "a ",
    "ab",
    "abc",
    "abc  ",
    "long enough",
    " b",
    "é",
];
const NUMBERS: &[&str] = &["0", "1", "1.5", "1.50", "-2.25", "3.141", "100", "99999.9"];

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice(Rand::seeded(seed))
    }

    pub fn below(&mut self, n: usize) -> usize {
        self.0.below(n as u64) as usize
    }

    /// In `low..=high`.
    pub fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high - low + 1)
    }

    pub fn one_in(&mut self, n: u64) -> bool {
        self.0.one_in(n)
    }

    pub fn pick<'t, T>(&mut self, from: &'t [T]) -> &'t T {
        &from[self.below(from.len())]
    }

    pub fn ty(&mut self) -> SqlType {
        *self.pick(TYPES)
    }

    /// A length, precision or nothing for a column of the type.
    pub fn modifier(&mut self, ty: SqlType) -> TypeMod {
        match ty {
            SqlType::Varchar if !self.one_in(4) => TypeMod::length(self.between(1, 6) as u32),
            SqlType::Bpchar => TypeMod::length(self.between(1, 5) as u32),
            SqlType::Numeric if !self.one_in(3) => {
                TypeMod::precision_scale(self.between(3, 6) as u16, self.below(3) as i16)
            }
            _ => TypeMod::NONE,
        }
    }

    /// A value, NULL now and then.
    pub fn value_or_null(&mut self, ty: SqlType) -> Value {
        match self.one_in(9) {
            true => Value::Null,
            false => self.value(ty),
        }
    }

    pub fn value(&mut self, ty: SqlType) -> Value {
        let small = match self.one_in(40) {
            true => 30_000,
            false => self.below(4) as i32,
        };
        match ty {
            SqlType::Bool => Value::Bool(self.one_in(2)),
            SqlType::Int2 => Value::Int2(small as i16),
            SqlType::Int4 if self.one_in(60) => Value::Int4(i32::MAX),
            SqlType::Int4 => Value::Int4(small),
            SqlType::Int8 if self.one_in(60) => Value::Int8(i64::MIN),
            SqlType::Int8 => Value::Int8(i64::from(small)),
            SqlType::Numeric => {
                let text = self.pick(NUMBERS);
                Value::numeric(Numeric::parse(text).expect("a number"))
            }
            SqlType::Date => Value::Date(small),
            // Few, which differ in the blanks that do not count.
            SqlType::Bpchar => Value::text(self.pick(&["a", "a ", "b  ", "abc  "])),
            SqlType::Text | SqlType::Varchar => Value::text(self.pick(TEXTS)),
            ty => {
                let element = ty.element().expect("every other type is an array");
                let count = self.below(4);
                let values = (0..count).map(|_| self.value_or_null(element)).collect();
                Value::Array(Box::new(Array {
                    shape: None,
                    element,
                    values,
                }))
            }
        }
    }
}

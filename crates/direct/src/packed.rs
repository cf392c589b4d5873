//! Rows to be sorted, each in one piece, side by side.
//!
//! Relies on: `base::row` for how values are kept, `rank` for what to compare first.  Promises: rows come back as they were; a sort
//! moves 24 bytes of each and keeps the order of equal ones; nothing is allocated for a row.  Does not: know how much
//! memory there may be (who pushes asks for it), or read rows that something else has written.
//!
//! ```text
//!   places:  rank | where ─┐                          sorted
//!   blocks:  length row length row …                  in the order of coming
//!                       └─ own sort values | columns   one row of `base::row`
//! ```
//! A sort value that is a column of the row as it stands is not kept twice.

use crate::context::{Env, Halt};
use crate::rank::{Rank, Way, rank};
use quintet_base::datum::Datum;
use quintet_base::row::{RowLayout, RowReader};
use quintet_base::{SqlResult, SqlType, Value};
use quintet_ir::Expr;
use quintet_ir::plan::SortKey;
use std::cmp::Ordering;

/// Blocks grow from this to that.
const BLOCK_BYTES_MIN: usize = 4 * 1024;
const BLOCK_BYTES_MAX: usize = 1024 * 1024;

/// Before each row: how many bytes it has.
const LENGTH_BYTES: usize = 4;

/// What rows of one sort look like, and how they are ordered.
#[derive(Clone)]
pub(crate) struct Shape {
    layout: RowLayout,
    keys: Vec<Key>,
    /// Sort values that stand before the row's columns.
    own: usize,
}

/// A sort value.
#[derive(Clone)]
struct Key {
    /// Of all that is kept.
    column: usize,
    way: Way,
}

/// Rows of one shape.
#[derive(Default)]
pub(crate) struct Packed {
    blocks: Vec<Vec<u8>>,
    places: Vec<Place>,
}

#[derive(Clone, Copy)]
struct Place {
    rank: Rank,
    /// The block, and where in it; so later rows have greater ones.
    at: (u32, u32),
}

/// A row on its way in, and the memory for it.
#[derive(Default)]
pub(crate) struct Draft {
    own: Vec<Value>,
    bytes: Vec<u8>,
    rank: Rank,
}

/// A row that has been packed, with its rank.
pub(crate) struct Piece {
    pub rank: Rank,
    pub bytes: Vec<u8>,
}

impl Shape {
    /// For rows of these types that lie behind `frame[..base]` when their sort values are computed.
    pub fn new(keys: &[SortKey], row: &[SqlType], base: usize) -> Shape {
        Shape::with(keys, row, |key| match key.expr {
            // Others are compared without trailing blanks, so they need a value of their own.
            Expr::Column(column, ty) if ty != SqlType::Bpchar => {
                let column = column.checked_sub(base)?;
                (row.get(column) == Some(&ty)).then_some(column)
            }
            _ => None,
        })
    }

    /// For rows whose sort values are none of their columns.
    pub fn apart(keys: &[SortKey], row: &[SqlType]) -> Shape {
        Shape::with(keys, row, |_| None)
    }

    fn with(keys: &[SortKey], row: &[SqlType], place: impl Fn(&SortKey) -> Option<usize>) -> Shape {
        let own = keys.iter().filter(|key| place(key).is_none());
        let mut types: Vec<SqlType> = own.map(kept_as).collect();
        let (own, mut next) = (types.len(), 0);
        types.extend_from_slice(row);
        let keys = keys.iter().map(|key| Key {
            column: place(key).map_or_else(
                || {
                    next += 1;
                    next - 1
                },
                |column| own + column,
            ),
            way: Way::of(key),
        });
        Shape {
            keys: keys.collect(),
            layout: RowLayout::new(types),
            own,
        }
    }

    /// A row that is the last part of a frame, with what it is ordered by.
    ///
    /// # Errors
    /// Those of the sort values.
    pub fn draft(
        &self,
        keys: &[SortKey],
        env: &mut Env<'_>,
        (frame, base): (&[Value], usize),
        draft: &mut Draft,
    ) -> Result<(), Halt> {
        draft.own.clear();
        for (key, sort) in self.keys.iter().zip(keys) {
            if key.column < self.own {
                draft.own.push(crate::sort::sort_value(sort, env, frame)?);
            }
        }
        self.rank(&frame[base..], draft);
        Ok(())
    }

    /// A row with sort values that are none of its columns.
    pub fn draft_apart(&self, values: impl IntoIterator<Item = Value>, row: &[Value]) -> Draft {
        let mut draft = Draft {
            own: values.into_iter().collect(),
            ..Draft::default()
        };
        self.rank(row, &mut draft);
        self.pack(row, &mut draft);
        draft
    }

    fn rank(&self, row: &[Value], draft: &mut Draft) {
        let values = self.keys.iter().map(|key| {
            let value = match key.column.checked_sub(self.own) {
                Some(column) => &row[column],
                None => &draft.own[key.column],
            };
            (value, key.way)
        });
        draft.rank = rank(values);
    }

    /// Makes bytes of a row that has been drafted.
    pub fn pack(&self, row: &[Value], draft: &mut Draft) {
        // However long it is: only tables have a limit.
        let mut writer = self.layout.begin(&mut draft.bytes);
        for (column, value) in draft.own.iter().chain(row).enumerate() {
            writer.put(column, Datum::of(value));
        }
    }

    /// Order of two rows whose ranks do not tell.
    pub fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        // They were packed here; what a file has damaged shows when the row is read.
        let (Ok(a), Ok(b)) = (self.open(a), self.open(b)) else {
            return Ordering::Equal;
        };
        for key in &self.keys {
            let order = match (a.is_null(key.column), b.is_null(key.column)) {
                (true, true) => continue,
                (true, false) if key.way.nulls_first => Ordering::Less,
                (true, false) => Ordering::Greater,
                (false, true) if key.way.nulls_first => Ordering::Greater,
                (false, true) => Ordering::Less,
                (false, false) if key.way.descending => b.order(&a, key.column),
                (false, false) => a.order(&b, key.column),
            };
            if order.is_ne() {
                return order;
            }
        }
        Ordering::Equal
    }

    /// Appends the columns of a row.
    ///
    /// # Errors
    /// `XX001` if a file has damaged it.
    pub fn unpack(&self, bytes: &[u8], frame: &mut Vec<Value>) -> SqlResult<()> {
        let row = self.open(bytes)?;
        frame.reserve(self.layout.columns().len() - self.own);
        for column in self.own..self.layout.columns().len() {
            frame.push(row.get(column)?);
        }
        Ok(())
    }

    /// The rank of a row.
    ///
    /// # Errors
    /// `XX001` if a file has damaged it.
    pub fn rank_of(&self, bytes: &[u8]) -> SqlResult<Rank> {
        let row = self.open(bytes)?;
        let values = self.keys.iter().take(2).map(|key| row.get(key.column));
        let values = values.collect::<SqlResult<Vec<_>>>()?;
        let ways = self.keys.iter().map(|key| key.way);
        Ok(rank(values.iter().zip(ways)))
    }

    /// The first sort value of a row.
    ///
    /// # Errors
    /// `XX001` if a file has damaged it.
    pub fn first_of(&self, bytes: &[u8]) -> SqlResult<Value> {
        match self.keys.first() {
            Some(key) => self.open(bytes)?.get(key.column),
            None => Ok(Value::Null),
        }
    }

    fn open<'b>(&'b self, bytes: &'b [u8]) -> SqlResult<RowReader<'b>> {
        self.layout.open(bytes)
    }
}

/// As a sort value is kept: `char(n)` without trailing blanks, as it compares.
fn kept_as(key: &SortKey) -> SqlType {
    match key.expr.ty() {
        SqlType::Bpchar => SqlType::Text,
        ty => ty,
    }
}

impl Draft {
    /// The rank of the row.
    pub fn rank(&self) -> Rank {
        self.rank
    }

    /// The row, once it is packed.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// What it takes to keep the row.
    pub fn kept_bytes(&self) -> usize {
        LENGTH_BYTES + self.bytes.len() + size_of::<Place>()
    }
}

impl Packed {
    /// Keeps a row.
    pub fn push(&mut self, draft: &Draft) {
        self.keep(draft.rank, &draft.bytes);
    }

    fn keep(&mut self, rank: Rank, row: &[u8]) {
        let wanted = LENGTH_BYTES + row.len();
        let is_full = |block: &Vec<u8>| block.capacity() - block.len() < wanted;
        if self.blocks.last().is_none_or(is_full) {
            let next = self.blocks.last().map_or(0, |block| block.capacity() * 2);
            let bytes = next.clamp(BLOCK_BYTES_MIN, BLOCK_BYTES_MAX).max(wanted);
            self.blocks.push(Vec::with_capacity(bytes));
        }
        let number = self.blocks.len() - 1;
        let block = &mut self.blocks[number];
        let at = (number as u32, block.len() as u32);
        block.extend_from_slice(&(row.len() as u32).to_le_bytes());
        block.extend_from_slice(row);
        self.places.push(Place { rank, at });
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Puts them in order.
    pub fn sort(&mut self, shape: &Shape) {
        let blocks = &self.blocks;
        self.places.sort_unstable_by(|a, b| {
            let by_rank = a.rank.cmp(&b.rank);
            let by_value = || shape.compare(row_at(blocks, a.at), row_at(blocks, b.at));
            by_rank.then_with(by_value).then(a.at.cmp(&b.at))
        });
    }

    /// Keeps so many of the first ones.
    pub fn cut(&mut self, count: usize) {
        if count >= self.len() {
            return;
        }
        let before = std::mem::take(self);
        for place in &before.places[..count] {
            self.keep(place.rank, row_at(&before.blocks, place.at));
        }
    }

    /// One of them.
    pub fn row(&self, number: usize) -> Option<&[u8]> {
        let place = self.places.get(number)?;
        Some(row_at(&self.blocks, place.at))
    }

    /// A copy of one of them.
    pub fn piece(&self, number: usize) -> Option<Piece> {
        let place = self.places.get(number)?;
        Some(Piece {
            rank: place.rank,
            bytes: row_at(&self.blocks, place.at).to_vec(),
        })
    }

    /// All of them.
    pub fn rows(&self) -> impl Iterator<Item = &[u8]> {
        let places = self.places.iter();
        places.map(|place| row_at(&self.blocks, place.at))
    }

    /// What they take.
    pub fn bytes(&self) -> usize {
        let rows: usize = self.blocks.iter().map(Vec::len).sum();
        rows + self.places.len() * size_of::<Place>()
    }
}

fn row_at(blocks: &[Vec<u8>], (block, at): (u32, u32)) -> &[u8] {
    let rest = &blocks[block as usize][at as usize..];
    let (length, rest) = rest.split_at(LENGTH_BYTES);
    let length = u32::from_le_bytes(length.try_into().expect("four bytes"));
    &rest[..length as usize]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sort::compare;
    use quintet_base::{Interval, Numeric};
    use quintet_rt::Rand;

    const TYPES: [SqlType; 8] = [
        SqlType::Int4,
        SqlType::Text,
        SqlType::Numeric,
        SqlType::Float8,
        SqlType::TimestampTz,
        SqlType::Bytea,
        SqlType::Interval,
        SqlType::Bool,
    ];

    fn value(ty: SqlType, rand: &mut Rand) -> Value {
        if rand.one_in(6) {
            return Value::Null;
        }
        let small = rand.below(5) as i64 - 2;
        match ty {
            SqlType::Int4 => Value::Int4(small as i32),
            SqlType::Text => {
                let texts = ["", "a", "note number 1", "note number 2", "note number 12"];
                Value::text(texts[rand.below(5) as usize])
            }
            SqlType::Numeric if rand.one_in(2) => Value::Numeric(Numeric::from_i64(small)),
            SqlType::Numeric => {
                Value::Numeric(Numeric::parse("123456789012345678901234567890.5").unwrap())
            }
            SqlType::Float8 => {
                Value::Float8([f64::NAN, -0.0, 0.0, 1.5, -1.5][(small + 2) as usize])
            }
            SqlType::TimestampTz => Value::TimestampTz(small),
            SqlType::Bytea => Value::Bytea(vec![7; (small + 2) as usize].into()),
            SqlType::Interval => Value::Interval(Interval {
                months: small as i32,
                days: -30 * small as i32,
                micros: rand.below(2) as i64,
            }),
            _ => Value::Bool(small > 0),
        }
    }

    fn key(column: usize, rand: &mut Rand) -> SortKey {
        SortKey {
            expr: Expr::Column(column, TYPES[column]),
            descending: rand.one_in(2),
            nulls_first: rand.one_in(2),
        }
    }

    /// Rows with two random sort values, in places of the row or apart from it.
    struct Case {
        keys: Vec<SortKey>,
        shape: Shape,
        rows: Vec<(Vec<Value>, Vec<Value>)>,
        packed: Packed,
    }

    impl Case {
        fn new(seed: u64, count: usize) -> Case {
            let mut rand = Rand::seeded(seed);
            let columns = [rand.below(8) as usize, rand.below(8) as usize];
            let keys: Vec<SortKey> = columns.iter().map(|c| key(*c, &mut rand)).collect();
            let apart = seed.is_multiple_of(2);
            let shape = match apart {
                true => Shape::apart(&keys, &TYPES),
                false => Shape::new(&keys, &TYPES, 0),
            };
            let (mut rows, mut packed) = (Vec::new(), Packed::default());
            for _ in 0..count {
                let row: Vec<Value> = TYPES.iter().map(|ty| value(*ty, &mut rand)).collect();
                let values: Vec<Value> = columns.iter().map(|c| row[*c].clone()).collect();
                let own = if apart { values.clone() } else { Vec::new() };
                let draft = shape.draft_apart(own, &row);
                packed.push(&draft);
                rows.push((values, row));
            }
            Case {
                keys,
                shape,
                rows,
                packed,
            }
        }

        fn unpacked(&self) -> Vec<Vec<Value>> {
            let unpack = |row| {
                let mut frame = Vec::new();
                self.shape.unpack(row, &mut frame).unwrap();
                frame
            };
            self.packed.rows().map(unpack).collect()
        }
    }

    fn shown(rows: &[Vec<Value>]) -> String {
        format!("{rows:?}")
    }

    #[test]
    fn rows_come_back_as_they_were_in_the_order_of_their_values_and_equal_ones_as_they_came() {
        for seed in 0..300 {
            let mut case = Case::new(seed, 200);
            let plain: Vec<Vec<Value>> = case.rows.iter().map(|(_, row)| row.clone()).collect();
            assert_eq!(shown(&case.unpacked()), shown(&plain), "seed {seed}");
            case.packed.sort(&case.shape);
            let keys = &case.keys;
            case.rows.sort_by(|(a, _), (b, _)| compare(a, b, keys));
            let sorted: Vec<Vec<Value>> = case.rows.iter().map(|(_, row)| row.clone()).collect();
            assert_eq!(shown(&case.unpacked()), shown(&sorted), "seed {seed}");
            let before = case.packed.bytes();
            case.packed.cut(50);
            assert_eq!(shown(&case.unpacked()), shown(&sorted[..50]), "seed {seed}");
            assert!(case.packed.bytes() < before / 2);
        }
    }

    #[test]
    fn what_is_said_of_bytes_is_what_was_said_of_values() {
        for seed in 0..50 {
            let case = Case::new(seed, 50);
            for (number, (values, row)) in case.rows.iter().enumerate() {
                let piece = case.packed.piece(number).unwrap();
                assert_eq!(case.shape.rank_of(&piece.bytes).unwrap(), piece.rank);
                let first = case.shape.first_of(&piece.bytes).unwrap();
                assert_eq!(format!("{first:?}"), format!("{:?}", values[0]), "{row:?}");
            }
        }
    }

    #[test]
    fn rows_longer_than_a_block_have_one_of_their_own() {
        let keys = [SortKey {
            expr: Expr::Column(0, SqlType::Text),
            descending: true,
            nulls_first: false,
        }];
        let shape = Shape::new(&keys, &[SqlType::Text], 0);
        let mut packed = Packed::default();
        for length in [1, BLOCK_BYTES_MAX * 2, 5, BLOCK_BYTES_MAX, 7] {
            packed.push(&shape.draft_apart([], &[Value::text("x".repeat(length))]));
        }
        packed.sort(&shape);
        let lengths: Vec<usize> = packed.rows().map(<[u8]>::len).collect();
        assert!(lengths.is_sorted_by(|a, b| a > b), "{lengths:?}");
    }
}

//! Rows as the stores keep them.
//!
//! Relies on: a [`RowLayout`] made from the table's column types.  Promises: a fixed-width column
//! is read at an offset known before the row is seen; a row written when the table had fewer columns
//! stays readable.  Does not: check NOT NULL or lengths.
//!
//! ```text
//! offset 0      u16 LE   columns in this row, n
//! offset 2      bytes    null bitmap, ceil(n/8): bit i set = column i is NULL
//! then          fixed    every fixed-width column in column order, little-endian, zeroed if NULL
//! then          u32 LE × variable columns: end of each, counted from the start of the next part
//! then          bytes    variable columns back to back
//! ```
//! Fixed: bool 1, int2 2, int4/float4/date/oid/enum (place) 4, int8/float8/timestamps/time/money 8, uuid 16, macaddr 6, timetz 12
//! (micros, seconds east), interval 16 (micros, days, months).
//! Variable: text family, citext and json as UTF-8, jsonb as `Json::write_bytes`, bytea as is, numeric as `Numeric::to_bytes`, arrays, inet, cidr, bits, figures
//! and ranges as `binary_format` writes them, records and arrays of them as `record` does.

mod record;

use crate::datetime::TimeTz;
use crate::datum::{AsDatum, Datum};
use crate::error::{SqlError, SqlResult, SqlState};
use crate::interval::Interval;
use crate::json::Json;
use crate::numeric::Numeric;
use crate::types::SqlType;
use crate::value::{EnumValue, Str, Value};
use std::cmp::Ordering;

/// Where each column of a table sits in a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowLayout {
    columns: Vec<SqlType>,
    /// The columns once more: who reads one looks at one place.
    places: Vec<Place>,
    /// Where the parts of a row of i columns begin.
    parts: Vec<Parts>,
}

/// A column's type, and its offset in the fixed part or its number among the variable columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    ty: SqlType,
    slot: Slot,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
    Fixed(u32),
    Variable(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Parts {
    fixed_at: usize,
    ends_at: usize,
    body_at: usize,
}

impl Parts {
    /// Of a row with so many columns, bytes of fixed ones, and variable ones.
    fn new(columns: usize, fixed: u32, variable: u32) -> Parts {
        let fixed_at = 2 + columns.div_ceil(8);
        let ends_at = fixed_at + fixed as usize;
        Parts {
            fixed_at,
            ends_at,
            body_at: ends_at + 4 * variable as usize,
        }
    }

    fn variable_columns(&self) -> usize {
        (self.body_at - self.ends_at) / 4
    }
}

fn fixed_width(ty: SqlType) -> Option<usize> {
    use SqlType::*;
    Some(match ty {
        Bool => 1,
        Int2 => 2,
        Int4 | Float4 | Date | Oid | Xid => 4,
        _ if ty.is_named_oid() => 4,
        Enum(_) => 4,
        Int8 | Float8 | Timestamp | TimestampTz | Time | Tid | Money => 8,
        MacAddr => 6,
        TimeTz => 12,
        Uuid | Interval => 16,
        _ => return None,
    })
}

#[cold]
fn corrupt(what: &str) -> SqlError {
    SqlError::new(
        SqlState::DATA_CORRUPTED,
        format!("stored row is damaged: {what}"),
    )
}

impl RowLayout {
    /// The layout of a table with these columns, in order. Dropped columns keep their place.
    pub fn new(columns: Vec<SqlType>) -> RowLayout {
        let mut places = Vec::with_capacity(columns.len());
        let mut parts = vec![Parts::new(0, 0, 0)];
        let (mut fixed, mut variable) = (0, 0);
        for &ty in &columns {
            let slot = match fixed_width(ty) {
                Some(_) => Slot::Fixed(fixed),
                None => Slot::Variable(variable),
            };
            match fixed_width(ty) {
                Some(width) => fixed += width as u32,
                None => variable += 1,
            }
            places.push(Place { ty, slot });
            parts.push(Parts::new(places.len(), fixed, variable));
        }
        RowLayout {
            columns,
            places,
            parts,
        }
    }

    /// Column types in order.
    pub fn columns(&self) -> &[SqlType] {
        &self.columns
    }

    /// Writes a row. `values` must have one value per column, each NULL or of the column's type.
    ///
    /// # Errors
    /// `54000` if the row is longer than [`crate::limits::ROW_BYTES_MAX`].
    pub fn encode(&self, values: &[Value]) -> SqlResult<Vec<u8>> {
        let mut out = Vec::new();
        self.encode_into(values, &mut out)?;
        Ok(out)
    }

    /// As [`RowLayout::encode`], in the place of what was in `out`.
    ///
    /// # Errors
    /// As there.
    pub fn encode_into<V: AsDatum>(&self, values: &[V], out: &mut Vec<u8>) -> SqlResult<()> {
        assert_eq!(values.len(), self.columns.len(), "one value per column");
        let mut row = self.begin(out);
        for (i, value) in values.iter().enumerate() {
            row.put(i, value.as_datum());
        }
        row.finish()
    }

    /// Begins a row in the place of what was in `out`. Its columns are to be put in order.
    pub fn begin<'a>(&'a self, out: &'a mut Vec<u8>) -> RowWriter<'a> {
        let n = self.columns.len();
        let parts = &self.parts[n];
        out.clear();
        out.resize(parts.body_at, 0);
        put(out, (n as u16).to_le_bytes());
        RowWriter {
            places: &self.places,
            parts,
            out,
        }
    }

    /// Writes the row that `old` becomes when some columns change, in the place of what was in `out`: the
    /// others are copied as they are. `changes`: by column, ascending, each once. False, and nothing
    /// written, if the old row lacks columns of the layout, or is damaged.
    ///
    /// # Errors
    /// As [`RowLayout::encode`].
    pub fn patch<V: AsDatum>(
        &self,
        old: &[u8],
        changes: &[(usize, V)],
        out: &mut Vec<u8>,
    ) -> SqlResult<bool> {
        match self.open(old) {
            Ok(row) => self.patch_opened(&row, changes, out),
            Err(_) => Ok(false),
        }
    }

    /// As [`RowLayout::patch`], of a row that has been opened by this layout.
    ///
    /// # Errors
    /// As there.
    pub fn patch_opened<V: AsDatum>(
        &self,
        row: &RowReader<'_>,
        changes: &[(usize, V)],
        out: &mut Vec<u8>,
    ) -> SqlResult<bool> {
        if !row.is_whole() {
            return Ok(false);
        }
        let (old, parts) = (row.bytes, row.parts);
        out.clear();
        // Up to the first variable column that changes, everything keeps its place.
        let varies = |(column, _): &(usize, V)| match self.places[*column].slot {
            Slot::Fixed(_) => None,
            Slot::Variable(number) => Some(number as usize),
        };
        // The variable column that is copied next.
        let mut next = changes.iter().find_map(varies);
        let stays = match next {
            None => old.len(),
            Some(first) => parts.body_at + row.start_of(first),
        };
        let Some(head) = old.get(..stays) else {
            return Ok(false);
        };
        out.extend_from_slice(head);
        for (column, value) in changes {
            let value = value.as_datum();
            let bit = 1 << (column % 8);
            let nulls = &mut out[2 + column / 8];
            match value.is_null() {
                true => *nulls |= bit,
                false => *nulls &= !bit,
            }
            let place = self.places[*column];
            match place.slot {
                Slot::Fixed(offset) => {
                    let at = parts.fixed_at + offset as usize;
                    if value.is_null() {
                        let width = fixed_width(place.ty).expect("a fixed column");
                        out[at..at + width].fill(0);
                    }
                    write_fixed(&mut out[at..], value);
                }
                Slot::Variable(number) => {
                    let number = number as usize;
                    let from = next.expect("there is one");
                    if !row.copy_variable(from, number, out) {
                        return Ok(false);
                    }
                    write_variable(out, value);
                    put_end(out, parts, number);
                    next = Some(number + 1);
                }
            }
        }
        if let Some(from) = next
            && !row.copy_variable(from, parts.variable_columns(), out)
        {
            return Ok(false);
        }
        check_length(out.len()).map(|()| true)
    }

    /// Opens a stored row for reading.
    ///
    /// # Errors
    /// `XX001` if the bytes cannot be a row of this layout.
    #[inline]
    pub fn open<'a>(&'a self, bytes: &'a [u8]) -> SqlResult<RowReader<'a>> {
        let Some(header) = bytes.first_chunk() else {
            return Err(corrupt("no header"));
        };
        let n = u16::from_le_bytes(*header) as usize;
        let Some(parts) = self.parts.get(n) else {
            return Err(corrupt("more columns than the table has"));
        };
        if bytes.len() < parts.body_at {
            return Err(corrupt("shorter than its fixed part"));
        }
        Ok(RowReader {
            layout: self,
            bytes,
            n,
            parts,
        })
    }

    /// Reads all columns, appending to `out`; columns that the row lacks come out as NULL.
    ///
    /// # Errors
    /// `XX001` if the bytes cannot be a row of this layout.
    pub fn decode_into(&self, bytes: &[u8], out: &mut Vec<Value>) -> SqlResult<()> {
        let row = self.open(bytes)?;
        out.reserve(self.columns.len());
        for i in 0..self.columns.len() {
            out.push(row.get(i)?);
        }
        Ok(())
    }
}

/// Some columns of a layout, as whoever read a row has looked at them.
#[derive(Clone, Debug)]
pub struct Glance {
    layout: RowLayout,
    columns: Vec<usize>,
}

impl Glance {
    /// At these columns of rows of this layout.
    pub fn new(layout: RowLayout, columns: Vec<usize>) -> Glance {
        Glance { layout, columns }
    }

    /// Whether two rows look alike: each of the columns is kept in the same bytes. False as well if one of
    /// them lacks columns of the layout, or is damaged.
    pub fn is_same(&self, left: &[u8], right: &[u8]) -> bool {
        let whole = |row: &RowReader<'_>| row.n == self.layout.columns.len();
        let open = |bytes| self.layout.open(bytes).ok().filter(whole);
        let (Some(left), Some(right)) = (open(left), open(right)) else {
            return false;
        };
        let mut columns = self.columns.iter();
        columns.all(
            |column| match (left.bytes_of(*column), right.bytes_of(*column)) {
                (Some(left), Some(right)) => left == right,
                _ => false,
            },
        )
    }
}

/// A row on its way; see [`RowLayout::begin`].
#[derive(Debug)]
pub struct RowWriter<'a> {
    places: &'a [Place],
    parts: &'a Parts,
    out: &'a mut Vec<u8>,
}

impl RowWriter<'_> {
    /// Puts the next column: NULL, or of the column's type.
    #[inline]
    pub fn put(&mut self, column: usize, value: Datum<'_>) {
        if value.is_null() {
            self.out[2 + column / 8] |= 1 << (column % 8);
        }
        match self.places[column].slot {
            Slot::Fixed(offset) => {
                let at = self.parts.fixed_at + offset as usize;
                write_fixed(&mut self.out[at..], value);
            }
            Slot::Variable(number) => {
                write_variable(self.out, value);
                put_end(self.out, self.parts, number as usize);
            }
        }
    }

    /// Puts the next column, which is an int4 and no NULL.
    #[inline]
    pub fn put_int4(&mut self, column: usize, value: i32) {
        let Slot::Fixed(offset) = self.places[column].slot else {
            unreachable!("an int4 has a fixed width");
        };
        let at = self.parts.fixed_at + offset as usize;
        put(&mut self.out[at..], value.to_le_bytes());
    }

    /// All columns have been put.
    ///
    /// # Errors
    /// `54000` if the row is longer than [`crate::limits::ROW_BYTES_MAX`].
    pub fn finish(self) -> SqlResult<()> {
        check_length(self.out.len())
    }
}

/// A stored row opened for reading.
#[derive(Clone, Copy, Debug)]
pub struct RowReader<'a> {
    layout: &'a RowLayout,
    bytes: &'a [u8],
    n: usize,
    parts: &'a Parts,
}

impl<'a> RowReader<'a> {
    /// Whether the row has all columns of its layout.
    #[inline]
    pub fn is_whole(&self) -> bool {
        self.n == self.layout.columns.len()
    }

    /// Column `i` of a row that has it, where it lies. `None`: it has no such form, the row is older than the
    /// column, or damaged.
    #[inline]
    pub fn datum(&self, i: usize) -> Option<Datum<'a>> {
        if i >= self.n {
            return None;
        }
        if self.is_null(i) {
            return Some(Datum::Null);
        }
        let place = self.layout.places[i];
        match place.slot {
            Slot::Fixed(offset) => {
                let bytes = self.fixed(offset)?;
                Some(match place.ty {
                    SqlType::Int4 => Datum::Int4(i32::from_le_bytes(*bytes.first_chunk()?)),
                    SqlType::Int8 | SqlType::Tid => {
                        Datum::Int8(i64::from_le_bytes(*bytes.first_chunk()?))
                    }
                    SqlType::Bool => Datum::Bool(*bytes.first()? != 0),
                    SqlType::Int2 => Datum::Int2(i16::from_le_bytes(*bytes.first_chunk()?)),
                    SqlType::Date => Datum::Date(i32::from_le_bytes(*bytes.first_chunk()?)),
                    SqlType::Timestamp => {
                        Datum::Timestamp(i64::from_le_bytes(*bytes.first_chunk()?))
                    }
                    SqlType::TimestampTz => {
                        Datum::TimestampTz(i64::from_le_bytes(*bytes.first_chunk()?))
                    }
                    _ => return None,
                })
            }
            Slot::Variable(number) => {
                let bytes = self.variable(number as usize)?;
                match place.ty {
                    SqlType::Numeric => {
                        let (mantissa, scale) = Numeric::short_from_bytes(bytes)?;
                        Some(Datum::Decimal(mantissa, scale))
                    }
                    SqlType::Text | SqlType::Varchar | SqlType::Bpchar | SqlType::Name => {
                        std::str::from_utf8(bytes).ok().map(Datum::Text)
                    }
                    _ => None,
                }
            }
        }
    }

    /// Column `i` of type int4, where [`RowReader::datum`] has one; the inner `None` is NULL. `None` for any other type.
    #[inline]
    pub fn int4(&self, i: usize) -> Option<Option<i32>> {
        let Place {
            ty: SqlType::Int4,
            slot: Slot::Fixed(offset),
        } = *self.layout.places.get(i)?
        else {
            return None;
        };
        if i >= self.n {
            return None;
        }
        if self.is_null(i) {
            return Some(None);
        }
        let bytes = self.fixed(offset)?.first_chunk()?;
        Some(Some(i32::from_le_bytes(*bytes)))
    }

    /// Whether a column that the row has is NULL.
    #[inline]
    pub fn is_null(&self, i: usize) -> bool {
        self.bytes[2 + i / 8] & (1 << (i % 8)) != 0
    }

    /// From an offset of the fixed part on.
    #[inline]
    fn fixed(&self, offset: u32) -> Option<&'a [u8]> {
        self.bytes.get(self.parts.fixed_at + offset as usize..)
    }

    /// How many columns the row was written with; a column at or beyond it takes the table's
    /// default for rows older than the column.
    pub fn stored_columns(&self) -> usize {
        self.n
    }

    /// Column `i`, NULL if the row is older than the column.
    ///
    /// # Errors
    /// `XX001` if the bytes are no value of the column's type.
    pub fn get(&self, i: usize) -> SqlResult<Value> {
        if i >= self.n || self.is_null(i) {
            return Ok(Value::Null);
        }
        let Place { ty, slot } = self.layout.places[i];
        match slot {
            Slot::Fixed(offset) => {
                let at = self.parts.fixed_at + offset as usize;
                Ok(read_fixed(ty, &self.bytes[at..]))
            }
            Slot::Variable(number) => {
                let bytes = self.variable(number as usize);
                let bytes = bytes.ok_or_else(|| corrupt("variable column out of bounds"))?;
                read_variable(ty, bytes)
            }
        }
    }

    /// The order of a column of two rows of one layout, as [`Value::order`] has it; neither is NULL. What is damaged is equal
    /// to everything: it shows when the column is read.
    pub fn order(&self, other: &RowReader<'_>, i: usize) -> Ordering {
        use crate::types::TypeFamily;
        let Place { ty, slot } = self.layout.places[i];
        if let Slot::Variable(number) = slot
            && ty.family() == TypeFamily::Text
        {
            let [a, b] = [self, other].map(|row| row.variable(number as usize));
            return a.cmp(&b);
        }
        let quick = self.datum(i).zip(other.datum(i));
        if let Some(order) = quick.and_then(|(a, b)| a.order(&b, ty)) {
            return order;
        }
        match (self.get(i), other.get(i)) {
            (Ok(a), Ok(b)) => a.order(&b),
            _ => Ordering::Equal,
        }
    }

    /// What a column is kept in, for comparing; a NULL's are unlike those of any value. `None` if they are
    /// out of bounds.
    fn bytes_of(&self, column: usize) -> Option<(bool, &[u8])> {
        let is_null = self.is_null(column);
        let Place { ty, slot } = self.layout.places[column];
        let bytes = match slot {
            _ if is_null => &[],
            Slot::Fixed(offset) => self.fixed(offset)?.get(..fixed_width(ty)?)?,
            Slot::Variable(number) => self.variable(number as usize)?,
        };
        Some((is_null, bytes))
    }

    /// What a variable column is kept in; `None`: it would be out of bounds.
    #[inline]
    fn variable(&self, number: usize) -> Option<&'a [u8]> {
        let (from, to) = (self.start_of(number), self.end_of(number));
        self.bytes
            .get(self.parts.body_at + from..self.parts.body_at + to)
    }

    /// Where a variable column ends in the body.
    #[inline]
    fn end_of(&self, number: usize) -> usize {
        let at = self.parts.ends_at + 4 * number;
        u32::from_le_bytes(self.bytes[at..at + 4].try_into().expect("4 bytes")) as usize
    }

    /// Where a variable column begins in the body.
    #[inline]
    fn start_of(&self, number: usize) -> usize {
        number
            .checked_sub(1)
            .map_or(0, |before| self.end_of(before))
    }

    /// Appends the variable columns `from..to` to a row of the same shape; false if the row is damaged.
    fn copy_variable(&self, from: usize, to: usize, out: &mut Vec<u8>) -> bool {
        if from >= to {
            return true;
        }
        let (start, body_at) = (self.start_of(from), self.parts.body_at);
        let Some(bytes) = self
            .bytes
            .get(body_at + start..body_at + self.end_of(to - 1))
        else {
            return false;
        };
        let moved = (out.len() - body_at).wrapping_sub(start);
        out.extend_from_slice(bytes);
        for number in from..to {
            let end = self.end_of(number).wrapping_add(moved) as u32;
            let at = self.parts.ends_at + 4 * number;
            out[at..at + 4].copy_from_slice(&end.to_le_bytes());
        }
        true
    }
}

fn check_length(bytes: usize) -> SqlResult<()> {
    let limit = crate::limits::ROW_BYTES_MAX;
    if bytes <= limit {
        return Ok(());
    }
    Err(SqlError::new(
        SqlState::PROGRAM_LIMIT_EXCEEDED,
        format!("row of {bytes} bytes exceeds the maximum of {limit}"),
    ))
}

/// Notes that a variable column ends where `out` ends now.
#[inline]
fn put_end(out: &mut [u8], parts: &Parts, number: usize) {
    let end = (out.len() - parts.body_at) as u32;
    put(&mut out[parts.ends_at + 4 * number..], end.to_le_bytes());
}

/// Writes at the beginning of `out`.
#[inline(always)]
fn put<const N: usize>(out: &mut [u8], bytes: [u8; N]) {
    *out.first_chunk_mut().expect("a row has its fixed part") = bytes;
}

#[inline]
fn write_fixed(out: &mut [u8], value: Datum<'_>) {
    match value {
        Datum::Null => {}
        Datum::Bool(v) => put(out, [u8::from(v)]),
        Datum::Int2(v) => put(out, v.to_le_bytes()),
        Datum::Int4(v) | Datum::Date(v) => put(out, v.to_le_bytes()),
        Datum::Int8(v) | Datum::Timestamp(v) | Datum::TimestampTz(v) => put(out, v.to_le_bytes()),
        Datum::Lying(Value::Oid(v)) => put(out, v.to_le_bytes()),
        Datum::Lying(Value::Enum(v)) => put(out, v.place.to_le_bytes()),
        Datum::Lying(Value::Float4(v)) => put(out, v.to_le_bytes()),
        Datum::Lying(Value::Float8(v)) => put(out, v.to_le_bytes()),
        Datum::Lying(Value::Uuid(v)) => put(out, *v),
        Datum::Lying(Value::MacAddr(v)) => put(out, *v),
        Datum::Lying(Value::Time(v) | Value::Money(v)) => put(out, v.to_le_bytes()),
        Datum::Lying(Value::TimeTz(v)) => {
            put(out, v.micros.to_le_bytes());
            put(&mut out[8..], v.offset.to_le_bytes());
        }
        Datum::Lying(Value::Interval(v)) => {
            put(out, v.micros.to_le_bytes());
            put(&mut out[8..], v.days.to_le_bytes());
            put(&mut out[12..], v.months.to_le_bytes());
        }
        other => panic!("{other:?} in a fixed-width column: the binder let a wrong type through"),
    }
}

fn read_fixed(ty: SqlType, bytes: &[u8]) -> Value {
    fn take<const N: usize>(bytes: &[u8]) -> [u8; N] {
        bytes[..N].try_into().expect("checked by open")
    }
    match ty {
        SqlType::Bool => Value::Bool(bytes[0] != 0),
        SqlType::Int2 => Value::Int2(i16::from_le_bytes(take(bytes))),
        SqlType::Int4 => Value::Int4(i32::from_le_bytes(take(bytes))),
        SqlType::Int8 | SqlType::Tid => Value::Int8(i64::from_le_bytes(take(bytes))),
        SqlType::Float4 => Value::Float4(f32::from_le_bytes(take(bytes))),
        SqlType::Float8 => Value::Float8(f64::from_le_bytes(take(bytes))),
        SqlType::Date => Value::Date(i32::from_le_bytes(take(bytes))),
        SqlType::Oid | SqlType::Xid => Value::Oid(u32::from_le_bytes(take(bytes))),
        _ if ty.is_named_oid() => Value::Oid(u32::from_le_bytes(take(bytes))),
        SqlType::Enum(ty) => Value::Enum(EnumValue {
            ty,
            place: u32::from_le_bytes(take(bytes)),
        }),
        SqlType::Timestamp => Value::Timestamp(i64::from_le_bytes(take(bytes))),
        SqlType::TimestampTz => Value::TimestampTz(i64::from_le_bytes(take(bytes))),
        SqlType::Uuid => Value::Uuid(take(bytes)),
        SqlType::MacAddr => Value::MacAddr(take(bytes)),
        SqlType::Time => Value::Time(i64::from_le_bytes(take(bytes))),
        SqlType::Money => Value::Money(i64::from_le_bytes(take(bytes))),
        SqlType::TimeTz => Value::TimeTz(TimeTz {
            micros: i64::from_le_bytes(take(bytes)),
            offset: i32::from_le_bytes(take(&bytes[8..])),
        }),
        SqlType::Interval => Value::Interval(Interval {
            micros: i64::from_le_bytes(take(bytes)),
            days: i32::from_le_bytes(take(&bytes[8..])),
            months: i32::from_le_bytes(take(&bytes[12..])),
        }),
        other => unreachable!("{other:?} is no fixed-width type"),
    }
}

#[inline]
fn write_variable(out: &mut Vec<u8>, value: Datum<'_>) {
    match value {
        Datum::Null => {}
        Datum::Text(s) => out.extend_from_slice(s.as_bytes()),
        Datum::Decimal(mantissa, scale) => Numeric::write_short(mantissa, scale, out),
        Datum::Lying(Value::Bytea(b)) => out.extend_from_slice(b),
        Datum::Lying(Value::Citext(text)) => out.extend_from_slice(text.as_bytes()),
        Datum::Lying(Value::Numeric(n)) => n.write_bytes(out),
        Datum::Lying(Value::Array(array)) if array.element.is_record() => {
            record::write_array(array, out);
        }
        Datum::Lying(Value::Record(record)) => record::write_value(record, out),
        Datum::Lying(value) if is_kept_as_sent(value) => crate::binary_format::write(value, out),
        Datum::Lying(Value::Jsonb(json)) => json.write_bytes(out),
        other => panic!("{other:?} in a variable column: the binder let a wrong type through"),
    }
}

fn is_kept_as_sent(value: &Value) -> bool {
    use Value::{Array, Bits, Figure, Inet, Multirange, Range};
    matches!(
        value,
        Array(_) | Inet(_) | Bits(_) | Figure(_) | Range(_) | Multirange(_)
    )
}

fn read_variable(ty: SqlType, bytes: &[u8]) -> SqlResult<Value> {
    use crate::types::TypeFamily;
    match ty.family() {
        TypeFamily::Json if ty == SqlType::Jsonb => Json::from_bytes(bytes)
            .map(Value::json)
            .ok_or_else(|| corrupt("jsonb")),
        TypeFamily::Record => record::read(SqlType::Record, bytes),
        TypeFamily::Array
            if let Some(element) = ty.element().filter(|element| element.is_record()) =>
        {
            record::read(element, bytes)
        }
        TypeFamily::Text | TypeFamily::Unknown | TypeFamily::Json | TypeFamily::Void => {
            let text = std::str::from_utf8(bytes).map_err(|_| corrupt("text is not UTF-8"))?;
            Ok(Value::Text(Str::from(text)))
        }
        TypeFamily::Caseless => {
            let text = std::str::from_utf8(bytes).map_err(|_| corrupt("text is not UTF-8"))?;
            Ok(Value::Citext(text.into()))
        }
        TypeFamily::Binary | TypeFamily::Search | TypeFamily::Pairs => {
            Ok(Value::Bytea(bytes.into()))
        }
        TypeFamily::Exact => Ok(Value::numeric(
            Numeric::from_bytes(bytes).ok_or_else(|| corrupt("numeric"))?,
        )),
        _ => crate::binary_format::read(ty, bytes)
            .map_err(|_| corrupt("array, address, bits, figure or range")),
    }
}

#[cfg(test)]
mod tests;

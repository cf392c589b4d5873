//! Partitions in the catalogue: their records, what they mean, how they are printed.
//!
//! Relies on: `ir::partition`; the record of the table that is divided.  Promises: records written once are read the same way
//! ever after; bounds print as PostgreSQL prints them.  Does not: decide which bounds are allowed (`ddl::partition`).
//!
//! | record | key | holds |
//! |---|---|---|
//! | [`PartitioningRecord`] | 20, the table, or the partition that is divided itself | method and key |
//! | [`PartitionRecord`] | 21, the partition's own number | name and bound |
//!
//! So partitions are a tree whose root is the table that has the rows: [`Divisions::root`].

use crate::records::{self, RecordKey, TableRecord};
use crate::system::print::quoted;
use quintet_base::text_format::{self, FormatContext};
use quintet_base::types::format_declared;
use quintet_base::{SqlError, SqlResult, SqlState, SqlType, TableId, TypeMod, Value};
use quintet_ir::TableDef;
use quintet_ir::partition::{Bound, Limit, Method, Part, Partitioning, Partitions};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How a table is divided.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct PartitioningRecord {
    /// Or the partition that is divided.
    pub table: TableId,
    /// As PostgreSQL's catalogue has it: `r`, `l`, `h`.
    pub method: char,
    /// The key: columns of the table that has the rows, by their numbers, which stay. Those of expressions are hidden.
    pub columns: Vec<usize>,
}

/// A partition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct PartitionRecord {
    /// From the same counter as tables'.
    pub id: TableId,
    /// What it is a partition of: the table that has the rows, or a partition that is divided.
    pub parent: TableId,
    pub schema: String,
    pub name: String,
    pub bound: BoundRecord,
}

/// A bound; values as text, read back by the columns' types.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum BoundRecord {
    Range(Vec<LimitRecord>, Vec<LimitRecord>),
    /// `None`: NULL.
    List(Vec<Option<String>>),
    Hash {
        modulus: u32,
        remainder: u32,
    },
    Default,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum LimitRecord {
    Min,
    Value(String),
    Max,
}

/// All partitions of a catalogue.
#[derive(Clone, Debug, Default)]
pub(crate) struct Divisions {
    tables: BTreeMap<TableId, Arc<PartitioningRecord>>,
    parts: BTreeMap<TableId, Arc<PartitionRecord>>,
}

impl Divisions {
    /// Writes or removes a record; the table that it is about goes to `changed`.
    pub fn put(
        &mut self,
        key: RecordKey,
        value: Option<&[u8]>,
        changed: &mut BTreeSet<TableId>,
    ) -> SqlResult<()> {
        match key {
            RecordKey::Partitioning(id) => {
                changed.insert(id);
                match value {
                    Some(value) => self.tables.insert(id, Arc::new(records::read(value)?)),
                    None => self.tables.remove(&id),
                };
            }
            RecordKey::Partition(id) => {
                let before = match value {
                    Some(value) => {
                        let record: PartitionRecord = records::read(value)?;
                        changed.insert(record.parent);
                        self.parts.insert(id, Arc::new(record))
                    }
                    None => self.parts.remove(&id),
                };
                changed.extend(before.map(|before| before.parent));
            }
            _ => {}
        }
        Ok(())
    }

    /// How a table is divided, if it is.
    pub fn partitioning(&self, table: TableId) -> Option<&Arc<PartitioningRecord>> {
        self.tables.get(&table)
    }

    /// The partition with this number.
    pub fn part(&self, id: TableId) -> Option<&Arc<PartitionRecord>> {
        self.parts.get(&id)
    }

    /// All partitions, oldest first.
    pub fn parts(&self) -> impl Iterator<Item = &Arc<PartitionRecord>> {
        self.parts.values()
    }

    /// The partitions of a table, or of a partition, oldest first.
    pub fn parts_of(&self, table: TableId) -> impl Iterator<Item = &Arc<PartitionRecord>> {
        self.parts().filter(move |part| part.parent == table)
    }

    /// The table that has the rows of a partition; of a table, itself.
    pub fn root(&self, id: TableId) -> TableId {
        let mut found = id;
        while let Some(part) = self.part(found) {
            found = part.parent;
        }
        found
    }

    /// All partitions below a table or a partition, each before its own.
    pub fn below(&self, id: TableId) -> Vec<Arc<PartitionRecord>> {
        let mut found = Vec::new();
        for part in self.parts_of(id) {
            found.push(Arc::clone(part));
            found.extend(self.below(part.id));
        }
        found
    }

    /// What plans see of a table's partitions.
    ///
    /// # Errors
    /// `XX001` if a bound cannot be read.
    pub fn of(&self, record: &TableRecord) -> SqlResult<Option<Partitions>> {
        let all = self.division(record, record.id)?;
        Ok(all.map(|all| Partitions {
            all,
            path: Vec::new(),
            nothing: false,
        }))
    }

    /// How a table, or a partition of it, is divided.
    fn division(&self, record: &TableRecord, id: TableId) -> SqlResult<Option<Arc<Partitioning>>> {
        let Some(partitioning) = self.partitioning(id) else {
            return Ok(None);
        };
        let mut all = empty(partitioning, record)?;
        for part in self.parts_of(id) {
            all.parts.push(Part {
                id: part.id,
                schema: part.schema.clone(),
                name: part.name.clone(),
                bound: bound(&part.bound, &all.columns)?,
                inner: self.division(record, part.id)?,
            });
        }
        all.parts.sort_by(|one, other| one.order(other));
        Ok(Some(Arc::new(all)))
    }
}

fn damaged(what: &str) -> SqlError {
    let message = format!("catalogue record is damaged: {what}");
    SqlError::new(SqlState::DATA_CORRUPTED, message)
}

/// A division without partitions.
pub(crate) fn empty(
    partitioning: &PartitioningRecord,
    record: &TableRecord,
) -> SqlResult<Partitioning> {
    let column = |number: &usize| {
        let column = record.columns.get(*number);
        column.map(|column| (*number, column.ty))
    };
    let columns: Option<Vec<_>> = partitioning.columns.iter().map(column).collect();
    Ok(Partitioning {
        method: match partitioning.method {
            'r' => Method::Range,
            'l' => Method::List,
            'h' => Method::Hash,
            _ => return Err(damaged("unknown method of partitioning")),
        },
        columns: columns.ok_or_else(|| damaged("a partition key without its column"))?,
        parts: Vec::new(),
    })
}

/// A bound from its record.
fn bound(record: &BoundRecord, columns: &[(usize, SqlType)]) -> SqlResult<Bound> {
    let read = |text: &str, ty: SqlType| -> SqlResult<Value> {
        let value = text_format::read(ty, text, &FormatContext::default())?;
        Ok(match (&value, ty) {
            // Blanks at its end count for nothing.
            (Value::Text(text), SqlType::Bpchar) => Value::text(text.trim_end_matches(' ')),
            _ => value,
        })
    };
    let limits = |records: &[LimitRecord]| -> SqlResult<Vec<Limit>> {
        if records.len() != columns.len() {
            return Err(damaged("a bound of another key"));
        }
        let limits = records.iter().zip(columns).map(|(record, (_, ty))| {
            Ok(match record {
                LimitRecord::Min => Limit::Min,
                LimitRecord::Max => Limit::Max,
                LimitRecord::Value(text) => Limit::Value(read(text, *ty)?),
            })
        });
        limits.collect()
    };
    Ok(match record {
        BoundRecord::Default => Bound::Default,
        BoundRecord::Hash { modulus: 0, .. } => return Err(damaged("a modulus of 0")),
        &BoundRecord::Hash { modulus, remainder } => Bound::Hash { modulus, remainder },
        BoundRecord::Range(from, to) => Bound::Range(limits(from)?, limits(to)?),
        BoundRecord::List(values) => {
            let ty = columns[0].1;
            let values = values.iter().map(|value| match value {
                Some(text) => read(text, ty),
                None => Ok(Value::Null),
            });
            Bound::List(values.collect::<SqlResult<_>>()?)
        }
    })
}

/// A bound's record.
pub(crate) fn bound_record(bound: &Bound, columns: &[(usize, SqlType)]) -> BoundRecord {
    let text = |value: &Value, ty| text_format::to_string(value, ty, &FormatContext::default());
    let limits = |limits: &[Limit]| {
        let records = limits
            .iter()
            .zip(columns)
            .map(|(limit, (_, ty))| match limit {
                Limit::Min => LimitRecord::Min,
                Limit::Max => LimitRecord::Max,
                Limit::Value(value) => LimitRecord::Value(text(value, *ty)),
            });
        records.collect()
    };
    match bound {
        Bound::Default => BoundRecord::Default,
        &Bound::Hash { modulus, remainder } => BoundRecord::Hash { modulus, remainder },
        Bound::Range(from, to) => BoundRecord::Range(limits(from), limits(to)),
        Bound::List(values) => {
            let ty = columns[0].1;
            let values = values.iter();
            BoundRecord::List(
                values
                    .map(|value| (!value.is_null()).then(|| text(value, ty)))
                    .collect(),
            )
        }
    }
}

/// A constant of a bound as PostgreSQL writes it there.
fn constant(value: &Value, ty: SqlType) -> String {
    if value.is_null() {
        return "NULL".to_string();
    }
    let text = text_format::to_string(value, ty, &FormatContext::default());
    let bare = match ty {
        SqlType::Int4 => !text.starts_with('-'),
        SqlType::Numeric => {
            text.starts_with(|c: char| c.is_ascii_digit()) && text.contains(['e', 'E', '.'])
        }
        SqlType::Bool => {
            return (if text == "t" { "true" } else { "false" }).to_string();
        }
        _ => false,
    };
    match bare {
        true => text,
        false => format!("'{}'", text.replace('\'', "''")),
    }
}

/// `(1, MAXVALUE)`
pub(crate) fn limits_text(limits: &[Limit], columns: &[(usize, SqlType)]) -> String {
    let texts = limits
        .iter()
        .zip(columns)
        .map(|(limit, (_, ty))| match limit {
            Limit::Min => "MINVALUE".to_string(),
            Limit::Max => "MAXVALUE".to_string(),
            Limit::Value(value) => constant(value, *ty),
        });
    format!("({})", texts.collect::<Vec<_>>().join(", "))
}

/// A bound as `pg_get_expr` prints it: `FOR VALUES …` or `DEFAULT`.
pub(crate) fn bound_text(bound: &Bound, columns: &[(usize, SqlType)]) -> String {
    match bound {
        Bound::Default => "DEFAULT".to_string(),
        Bound::Hash { modulus, remainder } => {
            format!("FOR VALUES WITH (modulus {modulus}, remainder {remainder})")
        }
        Bound::Range(from, to) => format!(
            "FOR VALUES FROM {} TO {}",
            limits_text(from, columns),
            limits_text(to, columns)
        ),
        Bound::List(values) => {
            let values = values.iter().map(|value| constant(value, columns[0].1));
            format!("FOR VALUES IN ({})", values.collect::<Vec<_>>().join(", "))
        }
    }
}

/// `RANGE (a, b)`, as `pg_get_partkeydef` prints it. `record`: of the table that has the rows.
pub(crate) fn key_text(partitioning: &PartitioningRecord, record: &TableRecord) -> String {
    let word = match partitioning.method {
        'l' => "LIST",
        'h' => "HASH",
        _ => "RANGE",
    };
    let columns = partitioning.columns.iter();
    let columns = columns.map(|column| match record.is_hidden(*column) {
        // What is written like a call has no parentheses around it.
        true if record.columns[*column].name.starts_with('(') => {
            format!("({})", record.columns[*column].name)
        }
        true => record.columns[*column].name.clone(),
        false => quoted(&record.columns[*column].name),
    });
    format!("{word} ({})", columns.collect::<Vec<_>>().join(", "))
}

/// A constant of an expression as PostgreSQL writes it there.
fn labelled(value: &Value, ty: SqlType) -> String {
    let text = constant(value, ty);
    match text.starts_with('\'') {
        true => format!("{text}::{}", format_declared(ty, TypeMod::NONE)),
        false => text,
    }
}

/// What rows of the partition that a definition stands for fulfil, as `pg_get_partition_constraintdef` prints it; `None` for
/// what every row fulfils. Of several columns, and of default partitions beside several others, PostgreSQL orders the
/// parts otherwise.
pub(crate) fn constraint_text(table: &TableDef) -> Option<String> {
    let partitions = table.partitions.as_ref()?;
    let mut parts = Vec::new();
    let mut division = Some(&partitions.all);
    let mut owner = table.id;
    for number in &partitions.path {
        let here = division?;
        let part = &here.parts[*number];
        parts.extend(bound_parts(table, here, owner, &part.bound));
        division = part.inner.as_ref();
        owner = part.id;
    }
    (!parts.is_empty()).then(|| together(parts))
}

/// The conditions of one level.
fn bound_parts(table: &TableDef, all: &Partitioning, owner: TableId, bound: &Bound) -> Vec<String> {
    if !matches!(bound, Bound::Default) {
        return within_texts(table, all, owner, bound);
    }
    let others = all.parts.iter().map(|part| &part.bound);
    let others = others.filter(|bound| !matches!(bound, Bound::Default));
    let others: Vec<String> = others
        .map(|bound| together(within_texts(table, all, owner, bound)))
        .collect();
    match &others[..] {
        [] => Vec::new(),
        [one] => vec![format!("(NOT {one})")],
        several => vec![format!("(NOT ({}))", several.join(" OR "))],
    }
}

fn together(parts: Vec<String>) -> String {
    match &parts[..] {
        [one] => one.clone(),
        several => format!("({})", several.join(" AND ")),
    }
}

fn within_texts(
    table: &TableDef,
    all: &Partitioning,
    owner: TableId,
    bound: &Bound,
) -> Vec<String> {
    let name = |column: usize| {
        let column = &table.columns[column];
        match column.hidden {
            true => column.name.clone(),
            false => quoted(&column.name),
        }
    };
    let columns = all.columns.iter();
    let columns: Vec<(String, SqlType)> =
        columns.map(|(column, ty)| (name(*column), *ty)).collect();
    let not_null = |(name, _): &(String, SqlType)| format!("({name} IS NOT NULL)");
    match bound {
        Bound::Default => vec!["false".to_string()],
        Bound::Hash { modulus, remainder } => {
            let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
            let names = names.join(", ");
            let owner = owner.0;
            vec![format!(
                "satisfies_hash_partition('{owner}'::oid, {modulus}, {remainder}, {names})"
            )]
        }
        Bound::List(values) => {
            let (name, ty) = &columns[0];
            let given = values.iter().filter(|value| !value.is_null());
            let listed: Vec<String> = given.map(|value| labelled(value, *ty)).collect();
            let null = listed.len() < values.len();
            let is_one = match &listed[..] {
                [] => return vec![format!("({name} IS NULL)")],
                [one] => format!("({name} = {one})"),
                several => format!("({name} = ANY (ARRAY[{}]))", several.join(", ")),
            };
            match null {
                true => vec![format!("(({name} IS NULL) OR {is_one})")],
                false => vec![format!("({name} IS NOT NULL)"), is_one],
            }
        }
        Bound::Range(from, to) => {
            let mut parts: Vec<String> = columns.iter().map(not_null).collect();
            parts.extend(end_text(&columns, from, (" > ", " >= "), true));
            parts.extend(end_text(&columns, to, (" < ", " <= "), false));
            parts
        }
    }
}

/// One end of a range; `None` where it is none. `open`: what the end itself belongs to is inside.
fn end_text(
    columns: &[(String, SqlType)],
    limits: &[Limit],
    operators: (&str, &str),
    open: bool,
) -> Option<String> {
    let Some(Limit::Value(value)) = limits.first() else {
        return None;
    };
    let (name, ty) = &columns[0];
    let value = labelled(value, *ty);
    let (beyond, reaching) = operators;
    let compared = |operator: &str| format!("({name}{operator}{value})");
    let inside = match limits.get(1) {
        None => open,
        Some(Limit::Min) => open,
        Some(Limit::Max) => !open,
        Some(Limit::Value(_)) => {
            let rest = end_text(&columns[1..], &limits[1..], operators, open)?;
            let equal = format!("({} AND {rest})", compared(" = "));
            return Some(format!("({} OR {equal})", compared(beyond)));
        }
    };
    Some(compared(if inside { reaching } else { beyond }))
}

#[cfg(test)]
mod tests {
    use super::*;

    // What is in a database stays readable: the bytes of each kind of bound.
    #[test]
    fn records_of_partitions_are_read_as_they_were_written() {
        let limits = vec![LimitRecord::Min, LimitRecord::Value("7".into())];
        let bounds = [
            (
                BoundRecord::Range(limits, vec![LimitRecord::Max; 2]),
                "0002000101370202 02".replace(' ', ""),
            ),
            (
                BoundRecord::List(vec![Some("a".into()), None]),
                "0102010161 00".replace(' ', ""),
            ),
            (
                BoundRecord::Hash {
                    modulus: 4,
                    remainder: 3,
                },
                "020403".to_string(),
            ),
            (BoundRecord::Default, "03".to_string()),
        ];
        for (bound, kept) in bounds {
            let record = PartitionRecord {
                id: TableId(9),
                parent: TableId(7),
                schema: "s".into(),
                name: "p".into(),
                bound,
            };
            let change = records::write(RecordKey::Partition(record.id), &record).unwrap();
            let value = change.value.unwrap();
            let hex: String = value.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(hex, format!("01090701730170{kept}"));
            assert_eq!(records::read::<PartitionRecord>(&value).unwrap(), record);
        }
    }

    #[test]
    fn constants_are_written_as_in_postgresql() {
        let of = |value: Value, ty| constant(&value, ty);
        assert_eq!(of(Value::Int4(-5), SqlType::Int4), "'-5'");
        assert_eq!(of(Value::Int4(5), SqlType::Int4), "5");
        assert_eq!(of(Value::Int8(5), SqlType::Int8), "'5'");
        assert_eq!(of(Value::text("it's"), SqlType::Text), "'it''s'");
        assert_eq!(of(Value::Null, SqlType::Text), "NULL");
    }
}

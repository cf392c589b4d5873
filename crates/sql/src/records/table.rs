//! A table, as it is stored.
//!
//! Relies on: `versions`, which writes and reads it.  Promises: what is said of a column or an index is found by its number; columns and
//! indexes keep theirs.  Does not: bind expressions, which stay SQL text.

use crate::system::{collation_of, primary_key_oid};
use quintet_base::{IndexId, SpaceId, SqlType, TableId, TypeMod};
use quintet_ir::Elements;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct TableRecord {
    pub id: TableId,
    pub revision: u64,
    pub schema: String,
    pub name: String,
    pub space: SpaceId,
    pub columns: Vec<ColumnRecord>,
    pub primary_key: Option<KeyRecord>,
    pub indexes: Vec<IndexRecord>,
    pub checks: Vec<CheckRecord>,
    /// The last field: records of version 1 end before it.
    pub more: TableMore,
}

/// What a table's record says since version 2.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct TableMore {
    /// Generated columns by number, with their expressions as SQL text.
    pub generated: Vec<(usize, String)>,
    /// Indexes with columns that were asked for otherwise than `ASC NULLS LAST`: for each column, whether it
    /// descends and whether NULLs come first.
    pub directions: Vec<(IndexId, Vec<(bool, bool)>)>,
    /// Columns that are of a domain, with its number. Records of version 2 end before it.
    pub domains: Vec<(usize, u32)>,
    /// What indexes on expressions and partial ones need.
    pub hidden: HiddenRecord,
    /// Of a temporary table. Records of version 3 end behind it.
    pub on_commit: OnCommit,
    /// Names of checks that rows from before them may fail. Records of version 4 end behind it.
    pub unvalidated: Vec<String>,
    /// Indexes that were asked for with more than is done about them.
    pub shown: Vec<(IndexId, ShownRecord)>,
    /// Columns with a collation of their own, by PostgreSQL's number: all of them compare bytes. Records of version 5 end
    /// behind it.
    pub collations: Vec<(usize, u32)>,
    /// Indexes with NULLS NOT DISTINCT. Records of version 5 end before it.
    pub nulls_equal: Vec<IndexId>,
    /// Constraints with an index that are DEFERRABLE, the primary key by the number of its index; whether INITIALLY
    /// DEFERRED. Records of version 6 end behind it.
    pub late: LateKeys,
    /// Indexes of EXCLUDE constraints.
    pub excluded: Exclusions,
    /// WITH (…), as it was written. Behind the record, of version 9 only.
    #[serde(skip)]
    pub options: Vec<(String, String)>,
}

impl TableMore {
    /// Whatever is said of an index is said of it by its new number.
    pub fn renumber(&mut self, old: IndexId, new: IndexId) {
        let directions = self.directions.iter_mut().map(|(id, _)| id);
        let shown = self.shown.iter_mut().map(|(id, _)| id);
        let predicates = self.hidden.predicates.iter_mut().map(|(id, _)| id);
        let late = self.late.iter_mut().map(|(id, _)| id);
        let excluded = self.excluded.iter_mut().map(|(id, _)| id);
        let all = directions.chain(shown).chain(predicates);
        let all = all.chain(late).chain(excluded).chain(&mut self.nulls_equal);
        for id in all.filter(|id| **id == old) {
            *id = new;
        }
    }
}

/// Indexes of EXCLUDE constraints.
pub(super) type Exclusions = Vec<(IndexId, ExclusionRecord)>;

/// Which rows an EXCLUDE constraint does not let be beside each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ExclusionRecord {
    /// How many of the index's columns must be equal, that of a predicate not counted; the others, behind them, overlap.
    pub equals: usize,
    /// The columns as they were written.
    pub written: Vec<usize>,
}

impl ExclusionRecord {
    /// The columns of the index that overlap.
    pub fn overlapping<'r>(&self, index: &'r IndexRecord) -> &'r [usize] {
        &index.columns[index.columns.len() - (self.written.len() - self.equals)..]
    }

    /// The operator that stands behind a column.
    pub fn operator(&self, index: &IndexRecord, column: usize) -> &'static str {
        match self.overlapping(index).contains(&column) {
            true => "&&",
            false => "=",
        }
    }
}

/// Unique constraints that are looked at late.
type LateKeys = Vec<(IndexId, bool)>;

/// What [`TableMore`] has had since version 5, and since version 6.
pub(super) type LastAdded = (Vec<(IndexId, ShownRecord)>, Vec<(usize, u32)>, SinceSix);

/// What it has had since version 6.
pub(super) type SinceSix = (Vec<IndexId>, LateKeys, Exclusions);

/// What an index was asked for with that is shown. Of the methods only gin changes what the index is, and its classes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ShownRecord {
    /// USING, if it is not btree.
    pub method: Option<String>,
    /// Columns of INCLUDE.
    pub included: Vec<usize>,
    /// Operator classes that are not the types' own, by places in the key as it was asked for.
    pub classes: Vec<(usize, String)>,
}

/// What a commit of its session does to a temporary table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum OnCommit {
    #[default]
    Keep,
    DeleteRows,
    Drop,
}

/// What indexes on expressions and partial ones need.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct HiddenRecord {
    /// Columns that nobody can name, dropped ones included; see `ddl::hidden`.
    pub columns: Vec<usize>,
    /// Partial indexes, with their predicates as SQL text. The first column of such an index is a hidden one.
    pub predicates: Vec<(IndexId, String)>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ColumnRecord {
    pub name: String,
    pub ty: SqlType,
    pub modifier: TypeMod,
    pub not_null: bool,
    /// SQL text.
    pub default: Option<String>,
    /// The value as text, read back by the column's type.
    pub missing: Option<String>,
    /// `Some(true)`: GENERATED ALWAYS; `Some(false)`: BY DEFAULT.
    pub identity: Option<bool>,
    pub dropped: bool,
}

impl ColumnRecord {
    /// One that takes any value of its type.
    pub fn plain(name: String, ty: SqlType, modifier: TypeMod) -> ColumnRecord {
        ColumnRecord {
            name,
            ty,
            modifier,
            not_null: false,
            default: None,
            missing: None,
            identity: None,
            dropped: false,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct KeyRecord {
    pub name: String,
    pub columns: Vec<usize>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct IndexRecord {
    pub id: IndexId,
    pub name: String,
    pub space: SpaceId,
    pub columns: Vec<usize>,
    pub unique: bool,
    pub constraint: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct CheckRecord {
    pub name: String,
    /// SQL text.
    pub text: String,
}

impl TableRecord {
    /// What a column is generated from, if it is.
    pub fn generated(&self, column: usize) -> Option<&str> {
        let found = self
            .more
            .generated
            .iter()
            .find(|(other, _)| *other == column);
        found.map(|(_, source)| source.as_str())
    }

    /// The domain that a column is of, if it is of one.
    pub fn domain(&self, column: usize) -> Option<u32> {
        let found = (self.more.domains.iter()).find(|(other, _)| *other == column);
        found.map(|(_, domain)| *domain)
    }

    /// True for a column that nobody can name, dropped or not.
    pub fn is_hidden(&self, column: usize) -> bool {
        self.more.hidden.columns.contains(&column)
    }

    /// The number of the column with this name.
    pub fn column(&self, name: &str) -> Option<usize> {
        let mut columns = self.columns.iter().enumerate();
        columns
            .find(|(number, c)| !c.dropped && !self.is_hidden(*number) && c.name == name)
            .map(|(number, _)| number)
    }

    /// The predicate of an index, if it is a partial one.
    pub fn predicate(&self, index: IndexId) -> Option<&str> {
        let mut all = self.more.hidden.predicates.iter();
        all.find(|(other, _)| *other == index)
            .map(|(_, text)| text.as_str())
    }

    /// The directions that an index's columns were asked for in; empty: all as usual.
    pub fn directions(&self, index: IndexId) -> &[(bool, bool)] {
        let found = self
            .more
            .directions
            .iter()
            .find(|(other, _)| *other == index);
        found.map_or(&[], |(_, directions)| directions)
    }

    /// The collation of a column: its own, or its type's; 0 if it has none.
    pub fn collation(&self, column: usize) -> u32 {
        let mut all = self.more.collations.iter();
        let own = all.find(|(other, _)| *other == column);
        own.map_or_else(|| collation_of(self.columns[column].ty), |(_, own)| *own)
    }

    /// Gives a column a collation; `None`: its type's.
    pub fn set_collation(&mut self, column: usize, collation: Option<u32>) {
        self.more.collations.retain(|(other, _)| *other != column);
        let ty = self.columns[column].ty;
        let own = collation.filter(|collation| *collation != collation_of(ty));
        self.more.collations.extend(own.map(|own| (column, own)));
    }

    /// Whether a unique constraint is DEFERRABLE, and if so, whether INITIALLY DEFERRED.
    pub fn late(&self, index: IndexId) -> Option<bool> {
        let found = self.more.late.iter().find(|(other, _)| *other == index);
        found.map(|(_, deferred)| *deferred)
    }

    /// The same of the primary key.
    pub fn late_primary(&self) -> Option<bool> {
        self.late(IndexId(primary_key_oid(self.id)))
    }

    /// What an index was asked for with beyond its key, if anything.
    pub fn shown(&self, index: IndexId) -> Option<&ShownRecord> {
        let found = self.more.shown.iter().find(|(other, _)| *other == index);
        found.map(|(_, shown)| shown)
    }

    /// What an EXCLUDE constraint's index does not let be.
    pub fn excluded(&self, index: IndexId) -> Option<&ExclusionRecord> {
        let mut all = self.more.excluded.iter();
        all.find(|(other, _)| *other == index)
            .map(|(_, excluded)| excluded)
    }

    /// The columns of an index that were asked for, as they were written.
    pub fn asked<'r>(&'r self, index: &'r IndexRecord) -> &'r [usize] {
        match self.excluded(index.id) {
            Some(excluded) => &excluded.written,
            None => &index.columns[usize::from(self.predicate(index.id).is_some())..],
        }
    }

    /// True if an index was asked for with NULLS NOT DISTINCT.
    pub fn nulls_are_equal(&self, index: IndexId) -> bool {
        self.more.nulls_equal.contains(&index)
    }

    /// True if an index has an entry for each element of a row.
    pub fn is_inverted(&self, index: IndexId) -> bool {
        let is_inverted = |shown: &ShownRecord| match shown.method.as_deref() {
            Some("gin") => true,
            // All of its columns have this class then.
            Some("gist") => shown
                .classes
                .iter()
                .any(|(_, name)| name == "gist_trgm_ops"),
            _ => false,
        };
        self.shown(index).is_some_and(is_inverted)
    }

    /// What of each column that an inverted index was asked for over has entries; empty for others.
    pub fn inverted(&self, index: &IndexRecord) -> Vec<Elements> {
        if !self.is_inverted(index.id) {
            return Vec::new();
        }
        let named = |place: usize| {
            let mut classes = self.shown(index.id)?.classes.iter();
            classes
                .find(|(at, _)| *at == place)
                .map(|(_, name)| &**name)
        };
        let asked = &index.columns[usize::from(self.predicate(index.id).is_some())..];
        let columns = asked.iter().enumerate();
        let elements = columns.map(|(place, &column)| match named(place) {
            Some("jsonb_path_ops") => Elements::PathsOfJson,
            Some("gin_trgm_ops" | "gist_trgm_ops") => Elements::Trigrams,
            _ if self.columns[column].ty == SqlType::Jsonb => Elements::OfJson,
            _ if self.columns[column].ty == SqlType::TsVector => Elements::Words,
            _ if self.columns[column].ty == SqlType::Hstore => Elements::OfPairs,
            _ if self.columns[column].ty.element().is_some() => Elements::OfArray,
            _ => Elements::Whole,
        });
        elements.collect()
    }

    /// True if an index has the column in its key or along with it.
    pub fn is_indexed_by(&self, index: &IndexRecord, column: usize) -> bool {
        let shown = self.shown(index.id);
        index.columns.contains(&column)
            || shown.is_some_and(|shown| shown.included.contains(&column))
    }
}

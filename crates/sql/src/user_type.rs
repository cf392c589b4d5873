//! Types and domains that users made: what a name means, and what their values are called.
//!
//! Relies on: the catalogue's records.  Promises: a label keeps its place whatever it is called, places are in the order
//! of the labels, and messages that were made without a catalogue get the names of types here.  Does not: make or change
//! types (`ddl`).

use crate::catalog::Catalog;
use crate::composite::type_of_rows;
use crate::names;
use crate::planner::Planner;
use crate::records::{DomainRecord, LabelRecord, TypeKind, TypeRecord, ViewColumnRecord};
use crate::system::print::quoted;
use crate::system::{relation_of, system_relation};
use pg_query::protobuf::TypeName;
use quintet_base::objects::{ObjectNames, Objects, name_marked, no_label};
use quintet_base::text_format::{self, FormatContext};
use quintet_base::types::ROW_TYPE;
use quintet_base::value::{Array, EnumValue};
use quintet_base::{Shape, SqlError, SqlResult, SqlState, SqlType, TableId, Value};
use quintet_ir::function::extension::type_of_function;
use quintet_ir::function::is_function_name;
use quintet_ir::function::sets::is_set_name;
use quintet_ir::schema::TableDef;
use std::collections::BTreeMap;
use std::sync::Arc;

impl TypeRecord {
    /// The labels, if it is an enum.
    pub fn labels(&self) -> Option<&[LabelRecord]> {
        match &self.kind {
            TypeKind::Enum(labels) => Some(labels),
            _ => None,
        }
    }

    /// What it adds to its base type, if it is a domain.
    pub fn domain(&self) -> Option<&DomainRecord> {
        match &self.kind {
            TypeKind::Domain(domain) => Some(domain),
            _ => None,
        }
    }

    /// The fields, if it is a composite type.
    pub fn fields(&self) -> Option<&[ViewColumnRecord]> {
        match &self.kind {
            TypeKind::Composite(fields) => Some(fields),
            _ => None,
        }
    }

    /// Whether it is one of an extension, with which it comes and goes.
    pub fn is_of_extension(&self) -> bool {
        matches!(self.kind, TypeKind::Base(_))
    }

    /// The number of its array type.
    pub fn array_number(&self) -> u32 {
        self.id + 1
    }

    /// The number of a composite type in `pg_class`.
    pub fn class_number(&self) -> u32 {
        self.id + 2
    }
}

impl Catalog {
    /// The type or domain with this name.
    pub(crate) fn type_named(&self, schema: &str, name: &str) -> Option<&Arc<TypeRecord>> {
        self.user_types()
            .find(|record| record.name == name && record.schema == schema)
    }

    /// The type with this number, or whose array type has it.
    pub(crate) fn type_with(&self, number: u32) -> Option<&Arc<TypeRecord>> {
        let before = || self.user_type(number.checked_sub(1)?);
        self.user_type(number).or_else(before)
    }

    /// The type of values that this number stands for: an enum's or its array's.
    pub fn type_of_oid(&self, oid: u32) -> Option<SqlType> {
        let row = || {
            let (relation, is_array) = relation_of(oid)?;
            let row = type_of_rows(self, TableId(relation))?;
            match is_array {
                true => row.array_of(),
                false => Some(row),
            }
        };
        SqlType::from_oid(oid).or_else(row).or_else(|| {
            let record = self.type_with(oid)?;
            match &record.kind {
                TypeKind::Enum(_) if oid == record.id => Some(SqlType::Enum(record.id)),
                TypeKind::Enum(_) => Some(SqlType::EnumArray(record.id)),
                TypeKind::Domain(domain) if oid == record.id => Some(domain.base),
                TypeKind::Composite(_) if oid == record.id => Some(SqlType::Composite(oid)),
                TypeKind::Composite(_) => Some(SqlType::CompositeArray(record.id)),
                TypeKind::Base(ty) if oid == record.id => Some(*ty),
                TypeKind::Base(ty) => ty.array_of(),
                _ => None,
            }
        })
    }

    /// The same, and what composite types have.
    pub(crate) fn labels_and_fields(&self) -> ObjectNames {
        let enums = self.user_types().filter(|record| record.labels().is_some());
        let enums = enums.map(|record| (record.id, Arc::clone(record)));
        let all = Some(Box::new(self.clone()));
        ObjectNames::of(Arc::new(Labels(enums.collect(), all)))
    }

    /// The label at a place of an enum.
    pub fn label(&self, ty: u32, place: u32) -> Option<&str> {
        label_at(self.user_type(ty)?, place)
    }

    /// What labels are called, for who has no session.
    pub fn labels(&self) -> ObjectNames {
        let enums = self.user_types().filter(|record| record.labels().is_some());
        let enums = enums.map(|record| (record.id, Arc::clone(record)));
        ObjectNames::of(Arc::new(Labels(enums.collect(), None)))
    }

    /// The labels of an enum as values.
    pub(crate) fn values_of(&self, ty: u32) -> Vec<Value> {
        let labels = self.user_type(ty).and_then(|record| record.labels());
        let value = |label: &LabelRecord| {
            Value::Enum(EnumValue {
                ty,
                place: label.place,
            })
        };
        labels.unwrap_or_default().iter().map(value).collect()
    }
}

/// The labels of a catalogue's enums, for who has no session.
struct Labels(BTreeMap<u32, Arc<TypeRecord>>, Option<Box<Catalog>>);

impl Objects for Labels {
    fn name(&self, _: SqlType, _: u32) -> Option<String> {
        None
    }

    fn number(&self, kind: SqlType, name: &str) -> SqlResult<u32> {
        let message = format!("{kind} \"{name}\" does not exist");
        Err(SqlError::new(SqlState::UNDEFINED_OBJECT, message))
    }

    fn label(&self, ty: u32, place: u32) -> Option<String> {
        label_at(self.0.get(&ty)?, place).map(str::to_string)
    }

    fn place(&self, ty: u32, label: &str) -> SqlResult<u32> {
        let labels = self.0.get(&ty).and_then(|record| record.labels());
        let mut labels = labels.unwrap_or_default().iter();
        let found = labels.find(|known| known.label == label);
        found
            .map(|label| label.place)
            .ok_or_else(|| no_label(&ty.to_string(), label))
    }

    fn fields(&self, ty: u32) -> Option<Arc<Shape>> {
        self.1.as_ref()?.shape(ty)
    }

    fn named(&self, _: &str) -> Option<String> {
        None
    }

    fn describe(&self, _: &str, _: &[&Value]) -> SqlResult<Value> {
        Ok(Value::Null)
    }
}

/// The label at a place.
fn label_at(record: &TypeRecord, place: u32) -> Option<&str> {
    let labels = record.labels()?;
    let at = labels.binary_search_by_key(&place, |label| label.place);
    at.ok().map(|at| labels[at].label.as_str())
}

impl<'a> Planner<'a> {
    /// True if a function that is built in has this name, and, if it comes with a type of an extension, that was made.
    pub fn has_function(&self, name: &str) -> bool {
        is_function_name(name) && self.has_type_of(name)
    }

    /// The same of one that gives a set.
    pub fn has_set(&self, name: &str) -> bool {
        is_set_name(name) && self.has_type_of(name)
    }

    fn has_type_of(&self, function: &str) -> bool {
        let ty = type_of_function(function);
        ty.is_none_or(|ty| self.catalog().user_type(ty.oid()).is_some())
    }

    /// The type that a name means; a bare one is looked for along the search path.
    pub fn find_type(&self, schema: Option<&str>, name: &str) -> Option<&'a Arc<TypeRecord>> {
        let catalog = self.catalog();
        match schema {
            Some(schema) => catalog.type_named(schema, name),
            None => {
                let mut path = self.path().iter();
                path.find_map(|schema| catalog.type_named(schema, name))
            }
        }
    }

    /// The type that the parts of a name mean.
    ///
    /// # Errors
    /// `42704` if there is none.
    pub fn type_of_name(&self, name: &[&str]) -> SqlResult<&'a Arc<TypeRecord>> {
        let found = match self.local(name, 2)? {
            [name] => self.find_type(None, name),
            [schema, name] => self.find_type(Some(schema), name),
            _ => None,
        };
        found.ok_or_else(|| {
            let message = format!("type \"{}\" does not exist", name.join("."));
            SqlError::new(SqlState::UNDEFINED_OBJECT, message)
        })
    }

    /// The type that a type's name means, if users made it.
    pub fn user_type_of(&self, name: &TypeName) -> Option<&'a Arc<TypeRecord>> {
        self.type_of_name(&names::strings(&name.names)).ok()
    }

    /// What a type is called: with its schema, unless the bare name finds it.
    pub fn shown_type(&self, record: &TypeRecord) -> String {
        match self.find_type(None, &record.name) {
            Some(found) if found.id == record.id => quoted(&record.name),
            _ => format!("{}.{}", quoted(&record.schema), quoted(&record.name)),
        }
    }

    /// What the type of the rows of a table, or a composite type, is called.
    pub fn shown_row(&self, table: &TableDef) -> String {
        if let Some(record) = self.catalog().user_type(table.id.0) {
            return self.shown_type(record);
        }
        match self.shows(&table.schema, &table.name) {
            true => quoted(&table.name),
            false => format!("{}.{}", quoted(&table.schema), quoted(&table.name)),
        }
    }

    /// What the type with a number is called, also that of an array.
    pub fn shown_type_number(&self, number: u32) -> Option<String> {
        if let Some((relation, is_array)) = relation_of(number) {
            let name = match self.catalog().table_of_type(relation | ROW_TYPE) {
                Some(table) => self.shown_row(&table),
                None => system_relation(relation)?,
            };
            return Some(if is_array { name + "[]" } else { name });
        }
        let record = self.catalog().type_with(number)?;
        let name = self.shown_type(record);
        Some(match number == record.id {
            true => name,
            false => name + "[]",
        })
    }

    /// The text with names where types stand as numbers.
    pub fn with_type_names(&self, text: String) -> String {
        let shown = |number, place: Option<u32>| match place {
            Some(place) => self.catalog().label(number, place).map(str::to_string),
            None => self.shown_type_number(number),
        };
        name_marked(&text, shown).unwrap_or(text)
    }

    /// The error with names where types stand as numbers.
    pub fn name_types(&self, mut error: SqlError) -> SqlError {
        error.message = self.with_type_names(std::mem::take(&mut error.message));
        let named = |text: Box<str>| self.with_type_names(text.into()).into();
        error.detail = error.detail.take().map(named);
        error.hint = error.hint.take().map(named);
        error
    }

    /// The place of a label.
    ///
    /// # Errors
    /// `22P02` if the enum has no such label.
    pub fn place_of(&self, ty: u32, label: &str) -> SqlResult<u32> {
        let record = self.catalog().user_type(ty);
        let labels = record.and_then(|record| record.labels());
        let mut labels = labels.unwrap_or_default().iter();
        let found = labels.find(|known| known.label == label);
        found.map(|label| label.place).ok_or_else(|| {
            let name = record.map_or_else(|| ty.to_string(), |record| self.shown_type(record));
            no_label(&name, label)
        })
    }

    /// Reads the text of a value; labels by this planner's catalogue, also where the session's names are not at hand.
    ///
    /// # Errors
    /// As [`text_format::read`].
    pub fn read_value(&self, ty: SqlType, text: &str) -> SqlResult<Value> {
        let label = |number, text: &str| {
            let place = self.place_of(number, text)?;
            Ok(Value::Enum(EnumValue { ty: number, place }))
        };
        match ty {
            SqlType::Enum(number) => label(number, text),
            SqlType::EnumArray(number) => {
                let read = text_format::read(SqlType::TextArray, text, self.context.format)?;
                let Value::Array(read) = read else {
                    return Ok(read);
                };
                let values = read.values.iter().map(|value| match value.as_str() {
                    Some(text) => label(number, text),
                    None => Ok(Value::Null),
                });
                Ok(Value::Array(Box::new(Array {
                    shape: read.shape.clone(),
                    element: SqlType::Enum(number),
                    values: values.collect::<SqlResult<_>>()?,
                })))
            }
            ty if ty.element().unwrap_or(ty).is_record() => {
                let format = FormatContext {
                    objects: self.catalog().labels_and_fields(),
                    ..self.context.format.clone()
                };
                text_format::read(ty, text, &format)
            }
            ty => text_format::read(ty, text, self.context.format),
        }
    }

    /// The text of a value that [`Planner::read_value`] reads back, whatever the session's settings.
    pub fn write_value(&self, value: &Value, ty: SqlType) -> String {
        let label = |value: EnumValue| {
            let known = self.catalog().label(value.ty, value.place);
            known.unwrap_or_default().to_string()
        };
        let format = FormatContext::default();
        match value {
            Value::Enum(value) => label(*value),
            Value::Array(array) if array.element.is_enum() => {
                let values = array.values.iter().map(|value| match value {
                    Value::Enum(value) => Value::text(label(*value)),
                    _ => Value::Null,
                });
                let texts = Value::Array(Box::new(Array {
                    shape: array.shape.clone(),
                    element: SqlType::Text,
                    values: values.collect(),
                }));
                text_format::to_string(&texts, SqlType::TextArray, &format)
            }
            value if ty.element().unwrap_or(ty).is_record() => {
                let format = FormatContext {
                    objects: self.catalog().labels_and_fields(),
                    ..format
                };
                text_format::to_string(value, ty, &format)
            }
            value => text_format::to_string(value, ty, &format),
        }
    }
}

//! CREATE TYPE of enums and composite types, and ALTER TYPE.
//!
//! Relies on: `draft`; rows keep the places of labels ([`crate::records::LabelRecord`]).  Promises: no row is touched: a
//! label that comes between two others takes a place between theirs, and one that is renamed keeps its own.  Does not:
//! range types, base types (0A000), attributes of composite types once they are made (`attribute`), or rename what is named in text
//! that the catalogue keeps.

use super::creation_schema;
use super::rename::has_word;
use crate::command::Planned;
use crate::draft::{Draft, spaces_of};
use crate::names::{self, inner, required};
use crate::parse;
use crate::planner::Planner;
use crate::records::{LabelRecord, TypeKind, TypeRecord, ViewColumnRecord};
use crate::types;
use pg_query::NodeEnum;
use pg_query::protobuf::{
    AlterEnumStmt, ColumnDef, CompositeTypeStmt, CreateEnumStmt, Node, ObjectType, RangeVar,
    RenameStmt, TypeName,
};
use quintet_base::types::ROW_TYPE;
use quintet_base::{SqlError, SqlResult, SqlState, SqlType, limits};
use quintet_ir::ddl::Work;
use quintet_ir::{Object, ObjectKind, Privileges};

/// The place of the first label: half of all places are before it, half behind.
const FIRST_PLACE: u32 = 1 << 31;
/// Places between two labels at first: labels can be put into a gap 16 times, one always beside the last.
const GAP: u32 = 1 << 16;

/// A type as what has an owner.
pub(super) fn type_object(number: u32) -> Object {
    Object {
        kind: ObjectKind::Type,
        number,
    }
}

/// A type's name as that of a relation would be.
pub(super) fn as_relation(name: &[Node]) -> SqlResult<RangeVar> {
    let (database, schema, name) = match names::strings(name)[..] {
        [name] => ("", "", name),
        [schema, name] => ("", schema, name),
        [database, schema, name] => (database, schema, name),
        _ => return Err(SqlError::unsupported("a name of four parts")),
    };
    Ok(RangeVar {
        catalogname: database.to_string(),
        schemaname: schema.to_string(),
        relname: name.to_string(),
        location: -1,
        ..Default::default()
    })
}

/// A new type's record without what it is, and numbers for it, its array type and its fields.
pub(super) fn begin(draft: &mut Draft, name: &RangeVar, kind: TypeKind) -> SqlResult<TypeRecord> {
    let schema = creation_schema(draft.planner, name)?.to_string();
    refuse_taken(draft.planner, &schema, &name.relname)?;
    draft.enter(&schema)?;
    let (id, _, _) = (draft.id(), draft.id(), draft.id());
    Ok(TypeRecord {
        id,
        schema,
        name: name.relname.clone(),
        kind,
    })
}

/// Names of types are also those of the rows of tables and views.
///
/// # Errors
/// `42710` if a type or relation of the schema has the name.
pub(super) fn refuse_taken(planner: &Planner, schema: &str, name: &str) -> SqlResult<()> {
    use crate::catalog::Relation;
    let catalog = planner.catalog();
    let relation = catalog.relation(schema, name);
    let is_row = matches!(relation, Some(Relation::Table(_) | Relation::View(_)));
    if is_row || catalog.type_named(schema, name).is_some() {
        let message = format!("type \"{name}\" already exists");
        return Err(SqlError::new(SqlState::DUPLICATE_OBJECT, message));
    }
    Ok(())
}

/// A relation whose rows would have the name of a type.
///
/// # Errors
/// `42710`.
pub(super) fn refuse_relation(planner: &Planner, schema: &str, name: &str) -> SqlResult<()> {
    if planner.catalog().type_named(schema, name).is_none() {
        return Ok(());
    }
    let message = format!("type \"{name}\" already exists");
    let hint = "A relation has an associated type of the same name, so you must use a name \
                that doesn't conflict with any existing type.";
    Err(SqlError::new(SqlState::DUPLICATE_OBJECT, message).hint(hint))
}

fn check_label(label: &str) -> SqlResult<()> {
    if label.len() <= limits::IDENTIFIER_BYTES_MAX {
        return Ok(());
    }
    let message = format!("invalid enum label \"{label}\"");
    let max = limits::IDENTIFIER_BYTES_MAX;
    Err(SqlError::new(SqlState::INVALID_NAME, message)
        .detail(format!("Labels must be {max} bytes or less.")))
}

pub(super) fn create_enum(planner: &Planner, statement: &CreateEnumStmt) -> SqlResult<Planned> {
    let mut draft = Draft::new(planner);
    let name = as_relation(&statement.type_name)?;
    let mut record = begin(&mut draft, &name, TypeKind::Enum(Vec::new()))?;
    let mut labels: Vec<LabelRecord> = Vec::with_capacity(statement.vals.len());
    for (number, label) in names::strings(&statement.vals).into_iter().enumerate() {
        check_label(label)?;
        if labels.iter().any(|other| other.label == label) {
            let message = "duplicate key value violates unique constraint \
                           \"pg_enum_typid_label_index\"";
            return Err(
                SqlError::new(SqlState::UNIQUE_VIOLATION, message).detail(format!(
                    "Key (enumtypid, enumlabel)=({}, {label}) already exists.",
                    record.id
                )),
            );
        }
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        let place = number
            .checked_mul(GAP)
            .and_then(|above| above.checked_add(FIRST_PLACE));
        labels.push(LabelRecord {
            id: draft.id(),
            place: place.ok_or_else(too_many)?,
            sort: number as f32 + 1.0,
            label: label.to_string(),
        });
    }
    record.kind = TypeKind::Enum(labels);
    draft.put_type(&record)?;
    draft.finish("CREATE TYPE")
}

fn too_many() -> SqlError {
    let message = "no place is left for a label there";
    SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message)
}

pub(super) fn create_composite(
    planner: &Planner,
    statement: &CompositeTypeStmt,
) -> SqlResult<Planned> {
    let mut draft = Draft::new(planner);
    let name = required(statement.typevar.as_ref())?;
    let mut fields: Vec<ViewColumnRecord> = Vec::with_capacity(statement.coldeflist.len());
    for node in &statement.coldeflist {
        let Some(NodeEnum::ColumnDef(column)) = inner(node) else {
            return Err(SqlError::unsupported("this part of CREATE TYPE"));
        };
        let made = field(planner, column)?;
        if fields.iter().any(|other| other.name == made.name) {
            let message = format!("column \"{}\" specified more than once", made.name);
            return Err(SqlError::new(SqlState::DUPLICATE_COLUMN, message));
        }
        fields.push(made);
    }
    let record = begin(&mut draft, name, TypeKind::Composite(fields))?;
    draft.put_type(&record)?;
    draft.finish("CREATE TYPE")
}

/// What is declared with a type needs USAGE of it.
///
/// # Errors
/// `42501`.
pub(super) fn may_use(planner: &Planner, name: &TypeName) -> SqlResult<()> {
    match planner.user_type_of(name) {
        Some(record) => planner.must_have(type_object(record.id), Privileges::USAGE),
        None => match types::resolve(planner, name) {
            Ok((ty, _)) => may_use_built_in(planner, ty),
            // `serial` is said elsewhere.
            Err(_) => Ok(()),
        },
    }
}

/// The same of a type of the system, which everybody may use unless somebody has said something else.
///
/// # Errors
/// `42501`.
pub(crate) fn may_use_built_in(planner: &Planner, ty: SqlType) -> SqlResult<()> {
    let number = ty.element().unwrap_or(ty).oid();
    match planner.catalog().roles().access(number) {
        Some(_) => planner.must_have(type_object(number), Privileges::USAGE),
        None => Ok(()),
    }
}

/// A field of a composite type.
pub(super) fn field(planner: &Planner, column: &ColumnDef) -> SqlResult<ViewColumnRecord> {
    let type_name = required(column.type_name.as_ref())?;
    let (ty, modifier) = types::resolve(planner, type_name)?;
    may_use(planner, type_name)?;
    let name = column.colname.as_str();
    if matches!(ty, SqlType::Unknown | SqlType::Void | SqlType::Cstring) {
        let message = format!("column \"{name}\" has pseudo-type {ty}");
        return Err(SqlError::new(SqlState::INVALID_TABLE_DEFINITION, message));
    }
    if let SqlType::Composite(number) | SqlType::CompositeArray(number) = ty
        && number & ROW_TYPE != 0
    {
        // Types are made before tables when a dump is read.
        return Err(SqlError::unsupported(
            "a table's rows as fields of a composite type",
        ));
    }
    super::table::collation(planner, column, ty)?;
    Ok(ViewColumnRecord {
        name: name.to_string(),
        ty,
        modifier,
    })
}

/// ALTER TYPE … ADD VALUE, RENAME VALUE.
pub(super) fn alter_enum(planner: &Planner, statement: &AlterEnumStmt) -> SqlResult<Planned> {
    const TAG: &str = "ALTER TYPE";
    let found = planner.type_of_name(&names::strings(&statement.type_name))?;
    planner.must_own(type_object(found.id))?;
    let mut record = (**found).clone();
    let TypeKind::Enum(labels) = &mut record.kind else {
        let message = format!("{} is not an enum", planner.shown_type(found));
        return Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, message));
    };
    let new = statement.new_val.as_str();
    check_label(new)?;
    let is_there = labels.iter().any(|label| label.label == new);
    let mut draft = Draft::new(planner);
    draft.make_in(&record.schema);
    if !statement.old_val.is_empty() {
        let place = place_of(labels, &statement.old_val)?;
        if is_there {
            return Err(already(new));
        }
        labels[place].label = new.to_string();
        draft.put_type(&record)?;
        rename_in_tables(&mut draft, &record, &statement.old_val, new)?;
        return draft.finish(TAG);
    }
    if is_there {
        if !statement.skip_if_new_val_exists {
            return Err(already(new));
        }
        planner.notice_there(
            SqlState::DUPLICATE_OBJECT,
            format_args!("enum label \"{new}\""),
        );
        return Ok(planner.nothing(TAG));
    }
    let at = match (&*statement.new_val_neighbor, statement.new_val_is_after) {
        ("", _) => labels.len(),
        (neighbor, after) => place_of(labels, neighbor)? + usize::from(after),
    };
    let (before, behind) = (at.checked_sub(1).map(|at| &labels[at]), labels.get(at));
    let (place, sort) = match (before, behind) {
        (None, None) => (Some(FIRST_PLACE), 1.0),
        (Some(before), None) => (before.place.checked_add(GAP), before.sort + 1.0),
        (None, Some(behind)) => (behind.place.checked_sub(GAP), behind.sort - 1.0),
        (Some(before), Some(behind)) => {
            let half = (behind.place - before.place) / 2;
            let between = (half > 0).then_some(before.place + half);
            (between, (before.sort + behind.sort) / 2.0)
        }
    };
    let label = LabelRecord {
        id: draft.id(),
        place: place.ok_or_else(too_many)?,
        sort,
        label: new.to_string(),
    };
    labels.insert(at, label);
    draft.put_type(&record)?;
    // Who still plans with the labels that there were must not meet the new one.
    for table in planner.catalog().tables() {
        if table
            .columns
            .iter()
            .any(|column| is_of(column.ty, found.id))
        {
            draft.work(Work::Fence(spaces_of(table)));
        }
    }
    draft.finish(TAG)
}

/// Whether a type is an enum or a composite type, or its array.
pub(super) fn is_of(ty: SqlType, number: u32) -> bool {
    use SqlType::{Composite, CompositeArray, Enum, EnumArray};
    let of_extension = |ty: SqlType| ty.is_of_extension() && ty.oid() == number;
    matches!(ty, Enum(own) | EnumArray(own) | Composite(own) | CompositeArray(own) if own == number)
        || of_extension(ty.element().unwrap_or(ty))
}

fn place_of(labels: &[LabelRecord], label: &str) -> SqlResult<usize> {
    let place = labels.iter().position(|known| known.label == label);
    place.ok_or_else(|| {
        let message = format!("\"{label}\" is not an existing enum label");
        SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message)
    })
}

fn already(label: &str) -> SqlError {
    let message = format!("enum label \"{label}\" already exists");
    SqlError::new(SqlState::DUPLICATE_OBJECT, message)
}

/// A label's text stands in what rows without a column read, and may stand in defaults, checks and views.
fn rename_in_tables(draft: &mut Draft, record: &TypeRecord, old: &str, new: &str) -> SqlResult<()> {
    let catalog = draft.planner.catalog();
    for table in catalog.tables() {
        let mut stored = super::record_of(draft.planner, table)?;
        let mut touched = texts_of(&stored).any(|text| text.contains(old));
        for column in &mut stored.columns {
            if column.ty == SqlType::Enum(record.id) && column.missing.as_deref() == Some(old) {
                column.missing = Some(new.to_string());
                touched = true;
            }
        }
        if touched {
            stored.revision += 1;
            draft.put_table(&stored)?;
            draft.work(Work::Fence(spaces_of(table)));
        }
    }
    refuse_in_text(
        draft,
        &|text| has_label(text, old),
        &format!("label \"{old}\""),
    )
}

/// The texts that a table's record keeps.
pub(super) fn texts_of(record: &crate::records::TableRecord) -> impl Iterator<Item = &str> {
    let columns = record.columns.iter();
    let columns = columns.flat_map(|column| [column.default.as_deref(), column.missing.as_deref()]);
    let generated = record.more.generated.iter().map(|(_, text)| text.as_str());
    let checks = record.checks.iter().map(|check| check.text.as_str());
    columns.flatten().chain(generated).chain(checks)
}

/// Whether a text may name a label: it is a constant, or among the elements of one that is an array's or a row's.
fn has_label(text: &str, label: &str) -> bool {
    let Ok(words) = parse::scan(text) else {
        return text.contains(label);
    };
    words.iter().any(|(from, to)| {
        let word = &text[*from..*to];
        let Some(inside) = word
            .strip_prefix('\'')
            .and_then(|word| word.strip_suffix('\''))
        else {
            // `E'…'`, `U&'…'`, `$$…$$`.
            return word.contains(['\'', '$']) && word.contains(label);
        };
        let inside = inside.replace("''", "'");
        inside == label || inside.starts_with(['{', '(']) && inside.contains(label)
    })
}

/// Refuses a new name where text that is kept may have the old one.
fn refuse_in_text(draft: &Draft, has: &dyn Fn(&str) -> bool, what: &str) -> SqlResult<()> {
    let planner = draft.planner;
    let named = |place: String| SqlError::unsupported(format!("renaming {what}, named in {place}"));
    let mut views = planner.catalog().all_views();
    if let Some(view) = views.find(|view| has(&view.text)) {
        return Err(named(format!("view \"{}\"", view.name)));
    }
    for other in planner.catalog().user_types() {
        let Some(domain) = other.domain() else {
            continue;
        };
        let checks = domain.checks.iter().map(|check| check.text.as_str());
        let mut texts = checks.chain(domain.default.as_deref());
        if texts.any(has) {
            return Err(named(format!("domain \"{}\"", other.name)));
        }
    }
    // Tables whose text does not read any more.
    match draft.catalog_to_be() {
        Ok(_) => Ok(()),
        Err(_) => Err(named(
            "a default, a check or a generated column".to_string(),
        )),
    }
}

/// ALTER TYPE and ALTER DOMAIN … RENAME TO.
pub(super) fn rename(planner: &Planner, statement: &RenameStmt) -> SqlResult<Planned> {
    let Some(NodeEnum::List(name)) = statement.object.as_deref().and_then(inner) else {
        return Err(SqlError::unsupported("this form of ALTER TYPE"));
    };
    let found = planner.type_of_name(&names::strings(&name.items))?;
    let tag = match statement.rename_type() {
        ObjectType::ObjectDomain if found.domain().is_none() => {
            let message = format!("{} is not a domain", planner.shown_type(found));
            return Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, message));
        }
        ObjectType::ObjectDomain => "ALTER DOMAIN",
        _ => "ALTER TYPE",
    };
    planner.must_own(type_object(found.id))?;
    if found.is_of_extension() {
        return Err(SqlError::unsupported("renaming a type of an extension"));
    }
    refuse_taken(planner, &found.schema, &statement.newname)?;
    let mut draft = Draft::new(planner);
    let mut record = (**found).clone();
    record.name = statement.newname.clone();
    draft.put_type(&record)?;
    for table in planner.catalog().tables() {
        let mut stored = super::record_of(planner, table)?;
        let of_domain = stored
            .more
            .domains
            .iter()
            .any(|(_, domain)| *domain == found.id);
        if of_domain || texts_of(&stored).any(|text| text.contains(&found.name)) {
            stored.revision += 1;
            draft.put_table(&stored)?;
            draft.work(Work::Fence(spaces_of(table)));
        }
    }
    let what = format!("type \"{}\"", found.name);
    refuse_in_text(&draft, &|text| has_word(text, &found.name), &what)?;
    let mut routines = planner.catalog().all_routines();
    if let Some(routine) = routines.find(|routine| has_word(&routine.record.text, &found.name)) {
        let name = &routine.record.name;
        let what = format!("renaming {what}, named in function \"{name}\"");
        return Err(SqlError::unsupported(what));
    }
    draft.finish(tag)
}

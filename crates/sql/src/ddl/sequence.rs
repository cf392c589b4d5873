//! Sequences: CREATE, ALTER, and those that come with a column.
//!
//! Relies on: `draft`.  Promises: PostgreSQL's defaults and bounds for each type.  Keeps CACHE to
//! be shown (docs/sql.md).  Does not: count.

use super::hidden::quoted_always;
use super::{changed_sequence, creation_schema, there_already};
use crate::catalog::Relation;
use crate::command::Planned;
use crate::draft::Draft;
use crate::names::{self, inner, required};
use crate::planner::Planner;
use crate::records::{SequenceRecord, TableRecord};
use crate::types;
use pg_query::NodeEnum;
use pg_query::protobuf::{AlterSeqStmt, CreateSeqStmt, Node};
use quintet_base::{SequenceId, SqlError, SqlResult, SqlState, SqlType};
use quintet_ir::Expr;
use quintet_ir::schema::SequenceDef;

/// Options as they were given.
#[derive(Default)]
struct Options {
    ty: Option<SqlType>,
    start: Option<i64>,
    increment: Option<i64>,
    /// `Some(None)`: NO MINVALUE.
    min: Option<Option<i64>>,
    max: Option<Option<i64>>,
    cycle: Option<bool>,
    cache: Option<i64>,
    /// `Some(None)`: RESTART without a value.
    restart: Option<Option<i64>>,
    /// `Some(None)`: OWNED BY NONE.
    owned_by: Option<Option<(Vec<String>, String)>>,
    name: Option<String>,
}

fn invalid(message: String) -> SqlError {
    SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

fn read(planner: &Planner, nodes: &[Node]) -> SqlResult<Options> {
    let mut options = Options::default();
    for node in nodes {
        let Some(NodeEnum::DefElem(option)) = inner(node) else {
            continue;
        };
        let number = || -> SqlResult<Option<i64>> {
            match option.arg.as_deref() {
                None => Ok(None),
                Some(node) => names::bigint(node).map(Some).ok_or_else(|| {
                    planner.error(
                        SqlState::SYNTAX_ERROR,
                        format!("{} requires an integer", option.defname),
                        option.location,
                    )
                }),
            }
        };
        match option.defname.as_str() {
            "as" => {
                let Some(NodeEnum::TypeName(name)) = option.arg.as_deref().and_then(inner) else {
                    return Err(SqlError::internal("AS without a type"));
                };
                let (ty, _) = types::resolve(planner, name)?;
                if !matches!(ty, SqlType::Int2 | SqlType::Int4 | SqlType::Int8) {
                    return Err(invalid(
                        "sequence type must be smallint, integer, or bigint".to_string(),
                    ));
                }
                options.ty = Some(ty);
            }
            "start" => options.start = number()?,
            "increment" => options.increment = number()?,
            "minvalue" => options.min = Some(number()?),
            "maxvalue" => options.max = Some(number()?),
            "cycle" => {
                let text = option.arg.as_deref().and_then(names::option_text);
                options.cycle = Some(text.as_deref() != Some("false"));
            }
            "restart" => options.restart = Some(number()?),
            "cache" => {
                options.cache = number()?;
                if let Some(cache @ ..1) = options.cache {
                    return Err(invalid(format!(
                        "CACHE ({cache}) must be greater than zero"
                    )));
                }
            }
            "owned_by" => {
                let items = option
                    .arg
                    .as_deref()
                    .and_then(names::list)
                    .unwrap_or_default();
                options.owned_by = Some(match names::strings(items)[..] {
                    ["none"] => None,
                    [ref table @ .., column] if !table.is_empty() => Some((
                        table.iter().map(ToString::to_string).collect(),
                        column.to_string(),
                    )),
                    _ => {
                        return Err(SqlError::new(
                            SqlState::SYNTAX_ERROR,
                            "invalid OWNED BY option",
                        ));
                    }
                });
            }
            "sequence_name" => {
                let items = option
                    .arg
                    .as_deref()
                    .and_then(names::list)
                    .unwrap_or_default();
                options.name = names::strings(items).last().map(|s| (*s).to_string());
            }
            other => {
                return Err(planner.unsupported(
                    format!("sequence option {}", other.to_uppercase()),
                    option.location,
                ));
            }
        }
    }
    Ok(options)
}

/// A definition from options, on top of what there was before.
fn define(sequence: &mut SequenceDef, options: &Options, new: bool) -> SqlResult<()> {
    let bounds = |ty: SqlType| match ty {
        SqlType::Int2 => (i64::from(i16::MIN), i64::from(i16::MAX)),
        SqlType::Int4 => (i64::from(i32::MIN), i64::from(i32::MAX)),
        _ => (i64::MIN, i64::MAX),
    };
    let old_bounds = bounds(sequence.ty);
    if let Some(ty) = options.ty {
        sequence.ty = ty;
    }
    if let Some(increment) = options.increment {
        if increment == 0 {
            return Err(invalid("INCREMENT must not be zero".to_string()));
        }
        sequence.increment = increment;
    }
    let ascending = sequence.increment > 0;
    let (lowest, highest) = bounds(sequence.ty);
    // Bounds that were the type's own follow the type.
    let follows = options.ty.is_some();
    match options.max {
        Some(Some(max)) => sequence.max = max,
        Some(None) => sequence.max = if ascending { highest } else { -1 },
        None if new || (follows && sequence.max == old_bounds.1) => {
            sequence.max = if ascending { highest } else { -1 };
        }
        None => {}
    }
    match options.min {
        Some(Some(min)) => sequence.min = min,
        Some(None) => sequence.min = if ascending { 1 } else { lowest },
        None if new || (follows && sequence.min == old_bounds.0) => {
            sequence.min = if ascending { 1 } else { lowest };
        }
        None => {}
    }
    let SequenceDef { min, max, ty, .. } = *sequence;
    if max > highest {
        return Err(invalid(format!(
            "MAXVALUE ({max}) is out of range for sequence data type {ty}"
        )));
    }
    if min < lowest {
        return Err(invalid(format!(
            "MINVALUE ({min}) is out of range for sequence data type {ty}"
        )));
    }
    if min >= max {
        return Err(invalid(format!(
            "MINVALUE ({min}) must be less than MAXVALUE ({max})"
        )));
    }
    if let Some(start) = options.start {
        sequence.start = start;
    } else if new {
        sequence.start = if ascending { min } else { max };
    }
    let start = sequence.start;
    if start < min {
        return Err(invalid(format!(
            "START value ({start}) cannot be less than MINVALUE ({min})"
        )));
    }
    if start > max {
        return Err(invalid(format!(
            "START value ({start}) cannot be greater than MAXVALUE ({max})"
        )));
    }
    if let Some(cycle) = options.cycle {
        sequence.cycle = cycle;
    }
    sequence.cache = options.cache.unwrap_or(sequence.cache);
    Ok(())
}

fn blank(id: SequenceId, schema: &str, name: String, ty: SqlType) -> SequenceDef {
    SequenceDef {
        id,
        counter: id,
        schema: schema.to_string(),
        name,
        ty,
        start: 1,
        increment: 1,
        min: 1,
        max: i64::MAX,
        cycle: false,
        cache: 1,
        owned_by: None,
    }
}

/// The sequence of a SERIAL or identity column; the text of the column's default.
pub(super) fn for_column(
    draft: &mut Draft,
    table: &TableRecord,
    number: usize,
    column: &str,
    ty: SqlType,
    options: &[Node],
) -> SqlResult<String> {
    if !matches!(ty, SqlType::Int2 | SqlType::Int4 | SqlType::Int8) {
        return Err(invalid(
            "identity column type must be smallint, integer, or bigint".to_string(),
        ));
    }
    let options = read(draft.planner, options)?;
    let name = match &options.name {
        Some(name) => {
            draft.take_name(&table.schema, name)?;
            name.clone()
        }
        None => draft.make_name(&table.schema, &table.name, &[column], "seq"),
    };
    let mut sequence = blank(SequenceId(draft.id()), &table.schema, name, ty);
    define(&mut sequence, &options, true)?;
    own(draft, sequence, table, number)
}

/// The sequence of an identity column that counts as another does; the text of the column's default.
pub(super) fn like(
    draft: &mut Draft,
    table: &TableRecord,
    number: usize,
    column: &str,
    other: &SequenceDef,
) -> SqlResult<String> {
    let name = draft.make_name(&table.schema, &table.name, &[column], "seq");
    let id = SequenceId(draft.id());
    let sequence = SequenceDef {
        id,
        counter: id,
        schema: table.schema.clone(),
        name,
        ..other.clone()
    };
    own(draft, sequence, table, number)
}

/// Makes a sequence a column's; the text of the column's default.
fn own(
    draft: &mut Draft,
    mut sequence: SequenceDef,
    table: &TableRecord,
    number: usize,
) -> SqlResult<String> {
    sequence.owned_by = Some((table.id, number));
    let text = next_value(&table.schema, &sequence.schema, &sequence.name);
    draft.add_sequence(sequence)?;
    Ok(text)
}

/// The text of a default, of a table in the schema `of`, that is a sequence's next value. Of its own schema a table's text
/// needs no name, which may change.
pub(super) fn next_value(of: &str, schema: &str, name: &str) -> String {
    let mut named = quoted_always(name);
    if of != schema {
        named = format!("{}.{named}", quoted_always(schema));
    }
    format!("nextval('{}'::regclass)", named.replace('\'', "''"))
}

/// The sequence of a default that is nothing but its next value.
pub(super) fn next_of(default: &Expr) -> Option<SequenceId> {
    match default {
        Expr::NextVal(id) => Some(*id),
        Expr::Cast { input, .. } => next_of(input),
        _ => None,
    }
}

fn owner(
    planner: &Planner,
    schema: &str,
    options: &Options,
) -> SqlResult<Option<(quintet_base::TableId, usize)>> {
    let Some(Some((table, column))) = &options.owned_by else {
        return Ok(None);
    };
    let words: Vec<&str> = table.iter().map(String::as_str).collect();
    let relation = match *planner.local_relation(&words)? {
        [name] => planner.find_relation(None, name),
        [schema, name] => planner.find_relation(Some(schema), name),
        _ => None,
    };
    let found = match relation {
        Some(Relation::Table(id)) => planner.catalog().table_by_id(id),
        _ => None,
    };
    let found = found.ok_or_else(|| {
        SqlError::new(
            SqlState::UNDEFINED_TABLE,
            format!("relation \"{}\" does not exist", words.join(".")),
        )
    })?;
    if found.schema != schema {
        let message = "sequence must be in same schema as table it is linked to";
        return Err(SqlError::new(
            SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
            message,
        ));
    }
    let number = crate::insert::column_number(planner, found, column, -1)?;
    Ok(Some((found.id, number)))
}

pub(super) fn create(planner: &Planner, statement: &CreateSeqStmt) -> SqlResult<Planned> {
    const TAG: &str = "CREATE SEQUENCE";
    let relation = required(statement.sequence.as_ref())?;
    let schema = creation_schema(planner, relation)?;
    if statement.if_not_exists
        && let Some(planned) = there_already(planner, (schema, &relation.relname), TAG)
    {
        return Ok(planned);
    }
    let options = read(planner, &statement.options)?;
    let mut draft = Draft::new(planner);
    draft.enter(schema)?;
    draft.take_name(schema, &relation.relname)?;
    let ty = options.ty.unwrap_or(SqlType::Int8);
    let mut sequence = blank(SequenceId(draft.id()), schema, relation.relname.clone(), ty);
    define(&mut sequence, &options, true)?;
    sequence.owned_by = owner(planner, schema, &options)?;
    draft.add_sequence(sequence)?;
    draft.finish(TAG)
}

pub(super) fn alter(planner: &Planner, statement: &AlterSeqStmt) -> SqlResult<Planned> {
    const TAG: &str = "ALTER SEQUENCE";
    let relation = required(statement.sequence.as_ref())?;
    let name = &relation.relname;
    let found = crate::from::find_named(planner, relation)?;
    let schema = found.and_then(|found| planner.catalog().schema_of(found));
    let schema = schema.as_deref().unwrap_or_default();
    let id = match found {
        Some(Relation::Sequence(id)) => id,
        Some(_) => {
            let message = format!("\"{name}\" is not a sequence");
            return Err(planner.error(SqlState::WRONG_OBJECT_TYPE, message, relation.location));
        }
        None if statement.missing_ok => {
            planner.notice(format!("relation \"{name}\" does not exist, skipping"));
            return Ok(planner.nothing(TAG));
        }
        None => {
            let message = format!("relation \"{name}\" does not exist");
            return Err(planner.error(SqlState::UNDEFINED_TABLE, message, relation.location));
        }
    };
    planner.must_own(super::sequence_object(id))?;
    let options = read(planner, &statement.options)?;
    let mut draft = Draft::new(planner);
    let record = changed_sequence(planner, id, |_| {})?;
    let owned_by = match options.owned_by {
        Some(_) => owner(planner, schema, &options)?,
        None => record.owned_by,
    };
    put(&mut draft, SequenceRecord { owned_by, ..record }, &options)?;
    draft.finish(TAG)
}

/// Changes a sequence as these options say.
///
/// # Errors
/// `42601` for an option that says what the sequence is, and as ALTER SEQUENCE.
pub(super) fn redefine(draft: &mut Draft, record: SequenceRecord, nodes: &[Node]) -> SqlResult<()> {
    let options = read(draft.planner, nodes)?;
    if options.name.is_some() {
        let message = "invalid sequence option SEQUENCE NAME";
        return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
    }
    put(draft, record, &options)
}

fn put(draft: &mut Draft, record: SequenceRecord, options: &Options) -> SqlResult<()> {
    let mut sequence = crate::stored::sequence(record);
    define(&mut sequence, options, false)?;
    let Some(restart) = options.restart else {
        return draft.put_sequence(&crate::stored::sequence_record(&sequence));
    };
    let next = restart.unwrap_or(sequence.start);
    let (min, max) = (sequence.min, sequence.max);
    if next < min {
        return Err(invalid(format!(
            "RESTART value ({next}) cannot be less than MINVALUE ({min})"
        )));
    }
    if next > max {
        return Err(invalid(format!(
            "RESTART value ({next}) cannot be greater than MAXVALUE ({max})"
        )));
    }
    draft.restart_sequence(&mut sequence, next)
}

//! Trigger functions that are built in: `tsvector_update_trigger`, `tsvector_update_trigger_column` and `suppress_redundant_updates_trigger`.
//!
//! Relies on: PL/pgSQL, in which they are written for each trigger anew, by its table and its arguments.  Promises: PostgreSQL's numbers,
//! names and errors.  Does not: keep anything in the catalogue; nobody can call, replace or drop them.
//!
//! PostgreSQL looks at which columns an UPDATE sets. Here the words are read again if a text has changed, or if the vector has not: so
//! `SET body = body` reads them again, and a vector that is set by hand stays.

use super::StoredRoutine;
use super::quoted;
use crate::records::{RoutineRecord, TriggerRecord};
use quintet_base::lexemes::config_named;
use quintet_base::types::TypeFamily;
use quintet_base::{RoutineId, SqlError, SqlResult, SqlState, SqlType};
use quintet_ir::TableDef;
use std::sync::{Arc, LazyLock};

const SUPPRESS: RoutineId = RoutineId(1291);
const BY_NAME: RoutineId = RoutineId(3752);
const BY_COLUMN: RoutineId = RoutineId(3753);

static ALL: LazyLock<[Arc<StoredRoutine>; 3]> = LazyLock::new(|| {
    let all = [
        (SUPPRESS, "suppress_redundant_updates_trigger"),
        (BY_NAME, "tsvector_update_trigger"),
        (BY_COLUMN, "tsvector_update_trigger_column"),
    ];
    all.map(|(id, name)| {
        Arc::new(StoredRoutine::new(RoutineRecord {
            id,
            schema: "pg_catalog".to_string(),
            name: name.to_string(),
            text: written(name, "NULL;"),
            altered: Vec::new(),
        }))
    })
});

/// The text that keeps an UPDATE from a row that it leaves as it is: a value is the same if it is written the same way.
fn suppressing(trigger: &TriggerRecord, table: &TableDef) -> SqlResult<String> {
    let name = "suppress_redundant_updates_trigger";
    let wrong = if !trigger.update || trigger.insert || trigger.delete {
        Some("called on update")
    } else if !trigger.before {
        Some("called before update")
    } else if !trigger.row {
        Some("called for each row")
    } else {
        None
    };
    if let Some(wrong) = wrong {
        let message = format!("{name}: must be {wrong}");
        return Err(SqlError::new(SqlState(*b"39P01"), message));
    }
    let columns = table.visible_columns();
    let written_columns = columns.filter(|(_, column)| column.generated.is_none());
    let same = written_columns.map(|(_, column)| {
        let column = quoted(&column.name);
        format!("NEW.{column}::text IS NOT DISTINCT FROM OLD.{column}::text")
    });
    let same: Vec<String> = same.chain(["TRUE".to_string()]).collect();
    let body = format!("IF {} THEN RETURN NULL; END IF;", same.join(" AND "));
    Ok(written(name, &body))
}

fn written(name: &str, body: &str) -> String {
    format!(
        "CREATE FUNCTION pg_catalog.{name}() RETURNS trigger LANGUAGE plpgsql AS $words$\nBEGIN\n{body}\nRETURN NEW;\nEND $words$"
    )
}

/// The one with this number.
pub(crate) fn built_in(id: RoutineId) -> Option<&'static Arc<StoredRoutine>> {
    ALL.iter().find(|stored| stored.record.id == id)
}

/// The one with this name.
pub(crate) fn built_in_named(schema: Option<&str>, name: &str) -> Option<RoutineId> {
    let mut all = ALL.iter().map(|stored| &stored.record);
    let found = all.find(|record| record.name == name)?;
    schema
        .is_none_or(|schema| schema == "pg_catalog")
        .then_some(found.id)
}

/// The function's text for a trigger; none if it is not one of these.
pub(super) fn text_for(trigger: &TriggerRecord, table: &TableDef) -> SqlResult<Option<String>> {
    let Some(stored) = built_in(trigger.function) else {
        return Ok(None);
    };
    let name = &*stored.record.name;
    let wrong = |state, message: String| Err(SqlError::new(state, message));
    let protocol = SqlState::INTERNAL_ERROR;
    if trigger.function == SUPPRESS {
        return suppressing(trigger, table).map(Some);
    }
    if !trigger.row {
        return wrong(protocol, format!("{name}: must be fired for row"));
    }
    if !trigger.before {
        return wrong(protocol, format!("{name}: must be fired BEFORE event"));
    }
    if trigger.delete {
        return wrong(
            protocol,
            format!("{name}: must be fired for INSERT or UPDATE"),
        );
    }
    let [vector, config, texts @ ..] = &trigger.arguments[..] else {
        let message =
            format!("{name}: arguments must be tsvector_field, ts_config, text_field1, ...)");
        return wrong(protocol, message);
    };
    let column = |name: &str, what: &str| {
        let mut columns = table.columns.iter();
        columns
            .find(|column| column.name == name)
            .map(|column| column.ty)
            .ok_or_else(|| {
                let message = format!("{what}column \"{name}\" does not exist");
                SqlError::new(SqlState::UNDEFINED_COLUMN, message)
            })
    };
    let mismatch = |message| wrong(SqlState::DATATYPE_MISMATCH, message);
    if column(vector, "tsvector ")? != SqlType::TsVector {
        return mismatch(format!("column \"{vector}\" is not of tsvector type"));
    }
    let config = match trigger.function {
        BY_COLUMN => {
            if column(config, "configuration ")? != SqlType::RegConfig {
                return mismatch(format!("column \"{config}\" is not of regconfig type"));
            }
            format!("NEW.{}", quoted(config))
        }
        _ => {
            if !config.contains('.') {
                let message =
                    format!("text search configuration name \"{config}\" must be schema-qualified");
                return wrong(SqlState::INVALID_PARAMETER_VALUE, message);
            }
            config_named(config)?;
            format!("'{}'::regconfig", config.replace('\'', "''"))
        }
    };
    for text in texts {
        if column(text, "")?.family() != TypeFamily::Text {
            return mismatch(format!("column \"{text}\" is not of a character type"));
        }
    }
    let own: Vec<String> = texts
        .iter()
        .map(|text| format!("NEW.{}", quoted(text)))
        .collect();
    let vector = quoted(vector);
    let mut changed: Vec<String> = texts
        .iter()
        .map(|text| {
            let text = quoted(text);
            format!("NEW.{text} IS DISTINCT FROM OLD.{text}")
        })
        .collect();
    changed.push(format!("NEW.{vector} IS NOT DISTINCT FROM OLD.{vector}"));
    let all = match own.is_empty() {
        true => "''".to_string(),
        false => format!("concat_ws(' ', {})", own.join(", ")),
    };
    let mut body = format!("NEW.{vector} := to_tsvector({config}, {all});");
    if trigger.function == BY_COLUMN {
        let message = "configuration column must not be null";
        body = format!(
            "IF {config} IS NULL THEN RAISE EXCEPTION '{message}' USING ERRCODE = '22004'; END IF;\n{body}"
        );
    }
    if trigger.update {
        let changed = changed.join(" OR ");
        // There is no old row in an INSERT.
        body = match trigger.insert {
            true => {
                format!("IF TG_OP = 'INSERT' THEN\n{body}\nELSIF {changed} THEN\n{body}\nEND IF;")
            }
            false => format!("IF {changed} THEN\n{body}\nEND IF;"),
        };
    }
    Ok(Some(written(name, &body)))
}

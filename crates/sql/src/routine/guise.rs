//! What a routine has of its own while it runs, and ALTER FUNCTION.
//!
//! Relies on: the options of CREATE FUNCTION as they were written; what ALTER has said later is kept as it was written, too
//! (`RoutineRecord::altered`), and stands behind them.  Promises: of what is said twice the last counts.  Does not: know which
//! settings there are: the session looks before the change is made.

use super::create::{find, routine_object};
use super::statement;
use crate::catalog::Catalog;
use crate::command::Planned;
use crate::draft::Draft;
use crate::names::{inner, option_text, required};
use crate::parse;
use crate::planner::Planner;
use crate::records::RoutineRecord;
use crate::tree;
use crate::utility::keep_setting;
use pg_query::NodeEnum;
use pg_query::protobuf::{
    AlterFunctionStmt, CreateFunctionStmt, DefElem, ObjectType, ObjectWithArgs,
};
use quintet_base::{SqlError, SqlResult};
use quintet_ir::{Guise, Object, ObjectKind};

/// SECURITY DEFINER and SET.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Own {
    pub definer: bool,
    /// Names and values.
    pub settings: Vec<(String, String)>,
}

impl Own {
    /// What the options say.
    ///
    /// # Errors
    /// `0A000` for settings that no routine can have of its own here.
    pub fn of(statement: &CreateFunctionStmt) -> SqlResult<Own> {
        let mut own = Own::default();
        for option in &statement.options {
            let Some(NodeEnum::DefElem(option)) = inner(option) else {
                return required(None);
            };
            match option.defname.as_str() {
                "security" => own.definer = is_true(option),
                "set" => own.set(option)?,
                _ => {}
            }
        }
        Ok(own)
    }

    /// SET, or RESET.
    fn set(&mut self, option: &DefElem) -> SqlResult<()> {
        let Some(NodeEnum::VariableSetStmt(set)) = option.arg.as_deref().and_then(inner) else {
            return required(None);
        };
        keep_setting(&mut self.settings, set, refuse)
    }

    /// How it is run, by whoever owns it.
    pub fn guise(&self, record: &RoutineRecord, catalog: &Catalog) -> Option<Box<Guise>> {
        if *self == Own::default() {
            return None;
        }
        let object = Object {
            kind: ObjectKind::Routine,
            number: record.id.0,
        };
        let owner = catalog.roles().access_of(object).owner;
        Some(Box::new(Guise {
            role: self.definer.then_some(owner),
            settings: self.settings.clone(),
            trigger: false,
        }))
    }

    /// The same of a trigger's function, which is counted where anything asks how deep in triggers it is.
    pub fn guise_of_trigger(
        &self,
        record: &RoutineRecord,
        catalog: &Catalog,
    ) -> Option<Box<Guise>> {
        let guise = self.guise(record, catalog);
        if !catalog.counts_triggers() {
            return guise;
        }
        let guise = guise.map_or_else(Guise::default, |guise| *guise);
        Some(Box::new(Guise {
            trigger: true,
            ..guise
        }))
    }

    /// Where names in its body are looked for, if it says so.
    pub fn path(&self) -> Option<&str> {
        let path = self.settings.iter().find(|(name, _)| name == "search_path");
        path.map(|(_, value)| value.as_str())
    }
}

fn is_true(option: &DefElem) -> bool {
    let text = option.arg.as_deref().and_then(option_text);
    text.as_deref() == Some("true")
}

/// Who it is, and how a transaction runs, is not for a function to say.
fn refuse(name: &str) -> SqlResult<()> {
    // Who may set the last one would have to be asked with each call.
    let identity = matches!(
        name,
        "role" | "session_authorization" | "session_replication_role"
    );
    if identity || name.starts_with("transaction_") || name.starts_with("quintet.") {
        return Err(SqlError::unsupported(format!("SET {name} for a function")));
    }
    Ok(())
}

/// ALTER FUNCTION, PROCEDURE and ROUTINE, of what CREATE may say, too.
pub(crate) fn plan_alter(planner: &Planner, alter: &AlterFunctionStmt) -> SqlResult<Planned> {
    let (what, procedure, tag) = match alter.objtype() {
        ObjectType::ObjectProcedure => ("procedure", Some(true), "ALTER PROCEDURE"),
        ObjectType::ObjectRoutine => ("routine", None, "ALTER ROUTINE"),
        _ => ("function", Some(false), "ALTER FUNCTION"),
    };
    let object = required(alter.func.as_ref())?;
    let id = find(planner, object, what, procedure)?;
    planner.must_own(routine_object(id))?;
    let stored = required(planner.catalog().routine(id))?;
    let mut record = RoutineRecord::clone(&stored.record);
    record.altered.push(actions(alter)?);
    let mut draft = Draft::new(planner);
    // What is no option of it is refused as when it is created.
    let changed = statement(&record)?;
    crate::plpgsql::header(&changed, &record.text)?;
    draft.check_settings(Own::of(&changed)?.settings);
    draft.put_routine(&record)?;
    draft.finish(tag)
}

/// What is said of a function, as text that says it of one called `f`.
fn actions(alter: &AlterFunctionStmt) -> SqlResult<String> {
    let named = ObjectWithArgs {
        objname: vec![tree::string("f")],
        args_unspecified: true,
        ..ObjectWithArgs::default()
    };
    parse::deparse(NodeEnum::AlterFunctionStmt(AlterFunctionStmt {
        objtype: ObjectType::ObjectFunction as i32,
        func: Some(named),
        actions: alter.actions.clone(),
    }))
}

/// The options that ALTER has said later.
///
/// # Errors
/// `XX001` if the text is damaged.
pub(super) fn options_of(text: &str) -> SqlResult<Vec<pg_query::protobuf::Node>> {
    let mut parsed = parse::parse(text)?;
    match parsed.pop().and_then(parse::Parsed::into_node) {
        Some(NodeEnum::AlterFunctionStmt(alter)) => Ok(alter.actions),
        _ => Err(super::damaged()),
    }
}

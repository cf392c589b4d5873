//! Statements for the session: transactions, settings, prepared statements, cursors, EXPLAIN.
//!
//! Relies on: the parser's tree.  Promises: what PostgreSQL accepts is told apart; settings are
//! passed on by name for the session to judge.  Accepts and does nothing: VACUUM, ANALYZE, REINDEX, CLUSTER (here
//! they are the engine's own business), LOCK TABLE in the modes that readers and writers take.
//! Does not: know what state the session is in.

use crate::catalog::Relation;
use crate::command::{Command, CursorTable, Declare, Planned, TransactionModes};
use crate::copy;
use crate::current;
use crate::ddl::table_object;
use crate::from::{find_named, row_target};
use crate::names::{self, inner, required};
use crate::parse::deparse;
use crate::planner::Planner;
use crate::select::plan_query;
use crate::statement::plan_statement;
use crate::system::primary_key_oid;
use crate::system::print::quoted;
use crate::{output, types};
use pg_query::NodeEnum;
use pg_query::protobuf::{
    ClusterStmt, ConstraintsSetStmt, DeclareCursorStmt, DefElem, DiscardMode, ExplainStmt,
    FetchDirection, FetchStmt, LockStmt, Node, PrepareStmt, ReindexObjectType, ReindexStmt,
    TransactionStmt, TransactionStmtKind, VariableSetKind, VariableSetStmt,
};
use quintet_base::{ConstraintId, Level, SqlError, SqlResult, SqlState, SqlType, TypeMod};
use quintet_ir::cursors::Way;
use quintet_ir::explain::Format;
use quintet_ir::{Object, ObjectKind, OutputColumn, Privileges, Statement};
use std::sync::Arc;

/// Plans a session command; `None` if the statement is none.
pub(crate) fn plan_utility(planner: &Planner, node: &NodeEnum) -> SqlResult<Option<Planned>> {
    let plain = |command, tag| Ok(Some(planner.command(command, tag)));
    match node {
        NodeEnum::TransactionStmt(statement) => transaction(planner, statement).map(Some),
        NodeEnum::VariableSetStmt(statement) => set(planner, statement).map(Some),
        NodeEnum::VariableShowStmt(statement) => Ok(Some(show(planner, &statement.name))),
        NodeEnum::ConstraintsSetStmt(statement) => {
            let command = set_constraints(planner, statement)?;
            plain(command, "SET CONSTRAINTS")
        }
        NodeEnum::DiscardStmt(statement) => match statement.target() {
            DiscardMode::DiscardAll => plain(Command::DiscardAll, "DISCARD ALL"),
            DiscardMode::DiscardPlans => Ok(Some(planner.nothing("DISCARD PLANS"))),
            DiscardMode::DiscardSequences => plain(Command::DiscardSequences, "DISCARD SEQUENCES"),
            _ => plain(Command::DiscardTemp, "DISCARD TEMP"),
        },
        NodeEnum::PrepareStmt(statement) => prepare(planner, statement).map(Some),
        NodeEnum::ExecuteStmt(statement) => {
            let arguments = copy::constants(planner, &statement.params, "EXECUTE")?;
            let name = statement.name.clone();
            plain(Command::Execute { name, arguments }, "EXECUTE")
        }
        NodeEnum::DeallocateStmt(statement) => match statement.isall || statement.name.is_empty() {
            true => plain(Command::Deallocate(None), "DEALLOCATE ALL"),
            false => plain(
                Command::Deallocate(Some(statement.name.clone())),
                "DEALLOCATE",
            ),
        },
        NodeEnum::DeclareCursorStmt(statement) => declare(planner, statement).map(Some),
        NodeEnum::FetchStmt(statement) => fetch(planner, statement).map(Some),
        NodeEnum::ClosePortalStmt(statement) => match statement.portalname.as_str() {
            "" => plain(Command::Close(None), "CLOSE CURSOR ALL"),
            name => plain(Command::Close(Some(name.to_string())), "CLOSE CURSOR"),
        },
        NodeEnum::ExplainStmt(statement) => explain(planner, statement).map(Some),
        NodeEnum::VacuumStmt(statement) => {
            for node in &statement.rels {
                if let Some(NodeEnum::VacuumRelation(relation)) = inner(node)
                    && let Some(relation) = &relation.relation
                {
                    crate::from::row_target(planner, relation)?;
                }
            }
            match statement.is_vacuumcmd {
                true => plain(Command::Alone("VACUUM"), "VACUUM"),
                false => Ok(Some(planner.nothing("ANALYZE"))),
            }
        }
        NodeEnum::ReindexStmt(statement) => reindex(planner, statement).map(Some),
        NodeEnum::ClusterStmt(statement) => cluster(planner, statement).map(Some),
        NodeEnum::ListenStmt(statement) => {
            plain(Command::Listen(statement.conditionname.clone()), "LISTEN")
        }
        NodeEnum::UnlistenStmt(statement) => {
            let name = &statement.conditionname;
            let channel = (!name.is_empty()).then(|| name.clone());
            plain(Command::Unlisten(channel), "UNLISTEN")
        }
        NodeEnum::NotifyStmt(statement) => plain(
            Command::Notify {
                channel: statement.conditionname.clone(),
                payload: statement.payload.clone(),
            },
            "NOTIFY",
        ),
        NodeEnum::CheckPointStmt(_) => plain(Command::Nothing { checkpoint: true }, "CHECKPOINT"),
        NodeEnum::LockStmt(statement) => lock_table(planner, statement).map(Some),
        _ => Ok(None),
    }
}

/// CLUSTER: rows lie in the order of their key, whatever is said. What is named must be there, and one's own.
fn cluster(planner: &Planner, statement: &ClusterStmt) -> SqlResult<Planned> {
    const TAG: &str = "CLUSTER";
    let Some(relation) = &statement.relation else {
        return Ok(planner.command(Command::Alone(TAG), TAG));
    };
    let table = row_target(planner, relation)?;
    planner.must_own_table(table.relation())?;
    let index = &statement.indexname;
    let is_there = index.is_empty()
        || table.indexes.iter().any(|own| own.name == *index)
        || (table.primary_key.iter()).any(|key| key.name == *index);
    if !is_there {
        let message = format!(
            "index \"{index}\" for table \"{}\" does not exist",
            table.name
        );
        return Err(SqlError::new(SqlState::UNDEFINED_OBJECT, message));
    }
    let own = table.indexes.iter().find(|own| own.name == *index);
    let record = planner.catalog().record(table.id);
    let refused = own.zip(record).and_then(|(own, record)| {
        let mut shown = record.more.shown.iter().filter(|(id, _)| *id == own.id);
        let method = shown.next().and_then(|(_, shown)| shown.method.as_deref());
        match method {
            None | Some("btree" | "gist") if own.partial => {
                Some(format!("cannot cluster on partial index \"{index}\""))
            }
            None | Some("btree" | "gist") => None,
            Some(_) => Some(format!(
                "cannot cluster on index \"{index}\" because access method does not support clustering"
            )),
        }
    });
    if let Some(message) = refused {
        return Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
    }
    match table.partitions {
        // PostgreSQL does them one by one, each in a transaction.
        Some(_) => Ok(planner.command(Command::Alone(TAG), TAG)),
        None => Ok(planner.nothing(TAG)),
    }
}

/// REINDEX: an index has nothing but entries of rows. What is named must be there, and one's own.
fn reindex(planner: &Planner, statement: &ReindexStmt) -> SqlResult<Planned> {
    use ReindexObjectType::{ReindexObjectIndex, ReindexObjectSchema, ReindexObjectTable};
    const TAG: &str = "REINDEX";
    let kind = statement.kind();
    match (kind, &statement.relation) {
        (ReindexObjectIndex | ReindexObjectTable, Some(relation)) => {
            let name = &relation.relname;
            let here = planner.at(relation.location);
            let wrong = |what: &str| {
                let message = format!("\"{name}\" is not {what}");
                Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, message))
            };
            match (find_named(planner, relation)?, kind) {
                (None, _) => {
                    let message = format!("relation \"{name}\" does not exist");
                    return Err(here(SqlError::new(SqlState::UNDEFINED_TABLE, message)));
                }
                (Some(Relation::Table(id) | Relation::Partition(id)), ReindexObjectTable) => {
                    planner.must_own_table(id)?;
                }
                (Some(Relation::Index(id, _) | Relation::PrimaryKey(id)), ReindexObjectIndex) => {
                    planner.must_own_index(id, name)?;
                }
                (_, ReindexObjectTable) => return wrong("a table or materialized view"),
                _ => return wrong("an index"),
            }
        }
        (ReindexObjectSchema, _) if !planner.catalog().has_schema(&statement.name) => {
            let message = format!("schema \"{}\" does not exist", statement.name);
            return Err(SqlError::new(SqlState::INVALID_SCHEMA_NAME, message));
        }
        (ReindexObjectSchema, _) => planner.must_own(planner.schema_object(&statement.name))?,
        _ if !statement.name.is_empty() && statement.name != planner.context.database => {
            return Err(SqlError::unsupported(
                "REINDEX of a database other than the open one",
            ));
        }
        _ => {}
    }
    let concurrently = statement.params.iter().any(|node| {
        matches!(inner(node), Some(NodeEnum::DefElem(option)) if option.defname == "concurrently")
    });
    match kind {
        ReindexObjectIndex | ReindexObjectTable if !concurrently => Ok(planner.nothing(TAG)),
        _ => Ok(planner.command(Command::Alone(TAG), TAG)),
    }
}

fn lock_table(planner: &Planner, statement: &LockStmt) -> SqlResult<Planned> {
    // As PostgreSQL's numbers of lock modes.
    const ACCESS_SHARE: i32 = 1;
    const ROW_EXCLUSIVE: i32 = 3;
    let changes = Privileges::UPDATE | Privileges::DELETE | Privileges::TRUNCATE;
    let any_of = match statement.mode {
        ACCESS_SHARE => Privileges::SELECT | changes | Privileges::INSERT,
        mode if mode <= ROW_EXCLUSIVE => changes | Privileges::INSERT,
        _ => changes,
    };
    let mut tables = Vec::new();
    for node in &statement.relations {
        let Some(NodeEnum::RangeVar(relation)) = inner(node) else {
            continue;
        };
        let table = crate::from::row_target(planner, relation)?;
        let object = Object {
            kind: ObjectKind::Table,
            number: table.relation().0,
        };
        let role = planner.context.user.role;
        planner.catalog().allow_any(role, object, any_of)?;
        tables.push(table);
    }
    // Who reads or writes holds nothing that the modes up to ROW EXCLUSIVE would keep out.
    let closes = statement.mode > ROW_EXCLUSIVE;
    let command = Command::LockTable {
        tables: if closes { tables } else { Vec::new() },
        waits: !statement.nowait,
    };
    Ok(planner.command(command, "LOCK TABLE"))
}

fn set_constraints(planner: &Planner, statement: &ConstraintsSetStmt) -> SqlResult<Command> {
    let mut keys = Vec::new();
    let catalog = planner.catalog();
    for node in &statement.constraints {
        let Some(NodeEnum::RangeVar(name)) = inner(node) else {
            continue;
        };
        let name = &name.relname;
        let foreign = catalog.foreign_keys().filter(|key| key.name == *name);
        let mut named: Vec<(ConstraintId, bool)> =
            foreign.map(|key| (key.id, key.deferrable)).collect();
        for table in catalog.tables() {
            let is_late = |index: u32| catalog.late(table.id, index).is_some();
            let primary = primary_key_oid(table.id);
            if table
                .primary_key
                .as_ref()
                .is_some_and(|key| key.name == *name)
            {
                if is_late(primary) && statement.deferred {
                    return Err(SqlError::unsupported("SET CONSTRAINTS of a primary key"));
                }
                named.push((ConstraintId(primary), is_late(primary)));
            }
            let unique = table.indexes.iter().filter(|index| index.constraint);
            let unique = unique.filter(|index| index.name == *name);
            named.extend(unique.map(|index| (ConstraintId(index.id.0), is_late(index.id.0))));
            let mut checks = table.own_checks();
            if checks.any(|check| check.name == *name) {
                named.push((ConstraintId(0), false));
            }
        }
        let triggers = catalog
            .triggers()
            .filter(|t| t.constraint && t.name == *name);
        named.extend(triggers.map(|t| (ConstraintId(t.id), t.more.late.is_some())));
        if named.is_empty() {
            return Err(SqlError::new(
                SqlState::UNDEFINED_OBJECT,
                format!("constraint \"{name}\" does not exist"),
            ));
        }
        if named.iter().any(|(_, deferrable)| !deferrable) {
            return Err(SqlError::new(
                SqlState::WRONG_OBJECT_TYPE,
                format!("constraint \"{name}\" is not deferrable"),
            ));
        }
        keys.extend(named.iter().map(|(id, _)| *id));
    }
    Ok(Command::SetConstraints {
        keys: (!statement.constraints.is_empty()).then_some(keys),
        deferred: statement.deferred,
    })
}

fn transaction(planner: &Planner, statement: &TransactionStmt) -> SqlResult<Planned> {
    use TransactionStmtKind::*;
    let chain = statement.chain;
    let name = statement.savepoint_name.clone();
    let (command, tag) = match statement.kind() {
        TransStmtBegin => (Command::Begin(modes(&statement.options)?), "BEGIN"),
        TransStmtStart => (
            Command::Begin(modes(&statement.options)?),
            "START TRANSACTION",
        ),
        TransStmtCommit => (Command::Commit { chain }, "COMMIT"),
        TransStmtRollback => (Command::Rollback { chain }, "ROLLBACK"),
        TransStmtSavepoint => (Command::Savepoint(name), "SAVEPOINT"),
        TransStmtRelease => (Command::Release(name), "RELEASE"),
        TransStmtRollbackTo => (Command::RollbackTo(name), "ROLLBACK"),
        TransStmtPrepare => (Command::PrepareTransaction, "PREPARE TRANSACTION"),
        TransStmtCommitPrepared | TransStmtRollbackPrepared => {
            let name = &statement.gid;
            let message = format!("prepared transaction with identifier \"{name}\" does not exist");
            return Err(SqlError::new(SqlState::UNDEFINED_OBJECT, message));
        }
        Undefined => return Err(SqlError::internal("a transaction statement of no kind")),
    };
    Ok(planner.command(command, tag))
}

/// Transaction modes; the last of each kind wins.
fn modes(nodes: &[Node]) -> SqlResult<TransactionModes> {
    let mut modes = TransactionModes::default();
    for node in nodes {
        let Some(NodeEnum::DefElem(option)) = inner(node) else {
            continue;
        };
        let text = option
            .arg
            .as_deref()
            .and_then(names::option_text)
            .unwrap_or_default();
        let is_on = !matches!(text.as_str(), "" | "0" | "false");
        match option.defname.as_str() {
            "transaction_isolation" => {
                modes.level = Some(Level::parse(&text)?);
                modes.uncommitted = Level::is_uncommitted(&text);
            }
            "transaction_read_only" => modes.read_only = Some(is_on),
            "transaction_deferrable" => modes.deferrable = Some(is_on),
            other => return Err(SqlError::unsupported(format!("transaction mode {other}"))),
        }
    }
    Ok(modes)
}

fn set(planner: &Planner, statement: &VariableSetStmt) -> SqlResult<Planned> {
    let name = statement.name.to_ascii_lowercase();
    let local = statement.is_local;
    let tag = match statement.kind() {
        VariableSetKind::VarReset | VariableSetKind::VarResetAll => "RESET",
        _ => "SET",
    };
    let command = match statement.kind() {
        VariableSetKind::VarSetValue => Command::Set {
            local,
            name,
            value: Some(setting_value(statement)?),
        },
        VariableSetKind::VarSetDefault | VariableSetKind::VarReset => Command::Set {
            local,
            name,
            value: None,
        },
        VariableSetKind::VarResetAll => Command::ResetAll,
        VariableSetKind::VarSetMulti => match name.as_str() {
            "transaction" => Command::SetTransaction(modes(&statement.args)?),
            "session characteristics" => Command::SetSessionTransaction(modes(&statement.args)?),
            _ => return Err(SqlError::unsupported("SET TRANSACTION SNAPSHOT")),
        },
        VariableSetKind::VarSetCurrent => return Err(SqlError::unsupported("SET … FROM CURRENT")),
        VariableSetKind::Undefined => return Err(SqlError::internal("SET of no kind")),
    };
    Ok(planner.command(command, tag))
}

/// The value that SET gives.
pub(crate) fn setting_value(statement: &VariableSetStmt) -> SqlResult<String> {
    if statement.name == "search_path" {
        // Each value is one name, whatever is in it.
        let names: Vec<String> = texts(&statement.args)?;
        let names = names.iter().map(|name| quoted(name));
        return Ok(names.collect::<Vec<_>>().join(", "));
    }
    match interval_of_zone(&statement.args) {
        Some(hours) => Ok(hours),
        None => Ok(texts(&statement.args)?.join(", ")),
    }
}

/// `INTERVAL '-08:00' HOUR TO MINUTE` as hours to the east, which is what it means; the same as a text would be to the west.
fn interval_of_zone(nodes: &[Node]) -> Option<String> {
    let [node] = nodes else { return None };
    let Some(NodeEnum::TypeCast(cast)) = inner(node) else {
        return None;
    };
    let text = names::option_text(cast.arg.as_deref()?)?;
    let (west, clock) = match text.strip_prefix('-') {
        Some(clock) => (true, clock),
        None => (false, text.trim_start_matches('+')),
    };
    let mut hours = 0.0;
    for (part, unit) in clock.split(':').zip([1.0, 60.0, 3600.0]) {
        hours += f64::from(part.parse::<u16>().ok()?) / unit;
    }
    (clock.contains(':')).then(|| (if west { -hours } else { hours }).to_string())
}

/// Keeps what SET and RESET say among settings that count later.
///
/// # Errors
/// What `refuse` says of a name that is set; `0A000` for FROM CURRENT.
pub(crate) fn keep_setting(
    settings: &mut Vec<(String, String)>,
    set: &VariableSetStmt,
    refuse: impl Fn(&str) -> SqlResult<()>,
) -> SqlResult<()> {
    let name = set.name.to_ascii_lowercase();
    match set.kind() {
        VariableSetKind::VarResetAll => settings.clear(),
        VariableSetKind::VarReset | VariableSetKind::VarSetDefault => {
            settings.retain(|(other, _)| *other != name);
        }
        VariableSetKind::VarSetValue => {
            refuse(&name)?;
            let value = setting_value(set)?;
            match settings.iter_mut().find(|(other, _)| *other == name) {
                Some(known) => known.1 = value,
                None => settings.push((name, value)),
            }
        }
        VariableSetKind::VarSetCurrent => {
            return Err(SqlError::unsupported(format!("SET {name} FROM CURRENT")));
        }
        VariableSetKind::VarSetMulti | VariableSetKind::Undefined => {
            return Err(SqlError::unsupported("SET TRANSACTION for later"));
        }
    }
    Ok(())
}

/// `name=value`, as the catalogue has settings that count later.
pub(crate) fn shown_settings(settings: &[(String, String)]) -> impl Iterator<Item = String> {
    let settings = settings.iter();
    settings.map(|(name, value)| format!("{}={value}", shown_setting(name)))
}

/// A setting's name with the capitals that PostgreSQL gives it.
pub(crate) fn shown_setting(name: &str) -> &str {
    match name {
        "datestyle" => "DateStyle",
        "intervalstyle" => "IntervalStyle",
        "timezone" => "TimeZone",
        other => other,
    }
}

/// The values of SET.
fn texts(nodes: &[Node]) -> SqlResult<Vec<String>> {
    let texts: Option<Vec<String>> = nodes.iter().map(names::option_text).collect();
    // `SET TIME ZONE INTERVAL '…'` is the one value that is no constant.
    texts.ok_or_else(|| SqlError::unsupported("this value of SET"))
}

fn prepare(planner: &Planner, statement: &PrepareStmt) -> SqlResult<Planned> {
    let mut declared = Vec::with_capacity(statement.argtypes.len());
    for node in &statement.argtypes {
        let Some(NodeEnum::TypeName(name)) = inner(node) else {
            return Err(SqlError::internal("a parameter's type that is no type"));
        };
        declared.push(types::resolve(planner, name)?.0);
    }
    let query = required(statement.query.as_deref().and_then(inner))?;
    // As in PostgreSQL, what is wrong with the statement is said now. And a tree that cannot be planned must
    // not be made into text: the parser's library ends the process at some, in builds with its checks.
    let apart = Planner::new(planner.context, planner.statement_text(), &declared);
    plan_statement(&apart, query)?;
    let command = Command::Prepare {
        name: statement.name.clone(),
        types: declared,
        text: deparse(query.clone())?,
    };
    Ok(planner.command(command, "PREPARE"))
}

fn declare(planner: &Planner, statement: &DeclareCursorStmt) -> SqlResult<Planned> {
    // As PostgreSQL's CURSOR_OPT_… bits.
    const BINARY: i32 = 0x0001;
    const SCROLL: i32 = 0x0002;
    const HOLD: i32 = 0x0020;
    let options = statement.options;
    if options & BINARY != 0 {
        return Err(SqlError::unsupported("BINARY CURSOR"));
    }
    let Some(NodeEnum::SelectStmt(select)) = statement.query.as_deref().and_then(inner) else {
        return Err(SqlError::unsupported(
            "a cursor over a statement that is no SELECT",
        ));
    };
    // Who may not read the whole table may not read its key.
    let keyed = current::keyed(planner, select).filter(|(_, table)| {
        let object = table_object(table.relation());
        planner.must_have(object, Privileges::SELECT).is_ok()
    });
    // What a key cannot stand beside has none.
    let keyed = keyed.and_then(|(select, table)| {
        let query = plan_query(planner, &select, None).ok()?;
        let over = CursorTable {
            table: table.id,
            key: table.key_columns().len(),
        };
        Some((query, over))
    });
    let (query, over) = match keyed {
        Some((query, over)) => (query, Some(over)),
        None => (plan_query(planner, select, None)?, None),
    };
    let columns = output::publish(query.outputs);
    let procedure = planner.procedure(Statement::Query(query.plan), columns)?;
    let command = Command::Declare(Declare {
        name: statement.portalname.clone(),
        hold: options & HOLD != 0,
        scroll: options & SCROLL != 0,
        query: Arc::new(procedure),
        over,
        locks: !select.locking_clause.is_empty(),
    });
    Ok(planner.command(command, "DECLARE CURSOR"))
}

fn fetch(planner: &Planner, statement: &FetchStmt) -> SqlResult<Planned> {
    let many = statement.how_many;
    // ALL is the greatest number.
    let count = (many != i64::MAX).then_some(many.unsigned_abs());
    let way = match (statement.direction(), many < 0) {
        (FetchDirection::FetchForward, false) | (FetchDirection::FetchBackward, true) => {
            Way::Forward(count)
        }
        (FetchDirection::FetchForward, true) | (FetchDirection::FetchBackward, false) => {
            Way::Backward(count)
        }
        (FetchDirection::FetchAbsolute, _) => Way::Absolute(many),
        (FetchDirection::FetchRelative, _) => Way::Relative(many),
        (FetchDirection::Undefined, _) => return Err(SqlError::internal("FETCH of no direction")),
    };
    let command = Command::Fetch {
        name: statement.portalname.clone(),
        way,
        discard: statement.ismove,
    };
    Ok(planner.command(command, if statement.ismove { "MOVE" } else { "FETCH" }))
}

fn show(planner: &Planner, name: &str) -> Planned {
    let (command, names) = match name {
        "all" => (Command::ShowAll, &["name", "setting", "description"][..]),
        name => (Command::Show(name.to_ascii_lowercase()), &[shown(name)][..]),
    };
    let columns = names.iter().map(|name| text_column(name)).collect();
    Planned {
        columns,
        ..planner.command(command, "SHOW")
    }
}

/// A setting's name as PostgreSQL writes it.
fn shown(name: &str) -> &str {
    let with_capitals = ["DateStyle", "IntervalStyle", "TimeZone"];
    let same = |known: &&&str| known.eq_ignore_ascii_case(name);
    with_capitals.iter().find(same).copied().unwrap_or(name)
}

/// A column of a result that the session makes.
pub(crate) fn text_column(name: &str) -> OutputColumn {
    OutputColumn {
        name: name.to_string(),
        ty: SqlType::Text,
        modifier: TypeMod::NONE,
        origin: None,
    }
}

fn explain(planner: &Planner, statement: &ExplainStmt) -> SqlResult<Planned> {
    let mut asked = Asked::default();
    for node in &statement.options {
        let Some(NodeEnum::DefElem(option)) = inner(node) else {
            continue;
        };
        explain_option(planner, option, &mut asked)?;
    }
    if let Some(option) = asked.of_a_run.filter(|_| !asked.analyze) {
        let message = format!("EXPLAIN option {option} requires ANALYZE");
        return Err(SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message));
    }
    let query = required(statement.query.as_deref().and_then(inner))?;
    let planned = crate::statement::plan_statement(planner, query)?;
    if !matches!(planned.command, Command::Run(_) | Command::Execute { .. }) {
        return Err(SqlError::unsupported(format!("EXPLAIN of {}", planned.tag)));
    }
    Ok(explained(planner, planned, asked))
}

/// How a statement is to be explained.
#[derive(Clone, Copy)]
pub(crate) struct Asked {
    analyze: bool,
    format: Format,
    /// Something that only a run has.
    of_a_run: Option<&'static str>,
}

impl Default for Asked {
    fn default() -> Asked {
        Asked {
            analyze: false,
            format: Format::Text,
            of_a_run: None,
        }
    }
}

/// The explanation of a statement.
pub(crate) fn explained(planner: &Planner, planned: Planned, asked: Asked) -> Planned {
    let mut column = text_column("QUERY PLAN");
    if asked.format == Format::Json {
        column.ty = SqlType::Json;
    }
    Planned {
        params: planned.params.clone(),
        columns: vec![column],
        command: Command::Explain {
            analyze: asked.analyze,
            format: asked.format,
            inner: Box::new(planned),
        },
        tag: "EXPLAIN",
        notices: planner.notices.take(),
        needs: crate::planner::no_needs(),
    }
}

fn explain_option(planner: &Planner, option: &DefElem, asked: &mut Asked) -> SqlResult<()> {
    let text = option.arg.as_deref().and_then(names::option_text);
    let name = option.defname.as_str();
    match name {
        "analyze" => asked.analyze = copy::boolean(planner, option, text.as_deref())?,
        // The printed form has no costs, and is as verbose as it can be.
        "verbose" | "costs" | "summary" | "buffers" | "settings" => {
            copy::boolean(planner, option, text.as_deref())?;
        }
        // Nor what a run has written to the log, or how long its parts took.
        "wal" | "timing" => {
            if copy::boolean(planner, option, text.as_deref())? {
                let first = if name == "wal" { "WAL" } else { "TIMING" };
                asked.of_a_run = match asked.of_a_run {
                    Some("WAL") => Some("WAL"),
                    _ => Some(first),
                };
            }
        }
        "format" => {
            let missing = || SqlError::new(SqlState::SYNTAX_ERROR, "format requires a parameter");
            let text = text.ok_or_else(missing)?;
            asked.format = Format::from_name(&text).ok_or_else(|| {
                planner.error(
                    SqlState::INVALID_PARAMETER_VALUE,
                    format!("unrecognized value for EXPLAIN option \"format\": \"{text}\""),
                    option.location,
                )
            })?;
        }
        "generic_plan" | "memory" | "serialize" => {
            return Err(planner.unsupported(
                format!("EXPLAIN option {}", name.to_uppercase()),
                option.location,
            ));
        }
        other => {
            let message = format!("unrecognized EXPLAIN option \"{other}\"");
            return Err(planner.error(SqlState::SYNTAX_ERROR, message, option.location));
        }
    }
    Ok(())
}

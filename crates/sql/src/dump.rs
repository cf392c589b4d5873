//! The catalogue as statements that make it anew, for Quintet and for PostgreSQL.
//!
//! Relies on: the catalogue's records, which keep defaults, checks and routines as text.  Promises: statements in
//! an order in which each finds what it names; every name is quoted and has its schema.  Does not: read rows.
//!
//! | section | what is in it | object | statement |
//! |---|---|---|---|
//! | `before` | schemas, extensions, sequences, types and domains, tables with primary keys and checks, routines, views | | to be run |
//! | `data` | each table | its name | its columns, as COPY wants them; nothing if it has none but generated ones |
//! | `sequence` | each sequence | its number | its name as a literal |
//! | `after` | indexes, unique constraints, owners of sequences, foreign keys, comments | | to be run |
//!
//! What is kept as text may name things of its schema without it, and a view what its search path had: that is set
//! before, and back to what it was behind.

mod order;

use crate::catalog::Catalog;
use crate::names::inner;
use crate::parse::parse_expression;
use crate::partition::{bound_text, key_text};
use crate::records::{
    CheckOption, CheckRecord, ColumnRecord, CommentRecord, ForeignKeyRecord, SecurityRecord,
    TableRecord, TriggerRecord, TypeKind, TypeRecord, ViewColumnRecord, ViewRecord,
};
use crate::routine::StoredRoutine;
use crate::system::policies::command_word;
use crate::system::{self, triggers::definition_of};
use crate::temporary::is_temporary;
use pg_query::NodeEnum;
use pg_query::protobuf::CoercionForm;
use quintet_base::objects::name_marked;
use quintet_base::types::{format_declared, format_type};
use quintet_base::{RoleId, SqlError, SqlResult, SqlType, TypeMod};
use quintet_ir::partition::Partitioning;
use quintet_ir::schema::{SequenceDef, TableRef};
use std::sync::Arc;

/// One line of a dump.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DumpLine {
    /// See the header.
    pub section: &'static str,
    /// See the header.
    pub object: String,
    /// See the header.
    pub statement: String,
}

/// Quotes a name always: words that are reserved differ between versions.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn qualified(schema: &str, name: &str) -> String {
    format!("{}.{}", quoted(schema), quoted(name))
}

fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.into_iter().map(quoted).collect();
    names.join(", ")
}

impl Catalog {
    /// Everything in it; see the file's header.
    ///
    /// # Errors
    /// `XX000` if a record names what is not there.
    pub fn dump(&self) -> SqlResult<Vec<DumpLine>> {
        let mut lines = Vec::new();
        let operators = self.schemas_of_operators();
        let mut add = |section, object: String, statement: String| {
            let statement = beside(&operators, statement);
            lines.push(DumpLine {
                section,
                object,
                statement: self.with_types(statement),
            });
        };
        let run = String::new;
        if !self.has_public() {
            add("before", run(), "DROP SCHEMA public".to_string());
        }
        for (_, name) in self.own_schemas().filter(|(_, name)| !is_temporary(name)) {
            add("before", run(), format!("CREATE SCHEMA {}", quoted(name)));
        }
        for (_, record) in self.extensions() {
            let (name, schema) = (quoted(&record.name), quoted(&record.schema));
            add(
                "before",
                run(),
                format!("CREATE EXTENSION {name} WITH SCHEMA {schema}"),
            );
        }
        for sequence in self.lasting_sequences().filter(|s| !self.is_identity(s)) {
            let name = qualified(&sequence.schema, &sequence.name);
            let text = format!(
                "CREATE SEQUENCE {name} AS {}{}",
                type_of(sequence.ty),
                options(sequence)
            );
            add("before", run(), text);
        }
        for text in self.definitions(|view| self.view_text(view))? {
            add("before", run(), text);
        }
        for view in self.views().filter(|view| !is_temporary(&view.schema)) {
            for (place, default) in &view.defaults {
                let name = qualified(&view.schema, &view.name);
                let column = quoted(&view.columns[*place].name);
                let text = format!("ALTER VIEW {name} ALTER COLUMN {column} SET DEFAULT {default}");
                let path = format!("{}, public", quoted(&view.schema));
                add("before", run(), on_path(Some(path), text));
            }
        }
        for view in self.views_in_order() {
            if self.matview(view.id).is_some_and(|own| own.populated) {
                let name = qualified(&view.schema, &view.name);
                add("after", run(), format!("REFRESH MATERIALIZED VIEW {name}"));
            }
        }
        let is_plain = |table: &&TableRef| self.matview(table.id).is_none();
        for table in self.lasting_tables().filter(is_plain) {
            let record = self.known(table.id)?;
            let columns = record.columns.iter().enumerate();
            // Generated ones come by themselves.
            let columns = columns.filter(|(at, c)| !c.dropped && record.generated(*at).is_none());
            let columns = list(columns.map(|(_, column)| &*column.name));
            add("data", qualified(&record.schema, &record.name), columns);
        }
        for sequence in self.lasting_sequences() {
            let name = literal(&qualified(&sequence.schema, &sequence.name));
            add("sequence", sequence.id.0.to_string(), name);
        }
        for sequence in self.lasting_sequences().filter(|s| !self.is_identity(s)) {
            let Some((table, column)) = sequence.owned_by else {
                continue;
            };
            let table = self.known(table)?;
            let text = format!(
                "ALTER SEQUENCE {} OWNED BY {}.{}",
                qualified(&sequence.schema, &sequence.name),
                qualified(&table.schema, &table.name),
                quoted(&table.columns[column].name)
            );
            add("after", run(), text);
        }
        for table in self.lasting_tables() {
            let record = self.known(table.id)?;
            let name = qualified(&record.schema, &record.name);
            let only = self.only(table.id);
            for index in &record.indexes {
                let directions = record.directions(index.id);
                let predicate = record.predicate(index.id);
                let asked = record.asked(index);
                let excluded = record.excluded(index.id);
                let shown = record.shown(index.id).cloned().unwrap_or_default();
                let columns = asked.iter().enumerate().map(|(place, &at)| {
                    let mut classes = shown.classes.iter();
                    let class = classes.find(|(of, _)| *of == place);
                    let class = class.map_or_else(run, |(_, class)| {
                        format!(" {}", system::shown_class(self, class, |_| false))
                    });
                    let words = directions.get(place).copied().unwrap_or_default();
                    let words = class + system::direction_words(words);
                    let key = match record.generated(at).filter(|_| record.is_hidden(at)) {
                        Some(source) => format!("({source})"),
                        None => quoted(&record.columns[at].name),
                    };
                    let operator = excluded.map(|excluded| excluded.operator(index, at));
                    let operator = operator.map_or_else(run, |symbol| format!(" WITH {symbol}"));
                    key + &words + &operator
                });
                let columns = columns.collect::<Vec<_>>().join(", ");
                let own = quoted(&index.name);
                let method = shown.method.iter().map(|method| format!("USING {method} "));
                let method: String = method.collect();
                let included = shown.included.iter().map(|at| &*record.columns[*at].name);
                let included = match shown.included.is_empty() {
                    true => run(),
                    false => format!(" INCLUDE ({})", list(included)),
                };
                let equal = record.nulls_are_equal(index.id);
                let nulls = if equal { " NULLS NOT DISTINCT" } else { "" };
                let rows = predicate.map_or_else(run, |text| format!(" WHERE {text}"));
                let late = late_words(record.late(index.id));
                let text = match (index.constraint, index.unique) {
                    (true, _) if excluded.is_some() => {
                        let rows = predicate.map_or_else(run, |text| format!(" WHERE ({text})"));
                        format!(
                            "ALTER TABLE {only}{name} ADD CONSTRAINT {own} EXCLUDE {method}({columns}){included}{rows}{late}"
                        )
                    }
                    (true, _) => {
                        format!(
                            "ALTER TABLE {only}{name} ADD CONSTRAINT {own} UNIQUE{nulls} ({columns}){included}{late}"
                        )
                    }
                    (false, true) => {
                        format!(
                            "CREATE UNIQUE INDEX {own} ON {name} ({columns}){included}{nulls}{rows}"
                        )
                    }
                    (false, false) => {
                        format!(
                            "CREATE INDEX {own} ON {name} {method}({columns}){included}{nulls}{rows}"
                        )
                    }
                };
                add("after", run(), text);
            }
            let not_of_all = |check: &&CheckRecord| record.more.unvalidated.contains(&check.name);
            for check in record.checks.iter().filter(not_of_all) {
                let check = check_text(check);
                let text = format!("ALTER TABLE {name} ADD {check} NOT VALID");
                add("after", run(), text);
            }
        }
        let lasts = |id| {
            self.record(id)
                .is_some_and(|table| !is_temporary(&table.schema))
        };
        for key in self.foreign_keys().filter(|key| lasts(key.child)) {
            add("after", run(), self.foreign_key_text(key)?);
        }
        for trigger in self.triggers() {
            for text in self.trigger_texts(trigger)? {
                add("after", run(), text);
            }
        }
        for security in self.securities() {
            for text in self.security_texts(security)? {
                add("after", run(), text);
            }
        }
        for (number, comments) in self.all_comments() {
            for comment in &comments.entries {
                let object = self.commented(number, comment);
                if let Some(object) = object.filter(|object| !object.contains(" \"pg_temp_")) {
                    let text = format!("COMMENT ON {object} IS {}", literal(&comment.text));
                    add("after", run(), text);
                }
            }
        }
        Ok(lines)
    }

    /// What makes a view, materialized or not.
    fn view_text(&self, view: &ViewRecord) -> String {
        let columns = list(view.columns.iter().map(|column| &*column.name));
        let name = qualified(&view.schema, &view.name);
        let text = match self.matview(view.id) {
            None => {
                let check = match view.check {
                    CheckOption::None => "",
                    CheckOption::Local => " WITH LOCAL CHECK OPTION",
                    CheckOption::Cascaded => " WITH CASCADED CHECK OPTION",
                };
                let with = options_text(&view.options.said);
                format!(
                    "CREATE VIEW {name} ({columns}){with} AS {}{check}",
                    view.text
                )
            }
            Some(_) => {
                let record = self.record(view.id);
                let with = record.map(|record| options_text(&record.more.options));
                format!(
                    "CREATE MATERIALIZED VIEW {name} ({columns}){} AS {} WITH NO DATA",
                    with.unwrap_or_default(),
                    view.text
                )
            }
        };
        on_path(Some(view.path.clone()), text)
    }

    /// What makes the policies of a table, and has them concern somebody.
    fn security_texts(&self, security: &SecurityRecord) -> SqlResult<Vec<String>> {
        let missing = || SqlError::internal("policies of what is not there");
        let table = self.rows_of(security.table).ok_or_else(missing)?;
        if is_temporary(&table.schema) {
            return Ok(Vec::new());
        }
        let name = qualified(&table.schema, &table.name);
        let mut texts = Vec::new();
        for policy in &security.policies {
            let roles = policy.roles.iter().map(|role| match *role {
                RoleId::PUBLIC => "PUBLIC".to_string(),
                role => quoted(&self.roles().name(role)),
            });
            let roles: Vec<String> = roles.collect();
            let (kind, own) = (command_word(policy), quoted(&policy.name));
            let permissive = if policy.permissive {
                "PERMISSIVE"
            } else {
                "RESTRICTIVE"
            };
            let roles = roles.join(", ");
            let text =
                format!("CREATE POLICY {own} ON {name} AS {permissive} FOR {kind} TO {roles}");
            // Each condition with the path that it was made with.
            let using = policy.using.as_ref();
            let using = using.map(|it| (&it.path, format!("USING ({})", it.text)));
            let check = policy.check.as_ref();
            let check = check.map(|it| (&it.path, format!("WITH CHECK ({})", it.text)));
            match (using, check) {
                (Some((path, using)), Some((other, check))) if path == other => {
                    let text = format!("{text} {using} {check}");
                    texts.push(on_path(Some(path.clone()), text));
                }
                (Some((path, using)), check) => {
                    texts.push(on_path(Some(path.clone()), format!("{text} {using}")));
                    texts.extend(check.map(|(path, check)| {
                        let text = format!("ALTER POLICY {own} ON {name} {check}");
                        on_path(Some(path.clone()), text)
                    }));
                }
                (None, Some((path, check))) => {
                    texts.push(on_path(Some(path.clone()), format!("{text} {check}")));
                }
                (None, None) => texts.push(text),
            }
        }
        if security.enabled {
            texts.push(format!("ALTER TABLE {name} ENABLE ROW LEVEL SECURITY"));
        }
        if security.forced {
            texts.push(format!("ALTER TABLE {name} FORCE ROW LEVEL SECURITY"));
        }
        Ok(texts)
    }

    /// What makes a trigger, and switches it off if it is.
    fn trigger_texts(&self, trigger: &TriggerRecord) -> SqlResult<Vec<String>> {
        let missing = || SqlError::internal("a trigger of what is not there");
        let table = &self.triggered(trigger.table).ok_or_else(missing)?;
        let function = self.routine(trigger.function).ok_or_else(missing)?;
        let name = qualified(&table.schema, &table.name);
        let function = qualified(&function.record.schema, &function.record.name);
        let condition = trigger.condition.clone();
        let from = trigger.more.from.and_then(|from| self.rows_of(from));
        let from = from.map(|from| qualified(&from.schema, &from.name));
        let names = (name.as_str(), from.as_deref());
        let mut texts = vec![definition_of(trigger, table, names, &function, condition)];
        let switched = match trigger.enabled {
            'O' => None,
            'D' => Some("DISABLE TRIGGER"),
            'A' => Some("ENABLE ALWAYS TRIGGER"),
            _ => Some("ENABLE REPLICA TRIGGER"),
        };
        texts.extend(
            switched.map(|words| format!("ALTER TABLE {name} {words} {}", quoted(&trigger.name))),
        );
        Ok(texts)
    }

    /// Where extensions have operators, if texts are not read with a path that leads there anyway.
    fn schemas_of_operators(&self) -> Vec<String> {
        let types = self.user_types().filter(|record| record.is_of_extension());
        let schemas = types.map(|record| record.schema.as_str());
        let mut schemas: Vec<String> = schemas
            .filter(|name| *name != "public")
            .map(quoted)
            .collect();
        schemas.dedup();
        schemas
    }

    /// The statement with the names of types that stand in it as numbers.
    fn with_types(&self, statement: String) -> String {
        let named = name_marked(&statement, |number, _| {
            if let Some(record) = self.user_type(number) {
                return Some(qualified(&record.schema, &record.name));
            }
            let (schema, name) = self.name_of_composite(number)?;
            Some(qualified(&schema, &name))
        });
        named.unwrap_or(statement)
    }

    /// A routine with what ALTER has said of it.
    fn routine_text(&self, routine: &StoredRoutine) -> SqlResult<String> {
        let record = &routine.record;
        let mut text = record.text.trim().trim_end_matches(';').to_owned();
        if !record.altered.is_empty() {
            let name = qualified(&record.schema, &record.name);
            let types = routine.signature(self)?.input_types();
            for said in &record.altered {
                text += &format!(";\nALTER ROUTINE {name}({types}) {}", said_of(said));
            }
        }
        Ok(on_path(path_of(&record.schema), text))
    }

    fn lasting_tables(&self) -> impl Iterator<Item = &TableRef> {
        self.tables().filter(|table| !is_temporary(&table.schema))
    }

    fn lasting_sequences(&self) -> impl Iterator<Item = &Arc<SequenceDef>> {
        self.sequences().filter(|s| !is_temporary(&s.schema))
    }

    /// Each view, materialized or not, behind those that it uses.
    fn views_in_order(&self) -> Vec<&ViewRecord> {
        let views = self.views().filter(|view| !is_temporary(&view.schema));
        let mut left: Vec<&ViewRecord> = views.map(|view| &**view).collect();
        left.extend(self.matviews().map(|own| &own.view));
        let mut ordered = Vec::with_capacity(left.len());
        while !left.is_empty() {
            let waits = |view: &&ViewRecord| {
                let uses = |other: &&ViewRecord| view.uses.iter().any(|(id, _)| *id == other.id);
                left.iter().any(|other| other.id != view.id && uses(other))
            };
            let (later, now): (Vec<_>, Vec<_>) = left.iter().partition(|view| waits(view));
            if now.is_empty() {
                // Views cannot use each other in a ring; if they did, the order would not matter.
                ordered.extend(later);
                break;
            }
            ordered.extend(now);
            left = later;
        }
        ordered
    }

    /// What a comment is about, as COMMENT ON names it; `None` for constraints, whose comments are left out.
    fn commented(&self, number: u32, comment: &CommentRecord) -> Option<String> {
        let column = usize::try_from(comment.column).ok()?.checked_sub(1);
        if comment.class == system::PG_PROC || comment.class == system::PG_NAMESPACE {
            let routine = self.all_routines().find(|r| r.record.id.0 == number);
            if let Some(routine) = routine {
                let signature = routine.signature(self).ok()?;
                let types = signature.describe();
                let types = &types[types.find('(')?..];
                let kind = if signature.procedure {
                    "PROCEDURE"
                } else {
                    "FUNCTION"
                };
                let name = qualified(&routine.record.schema, &routine.record.name);
                return Some(format!("{kind} {name}{types}"));
            }
            let mut schemas = self.own_schemas();
            let schema = schemas.find(|(schema, _)| *schema == number)?;
            return Some(format!("SCHEMA {}", quoted(schema.1)));
        }
        if comment.class == system::PG_POLICY {
            let found = self.securities().find_map(|security| {
                let mut policies = security.policies.iter();
                let policy = policies.find(|policy| policy.id == number)?;
                Some((self.rows_of(security.table)?, policy))
            });
            let (table, policy) = found?;
            let table = qualified(&table.schema, &table.name);
            return Some(format!("POLICY {} ON {table}", quoted(&policy.name)));
        }
        if comment.class == system::PG_TRIGGER {
            let trigger = self.trigger(number)?;
            let table = self.triggered(trigger.table)?;
            let table = qualified(&table.schema, &table.name);
            return Some(format!("TRIGGER {} ON {table}", quoted(&trigger.name)));
        }
        if comment.class == system::PG_TYPE {
            let record = self.user_type(number)?;
            let word = record.domain().map_or("TYPE", |_| "DOMAIN");
            return Some(format!(
                "{word} {}",
                qualified(&record.schema, &record.name)
            ));
        }
        if comment.class != system::PG_CLASS {
            return None;
        }
        if let Some(table) = self.record(quintet_base::TableId(number)) {
            let name = qualified(&table.schema, &table.name);
            return Some(match column {
                None if self.matview(table.id).is_some() => format!("MATERIALIZED VIEW {name}"),
                None => format!("TABLE {name}"),
                Some(at) => format!("COLUMN {name}.{}", quoted(&table.columns.get(at)?.name)),
            });
        }
        if let Some(part) = self.divisions().part(quintet_base::TableId(number)) {
            let name = qualified(&part.schema, &part.name);
            let table = self.record(self.divisions().root(part.id))?;
            return Some(match column {
                None => format!("TABLE {name}"),
                Some(at) => format!("COLUMN {name}.{}", quoted(&table.columns.get(at)?.name)),
            });
        }
        if let Some(view) = self.view(quintet_base::TableId(number)) {
            let name = qualified(&view.schema, &view.name);
            return Some(match column {
                None => format!("VIEW {name}"),
                Some(at) => format!("COLUMN {name}.{}", quoted(&view.columns.get(at)?.name)),
            });
        }
        if let Some(sequence) = self.sequences().find(|s| s.id.0 == number) {
            let name = qualified(&sequence.schema, &sequence.name);
            return Some(format!("SEQUENCE {name}"));
        }
        self.tables().find_map(|table| {
            let record = self.record(table.id)?;
            let index = record.indexes.iter().find(|index| index.id.0 == number)?;
            Some(format!("INDEX {}", qualified(&record.schema, &index.name)))
        })
    }

    /// Statements that make the partitions of a table or a partition, and those of partitions.
    fn part_texts(
        &self,
        record: &TableRecord,
        parent: (&str, &str),
        all: &Partitioning,
        texts: &mut Vec<String>,
    ) {
        for part in &all.parts {
            let divided = self.divisions().partitioning(part.id);
            let divided =
                divided.map(|divided| format!(" PARTITION BY {}", key_text(divided, record)));
            texts.push(format!(
                "CREATE TABLE {} PARTITION OF {} {}{}",
                qualified(&part.schema, &part.name),
                qualified(parent.0, parent.1),
                bound_text(&part.bound, &all.columns),
                divided.unwrap_or_default()
            ));
            if let Some(inner) = &part.inner {
                self.part_texts(record, (&part.schema, &part.name), inner, texts);
            }
        }
    }

    /// PostgreSQL takes the word for what its partitions lack.
    fn only(&self, table: quintet_base::TableId) -> &'static str {
        match self.divisions().partitioning(table) {
            Some(_) => "",
            None => "ONLY ",
        }
    }

    fn known(&self, id: quintet_base::TableId) -> SqlResult<&TableRecord> {
        let missing = || SqlError::internal("a table that is named is not in the catalogue");
        self.record(id).ok_or_else(missing)
    }

    /// Whether the sequence belongs to an identity column, which makes it.
    pub(crate) fn is_identity(&self, sequence: &SequenceDef) -> bool {
        let column = sequence.owned_by.and_then(|(table, column)| {
            let record = self.record(table)?;
            record.columns.get(column)
        });
        column.is_some_and(|column| column.identity.is_some())
    }

    fn table_text(&self, record: &TableRecord) -> String {
        let mut parts = Vec::new();
        for (at, column) in record.columns.iter().enumerate() {
            if !column.dropped && !record.is_hidden(at) {
                parts.push(self.column_text(record, at, column));
            }
        }
        let of_all_rows = |check: &&CheckRecord| !record.more.unvalidated.contains(&check.name);
        parts.extend(record.checks.iter().filter(of_all_rows).map(check_text));
        if let Some(key) = &record.primary_key {
            let columns = list(key.columns.iter().map(|&at| &*record.columns[at].name));
            parts.push(format!(
                "CONSTRAINT {} PRIMARY KEY ({columns}){}",
                quoted(&key.name),
                late_words(record.late_primary())
            ));
        }
        let name = qualified(&record.schema, &record.name);
        let divided = self.divisions().partitioning(record.id);
        let divided = divided.map(|divided| format!(" PARTITION BY {}", key_text(divided, record)));
        format!(
            "CREATE TABLE {name} (\n    {}\n){}{}",
            parts.join(",\n    "),
            divided.unwrap_or_default(),
            options_text(&record.more.options)
        )
    }

    fn column_text(&self, record: &TableRecord, at: usize, column: &ColumnRecord) -> String {
        let domain = record.domain(at).and_then(|domain| self.user_type(domain));
        let ty = match domain {
            Some(domain) => qualified(&domain.schema, &domain.name),
            None => format_declared(column.ty, column.modifier),
        };
        let mut text = format!("{} {ty}", quoted(&column.name));
        let mut collations = record.more.collations.iter();
        if let Some((_, own)) = collations.find(|(of, _)| *of == at) {
            let mut known = system::COLLATIONS.iter();
            let name = known.find(|(number, _)| number == own);
            text += &name.map_or_else(String::new, |(_, name)| {
                format!(" COLLATE {}", quoted(name))
            });
        }
        if let Some(source) = record.generated(at) {
            text += &format!(" GENERATED ALWAYS AS ({source}) STORED");
        }
        match (column.identity, &column.default) {
            (Some(always), _) => {
                let when = if always { "ALWAYS" } else { "BY DEFAULT" };
                text += &format!(" GENERATED {when} AS IDENTITY");
                let own = |s: &&std::sync::Arc<SequenceDef>| s.owned_by == Some((record.id, at));
                if let Some(sequence) = self.sequences().find(own) {
                    let name = qualified(&sequence.schema, &sequence.name);
                    text += &format!(" (SEQUENCE NAME {name}{})", options(sequence));
                }
            }
            (None, Some(default)) => text += &format!(" DEFAULT {}", enclosed(default)),
            (None, None) => {}
        }
        if column.not_null {
            text += " NOT NULL";
        }
        text
    }

    fn foreign_key_text(&self, key: &ForeignKeyRecord) -> SqlResult<String> {
        let (child, parent) = (self.known(key.child)?, self.known(key.parent)?);
        let names = |table: &TableRecord, columns: &[usize]| {
            list(columns.iter().map(|&at| &*table.columns[at].name))
        };
        let mut text = format!(
            "ALTER TABLE {}{} ADD CONSTRAINT {} FOREIGN KEY ({}) REFERENCES {} ({})",
            self.only(key.child),
            qualified(&child.schema, &child.name),
            quoted(&key.name),
            names(child, &key.columns),
            qualified(&parent.schema, &parent.name),
            names(parent, &key.parent_columns)
        );
        text += &clauses_of(key, &names(child, &key.set));
        Ok(text)
    }
}

/// An expression as DEFAULT takes it: the grammar has `NOT a`, `a IS NULL` and their kin there in parentheses only, and what stands
/// behind COLLATE belongs to the column.
fn enclosed(expression: &str) -> String {
    let parsed = parse_expression(expression).ok();
    let is_whole = parsed.is_some_and(|parsed| match inner(&parsed) {
        Some(NodeEnum::FuncCall(call)) => call.funcformat() != CoercionForm::CoerceSqlSyntax,
        Some(node) => matches!(
            node,
            NodeEnum::AConst(_)
                | NodeEnum::TypeCast(_)
                | NodeEnum::SqlvalueFunction(_)
                | NodeEnum::AArrayExpr(_)
        ),
        None => false,
    });
    match is_whole {
        true => expression.to_string(),
        false => format!("({expression})"),
    }
}

/// What stands behind the columns that a foreign key refers to; `set`: names of those that ON DELETE sets.
pub(crate) fn clauses_of(key: &ForeignKeyRecord, set: &str) -> String {
    let mut text = String::new();
    if key.full {
        text += " MATCH FULL";
    }
    for (event, action) in [("UPDATE", key.on_update), ("DELETE", key.on_delete)] {
        let action = match action {
            'r' => "RESTRICT",
            'c' => "CASCADE",
            'n' => "SET NULL",
            'd' => "SET DEFAULT",
            _ => continue,
        };
        text += &format!(" ON {event} {action}");
    }
    if !key.set.is_empty() {
        text += &format!(" ({set})");
    }
    text += late_words(key.deferrable.then_some(key.deferred));
    if !key.validated {
        text += " NOT VALID";
    }
    text
}

/// What stands behind a constraint that is looked at late.
pub(crate) fn late_words(late: Option<bool>) -> &'static str {
    match late {
        None => "",
        Some(false) => " DEFERRABLE",
        Some(true) => " DEFERRABLE INITIALLY DEFERRED",
    }
}

/// WITH (…), if something was said.
fn options_text(said: &[(String, String)]) -> String {
    let said = said.iter();
    let said = said.map(|(name, value)| format!("{name} = {}", literal(value)));
    let said: Vec<String> = said.collect();
    match said.is_empty() {
        true => String::new(),
        false => format!(" WITH ({})", said.join(", ")),
    }
}

fn check_text(check: &CheckRecord) -> String {
    format!("CONSTRAINT {} CHECK ({})", quoted(&check.name), check.text)
}

/// The statement that makes a type; nothing for that of an extension.
fn type_text(record: &TypeRecord) -> String {
    let name = qualified(&record.schema, &record.name);
    match &record.kind {
        TypeKind::Enum(labels) => {
            let labels = labels.iter().map(|label| literal(&label.label));
            let labels: Vec<String> = labels.collect();
            format!("CREATE TYPE {name} AS ENUM ({})", labels.join(", "))
        }
        TypeKind::Composite(fields) => {
            let field = |field: &ViewColumnRecord| {
                let ty = format_declared(field.ty, field.modifier);
                format!("{} {ty}", quoted(&field.name))
            };
            let fields: Vec<String> = fields.iter().map(field).collect();
            format!("CREATE TYPE {name} AS ({})", fields.join(", "))
        }
        TypeKind::Base(_) => String::new(),
        TypeKind::Domain(domain) => {
            // Types that users made are told by their numbers here.
            let base = match domain.over {
                Some(over) => format_declared(SqlType::Enum(over), TypeMod::NONE),
                None => format_declared(domain.base, domain.modifier),
            };
            let mut text = format!("CREATE DOMAIN {name} AS {base}");
            if let Some(default) = &domain.default {
                text += &format!(" DEFAULT {}", enclosed(default));
            }
            if domain.not_null {
                text += " NOT NULL";
            }
            for check in &domain.checks {
                let own = quoted(&check.name);
                text += &format!(" CONSTRAINT {own} CHECK ({})", check.text);
            }
            text
        }
    }
}

/// What ALTER has said of a function, without the name that it is kept under.
fn said_of(altered: &str) -> &str {
    altered.strip_prefix("ALTER FUNCTION f ").unwrap_or(altered)
}

/// A statement that is read with another search path.
/// Where the names in a definition are looked for, if not where they are anyway.
fn path_of(schema: &str) -> Option<String> {
    match schema {
        "public" => None,
        other => Some(format!("{}, public", quoted(other))),
    }
}

/// Of a statement whose text may have operators: with these schemas in the path. PostgreSQL would take others, of other types, without.
fn beside(schemas: &[String], statement: String) -> String {
    const TEXTS: [&str; 6] = [
        "CREATE TABLE ",
        "CREATE DOMAIN ",
        "CREATE INDEX ",
        "CREATE UNIQUE INDEX ",
        "ALTER TABLE ",
        "CREATE TRIGGER ",
    ];
    if schemas.is_empty() {
        return statement;
    }
    let schemas = schemas.join(", ");
    if let Some(rest) = statement.strip_prefix(SET_PATH)
        && let Some((path, rest)) = rest.split_once("', false);")
    {
        let schemas = schemas.replace('\'', "''");
        return format!("{SET_PATH}{path}, {schemas}', false);{rest}");
    }
    match TEXTS.iter().any(|begin| statement.starts_with(begin)) {
        true => on_path(Some(format!("public, {schemas}")), statement),
        false => statement,
    }
}

/// How a statement begins that is read with another search path.
const SET_PATH: &str = "SELECT pg_catalog.set_config('search_path', '";

fn on_path(path: Option<String>, statement: String) -> String {
    let Some(path) = path else {
        return statement;
    };
    let path = literal(&path);
    format!(
        "SELECT pg_catalog.set_config('search_path', {path}, false);\n{statement};\nRESET search_path"
    )
}

fn type_of(ty: SqlType) -> String {
    format_type(ty, quintet_base::TypeMod::NONE)
}

fn options(sequence: &SequenceDef) -> String {
    let mut text = format!(
        " START WITH {} INCREMENT BY {} MINVALUE {} MAXVALUE {}",
        sequence.start, sequence.increment, sequence.min, sequence.max
    );
    if sequence.cache > 1 {
        text += &format!(" CACHE {}", sequence.cache);
    }
    if sequence.cycle {
        text += " CYCLE";
    }
    text
}

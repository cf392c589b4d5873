//! Scripts of statements with the plans and errors they give.
//!
//! Each file under `scripts/` holds blocks of a statement, a line `----` and what planning it says,
//! with a blank line behind. Schema changes take effect for the statements below them.
//! `QUINTET_REWRITE=1 cargo test -p quintet-sql --test plans` writes what comes out instead of
//! comparing; read the diff.

use quintet_base::text_format::FormatContext;
use quintet_base::{SqlError, SqlType};
use quintet_ir::Statement;
use quintet_ir::ddl::Work;
use quintet_ir::explain::explain;
use quintet_sql::{Catalog, Command, PlanContext, Planned, parse, plan};

struct World {
    catalog: Catalog,
    user: quintet_sql::Who,
}

impl World {
    fn new() -> World {
        World {
            catalog: Catalog::load([]).expect("no records are a catalogue"),
            user: quintet_sql::Who::SYSTEM,
        }
    }

    /// `SET ROLE name`: from here on plans are this role's; `none`: nobody's in particular.
    fn become_role(&mut self, name: &str) {
        let role = self.catalog.roles().named(name);
        self.user = match role {
            Some(role) => quintet_sql::Who {
                role,
                rows: quintet_sql::RowSecurity::On,
                ..quintet_sql::Who::SYSTEM
            },
            None => quintet_sql::Who::SYSTEM,
        };
    }

    /// What planning a text says, as lines.
    fn run(&mut self, text: &str) -> Vec<String> {
        if let Some(name) = text.strip_prefix("SET ROLE ") {
            self.become_role(name);
            return Vec::new();
        }
        let statements = match parse(text) {
            Ok(statements) => statements,
            Err(error) => return describe_error(&error),
        };
        let mut lines = Vec::new();
        for statement in statements {
            let format = FormatContext::default();
            let context = PlanContext {
                catalog: &self.catalog,
                schema: "public",
                user: self.user,
                database: "quintet",
                format: &format,
                dynamic: &quintet_sql::NOTHING_DYNAMIC,
            };
            match plan(&statement, &context, &[]) {
                Ok(planned) => {
                    lines.extend(describe(&planned));
                    if let Command::Ddl(change) = &planned.command {
                        self.catalog = self
                            .catalog
                            .apply(&change.changes)
                            .expect("a planned change applies");
                    }
                }
                Err(error) => lines.extend(describe_error(&error)),
            }
        }
        lines
    }
}

fn describe_error(error: &SqlError) -> Vec<String> {
    let place = error
        .position
        .map_or(String::new(), |at| format!(" at {at}"));
    let mut lines = vec![format!("ERROR {}{place}: {}", error.state, error.message)];
    lines.extend(
        error
            .detail
            .iter()
            .map(|detail| format!("DETAIL: {detail}")),
    );
    lines.extend(error.hint.iter().map(|hint| format!("HINT: {hint}")));
    lines
}

fn describe(planned: &Planned) -> Vec<String> {
    let mut lines: Vec<String> = planned
        .notices
        .iter()
        .map(|notice| format!("{}: {}", notice.severity, notice.message.message))
        .collect();
    match &planned.command {
        Command::Run(procedure) => {
            if let Some(statement) = procedure.statement() {
                lines.extend(explain(statement));
                lines.extend(details(statement));
            }
        }
        Command::Ddl(change) => {
            lines.push(format!("{}: {} records", planned.tag, change.changes.len()));
            lines.extend(change.work.iter().map(describe_work));
        }
        Command::CopyFrom(copy) => {
            lines.push(format!(
                "COPY FROM columns {:?} {:?}",
                copy.columns, copy.format
            ));
        }
        Command::CopyTo(copy) => {
            lines.push(format!("COPY TO {:?}", copy.format));
            lines.extend(copy.query.statement().into_iter().flat_map(explain));
        }
        Command::Declare(cursor) => {
            let quintet_sql::command::Declare {
                name,
                hold,
                scroll,
                query,
                ..
            } = cursor;
            lines.push(format!("DECLARE {name} hold {hold} scroll {scroll}"));
            lines.extend(query.statement().into_iter().flat_map(explain));
        }
        Command::Explain {
            analyze,
            format,
            inner,
        } => {
            lines.push(format!("EXPLAIN analyze {analyze} format {format:?}"));
            lines.extend(describe(inner));
        }
        other => lines.push(format!("{}: {other:?}", planned.tag)),
    }
    if !planned.params.is_empty() {
        let params: Vec<&str> = planned.params.iter().map(|ty| ty.name()).collect();
        lines.push(format!("params: {}", params.join(", ")));
    }
    if !planned.columns.is_empty() {
        let columns = planned.columns.iter().map(|column| {
            let ty = quintet_base::types::format_type(column.ty, column.modifier);
            let origin = if column.origin.is_some() { "*" } else { "" };
            format!("{}{origin} {ty}", column.name)
        });
        lines.push(format!(
            "columns: {}",
            columns.collect::<Vec<_>>().join(", ")
        ));
    }
    lines
}

/// What EXPLAIN does not print.
fn details(statement: &Statement) -> Vec<String> {
    match statement {
        Statement::Insert(insert) => {
            let names: Vec<String> = (0..insert.table.frame_width())
                .map(|n| format!("${n}"))
                .collect();
            let _ = names;
            let values = insert.values.iter().map(|value| format!("{value:?}"));
            let mut lines = vec![format!("values: {}", values.collect::<Vec<_>>().join("; "))];
            if let Some(conflict) = &insert.conflict {
                lines.push(format!("on conflict: {conflict:?}"));
            }
            lines
        }
        Statement::Update(update) => {
            let set = update
                .assignments
                .iter()
                .map(|(column, value)| format!("{column} = {value:?}"));
            vec![format!("set: {}", set.collect::<Vec<_>>().join("; "))]
        }
        Statement::Query(_) | Statement::Delete(_) => vec![],
    }
}

fn shown(rows: &quintet_ir::Plan) -> String {
    let lines = explain(&Statement::Query(rows.clone()));
    let lines: Vec<&str> = lines.iter().map(|line| line.trim()).collect();
    lines.join(" / ")
}

fn describe_work(work: &Work) -> String {
    match work {
        Work::Empty(table) => format!("  empty {}", table.name),
        Work::BuildIndex { table, index } => format!("  build {}", table.indexes[*index].name),
        Work::Rewrite {
            from,
            to,
            columns,
            rows,
            fresh: _,
        } => format!(
            "  rewrite {} from space {} to {} ({}){}",
            to.name,
            from.space,
            to.space,
            columns
                .iter()
                .map(|c| format!("{c:?}"))
                .collect::<Vec<_>>()
                .join("; "),
            rows.iter()
                .map(|rows| format!(" of {}", shown(rows)))
                .collect::<String>()
        ),
        Work::Verify {
            not_null, checks, ..
        } => format!("  verify not null {not_null:?} checks {checks:?}"),
        Work::VerifyReferences { table, key } => {
            let keys = table.references.iter().map(|all| &all.keys[*key].name);
            format!("  verify {:?} of {}", keys.collect::<Vec<_>>(), table.name)
        }
        Work::Remove { rows, .. } => format!("  remove {}", shown(rows)),
        Work::Refuse { rows, error, .. } => {
            format!("  refuse {}: {}", shown(rows), error.message)
        }
        Work::Run(statement) => {
            let lines = explain(statement);
            let lines: Vec<&str> = lines.iter().map(|line| line.trim()).collect();
            format!("  run {}", lines.join(" / "))
        }
        Work::Fence(spaces) => format!("  fence {spaces:?}"),
        Work::DropSpaces(spaces) => format!("  drop {spaces:?}"),
        Work::StartSequence { sequence, next } => format!(
            "  start {} at {next} ({} by {} from {} to {}{})",
            sequence.name,
            sequence.ty,
            sequence.increment,
            sequence.min,
            sequence.max,
            if sequence.cycle { " cycle" } else { "" }
        ),
        Work::DropSequence(id) => format!("  forget sequence {id}"),
    }
}

/// Runs a script and compares, or rewrites it.
#[allow(clippy::disallowed_methods)] // rewrites a file of the source tree, by hand only
fn check(name: &str, script: &str) {
    let mut world = World::new();
    let mut expected = String::new();
    let mut actual = String::new();
    for block in script
        .split("\n\n")
        .filter(|block| !block.trim().is_empty())
    {
        let block = block.trim_matches('\n');
        if block.starts_with("--") && !block.contains("\n----") {
            actual += &format!("{block}\n\n");
            expected += &format!("{block}\n\n");
            continue;
        }
        let (statement, wanted) = block.split_once("\n----").unwrap_or((block, ""));
        let wanted = wanted.trim_start_matches('\n');
        let lines = world.run(statement).join("\n");
        actual += &format!("{statement}\n----\n{lines}\n\n");
        expected += &format!("{statement}\n----\n{wanted}\n\n");
    }
    let actual = format!("{}\n", actual.trim_end());
    if std::env::var_os("QUINTET_REWRITE").is_some() {
        let path = format!("{}/tests/scripts/{name}.txt", env!("CARGO_MANIFEST_DIR"));
        std::fs::write(path, actual).expect("the source tree can be written");
        return;
    }
    let expected = format!("{}\n", expected.trim_end());
    for (number, (a, e)) in actual.lines().zip(expected.lines()).enumerate() {
        assert_eq!(
            a,
            e,
            "{name}.txt, line {} (left: now, right: expected)",
            number + 1
        );
    }
    assert_eq!(
        actual.len(),
        expected.len(),
        "{name}.txt: longer or shorter than expected"
    );
}

macro_rules! scripts {
    ($($name:ident),* $(,)?) => {
        $(
            #[test]
            fn $name() {
                check(stringify!($name), include_str!(concat!("scripts/", stringify!($name), ".txt")));
            }
        )*
    };
}

scripts! {
    access_paths, ctid, select, aggregates, joins, subqueries, changes, schema, alter, utility, copy, system, errors,
    functions, inverted, partitions, row_security, never, pulled,
}

#[test]
fn ten_thousand_parameters_are_planned_in_linear_time() {
    let mut world = World::new();
    world.run("CREATE TABLE t (a int PRIMARY KEY, b text)");
    let cost = |rows: usize| {
        let values: Vec<String> = (0..rows)
            .map(|n| format!("(${}, ${})", 2 * n + 1, 2 * n + 2))
            .collect();
        let text = format!("INSERT INTO t VALUES {}", values.join(", "));
        let parsed = parse(&text).unwrap();
        let format = FormatContext::default();
        let context = PlanContext {
            catalog: &world.catalog,
            schema: "public",
            user: quintet_sql::Who::SYSTEM,
            database: "",
            format: &format,
            dynamic: &quintet_sql::NOTHING_DYNAMIC,
        };
        let planned = plan(&parsed[0], &context, &[]).unwrap();
        assert_eq!(planned.params.len(), 2 * rows);
        assert_eq!(planned.params[0], SqlType::Int4);
        assert_eq!(planned.params[2 * rows - 1], SqlType::Text);
    };
    // A quadratic planner takes minutes for this.
    cost(15_000);
}

#[test]
fn catalogue_comes_back_from_its_records() {
    let mut world = World::new();
    let mut records = std::collections::BTreeMap::new();
    for text in [
        "CREATE TABLE t (id serial PRIMARY KEY, a varchar(10) DEFAULT 'x' CHECK (a <> ''), b timestamptz DEFAULT '2020-01-01 00:00+02', UNIQUE (a, b))",
        "CREATE INDEX ON t (b)",
        "ALTER TABLE t ADD COLUMN c numeric(10,2) NOT NULL DEFAULT 1.5",
        "CREATE SEQUENCE s INCREMENT -1",
    ] {
        let format = FormatContext::default();
        let context = PlanContext {
            catalog: &world.catalog,
            schema: "public",
            user: quintet_sql::Who::SYSTEM,
            database: "",
            format: &format,
            dynamic: &quintet_sql::NOTHING_DYNAMIC,
        };
        let planned = plan(&parse(text).unwrap()[0], &context, &[]).unwrap();
        let Command::Ddl(change) = planned.command else {
            panic!("{text} is no schema change");
        };
        world.catalog = world.catalog.apply(&change.changes).unwrap();
        for change in change.changes {
            match change.value {
                Some(value) => records.insert(change.key, value),
                None => records.remove(&change.key),
            };
        }
    }
    let again = Catalog::load(records).unwrap();
    let text = |catalog: &Catalog| format!("{:?}", catalog.table("public", "t").unwrap());
    assert_eq!(text(&again), text(&world.catalog));
    assert_eq!(again.spaces(), world.catalog.spaces());
    assert_eq!(
        again.sequence("public", "s"),
        world.catalog.sequence("public", "s")
    );
}

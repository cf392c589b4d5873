//! Every procedure and function of the scripts in `tests/procedures` is valid, and so is every call of them;
//! their programs read back from their text as they were.
//!
//! Nothing is run: schema changes take effect in the catalogue alone, and what fails for another reason than
//! its program is left out.

#![allow(clippy::unwrap_used)]

use quintet_base::SqlState;
use quintet_base::text_format::FormatContext;
use quintet_ir::routine::{Action, Into, Output, Slot, Step};
use quintet_ir::schema::TableRef;
use quintet_ir::statement::Body;
use quintet_ir::{Procedure, Program, Routine, text, validate};
use quintet_sql::{Catalog, Command, PlanContext, parse, plan};
use std::path::{Path, PathBuf};

const SCRIPTS: &str = "../../tests/procedures/cases";
const DYNAMIC: &str = "../../tests/slt/cases";
const WORKLOADS: &str = "../workloads/src";

struct World {
    catalog: Catalog,
    programs: usize,
    /// Those of them that only a session can run.
    for_sessions: usize,
}

impl World {
    fn new() -> World {
        World {
            catalog: Catalog::load([]).unwrap(),
            programs: 0,
            for_sessions: 0,
        }
    }

    /// Plans a statement; what it would run is looked at.
    fn statement(&mut self, sql: &str, place: &str) {
        let Ok(statements) = parse(sql) else {
            return;
        };
        for statement in statements {
            let format = FormatContext::default();
            let context = PlanContext {
                catalog: &self.catalog,
                schema: "public",
                user: quintet_sql::Who::SYSTEM,
                database: "quintet",
                format: &format,
                dynamic: &quintet_sql::NOTHING_DYNAMIC,
            };
            let planned = match plan(&statement, &context, &[]) {
                Ok(planned) => planned,
                Err(error) if error.state == SqlState::INTERNAL_ERROR => {
                    panic!("{place}: {error} in\n{sql}")
                }
                Err(_) => continue,
            };
            match planned.command {
                Command::Run(procedure) => self.look_at(&procedure, place),
                Command::Ddl(change) => {
                    self.catalog = self.catalog.apply(&change.changes).unwrap();
                }
                _ => {}
            }
        }
    }

    fn look_at(&mut self, procedure: &Procedure, place: &str) {
        if let Err(fault) = validate::procedure(procedure) {
            panic!("{place}: {fault}");
        }
        match &procedure.body {
            Body::Call { program, .. } => self.reads_back(program, place),
            // As the only step of a routine whose variables are the parameters.
            Body::Statement(statement) => {
                let slots = procedure.params.iter().map(|ty| Slot::hidden(*ty));
                let routine = Routine {
                    name: String::new(),
                    slots: slots.collect(),
                    arguments: procedure.params.len(),
                    strict: false,
                    guise: None,
                    found: None,
                    body: vec![Step {
                        line: 0,
                        needs: None,
                        action: Action::Run {
                            statement: statement.clone(),
                            into: Into::default(),
                        },
                    }],
                    output: Output::Nothing,
                };
                self.reads_back(&Program::new(vec![routine]), place);
            }
        }
    }

    fn reads_back(&mut self, program: &Program, place: &str) {
        let written = text::write(program);
        let find = |schema: &str, name: &str| -> Option<TableRef> {
            self.catalog.table(schema, name).cloned()
        };
        let back = text::read(&written, &find)
            .unwrap_or_else(|error| panic!("{place}: {error} of\n{written}"));
        let (before, after) = (
            format!("{:?}", program.routines),
            format!("{:?}", back.routines),
        );
        assert_eq!(before, after, "{place}: {written}");
        assert_eq!(program.numbers, back.numbers, "{place}");
        assert_eq!(written, text::write(&back), "{place}");
        self.programs += 1;
        self.for_sessions += usize::from(program.needs_session());
    }
}

fn files(directory: &str, ends: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(directory);
    let mut found = Vec::new();
    let mut waiting = vec![root];
    while let Some(directory) = waiting.pop() {
        for entry in std::fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                waiting.push(path);
            } else if path.to_string_lossy().ends_with(ends) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

impl World {
    /// Statement by statement, each against the schema that those before it have left.
    fn script(&mut self, sql: &str, place: &str) {
        for statement in pg_query::split_with_scanner(sql).unwrap() {
            self.statement(statement, place);
        }
    }
}

/// Goal: what the front end makes of the scripts are programs, and their text is theirs.
#[test]
fn routines_of_the_scripts_are_valid_and_read_back() {
    let mut programs = 0;
    for file in files(SCRIPTS, ".sql") {
        // `\\;` sends a statement together with the next one.
        let sql = std::fs::read_to_string(&file).unwrap().replace("\\;", ";");
        let mut world = World::new();
        world.script(&sql, &file.display().to_string());
        programs += world.programs;
    }
    println!("{programs} programs");
    assert!(programs > 700, "{programs} programs only");
}

/// Goal: the same of routines whose statements are planned when they are reached, or that run in a guise.
#[test]
fn routines_that_need_a_session_are_valid_and_read_back() {
    for name in ["dynamic_sql", "dynamic_functions", "security_definer"] {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(DYNAMIC);
        let sql = std::fs::read_to_string(file.join(format!("{name}.sql"))).unwrap();
        let mut world = World::new();
        world.script(&sql, name);
        println!("{name}: {}", world.for_sessions);
        assert!(
            world.for_sessions > 8,
            "{name}: {} only",
            world.for_sessions
        );
    }
}

/// The calls that the benchmarks make.
const CALLS: &[&str] = &[
    "CALL new_order($1, $2, $3, $4, $5, $6, NULL, NULL, NULL, NULL, NULL, NULL)",
    "CALL payment($1, $2, $3, $4, $5, $6, $7, NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
    "SELECT * FROM order_status($1, $2, $3, $4)",
    "CALL delivery($1, $2, NULL)",
    "SELECT stock_level($1, $2, $3)",
    "CALL ycsb($1, $2, $3, $4, NULL, NULL)",
    "SELECT * FROM on_click($1)",
    "CALL add_cart($1, $2, $3)",
    "CALL add_favorite($1, $2)",
    "CALL purchase_item($1, $2, $3, NULL)",
    "SELECT balance($1)",
    "CALL deposit_checking($1, $2, NULL)",
    "CALL transact_savings($1, $2, NULL)",
    "CALL amalgamate($1, $2, NULL)",
    "CALL write_check($1, $2, NULL)",
    "CALL send_payment($1, $2, $3, NULL)",
    "CALL hot_first($1, $2, NULL)",
    "CALL hot_last($1, $2, NULL)",
    "CALL hot_none($1, NULL)",
];

/// Goal: the same of the benchmarks' procedures.
#[test]
fn routines_of_the_workloads_are_valid_and_read_back() {
    let mut world = World::new();
    for ends in ["schema.sql", "procedures.sql"] {
        for file in files(WORKLOADS, ends) {
            let sql = std::fs::read_to_string(&file).unwrap();
            world.script(&sql, &file.display().to_string());
        }
    }
    let before = world.programs;
    for call in CALLS {
        world.statement(call, call);
    }
    assert_eq!(
        world.programs - before,
        CALLS.len(),
        "a call was not planned"
    );
}

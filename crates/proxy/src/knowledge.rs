//! What is known of the procedures at the replicas: which calls conflict, and what a statement is.
//!
//! Relies on: `sql` and `analysis` for reading the replicas' own definitions.  Promises: a call that may conflict with
//! another has keys that meet; what cannot be read, or depends on a session, has the keys of everything.
//! Does not: know rows, or run anything.
//!
//! ```text
//!   definitions ──sql──► Catalog ──analysis──► Classes ──► keys of a call
//!        │ cannot be read                                      ▲
//!        └────────────────► such calls: keys of everything ────┘
//! ```

use quintet_analysis::{Classes, Footprint, Rule, is_fixed};
use quintet_base::conflict::{ConflictKey, MAX_MODES, Mode, Modes, Space};
use quintet_base::text_format::FormatContext;
use quintet_base::{SqlResult, SqlType, Value};
use quintet_ir::statement::Body;
use quintet_ir::{DetachedHost, Expr, Program, eval};
use quintet_sql::{Catalog, Command, Kind, Parsed, PlanContext, plan};
use std::sync::Arc;

/// The mode of those who may touch any row of a space in any way. The classifier's own last mode may be the same
/// one, which loses parallelism and nothing else.
const ANYHOW: Mode = Mode(MAX_MODES as u8 - 1);

/// See the module.
#[derive(Debug)]
pub struct Knowledge {
    catalog: Catalog,
    classes: Classes,
    /// By their number in the classes.
    programs: Vec<Arc<Program>>,
    modes: Modes,
    everything: Vec<ConflictKey>,
    /// Definitions that nothing is known of, and why.
    unread: Vec<String>,
}

/// A call as it was understood when it was prepared.
#[derive(Clone, Debug)]
pub struct Call {
    routine: usize,
    arguments: Vec<Expr>,
    /// Types of `$1 …`.
    pub params: Vec<SqlType>,
    /// True if no row is changed, added, removed or locked.
    pub reads_only: bool,
}

impl Knowledge {
    /// What follows from definitions as SQL text, tables first.
    pub fn new(definitions: &[String], rule: Rule) -> SqlResult<Knowledge> {
        let mut catalog = Catalog::load([])?;
        let mut unread = Vec::new();
        for text in definitions {
            match catalog.clone().with_script(text) {
                Ok(next) => catalog = next,
                Err(error) => {
                    let first = text.lines().next().unwrap_or_default();
                    unread.push(format!("{first}: {} ({})", error.message, error.state));
                }
            }
        }
        let mut programs = Vec::new();
        let mut footprints = Vec::new();
        for (name, program) in catalog.programs() {
            match program {
                Ok(program) if program.has_dynamic() => {
                    unread.push(format!("{name}: what it executes is planned when it runs"));
                }
                Ok(program) => {
                    footprints.push(Footprint::of(&program));
                    programs.push(program);
                }
                Err(error) => unread.push(format!("{name}: {} ({})", error.message, error.state)),
            }
        }
        let classes = Classes::new(footprints, rule);
        let mut modes = classes.modes().clone();
        // One space more: who touches everything meets others of his kind even if there is nothing else.
        let spaces = modes.spaces() + 1;
        let mut everything = Vec::with_capacity(spaces);
        for space in (0..spaces).map(|space| Space(space as u32)) {
            for mode in 0..MAX_MODES as u8 {
                modes.declare(space, ANYHOW, Mode(mode));
            }
            everything.push(ConflictKey::new(space, ANYHOW, &[]));
        }
        Ok(Knowledge {
            catalog,
            classes,
            programs,
            modes,
            everything,
            unread,
        })
    }

    /// Which keys meet.
    pub fn modes(&self) -> &Modes {
        &self.modes
    }

    /// Keys of who may touch anything.
    pub fn everything(&self) -> &[ConflictKey] {
        &self.everything
    }

    /// Level and granularity that the keys are made for.
    pub fn rule(&self) -> Rule {
        self.classes.rule()
    }

    /// Definitions that nothing is known of, and why: calls of them wait for everybody.
    pub fn unread(&self) -> &[String] {
        &self.unread
    }

    /// Names of the procedures and functions that are known.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.classes.names()
    }

    /// The name of what is called.
    pub fn name(&self, call: &Call) -> &str {
        self.classes.names().nth(call.routine).unwrap_or_default()
    }

    /// The call that a statement is, if it is one of a routine that is known: CALL, or SELECT of one function and
    /// nothing else.
    pub fn call(&self, statement: &Parsed, types: &[SqlType]) -> Option<Call> {
        if !matches!(statement.kind(), Kind::Call | Kind::Query) {
            return None;
        }
        let planned = plan(
            statement,
            &context(&self.catalog, &FormatContext::default()),
            types,
        );
        let planned = planned.ok()?;
        let Command::Run(procedure) = planned.command else {
            return None;
        };
        let Body::Call { program, arguments } = &procedure.body else {
            return None;
        };
        let mut programs = self.programs.iter();
        let routine = programs.position(|known| Arc::ptr_eq(known, program))?;
        Some(Call {
            routine,
            arguments: arguments.clone(),
            params: planned.params,
            reads_only: !procedure.is_write(),
        })
    }

    /// The keys of a call with these parameters.
    pub fn keys(&self, call: &Call, params: &[Value]) -> Vec<ConflictKey> {
        let mut keys = Vec::new();
        match values(call, params) {
            Some(values) => self.classes.keys(call.routine, &values, &mut keys),
            None => keys.extend_from_slice(&self.everything),
        }
        keys
    }
}

/// The arguments of a call; none if they depend on the session that runs it, or cannot be computed: then the
/// replica will say what is wrong.
fn values(call: &Call, params: &[Value]) -> Option<Vec<Value>> {
    let host = DetachedHost::default();
    let values = call.arguments.iter().map(|argument| {
        let known = is_fixed(argument).then(|| eval(argument, &[], params, &host));
        known.and_then(Result::ok)
    });
    values.collect()
}

fn context<'a>(catalog: &'a Catalog, format: &'a FormatContext) -> PlanContext<'a> {
    PlanContext {
        catalog,
        schema: "public",
        user: quintet_sql::Who::SYSTEM,
        database: "quintet",
        format,
        dynamic: &quintet_sql::NOTHING_DYNAMIC,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_analysis::Granularity;
    use quintet_base::Level;
    use quintet_sql::parse;

    const DEFINITIONS: [&str; 6] = [
        "CREATE TABLE public.account (id integer NOT NULL, sum bigint, PRIMARY KEY (id))",
        "CREATE PROCEDURE public.pay(IN who integer, IN amount bigint) LANGUAGE plpgsql AS $$
         BEGIN UPDATE account SET sum = sum + amount WHERE id = who; END $$",
        "CREATE FUNCTION public.balance(who integer) RETURNS bigint LANGUAGE sql AS
         $$ SELECT sum FROM account WHERE id = who $$",
        "CREATE PROCEDURE public.odd() LANGUAGE plpgsql AS $$ BEGIN EXECUTE 'select 1'; END $$",
        "CREATE FUNCTION public.around() RETURNS void LANGUAGE plpgsql AS $$ BEGIN CALL odd(); END $$",
        "CREATE PROCEDURE public.wrong(IN x nothing) LANGUAGE plpgsql AS $$ BEGIN NULL; END $$",
    ];

    fn knowledge() -> Knowledge {
        let definitions = DEFINITIONS.map(String::from);
        let rule = Rule {
            level: Level::Snapshot,
            granularity: Granularity::Row,
        };
        Knowledge::new(&definitions, rule).unwrap()
    }

    fn call(knowledge: &Knowledge, text: &str) -> Option<Call> {
        let parsed = parse(text).unwrap();
        knowledge.call(&parsed[0], &[])
    }

    #[test]
    fn calls_of_one_row_meet_and_others_do_not() {
        let knowledge = knowledge();
        let keys = |text: &str| {
            let call = call(&knowledge, text).expect(text);
            assert!(!call.reads_only, "{text}");
            knowledge.keys(&call, &[])
        };
        let meet = |a: &[ConflictKey], b: &[ConflictKey]| {
            a.iter()
                .any(|a| b.iter().any(|b| a.meets(b, knowledge.modes())))
        };
        let one = keys("call pay(1, 5)");
        assert!(meet(&one, &keys("call pay(1, 7)")));
        assert!(!meet(&one, &keys("call pay(2, 5)")));
        assert!(meet(&one, knowledge.everything()));
        assert!(meet(knowledge.everything(), knowledge.everything()));
    }

    #[test]
    fn parameters_give_the_keys_that_literals_give() {
        let knowledge = knowledge();
        let prepared = call(&knowledge, "call pay($1, $2)").unwrap();
        assert_eq!(prepared.params, [SqlType::Int4, SqlType::Int8]);
        let literal = call(&knowledge, "call pay(3, 1)").unwrap();
        assert_eq!(
            knowledge.keys(&prepared, &[Value::Int4(3), Value::Int8(1)]),
            knowledge.keys(&literal, &[])
        );
    }

    #[test]
    fn what_is_not_known_is_everything_or_no_call() {
        let knowledge = knowledge();
        assert_eq!(knowledge.unread().len(), 3, "{:?}", knowledge.unread());
        for unknown in ["call odd()", "select around()", "call wrong(1)"] {
            assert!(call(&knowledge, unknown).is_none(), "{unknown}");
        }
        assert!(call(&knowledge, "select 1").is_none());
        assert!(call(&knowledge, "select balance(1), now()").is_none());
        let clock = call(&knowledge, "call pay((extract(epoch from now()))::int, 1)").unwrap();
        assert_eq!(knowledge.keys(&clock, &[]), knowledge.everything());
        let overflow = call(&knowledge, "call pay(1 / 0, 1)").unwrap();
        assert_eq!(knowledge.keys(&overflow, &[]), knowledge.everything());
    }

    #[test]
    fn a_function_that_reads_is_read_only() {
        let knowledge = knowledge();
        assert!(call(&knowledge, "select balance(1)").unwrap().reads_only);
    }

    // What a driver sends for a prepared call, with the types that it declares.
    #[test]
    fn prepared_calls_of_tpcc_have_keys_of_their_own() {
        let (_, schema, procedures) = quintet_workloads::TEXTS
            .iter()
            .find(|(name, ..)| *name == "tpcc")
            .unwrap();
        let rule = Rule {
            level: Level::Snapshot,
            granularity: Granularity::Row,
        };
        let definitions = [schema.to_string(), procedures.to_string()];
        let knowledge = Knowledge::new(&definitions, rule).unwrap();
        assert_eq!(knowledge.unread(), [] as [String; 0]);
        let (int, ints) = (SqlType::Int4, SqlType::from_oid(1007).unwrap());
        let text = "CALL new_order($1, $2, $3, $4, $5, $6, NULL, NULL, NULL, NULL, NULL, NULL)";
        let types = [int, int, int, ints, ints, ints];
        let call = knowledge.call(&parse(text).unwrap()[0], &types).unwrap();
        let array = |numbers: [i32; 2]| {
            let bytes = format!("{{{},{}}}", numbers[0], numbers[1]);
            quintet_base::text_format::read(ints, &bytes, &FormatContext::default()).unwrap()
        };
        let order = |w: i32, d: i32| {
            let number = Value::Int4;
            let params = [
                number(w),
                number(d),
                number(1),
                array([3, 5]),
                array([w, w]),
                array([1, 1]),
            ];
            knowledge.keys(&call, &params)
        };
        let meet = |a: &[ConflictKey], b: &[ConflictKey]| {
            a.iter()
                .any(|a| b.iter().any(|b| a.meets(b, knowledge.modes())))
        };
        assert_ne!(order(1, 1), knowledge.everything());
        assert!(meet(&order(1, 1), &order(1, 1)));
        assert!(!meet(&order(1, 1), &order(2, 1)), "{:?}", order(1, 1));
    }
}

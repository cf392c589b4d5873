//! Conflict keys from the text of a workload's procedures: the classifier that the server has, at SNAPSHOT with
//! columns told apart, as in the thesis.
//!
//! Relies on: `sql` for reading the text, `analysis` for footprints and classes.  Promises: the keys of a call, from
//! its arguments; only procedures that are named count, so that nobody waits for what is never called.
//! Does not: know what a call will write.

use quintet_analysis::{Classes, Footprint, Granularity, Rule};
use quintet_base::conflict::{ConflictKey, Modes, Space};
use quintet_base::{Array, Level, Numeric, SqlError, SqlType, Value};
use quintet_sql::Catalog;
use quintet_workloads::TEXTS;
use quintet_workloads::call::Argument;
use std::sync::{Arc, LazyLock};

/// The conflict classes of some procedures, which are numbered as they were named.
#[derive(Clone, Debug)]
pub struct Classified {
    classes: Arc<Classes>,
}

/// In the order of the workload's procedures.
const TPCC: [&str; 5] = [
    "new_order",
    "payment",
    "order_status",
    "delivery",
    "stock_level",
];

/// The same for TPC-E, but for Trade-Result.
fn tpce(trade_result: &'static str) -> [&'static str; 10] {
    [
        "broker_volume",
        "customer_position",
        "market_feed",
        "market_watch",
        "security_detail",
        "trade_lookup",
        "trade_order",
        trade_result,
        "trade_status",
        "trade_update",
    ]
}

// Reading the text takes longer than a short simulation.
static TPCC_CLASSES: LazyLock<Classified> = LazyLock::new(|| ours("tpcc", &TPCC));
static TPCE_CLASSES: LazyLock<Classified> = LazyLock::new(|| ours("tpce", &tpce("trade_result")));
static TPCE_FOUND: LazyLock<Classified> =
    LazyLock::new(|| ours("tpce", &tpce("trade_result_found")));

fn ours(workload: &str, procedures: &[&str]) -> Classified {
    let text = TEXTS.iter().find(|(name, ..)| *name == workload);
    let (_, schema, bodies) = text.expect("it is one of ours");
    Classified::new(&[schema, bodies], procedures).expect("our own text is right")
}

impl Classified {
    /// The classes of these procedures, whose text is among that of the scripts.
    ///
    /// # Errors
    /// If a script is wrong.
    ///
    /// # Panics
    /// If a procedure is in no script.
    pub fn new(scripts: &[&str], procedures: &[&str]) -> Result<Classified, SqlError> {
        let mut catalog = Catalog::load([])?;
        for script in scripts {
            catalog = catalog.with_script(script)?;
        }
        let mut footprints = Vec::new();
        for (_, program) in catalog.programs() {
            footprints.push(Footprint::of(&*program?));
        }
        let named = |name: &&str| {
            let bare = |footprint: &&Footprint| footprint.name.split('(').next() == Some(*name);
            let found = footprints.iter().find(bare);
            found.expect("the scripts create it").clone()
        };
        let footprints = procedures.iter().map(named).collect();
        let rule = Rule {
            level: Level::Snapshot,
            granularity: Granularity::Column,
        };
        Ok(Classified {
            classes: Arc::new(Classes::new(footprints, rule)),
        })
    }

    /// TPC-C's five procedures.
    pub fn tpcc() -> Classified {
        TPCC_CLASSES.clone()
    }

    /// TPC-E's ten, Trade-Result with its trade for an argument.
    pub(crate) fn tpce() -> Classified {
        TPCE_CLASSES.clone()
    }

    /// TPC-E's ten, Trade-Result with what has been looked up for arguments, too.
    pub(crate) fn tpce_found() -> Classified {
        TPCE_FOUND.clone()
    }

    /// What they consist of.
    pub fn classes(&self) -> &Classes {
        &self.classes
    }

    /// Which modes conflict.
    pub fn modes(&self) -> Modes {
        self.classes.modes().clone()
    }

    /// What a space of keys is called: a table or a unique index.
    pub fn space_name(&self, space: Space) -> Option<&str> {
        self.classes.space_name(space)
    }

    /// Appends the keys of a call.
    pub fn keys(&self, procedure: usize, arguments: &[Value], keys: &mut Vec<ConflictKey>) {
        self.classes.keys(procedure, arguments, keys);
    }
}

/// An argument of a workload's call as a value of the database.
pub(crate) fn value(argument: &Argument) -> Value {
    let array = |element, values| {
        Value::Array(Box::new(Array {
            shape: None,
            element,
            values,
        }))
    };
    match argument {
        Argument::Int(None) | Argument::Text(None) => Value::Null,
        Argument::Int(Some(number)) => Value::Int4(*number),
        Argument::BigInt(number) => Value::Int8(*number),
        Argument::Cents(cents) => {
            let amount = Numeric::from_parts(i128::from(*cents), 2);
            Value::numeric(amount.expect("hundredths of an i64 are within the range"))
        }
        Argument::Text(Some(text)) => Value::text(text),
        Argument::Ints(numbers) => array(
            SqlType::Int4,
            numbers.iter().copied().map(Value::Int4).collect(),
        ),
        Argument::BigInts(numbers) => array(
            SqlType::Int8,
            numbers.iter().copied().map(Value::Int8).collect(),
        ),
    }
}

//! Large objects: two tables of the system, and routines over them.
//!
//! Relies on: `ir::function::large_object` for what is not SQL in the routines; PL/pgSQL, in which they are written (`routines.sql`).
//! Promises: every database has them, from the beginning and at no cost: their spaces have numbers of their own, and begin to be with
//! the first row; PostgreSQL's names, numbers and errors; rows are versioned like any others.  Does not: keep anything in the catalogue.
//! The tables have names that only the routines' texts can use; others read them as `pg_largeobject` and `pg_largeobject_metadata`.
//!
//! | table | key | columns |
//! |---|---|---|
//! | `large_objects` | `oid` | `lomowner`; `lomacl`: as `ir::function::large_object` has it; `comment` |
//! | `large_object_pages` | `loid`, `pageno` | `data`: at most 2,048 bytes |
//!
//! | file | what it holds |
//! |---|---|
//! | `routines.sql` | the routines, one after the other, with their numbers |
//! | `statement` | GRANT, REVOKE, ALTER … OWNER, COMMENT |
//! | `roles` | DROP ROLE, DROP OWNED, REASSIGN OWNED |

mod roles;
mod statement;

pub(crate) use roles::{drop_owned, reassign, refuse_needed};
pub(crate) use statement::{plan_comment, plan_grant, plan_owner};

use crate::catalog::Catalog;
use crate::parse;
use crate::planner::{PlanContext, Planner};
use crate::records::RoutineRecord;
use crate::routine::StoredRoutine;
use crate::select::plan_query;
use crate::variables::Variables;
use pg_query::NodeEnum;
use quintet_base::ids::{LARGE_OBJECT_PAGES, LARGE_OBJECTS};
use quintet_base::row::RowLayout;
use quintet_base::{RoutineId, SequenceId, SpaceId, SqlType, TableId, TypeMod};
use quintet_ir::Plan;
use quintet_ir::function::large_object::PREFIX;
use quintet_ir::schema::{ColumnDef, PrimaryKey, SequenceDef, TableDef, TableRef};
use std::sync::Arc;

/// Number of `pg_largeobject`.
pub(crate) const PAGES: TableId = TableId(2613);
/// Number of `pg_largeobject_metadata`.
pub(crate) const OBJECTS: TableId = TableId(2995);

/// The search path of the routines: no schema has such a name, since no text has a NUL.
pub(crate) const PATH: &str = "\0large objects";

/// Each begins with a line of its number and its name.
const ROUTINES: &str = include_str!("large_object/routines.sql");

/// What numbers begin at, as those of all objects do.
const FIRST: i64 = 16_384;

/// What a database has for its large objects.
#[derive(Debug)]
pub(crate) struct LargeObjects {
    pages: TableRef,
    objects: TableRef,
    numbers: Arc<SequenceDef>,
    routines: Vec<Arc<StoredRoutine>>,
}

impl LargeObjects {
    /// Those of the database with this number.
    pub fn of(database: u32) -> LargeObjects {
        let column = |name: &str, ty, not_null| ColumnDef {
            name: name.to_string(),
            ty,
            modifier: TypeMod::NONE,
            not_null,
            default: None,
            missing: None,
            identity: None,
            generated: None,
            dropped: false,
            hidden: false,
        };
        let table =
            |id, name: &str, space, (index, key): (&str, Vec<usize>), columns: Vec<ColumnDef>| {
                Arc::new(TableDef {
                    id,
                    revision: 0,
                    schema: "pg_catalog".to_string(),
                    name: name.to_string(),
                    space,
                    layout: RowLayout::new(columns.iter().map(|column| column.ty).collect()),
                    columns,
                    primary_key: Some(PrimaryKey {
                        name: index.to_string(),
                        columns: key,
                    }),
                    indexes: Vec::new(),
                    checks: Vec::new(),
                    references: None,
                    partitions: None,
                })
            };
        let pages = vec![
            column("loid", SqlType::Oid, true),
            column("pageno", SqlType::Int4, true),
            column("data", SqlType::Bytea, true),
        ];
        let objects = vec![
            column("oid", SqlType::Oid, true),
            column("lomowner", SqlType::Oid, true),
            column("lomacl", SqlType::OidArray, false),
            column("comment", SqlType::Text, false),
        ];
        let space = |first: u32| SpaceId(first + database);
        LargeObjects {
            pages: table(
                PAGES,
                "pg_largeobject",
                space(LARGE_OBJECT_PAGES),
                ("pg_largeobject_loid_pn_index", vec![0, 1]),
                pages,
            ),
            objects: table(
                OBJECTS,
                "pg_largeobject_metadata",
                space(LARGE_OBJECTS),
                ("pg_largeobject_metadata_oid_index", vec![0]),
                objects,
            ),
            numbers: Arc::new(SequenceDef {
                id: SequenceId(PAGES.0),
                counter: SequenceId(LARGE_OBJECT_PAGES + database),
                schema: "pg_catalog".to_string(),
                name: "large_object_numbers".to_string(),
                ty: SqlType::Int8,
                start: FIRST,
                increment: 1,
                min: FIRST,
                max: i64::from(u32::MAX),
                cycle: true,
                cache: 1,
                owned_by: None,
            }),
            routines: routines(),
        }
    }

    /// The table with this number.
    pub fn table(&self, id: TableId) -> Option<&TableRef> {
        [&self.pages, &self.objects]
            .into_iter()
            .find(|table| table.id == id)
    }

    /// Both of them.
    pub fn tables(&self) -> [&TableRef; 2] {
        [&self.pages, &self.objects]
    }

    /// Where numbers for new ones come from.
    pub fn numbers(&self) -> &Arc<SequenceDef> {
        &self.numbers
    }

    /// The routine with this number.
    pub fn routine(&self, id: RoutineId) -> Option<&Arc<StoredRoutine>> {
        self.routines.iter().find(|stored| stored.record.id == id)
    }

    /// Those with this name.
    pub fn named(&self, name: &str) -> impl Iterator<Item = &Arc<StoredRoutine>> {
        self.routines
            .iter()
            .filter(move |stored| stored.record.name == name)
    }
}

/// Whether it is one of the routines.
pub(crate) fn is_routine(record: &RoutineRecord) -> bool {
    record.schema == "pg_catalog" && record.text.contains("$large_object$")
}

fn routines() -> Vec<Arc<StoredRoutine>> {
    let all = ROUTINES.split("\n-- #").skip(1);
    let routine = |part: &str| {
        let (head, text) = part.split_once('\n').expect("a line before the text");
        let (number, name) = head.split_once(' ').expect("a number and a name");
        Arc::new(StoredRoutine::new(RoutineRecord {
            id: RoutineId(number.parse().expect("a number")),
            schema: "pg_catalog".to_string(),
            name: name.to_string(),
            text: text.trim().trim_end_matches(';').to_string(),
            altered: Vec::new(),
        }))
    };
    all.map(routine).collect()
}

/// The rows of `pg_largeobject` or `pg_largeobject_metadata`, as whoever reads them sees them; `None` for any other relation.
pub(crate) fn rows_of(planner: &Planner, relation: &str) -> Option<Plan> {
    let text = match relation {
        "pg_largeobject" => "SELECT loid, pageno, data FROM large_object_pages",
        "pg_largeobject_metadata" => {
            "SELECT oid, lomowner, large_object_list(lomowner, lomacl) FROM large_objects"
        }
        _ => return None,
    };
    let parsed = parse::parse(text).ok()?;
    let Some(NodeEnum::SelectStmt(select)) = parsed.first()?.node() else {
        return None;
    };
    let context = PlanContext {
        schema: PATH,
        ..*planner.context
    };
    let nothing = Variables::default();
    let inside = match planner.variables {
        Some(_) => Planner::inside(&context, "", &nothing),
        None => Planner::new(&context, "", &[]),
    };
    inside.number_behind(planner);
    let planned = plan_query(&inside, select, None).ok()?;
    planner.number_behind(&inside);
    Some(planned.plan)
}

/// Whether a routine's name may stand in a text.
pub(crate) fn may_name_routine(text: &str) -> bool {
    let mut places = text.as_bytes().windows(3);
    places.any(|at| {
        let begins = [b"lo_", b"lor", b"low"];
        begins.iter().any(|begin| at.eq_ignore_ascii_case(*begin))
    })
}

impl<'a> Planner<'a> {
    /// The routines that a name may mean.
    pub fn large_object_routines(&self, name: &str) -> Vec<&'a Arc<StoredRoutine>> {
        let hidden = name.starts_with(PREFIX) && !self.is_of_large_objects();
        match hidden || !name.starts_with('l') {
            true => Vec::new(),
            false => self.catalog().large_objects().named(name).collect(),
        }
    }

    /// Whether what is planned is a routine of large objects.
    pub fn is_of_large_objects(&self) -> bool {
        self.context.schema == PATH
    }

    /// The table that such a routine means by a name.
    pub fn large_object_table(&self, name: &str) -> Option<TableId> {
        match name {
            _ if !self.is_of_large_objects() => None,
            "large_objects" => Some(OBJECTS),
            "large_object_pages" => Some(PAGES),
            _ => None,
        }
    }
}

impl Catalog {
    /// Where numbers for large objects come from.
    pub fn large_object_numbers(&self) -> &Arc<SequenceDef> {
        self.large_objects().numbers()
    }
}

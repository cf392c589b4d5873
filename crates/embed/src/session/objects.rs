//! What the objects of the catalogue are called, as a session sees them.
//!
//! Relies on: `sql` for the answers, `activity` for what the server does now.  Promises: names and descriptions by the
//! schema that statements are planned with; see `base::objects`.  Does not: hold on to anything but that schema: formats
//! that know it may outlive the database.

use super::Session;
use super::activity::{Asker, records};
use super::portals::CursorNames;
use super::prepared::PreparedNames;
use crate::channels::Ear;
use crate::database::{Inner, Schema};
use quintet_base::objects::{ObjectNames, Objects};
use quintet_base::text_format::FormatContext;
use quintet_base::value::Array;
use quintet_base::{Shape, SqlResult, SqlType, Value};
use quintet_sql::{Known, PlanContext, Who};
use std::sync::{Arc, Weak};

struct SessionObjects {
    db: Weak<Inner>,
    ear: Arc<Ear>,
    prepared: PreparedNames,
    cursors: CursorNames,
    schema: Arc<Schema>,
    path: String,
    user: Who,
    database: String,
}

impl SessionObjects {
    fn ask<T>(&self, question: impl FnOnce(&Known) -> T) -> T {
        let format = FormatContext::default();
        let context = PlanContext {
            catalog: &self.schema.catalog,
            schema: &self.path,
            user: self.user,
            database: &self.database,
            format: &format,
            dynamic: &quintet_sql::NOTHING_DYNAMIC,
        };
        question(&Known::new(&context))
    }
}

impl Objects for SessionObjects {
    fn name(&self, kind: SqlType, number: u32) -> Option<String> {
        self.ask(|known| known.name(kind, number))
    }

    fn number(&self, kind: SqlType, name: &str) -> SqlResult<u32> {
        self.ask(|known| known.number(kind, name))
    }

    fn label(&self, ty: u32, place: u32) -> Option<String> {
        let label = self.schema.catalog.label(ty, place);
        label.map(str::to_string)
    }

    fn place(&self, ty: u32, label: &str) -> SqlResult<u32> {
        self.ask(|known| known.place(ty, label))
    }

    fn fields(&self, ty: u32) -> Option<Arc<Shape>> {
        self.schema.catalog.shape(ty)
    }

    fn named(&self, text: &str) -> Option<String> {
        Some(self.ask(|known| known.named(text)))
    }

    fn describe(&self, function: &str, arguments: &[&Value]) -> SqlResult<Value> {
        let asked = arguments.first().and_then(|name| name.as_str());
        if (function, asked) == ("live()", Some("pg_prepared_statements")) {
            return Ok(records(self.prepared.rows()));
        }
        if (function, asked) == ("live()", Some("pg_cursors")) {
            return Ok(records(self.cursors.rows()));
        }
        if let Some(db) = self.db.upgrade() {
            if function == "pg_listening_channels" {
                let names = db.channels.of(&self.ear).into_iter().map(Value::text);
                return Ok(Value::Array(Box::new(Array {
                    shape: None,
                    element: SqlType::Text,
                    values: names.collect(),
                })));
            }
            let asker = Asker {
                db: &db,
                schema: &self.schema,
                role: self.user.role,
            };
            if let Some(answer) = asker.function(function, arguments)? {
                return Ok(answer);
            }
        }
        self.ask(|known| known.describe(function, arguments))
    }
}

impl Session {
    /// The type with an OID, also one that a user made.
    pub fn type_of_oid(&self, oid: u32) -> Option<SqlType> {
        self.host.schema.catalog.type_of_oid(oid)
    }

    /// Names come from the schema at hand from now on.
    pub(super) fn know_objects(&mut self) {
        let objects = SessionObjects {
            db: Arc::downgrade(&self.db),
            ear: Arc::clone(&self.ear),
            prepared: self.prepared.clone(),
            cursors: self.portals.cursors.clone(),
            schema: Arc::clone(&self.host.schema),
            path: self.host.settings.path().to_string(),
            user: self.host.who(),
            database: self.host.database.clone(),
        };
        self.known_path = self.host.settings.path_version;
        self.known_role = self.host.role();
        self.host.settings.know(ObjectNames::of(Arc::new(objects)));
    }
}

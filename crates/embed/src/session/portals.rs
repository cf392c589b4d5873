//! The portals of a session by name.
//!
//! Relies on: nothing.  Promises: the unnamed one, which almost every statement of a client is run by, is found without a
//! look into a map; cursors are listed as long as they are there.  Does not: know what a name may mean (`extended`, `cursors`).

use super::portal::Portal;
use foldhash::fast::RandomState;
use parking_lot::Mutex;
use quintet_base::{SqlError, SqlResult, SqlState, TableId, Value};
use quintet_ir::cursors::{Cursor, Cursors, no_cursor};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// A cursor that DECLARE has made, as `pg_cursors` shows it.
pub(super) struct ShownCursor {
    /// As it was sent.
    pub text: String,
    pub hold: bool,
    pub scroll: bool,
    /// When it was made.
    pub at: i64,
    /// The table that its rows are those of.
    pub table: Option<TableId>,
    /// Its query locks rows.
    pub locks: bool,
    /// The transaction that has made it is over.
    pub outlived: bool,
    /// How many DECLARE had made before it.
    pub number: u64,
    /// The key of the table's row that it stands on.
    pub key: Option<Vec<Value>>,
}

/// The cursors of a session by name. Shared with what names the session's objects.
#[derive(Clone, Default)]
pub(crate) struct CursorNames(Arc<Mutex<ShownCursors>>);

#[derive(Default)]
struct ShownCursors {
    declared: BTreeMap<String, ShownCursor>,
    /// Those that routines have opened, when the statement at hand began.
    opened: BTreeMap<String, ShownCursor>,
}

impl CursorNames {
    /// In the order of the relation's columns.
    pub fn rows(&self) -> Vec<Vec<Value>> {
        let row = |(name, shown): (&String, &ShownCursor)| {
            vec![
                Value::text(name),
                Value::text(&shown.text),
                Value::Bool(shown.hold),
                Value::Bool(false),
                Value::Bool(shown.scroll),
                Value::TimestampTz(shown.at),
            ]
        };
        let shown = self.0.lock();
        shown
            .declared
            .iter()
            .chain(&shown.opened)
            .map(row)
            .collect()
    }

    /// The key of the row of a table that one stands on.
    ///
    /// # Errors
    /// `34000`, `24000` as PostgreSQL has them; `0A000` if its query locks rows and is over more than one table.
    pub fn key(&self, name: &str, table: TableId, called: &str) -> SqlResult<Vec<Value>> {
        let shown = self.0.lock();
        let cursor = shown.declared.get(name).ok_or_else(|| no_cursor(name))?;
        let refused = |what: String| {
            let message = format!("cursor \"{name}\" {what}");
            Err(SqlError::new(SqlState::INVALID_CURSOR_STATE, message))
        };
        if cursor.outlived {
            return refused("is held from a previous transaction".to_string());
        }
        match (cursor.table, cursor.locks) {
            (Some(own), _) if own == table => {}
            (None, true) => {
                let what = "WHERE CURRENT OF a cursor over several tables";
                return Err(SqlError::unsupported(what));
            }
            (Some(_), true) => {
                return refused(format!(
                    "does not have a FOR UPDATE/SHARE reference to table \"{called}\""
                ));
            }
            (_, false) => {
                return refused(format!(
                    "is not a simply updatable scan of table \"{called}\""
                ));
            }
        }
        match &cursor.key {
            Some(key) => Ok(key.clone()),
            None => refused("is not positioned on a row".to_string()),
        }
    }

    /// A cursor has come to stand on the row with this key, or on none.
    pub fn stand(&self, name: &str, key: Option<Vec<Value>>) {
        if let Some(cursor) = self.0.lock().declared.get_mut(name) {
            cursor.key = key;
        }
    }

    /// Whether DECLARE has made one of this name.
    pub fn has(&self, name: &str) -> bool {
        self.0.lock().declared.contains_key(name)
    }

    /// What routines have opened is shown, too.
    pub fn show_opened(&self, cursors: &Cursors) {
        let shown = |(name, cursor): (&String, &Cursor)| {
            let opening = &cursor.opening;
            let shown = ShownCursor {
                text: opening.text.clone(),
                hold: false,
                scroll: opening.back,
                at: opening.at,
                table: None,
                locks: false,
                outlived: false,
                number: 0,
                key: None,
            };
            (name.clone(), shown)
        };
        self.0.lock().opened = cursors.all().map(shown).collect();
    }
}

/// See the module.
#[derive(Default)]
pub(super) struct Portals {
    /// That of the name "".
    unnamed: Option<Portal>,
    named: HashMap<String, Portal, RandomState>,
    /// Those of `named` that are cursors.
    pub cursors: CursorNames,
    /// How many DECLARE has made.
    pub declared: u64,
}

impl Portals {
    /// The portal of a name.
    pub fn get(&self, name: &str) -> Option<&Portal> {
        match name {
            "" => self.unnamed.as_ref(),
            name => self.named.get(name),
        }
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Portal> {
        match name {
            "" => self.unnamed.as_mut(),
            name => self.named.get_mut(name),
        }
    }

    /// Whether a name has a portal.
    pub fn contains(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Puts a portal in the place of the one that the name has, if it has one.
    pub fn put(&mut self, name: &str, portal: Portal) {
        match self.get_mut(name) {
            Some(old) => *old = portal,
            None => self.put_back(name.to_string(), portal),
        }
    }

    /// Puts a cursor's portal in its place.
    pub fn declare(&mut self, name: &str, portal: Portal, shown: ShownCursor) {
        self.declared += 1;
        self.put(name, portal);
        self.cursors
            .0
            .lock()
            .declared
            .insert(name.to_string(), shown);
    }

    /// Forgets a portal; false if there is none.
    pub fn close(&mut self, name: &str) -> bool {
        let found = self.take(name);
        self.forget(name);
        found.is_some()
    }

    /// What was taken out does not come back.
    pub fn forget(&mut self, name: &str) {
        if !name.is_empty() {
            self.cursors.0.lock().declared.remove(name);
        }
    }

    /// Takes a portal out, with its name.
    pub fn take(&mut self, name: &str) -> Option<(String, Portal)> {
        match name {
            "" => self.unnamed.take().map(|portal| (String::new(), portal)),
            name => self.named.remove_entry(name),
        }
    }

    /// Puts back what was taken out.
    pub fn put_back(&mut self, name: String, portal: Portal) {
        if name.is_empty() {
            self.unnamed = Some(portal);
        } else {
            self.named.insert(name, portal);
        }
    }

    /// Whether there is one like this.
    pub fn any(&self, mut is_one: impl FnMut(&Portal) -> bool) -> bool {
        self.unnamed
            .iter()
            .chain(self.named.values())
            .any(&mut is_one)
    }

    /// Forgets all of them.
    pub fn clear(&mut self) {
        self.unnamed = None;
        self.named.clear();
        self.cursors.0.lock().declared.clear();
    }

    /// What was done since so many were declared is undone, in the transaction at hand: they go, also those WITH HOLD.
    pub fn undeclare(&mut self, before: u64) {
        if self.declared == before || self.named.is_empty() {
            return;
        }
        let mut cursors = self.cursors.0.lock();
        cursors.declared.retain(|name, cursor| {
            let stays = cursor.outlived || cursor.number < before;
            if !stays {
                self.named.remove(name);
            }
            stays
        });
    }

    /// A transaction ends: forgets those that are not to be kept.
    pub fn retain(&mut self, kept: impl Fn(&Portal) -> bool) {
        self.unnamed.take_if(|portal| !kept(portal));
        if !self.named.is_empty() {
            self.named.retain(|_, portal| kept(portal));
            let mut cursors = self.cursors.0.lock();
            cursors
                .declared
                .retain(|name, _| self.named.contains_key(name));
            for cursor in cursors.declared.values_mut() {
                cursor.outlived = true;
            }
        }
    }
}

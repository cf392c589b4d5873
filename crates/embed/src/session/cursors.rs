//! Cursors: DECLARE, FETCH, MOVE; FETCH and MOVE also of those that routines have opened.
//!
//! Relies on: `execute` runs a portal.  Promises: a cursor is a portal; one WITH HOLD or with SCROLL has run to its end when it is declared, and
//! its rows are kept, so that it can go either way.  Does not: go back over a cursor that was declared
//! without SCROLL (55000), where PostgreSQL does so for queries whose plans can.

use super::planning::{Prepared, are_typed};
use super::portal::{Keyed, Portal, PortalState, no_portal, portal_is_there};
use super::portals::ShownCursor;
use super::{Mode, Session};
use crate::step::{Flow, Pause, RowSink, Step};
use quintet_base::limits::HELD_BYTES_MAX;
use quintet_base::{SqlError, SqlResult, SqlState, Value};
use quintet_ir::cursors::{Way, only_forward, steps};
use quintet_sql::command::{Command, Declare, Planned};
use std::collections::VecDeque;
use std::sync::Arc;

/// A cursor that may go back: its rows, and where it stands. 0 is before the first of them, one more than
/// there are is behind the last.
pub(super) struct Scroll {
    rows: Vec<Vec<Value>>,
    at: usize,
}

impl Scroll {
    /// Goes that way; the rows that it meets, in their order.
    fn go(&mut self, way: Way) -> VecDeque<Vec<Value>> {
        let (met, at) = steps(self.at, self.rows.len(), way);
        self.at = at;
        met.into_iter()
            .map(|number| self.rows[number - 1].clone())
            .collect()
    }

    /// It stands on a row.
    fn is_on_row(&self) -> bool {
        (1..=self.rows.len()).contains(&self.at)
    }

    /// The rows that are ahead, which are its no longer.
    pub fn rest(&mut self) -> VecDeque<Vec<Value>> {
        let from = self.at.min(self.rows.len());
        self.rows.split_off(from).into()
    }
}

impl Session {
    /// DECLARE. `Some`: wait, and call again.
    pub(super) fn declare(
        &mut self,
        portal: &Portal,
        cursor: &Declare,
    ) -> SqlResult<Option<Pause>> {
        if !cursor.hold && self.mode != Mode::Explicit {
            return Err(SqlError::new(
                SqlState::NO_ACTIVE_SQL_TRANSACTION,
                "DECLARE CURSOR can only be used in transaction blocks",
            ));
        }
        match cursor.hold || cursor.scroll {
            true => self.declare_whole(portal, cursor),
            false => {
                let made = self.cursor_of(portal, cursor)?;
                let shown = self.shown_cursor(portal, cursor);
                self.portals.declare(&cursor.name, made, shown);
                Ok(None)
            }
        }
    }

    /// The query is run to its end at once, and its rows are kept.
    fn declare_whole(&mut self, portal: &Portal, wanted: &Declare) -> SqlResult<Option<Pause>> {
        let (mut cursor, mut rows) = match self.holding.take() {
            Some(begun) => *begun,
            None => (self.cursor_of(portal, wanted)?, Kept::default()),
        };
        // Its rows are kept with their keys.
        let keyed = cursor.keyed.take().or_else(|| keyed_of(wanted));
        loop {
            match self.run_portal(&mut cursor, 0, &mut rows)? {
                Step::Done(_) => break,
                Step::Yielded | Step::Suspended => {}
                Step::Wait(pause) => {
                    self.holding = Some(Box::new((cursor, rows)));
                    return Ok(Some(pause));
                }
                Step::CopyIn { .. } => return Err(SqlError::internal("a cursor over COPY")),
            }
        }
        cursor.keyed = keyed;
        cursor.state = match wanted.scroll {
            true => PortalState::Scroll(Scroll {
                rows: rows.rows.into(),
                at: 0,
            }),
            false => PortalState::Rows(rows.rows),
        };
        (cursor.rows, cursor.told, cursor.held) = (0, 0, wanted.hold);
        let shown = self.shown_cursor(portal, wanted);
        self.portals.declare(&wanted.name, cursor, shown);
        Ok(None)
    }

    /// What `pg_cursors` says of a cursor that a portal declares.
    fn shown_cursor(&self, portal: &Portal, cursor: &Declare) -> ShownCursor {
        let sent = portal.text.as_deref();
        ShownCursor {
            text: sent.unwrap_or(portal.prepared.text()).to_string(),
            hold: cursor.hold,
            scroll: cursor.scroll,
            at: self.host.transaction_time,
            table: cursor.over.map(|over| over.table),
            locks: cursor.locks,
            outlived: false,
            number: self.portals.declared,
            key: None,
        }
    }

    /// A portal for a cursor's query.
    fn cursor_of(&mut self, portal: &Portal, cursor: &Declare) -> SqlResult<Portal> {
        let (name, query) = (&cursor.name, &cursor.query);
        if self.portals.contains(name) || self.host.cursors.get_mut().get(name).is_some() {
            return Err(portal_is_there(name));
        }
        let keyed = keyed_of(cursor);
        let mut columns = query.result.clone();
        if let Some(keyed) = &keyed {
            columns.truncate(keyed.columns);
        }
        let source = portal.prepared.source.clone();
        let planned = Planned {
            command: Command::Run(Arc::clone(query)),
            params: portal.prepared.params.clone(),
            columns,
            tag: "FETCH",
            notices: Vec::new(),
            needs: Arc::clone(&portal.prepared.planned.needs),
        };
        let prepared = Prepared {
            params: planned.params.clone(),
            columns: planned.columns.clone(),
            source,
            revision: portal.prepared.revision,
            schema_timestamp: portal.prepared.schema_timestamp,
            own_version: portal.prepared.own_version,
            path_version: portal.prepared.path_version,
            typed: are_typed(&planned.columns),
            role: portal.prepared.role,
            short: false,
            brief: None,
            sizes: Vec::new(),
            scans: Vec::new(),
            constants: false,
            put_off: false,
            label: portal.prepared.label,
            planned,
        };
        let mut made = Portal::new(Arc::new(prepared), portal.params.clone());
        made.keyed = keyed;
        Ok(made)
    }

    /// FETCH and MOVE: some rows of another portal, under this one's tag. `None`: they are this portal's own now.
    pub(super) fn fetch(
        &mut self,
        portal: &mut Portal,
        (name, way, discard): (&str, Way, bool),
        sink: &mut dyn RowSink,
    ) -> SqlResult<Option<Step>> {
        let verb = if discard { "MOVE" } else { "FETCH" };
        if let Some(cursor) = self.host.cursors.get_mut().get_mut(name) {
            let rows = cursor.go(way)?;
            if discard {
                let tag = format!("{verb} {}", rows.len());
                return self.finish(portal, Some(tag)).map(Some);
            }
            if std::mem::take(&mut portal.announce) {
                sink.columns(&cursor.opening.columns);
            }
            portal.state = PortalState::Rows(rows.into());
            return Ok(None);
        }
        let names = self.portals.cursors.clone();
        let Some(inner) = self.portals.get_mut(name) else {
            return Err(no_portal(name));
        };
        if let PortalState::Scroll(scroll) = &mut inner.state {
            let mut rows = scroll.go(way);
            if let Some(keyed) = &mut inner.keyed {
                keyed.last = None;
                rows.iter_mut().for_each(|row| keyed.split(row));
                let key = keyed.last.take().filter(|_| scroll.is_on_row());
                names.stand(name, key);
            }
            if discard {
                let tag = format!("{verb} {}", rows.len());
                return self.finish(portal, Some(tag)).map(Some);
            }
            if std::mem::take(&mut portal.announce) {
                sink.columns(&inner.prepared.columns);
            }
            portal.state = PortalState::Rows(rows);
            return Ok(None);
        }
        let Way::Forward(count) = way else {
            return Err(only_forward());
        };
        let announce = std::mem::take(&mut portal.announce);
        let Some((key, mut inner)) = self.portals.take(name) else {
            return Err(no_portal(name));
        };
        if announce && !discard {
            sink.columns(&inner.prepared.columns);
        }
        let before = inner.rows;
        let result = if count == Some(0) {
            Ok(Step::Suspended)
        } else {
            let most = count.map_or(0, |count| count as usize);
            let mut quiet = Discard;
            let sink: &mut dyn RowSink = if discard { &mut quiet } else { sink };
            self.run_portal(&mut inner, most, sink)
        };
        let given = inner.rows - before;
        let stands = inner.keyed.as_ref().map(|keyed| keyed.last.clone());
        self.portals.put_back(key, inner);
        match result? {
            Step::Done(_) | Step::Suspended => {
                portal.rows += given;
                if let Some(key) = stands.filter(|_| count != Some(0)) {
                    // Behind the last row it stands on none.
                    let is_on = count == Some(portal.rows);
                    let key = key.filter(|_| is_on);
                    names.stand(name, key);
                }
                let tag = Some(format!("{verb} {}", portal.rows));
                self.finish(portal, tag).map(Some)
            }
            other => {
                portal.rows += given;
                Ok(Some(other))
            }
        }
    }
}

/// What is behind the columns of a cursor's rows.
fn keyed_of(cursor: &Declare) -> Option<Box<Keyed>> {
    let over = cursor.over?;
    Some(Box::new(Keyed {
        columns: cursor.query.result.len().saturating_sub(over.key),
        last: None,
    }))
}

/// Takes the keys from rows.
pub(super) struct Split<'s> {
    pub keyed: &'s mut Keyed,
    pub sink: &'s mut dyn RowSink,
}

impl RowSink for Split<'_> {
    fn columns(&mut self, columns: &[quintet_ir::OutputColumn]) {
        self.sink.columns(columns);
    }

    fn typed(&mut self, columns: &[quintet_ir::OutputColumn]) {
        self.sink.typed(columns);
    }

    fn row(&mut self, values: &[Value]) -> Result<Flow, SqlError> {
        let mut row = values.to_vec();
        self.keyed.split(&mut row);
        self.sink.spare_row(&mut row)
    }

    fn copy_begin(&mut self, columns: usize, format: &quintet_sql::command::CopyFormat) {
        self.sink.copy_begin(columns, format);
    }

    fn copy_data(&mut self, data: &[u8]) -> Flow {
        self.sink.copy_data(data)
    }
}

/// The rows of a cursor that has run to its end.
#[derive(Default)]
pub(super) struct Kept {
    rows: VecDeque<Vec<Value>>,
    bytes: usize,
}

impl RowSink for Kept {
    fn columns(&mut self, _: &[quintet_ir::OutputColumn]) {}

    fn row(&mut self, values: &[Value]) -> Result<Flow, SqlError> {
        let texts = values
            .iter()
            .map(|value| value.as_str().map_or(0, str::len));
        self.bytes += size_of_val(values) + texts.sum::<usize>();
        if self.bytes > HELD_BYTES_MAX {
            let message = "the rows of a cursor WITH HOLD or with SCROLL take too much memory";
            return Err(SqlError::new(SqlState::OUT_OF_MEMORY, message));
        }
        self.rows.push_back(values.to_vec());
        Ok(Flow::Continue)
    }

    fn copy_begin(&mut self, _: usize, _: &quintet_sql::command::CopyFormat) {}

    fn copy_data(&mut self, _: &[u8]) -> Flow {
        Flow::Continue
    }
}

/// MOVE looks at rows and returns none.
struct Discard;

impl RowSink for Discard {
    fn columns(&mut self, _: &[quintet_ir::OutputColumn]) {}

    fn row(&mut self, _: &[Value]) -> Result<Flow, SqlError> {
        Ok(Flow::Continue)
    }

    fn copy_begin(&mut self, _: usize, _: &quintet_sql::command::CopyFormat) {}

    fn copy_data(&mut self, _: &[u8]) -> Flow {
        Flow::Continue
    }
}

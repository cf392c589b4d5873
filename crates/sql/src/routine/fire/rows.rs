//! The rows that a statement with triggers writes, one after the other.
//!
//! Relies on: `fire` for what is done between them.  Promises: an UPDATE's and a DELETE's rows are locked before a trigger sees
//! them, and each is changed once, by its key; an INSERT's row is written as the statement says, its ON CONFLICT too.  Does
//! not: fire triggers of statements, or those behind all rows (`fire`), or write what ON CONFLICT DO UPDATE changes (`upsert`).

use super::unchanged::{Meant, is_of_one_row};
use super::upsert::Clause;
use super::{Behind, Changed, Event, Firing, Seen};
use crate::generated;
use crate::insert::default_of;
use crate::rewrite::{one_row, transform};
use crate::routine::embed::Embedding;
use crate::routine::hold::hold_if_calls;
use crate::routine::merge::{all, column, equals};
use crate::row_security::{PartOf, RowChecks};
use crate::scope::ROW_ID;
use pg_query::NodeEnum;
use pg_query::protobuf::{DeleteStmt, RangeVar};
use quintet_base::{SqlError, SqlResult, SqlType, Value};
use quintet_ir::plan::{LockStrength, LockTarget, LockWait, Plan, SortKey};
use quintet_ir::routine::Action;
use quintet_ir::schema::TableRef;
use quintet_ir::statement::{ConflictAction, Delete, Insert, OnConflict, Update};
use quintet_ir::window::{WindowCall, WindowFrame, WindowFunction};
use quintet_ir::{Expr, Statement};

impl Embedding<'_, '_> {
    pub(super) fn fire_insert(
        &mut self,
        firing: &Firing,
        insert: Insert,
        behind: &Behind,
    ) -> SqlResult<()> {
        let visible = firing.visible();
        let seen = Seen {
            new: self.row_slots(&visible),
            old: Vec::new(),
        };
        let value = |number: usize, ty| match firing.is_generated(number) {
            true => Expr::null(ty),
            false => insert.values[number].clone(),
        };
        let query = Plan::Project {
            input: Box::new(insert.source.clone()),
            exprs: visible.iter().map(|(n, ty)| value(*n, *ty)).collect(),
        };
        let mut into = self.row_of_frame(&seen.new, &visible, 0);
        let touched = match &insert.conflict {
            Some(OnConflict {
                arbiter: Some(arbiter),
                action: ConflictAction::Update { .. },
            }) => self.begin_touching(firing, *arbiter, &insert.source)?,
            _ => None,
        };
        let query = match &touched {
            Some(touched) => touched.marked(query, &visible, &mut into),
            None => query,
        };
        let (_, body) = self.apart(|this| {
            this.unless_at_home(firing, &seen, |this| {
                this.insert_row(firing, &insert, &seen, &behind.checks)?;
                Ok(())
            })?;
            this.fire_before(firing, Event::Insert, &seen)?;
            if firing.instead {
                let asked = returned(&insert, false);
                return this.instead(firing, Event::Insert, &seen, &asked, behind);
            }
            match &insert.conflict {
                Some(OnConflict {
                    arbiter: Some(arbiter),
                    action:
                        ConflictAction::Update {
                            assignments,
                            filter,
                        },
                }) => {
                    let clause = Clause {
                        arbiter: *arbiter,
                        assignments,
                        filter: filter.as_ref(),
                    };
                    this.upsert(firing, &insert, (clause, touched.as_ref()), &seen, behind)
                }
                _ => {
                    let added = this.insert_row(firing, &insert, &seen, &behind.checks)?;
                    this.next_if_none(added.count)?;
                    this.added(firing, behind, added)
                }
            }
        })?;
        self.add(Action::ForRow {
            statement: hold_if_calls(Statement::Query(query)),
            into,
            body,
        });
        Ok(())
    }

    /// Slots for a row.
    pub(super) fn row_slots(&mut self, visible: &[(usize, SqlType)]) -> Vec<usize> {
        let types = visible.iter().map(|(_, ty)| *ty);
        types.map(|ty| self.variables.hidden(ty)).collect()
    }

    /// The slots of a row with its values, which stand in a frame from a place on.
    pub(super) fn row_of_frame(
        &self,
        slots: &[usize],
        visible: &[(usize, SqlType)],
        from: usize,
    ) -> Vec<(usize, Expr)> {
        let both = slots.iter().zip(visible).enumerate();
        both.map(|(n, (slot, (_, ty)))| (*slot, Expr::Column(from + n, *ty)))
            .collect()
    }

    /// What is done when a row was added.
    pub(super) fn added(
        &mut self,
        firing: &Firing,
        behind: &Behind,
        added: Changed,
    ) -> SqlResult<()> {
        let seen = Seen {
            new: added.row,
            old: Vec::new(),
        };
        self.behind(Event::Insert, firing, &seen, behind, &added.returned)
    }

    /// Inserts the row at hand, unless there is a conflict that is to be passed over.
    pub(super) fn insert_row(
        &mut self,
        firing: &Firing,
        insert: &Insert,
        seen: &Seen,
        checks: &RowChecks,
    ) -> SqlResult<Changed> {
        let visible = firing.visible();
        let table = &firing.table;
        let mut values: Vec<Expr> = table.columns.iter().map(default_of).collect();
        for (slot, (number, ty)) in seen.new.iter().zip(&visible) {
            values[*number] = Expr::Param(*slot, *ty);
        }
        let (source, values) = generated::in_insert(table, one_row(), values);
        let asked = returned(insert, false);
        let mut returning: Vec<Expr> = visible
            .iter()
            .map(|(number, ty)| Expr::Column(*number, *ty))
            .collect();
        returning.extend(asked.iter().cloned());
        let conflict = insert.conflict.as_ref().map(|conflict| OnConflict {
            arbiter: conflict.arbiter,
            action: ConflictAction::Nothing,
        });
        let statement = Statement::Insert(Insert {
            table: TableRef::clone(table),
            source,
            values,
            conflict,
            returning: Some(returning),
        });
        let statement = checks.within(statement)?;
        // If there is a conflict the row proposed is still asked for.
        let row = self.row_slots(&visible);
        Ok(self.run_one(statement, row, &asked, &visible))
    }

    pub(super) fn fire_update(
        &mut self,
        firing: &Firing,
        update: Update,
        behind: &Behind,
    ) -> SqlResult<()> {
        let visible = firing.visible();
        let new = visible.iter().map(|(number, ty)| {
            if firing.is_generated(*number) {
                return Expr::null(*ty);
            }
            let assigned = update.assignments.iter();
            let mut assigned = assigned.filter(|(column, _)| column == number);
            match assigned.next() {
                Some((_, value)) => value.clone(),
                None => Expr::Column(*number, *ty),
            }
        });
        let new: Vec<Expr> = new.collect();
        let asked = update.returning.clone().unwrap_or_default();
        let alone = is_of_one_row(&update.source);
        let (statement, rows) =
            self.rows_to_change(firing, update.source, &new, &asked, &visible)?;
        let seen = Seen {
            new: rows.new,
            old: rows.old,
        };
        let (_, body) = self.apart(|this| {
            this.refuse_changed_before(firing, (Event::Update, alone), &rows.keys, &seen)?;
            this.fire_before(firing, Event::Update, &seen)?;
            if firing.instead {
                return this.instead(firing, Event::Update, &seen, &rows.returning, behind);
            }
            let asked = (&rows.returning[..], &behind.checks);
            if firing.moves {
                this.unless_at_home(firing, &seen, |this| {
                    this.update_row(firing, &rows.keys, &seen, asked)?;
                    Ok(())
                })?;
                this.fire_before_moving(firing, &seen)?;
            }
            let changed = this.update_row(firing, &rows.keys, &seen, asked)?;
            let meant = Meant::to(Event::Update, behind.in_merge);
            this.changed_or_refused(firing, Event::Update, meant, changed.count)?;
            this.behind(Event::Update, firing, &seen, behind, &changed.returned)
        })?;
        self.add(Action::ForRow {
            statement,
            into: rows.into,
            body,
        });
        Ok(())
    }

    /// Writes the row at hand over the one with this key.
    pub(super) fn update_row(
        &mut self,
        firing: &Firing,
        keys: &[(usize, usize)],
        seen: &Seen,
        (asked, checks): (&[Expr], &RowChecks),
    ) -> SqlResult<Changed> {
        let visible = firing.visible();
        let table = &firing.table;
        let mut source = self.rows_by(table, keys)?;
        if firing.is_watched(Event::Update) {
            source = firing.unchanged(source, seen);
        }
        let own = visible.iter().zip(&seen.new);
        let mut assignments: Vec<(usize, Expr)> = own
            .map(|((number, ty), slot)| (*number, Expr::Param(*slot, *ty)))
            .collect();
        generated::in_update(table, &mut assignments)?;
        let mut returning: Vec<Expr> = visible
            .iter()
            .map(|(number, ty)| Expr::Column(*number, *ty))
            .collect();
        returning.extend(asked.iter().cloned());
        let statement = Statement::Update(Update {
            table: TableRef::clone(table),
            source,
            assignments,
            returning: Some(returning),
        });
        let statement = checks.within(statement)?;
        Ok(self.run_one(statement, seen.new.clone(), asked, &visible))
    }

    pub(super) fn fire_delete(
        &mut self,
        firing: &Firing,
        delete: Delete,
        behind: &Behind,
    ) -> SqlResult<()> {
        let visible = firing.visible();
        let table = &firing.table;
        let asked = delete.returning.clone().unwrap_or_default();
        let alone = is_of_one_row(&delete.source);
        let (statement, rows) =
            self.rows_to_change(firing, delete.source, &[], &asked, &visible)?;
        let seen = Seen {
            new: Vec::new(),
            old: rows.old,
        };
        let (_, body) = self.apart(|this| {
            this.refuse_changed_before(firing, (Event::Delete, alone), &rows.keys, &seen)?;
            this.fire_before(firing, Event::Delete, &seen)?;
            if firing.instead {
                return this.instead(firing, Event::Delete, &seen, &rows.returning, behind);
            }
            let mut source = this.rows_by(table, &rows.keys)?;
            if firing.is_watched(Event::Delete) {
                source = firing.unchanged(source, &seen);
            }
            let statement = Statement::Delete(Delete {
                table: TableRef::clone(table),
                source,
                returning: Some(rows.returning.clone()).filter(|asked| !asked.is_empty()),
            });
            let statement = behind.checks.within(statement)?;
            let removed = this.run_one(statement, Vec::new(), &rows.returning, &visible);
            let meant = Meant::to(Event::Delete, behind.in_merge);
            this.changed_or_refused(firing, Event::Delete, meant, removed.count)?;
            this.behind(Event::Delete, firing, &seen, behind, &removed.returned)
        })?;
        self.add(Action::ForRow {
            statement,
            into: rows.into,
            body,
        });
        Ok(())
    }

    /// The rows that an UPDATE or DELETE changes, locked if they are a table's: the query, and where its values go.
    pub(super) fn rows_to_change(
        &mut self,
        firing: &Firing,
        source: Plan,
        new: &[Expr],
        asked: &[Expr],
        visible: &[(usize, SqlType)],
    ) -> SqlResult<(Statement, Rows)> {
        let table = &firing.table;
        let width = table.frame_width();
        let types = source.frame_types();
        let (plan, keys) = match firing.instead {
            true => (source, Vec::new()),
            false => {
                let plan = locked(table, source);
                let plan = match types.len() > width {
                    true => first_of_each(table, plan, &types),
                    false => plan,
                };
                (plan, table.key_columns())
            }
        };
        let mut exprs: Vec<Expr> = Vec::new();
        let mut slots: Vec<usize> = Vec::new();
        let mut take = |this: &mut Self, expr: Expr| {
            let slot = this.variables.hidden(expr.ty());
            exprs.push(expr);
            slots.push(slot);
            slot
        };
        let mut rows = Rows::default();
        for key in keys {
            let slot = take(self, Expr::Column(key, table.frame_type(key)));
            rows.keys.push((key, slot));
        }
        for (number, ty) in visible {
            rows.old.push(take(self, Expr::Column(*number, *ty)));
        }
        for value in new {
            rows.new.push(take(self, value.clone()));
        }
        // What RETURNING says of joined tables is kept; what it says of the table is said of the row when it is changed.
        let mut joined: Vec<Option<usize>> = vec![None; types.len()];
        for expr in asked {
            let mut used = Vec::new();
            expr.collect_columns(&mut used);
            used.retain(|place| *place >= width);
            if !used.is_empty() && expr.has_subquery() {
                let what = "a subquery and a joined table in RETURNING, for a table with triggers";
                return Err(SqlError::unsupported(what));
            }
            for place in used {
                if joined[place].is_none() {
                    joined[place] = Some(take(self, Expr::Column(place, types[place])));
                }
            }
            rows.returning.push(transform(expr, &mut |part| match part {
                Expr::Column(place, ty) => Some(Expr::Param((*joined.get(*place)?)?, *ty)),
                _ => None,
            }));
        }
        let places = slots.iter().zip(&exprs).enumerate();
        let into = places.map(|(n, (slot, expr))| (*slot, Expr::Column(n, expr.ty())));
        rows.into = into.collect();
        let query = Plan::Project {
            input: Box::new(plan),
            exprs,
        };
        Ok((hold_if_calls(Statement::Query(query)), rows))
    }

    /// The rows of a table whose columns are what slots say; those of a hidden key, too.
    pub(super) fn rows_by(&mut self, table: &TableRef, keys: &[(usize, usize)]) -> SqlResult<Plan> {
        let known = self.variables.numbered.len();
        let conditions: Vec<Option<pg_query::protobuf::Node>> = keys
            .iter()
            .map(|(number, slot)| {
                self.variables.numbered.push(Some(*slot));
                let name = table.columns.get(*number);
                let name = name.map_or(ROW_ID, |column| &column.name);
                let parameter = self.variables.numbered.len() as i32;
                Some(equals(column(&[TARGET, name]), parameter))
            })
            .collect();
        // What a partition is called here is no name of the catalogue's tables.
        let named = self.context.catalog.table_by_id(table.id).unwrap_or(table);
        let delete = DeleteStmt {
            relation: Some(RangeVar {
                schemaname: named.schema.clone(),
                relname: named.name.clone(),
                inh: true,
                relpersistence: "p".to_string(),
                alias: Some(pg_query::protobuf::Alias {
                    aliasname: TARGET.to_string(),
                    ..Default::default()
                }),
                location: -1,
                ..RangeVar::default()
            }),
            where_clause: Some(Box::new(all(conditions))),
            ..DeleteStmt::default()
        };
        // What the user must be allowed to do, the statement has said.
        let needs = std::mem::take(&mut self.needs);
        let around = std::mem::replace(&mut self.part_of, PartOf::Steps);
        let planned = self.plan_alone("", &NodeEnum::DeleteStmt(Box::new(delete)));
        self.part_of = around;
        self.needs = needs;
        self.variables.numbered.truncate(known);
        match planned?.statement {
            Statement::Delete(delete) => Ok(delete.source),
            _ => Err(SqlError::internal("a DELETE is no DELETE")),
        }
    }
}

/// What RETURNING of an INSERT asks of a row, where it is known whether it was there before.
pub(super) fn returned(insert: &Insert, was_there: bool) -> Vec<Expr> {
    let behind = insert.table.frame_width();
    let mut known = |expr: &Expr| match expr {
        Expr::Column(place, SqlType::Bool) if *place == behind => {
            Some(Expr::Const(Value::Bool(was_there), SqlType::Bool))
        }
        _ => None,
    };
    let asked = insert.returning.iter().flatten();
    asked.map(|expr| transform(expr, &mut known)).collect()
}

/// What the table is called in statements about one row.
const TARGET: &str = "\u{1}target";

/// The rows to change, one after the other.
#[derive(Default)]
pub(super) struct Rows {
    /// Slots with their values, over the query's rows.
    into: Vec<(usize, Expr)>,
    /// Places of the key in the table's frame, with their slots.
    keys: Vec<(usize, usize)>,
    old: Vec<usize>,
    new: Vec<usize>,
    /// RETURNING, over the table's frame and slots.
    returning: Vec<Expr>,
}

/// Rows that begin with those of a table, which are locked.
pub(super) fn locked(table: &TableRef, source: Plan) -> Plan {
    Plan::Lock {
        input: Box::new(source),
        targets: vec![LockTarget {
            table: TableRef::clone(table),
            offset: 0,
            strength: LockStrength::Update,
            wait: LockWait::Block,
        }],
    }
}

/// Of the rows with one key the first, in the order in which they come.
fn first_of_each(table: &TableRef, input: Plan, types: &[SqlType]) -> Plan {
    let keys = table.key_columns().into_iter();
    let keys = keys.map(|n| Expr::Column(n, types[n])).collect();
    let place = types.len();
    let (first, turn) = (Expr::Column(place, SqlType::Int8), place + 1);
    let numbered = by_key(input, place, keys, WindowFunction::RowNumber);
    let only_first = Plan::Filter {
        input: Box::new(numbered),
        predicate: Expr::Compare {
            op: quintet_ir::CompareOp::Eq,
            left: Box::new(Expr::Column(turn, SqlType::Int8)),
            right: Box::new(Expr::Const(Value::Int8(1), SqlType::Int8)),
        },
    };
    sorted(only_first, vec![first])
}

/// Rows of so many columns with two more: the number of the row, and what a window says over the rows with its key. They come in the order
/// of their keys, rows with one key in that of their numbers.
pub(super) fn by_key(input: Plan, width: usize, keys: Vec<Expr>, function: WindowFunction) -> Plan {
    let number = Expr::Column(width, SqlType::Int8);
    let numbered = windowed(input, Vec::new(), WindowFunction::RowNumber);
    // A window takes rows of one partition that stand side by side.
    let order = keys.iter().cloned().chain([number]);
    windowed(sorted(numbered, order.collect()), keys, function)
}

fn windowed(input: Plan, partition: Vec<Expr>, function: WindowFunction) -> Plan {
    Plan::Window {
        input: Box::new(input),
        partition,
        order: Vec::new(),
        calls: vec![WindowCall {
            function,
            args: Vec::new(),
            filter: None,
            frame: WindowFrame::usual(),
            ty: SqlType::Int8,
        }],
    }
}

pub(super) fn sorted(input: Plan, by: Vec<Expr>) -> Plan {
    let key = |expr| SortKey {
        expr,
        descending: false,
        nulls_first: false,
    };
    Plan::Sort {
        input: Box::new(input),
        keys: by.into_iter().map(key).collect(),
        top: None,
    }
}

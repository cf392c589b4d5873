//! Cursors that are portals of the session: variables of type refcursor, and cursors that others may see.
//!
//! Relies on: `lower`; the session, which has the portals.  Promises: OPEN runs the query to its end and gives the rows to a portal of
//! the name that the variable has, or to one of a new name, which the variable has then; the other statements name it.
//! Does not: know what is in a portal that something else has opened; FETCH into a record has the routine made anew with its columns.

use super::Lowering;
use super::current::no_cursor_variable;
use super::cursor::{Cursor, Keeps, Opening};
use crate::plpgsql::{
    DynamicSql, FetchCount, OpenHow, RowTarget, SqlText, Statement, StatementKind, VariableNumber,
};
use crate::variables::Shape;
use quintet_base::{SqlError, SqlResult, SqlState, SqlType, TypeMod, Value};
use quintet_ir::Expr;
use quintet_ir::dynamic::{
    CursorAction, CursorStep, Direction, Dynamic, DynamicRows, Field, Landmark, no_cursor_over,
};
use quintet_ir::routine::{Action, Slot, Step};
use quintet_ir::statement::{OutputColumn, Statement as IrStatement};

/// A portal that is about to be opened.
struct ToOpen<'o> {
    variable: &'o str,
    /// The slot of its name.
    name: usize,
    scroll: Option<bool>,
    pinned: bool,
    constant: bool,
    source: &'o str,
}

impl Lowering<'_, '_, '_> {
    /// A variable with the name of a portal, which is its own at first.
    pub(super) fn declare_portal(
        &mut self,
        number: VariableNumber,
        called: &str,
    ) -> SqlResult<Keeps> {
        let slot = Slot {
            name: called.to_string(),
            ty: SqlType::RefCursor,
            not_null: false,
        };
        let name = self.at.variables.add_slot(slot, TypeMod::NONE);
        self.at.variables.reshape(number.0, Shape::Scalar(name));
        let value = Expr::Const(Value::text(called), SqlType::Text);
        let value = self
            .at
            .converted(value, SqlType::RefCursor, TypeMod::NONE)?;
        self.at.add(Action::Assign { slot: name, value });
        Ok(Keeps::Portal {
            name,
            turned: self.at.variables.hidden(SqlType::Bool),
            found: self.at.variables.hidden(SqlType::Bool),
            was: self.at.variables.hidden(SqlType::RefCursor),
        })
    }

    /// The name of a portal, which is in a slot.
    pub(super) fn name_in(&self, slot: usize) -> SqlResult<Expr> {
        let ty = self.slot_type(slot).0;
        self.at
            .converted(Expr::Param(slot, ty), SqlType::Text, TypeMod::NONE)
    }

    /// The variable that a statement names, and its slot.
    fn portal_variable(&self, number: VariableNumber) -> SqlResult<(String, usize)> {
        let name = self.tree.body.variables[number.0].name.clone();
        match self.at.variables.shape(number.0) {
            Shape::Scalar(slot) => Ok((name, *slot)),
            Shape::Row(_) | Shape::Unassigned | Shape::Doubtful => Err(no_cursor_variable(&name)),
        }
    }

    fn cursor_step(
        &self,
        (variable, name): (&str, usize),
        what: CursorAction,
        arguments: Vec<Expr>,
        rows: DynamicRows,
    ) -> SqlResult<Dynamic> {
        Ok(Dynamic {
            at: Landmark {
                number: usize::MAX,
                ..Landmark::default()
            },
            text: self.name_in(name)?,
            arguments,
            fixed: false,
            rows,
            is_record: false,
            reads_only: false,
            turns: None,
            cursor: Some(CursorStep {
                variable: variable.to_string(),
                what,
            }),
        })
    }

    /// OPEN of a portal with its query; a loop's is pinned.
    pub(super) fn open_portal(
        &mut self,
        cursor: &Cursor,
        arguments: Option<&SqlText>,
        pinned: bool,
    ) -> SqlResult<()> {
        let Keeps::Portal { name, was, .. } = &cursor.keeps else {
            return Err(SqlError::internal("no portal is opened"));
        };
        if pinned {
            self.set(*was, Expr::Param(*name, SqlType::RefCursor));
        }
        let opening = self.before_opening(cursor, arguments)?;
        let to_open = ToOpen {
            variable: &cursor.name,
            name: *name,
            scroll: cursor.scroll,
            pinned,
            constant: false,
            source: &cursor.source,
        };
        let table = cursor.current.as_ref().map(|it| it.table().id);
        self.open_over(&to_open, opening, table)
    }

    /// OPEN.
    pub(super) fn opens(
        &mut self,
        number: VariableNumber,
        how: &OpenHow,
        offset: usize,
    ) -> SqlResult<()> {
        let (query, scroll) = match how {
            OpenHow::Bound(arguments) => return self.open(number, arguments.as_ref()),
            OpenHow::Execute { sql, scroll } => {
                return self.open_execute(number, sql, *scroll, offset);
            }
            OpenHow::Query { query, scroll } => (query, *scroll),
        };
        let (variable, name) = self.portal_variable(number)?;
        let (opening, table) = self.cursor_query(query, true)?;
        self.before_query(&opening);
        self.opened.insert(number, opening.columns.clone());
        let to_open = ToOpen {
            variable: &variable,
            name,
            scroll,
            pinned: false,
            constant: self.tree.body.variables[number.0].constant,
            source: query.text.trim(),
        };
        self.open_over(&to_open, opening, table.map(|table| table.id))
    }

    /// A constant takes no name that is made for it.
    fn refuse_constant(&mut self, to_open: &ToOpen<'_>) {
        if to_open.constant {
            let ty = self.slot_type(to_open.name).0;
            let is_null = Expr::IsNull {
                input: Box::new(Expr::Param(to_open.name, ty)),
                negated: false,
            };
            let message = format!("variable \"{}\" is declared CONSTANT", to_open.variable);
            self.fail_when(is_null, SqlState(*b"22005"), &message);
        }
    }

    fn open_step(
        &self,
        to_open: &ToOpen<'_>,
        columns: &[OutputColumn],
        of: Option<quintet_base::TableId>,
        back: bool,
    ) -> SqlResult<Dynamic> {
        let what = CursorAction::Open {
            fields: Field::of(columns),
            of,
            back,
            pinned: to_open.pinned,
            source: to_open.source.to_string(),
        };
        let rows = DynamicRows::Into {
            slots: vec![(to_open.name, TypeMod::NONE)],
            strict: false,
        };
        self.cursor_step((to_open.variable, to_open.name), what, Vec::new(), rows)
    }

    /// Opens a portal over the rows of a query.
    fn open_over(
        &mut self,
        to_open: &ToOpen<'_>,
        opening: Opening,
        of: Option<quintet_base::TableId>,
    ) -> SqlResult<()> {
        let columns = &opening.columns;
        if columns.is_empty()
            && let Some(tag) = change_tag(&opening.statement)
        {
            return Err(no_cursor_over(tag));
        }
        self.refuse_constant(to_open);
        let locks = opening.locks;
        let back = to_open.scroll.unwrap_or(!locks);
        if to_open.scroll == Some(true) && locks {
            let message = "DECLARE SCROLL CURSOR ... FOR UPDATE/SHARE is not supported";
            return Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message)
                .detail("Scrollable cursors must be READ ONLY."));
        }
        let open = self.open_step(to_open, columns, of, back)?;
        self.at.add(Action::Dynamic(Box::new(open)));
        let found = self.found_kept();
        let all = columns.iter().chain(&opening.key);
        let slots = all.map(|column| (self.at.variables.hidden(column.ty), column.ty));
        let slots: Vec<(usize, SqlType)> = slots.collect();
        let row = slots.iter().map(|(slot, ty)| Expr::Param(*slot, *ty));
        let keep = self.cursor_step(
            (to_open.variable, to_open.name),
            CursorAction::Keep,
            row.collect(),
            DynamicRows::Forgotten,
        )?;
        let keep = self.at.step(Action::Dynamic(Box::new(keep)));
        let into = slots.iter().enumerate();
        let into = into.map(|(n, (slot, ty))| (*slot, Expr::Column(n, *ty)));
        self.at.add(Action::ForRow {
            statement: opening.statement,
            into: into.collect(),
            body: vec![keep],
        });
        self.set(self.found, Expr::Param(found, SqlType::Bool));
        Ok(())
    }

    /// OPEN FOR EXECUTE.
    fn open_execute(
        &mut self,
        number: VariableNumber,
        sql: &DynamicSql,
        scroll: Option<bool>,
        offset: usize,
    ) -> SqlResult<()> {
        let (variable, name) = self.portal_variable(number)?;
        self.opened.remove(&number);
        let to_open = ToOpen {
            variable: &variable,
            name,
            scroll,
            pinned: false,
            constant: self.tree.body.variables[number.0].constant,
            source: sql.text.text.trim(),
        };
        self.refuse_constant(&to_open);
        let open = self.open_step(&to_open, &[], None, scroll != Some(false))?;
        self.at.add(Action::Dynamic(Box::new(open)));
        let (text, arguments) = self.asked(sql)?;
        let rows = DynamicRows::Opened(name);
        let mut step = self.dynamic_step(sql, (text, arguments), (rows, false));
        step.at = self.landmark(offset);
        self.at.add(Action::Dynamic(Box::new(step)));
        Ok(())
    }

    /// FETCH and MOVE.
    pub(super) fn fetches(&mut self, kind: &StatementKind) -> SqlResult<()> {
        let StatementKind::Fetch {
            cursor,
            direction,
            count,
            target,
            offset,
        } = kind
        else {
            return Err(SqlError::internal("no FETCH"));
        };
        if let (true, Some(target)) = (self.is_own(*cursor), target) {
            return self.fetch_next(*cursor, target);
        }
        let arguments = match count {
            FetchCount::All => Vec::new(),
            FetchCount::Number(number) => vec![Expr::Const(Value::Int8(*number), SqlType::Int8)],
            FetchCount::Value(text) => {
                vec![self.at.typed(&text.text, SqlType::Int4, TypeMod::NONE)?]
            }
        };
        self.fetch_portal(*cursor, (*direction, arguments), target.as_ref(), *offset)
    }

    fn fetch_portal(
        &mut self,
        cursor: VariableNumber,
        (direction, arguments): (Direction, Vec<Expr>),
        target: Option<&RowTarget>,
        offset: usize,
    ) -> SqlResult<()> {
        let (variable, name) = self.portal_variable(cursor)?;
        let known = self.at.context.dynamic.get(&self.number(offset)).cloned();
        let known = known.or_else(|| self.opened.get(&cursor).cloned());
        let known = known.or_else(|| {
            let opens = self.cursors.get(&cursor)?.opens.as_ref().ok()?;
            Some(opens.columns.clone())
        });
        let (rows, is_record) = match target {
            Some(target) => self.portal_rows(target, known.as_deref())?,
            None => (DynamicRows::Forgotten, false),
        };
        let what = CursorAction::Fetch {
            direction,
            moves: target.is_none(),
            fields: known.filter(|_| is_record).as_deref().map(Field::of),
        };
        let mut step = self.cursor_step((&variable, name), what, arguments, rows)?;
        step.is_record = is_record;
        step.at = self.landmark(offset);
        self.at.add(Action::Dynamic(Box::new(step)));
        Ok(())
    }

    /// Where rows of a portal go, and whether that is a record, whose fields they decide.
    fn portal_rows(
        &mut self,
        target: &RowTarget,
        known: Option<&[OutputColumn]>,
    ) -> SqlResult<(DynamicRows, bool)> {
        self.rows_to(target, known, false)
    }

    /// CLOSE.
    pub(super) fn closes(&mut self, cursor: VariableNumber, offset: usize) -> SqlResult<()> {
        if self.is_own(cursor) {
            return self.close_own(cursor);
        }
        let (variable, name) = self.portal_variable(cursor)?;
        let mut step = self.cursor_step(
            (&variable, name),
            CursorAction::Close,
            Vec::new(),
            DynamicRows::Forgotten,
        )?;
        step.at = self.landmark(offset);
        self.at.add(Action::Dynamic(Box::new(step)));
        Ok(())
    }

    /// The turns of a loop through a portal, which has been opened: rows are fetched one by one, so that the body may move it.
    pub(super) fn turns_of_portal(
        &mut self,
        label: Option<&str>,
        variable: VariableNumber,
        number: VariableNumber,
        body: &[Statement],
        offset: usize,
    ) -> SqlResult<()> {
        let cursor = self.cursors.get(&number);
        let keeps = cursor.map(|cursor| &cursor.keeps);
        let Some(Keeps::Portal {
            name,
            turned,
            found,
            was,
        }) = keeps
        else {
            return Err(SqlError::internal("no portal is gone through"));
        };
        let (name, turned, kept, was) = (*name, *turned, *found, *was);
        let truth = |value| Expr::Const(Value::Bool(value), SqlType::Bool);
        let param = |slot| Expr::Param(slot, SqlType::Bool);
        self.set(turned, truth(false));
        let before = std::mem::take(&mut self.at.steps);
        let next = vec![Expr::Const(Value::Int8(1), SqlType::Int8)];
        self.set(kept, param(self.found));
        let fetched = self.fetch_portal(
            number,
            (Direction::Forward, next),
            Some(&RowTarget::Record(variable)),
            offset,
        );
        let over = Expr::Not(Box::new(param(self.found)));
        let got = self.at.variables.hidden(SqlType::Bool);
        self.set(got, over);
        self.set(self.found, param(kept));
        self.at.add(Action::Exit {
            depth: 0,
            when: Some(param(got)),
        });
        self.set(turned, truth(true));
        let mut steps = std::mem::replace(&mut self.at.steps, before);
        fetched?;
        self.through.push(number);
        let turns = self.turns(label, body);
        self.through.pop();
        steps.extend::<Vec<Step>>(turns?);
        self.at.add(Action::Loop { body: steps });
        self.closes(number, usize::MAX >> 1)?;
        // A name that was made for the loop goes with it.
        self.set(name, Expr::Param(was, SqlType::RefCursor));
        self.set(self.found, param(turned));
        Ok(())
    }

    /// What is left by RETURN is closed first.
    pub(super) fn close_around(&mut self) -> SqlResult<()> {
        for number in self.through.clone().into_iter().rev() {
            self.closes(number, usize::MAX >> 1)?;
        }
        Ok(())
    }
}

/// What a change of rows is called.
fn change_tag(statement: &IrStatement) -> Option<&'static str> {
    match statement {
        IrStatement::Insert(_) => Some("INSERT"),
        IrStatement::Update(_) => Some("UPDATE"),
        IrStatement::Delete(_) => Some("DELETE"),
        IrStatement::Query(_) => None,
    }
}

//! MERGE.
//!
//! Relies on: `embed`.  Promises: one query joins the source with the target and says of each pair which WHEN clause it comes to;
//! then each pair is a statement of its own about one row, in a loop, so that engines and analyses know nothing of
//! MERGE. A row of the target that two pairs would change is 21000.  Triggers of statements fire once (`fire/several`).  Does not: RETURNING,
//! WHEN NOT MATCHED BY SOURCE (both are younger than PostgreSQL 15).
//!
//! ```text
//!   SELECT n, turn FROM (SELECT CASE WHEN key IS [NOT] NULL AND … THEN clause END AS n, source.*, key
//!                        FROM source LEFT JOIN target ON …   the target's rows are locked) WHERE n IS NOT NULL
//!   for each:  n = 1 ─► UPDATE target SET … WHERE key = …
//!              n = 2 ─► DELETE …     n = 3 ─► INSERT …
//! ```
//! A row that somebody else has changed meanwhile is waited for by the query, which at READ COMMITTED is asked once more
//! then: the pair goes to the clause that is its own now.  What an earlier pair's trigger has changed is 27000.

use super::call::any_node;
use super::embed::{Embedding, Planned};
use super::fire::{Several, is_watched};
use super::matching::is_routine;
use crate::catalog::Relation;
use crate::from::{From, find_named, row_target};
use crate::locking::OF_MERGE;
use crate::names::{inner, required};
use crate::planner::Planner;
use crate::rewrite::is_volatile_plan;
use crate::row_security::PartOf;
use crate::tree::{node, string};
use pg_query::protobuf::{
    AConst, AExpr, AExprKind, AStar, Alias, BoolExpr, BoolExprType, Boolean, CaseExpr, CaseWhen,
    CmdType, ColumnRef, DeleteStmt, FuncCall, InsertStmt, JoinExpr, JoinType, LimitOption, List,
    LockingClause, MergeMatchKind, MergeStmt, MergeWhenClause, Node, NullTest, NullTestType,
    ParamRef, RangeSubselect, RangeVar, ResTarget, SelectStmt, SetOperation, SortBy, SortByDir,
    SortByNulls, UpdateStmt, WindowDef, a_const,
};
use pg_query::{NodeEnum, NodeRef};
use quintet_base::{SqlError, SqlResult, SqlState, SqlType, Value};
use quintet_ir::routine::{Action, Into, Step};
use quintet_ir::schema::TableRef;
use quintet_ir::{Expr, Statement};

/// Names of columns that the query adds: no statement can write them.
const CLAUSE: &str = "\u{1}clause";
const TURN: &str = "\u{1}turn";
const KEY: &str = "\u{1}key";
const OLD: &str = "\u{1}old";
const PAIRS: &str = "\u{1}pairs";
const PLACE: &str = "\u{1}place";
/// What the columns are called that USING has merged, where the statement says nothing.
const MERGED: &str = "\u{1}merged";
/// Between the columns of the parts of a join.
const NEXT: &str = "\u{1}next";

/// What the statements about one row are made of.
struct About<'m> {
    merge: &'m MergeStmt,
    /// What the target is called.
    target: String,
    /// Columns of its key; the name of a hidden one is empty.
    keys: Vec<String>,
    /// Numbers of the parameters that have the key's values.
    values: Vec<i32>,
    /// Visible columns whose values the query gives, for triggers that may change rows of later pairs; none if there are no such.
    watched: Vec<String>,
}

/// Which rows of the target the query of the pairs locks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Locked {
    None,
    /// All that have a row of the source.
    Matched,
    /// Those of them that a clause changes.
    Changed,
}

impl Embedding<'_, '_> {
    /// The steps of a MERGE; the slot (bigint) that has the number of rows it has changed.
    ///
    /// # Errors
    /// What planning its parts says.
    pub(super) fn merge(&mut self, source: &str, merge: &MergeStmt) -> SqlResult<usize> {
        let planner = Planner::inside(self.context, source, &self.variables);
        let relation = required(merge.relation.as_ref())?;
        refuse_view(&planner, relation)?;
        let table = row_target(&planner, relation)?;
        if merge.returning_clause.is_some() {
            return Err(planner.unsupported("MERGE … RETURNING", relation.location));
        }
        let keys = match &table.primary_key {
            Some(key) => key
                .columns
                .iter()
                .map(|&column| table.columns[column].name.clone())
                .collect(),
            None => vec![String::new()],
        };
        let mut about = About {
            merge,
            target: alias_or(relation.alias.as_ref(), &relation.relname),
            keys,
            values: Vec::new(),
            watched: Vec::new(),
        };
        let clauses = clauses(&planner, merge)?;
        let from = required(merge.source_relation.as_deref())?;
        let mut from = from.clone();
        let names = names_of(&planner, &mut from, &mut 0)?;
        let from = &from;
        if let Some(alias) = names.iter().find(|name| **name == about.target) {
            let message = format!("name \"{alias}\" specified more than once");
            return Err(planner
                .error(SqlState::DUPLICATE_ALIAS, message, -1)
                .detail("The name is used both as MERGE target table and data source."));
        }
        // A function that is called may change rows as a trigger does.
        let calls =
            |node: &NodeRef| matches!(node, NodeRef::FuncCall(call) if is_routine(&planner, call));
        let calls = any_node(&NodeEnum::MergeStmt(Box::new(merge.clone())), &calls);
        let locked = self.rows_locked(source, &about, (&clauses, from, &names))?;
        let query = about.pairs(&clauses, (from, locked), &names);
        let mut planned = self.plan(source, &query)?;
        if calls || is_watched(self.context.catalog, &table) {
            about.watched = (table.visible_columns().map(|(_, column)| &column.name))
                .cloned()
                .collect();
            // These columns nobody has asked for.
            let needs = self.needs.clone();
            let query = about.pairs(&clauses, (from, locked), &names);
            planned = self.plan(source, &query)?;
            self.needs = needs;
        }
        let Planned {
            statement, columns, ..
        } = planned;

        let count = self.variables.hidden(SqlType::Int8);
        let bigint = |value| Expr::Const(Value::Int8(value), SqlType::Int8);
        self.add(Action::Assign {
            slot: count,
            value: bigint(0),
        });
        let known = self.variables.numbered.len();
        let mut into = Vec::new();
        let mut fields = vec![Vec::new()];
        let last = columns.len() - 1;
        let (watched, placed) = (about.watched.len(), usize::from(about.is_watched()));
        let first_old = last - placed - watched;
        let first_key = first_old - about.keys.len();
        let mut found = Vec::new();
        for (place, column) in columns.iter().enumerate() {
            let slot = self.variables.hidden(column.ty);
            into.push((slot, Expr::Column(place, column.ty)));
            if column.name == NEXT {
                fields.push(Vec::new());
            } else if (1..first_key).contains(&place) {
                let of_one = fields.last_mut();
                of_one
                    .into_iter()
                    .for_each(|of_one| of_one.push((column.name.clone(), slot)));
            } else if (first_old..first_old + watched).contains(&place) {
                found.push(slot);
            } else if (first_key..first_old).contains(&place) {
                self.variables.numbered.push(Some(slot));
                about.values.push(self.variables.numbered.len() as i32);
            }
        }
        let of = |place: usize| Expr::Param(into[place].0, columns[place].ty);
        let (clause, turn) = (of(0), of(last));
        let twice = self.apply(">", vec![turn, bigint(1)])?;
        // A name that several have is one that USING has merged, or means the first's.
        let rows = names.iter().zip(&fields).rev();
        let shapes: Vec<usize> = rows
            .map(|(name, fields)| self.variables.enter_row(name, fields))
            .collect();
        let around = std::mem::replace(&mut self.part_of, PartOf::Merge);
        let made = self.body_of_merge(
            source,
            (&about, &table, &clauses),
            (clause, twice),
            (count, &found),
        );
        self.part_of = around;
        for before in shapes.into_iter().rev() {
            self.variables.leave_row(before);
        }
        let (several, body) = made?;
        self.add(Action::ForRow {
            statement,
            into,
            body,
        });
        if let Some(several) = several {
            self.end_several(&several)?;
        }
        self.variables.numbered.truncate(known);
        Ok(count)
    }

    /// What is done for each pair, and what its changes fire. `clause`: the number of the clause that it comes to; `twice`: whether its row of
    /// the target has come before; `found`: the slots of that row as the query has found it, if triggers may change it meanwhile.
    fn body_of_merge(
        &mut self,
        source: &str,
        (about, table, clauses): (&About, &TableRef, &[&MergeWhenClause]),
        (clause, twice): (Expr, Expr),
        (count, found): (usize, &[usize]),
    ) -> SqlResult<(Option<Several>, Vec<Step>)> {
        let mut parts = Vec::new();
        for (number, clause) in (1..).zip(clauses) {
            if let Some(change) = about.change(clause)? {
                let (planned, steps) = self.apart(|this| this.plan_alone(source, &change))?;
                parts.push((number, planned, steps));
            }
        }
        let statements: Vec<&Statement> = parts.iter().map(|part| &part.1.statement).collect();
        let mut several = self.begin_several(&statements, count)?;
        let ((), body) = self.apart(|this| {
            let fail = this.step(Action::Fail(Box::new(changed_twice())));
            this.add(Action::If {
                branches: vec![(twice, vec![fail])],
                otherwise: Vec::new(),
            });
            let mut branches = Vec::new();
            for (number, planned, mut steps) in parts {
                let keys = about.values.iter();
                let keys =
                    keys.filter_map(|number| *this.variables.numbered.get(*number as usize - 1)?);
                let keys = keys.collect::<Vec<_>>();
                let ((), asked) =
                    this.apart(|this| this.refuse_changed_by_pairs(table, &planned, &keys, found))?;
                steps.extend(asked);
                let ((), more) = this.apart(|this| match &mut several {
                    Some(several) => this.one_of_several(several, planned),
                    None => this.counted(planned.statement, count),
                })?;
                steps.extend(more);
                let number = Expr::Const(Value::Int4(number), SqlType::Int4);
                branches.push((this.apply("=", vec![clause.clone(), number])?, steps));
            }
            if !branches.is_empty() {
                this.add(Action::If {
                    branches,
                    otherwise: Vec::new(),
                });
            }
            Ok(())
        })?;
        Ok((several, body))
    }

    /// Which rows of the target are locked: those that a clause changes, unless that is another each time it is asked.
    fn rows_locked(
        &mut self,
        source: &str,
        about: &About,
        (clauses, from, names): (&[&MergeWhenClause], &Node, &[String]),
    ) -> SqlResult<Locked> {
        let matched = || clauses.iter().filter(|clause| is_matched(clause));
        if !matched().any(|clause| is_change(clause)) {
            return Ok(Locked::None);
        }
        let takes_all = matched().any(|clause| clause.condition.is_none());
        if takes_all && matched().all(|clause| is_change(clause)) {
            return Ok(Locked::Matched);
        }
        let mut conditions = matched().filter_map(|clause| clause.condition.as_deref());
        if !conditions.any(has_call) {
            return Ok(Locked::Changed);
        }
        let query = about.pairs(clauses, (from, Locked::None), names);
        let (planned, _) = self.apart(|this| this.plan_alone(source, &query))?;
        Ok(match &planned.statement {
            Statement::Query(plan) if is_volatile_plan(plan) => Locked::Matched,
            _ => Locked::Changed,
        })
    }

    /// The steps of a MERGE in a routine, and a statement that gives as many rows as it has changed: FOUND and ROW_COUNT
    /// hear of them.
    ///
    /// # Errors
    /// As [`Embedding::merge`].
    pub(super) fn merged(&mut self, source: &str, merge: &MergeStmt) -> SqlResult<Planned> {
        let count = self.merge(source, merge)?;
        self.as_many_rows(count)
    }

    /// A change, and how many rows it changed.
    fn counted(&mut self, statement: Statement, count: usize) -> SqlResult<()> {
        let into = Into::default();
        self.add(Action::Run { statement, into });
        let changed = self.variables.hidden(SqlType::Int8);
        self.add(Action::RowCount { slot: changed });
        let both = [count, changed].map(|slot| Expr::Param(slot, SqlType::Int8));
        let value = self.apply("+", both.to_vec())?;
        self.add(Action::Assign { slot: count, value });
        Ok(())
    }
}

impl About<'_> {
    fn is_watched(&self) -> bool {
        !self.watched.is_empty()
    }

    /// The query of the pairs: the number of the clause, the source's columns, the target's key, and the how manieth
    /// the pair is of those with this key.
    fn pairs(
        &self,
        clauses: &[&MergeWhenClause],
        (from, locked): (&Node, Locked),
        names: &[String],
    ) -> NodeEnum {
        let key = |number: usize| column(&[&self.target, &self.keys[number]]);
        let whens = clauses.iter().zip(1..).map(|(clause, number)| {
            let matched = is_matched(clause);
            let met = null_test(key(0), !matched);
            let condition = clause.condition.as_deref().cloned();
            let result = match clause.command_type() {
                CmdType::CmdNothing => AConst {
                    isnull: true,
                    ..AConst::default()
                },
                _ => integer(number),
            };
            node(NodeEnum::CaseWhen(Box::new(CaseWhen {
                expr: boxed(all([Some(met), condition])),
                result: boxed(node(NodeEnum::AConst(result))),
                location: -1,
                ..CaseWhen::default()
            })))
        });
        let clause = node(NodeEnum::CaseExpr(Box::new(CaseExpr {
            args: whens.collect(),
            location: -1,
            ..CaseExpr::default()
        })));
        let mut targets = vec![named(clause.clone(), CLAUSE)];
        for (number, name) in names.iter().enumerate() {
            if number > 0 {
                let nothing = AConst {
                    isnull: true,
                    ..AConst::default()
                };
                targets.push(named(node(NodeEnum::AConst(nothing)), NEXT));
            }
            let star = node(NodeEnum::ColumnRef(ColumnRef {
                fields: vec![string(name), node(NodeEnum::AStar(AStar {}))],
                location: -1,
            }));
            targets.push(named(star, ""));
        }
        targets.extend((0..self.keys.len()).map(|n| named(key(n), &format!("{KEY}{n}"))));
        let watched = self.watched.iter().enumerate().map(|(n, name)| {
            let value = column(&[&self.target, name]);
            named(value, &format!("{OLD}{n}"))
        });
        targets.extend(watched);
        // Without a clause for them pairs without a row of the target are not asked for.
        let outer = clauses.iter().any(|clause| !is_matched(clause));
        let join = JoinExpr {
            jointype: match outer {
                true => JoinType::JoinLeft,
                false => JoinType::JoinInner,
            } as i32,
            larg: boxed(from.clone()),
            rarg: self
                .merge
                .relation
                .clone()
                .map(|relation| Box::new(node(NodeEnum::RangeVar(relation)))),
            quals: self.merge.join_condition.clone(),
            ..JoinExpr::default()
        };
        let inside = SelectStmt {
            target_list: targets,
            from_clause: vec![node(NodeEnum::JoinExpr(Box::new(join)))],
            with_clause: self.merge.with_clause.clone(),
            where_clause: (locked == Locked::Changed).then(|| Box::new(null_test(clause, false))),
            locking_clause: match locked {
                Locked::None => Vec::new(),
                _ => vec![node(NodeEnum::LockingClause(LockingClause {
                    strength: OF_MERGE as i32,
                    ..LockingClause::default()
                }))],
            },
            ..plain_select()
        };
        let everything = || {
            node(NodeEnum::ColumnRef(ColumnRef {
                fields: vec![node(NodeEnum::AStar(AStar {}))],
                location: -1,
            }))
        };
        let subselect = |query| {
            node(NodeEnum::RangeSubselect(Box::new(RangeSubselect {
                subquery: boxed(node(NodeEnum::SelectStmt(Box::new(query)))),
                alias: Some(Alias {
                    aliasname: PAIRS.to_string(),
                    ..Alias::default()
                }),
                ..RangeSubselect::default()
            })))
        };
        let mut from = subselect(inside);
        // What triggers see goes by the order of the source.
        if self.is_watched() {
            let place = row_number(Vec::new());
            from = subselect(SelectStmt {
                target_list: vec![named(everything(), ""), named(place, PLACE)],
                from_clause: vec![from],
                ..plain_select()
            });
        }
        let key = |number: usize| column(&[PAIRS, &format!("{KEY}{number}")]);
        let turn = row_number((0..self.keys.len()).map(key).collect());
        // Rows that are to be added have no key, and are not counted.
        let turn = CaseExpr {
            args: vec![node(NodeEnum::CaseWhen(Box::new(CaseWhen {
                expr: boxed(null_test(key(0), false)),
                result: boxed(turn),
                location: -1,
                ..CaseWhen::default()
            })))],
            location: -1,
            ..CaseExpr::default()
        };
        let turn = node(NodeEnum::CaseExpr(Box::new(turn)));
        let place = self.is_watched().then(|| {
            node(NodeEnum::SortBy(Box::new(SortBy {
                node: boxed(column(&[PAIRS, PLACE])),
                sortby_dir: SortByDir::SortbyDefault as i32,
                sortby_nulls: SortByNulls::SortbyNullsDefault as i32,
                location: -1,
                ..SortBy::default()
            })))
        });
        NodeEnum::SelectStmt(Box::new(SelectStmt {
            target_list: vec![named(everything(), ""), named(turn, TURN)],
            from_clause: vec![from],
            where_clause: boxed(null_test(column(&[PAIRS, CLAUSE]), false)),
            sort_clause: place.into_iter().collect(),
            ..plain_select()
        }))
    }

    /// The statement about one row that a clause stands for; none if it does nothing.
    fn change(&self, clause: &MergeWhenClause) -> SqlResult<Option<NodeEnum>> {
        let the_row = self.the_row();
        let relation = self.merge.relation.clone();
        let targets = clause.target_list.clone();
        Ok(Some(match clause.command_type() {
            CmdType::CmdNothing => return Ok(None),
            CmdType::CmdUpdate => NodeEnum::UpdateStmt(Box::new(UpdateStmt {
                relation,
                target_list: targets,
                where_clause: boxed(the_row),
                ..UpdateStmt::default()
            })),
            CmdType::CmdDelete => NodeEnum::DeleteStmt(Box::new(DeleteStmt {
                relation,
                where_clause: boxed(the_row),
                ..DeleteStmt::default()
            })),
            CmdType::CmdInsert => {
                // DEFAULT VALUES has none.
                let values = (!clause.values.is_empty()).then(|| {
                    let items = clause.values.clone();
                    let lists = vec![node(NodeEnum::List(List { items }))];
                    Box::new(node(NodeEnum::SelectStmt(Box::new(SelectStmt {
                        values_lists: lists,
                        ..plain_select()
                    }))))
                });
                NodeEnum::InsertStmt(Box::new(InsertStmt {
                    relation,
                    cols: targets,
                    select_stmt: values,
                    r#override: clause.r#override,
                    ..InsertStmt::default()
                }))
            }
            _ => return Err(SqlError::internal("MERGE does something else")),
        }))
    }

    /// The row of the target that is at hand.
    fn the_row(&self) -> Node {
        let keys = self.keys.iter().zip(&self.values);
        all(keys.map(|(key, number)| Some(equals(column(&[&self.target, key]), *number))))
    }
}

/// PostgreSQL 15 has no MERGE into views, which are updated otherwise.
fn refuse_view(planner: &Planner, relation: &RangeVar) -> SqlResult<()> {
    let Some(Relation::Table(id) | Relation::View(id)) = find_named(planner, relation)? else {
        return Ok(());
    };
    let catalog = planner.catalog();
    let what = match (catalog.view(id), catalog.matview(id)) {
        (Some(_), _) => "views",
        (_, Some(_)) => "materialized views",
        _ => return Ok(()),
    };
    let message = format!("cannot execute MERGE on relation \"{}\"", relation.relname);
    let error = SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message);
    Err(error.detail(format!("This operation is not supported for {what}.")))
}

/// The WHEN clauses, each of a kind that PostgreSQL 15 has, and none behind one that takes all.
fn clauses<'m>(planner: &Planner, merge: &'m MergeStmt) -> SqlResult<Vec<&'m MergeWhenClause>> {
    let mut clauses = Vec::new();
    let mut takes_all = [false; 2];
    for node in &merge.merge_when_clauses {
        let Some(NodeEnum::MergeWhenClause(clause)) = inner(node) else {
            continue;
        };
        if clause.match_kind() == MergeMatchKind::MergeWhenNotMatchedBySource {
            return Err(planner.unsupported("WHEN NOT MATCHED BY SOURCE", -1));
        }
        let taken = &mut takes_all[usize::from(is_matched(clause))];
        if *taken {
            let message = "unreachable WHEN clause specified after unconditional WHEN clause";
            return Err(planner.error(SqlState::SYNTAX_ERROR, message, -1));
        }
        *taken = clause.condition.is_none();
        clauses.push(&**clause);
    }
    Ok(clauses)
}

fn is_change(clause: &MergeWhenClause) -> bool {
    clause.command_type() != CmdType::CmdNothing
}

fn is_matched(clause: &MergeWhenClause) -> bool {
    clause.match_kind() == MergeMatchKind::MergeWhenMatched
}

/// What the source is called: a join has the names of what it joins. What USING has merged has a name of its own, and goes first where it is
/// not the first side's.
///
/// # Errors
/// `0A000` for sources without a name.
fn names_of(planner: &Planner, from: &mut Node, count: &mut usize) -> SqlResult<Vec<String>> {
    let alias = match from.node.as_mut() {
        Some(NodeEnum::RangeVar(relation)) => {
            return Ok(vec![alias_or(relation.alias.as_ref(), &relation.relname)]);
        }
        Some(NodeEnum::RangeSubselect(query)) => query.alias.as_ref(),
        Some(NodeEnum::RangeFunction(function)) => function.alias.as_ref(),
        Some(NodeEnum::JoinExpr(join)) if join.alias.is_none() => {
            let keeps_right = [JoinType::JoinRight, JoinType::JoinFull].contains(&join.jointype());
            if join.is_natural && keeps_right {
                say_what_is_common(planner, join)?;
            }
            let mut merged = join
                .join_using_alias
                .as_ref()
                .map(|alias| alias.aliasname.clone());
            if merged.is_none() && keeps_right && !join.using_clause.is_empty() {
                *count += 1;
                let aliasname = format!("{MERGED}{count}");
                merged = Some(aliasname.clone());
                join.join_using_alias = Some(Alias {
                    aliasname,
                    ..Alias::default()
                });
            }
            let mut names = Vec::new();
            for side in [&mut join.larg, &mut join.rarg].into_iter().flatten() {
                names.extend(names_of(planner, side, count)?);
            }
            let place = if keeps_right { 0 } else { names.len() };
            names.splice(place..place, merged);
            return Ok(names);
        }
        Some(NodeEnum::JoinExpr(join)) => join.alias.as_ref(),
        _ => return Err(planner.unsupported("this source of MERGE", -1)),
    };
    match alias {
        Some(alias) => Ok(vec![alias.aliasname.clone()]),
        None => Err(planner.unsupported("MERGE with a source that has no name", -1)),
    }
}

/// NATURAL as USING, or without columns that both sides have, ON true.
///
/// # Errors
/// What binding the sides says.
fn say_what_is_common(planner: &Planner, join: &mut JoinExpr) -> SqlResult<()> {
    let columns = |side: &Option<Box<Node>>| -> SqlResult<Vec<String>> {
        let mut from = From::default();
        if let Some(side) = side.as_deref() {
            from.add_items(planner, std::slice::from_ref(side))?;
        }
        let columns = from.scope.visible_columns();
        Ok(columns.map(|column| column.name.clone()).collect())
    };
    let (left, right) = (columns(&join.larg)?, columns(&join.rarg)?);
    let common = left.iter().filter(|name| right.contains(name));
    join.using_clause = common.map(string).collect();
    join.is_natural = false;
    if join.using_clause.is_empty() {
        let always = AConst {
            val: Some(a_const::Val::Boolval(Boolean { boolval: true })),
            ..AConst::default()
        };
        join.quals = boxed(node(NodeEnum::AConst(always)));
    }
    Ok(())
}

fn alias_or(alias: Option<&Alias>, name: &str) -> String {
    alias.map_or(name, |alias| &alias.aliasname).to_string()
}

fn changed_twice() -> SqlError {
    SqlError::new(
        SqlState::CARDINALITY_VIOLATION,
        "MERGE command cannot affect row a second time",
    )
    .hint("Ensure that not more than one source row matches any one target row.")
}

fn has_call(condition: &Node) -> bool {
    inner(condition)
        .is_some_and(|node| any_node(node, &|node| matches!(node, NodeRef::FuncCall(_))))
}

#[allow(clippy::unnecessary_wraps)] // as the parser's trees have it
fn boxed(node: Node) -> Option<Box<Node>> {
    Some(Box::new(node))
}

/// `left = $number`.
pub(super) fn equals(left: Node, number: i32) -> Node {
    let value = node(NodeEnum::ParamRef(ParamRef {
        number,
        location: -1,
    }));
    node(NodeEnum::AExpr(Box::new(AExpr {
        kind: AExprKind::AexprOp as i32,
        name: vec![string("=")],
        lexpr: boxed(left),
        rexpr: boxed(value),
        location: -1,
        ..AExpr::default()
    })))
}

pub(crate) fn column(name: &[&str]) -> Node {
    node(NodeEnum::ColumnRef(ColumnRef {
        fields: name.iter().map(|part| string(*part)).collect(),
        location: -1,
    }))
}

fn named(value: Node, name: &str) -> Node {
    node(NodeEnum::ResTarget(Box::new(ResTarget {
        name: name.to_string(),
        val: boxed(value),
        location: -1,
        ..ResTarget::default()
    })))
}

fn integer(ival: i32) -> AConst {
    AConst {
        val: Some(a_const::Val::Ival(pg_query::protobuf::Integer { ival })),
        ..AConst::default()
    }
}

fn null_test(value: Node, is_null: bool) -> Node {
    let kind = match is_null {
        true => NullTestType::IsNull,
        false => NullTestType::IsNotNull,
    };
    node(NodeEnum::NullTest(Box::new(NullTest {
        arg: boxed(value),
        nulltesttype: kind as i32,
        location: -1,
        ..NullTest::default()
    })))
}

pub(super) fn all(conditions: impl IntoIterator<Item = Option<Node>>) -> Node {
    node(NodeEnum::BoolExpr(Box::new(BoolExpr {
        boolop: BoolExprType::AndExpr as i32,
        args: conditions.into_iter().flatten().collect(),
        location: -1,
        ..BoolExpr::default()
    })))
}

/// The how manieth a row is of its partition.
fn row_number(partition_clause: Vec<Node>) -> Node {
    node(NodeEnum::FuncCall(Box::new(FuncCall {
        funcname: vec![string("row_number")],
        over: Some(Box::new(WindowDef {
            partition_clause,
            // RANGE UNBOUNDED PRECEDING, as the parser says it where nothing is said.
            frame_options: 1058,
            location: -1,
            ..WindowDef::default()
        })),
        location: -1,
        ..FuncCall::default()
    })))
}

fn plain_select() -> SelectStmt {
    SelectStmt {
        limit_option: LimitOption::Default as i32,
        op: SetOperation::SetopNone as i32,
        ..SelectStmt::default()
    }
}

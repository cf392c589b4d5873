//! MERGE.
//!
//! Relies on: `embed`.  Promises: one query joins the source with the target and says of each pair which WHEN clause it comes to;
//! then each pair is a statement of its own about one row, in a loop, so that engines and analyses know nothing of
//! MERGE. A row of the target that two pairs would change is 21000.  Triggers of statements fire once (`fire/several`).  Does not: RETURNING,
//! WHEN NOT MATCHED BY SOURCE (both are younger than PostgreSQL 15).
//!
//! ```text
//!   SELECT n, turn FROM (SELECT CASE WHEN key IS [NOT] NULL AND … THEN clause END AS n, source.*, key
//!                        FROM source LEFT JOIN target ON …) WHERE n IS NOT NULL
//!   for each:  n = 1 ─► UPDATE target SET … WHERE key = … AND …
//!              n = 2 ─► DELETE …     n = 3 ─► INSERT …
//! ```
//! A row that somebody else has changed meanwhile is looked at once more: it is left alone if ON or the clause's
//! condition does not hold any longer, or that of a clause before it does, where PostgreSQL would go to the other clause.

use super::call::any_node;
use super::embed::{Embedding, Planned};
use super::fire::Several;
use crate::catalog::Relation;
use crate::from::{find_named, row_target};
use crate::names::{inner, required};
use crate::planner::Planner;
use crate::rewrite::is_volatile_plan;
use crate::row_security::PartOf;
use crate::tree::{node, string};
use pg_query::protobuf::{
    AConst, AExpr, AExprKind, AStar, Alias, BoolExpr, BoolExprType, BoolTestType, BooleanTest,
    CaseExpr, CaseWhen, CmdType, ColumnRef, DeleteStmt, FuncCall, InsertStmt, JoinExpr, JoinType,
    LimitOption, List, MergeMatchKind, MergeStmt, MergeWhenClause, Node, NullTest, NullTestType,
    ParamRef, RangeSubselect, RangeVar, ResTarget, SelectStmt, SetOperation, UpdateStmt, WindowDef,
    a_const,
};
use pg_query::{NodeEnum, NodeRef};
use quintet_base::{SqlError, SqlResult, SqlState, SqlType, Value};
use quintet_ir::routine::{Action, Into, Step};
use quintet_ir::{Expr, Statement};

/// Names of columns that the query adds: no statement can write them.
const CLAUSE: &str = "\u{1}clause";
const TURN: &str = "\u{1}turn";
const KEY: &str = "\u{1}key";
const PAIRS: &str = "\u{1}pairs";
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
        let query = about.pairs(&clauses, from, &names);
        let Planned {
            statement, columns, ..
        } = self.plan(source, &query)?;

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
        let first_key = last - about.keys.len();
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
            } else if (first_key..last).contains(&place) {
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
        let made = self.body_of_merge(source, (&about, &clauses), (clause, twice), count);
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
    /// the target has come before.
    fn body_of_merge(
        &mut self,
        source: &str,
        (about, clauses): (&About, &[&MergeWhenClause]),
        (clause, twice): (Expr, Expr),
        count: usize,
    ) -> SqlResult<(Option<Several>, Vec<Step>)> {
        let join = self.asked_again(source, about, about.merge.join_condition.as_deref())?;
        let mut before: Vec<Node> = Vec::new();
        let mut parts = Vec::new();
        for (number, clause) in (1..).zip(clauses) {
            let condition = clause.condition.as_deref();
            let condition =
                self.asked_again(source, about, condition.filter(|_| is_matched(clause)))?;
            let the_row = about.the_row([&join, &condition], &before);
            before.extend(condition);
            if let Some(change) = about.change(clause, the_row)? {
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

    /// A condition that is asked once more of a row that may have changed meanwhile: none whose answer is another each time, or
    /// whose query would see what the pairs before have done.
    fn asked_again(
        &mut self,
        source: &str,
        about: &About,
        condition: Option<&Node>,
    ) -> SqlResult<Option<Node>> {
        let Some(condition) = condition.filter(|condition| !has_query(condition)) else {
            return Ok(None);
        };
        if has_call(condition) {
            let relation = about.merge.relation.clone();
            let probe = NodeEnum::SelectStmt(Box::new(SelectStmt {
                target_list: vec![named(node(NodeEnum::AConst(integer(1))), "")],
                from_clause: relation
                    .map(|it| node(NodeEnum::RangeVar(it)))
                    .into_iter()
                    .collect(),
                where_clause: boxed(condition.clone()),
                ..plain_select()
            }));
            let (planned, _) = self.apart(|this| this.plan_alone(source, &probe))?;
            if matches!(&planned.statement, Statement::Query(plan) if is_volatile_plan(plan)) {
                return Ok(None);
            }
        }
        Ok(Some(condition.clone()))
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
    /// The query of the pairs: the number of the clause, the source's columns, the target's key, and the how manieth
    /// the pair is of those with this key.
    fn pairs(&self, clauses: &[&MergeWhenClause], from: &Node, names: &[String]) -> NodeEnum {
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
        let mut targets = vec![named(clause, CLAUSE)];
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
            ..plain_select()
        };
        let from = RangeSubselect {
            subquery: boxed(node(NodeEnum::SelectStmt(Box::new(inside)))),
            alias: Some(Alias {
                aliasname: PAIRS.to_string(),
                ..Alias::default()
            }),
            ..RangeSubselect::default()
        };
        let key = |number: usize| column(&[PAIRS, &format!("{KEY}{number}")]);
        let turn = FuncCall {
            funcname: vec![string("row_number")],
            over: Some(Box::new(WindowDef {
                partition_clause: (0..self.keys.len()).map(key).collect(),
                // RANGE UNBOUNDED PRECEDING, as the parser says it where nothing is said.
                frame_options: 1058,
                location: -1,
                ..WindowDef::default()
            })),
            location: -1,
            ..FuncCall::default()
        };
        // Rows that are to be added have no key, and are not counted.
        let turn = CaseExpr {
            args: vec![node(NodeEnum::CaseWhen(Box::new(CaseWhen {
                expr: boxed(null_test(key(0), false)),
                result: boxed(node(NodeEnum::FuncCall(Box::new(turn)))),
                location: -1,
                ..CaseWhen::default()
            })))],
            location: -1,
            ..CaseExpr::default()
        };
        let everything = node(NodeEnum::ColumnRef(ColumnRef {
            fields: vec![node(NodeEnum::AStar(AStar {}))],
            location: -1,
        }));
        let turn = node(NodeEnum::CaseExpr(Box::new(turn)));
        NodeEnum::SelectStmt(Box::new(SelectStmt {
            target_list: vec![named(everything, ""), named(turn, TURN)],
            from_clause: vec![node(NodeEnum::RangeSubselect(Box::new(from)))],
            where_clause: boxed(null_test(column(&[PAIRS, CLAUSE]), false)),
            ..plain_select()
        }))
    }

    /// The statement about one row that a clause stands for; none if it does nothing.
    fn change(&self, clause: &MergeWhenClause, the_row: Node) -> SqlResult<Option<NodeEnum>> {
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

    /// The row of the target that is at hand, if conditions still hold and none of those `before` does, whose clauses come first.
    fn the_row(&self, conditions: [&Option<Node>; 2], before: &[Node]) -> Node {
        let keys = self
            .keys
            .iter()
            .zip(&self.values)
            .map(|(key, number)| Some(equals(column(&[&self.target, key]), *number)));
        let others = before.iter().map(|other| Some(is_not_true(other.clone())));
        all(keys.chain(conditions.into_iter().cloned()).chain(others))
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

fn is_matched(clause: &MergeWhenClause) -> bool {
    clause.match_kind() == MergeMatchKind::MergeWhenMatched
}

/// What the source is called: a join has the names of what it joins. What USING has merged has a name of its own, and goes first where it is
/// not the first side's.
///
/// # Errors
/// `0A000` for sources without a name, and where nobody says which columns are merged.
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
                let what = "MERGE with a NATURAL RIGHT or FULL JOIN as its source";
                return Err(planner.unsupported(what, -1));
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

fn has_query(condition: &Node) -> bool {
    inner(condition).is_some_and(|node| any_node(node, &|node| matches!(node, NodeRef::SubLink(_))))
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

fn is_not_true(condition: Node) -> Node {
    node(NodeEnum::BooleanTest(Box::new(BooleanTest {
        arg: boxed(condition),
        booltesttype: BoolTestType::IsNotTrue as i32,
        location: -1,
        ..BooleanTest::default()
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

fn plain_select() -> SelectStmt {
    SelectStmt {
        limit_option: LimitOption::Default as i32,
        op: SetOperation::SetopNone as i32,
        ..SelectStmt::default()
    }
}

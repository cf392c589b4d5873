//! SEARCH and CYCLE of recursive queries.
//!
//! Relies on: `recursion`, which plans the two terms.  Promises: PostgreSQL's columns: each term becomes a
//! query over itself with more columns, as PostgreSQL rewrites it.
//!
//! ```text
//! first term    SELECT c, …, ARRAY[ROW(a)] AS seq, 'N' AS mark, ARRAY[ROW(a)] AS path FROM (term) AS l (c, …)
//! second term   SELECT c, …, seq || ROW(a), CASE WHEN path @> ARRAY[ROW(a)] THEN 'Y' ELSE 'N' END, path || ROW(a)
//!               FROM (term, with seq, mark and path of the turn before, WHERE mark <> 'Y') AS r (c, …, seq, mark, path)
//! ```
//! BREADTH FIRST counts the turns in a column of its own, which is left out of the result: `ROW(turn, a)`.
//! In the second term `*` does not stand for the columns that come with it.

use crate::comparable::equated;
use crate::names::{self, inner};
use crate::parse;
use crate::planner::Planner;
use crate::scope::{Output, UNSTARRED};
use pg_query::NodeEnum;
use pg_query::protobuf::{
    BoolExpr, BoolExprType, CaseExpr, CommonTableExpr, CteCycleClause, CteSearchClause, Node,
    SelectStmt, SetOperation,
};
use quintet_base::{SqlError, SqlResult, SqlState};

/// What a WITH query asks for beside its rows.
#[derive(Clone)]
pub(crate) struct Marks {
    search: Option<CteSearchClause>,
    cycle: Option<Box<CteCycleClause>>,
}

/// The column that counts the turns.
const TURN: &str = "*DEPTH*";

fn refuse<T>(state: SqlState, message: impl Into<String>) -> SqlResult<T> {
    Err(SqlError::new(state, message))
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn listed(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| quoted(name)).collect();
    names.join(", ")
}

impl Marks {
    /// The clauses of a WITH query, if it has any.
    ///
    /// # Errors
    /// `42601` where it is not recursive.
    pub(crate) fn of(query: &CommonTableExpr, recursive: bool) -> SqlResult<Option<Marks>> {
        if query.search_clause.is_none() && query.cycle_clause.is_none() {
            return Ok(None);
        }
        if !recursive {
            return refuse(SqlState::SYNTAX_ERROR, "WITH query is not recursive");
        }
        Ok(Some(Marks {
            search: query.search_clause.clone(),
            cycle: query.cycle_clause.clone(),
        }))
    }

    /// The terms must be plain: the columns are added to them.
    ///
    /// # Errors
    /// `0A000` and `42601` for a term that is put together itself.
    pub(crate) fn check_terms(&self, left: &SelectStmt, right: &SelectStmt) -> SqlResult<()> {
        let lacking = SqlState::FEATURE_NOT_SUPPORTED;
        let terms = [
            ("left", left, lacking),
            ("right", right, SqlState::SYNTAX_ERROR),
        ];
        for (side, term, state) in terms {
            if term.op() != SetOperation::SetopNone {
                let message = format!(
                    "with a SEARCH or CYCLE clause, the {side} side of the UNION must be a SELECT"
                );
                return refuse(state, message);
            }
        }
        Ok(())
    }

    /// Whether the names are those of columns, and new ones.
    ///
    /// # Errors
    /// `42703`, `42701`, `42601`; `42883` for a column whose values cannot be told to be equal.
    pub(crate) fn check_names(&self, planner: &Planner, columns: &[Output]) -> SqlResult<()> {
        let known = |name: &str| columns.iter().any(|column| column.name == name);
        let all_known = |list: &[Node], what: &str| {
            let names = names::strings(list);
            for (at, name) in names.iter().enumerate() {
                if !known(name) {
                    let message = format!("{what} column \"{name}\" not in WITH query column list");
                    return refuse(SqlState::SYNTAX_ERROR, message);
                }
                if names[..at].contains(name) {
                    let message = format!("{what} column \"{name}\" specified more than once");
                    return refuse(SqlState::DUPLICATE_COLUMN, message);
                }
            }
            Ok(())
        };
        let is_new = |name: &str, what: &str| match known(name) {
            false => Ok(()),
            true => {
                let message =
                    format!("{what} column name \"{name}\" already used in WITH query column list");
                refuse(SqlState::SYNTAX_ERROR, message)
            }
        };
        let differ = |a: &str, b: &str, message: &str| match a == b {
            false => Ok(()),
            true => refuse(SqlState::SYNTAX_ERROR, message),
        };
        if let Some(search) = &self.search {
            all_known(&search.search_col_list, "search")?;
            is_new(&search.search_seq_column, "search sequence")?;
        }
        let Some(cycle) = &self.cycle else {
            return Ok(());
        };
        let (mark, path) = (&cycle.cycle_mark_column, &cycle.cycle_path_column);
        all_known(&cycle.cycle_col_list, "cycle")?;
        is_new(mark, "cycle mark")?;
        is_new(path, "cycle path")?;
        let cycled = names::strings(&cycle.cycle_col_list);
        for column in columns
            .iter()
            .filter(|it| cycled.contains(&it.name.as_str()))
        {
            equated(planner, column.ty, cycle.location)?;
        }
        differ(
            mark,
            path,
            "cycle mark column name and cycle path column name are the same",
        )?;
        if let Some(search) = &self.search {
            let seq = &search.search_seq_column;
            differ(
                seq,
                mark,
                "search sequence column name and cycle mark column name are the same",
            )?;
            differ(
                seq,
                path,
                "search sequence column name and cycle path column name are the same",
            )?;
        }
        Ok(())
    }

    /// The columns that come with it, the count of turns first.
    fn added(&self) -> Vec<String> {
        let mut added = Vec::new();
        if let Some(search) = &self.search {
            if search.search_breadth_first {
                added.push(TURN.to_string());
            }
            added.push(search.search_seq_column.clone());
        }
        if let Some(cycle) = &self.cycle {
            added.push(cycle.cycle_mark_column.clone());
            added.push(cycle.cycle_path_column.clone());
        }
        added
    }

    /// Whether the first of the columns that come with it is not shown.
    pub(crate) fn counts_turns(&self) -> bool {
        self.search
            .as_ref()
            .is_some_and(|search| search.search_breadth_first)
    }

    /// The names of the columns where the query names itself.
    pub(crate) fn unstarred(&self) -> Vec<String> {
        let added = self.added().into_iter();
        added.map(|name| format!("{UNSTARRED}{name}")).collect()
    }

    /// The first term with its columns.
    ///
    /// # Errors
    /// None that a user sees.
    pub(crate) fn first(&self, term: &SelectStmt, columns: &[String]) -> SqlResult<SelectStmt> {
        let mut items = vec![listed(columns)];
        if let Some(search) = &self.search {
            let by = row(&search.search_col_list);
            match search.search_breadth_first {
                true => items.extend(["0::int8".to_string(), turn_row("0::int8", &by)]),
                false => items.push(format!("ARRAY[ROW({by})]")),
            }
        }
        if let Some(cycle) = &self.cycle {
            let by = row(&cycle.cycle_col_list);
            items.push("CASE WHEN false THEN NULL ELSE NULL END".to_string());
            items.push(format!("ARRAY[ROW({by})]"));
        }
        self.over(term.clone(), &items, "*TLOCRN*", columns)
    }

    /// The second term with its columns; `own` is what the query is called there.
    ///
    /// # Errors
    /// None that a user sees.
    pub(crate) fn next(
        &self,
        term: &SelectStmt,
        columns: &[String],
        own: &str,
    ) -> SqlResult<SelectStmt> {
        let added = self.added();
        let mut term = term.clone();
        let of_own = |name: &String| format!("{}.{}", quoted(own), quoted(name));
        let wanted: Vec<String> = added.iter().map(of_own).collect();
        term.target_list
            .extend(select(&format!("SELECT {}", wanted.join(", ")))?.target_list);
        let mut items = vec![listed(columns)];
        if let Some(search) = &self.search {
            let by = row(&search.search_col_list);
            let seq = quoted(&search.search_seq_column);
            let turn = format!("{} + 1", quoted(TURN));
            match search.search_breadth_first {
                true => items.extend([turn.clone(), turn_row(&turn, &by)]),
                false => items.push(format!("{seq} || ROW({by})")),
            }
        }
        if let Some(cycle) = &self.cycle {
            let by = row(&cycle.cycle_col_list);
            let path = quoted(&cycle.cycle_path_column);
            items.push(format!(
                "CASE WHEN {path} @> ARRAY[ROW({by})] THEN NULL ELSE NULL END"
            ));
            items.push(format!("{path} || ROW({by})"));
            let mark = of_own(&cycle.cycle_mark_column);
            let mut goes_on = parse::parse_expression(&format!("{mark} <> NULL"))?;
            if let Some(NodeEnum::AExpr(compared)) = goes_on.node.as_mut() {
                compared.rexpr.clone_from(&cycle.cycle_mark_value);
            }
            term.where_clause = Some(Box::new(match term.where_clause.take() {
                None => goes_on,
                Some(other) => parse::wrap(NodeEnum::BoolExpr(Box::new(BoolExpr {
                    boolop: BoolExprType::AndExpr as i32,
                    args: vec![*other, goes_on],
                    location: -1,
                    ..BoolExpr::default()
                }))),
            }));
        }
        let all = [columns, &added].concat();
        self.over(term, &items, "*TROCRN*", &all)
    }

    /// `SELECT items FROM (term) AS name (columns)`, the values of the mark in the places that are left for them.
    fn over(
        &self,
        term: SelectStmt,
        items: &[String],
        name: &str,
        columns: &[String],
    ) -> SqlResult<SelectStmt> {
        let text = format!(
            "SELECT {} FROM (SELECT) AS {} ({})",
            items.join(", "),
            quoted(name),
            listed(columns)
        );
        let mut select = select(&text)?;
        if let Some(Some(NodeEnum::RangeSubselect(from))) = select
            .from_clause
            .first_mut()
            .map(|from| from.node.as_mut())
        {
            from.subquery = Some(Box::new(parse::wrap(NodeEnum::SelectStmt(Box::new(term)))));
        }
        if let Some(cycle) = &self.cycle {
            let cases = select.target_list.iter_mut().filter_map(case_of);
            cases.for_each(|case| {
                case.defresult.clone_from(&cycle.cycle_mark_default);
                if let Some(NodeEnum::CaseWhen(when)) =
                    case.args.first_mut().and_then(|when| when.node.as_mut())
                {
                    when.result.clone_from(&cycle.cycle_mark_value);
                }
            });
        }
        Ok(select)
    }
}

fn case_of(target: &mut Node) -> Option<&mut CaseExpr> {
    let NodeEnum::ResTarget(target) = target.node.as_mut()? else {
        return None;
    };
    match target.val.as_mut()?.node.as_mut()? {
        NodeEnum::CaseExpr(case) => Some(case),
        _ => None,
    }
}

fn row(columns: &[Node]) -> String {
    let names = names::strings(columns);
    let names: Vec<String> = names.iter().map(|name| quoted(name)).collect();
    names.join(", ")
}

/// A row as a value: an element of an array of one.
fn turn_row(turn: &str, by: &str) -> String {
    format!("(ARRAY[ROW({turn}, {by})])[1]")
}

fn select(text: &str) -> SqlResult<SelectStmt> {
    let parsed = parse::parse(text)?.pop();
    match parsed.and_then(parse::Parsed::into_node) {
        Some(NodeEnum::SelectStmt(select)) => Ok(*select),
        _ => Err(SqlError::internal("columns of a recursion are no query")),
    }
}

/// What a query is called in the FROM of its second term, where it stands at the top of it.
///
/// # Errors
/// `0A000` where it stands deeper.
pub(crate) fn name_in(term: &SelectStmt, query: &str) -> SqlResult<String> {
    fn find(node: &Node, query: &str) -> Option<String> {
        match inner(node)? {
            NodeEnum::RangeVar(relation)
                if relation.relname == query && relation.schemaname.is_empty() =>
            {
                let alias = relation.alias.as_ref();
                Some(
                    alias
                        .map_or(query, |alias| alias.aliasname.as_str())
                        .to_string(),
                )
            }
            NodeEnum::JoinExpr(join) => {
                let sides = [join.larg.as_deref(), join.rarg.as_deref()];
                sides
                    .into_iter()
                    .flatten()
                    .find_map(|side| find(side, query))
            }
            _ => None,
        }
    }
    let found = term.from_clause.iter().find_map(|from| find(from, query));
    found.ok_or_else(|| {
        SqlError::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            format!(
                "with a SEARCH or CYCLE clause, the recursive reference to WITH query \"{query}\" must be at the top level of its right-hand SELECT"
            ),
        )
    })
}

//! Forms as statements and plans.

use super::form::{Form, Shape};
use super::read::{Items, Read, Reader};
use super::types::of_word;
use crate::aggregate::{AggregateCall, AggregateFunction};
use crate::elements::{Sought, Test};
use crate::expr::Expr;
use crate::plan::{
    Access, JoinKind, KeptAfter, KeyBound, KeyRange, LockStrength, LockTarget, LockWait, Path,
    Plan, SortKey, Turns,
};
use crate::schema::TableRef;
use crate::statement::{Arbiter, ConflictAction, Delete, Insert, OnConflict, Statement, Update};
use crate::window::{Exclusion, FrameBound, FrameMode, WindowCall, WindowFrame, WindowFunction};
use quintet_base::SqlType;

impl Reader<'_> {
    pub(super) fn next_statement(&self, items: &mut Items<'_>) -> Read<Statement> {
        let form = items.next("a statement")?;
        let (head, mut items) = Items::headed(form)?;
        let statement = match head {
            "query" => Statement::Query(self.next_plan(&mut items)?),
            "insert" => Statement::Insert(Insert {
                table: self.table(&mut items)?,
                source: self.next_plan(&mut items)?,
                values: self.exprs(items.must("values")?)?,
                conflict: match items.part("conflict") {
                    Some(conflict) => Some(self.conflict(conflict)?),
                    None => None,
                },
                returning: self.returning(&mut items)?,
            }),
            "update" => Statement::Update(Update {
                table: self.table(&mut items)?,
                source: self.next_plan(&mut items)?,
                assignments: self.assignments(&mut items)?,
                returning: self.returning(&mut items)?,
            }),
            "delete" => Statement::Delete(Delete {
                table: self.table(&mut items)?,
                source: self.next_plan(&mut items)?,
                returning: self.returning(&mut items)?,
            }),
            other => return Err(form.error(format!("there is no statement {other}"))),
        };
        items.end()?;
        Ok(statement)
    }

    fn conflict(&self, mut items: Items<'_>) -> Read<OnConflict> {
        let arbiter = match items.part("index") {
            Some(mut index) => Some(Arbiter::Index(index.number("an index's number")?)),
            None => items.flag("primary").then_some(Arbiter::Primary),
        };
        let action = match items.word("nothing or update")? {
            "nothing" => ConflictAction::Nothing,
            _ => ConflictAction::Update {
                assignments: self.assignments(&mut items)?,
                filter: self.one(&mut items, "where")?,
            },
        };
        items.end()?;
        Ok(OnConflict { arbiter, action })
    }

    fn assignments(&self, items: &mut Items<'_>) -> Read<Vec<(usize, Expr)>> {
        let mut assignments = Vec::new();
        while let Some(mut set) = items.part("set") {
            let form = set.next("a column")?;
            let Shape::Word(word) = &form.shape else {
                return Err(form.error("a column like #0 is expected"));
            };
            let digits = word
                .strip_prefix('#')
                .and_then(|digits| digits.parse().ok());
            let column = digits.ok_or_else(|| form.error("a column like #0 is expected"))?;
            assignments.push((column, self.next_expr(&mut set)?));
            set.end()?;
        }
        Ok(assignments)
    }

    fn returning(&self, items: &mut Items<'_>) -> Read<Option<Vec<Expr>>> {
        items
            .part("returning")
            .map(|exprs| self.exprs(exprs))
            .transpose()
    }

    fn table(&self, items: &mut Items<'_>) -> Read<TableRef> {
        let first = items.next("a schema's name")?;
        let second = items.next("a table's name")?;
        let name = |form: &Form| match &form.shape {
            Shape::Word(name) | Shape::Text(name) => Ok(name.clone()),
            _ => Err(form.error("a name is expected")),
        };
        let (schema, table) = (name(first)?, name(second)?);
        let found = (self.tables)(&schema, &table);
        found.ok_or_else(|| second.error(format!("there is no table {schema}.{table}")))
    }

    /// `(head expression)`, if it is there.
    fn one(&self, items: &mut Items<'_>, head: &str) -> Read<Option<Expr>> {
        let Some(mut part) = items.part(head) else {
            return Ok(None);
        };
        let expr = self.next_expr(&mut part)?;
        part.end()?;
        Ok(Some(expr))
    }

    pub fn next_plan(&self, items: &mut Items<'_>) -> Read<Plan> {
        self.plan(items.next("a plan")?)
    }

    fn next_input(&self, items: &mut Items<'_>) -> Read<Box<Plan>> {
        self.next_plan(items).map(Box::new)
    }

    fn plan(&self, form: &Form) -> Read<Plan> {
        let (head, mut items) = Items::headed(form)?;
        let plan = match head {
            "values" => {
                let types = Items::of(items.next("types")?)?.each(ty)?;
                let rows = items.each(|row| self.exprs(Items::of(row)?))?;
                return Ok(Plan::Values { rows, types });
            }
            "scan" => self.scan(&mut items).map(Plan::Scan)?,
            "series" => Plan::Series {
                ty: items.ty()?,
                start: self.next_expr(&mut items)?,
                stop: self.next_expr(&mut items)?,
                step: self.next_expr(&mut items)?,
            },
            "unnest" => Plan::Unnest {
                array: self.next_expr(&mut items)?,
            },
            "function" => {
                let callee = self.callee(items.next("a callee")?)?;
                let types = Items::of(items.next("types")?)?.each(ty)?;
                return Ok(Plan::Call {
                    callee,
                    types,
                    arguments: self.exprs(items)?,
                });
            }
            "lateral" => Plan::Lateral {
                outer: self.exprs(items.must("outer")?)?,
                input: self.next_input(&mut items)?,
            },
            "lookup" => Plan::Lookup {
                keys: self.exprs(items.must("keys")?)?,
                values: self.exprs(items.must("values")?)?,
                input: self.next_input(&mut items)?,
            },
            "hold" => Plan::Hold {
                input: self.next_input(&mut items)?,
            },
            "join" => Plan::Join {
                kind: match items.word("inner, left or full")? {
                    "inner" => JoinKind::Inner,
                    "left" => JoinKind::Left,
                    "full" => JoinKind::Full,
                    _ => return Err(form.error("a join is inner, left or full")),
                },
                outer_width: items.number("the outer frame's width")?,
                inner_width: items.number("the inner frame's width")?,
                outer: self.next_input(&mut items)?,
                inner: self.next_input(&mut items)?,
                on: self.one(&mut items, "on")?,
            },
            "filter" => Plan::Filter {
                predicate: self.next_expr(&mut items)?,
                input: self.next_input(&mut items)?,
            },
            "project" => Plan::Project {
                exprs: self.exprs(Items::of(items.next("expressions")?)?)?,
                input: self.next_input(&mut items)?,
            },
            "aggregate" => Plan::Aggregate {
                keys: self.exprs(items.must("keys")?)?,
                calls: items.must("calls")?.each(|form| self.aggregate(form))?,
                sets: match items.part("sets") {
                    Some(sets) => sets.each(grouping_set)?,
                    None => Vec::new(),
                },
                input: self.next_input(&mut items)?,
            },
            "window" => Plan::Window {
                partition: self.exprs(items.must("partition")?)?,
                order: items.must("order")?.each(|form| self.sort_key(form))?,
                calls: items.must("calls")?.each(|form| self.window_call(form))?,
                input: self.next_input(&mut items)?,
            },
            "with" => Plan::With {
                number: items.number("a number")?,
                turns: match items.word("how often")? {
                    "once" => Turns::Once,
                    "until-nothing" => Turns::UntilNothing,
                    "until-nothing-new" => Turns::UntilNothingNew,
                    _ => {
                        return Err(
                            form.error("turns are once, until-nothing or until-nothing-new")
                        );
                    }
                },
                first: self.next_input(&mut items)?,
                then: self.next_input(&mut items)?,
            },
            "given" => Plan::Given {
                number: items.number("a number")?,
                types: Items::of(items.next("types")?)?.each(ty)?,
                turning: items.flag("turning"),
            },
            "sort" => Plan::Sort {
                keys: items.must("keys")?.each(|form| self.sort_key(form))?,
                top: self.one(&mut items, "top")?.map(Box::new),
                input: self.next_input(&mut items)?,
            },
            "unique" => Plan::Unique {
                input: self.next_input(&mut items)?,
            },
            // The input may be a limit itself: it has more than one item.
            "limit" => Plan::Limit {
                limit: match items.len() {
                    1 => None,
                    _ => self.one(&mut items, "limit")?,
                },
                offset: self.one(&mut items, "offset")?,
                ties: match items.part("ties") {
                    Some(keys) => keys.each(|form| self.sort_key(form))?,
                    None => Vec::new(),
                },
                input: self.next_input(&mut items)?,
            },
            "lock" => {
                let mut targets = Vec::new();
                while items.len() > 1 {
                    targets.push(self.lock_target(items.next("a target")?)?);
                }
                Plan::Lock {
                    targets,
                    input: self.next_input(&mut items)?,
                }
            }
            "append" => {
                return Ok(Plan::Append {
                    inputs: items.each(|form| self.plan(form))?,
                });
            }
            other => return Err(form.error(format!("there is no plan {other}"))),
        };
        items.end()?;
        Ok(plan)
    }

    fn scan(&self, items: &mut Items<'_>) -> Read<Access> {
        let table = self.table(items)?;
        let path = if items.flag("full") {
            Path::Full
        } else if let Some(mut index) = items.part("index") {
            let number = index.number("an index's number")?;
            Path::Index(number, index.each(|form| self.range(form))?)
        } else if let Some(mut elements) = items.part("elements") {
            let number = elements.number("an index's number")?;
            Path::Elements(number, elements.each(|form| self.sought(form))?)
        } else {
            Path::Primary(items.must("primary")?.each(|form| self.range(form))?)
        };
        Ok(Access {
            table,
            path,
            filter: self.one(items, "where")?,
            reverse: items.flag("reverse"),
            offset: match items.part("at") {
                Some(mut at) => at.number("an offset")?,
                None => 0,
            },
            needed: match items.part("needed") {
                Some(mut needed) => {
                    let bits = needed.text("zeros and ones")?;
                    Some(bits.chars().map(|bit| bit == '1').collect())
                }
                None => None,
            },
            kept_after: match items.part("kept-after") {
                Some(mut numbers) => Some(KeptAfter {
                    asked: numbers.number("how many ask")?,
                    rows: numbers.number("how many rows are kept")?,
                }),
                None => None,
            },
        })
    }

    fn sought(&self, form: &Form) -> Read<Sought> {
        let (head, mut items) = Items::headed(form)?;
        if head != "sought" {
            return Err(form.error("(sought …) is expected"));
        }
        let place = items.number("a column's place")?;
        let symbol = items.word("an operator")?;
        let mut tests = Test::ALL.into_iter();
        let test = tests.find(|test| test.symbol() == symbol);
        let test = test.ok_or_else(|| form.error(format!("there is no operator {symbol}")))?;
        let value = self.next_expr(&mut items)?;
        items.end()?;
        Ok(Sought { place, test, value })
    }

    fn range(&self, form: &Form) -> Read<KeyRange> {
        let (head, mut items) = Items::headed(form)?;
        if head != "range" {
            return Err(form.error("(range …) is expected"));
        }
        let mut range = KeyRange::default();
        while !items.is_empty() {
            if let Some(bound) = self.bound(&mut items, "from", "above")? {
                range.lower = Some(bound);
            } else if let Some(bound) = self.bound(&mut items, "to", "below")? {
                range.upper = Some(bound);
            } else {
                range.equal.push(self.next_expr(&mut items)?);
            }
        }
        Ok(range)
    }

    fn bound(
        &self,
        items: &mut Items<'_>,
        inclusive: &str,
        exclusive: &str,
    ) -> Read<Option<KeyBound>> {
        for (head, inclusive) in [(inclusive, true), (exclusive, false)] {
            if let Some(value) = self.one(items, head)? {
                return Ok(Some(KeyBound { value, inclusive }));
            }
        }
        Ok(None)
    }

    fn sort_key(&self, form: &Form) -> Read<SortKey> {
        let mut items = Items::of(form)?;
        let key = SortKey {
            expr: self.next_expr(&mut items)?,
            descending: items.flag("desc"),
            nulls_first: items.flag("nulls-first"),
        };
        items.end()?;
        Ok(key)
    }

    fn aggregate(&self, form: &Form) -> Read<AggregateCall> {
        let (head, mut items) = Items::headed(form)?;
        let function = match head {
            "count-rows" => Some(AggregateFunction::CountRows),
            head => AggregateFunction::from_name(head),
        };
        let call = AggregateCall {
            function: function.ok_or_else(|| form.error("there is no such aggregate"))?,
            ty: items.ty()?,
            distinct: items.flag("distinct"),
            filter: self.one(&mut items, "where")?,
            order: match items.part("order") {
                Some(keys) => keys.each(|form| self.sort_key(form))?,
                None => Vec::new(),
            },
            args: self.exprs(Items::of(items.next("arguments")?)?)?,
        };
        items.end()?;
        Ok(call)
    }

    fn window_call(&self, form: &Form) -> Read<WindowCall> {
        let (head, mut items) = Items::headed(form)?;
        let function = match head {
            "count-rows" => Some(WindowFunction::Aggregate(AggregateFunction::CountRows)),
            head => WindowFunction::from_name(head)
                .or_else(|| AggregateFunction::from_name(head).map(WindowFunction::Aggregate)),
        };
        let call = WindowCall {
            function: function.ok_or_else(|| form.error("there is no such window function"))?,
            ty: items.ty()?,
            frame: self.window_frame(items.next("a frame")?)?,
            filter: self.one(&mut items, "where")?,
            args: self.exprs(Items::of(items.next("arguments")?)?)?,
        };
        items.end()?;
        Ok(call)
    }

    fn window_frame(&self, form: &Form) -> Read<WindowFrame> {
        let (head, mut items) = Items::headed(form)?;
        let frame = WindowFrame {
            mode: match head {
                "rows" => FrameMode::Rows,
                "range" => FrameMode::Range,
                "groups" => FrameMode::Groups,
                _ => return Err(form.error("a frame is of rows, range or groups")),
            },
            start: self.frame_bound(&mut items)?,
            end: self.frame_bound(&mut items)?,
            exclusion: if items.flag("without-current-row") {
                Exclusion::CurrentRow
            } else if items.flag("without-group") {
                Exclusion::Group
            } else if items.flag("without-ties") {
                Exclusion::Ties
            } else {
                Exclusion::Nothing
            },
        };
        items.end()?;
        Ok(frame)
    }

    fn frame_bound(&self, items: &mut Items<'_>) -> Read<FrameBound> {
        if let Some(offset) = self.one(items, "before")? {
            return Ok(FrameBound::Preceding(offset));
        }
        if let Some(offset) = self.one(items, "behind")? {
            return Ok(FrameBound::Following(offset));
        }
        let form = items.next("a bound")?;
        match &form.shape {
            Shape::Word(word) if word == "first" => Ok(FrameBound::UnboundedPreceding),
            Shape::Word(word) if word == "current" => Ok(FrameBound::CurrentRow),
            Shape::Word(word) if word == "last" => Ok(FrameBound::UnboundedFollowing),
            _ => Err(form.error("a bound is first, before, current, behind or last")),
        }
    }

    fn lock_target(&self, form: &Form) -> Read<LockTarget> {
        let mut items = Items::of(form)?;
        let target = LockTarget {
            table: self.table(&mut items)?,
            offset: items.number("an offset")?,
            strength: match items.word("share or update")? {
                "share" => LockStrength::Share,
                "update" => LockStrength::Update,
                _ => return Err(form.error("a lock is share or update")),
            },
            wait: match items.word("block, refuse or skip")? {
                "block" => LockWait::Block,
                "refuse" => LockWait::Refuse,
                "skip" => LockWait::Skip,
                _ => return Err(form.error("a lock waits by block, refuse or skip")),
            },
        };
        items.end()?;
        Ok(target)
    }
}

fn grouping_set(form: &Form) -> Read<Vec<usize>> {
    let mut items = Items::of(form)?;
    let mut keys = Vec::new();
    while !items.is_empty() {
        keys.push(items.number("a key's place")?);
    }
    Ok(keys)
}

fn ty(form: &Form) -> Read<SqlType> {
    let ty = match &form.shape {
        Shape::Word(word) => of_word(word),
        _ => None,
    };
    ty.ok_or_else(|| form.error("a type is expected"))
}

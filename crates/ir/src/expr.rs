//! Typed scalar expressions over a frame, the parameters and the session.
//!
//! Relies on: `function` for built-ins.  Promises: every node knows its type; the binder has put
//! casts wherever types differ, so `eval` never converts on its own.  Does not: contain names.

use crate::function::{Function, Volatility};
use crate::plan::Plan;
use crate::routine::Callee;
use crate::subquery::Subquery;
use quintet_base::{SequenceId, SqlType, TypeMod, Value};
use std::cmp::Ordering;

/// Comparison operators; both sides have the same type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum CompareOp {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

impl CompareOp {
    /// True if the operator holds for two values in this order.
    pub fn accepts(self, order: Ordering) -> bool {
        match self {
            CompareOp::Eq => order.is_eq(),
            CompareOp::Ne => order.is_ne(),
            CompareOp::Lt => order.is_lt(),
            CompareOp::Le => order.is_le(),
            CompareOp::Gt => order.is_gt(),
            CompareOp::Ge => order.is_ge(),
        }
    }
}

/// What `IS [NOT] TRUE | FALSE | UNKNOWN` asks for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Truth {
    True,
    False,
    Unknown,
}

/// A scalar expression.
#[derive(Clone, Debug)]
pub enum Expr {
    /// A constant of a type; NULL has a type too.
    Const(Value, SqlType),
    /// Parameter `$n+1` of the procedure.
    Param(usize, SqlType),
    /// A place in the current frame.
    Column(usize, SqlType),
    /// Inside a subquery, or a lateral plan: what the expression around it hands to it, by number.
    Outer(usize, SqlType),
    /// A query inside the expression.
    Subquery(Box<Subquery>),
    /// A built-in function or operator. `ty` differs from the function's declared result only for
    /// polymorphic ones (array functions).
    Call {
        /// Which.
        function: &'static Function,
        /// Its arguments, already of its parameter types.
        args: Vec<Expr>,
        /// Type of the result.
        ty: SqlType,
    },
    /// A function of the catalogue, called each time the expression is evaluated.
    Routine {
        /// Which.
        callee: Box<Callee>,
        /// One per parameter, of its type.
        args: Vec<Expr>,
        /// Type of the result.
        ty: SqlType,
    },
    /// `left op right`, NULL if either is NULL; bpchar ignores trailing blanks.
    Compare {
        /// Which.
        op: CompareOp,
        /// Left side.
        left: Box<Expr>,
        /// Right side, same type.
        right: Box<Expr>,
    },
    /// `left IS [NOT] DISTINCT FROM right`.
    Distinct {
        /// Left side.
        left: Box<Expr>,
        /// Right side, same type.
        right: Box<Expr>,
        /// IS NOT DISTINCT FROM.
        negated: bool,
    },
    /// Three-valued AND, at least two.
    And(Vec<Expr>),
    /// Three-valued OR, at least two.
    Or(Vec<Expr>),
    /// Three-valued NOT.
    Not(Box<Expr>),
    /// `IS [NOT] NULL`.
    IsNull {
        /// What is asked about.
        input: Box<Expr>,
        /// IS NOT NULL.
        negated: bool,
    },
    /// `IS [NOT] TRUE|FALSE|UNKNOWN`.
    IsTruth {
        /// A boolean.
        input: Box<Expr>,
        /// Which truth value.
        truth: Truth,
        /// IS NOT.
        negated: bool,
    },
    /// `CASE`: the first branch whose condition is true (`CASE x WHEN y` arrives as `x = y`).
    /// COALESCE and NULLIF have no node of their own: NULLIF arrives as CASE.
    Case {
        /// Conditions and results.
        branches: Vec<(Expr, Expr)>,
        /// ELSE; NULL if absent.
        otherwise: Option<Box<Expr>>,
        /// Type of all results.
        ty: SqlType,
    },
    /// The first argument that is not NULL.
    Coalesce {
        /// At least one.
        args: Vec<Expr>,
        /// Type of all.
        ty: SqlType,
    },
    /// GREATEST (`greatest`) or LEAST of the arguments that are not NULL.
    Extreme {
        /// GREATEST, else LEAST.
        greatest: bool,
        /// At least one.
        args: Vec<Expr>,
        /// Type of all.
        ty: SqlType,
    },
    /// `input [NOT] IN (list)`.
    InList {
        /// Left side.
        input: Box<Expr>,
        /// At least one, same type.
        list: Vec<Expr>,
        /// NOT IN.
        negated: bool,
    },
    /// `input op ANY|ALL (array)`.
    Quantified {
        /// Left side, the array's element type.
        input: Box<Expr>,
        /// The comparison.
        op: CompareOp,
        /// An array.
        array: Box<Expr>,
        /// ALL, else ANY.
        all: bool,
    },
    /// `ARRAY[…]`.
    Array {
        /// Elements, all of the element type.
        elements: Vec<Expr>,
        /// Element type.
        element: SqlType,
    },
    /// A conversion; the length coercion of assignments too (`to` may equal the input's type).
    Cast {
        /// What is converted.
        input: Box<Expr>,
        /// To which type.
        to: SqlType,
        /// And which modifier.
        modifier: TypeMod,
        /// Written by the user (cuts text silently) or by an assignment (refuses).
        explicit: bool,
    },
    /// `nextval`.
    NextVal(SequenceId),
    /// `currval`.
    CurrVal(SequenceId),
    /// `setval(sequence, value, is_called)`.
    SetVal {
        /// Which.
        sequence: SequenceId,
        /// bigint.
        value: Box<Expr>,
        /// boolean.
        is_called: Box<Expr>,
    },
}

impl Expr {
    /// The type of the result.
    pub fn ty(&self) -> SqlType {
        match self {
            Expr::Const(_, ty) | Expr::Param(_, ty) | Expr::Column(_, ty) | Expr::Outer(_, ty) => {
                *ty
            }
            Expr::Subquery(subquery) => subquery.ty,
            Expr::Call { ty, .. } | Expr::Routine { ty, .. } => *ty,
            Expr::Compare { .. }
            | Expr::Distinct { .. }
            | Expr::And(_)
            | Expr::Or(_)
            | Expr::Not(_)
            | Expr::IsNull { .. }
            | Expr::IsTruth { .. }
            | Expr::InList { .. }
            | Expr::Quantified { .. } => SqlType::Bool,
            Expr::Case { ty, .. } | Expr::Coalesce { ty, .. } | Expr::Extreme { ty, .. } => *ty,
            Expr::Array { element, .. } => element.array_of().unwrap_or(SqlType::Unknown),
            Expr::Cast { to, .. } => *to,
            Expr::NextVal(_) | Expr::CurrVal(_) | Expr::SetVal { .. } => SqlType::Int8,
        }
    }

    /// A NULL of a type.
    pub fn null(ty: SqlType) -> Expr {
        Expr::Const(Value::Null, ty)
    }

    /// Calls `visit` on every direct part.
    pub fn for_each_part<'a>(&'a self, visit: &mut dyn FnMut(&'a Expr)) {
        match self {
            Expr::Const(..)
            | Expr::Param(..)
            | Expr::Column(..)
            | Expr::Outer(..)
            | Expr::NextVal(_)
            | Expr::CurrVal(_) => {}
            Expr::Subquery(subquery) => {
                subquery.outer.iter().for_each(&mut *visit);
                subquery.tested.iter().for_each(visit);
            }
            Expr::Call { args, .. }
            | Expr::Routine { args, .. }
            | Expr::And(args)
            | Expr::Or(args) => args.iter().for_each(visit),
            Expr::Coalesce { args, .. } | Expr::Extreme { args, .. } => args.iter().for_each(visit),
            Expr::Array { elements, .. } => elements.iter().for_each(visit),
            Expr::Compare { left, right, .. } | Expr::Distinct { left, right, .. } => {
                visit(left);
                visit(right);
            }
            Expr::Not(input) => visit(input),
            Expr::IsNull { input, .. } | Expr::IsTruth { input, .. } | Expr::Cast { input, .. } => {
                visit(input)
            }
            Expr::Case {
                branches,
                otherwise,
                ..
            } => {
                for (condition, result) in branches {
                    visit(condition);
                    visit(result);
                }
                if let Some(otherwise) = otherwise {
                    visit(otherwise);
                }
            }
            Expr::InList { input, list, .. } => {
                visit(input);
                list.iter().for_each(visit);
            }
            Expr::Quantified { input, array, .. } => {
                visit(input);
                visit(array);
            }
            Expr::SetVal {
                value, is_called, ..
            } => {
                visit(value);
                visit(is_called);
            }
        }
    }

    /// Calls `visit` on every direct part, which it may change or replace by one of the same type.
    pub fn for_each_part_mut(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        match self {
            Expr::Const(..)
            | Expr::Param(..)
            | Expr::Column(..)
            | Expr::Outer(..)
            | Expr::NextVal(_)
            | Expr::CurrVal(_) => {}
            Expr::Subquery(subquery) => {
                subquery.outer.iter_mut().for_each(&mut *visit);
                subquery.tested.iter_mut().for_each(visit);
            }
            Expr::Call { args, .. }
            | Expr::Routine { args, .. }
            | Expr::And(args)
            | Expr::Or(args) => args.iter_mut().for_each(visit),
            Expr::Coalesce { args, .. } | Expr::Extreme { args, .. } => {
                args.iter_mut().for_each(visit)
            }
            Expr::Array { elements, .. } => elements.iter_mut().for_each(visit),
            Expr::Compare { left, right, .. } | Expr::Distinct { left, right, .. } => {
                visit(left);
                visit(right);
            }
            Expr::Not(input) => visit(input),
            Expr::IsNull { input, .. } | Expr::IsTruth { input, .. } | Expr::Cast { input, .. } => {
                visit(input)
            }
            Expr::Case {
                branches,
                otherwise,
                ..
            } => {
                for (condition, result) in branches {
                    visit(condition);
                    visit(result);
                }
                if let Some(otherwise) = otherwise {
                    visit(otherwise);
                }
            }
            Expr::InList { input, list, .. } => {
                visit(input);
                list.iter_mut().for_each(visit);
            }
            Expr::Quantified { input, array, .. } => {
                visit(input);
                visit(array);
            }
            Expr::SetVal {
                value, is_called, ..
            } => {
                visit(value);
                visit(is_called);
            }
        }
    }

    /// True if a query stands in the expression.
    pub fn has_subquery(&self) -> bool {
        let mut found = matches!(self, Expr::Subquery(_));
        self.for_each_part(&mut |part| found = found || part.has_subquery());
        found
    }

    /// True if the expression stands in a subquery and looks at what is around that.
    pub fn uses_outer(&self) -> bool {
        let mut found = matches!(self, Expr::Outer(..));
        self.for_each_part(&mut |part| found = found || part.uses_outer());
        found
    }

    /// Calls `see` with the number of each value from around the subquery that the expression stands in.
    pub fn for_each_outer(&self, see: &mut dyn FnMut(usize)) {
        if let Expr::Outer(number, _) = self {
            see(*number);
        }
        self.for_each_part(&mut |part| part.for_each_outer(see));
    }

    /// True if some frame column occurs in the expression.
    pub fn uses_columns(&self) -> bool {
        let mut found = matches!(self, Expr::Column(..));
        self.for_each_part(&mut |part| found |= part.uses_columns());
        found
    }

    /// True for what may be evaluated once more than it is written, and gives the same each time within a
    /// statement.
    pub fn is_free(&self) -> bool {
        let mut free = match self {
            Expr::NextVal(_) | Expr::SetVal { .. } | Expr::Routine { .. } => false,
            // It may be evaluated more often; but not by everybody who does that.
            Expr::Subquery(_) => false,
            Expr::Call { function, .. } => function.volatility != Volatility::Volatile,
            _ => true,
        };
        self.for_each_part(&mut |part| free = free && part.is_free());
        free
    }

    /// True if a function of the catalogue is called in the expression.
    pub fn calls_routine(&self) -> bool {
        let mut found = match self {
            Expr::Routine { .. } => true,
            Expr::Subquery(subquery) => calls_in_plan(&subquery.plan),
            _ => false,
        };
        self.for_each_part(&mut |part| found = found || part.calls_routine());
        found
    }

    /// Collects the frame columns that occur in the expression.
    pub fn collect_columns(&self, into: &mut Vec<usize>) {
        if let Expr::Column(column, _) = self {
            into.push(*column);
        }
        self.for_each_part(&mut |part| part.collect_columns(into));
    }
}

/// True if a function of the catalogue is called in the plan.
fn calls_in_plan(plan: &Plan) -> bool {
    let mut found = false;
    crate::expressions::sources(plan, &mut |_| found = true);
    crate::expressions::each_of_plan(plan, &mut |expr, _| found = found || expr.calls_routine());
    found
}

//! Random expressions.
//!
//! Promises: types fit as the binder makes them fit; a total expression cannot fail; values do not grow
//! without bound in a loop.

use crate::dice::{Dice, TYPES};
use quintet_base::{SqlType, TypeMod, Value};
use quintet_ir::cast::{CastContext, cast_context};
use quintet_ir::expr::Truth;
use quintet_ir::{ColumnDef, CompareOp, Expr, function};

pub struct Exprs<'a> {
    dice: &'a mut Dice,
    params: &'a [SqlType],
    columns: &'a [SqlType],
    total: bool,
}

const COMPARISONS: &[CompareOp] = &[
    CompareOp::Eq,
    CompareOp::Eq,
    CompareOp::Ne,
    CompareOp::Lt,
    CompareOp::Le,
    CompareOp::Gt,
    CompareOp::Ge,
];

impl<'a> Exprs<'a> {
    /// Over parameters and a frame of these types.
    pub fn new(dice: &'a mut Dice, params: &'a [SqlType], columns: &'a [SqlType]) -> Exprs<'a> {
        Exprs {
            dice,
            params,
            columns,
            total: false,
        }
    }

    /// Only what cannot fail.
    pub fn total(mut self) -> Exprs<'a> {
        self.total = true;
        self
    }

    pub fn expr(&mut self, ty: SqlType, depth: usize) -> Expr {
        if depth == 0 || self.dice.one_in(2) {
            return self.leaf(ty);
        }
        let depth = depth - 1;
        match self.dice.below(8) {
            0 => {
                let branches = (0..self.dice.between(1, 2))
                    .map(|_| (self.condition(depth), self.expr(ty, depth)))
                    .collect();
                let otherwise = self.dice.one_in(2);
                Expr::Case {
                    branches,
                    otherwise: otherwise.then(|| Box::new(self.expr(ty, depth))),
                    ty,
                }
            }
            1 => Expr::Coalesce {
                args: vec![self.expr(ty, depth), self.expr(ty, depth)],
                ty,
            },
            2 => Expr::Extreme {
                greatest: self.dice.one_in(2),
                args: vec![self.expr(ty, depth), self.expr(ty, depth)],
                ty,
            },
            3 if !self.total => self.converted(ty, depth),
            _ => self.of_type(ty, depth).unwrap_or_else(|| self.leaf(ty)),
        }
    }

    /// A parameter or column if there is one, a constant else.
    pub fn leaf(&mut self, ty: SqlType) -> Expr {
        let of_type = |types: &[SqlType]| -> Vec<usize> {
            (0..types.len())
                .filter(|place| types[*place] == ty)
                .collect()
        };
        let (params, columns) = (of_type(self.params), of_type(self.columns));
        match self.dice.below(8) {
            0..=2 if !params.is_empty() => Expr::Param(*self.dice.pick(&params), ty),
            3..=5 if !columns.is_empty() => Expr::Column(*self.dice.pick(&columns), ty),
            _ => Expr::Const(self.dice.value_or_null(ty), ty),
        }
    }

    /// A parameter of the type, if there is one.
    pub fn param(&mut self, ty: SqlType) -> Option<Expr> {
        let fitting: Vec<usize> = (0..self.params.len())
            .filter(|place| self.params[*place] == ty)
            .collect();
        (!fitting.is_empty()).then(|| Expr::Param(*self.dice.pick(&fitting), ty))
    }

    /// An expression of another type, converted.
    fn converted(&mut self, ty: SqlType, depth: usize) -> Expr {
        let froms: Vec<SqlType> = TYPES
            .iter()
            .copied()
            .filter(|from| *from != ty && cast_context(*from, ty).is_some())
            .collect();
        if froms.is_empty() {
            return self.leaf(ty);
        }
        let from = *self.dice.pick(&froms);
        cast(self.expr(from, depth), ty, TypeMod::NONE, true)
    }

    fn of_type(&mut self, ty: SqlType, depth: usize) -> Option<Expr> {
        match ty {
            SqlType::Bool => Some(self.condition(depth)),
            SqlType::Int2 | SqlType::Int4 | SqlType::Int8 if !self.total => {
                match self.dice.below(6) {
                    0 => call("-", vec![self.expr(ty, depth)]),
                    1 => call("abs", vec![self.expr(ty, depth)]),
                    2 if ty == SqlType::Int4 => {
                        call("length", vec![self.expr(SqlType::Text, depth)])
                    }
                    _ => {
                        let name = *self.dice.pick(&["+", "+", "+", "-", "-", "*", "/", "%"]);
                        let right = match name {
                            "/" | "%" if !self.dice.one_in(4) => self.nonzero(ty),
                            _ => self.expr(ty, depth),
                        };
                        call(name, vec![self.expr(ty, depth), right])
                    }
                }
            }
            SqlType::Int4 => call(
                "[]",
                vec![self.expr(SqlType::Int4Array, depth), self.expr(ty, depth)],
            ),
            SqlType::Numeric if !self.total => {
                let name = *self.dice.pick(&["+", "-", "*", "/"]);
                let args = vec![self.expr(ty, depth), self.expr(ty, depth)];
                let modifier = TypeMod::precision_scale(12, 3);
                Some(cast(call(name, args)?, ty, modifier, true))
            }
            SqlType::Text => match self.dice.below(4) {
                0 => call("upper", vec![self.expr(ty, depth)]),
                1 => call("lower", vec![self.expr(ty, depth)]),
                2 => call(
                    "[]",
                    vec![
                        self.expr(SqlType::TextArray, depth),
                        self.expr(SqlType::Int4, depth),
                    ],
                ),
                _ => {
                    let both = vec![self.expr(ty, depth), self.expr(ty, depth)];
                    let most = Expr::Const(Value::Int4(9), SqlType::Int4);
                    call("left", vec![call("||", both)?, most])
                }
            },
            SqlType::Int4Array | SqlType::TextArray => {
                let element = ty.element()?;
                let elements = (0..self.dice.below(4))
                    .map(|_| self.expr(element, depth))
                    .collect();
                Some(Expr::Array { elements, element })
            }
            _ => None,
        }
    }

    fn nonzero(&mut self, ty: SqlType) -> Expr {
        let three = match ty {
            SqlType::Int2 => Value::Int2(3),
            SqlType::Int8 => Value::Int8(3),
            _ => Value::Int4(3),
        };
        Expr::Const(three, ty)
    }

    /// A boolean.
    pub fn condition(&mut self, depth: usize) -> Expr {
        if depth == 0 || self.dice.one_in(2) {
            return self.comparison(depth);
        }
        let depth = depth - 1;
        match self.dice.below(8) {
            0 => Expr::And(vec![self.condition(depth), self.condition(depth)]),
            1 => Expr::Or(vec![self.condition(depth), self.condition(depth)]),
            2 => Expr::Not(Box::new(self.condition(depth))),
            3 => {
                let ty = self.dice.ty();
                Expr::IsNull {
                    input: Box::new(self.expr(ty, depth)),
                    negated: self.dice.one_in(2),
                }
            }
            4 => Expr::IsTruth {
                input: Box::new(self.condition(depth)),
                truth: *self.dice.pick(&[Truth::True, Truth::False, Truth::Unknown]),
                negated: self.dice.one_in(2),
            },
            5 => {
                let ty = self.dice.ty();
                Expr::Distinct {
                    left: Box::new(self.expr(ty, depth)),
                    right: Box::new(self.expr(ty, depth)),
                    negated: self.dice.one_in(2),
                }
            }
            6 => {
                let ty = self.dice.ty();
                let list = (0..self.dice.between(1, 3)).map(|_| self.expr(ty, depth));
                let list = list.collect();
                Expr::InList {
                    input: Box::new(self.expr(ty, depth)),
                    list,
                    negated: self.dice.one_in(2),
                }
            }
            _ => Expr::Quantified {
                input: Box::new(self.expr(SqlType::Int4, depth)),
                op: *self.dice.pick(COMPARISONS),
                array: Box::new(self.expr(SqlType::Int4Array, depth)),
                all: self.dice.one_in(2),
            },
        }
    }

    pub fn comparison(&mut self, depth: usize) -> Expr {
        let known: Vec<SqlType> = self.columns.iter().chain(self.params).copied().collect();
        let ty = match known.is_empty() || self.dice.one_in(5) {
            true => self.dice.ty(),
            false => *self.dice.pick(&known),
        };
        Expr::Compare {
            op: *self.dice.pick(COMPARISONS),
            left: Box::new(self.expr(ty, depth)),
            right: Box::new(self.expr(ty, depth)),
        }
    }

    /// What an INSERT or UPDATE gives a column.
    pub fn for_column(&mut self, column: &ColumnDef, depth: usize) -> Expr {
        let froms: Vec<SqlType> = TYPES
            .iter()
            .copied()
            .filter(|from| {
                let context = cast_context(*from, column.ty);
                context.is_some_and(|context| context <= CastContext::Assignment)
            })
            .collect();
        let from = match self.dice.one_in(5) && !self.total {
            true => *self.dice.pick(&froms),
            false => column.ty,
        };
        let value = self.expr(from, depth);
        assigned(value, column, self.total)
    }
}

pub fn cast(input: Expr, to: SqlType, modifier: TypeMod, explicit: bool) -> Expr {
    Expr::Cast {
        input: Box::new(input),
        to,
        modifier,
        explicit,
    }
}

/// An expression converted to a column's type and length; `cut`: what is too long is cut and does not fail.
pub fn assigned(mut value: Expr, column: &ColumnDef, cut: bool) -> Expr {
    if value.ty() != column.ty {
        value = cast(value, column.ty, TypeMod::NONE, false);
    }
    if column.modifier != TypeMod::NONE {
        value = cast(value, column.ty, column.modifier, cut);
    }
    value
}

/// A built-in function, if it takes arguments of just these types.
pub fn call(name: &str, args: Vec<Expr>) -> Option<Expr> {
    let types: Vec<SqlType> = args.iter().map(Expr::ty).collect();
    let resolved = function::resolve(name, &types).ok()?;
    let ty = resolved.result;
    (resolved.args == types).then_some(Expr::Call {
        function: resolved.function,
        args,
        ty,
    })
}

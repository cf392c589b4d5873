//! Expressions over a frame and the parameters.

use super::{Checked, Checker};
use crate::cast::cast_context;
use crate::expr::{CompareOp, Expr};
use crate::function::{self, Function};
use crate::routine::Callee;
use crate::subquery::{Subquery, SubqueryForm};
use quintet_base::types::TypeFamily;
use quintet_base::{SqlType, Value};

impl Checker<'_> {
    /// An expression that must be of a type.
    pub(super) fn typed(
        &mut self,
        expr: &Expr,
        frame: &[SqlType],
        wanted: SqlType,
        what: &str,
    ) -> Checked<()> {
        self.expr(expr, frame)?;
        self.wants(expr.ty() == wanted, || {
            format!("{what} is of type {} instead of {wanted}", expr.ty())
        })
    }

    pub(super) fn each(&mut self, exprs: &[Expr], frame: &[SqlType]) -> Checked<()> {
        exprs.iter().try_for_each(|expr| self.expr(expr, frame))
    }

    /// An expression with its parts.
    pub(super) fn expr(&mut self, expr: &Expr, frame: &[SqlType]) -> Checked<()> {
        let mut parts = Vec::new();
        expr.for_each_part(&mut |part| parts.push(part));
        for part in parts {
            self.expr(part, frame)?;
        }
        let boolean = |checker: &Self, part: &Expr| {
            checker.wants(part.ty() == SqlType::Bool, || {
                format!("a condition is of type {}", part.ty())
            })
        };
        let same = |checker: &Self, part: &Expr, wanted: SqlType| {
            checker.wants(part.ty() == wanted, || {
                format!("a part is of type {} instead of {wanted}", part.ty())
            })
        };
        match expr {
            Expr::Const(value, ty) => self.wants(is_of(value, *ty), || {
                format!("the constant {value:?} is said to be of type {ty}")
            }),
            Expr::Param(number, ty) => match self.params.get(*number) {
                None => self.fault(format!("there is no parameter ${}", number + 1)),
                Some(known) => self.wants(known == ty, || {
                    format!("${} is of type {known} and said to be {ty}", number + 1)
                }),
            },
            Expr::Column(place, ty) => match frame.get(*place) {
                None => self.fault(format!(
                    "there is no place #{place} in a frame of {}",
                    frame.len()
                )),
                Some(known) => self.wants(known == ty, || {
                    format!("#{place} is of type {known} and said to be {ty}")
                }),
            },
            Expr::Outer(number, ty) => match self.outer.get(*number) {
                None => self.fault(format!("nothing is handed over as @{number}")),
                Some(known) => self.wants(known == ty, || {
                    format!("@{number} is of type {known} and said to be {ty}")
                }),
            },
            Expr::Subquery(subquery) => self.subquery(subquery),
            Expr::Call { function, args, ty } => self.function(function, args, *ty),
            Expr::Routine { callee, args, ty } => self.called(callee, (args, frame), &[*ty]),
            Expr::Compare { left, right, .. } | Expr::Distinct { left, right, .. } => self
                .wants(left.ty() == right.ty(), || {
                    format!("{} is compared with {}", left.ty(), right.ty())
                }),
            Expr::And(args) | Expr::Or(args) => {
                self.wants(args.len() >= 2, || {
                    "AND or OR of fewer than two".to_string()
                })?;
                args.iter().try_for_each(|arg| boolean(self, arg))
            }
            Expr::Not(input) => boolean(self, input),
            Expr::IsNull { .. } => Ok(()),
            Expr::IsTruth { input, .. } => boolean(self, input),
            Expr::Case {
                branches,
                otherwise,
                ty,
            } => {
                for (when, then) in branches {
                    boolean(self, when)?;
                    same(self, then, *ty)?;
                }
                let mut otherwise = otherwise.iter();
                otherwise.try_for_each(|otherwise| same(self, otherwise, *ty))
            }
            Expr::Coalesce { args, ty } | Expr::Extreme { args, ty, .. } => {
                self.wants(!args.is_empty(), || "nothing to choose from".to_string())?;
                args.iter().try_for_each(|arg| same(self, arg, *ty))
            }
            Expr::InList { input, list, .. } => {
                self.wants(!list.is_empty(), || "IN of nothing".to_string())?;
                list.iter()
                    .try_for_each(|item| same(self, item, input.ty()))
            }
            Expr::Quantified { input, array, .. } => self
                .wants(array.ty().element() == Some(input.ty()), || {
                    format!("{} is compared with elements of {}", input.ty(), array.ty())
                }),
            Expr::Array { elements, element } => {
                self.wants(element.array_of().is_some(), || {
                    format!("there are no arrays of {element}")
                })?;
                elements
                    .iter()
                    .try_for_each(|part| same(self, part, *element))
            }
            Expr::Cast { input, to, .. } => self
                .wants(cast_context(input.ty(), *to).is_some(), || {
                    format!("{} is not converted to {to}", input.ty())
                }),
            Expr::NextVal(_) | Expr::CurrVal(_) => Ok(()),
            Expr::SetVal {
                value, is_called, ..
            } => {
                same(self, value, SqlType::Int8)?;
                boolean(self, is_called)
            }
        }
    }

    /// A query and what it is compared with; its parts have been looked at.
    fn subquery(&mut self, subquery: &Subquery) -> Checked<()> {
        let outer = subquery.outer.iter().map(Expr::ty).collect();
        let columns = self.handed(outer, |checker| checker.plan(&subquery.plan, &[]))?;
        let tested: Vec<SqlType> = subquery.tested.iter().map(Expr::ty).collect();
        let is_compared = matches!(subquery.form, SubqueryForm::Compare { .. });
        self.wants(is_compared || tested.is_empty(), || {
            "values to compare with a subquery that compares nothing".to_string()
        })?;
        let ty = match subquery.form {
            SubqueryForm::Value(column) => columns.get(column).copied(),
            SubqueryForm::Exists => Some(SqlType::Bool),
            // Arrays are parts of one with a dimension more.
            SubqueryForm::Array => columns.first().and_then(|column| match column.element() {
                Some(_) if !column.is_vector() => Some(*column),
                _ => column.array_of(),
            }),
            SubqueryForm::Compare { op, all } => {
                let several = tested.len() > 1;
                let is_membership =
                    matches!((op, all), (CompareOp::Eq, false) | (CompareOp::Ne, true));
                self.wants(!several || is_membership, || {
                    "rows are compared with rows by more than equality".to_string()
                })?;
                self.wants(columns == tested && !tested.is_empty(), || {
                    format!("{tested:?} is compared with rows of {columns:?}")
                })?;
                Some(SqlType::Bool)
            }
        };
        self.wants(ty == Some(subquery.ty), || {
            format!(
                "a subquery gives {ty:?} and is said to give {}",
                subquery.ty
            )
        })
    }

    /// Checks what stands where these are handed over from around.
    pub(super) fn handed<T>(
        &mut self,
        outer: Vec<SqlType>,
        check: impl FnOnce(&mut Self) -> Checked<T>,
    ) -> Checked<T> {
        let around = std::mem::replace(&mut self.outer, outer);
        let checked = check(self);
        self.outer = around;
        checked
    }

    /// A built-in function takes these arguments.
    fn function(&self, function: &Function, args: &[Expr], ty: SqlType) -> Checked<()> {
        let types: Vec<SqlType> = args.iter().map(Expr::ty).collect();
        let given = || {
            types
                .iter()
                .map(|ty| ty.name())
                .collect::<Vec<_>>()
                .join(", ")
        };
        if function.args.is_empty() {
            // Of a family whose types follow from each other, or without arguments.
            let resolved = function::resolve(function.name, &types);
            let fits = resolved
                .is_ok_and(|resolved| resolved.function.is(function) && resolved.result == ty);
            return self.wants(fits, || {
                format!("{}({}) does not give {ty}", function.name, given())
            });
        }
        let declared = |place: usize| match function.args.get(place) {
            None if function.variadic => function.args.last(),
            declared => declared,
        };
        // The repeated one may be left out.
        let least = function.args.len() - usize::from(function.variadic);
        let fits = args.len() >= least
            && types.iter().enumerate().all(|(place, given)| {
                let wanted = declared(place);
                wanted.is_some_and(|wanted| wanted == given || *wanted == SqlType::Unknown)
            });
        self.wants(fits, || {
            format!("{:?} is called with ({})", function, given())
        })?;
        // A record's fields have types that only the node knows.
        self.wants(
            function.result == ty
                || function.result == SqlType::Unknown
                || (function.result == SqlType::Record && ty.is_record())
                || (function.result == SqlType::RecordArray
                    && ty.element().is_some_and(SqlType::is_record)),
            || format!("{:?} gives {} and not {ty}", function, function.result),
        )
    }

    /// A function of the catalogue is there, takes these arguments and gives a row of these types.
    pub(super) fn called(
        &mut self,
        callee: &Callee,
        (args, frame): (&[Expr], &[SqlType]),
        row: &[SqlType],
    ) -> Checked<()> {
        let name = &callee.name;
        if let Some(program) = &callee.program {
            let place = format!("the program of function \"{name}\"");
            self.within(place, |checker| {
                super::program(program).map_err(|mut fault| {
                    fault.place.splice(0..0, checker.place.iter().cloned());
                    fault
                })
            })?;
            let Some(called) = program.routines.first() else {
                return self.fault(format!("the program of \"{name}\" is empty"));
            };
            return self.arguments(called, args, frame);
        }
        let Some(program) = self.program else {
            // Of a table's expression: the session has it.
            return Ok(());
        };
        let Some(number) = program.numbers.get(&callee.id) else {
            return self.fault(format!("function \"{name}\" is not in the program"));
        };
        let called = &program.routines[*number];
        if super::steps::is_failing(called) {
            return Ok(());
        }
        self.arguments(called, args, frame)?;
        match self.rows.get(*number) {
            Some(Some(gives)) => self.wants(gives == row, || {
                format!("function \"{name}\" gives {gives:?} and not {row:?}")
            }),
            // It gives nothing, or never comes to it.
            _ => Ok(()),
        }
    }
}

/// Whether a value can be of a type. All text is held alike.
fn is_of(value: &Value, ty: SqlType) -> bool {
    match value {
        Value::Null => true,
        Value::Text(_) => matches!(
            ty.family(),
            TypeFamily::Text | TypeFamily::Unknown | TypeFamily::Void | TypeFamily::Json
        ),
        Value::Array(array) => ty
            .element()
            .is_some_and(|element| array.values.iter().all(|value| is_of(value, element))),
        Value::Oid(_) => matches!(ty, SqlType::Oid | SqlType::Xid) || ty.is_named_oid(),
        Value::Bytea(_) => ty == SqlType::Bytea || ty.is_bytes_within(),
        Value::Int8(_) if ty == SqlType::Tid => true,
        Value::Bits(_) => ty.family() == TypeFamily::Bits,
        value => value.natural_type() == ty,
    }
}

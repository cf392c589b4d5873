//! A formula gives what its expression gives, or nothing.
//!
//! Goal: no formula has an answer that differs from its expression's, in value, scale or NULL. Method: random
//! expressions over a stored row and slots, with NULLs and numbers that do not fit, computed both ways.
#![allow(clippy::unwrap_used)]

use quintet_base::row::RowLayout;
use quintet_base::{Array, Datum, Numeric, SpaceId, SqlType, TableId, TypeMod, Value};
use quintet_ir::expr::Truth;
use quintet_ir::formula::{Formula, Scope};
use quintet_ir::{ColumnDef, CompareOp, DetachedHost, Expr, TableDef, eval, function};

const CASES: usize = 20_000;
const TYPES: [SqlType; 7] = [
    SqlType::Int4,
    SqlType::Int8,
    SqlType::Numeric,
    SqlType::Text,
    SqlType::Varchar,
    SqlType::Bpchar,
    SqlType::Bool,
];

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        let state = self.0.wrapping_mul(0x5851_F42D_4C95_7F2D);
        self.0 = state.wrapping_add(0x1405_7B7E_F767_814F);
        (self.0 >> 33) as usize % n
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn integer(&mut self) -> i64 {
        match self.below(6) {
            0 => i64::MAX,
            1 => i64::MIN,
            2 => 1 << self.below(62),
            _ => self.below(40) as i64 - 20,
        }
    }

    fn value(&mut self, ty: SqlType) -> Value {
        let text = [
            "",
            "a",
            "ab",
            "xORIGINALy",
            "a ",
            "ä",
            "longer than what lies inline",
        ];
        match ty {
            _ if self.one_in(6) => Value::Null,
            SqlType::Int4 => Value::Int4(self.integer() as i32),
            SqlType::Int8 => Value::Int8(self.integer()),
            SqlType::Numeric if self.one_in(10) => Value::numeric(Numeric::NAN),
            SqlType::Numeric => {
                let mantissa =
                    i128::from(self.integer()) * if self.one_in(9) { 1 << 40 } else { 1 };
                let scale = self.below(6) as u16;
                Value::numeric(Numeric::from_parts(mantissa, scale).unwrap())
            }
            SqlType::Bool => Value::Bool(self.one_in(2)),
            SqlType::Bpchar => Value::text(format!("{:4}", text[self.below(3)])),
            _ => Value::text(text[self.below(text.len())]),
        }
    }

    /// Behind the slots of all types.
    fn array(&mut self) -> Value {
        let values = (0..self.below(5)).map(|_| self.value(SqlType::Int4));
        let values = values.collect();
        let element = SqlType::Int4;
        match self.one_in(8) {
            true => Value::Null,
            false => Value::Array(Box::new(Array {
                shape: None,
                element,
                values,
            })),
        }
    }

    fn call(&mut self, names: &[&str], ty: SqlType, depth: usize) -> Expr {
        let name = names[self.below(names.len())];
        let resolved = function::resolve(name, &[ty, ty]).unwrap();
        Expr::Call {
            function: resolved.function,
            args: vec![self.expr(ty, depth), self.expr(ty, depth)],
            ty: resolved.result,
        }
    }

    fn cast(&mut self, from: SqlType, to: SqlType, modifier: TypeMod, depth: usize) -> Expr {
        Expr::Cast {
            input: Box::new(self.expr(from, depth)),
            to,
            modifier,
            explicit: self.one_in(2),
        }
    }

    fn expr(&mut self, ty: SqlType, depth: usize) -> Expr {
        let place = TYPES.iter().position(|known| *known == ty).unwrap();
        if depth == 0 || self.one_in(4) {
            return match self.below(3) {
                0 => Expr::Const(self.value(ty), ty),
                1 => Expr::Param(place, ty),
                _ => Expr::Column(place, ty),
            };
        }
        let depth = depth - 1;
        match (self.below(5), ty) {
            (0, _) => {
                let switch = self.one_in(2);
                let branches = (0..1 + self.below(3)).map(|_| {
                    let condition = match switch {
                        true => Expr::Compare {
                            op: CompareOp::Eq,
                            left: Box::new(Expr::Param(0, SqlType::Int4)),
                            right: Box::new(Expr::Const(
                                Value::Int4(self.below(5) as i32),
                                SqlType::Int4,
                            )),
                        },
                        false => self.expr(SqlType::Bool, depth),
                    };
                    (condition, self.expr(ty, depth))
                });
                Expr::Case {
                    branches: branches.collect(),
                    otherwise: None,
                    ty,
                }
            }
            (1, _) => Expr::Coalesce {
                args: vec![self.expr(ty, depth), self.expr(ty, depth)],
                ty,
            },
            (2, SqlType::Int4) => self.cast(SqlType::Int8, ty, TypeMod::NONE, depth),
            (3, SqlType::Int4) => {
                let array = SqlType::Int4.array_of().unwrap();
                let resolved = function::resolve("[]", &[array, ty]).unwrap();
                Expr::Call {
                    function: resolved.function,
                    args: vec![Expr::Param(TYPES.len(), array), self.expr(ty, depth)],
                    ty,
                }
            }
            (_, SqlType::Int4 | SqlType::Int8) if self.one_in(4) => {
                let from = [SqlType::Int4, SqlType::Int8][self.below(2)];
                self.cast(from, ty, TypeMod::NONE, depth)
            }
            (_, SqlType::Int4 | SqlType::Int8) => self.call(&["+", "-", "*", "/"], ty, depth),
            (2, SqlType::Numeric) => {
                let from = [SqlType::Int4, SqlType::Int8, ty][self.below(3)];
                let scale = self.below(4) as u16;
                let precision = scale + 1 + self.below(6) as u16;
                let modifier = match self.one_in(3) {
                    true => TypeMod::NONE,
                    false => TypeMod::precision_scale(precision, scale as i16),
                };
                self.cast(from, ty, modifier, depth)
            }
            (3, SqlType::Numeric) => {
                let types = [SqlType::Numeric, SqlType::Int4];
                let scale = Value::Int4(self.below(6) as i32 - 2);
                Expr::Call {
                    function: function::resolve("round", &types).unwrap().function,
                    args: vec![self.expr(ty, depth), Expr::Const(scale, SqlType::Int4)],
                    ty,
                }
            }
            (_, SqlType::Numeric) => self.call(&["+", "-", "*"], ty, depth),
            (_, SqlType::Text) => self.cast(SqlType::Varchar, ty, TypeMod::NONE, depth),
            (_, SqlType::Varchar) => self.cast(SqlType::Text, ty, TypeMod::length(3), depth),
            (_, SqlType::Bpchar) => self.cast(ty, ty, TypeMod::length(4), depth),
            (_, _) => self.condition(depth),
        }
    }

    fn condition(&mut self, depth: usize) -> Expr {
        let of = SqlType::Bool;
        match self.below(7) {
            0 => Expr::And(
                (0..2 + self.below(2))
                    .map(|_| self.expr(of, depth))
                    .collect(),
            ),
            1 => Expr::Or(
                (0..2 + self.below(2))
                    .map(|_| self.expr(of, depth))
                    .collect(),
            ),
            2 => Expr::Not(Box::new(self.expr(of, depth))),
            3 => {
                let ty = TYPES[self.below(TYPES.len())];
                Expr::IsNull {
                    input: Box::new(self.expr(ty, depth)),
                    negated: self.one_in(2),
                }
            }
            4 => Expr::IsTruth {
                input: Box::new(self.expr(of, depth)),
                truth: [Truth::True, Truth::False, Truth::Unknown][self.below(3)],
                negated: self.one_in(2),
            },
            5 => {
                let patterns = ["%ORIGINAL%", "a%", "%", "_", "%a%b%", "a\\"];
                let pattern = Value::text(patterns[self.below(patterns.len())]);
                let text = SqlType::Text;
                Expr::Call {
                    function: function::resolve("~~", &[text, text]).unwrap().function,
                    args: vec![self.expr(text, depth), Expr::Const(pattern, text)],
                    ty: of,
                }
            }
            _ => {
                use CompareOp::*;
                let ty = TYPES[self.below(TYPES.len())];
                Expr::Compare {
                    op: [Eq, Ne, Lt, Le, Gt, Ge][self.below(6)],
                    left: Box::new(self.expr(ty, depth)),
                    right: Box::new(self.expr(ty, depth)),
                }
            }
        }
    }
}

fn table() -> TableDef {
    let column = |ty: &SqlType| ColumnDef {
        name: "c".into(),
        ty: *ty,
        modifier: TypeMod::NONE,
        not_null: false,
        default: None,
        missing: None,
        identity: None,
        generated: None,
        dropped: false,
        hidden: false,
    };
    TableDef {
        id: TableId(1),
        revision: 1,
        schema: "public".into(),
        name: "t".into(),
        space: SpaceId(1),
        columns: TYPES.iter().map(column).collect(),
        primary_key: None,
        indexes: Vec::new(),
        checks: Vec::new(),
        layout: RowLayout::new(TYPES.to_vec()),
        references: None,
        partitions: None,
    }
}

/// Scale and all: what is printed is the same.
fn shown(value: &Value) -> String {
    format!("{value:?}")
}

#[test]
fn a_formula_gives_what_its_expression_gives_or_nothing() {
    let seed = u64::from(std::process::id());
    println!("seed {seed}");
    let mut random = Random(seed);
    let table = table();
    let frame: Vec<usize> = (0..TYPES.len()).collect();
    let host = DetachedHost::default();
    let (mut answered, mut made) = (0, 0);
    for case in 0..CASES {
        let ty = TYPES[random.below(TYPES.len())];
        let expr = random.expr(ty, 4);
        let Some(formula) = Formula::new(&expr, Some((&table, &frame))) else {
            continue;
        };
        made += 1;
        let row: Vec<Value> = TYPES.iter().map(|ty| random.value(*ty)).collect();
        let mut slots: Vec<Value> = TYPES.iter().map(|ty| random.value(*ty)).collect();
        slots.push(random.array());
        let stored = table.layout.encode(&row).unwrap();
        let scope = Scope {
            row: Some(table.layout.open(&stored).unwrap()),
            slots: &slots,
            host: &host,
        };
        let Some(datum) = formula.eval(&scope) else {
            continue;
        };
        answered += 1;
        let value = eval(&expr, &row, &slots, &host);
        let value = value.unwrap_or_else(|error| panic!("case {case}: {error} for {expr:?}"));
        assert_eq!(
            shown(&datum.to_value()),
            shown(&value),
            "case {case}: {expr:?} over {row:?} and {slots:?}"
        );
        let in_register = match datum {
            Datum::Int4(value) => Some(Some(value)),
            Datum::Null => Some(None),
            _ => None,
        };
        // It may have no answer where the datum is NULL for another reason than that a part is.
        let int4 = formula.int4(&scope);
        assert!(
            int4.is_none() || int4 == in_register,
            "case {case}: {int4:?} for {expr:?} over {row:?} and {slots:?}"
        );
        assert!(ty != SqlType::Int4 || int4.is_some(), "case {case}");
        if ty == SqlType::Bool {
            assert_eq!(
                formula.holds(&scope),
                Some(matches!(datum, Datum::Bool(true)))
            );
        }
    }
    assert!(made > CASES * 7 / 10, "formulas of {made} of {CASES}");
    assert!(answered > CASES / 5, "{answered} of {made} have an answer");
}

//! Ways to make a footprint too small.
//!
//! Promises: each takes away something that some calls touch, and the comparison must notice.

use quintet_analysis::{Effect, Footprint, KeyPart, Mark};
use quintet_base::{SqlType, Value};
use quintet_ir::Expr;
use std::collections::BTreeSet;

/// A way: its name, and what it makes of a footprint.
pub type Narrowing = (&'static str, fn(&mut Footprint));

pub const NARROWINGS: &[Narrowing] = &[
    ("the last mark is forgotten", |footprint| {
        footprint.marks.pop();
    }),
    ("an unknown part is taken for a constant", |footprint| {
        parts(footprint, |part, ty| {
            if matches!(part, KeyPart::Unknown) {
                *part = KeyPart::Exact(one(ty));
            }
        });
    }),
    ("a range is taken for a constant", |footprint| {
        parts(footprint, |part, ty| {
            if matches!(part, KeyPart::Range) {
                *part = KeyPart::Exact(one(ty));
            }
        });
    }),
    (
        "what is known on some way is taken for known",
        |footprint| {
            parts(footprint, |part, ty| {
                if let KeyPart::Partial(expr) = part {
                    let args = vec![expr.clone(), one(ty)];
                    *part = KeyPart::Exact(Expr::Coalesce { args, ty });
                }
            });
        },
    ),
    ("loops are taken to have one turn less", |footprint| {
        for mark in &mut footprint.marks {
            for turns in &mut mark.turns {
                match &mut turns.over {
                    quintet_ir::ahead::Over::Integers { lower, upper, .. } => {
                        *lower = upper.clone()
                    }
                    quintet_ir::ahead::Over::Elements(array) => {
                        *array = Expr::null(array.ty());
                    }
                }
            }
        }
    }),
    ("conditions are taken the wrong way round", |footprint| {
        for mark in &mut footprint.marks {
            for (_, held) in &mut mark.only_if {
                *held = !*held;
            }
        }
    }),
    ("the last column of an update is forgotten", |footprint| {
        effects(footprint, |effect| {
            if let Effect::Update(columns) = effect {
                columns.pop_last();
            }
        });
    }),
    ("inserts are forgotten", |footprint| {
        without(footprint, |effect| matches!(effect, Effect::Insert));
    }),
    ("deletes are forgotten", |footprint| {
        without(footprint, |effect| matches!(effect, Effect::Delete));
    }),
    ("locks are forgotten", |footprint| {
        without(footprint, |effect| matches!(effect, Effect::Lock { .. }));
    }),
    ("claims of unique keys are forgotten", |footprint| {
        without(footprint, |effect| matches!(effect, Effect::Claim(_)));
    }),
    ("unique keys are never given up", |footprint| {
        without(footprint, |effect| matches!(effect, Effect::Release(_)));
    }),
];

/// Found by what calls give, not by what they touch, and rarely: only when many cases are asked for.
pub const RARE: &[Narrowing] = &[("reads look at no column", |footprint| {
    effects(footprint, |effect| {
        if let Effect::Read(columns) = effect {
            *columns = BTreeSet::new();
        }
    });
})];

fn one(ty: SqlType) -> Expr {
    let value = match ty {
        SqlType::Int2 => Value::Int2(1),
        SqlType::Int4 => Value::Int4(1),
        SqlType::Int8 => Value::Int8(1),
        _ => Value::text("a"),
    };
    Expr::Const(value, ty)
}

fn parts(footprint: &mut Footprint, mut change: impl FnMut(&mut KeyPart, SqlType)) {
    for Mark {
        table,
        effect,
        path,
        ..
    } in &mut footprint.marks
    {
        for (part, column) in path.iter_mut().zip(effect.columns(table)) {
            change(part, table.frame_type(column));
        }
    }
}

fn effects(footprint: &mut Footprint, mut change: impl FnMut(&mut Effect)) {
    for mark in &mut footprint.marks {
        change(&mut mark.effect);
    }
}

fn without(footprint: &mut Footprint, gone: impl Fn(&Effect) -> bool) {
    footprint.marks.retain(|mark| !gone(&mark.effect));
}

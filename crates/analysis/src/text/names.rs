//! What slots and expressions over them are called.
//!
//! Relies on: `ir::explain`, whose printer names the places of a frame.  Promises: a slot has the name that
//! the source gives it, if it gives one.  Does not: restore what was written; a folded constant prints
//! as the constant.

use quintet_ir::explain::expr_text;
use quintet_ir::{Expr, Routine};

/// See the module.
pub(super) struct Names<'p> {
    routine: &'p Routine,
    /// Of the slots, at the places behind all columns.
    names: Vec<String>,
}

/// Frames of statements are narrower than this; in a wider one the last columns have the slots' names.
const COLUMNS_MAX: usize = 4096;

impl<'p> Names<'p> {
    pub fn new(routine: &'p Routine) -> Names<'p> {
        let mut names = Names {
            routine,
            names: vec![String::new(); COLUMNS_MAX],
        };
        for slot in 0..routine.slots.len() {
            let name = names.slot(slot);
            names.names.push(name);
        }
        names
    }

    /// A slot.
    pub fn slot(&self, slot: usize) -> String {
        match self.routine.slots.get(slot) {
            Some(known) if !known.name.is_empty() => known.name.clone(),
            // The last three are what no source names; only the first is a value.
            None => "row count".to_string(),
            Some(_) if slot < self.routine.arguments => format!("${}", slot + 1),
            Some(_) => format!("value {slot}"),
        }
    }

    /// An expression over a frame, without the parentheses around it.
    pub fn expr(&self, expr: &Expr, frame: &[String]) -> String {
        let mut expr = expr.clone();
        rename(&mut expr);
        let text = match frame.is_empty() {
            true => expr_text(&expr, &self.names),
            false => {
                let mut names = self.names.clone();
                for (name, known) in names.iter_mut().zip(frame).take(COLUMNS_MAX) {
                    name.clone_from(known);
                }
                expr_text(&expr, &names)
            }
        };
        bare(&plain_subscripts(&text)).to_string()
    }
}

/// An expression over parameters alone, which have these names.
pub(crate) fn text_of(expr: &Expr, params: &[String]) -> String {
    fn as_columns(expr: &mut Expr) {
        if let Expr::Param(place, ty) = expr {
            *expr = Expr::Column(*place, *ty);
            return;
        }
        expr.for_each_part_mut(&mut as_columns);
    }
    let mut expr = expr.clone();
    as_columns(&mut expr);
    bare(&plain_subscripts(&expr_text(&expr, params))).to_string()
}

/// Slots as columns, which have names.
fn rename(expr: &mut Expr) {
    if let Expr::Param(slot, ty) = expr {
        *expr = Expr::Column(COLUMNS_MAX + *slot, *ty);
        return;
    }
    expr.for_each_part_mut(&mut rename);
}

/// `(a + b)` without what is around it.
fn bare(text: &str) -> &str {
    let Some(inner) = text.strip_prefix('(').and_then(|t| t.strip_suffix(')')) else {
        return text;
    };
    let mut depth = 0i32;
    let mut quoted = false;
    for c in inner.chars() {
        match c {
            '\'' => quoted = !quoted,
            '(' if !quoted => depth += 1,
            ')' if !quoted => depth -= 1,
            _ => {}
        }
        if depth < 0 {
            return text;
        }
    }
    inner
}

/// `(name)[…]` as `name[…]`.
fn plain_subscripts(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find('(') {
        let (before, from) = rest.split_at(open);
        out += before;
        let inside = &from[1..];
        let end = inside.find(|c: char| !(c.is_alphanumeric() || c == '_'));
        match end.filter(|end| *end > 0 && inside[*end..].starts_with(")[")) {
            Some(end) if !before.ends_with(|c: char| c.is_alphanumeric() || c == '_') => {
                out += &inside[..end];
                rest = &inside[end + 1..];
            }
            _ => {
                out.push('(');
                rest = inside;
            }
        }
    }
    out + rest
}

//! Dynamic statements and landmarks, as forms and back.

use super::form::Form;
use super::read::{Items, Read, Reader};
use super::write::{body, count, expr, exprs, slot, ty};
use crate::dynamic::{Dynamic, DynamicRows, Landmark, Live};
use crate::routine::Action;
use quintet_base::TypeMod;

pub(super) fn dynamic(dynamic: &Dynamic) -> Form {
    let mut items: Vec<Form> = dynamic
        .fixed
        .then(|| Form::word("fixed"))
        .into_iter()
        .collect();
    items.push(expr(&dynamic.text));
    items.push(Form::list("using", exprs(&dynamic.arguments)));
    match &dynamic.rows {
        DynamicRows::Forgotten => {}
        DynamicRows::Into { slots, strict } => {
            let target = |(to, modifier): &(usize, TypeMod)| {
                Form::plain([slot(*to), Form::word(modifier.0.to_string())])
            };
            items.push(Form::list("into", slots.iter().map(target)));
            items.extend(strict.then(|| Form::word("strict")));
        }
        DynamicRows::Record => items.push(Form::word("record")),
        DynamicRows::Returned(types) => {
            items.push(Form::list("returned", types.iter().copied().map(ty)));
        }
    }
    items.extend(dynamic.is_record.then(|| Form::word("of-record")));
    items.extend(dynamic.reads_only.then(|| Form::word("reads-only")));
    items.push(landmark(&dynamic.at));
    items.extend(dynamic.turns.as_deref().map(body));
    Form::list("dynamic", items)
}

pub(super) fn landmark(landmark: &Landmark) -> Form {
    let live = |live: &Live| {
        let field = live.field.clone().map(Form::text);
        Form::plain(
            [slot(live.slot), count(live.variable)]
                .into_iter()
                .chain(field),
        )
    };
    let mut items = vec![count(landmark.number)];
    items.push(Form::list("live", landmark.live.iter().map(live)));
    if !landmark.loops.is_empty() {
        let types = landmark.loops.iter();
        let rows = types.map(|row| Form::plain(row.iter().copied().map(ty)));
        items.push(Form::list("loops", rows));
    }
    Form::list("landmark", items)
}

impl Reader<'_> {
    pub(super) fn dynamic(&self, items: &mut Items<'_>) -> Read<Action> {
        let fixed = items.flag("fixed");
        let text = self.next_expr(items)?;
        let arguments = self.exprs(items.must("using")?)?;
        let rows = if let Some(targets) = items.part("into") {
            let slots = targets.each(|form| {
                let mut items = Items::of(form)?;
                let target = (items.slot()?, TypeMod(items.number("a modifier")?));
                items.end()?;
                Ok(target)
            })?;
            let strict = items.flag("strict");
            DynamicRows::Into { slots, strict }
        } else if let Some(types) = items.part("returned") {
            DynamicRows::Returned(types.types()?)
        } else if items.flag("record") {
            DynamicRows::Record
        } else {
            DynamicRows::Forgotten
        };
        let is_record = items.flag("of-record");
        let reads_only = items.flag("reads-only");
        let mut at = items.must("landmark")?;
        let at = read_landmark(&mut at)?;
        let turns = match items.part("do") {
            Some(steps) => Some(self.steps(steps)?),
            None => None,
        };
        Ok(Action::Dynamic(Box::new(Dynamic {
            at,
            text,
            arguments,
            fixed,
            rows,
            is_record,
            reads_only,
            turns,
        })))
    }
}

/// What stands behind the word.
pub(super) fn read_landmark(items: &mut Items<'_>) -> Read<Landmark> {
    let number = items.number("a landmark's number")?;
    let live = items.must("live")?.each(|form| {
        let mut items = Items::of(form)?;
        let (slot, variable) = (items.slot()?, items.number("a variable's number")?);
        let field = match items.is_empty() {
            true => None,
            false => Some(items.text("a field's name")?.to_string()),
        };
        items.end()?;
        Ok(Live {
            variable,
            field,
            slot,
        })
    })?;
    let loops = match items.part("loops") {
        Some(rows) => rows.each(|form| Items::of(form)?.types())?,
        None => Vec::new(),
    };
    Ok(Landmark {
        number,
        live,
        loops,
    })
}

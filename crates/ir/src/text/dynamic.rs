//! Dynamic statements and landmarks, as forms and back.

use super::form::Form;
use super::read::{Items, Read, Reader};
use super::write::{body, count, expr, exprs, slot, ty};
use crate::dynamic::{
    CursorAction, CursorStep, Direction, Dynamic, DynamicRows, Field, Landmark, Live,
};
use crate::routine::Action;
use quintet_base::{TableId, TypeMod};

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
        DynamicRows::Opened(name) => items.push(Form::list("opened", [slot(*name)])),
        DynamicRows::Returned(types) => {
            items.push(Form::list("returned", types.iter().copied().map(ty)));
        }
    }
    items.extend(dynamic.is_record.then(|| Form::word("of-record")));
    items.extend(dynamic.reads_only.then(|| Form::word("reads-only")));
    items.push(landmark(&dynamic.at));
    items.extend(dynamic.turns.as_deref().map(body));
    items.extend(dynamic.cursor.as_ref().map(cursor));
    Form::list("dynamic", items)
}

fn cursor(step: &CursorStep) -> Form {
    let mut items = vec![Form::text(step.variable.clone())];
    items.push(match &step.what {
        CursorAction::Open {
            fields,
            of,
            back,
            pinned,
            source,
        } => {
            let mut open: Vec<Form> = Vec::new();
            open.extend(back.then(|| Form::word("back")));
            open.extend(pinned.then(|| Form::word("pinned")));
            open.push(Form::text(source.clone()));
            open.push(known(fields));
            open.extend(of.map(|table| Form::list("of", [Form::word(table.0.to_string())])));
            Form::list("open", open)
        }
        CursorAction::Keep => Form::list("keep", []),
        CursorAction::Fetch {
            direction,
            moves,
            fields,
        } => {
            let mut fetch: Vec<Form> = Vec::new();
            fetch.extend(moves.then(|| Form::word("moves")));
            fetch.push(Form::word(word(*direction)));
            fetch.extend(fields.as_deref().map(known));
            Form::list("fetch", fetch)
        }
        CursorAction::Close => Form::list("close", []),
        CursorAction::Current { table, called } => Form::list(
            "current",
            [Form::word(table.0.to_string()), Form::text(called.clone())],
        ),
    });
    Form::list("cursor", items)
}

fn known(fields: &[Field]) -> Form {
    let field = |field: &Field| {
        Form::plain([
            Form::text(field.name.clone()),
            ty(field.ty),
            Form::word(field.modifier.0.to_string()),
        ])
    };
    Form::list("fields", fields.iter().map(field))
}

fn word(direction: Direction) -> &'static str {
    match direction {
        Direction::Forward => "forward",
        Direction::Backward => "backward",
        Direction::Absolute => "absolute",
        Direction::Relative => "relative",
    }
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
        } else if let Some(mut name) = items.part("opened") {
            let slot = name.slot()?;
            name.end()?;
            DynamicRows::Opened(slot)
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
        let cursor = match items.part("cursor") {
            Some(mut items) => Some(read_cursor(&mut items)?),
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
            cursor,
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

/// What stands behind the word.
fn read_cursor(items: &mut Items<'_>) -> Read<CursorStep> {
    let variable = items.text("a variable's name")?.to_string();
    let what = if let Some(mut open) = items.part("open") {
        let (back, pinned) = (open.flag("back"), open.flag("pinned"));
        let source = open.text("a query")?.to_string();
        let fields = read_fields(open.must("fields")?)?;
        let of = match open.part("of") {
            Some(mut table) => Some(TableId(table.number("a table's number")?)),
            None => None,
        };
        open.end()?;
        CursorAction::Open {
            fields,
            of,
            back,
            pinned,
            source,
        }
    } else if items.part("keep").is_some() {
        CursorAction::Keep
    } else if items.part("close").is_some() {
        CursorAction::Close
    } else if let Some(mut fetch) = items.part("fetch") {
        let moves = fetch.flag("moves");
        let all = [
            Direction::Forward,
            Direction::Backward,
            Direction::Absolute,
            Direction::Relative,
        ];
        let direction = all.into_iter().find(|way| fetch.flag(word(*way)));
        let fields = match fetch.part("fields") {
            Some(fields) => Some(read_fields(fields)?),
            None => None,
        };
        fetch.end()?;
        CursorAction::Fetch {
            direction: direction.unwrap_or(Direction::Forward),
            moves,
            fields,
        }
    } else {
        let mut current = items.must("current")?;
        let table = TableId(current.number("a table's number")?);
        let called = current.text("a table's name")?.to_string();
        current.end()?;
        CursorAction::Current { table, called }
    };
    Ok(CursorStep { variable, what })
}

fn read_fields(fields: Items<'_>) -> Read<Vec<Field>> {
    fields.each(|form| {
        let mut items = Items::of(form)?;
        let field = Field {
            name: items.text("a column's name")?.to_string(),
            ty: items.ty()?,
            modifier: TypeMod(items.number("a modifier")?),
        };
        items.end()?;
        Ok(field)
    })
}

//! Statements about one row that its primary key names, as flat as they can be run.
//!
//! Relies on: `statement`; expressions keep their meaning when their columns are renumbered.
//! Promises: what [`Point::of`] gives means what the statement means; the frame of its expressions has
//! the columns that somebody looks at and no others.  Does not: stand for statements that lock rows, call
//! functions of the catalogue, change keys or indexed columns, or have ON CONFLICT or CHECK to see to:
//! those have no such form.
//!
//! ```text
//!   SELECT c, b + 1 FROM t WHERE k = $1        key  $1         columns  c b       output  #0, #1 + 1
//!   UPDATE t SET b = b + $2 WHERE k = $1       key  $1         columns  b         changes b ← #0 + $2
//!     RETURNING a, b                           columns  b a    output   #1, #0, over the row as it is then
//!   INSERT INTO t VALUES ($1, $2)              values $1, $2   output over all columns
//! ```

use crate::expr::Expr;
use crate::formula::{Computed, Formula};
use crate::plan::{Access, Path, Plan};
use crate::schema::{TableDef, TableRef};
use crate::statement::{Delete, Insert, Statement, Update};
use quintet_base::SqlType;
use quintet_base::row::Glance;
use std::sync::Arc;

/// A statement about one row. See the module.
#[derive(Clone, Debug)]
pub enum Point {
    /// SELECT.
    Read(PointRow),
    /// UPDATE.
    Update {
        /// The row, and RETURNING.
        row: PointRow,
        /// Columns with their new values, over the row as it was; ascending, each once. Then where the
        /// frame has the column, if it has.
        changes: Vec<(usize, Expr, Option<usize>)>,
        /// The columns and values once more, if the row can be changed where it lies.
        lean: Option<Vec<(usize, Computed)>>,
    },
    /// DELETE; the frame is the table's own, for the entries that go too.
    Delete(PointRow),
    /// INSERT of one row.
    Insert {
        /// Into which table.
        table: TableRef,
        /// One per table column.
        values: Vec<Expr>,
        /// RETURNING, over the table's frame.
        output: Vec<Expr>,
        /// The values may be evaluated once more than they are written.
        free: bool,
        /// The same without a frame, if the row can be written so.
        lean: Option<LeanInsert>,
    },
}

/// A row that is written without a frame.
#[derive(Clone, Debug)]
pub struct LeanInsert {
    /// One per table column.
    pub values: Vec<Computed>,
    /// The key's columns with their types, if there is a key and all of it has formulas: it is known before the row is.
    pub key: Option<Vec<(Formula, SqlType)>>,
}

/// A row, and what of it is wanted.
#[derive(Clone, Debug)]
pub struct PointRow {
    /// Of which table; it has a primary key.
    pub table: TableRef,
    /// The key's columns with their types. A NULL: there is no such row.
    pub key: Vec<(Expr, SqlType)>,
    /// The table's columns that make up the frame.
    pub columns: Vec<usize>,
    /// Whether the row is meant.
    pub filter: Option<Expr>,
    /// What comes out.
    pub output: Vec<Expr>,
    /// What comes out is the frame, as far as it goes.
    pub is_frame: bool,
    /// The columns once more, to see whether another row would have looked the same.
    pub glance: Arc<Glance>,
    /// The same without a frame, if all of it can be computed so.
    pub lean: Option<LeanRow>,
}

/// What is wanted of a row, over the row where it lies.
#[derive(Clone, Debug)]
pub struct LeanRow {
    /// The key's columns with their types.
    pub key: Vec<(Formula, SqlType)>,
    /// Whether the row is meant.
    pub filter: Option<Formula>,
    /// What comes out.
    pub output: Vec<Formula>,
}

impl Point {
    /// The form of a statement, if it has one.
    pub fn of(statement: &Statement) -> Option<Point> {
        match statement {
            Statement::Query(plan) => read(plan, |_| true),
            Statement::Insert(insert) => added(insert),
            Statement::Update(update) => changed(update, |_| true),
            Statement::Delete(delete) => removed(delete),
        }
    }

    /// How many values come out.
    pub fn width(&self) -> usize {
        match self {
            Point::Read(row) | Point::Update { row, .. } | Point::Delete(row) => row.output.len(),
            Point::Insert { output, .. } => output.len(),
        }
    }

    /// Whether it can be computed without a frame of values.
    pub fn is_lean(&self) -> bool {
        match self {
            Point::Read(row) | Point::Delete(row) => row.lean.is_some(),
            Point::Update { lean, .. } => lean.is_some(),
            Point::Insert { lean, .. } => lean.is_some(),
        }
    }

    /// Shows the formulas that it is computed with where no frame of values is needed.
    pub(crate) fn each_formula_mut(&mut self, see: &mut dyn FnMut(&mut Formula)) {
        let of_row = |row: &mut PointRow, see: &mut dyn FnMut(&mut Formula)| {
            if let Some(lean) = &mut row.lean {
                lean.key.iter_mut().for_each(|(formula, _)| see(formula));
                lean.filter.iter_mut().for_each(&mut *see);
                lean.output.iter_mut().for_each(see);
            }
        };
        let formula = |value: &mut Computed, see: &mut dyn FnMut(&mut Formula)| {
            value.formula.iter_mut().for_each(see);
        };
        match self {
            Point::Read(row) | Point::Delete(row) => of_row(row, see),
            Point::Update { row, lean, .. } => {
                of_row(row, see);
                let values = lean.iter_mut().flatten();
                values.for_each(|(_, value)| formula(value, see));
            }
            Point::Insert { lean, .. } => {
                if let Some(lean) = lean {
                    lean.values.iter_mut().for_each(|value| formula(value, see));
                    let key = lean.key.iter_mut().flatten();
                    key.for_each(|(formula, _)| see(formula));
                }
            }
        }
    }

    /// The form that a query or an UPDATE has if of what comes out only columns are left away that `wanted`
    /// does not name by their places. What else comes out may fail, and stays.
    pub fn narrowed(
        statement: &Statement,
        wanted: impl Fn(usize) -> bool,
    ) -> Option<(Point, Vec<usize>)> {
        let output = match statement {
            Statement::Query(Plan::Project { exprs, .. }) => exprs,
            Statement::Update(update) => update.returning.as_ref()?,
            _ => return None,
        };
        let kept = |place: usize| wanted(place) || !matches!(output[place], Expr::Column(..));
        let places = (0..output.len()).filter(|place| kept(*place)).collect();
        let point = match statement {
            Statement::Query(plan) => read(plan, kept),
            Statement::Update(update) => changed(update, kept),
            _ => None,
        };
        Some((point?, places))
    }
}

/// Those at the places that are kept.
fn those(exprs: &[Expr], kept: impl Fn(usize) -> bool) -> Vec<Expr> {
    let exprs = exprs.iter().enumerate();
    let kept = exprs.filter(|(place, _)| kept(*place));
    kept.map(|(_, expr)| expr.clone()).collect()
}

fn read(plan: &Plan, kept: impl Fn(usize) -> bool) -> Option<Point> {
    let (access, output) = match plan {
        Plan::Project { input, exprs } => match &**input {
            Plan::Scan(access) => (access, those(exprs, kept)),
            _ => return None,
        },
        Plan::Scan(access) => (access, those(&whole_frame(&access.table), kept)),
        _ => return None,
    };
    let row = PointRow::new(access, output, Vec::new())?;
    Some(Point::Read(row))
}

fn changed(update: &Update, kept: impl Fn(usize) -> bool) -> Option<Point> {
    let (table, access) = (&update.table, scan(&update.source)?);
    let mut changes = update.assignments.clone();
    changes.sort_by_key(|(column, _)| *column);
    let keys = table
        .primary_key
        .iter()
        .flat_map(|primary| &primary.columns);
    let indexed = table.indexes.iter().flat_map(|index| &index.columns);
    let mut fixed = keys.chain(indexed);
    let moves = fixed.any(|column| changes.iter().any(|(changed, _)| changed == column));
    let twice = changes.windows(2).any(|pair| pair[0].0 == pair[1].0);
    let free = changes.iter().all(|(_, value)| value.is_free());
    let assigned = changes.iter().map(|(column, _)| *column);
    let heeded = (table.references.as_ref()).is_some_and(|references| references.heeds(assigned));
    let checked = !table.checks.is_empty() || leaves_partition(table, &changes);
    if moves || twice || !free || heeded || checked {
        return None;
    }
    let output = those(update.returning.as_deref().unwrap_or_default(), kept);
    let mut row = PointRow::new(access, output, Vec::new())?;
    let changes = changes
        .into_iter()
        .map(|(column, mut value)| {
            renumber(&mut value, &mut row.columns);
            (column, value)
        })
        .collect::<Vec<_>>();
    let place = |column: &usize| row.columns.iter().position(|known| known == column);
    let frame = Some((&**table, &row.columns[..]));
    let computed = changes.iter().map(|(column, value)| {
        let value = Computed::new(value.clone(), frame);
        value.needs_no_frame().then_some((*column, value))
    });
    let lean = match &row.lean {
        Some(_) => computed.collect(),
        None => None,
    };
    let changes = changes
        .into_iter()
        .map(|(column, value)| (column, value, place(&column)))
        .collect();
    Some(Point::Update { row, changes, lean })
}

/// True if a changed row may belong to another partition.
pub(crate) fn leaves_partition(table: &TableDef, changes: &[(usize, Expr)]) -> bool {
    let assigned = changes.iter().map(|(column, _)| *column);
    (table.partitions.as_ref()).is_some_and(|partitions| partitions.heeds(assigned))
}

fn removed(delete: &Delete) -> Option<Point> {
    let access = scan(&delete.source)?;
    if let Some(references) = &delete.table.references
        && references.to(0).next().is_some()
    {
        return None;
    }
    if delete.table.has_late_keys() {
        return None;
    }
    let all = (0..access.table.columns.len()).collect();
    let output = delete.returning.clone().unwrap_or_default();
    PointRow::new(access, output, all).map(Point::Delete)
}

fn added(insert: &Insert) -> Option<Point> {
    let one_row = match &insert.source {
        Plan::Values { rows, types } => rows.len() == 1 && types.is_empty(),
        _ => false,
    };
    let output = insert.returning.clone().unwrap_or_default();
    let plain = insert
        .values
        .iter()
        .chain(&output)
        .all(|value| !value.calls_routine() && !value.has_subquery());
    let refers = (insert.table.references.as_ref())
        .is_some_and(|references| references.from(0).next().is_some());
    let checked = refers || !insert.table.checks.is_empty() || insert.table.has_late_keys();
    if !one_row || !plain || insert.conflict.is_some() || checked {
        return None;
    }
    let free = insert.values.iter().all(Expr::is_free);
    let exclusive = insert
        .table
        .indexes
        .iter()
        .any(|index| index.unique || index.is_inverted());
    let divided = insert.table.partitions.is_some();
    let is_lean = free && output.is_empty() && !exclusive && !divided;
    Some(Point::Insert {
        table: TableRef::clone(&insert.table),
        free,
        lean: is_lean.then(|| LeanInsert::new(&insert.table, &insert.values)),
        values: insert.values.clone(),
        output,
    })
}

fn scan(source: &Plan) -> Option<&Access> {
    match source {
        Plan::Scan(access) => Some(access),
        _ => None,
    }
}

fn whole_frame(table: &TableDef) -> Vec<Expr> {
    let columns = 0..table.frame_width();
    columns
        .map(|column| Expr::Column(column, table.frame_type(column)))
        .collect()
}

impl PointRow {
    /// The row that an access names, with a frame of `columns` and what the expressions look at.
    fn new(access: &Access, mut output: Vec<Expr>, mut columns: Vec<usize>) -> Option<PointRow> {
        let table = &access.table;
        let primary = table.primary_key.as_ref()?;
        let Path::Primary(ranges) = &access.path else {
            return None;
        };
        let [range] = ranges.as_slice() else {
            return None;
        };
        let mut filter = access.filter.clone();
        let free = range.equal.iter().all(Expr::is_free)
            && !(output.iter().chain(&filter))
                .any(|expr| expr.calls_routine() || expr.has_subquery());
        if range.equal.len() != primary.columns.len() || access.offset != 0 || !free {
            return None;
        }
        let types = primary
            .columns
            .iter()
            .map(|column| table.columns[*column].ty);
        for expr in output.iter_mut().chain(&mut filter) {
            renumber(expr, &mut columns);
        }
        let places = output.iter().enumerate();
        let is_frame = places
            .into_iter()
            .all(|(place, expr)| matches!(expr, Expr::Column(column, _) if *column == place));
        let key: Vec<_> = range.equal.iter().cloned().zip(types).collect();
        Some(PointRow {
            lean: LeanRow::new(table, &key, filter.as_ref(), &output, &columns),
            is_frame,
            glance: Arc::new(Glance::new(table.layout.clone(), columns.clone())),
            table: TableRef::clone(table),
            key,
            columns,
            filter,
            output,
        })
    }
}

impl LeanInsert {
    fn new(table: &TableDef, values: &[Expr]) -> LeanInsert {
        let values = values.iter();
        let values: Vec<_> = values
            .map(|value| Computed::new(value.clone(), None))
            .collect();
        let part = |column: &usize| {
            let formula = values[*column].formula.clone()?;
            Some((formula, table.columns[*column].ty))
        };
        let key = table.primary_key.as_ref();
        let key = key.and_then(|key| key.columns.iter().map(part).collect());
        LeanInsert { values, key }
    }
}

impl LeanRow {
    fn new(
        table: &TableDef,
        key: &[(Expr, SqlType)],
        filter: Option<&Expr>,
        output: &[Expr],
        columns: &[usize],
    ) -> Option<LeanRow> {
        let over_row = |expr: &Expr| Formula::new(expr, Some((table, columns)));
        let key = key.iter();
        let key = key.map(|(expr, ty)| Some((Formula::new(expr, None)?, *ty)));
        Some(LeanRow {
            key: key.collect::<Option<_>>()?,
            filter: match filter {
                Some(filter) => Some(over_row(filter)?),
                None => None,
            },
            output: output.iter().map(over_row).collect::<Option<_>>()?,
        })
    }
}

/// Lets an expression over the table's frame look at a frame of some of its columns, which it may extend.
fn renumber(expr: &mut Expr, columns: &mut Vec<usize>) {
    if let Expr::Column(column, _) = expr {
        let known = columns.iter().position(|known| known == column);
        let place = known.unwrap_or_else(|| {
            columns.push(*column);
            columns.len() - 1
        });
        *column = place;
    }
    expr.for_each_part_mut(&mut |part| renumber(part, columns));
}

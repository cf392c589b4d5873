//! Names in sight of an expression.
//!
//! Relies on: nothing but definitions.  Promises: a name resolves as in PostgreSQL: an unqualified
//! one must be unique among the visible columns, columns merged by USING count once.
//! Does not: know where rows come from; a column is any expression over the frame.

use crate::ctid::{self, CTID};
use crate::planner::{NamedColumn, Planner};
use crate::rewrite::move_columns;
use quintet_base::{SqlError, SqlResult, SqlState, SqlType, TableId, TypeMod, Value};
use quintet_ir::Expr;
use quintet_ir::function::{resolve, state};
use quintet_ir::partition::Partitioning;
use quintet_ir::schema::TableDef;
use std::cell::OnceCell;
use std::sync::Arc;

/// A column in sight.
#[derive(Clone, Debug)]
pub(crate) struct ScopeColumn {
    pub name: String,
    /// Its value: a place of the frame, or what a LATERAL expression stands for.
    pub expr: Expr,
    pub modifier: TypeMod,
    pub origin: Option<(TableId, u16)>,
}

/// A table, subquery or function in sight.
#[derive(Clone, Debug)]
pub(crate) struct ScopeTable {
    pub name: String,
    /// Set if the name is the table's own and may be written with its schema.
    pub schema: Option<String>,
    pub columns: Vec<ScopeColumn>,
    /// `tableoid`, of a table.
    pub table_oid: Option<TableOid>,
    /// The table or view whose rows these are, as they are: its own, or what a function gives.
    pub row: Option<TableId>,
    /// It is on the optional side of an outer join: there may be no row of it.
    pub is_optional: bool,
}

/// Which relation a row is in: a column that nobody sees who does not name it.
#[derive(Clone, Debug)]
pub(crate) struct TableOid {
    relation: u32,
    /// Of a divided table: what its partitions are, and where the table's frame begins.
    parts: Option<(Arc<Partitioning>, usize)>,
    /// Never NULL where there is a row.
    anchor: Option<Expr>,
    /// Made when it is asked for: of many partitions it is long.
    column: OnceCell<ScopeColumn>,
    /// `xmax`, where RETURNING of an INSERT may ask for it.
    changed: Option<ScopeColumn>,
    /// `ctid`, where a statement may ask for it.
    place: RowPlace,
    /// `xmin`, there too.
    state: Option<Arc<ScopeColumn>>,
}

/// `ctid` of a table in sight.
#[derive(Clone, Debug)]
enum RowPlace {
    /// It has none here.
    None,
    /// Its key is none that could be shown so.
    OfNoNumber,
    Column(Box<ScopeColumn>),
}

/// What PostgreSQL calls the transaction that has changed a row; of one that INSERT has added it is 0, and it is not of one that ON
/// CONFLICT DO UPDATE has found.
const CHANGED: &str = "xmax";

/// What PostgreSQL calls the transaction that has left a row as it is: here a number that is another when the row is.
const XMIN: &str = "xmin";

/// What that column is called.
const TABLE_OID: &str = "tableoid";

impl TableOid {
    /// Of a relation with this number; `anchor` is never NULL where there is a row.
    pub fn of_relation(relation: u32, anchor: Option<Expr>) -> TableOid {
        TableOid {
            relation,
            parts: None,
            anchor,
            column: OnceCell::new(),
            changed: None,
            place: RowPlace::None,
            state: None,
        }
    }

    fn of_table(table: &TableDef, offset: usize) -> TableOid {
        let divided = table
            .partitions
            .as_ref()
            .and_then(|partitions| partitions.division());
        let key = table.primary_key.as_ref().map(|key| key.columns[0]);
        let place = key.or_else(|| table.rowid_column());
        TableOid {
            relation: table.relation().0,
            parts: divided.map(|all| (Arc::clone(all), offset)),
            anchor: place.map(|place| Expr::Column(offset + place, table.frame_type(place))),
            column: OnceCell::new(),
            changed: None,
            place: RowPlace::None,
            state: None,
        }
    }

    /// Where its name stands for this: whether the row was there before.
    fn tell_changed(&mut self, was_there: Option<Expr>) {
        let number = |number| Expr::Const(Value::Oid(number), SqlType::Xid);
        let branches = was_there.into_iter().map(|there| (there, number(1)));
        self.changed = Some(ScopeColumn {
            name: CHANGED.to_string(),
            expr: Expr::Case {
                branches: branches.collect(),
                otherwise: Some(Box::new(number(0))),
                ty: SqlType::Xid,
            },
            modifier: TypeMod::NONE,
            origin: None,
        });
    }

    /// The column of this name that only who names it sees.
    fn named(&self, name: &str) -> Option<&ScopeColumn> {
        match name {
            TABLE_OID => Some(self.column()),
            CHANGED => self.changed.as_ref(),
            XMIN => self.state.as_deref(),
            CTID => match &self.place {
                RowPlace::Column(column) => Some(column),
                _ => None,
            },
            _ => None,
        }
    }

    /// The same when a statement names it.
    fn read(&self, planner: &Planner, name: &str) -> Option<&ScopeColumn> {
        let found = self.named(name)?;
        planner.names_beyond_columns(TableId(self.relation));
        Some(found)
    }

    /// Whether a name is that of a place which the rows cannot show.
    ///
    /// # Errors
    /// `0A000` if it is.
    fn can_show(&self, planner: &Planner, name: &str, location: i32) -> SqlResult<()> {
        match (name, &self.place) {
            (CTID, RowPlace::OfNoNumber) => {
                let what = "ctid of a table whose primary key is not a single integer";
                Err(planner.unsupported(what, location))
            }
            _ => Ok(()),
        }
    }

    fn column(&self) -> &ScopeColumn {
        self.column.get_or_init(|| {
            let mut branches = Vec::new();
            if let Some(anchor) = &self.anchor {
                let missing = Expr::IsNull {
                    input: Box::new(anchor.clone()),
                    negated: false,
                };
                branches.push((missing, Expr::Const(Value::Null, SqlType::Oid)));
            }
            let expr = match &self.parts {
                Some((parts, offset)) => leaf(parts, self.relation, *offset, branches),
                None => Expr::Case {
                    branches,
                    otherwise: Some(Box::new(number(self.relation))),
                    ty: SqlType::Oid,
                },
            };
            ScopeColumn {
                name: TABLE_OID.to_string(),
                expr,
                modifier: TypeMod::NONE,
                origin: None,
            }
        })
    }
}

/// `xmin` of a table's rows, whose frame begins at `offset`; NULL where `anchor` is.
fn state_of(table: &TableDef, offset: usize, anchor: Option<&Expr>) -> Option<ScopeColumn> {
    let columns = table.visible_columns();
    let values = columns.map(|(number, column)| Expr::Column(offset + number, column.ty));
    let args: Vec<Expr> = values.collect();
    let types: Vec<SqlType> = args.iter().map(Expr::ty).collect();
    let resolved = resolve(state::OF_ROW, &types).ok()?;
    let ty = resolved.result;
    let function = resolved.function;
    let mut expr = Expr::Call { function, args, ty };
    if let Some(anchor) = anchor {
        let is_there = Expr::IsNull {
            input: Box::new(anchor.clone()),
            negated: true,
        };
        expr = Expr::Case {
            branches: vec![(is_there, expr)],
            otherwise: None,
            ty,
        };
    }
    Some(ScopeColumn {
        name: XMIN.to_string(),
        expr,
        modifier: TypeMod::NONE,
        origin: None,
    })
}

fn number(number: u32) -> Expr {
    Expr::Const(Value::Oid(number), SqlType::Oid)
}

/// The number of the leaf that a row is in, `otherwise` if there is none; the table's frame begins at `offset`.
fn leaf(
    parts: &Partitioning,
    otherwise: u32,
    offset: usize,
    mut branches: Vec<(Expr, Expr)>,
) -> Expr {
    branches.extend(parts.parts.iter().enumerate().map(|(place, part)| {
        let condition = move_columns(&parts.condition(place), &|column| column + offset);
        let found = match &part.inner {
            None => number(part.id.0),
            Some(inner) => leaf(inner, part.id.0, offset, Vec::new()),
        };
        (condition, found)
    }));
    Expr::Case {
        branches,
        otherwise: Some(Box::new(number(otherwise))),
        ty: SqlType::Oid,
    }
}

/// All that is in sight.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    pub tables: Vec<ScopeTable>,
    /// What `*` stands for and unqualified names find: table and column numbers, in order.
    pub visible: Vec<(usize, usize)>,
    /// The other side of a RIGHT or FULL join: what it says of a row is not known yet.
    pub unreachable: Vec<ScopeTable>,
}

fn beyond_reach(planner: &Planner, table: &str, location: i32) -> SqlError {
    let message = format!("invalid reference to FROM-clause entry for table \"{table}\"");
    planner
        .error(SqlState(*b"42P10"), message, location)
        .detail("The combining JOIN type must be INNER or LEFT for a LATERAL reference.")
}

/// The name of a table's hidden row id: SQL has no way to write it.
pub(crate) const ROW_ID: &str = "";

/// Begins the name of a column that `*` does not stand for, though SQL may name it without this.
pub(crate) const UNSTARRED: char = '\u{2}';

impl ScopeColumn {
    /// Whether `*` stands for it.
    pub fn is_starred(&self) -> bool {
        !self.name.starts_with(UNSTARRED)
    }

    /// Whether this is what it is called.
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.name.strip_prefix(UNSTARRED) == Some(name)
    }

    /// It is the row id, which only statements that Quintet makes itself name.
    pub fn is_hidden(&self) -> bool {
        self.name == ROW_ID
    }
}

impl ScopeTable {
    /// What is never NULL where there is a row, if that is known.
    pub fn anchor(&self) -> Option<&Expr> {
        self.table_oid.as_ref()?.anchor.as_ref()
    }

    /// What `*` stands for.
    pub fn shown(&self) -> impl Iterator<Item = &ScopeColumn> {
        self.columns.iter().filter(|column| !column.is_hidden())
    }

    /// The same of a table whose statement may ask for `ctid` and `xmin`.
    pub fn with_places(
        table: &TableDef,
        name: &str,
        schema: Option<&str>,
        offset: usize,
    ) -> ScopeTable {
        let mut scope = ScopeTable::of_table(table, name, schema, offset);
        if let Some(number) = &mut scope.table_oid {
            number.place = match ctid::of_table(table, offset) {
                None => RowPlace::OfNoNumber,
                Some(expr) => RowPlace::Column(Box::new(ScopeColumn {
                    name: CTID.to_string(),
                    expr,
                    modifier: TypeMod::NONE,
                    origin: None,
                })),
            };
            number.state = state_of(table, offset, number.anchor.as_ref()).map(Arc::new);
        }
        scope
    }

    /// A table's visible columns with their frame at `offset`, and its row id.
    pub fn of_table(
        table: &TableDef,
        name: &str,
        schema: Option<&str>,
        offset: usize,
    ) -> ScopeTable {
        let columns = table.visible_columns().map(|(number, column)| ScopeColumn {
            name: column.name.clone(),
            expr: Expr::Column(offset + number, column.ty),
            modifier: column.modifier,
            origin: Some((table.relation(), number as u16 + 1)),
        });
        let row_id = table.rowid_column().map(|place| ScopeColumn {
            name: ROW_ID.to_string(),
            expr: Expr::Column(offset + place, SqlType::Int8),
            modifier: TypeMod::NONE,
            origin: None,
        });
        ScopeTable {
            is_optional: false,
            name: name.to_string(),
            schema: schema.map(str::to_string),
            columns: columns.chain(row_id).collect(),
            table_oid: Some(TableOid::of_table(table, offset)),
            row: Some(table.relation()),
        }
    }
}

impl Scope {
    /// Nothing in sight.
    pub fn empty() -> Scope {
        Scope::default()
    }

    /// One table under its own name, frame at 0.
    pub fn of_table(table: &TableDef) -> Scope {
        let mut scope = Scope::empty();
        scope.add(ScopeTable::of_table(
            table,
            &table.name,
            Some(&table.schema),
            0,
        ));
        scope
    }

    /// Puts a table in sight, all its columns visible.
    pub fn add(&mut self, table: ScopeTable) {
        let number = self.tables.len();
        let columns = table.columns.iter().enumerate();
        let shown = columns.filter(|(_, column)| !column.is_hidden());
        self.visible
            .extend(shown.map(|(column, _)| (number, column)));
        self.tables.push(table);
    }

    fn column(&self, (table, column): (usize, usize)) -> &ScopeColumn {
        &self.tables[table].columns[column]
    }

    /// The visible columns in order.
    pub fn visible_columns(&self) -> impl Iterator<Item = &ScopeColumn> {
        self.visible.iter().map(|&place| self.column(place))
    }

    /// The visible column with this name, if there is exactly one.
    ///
    /// # Errors
    /// `42702` if there are several.
    pub fn find(
        &self,
        planner: &Planner,
        name: &str,
        location: i32,
    ) -> SqlResult<Option<&ScopeColumn>> {
        let mut found = self
            .visible_columns()
            .filter(|column| column.is_called(name));
        let first = found.next();
        planner.use_origin(first.and_then(|column| column.origin));
        if found.next().is_some() {
            let message = format!("column reference \"{name}\" is ambiguous");
            return Err(planner.error(SqlState::AMBIGUOUS_COLUMN, message, location));
        }
        Ok(first)
    }

    /// The table with this name.
    pub fn table(
        &self,
        planner: &Planner,
        schema: Option<&str>,
        name: &str,
        location: i32,
    ) -> SqlResult<&ScopeTable> {
        let matches = |table: &&ScopeTable| {
            table.name == name && (schema.is_none() || table.schema.as_deref() == schema)
        };
        let mut found = self.tables.iter().filter(matches);
        let first = found.next();
        // The row proposed to a table that is called so itself.
        if first.is_some() && found.next().is_some() {
            let message = format!("table reference \"{name}\" is ambiguous");
            return Err(planner.error(SqlState::AMBIGUOUS_ALIAS, message, location));
        }
        first.ok_or_else(|| {
            if self.unreachable.iter().any(|table| matches(&table)) {
                return beyond_reach(planner, name, location);
            }
            let message = format!("missing FROM-clause entry for table \"{name}\"");
            planner.error(SqlState::UNDEFINED_TABLE, message, location)
        })
    }

    /// The column that a possibly qualified name stands for.
    pub fn resolve(
        &self,
        planner: &Planner,
        name: &[&str],
        location: i32,
    ) -> SqlResult<&ScopeColumn> {
        let undefined = |message| Err(planner.error(SqlState::UNDEFINED_COLUMN, message, location));
        let name = planner.local(name, 3).map_err(planner.at(location))?;
        let (schema, table, column) = match name {
            [column] => {
                let found = self.find(planner, column, location)?;
                if let Some(found) = found.or_else(|| self.single_value(column)) {
                    planner.use_origin(found.origin);
                    self.tell_named(planner, found, location);
                    return Ok(found);
                }
                for number in self.tables.iter().filter_map(|it| it.table_oid.as_ref()) {
                    number.can_show(planner, column, location)?;
                }
                let mut numbers = self
                    .tables
                    .iter()
                    .filter_map(|table| table.table_oid.as_ref()?.read(planner, column));
                return match (numbers.next(), numbers.next()) {
                    (Some(only), None) => Ok(only),
                    (Some(_), Some(_)) => {
                        let message = format!("column reference \"{column}\" is ambiguous");
                        Err(planner.error(SqlState::AMBIGUOUS_COLUMN, message, location))
                    }
                    _ => {
                        let mut beyond = self.unreachable.iter();
                        let beyond =
                            beyond.find(|table| table.shown().any(|other| other.name == *column));
                        match beyond {
                            Some(table) => Err(beyond_reach(planner, &table.name, location)),
                            None => undefined(format!("column \"{column}\" does not exist")),
                        }
                    }
                };
            }
            [table, column] => (None, *table, *column),
            [schema, table, column] => (Some(*schema), *table, *column),
            _ => return Err(planner.unsupported(format!("the name {}", name.join(".")), location)),
        };
        let found = self.table(planner, schema, table, location)?;
        let mut named = found.columns.iter().filter(|c| c.is_called(column));
        match (named.next(), named.next()) {
            (Some(found), None) => {
                planner.use_origin(found.origin);
                self.tell_named(planner, found, location);
                Ok(found)
            }
            (Some(_), Some(_)) => {
                let message = format!("column reference \"{column}\" is ambiguous");
                Err(planner.error(SqlState::AMBIGUOUS_COLUMN, message, location))
            }
            (None, _) => {
                let number = found.table_oid.as_ref();
                if let Some(number) = number {
                    number.can_show(planner, column, location)?;
                }
                match number.and_then(|number| number.read(planner, column)) {
                    Some(found) => Ok(found),
                    None => undefined(format!("column {table}.{column} does not exist")),
                }
            }
        }
    }

    /// Says which column a name stands for, if somebody asks.
    fn tell_named(&self, planner: &Planner, found: &ScopeColumn, location: i32) {
        let mut asked = planner.columns_named.borrow_mut();
        let Some(named) = asked.as_mut().filter(|_| location >= 0) else {
            return;
        };
        for table in &self.tables {
            let mut columns = table.columns.iter();
            if let Some(number) = columns.position(|column| std::ptr::eq(column, found)) {
                let column = NamedColumn {
                    table: table.name.clone(),
                    row: table.row,
                    number,
                    name: found.name.clone(),
                };
                named.insert(location, column);
            }
        }
    }

    /// `xmax` of the first table stands for whether a row of an INSERT was there before, which this says.
    pub fn tell_changed(&mut self, was_there: Option<Expr>) {
        let first = self.tables.first_mut();
        if let Some(number) = first.and_then(|table| table.table_oid.as_mut()) {
            number.tell_changed(was_there);
        }
    }

    /// The one column of a function with this alias whose column has a name of its own: `e` in
    /// `jsonb_array_elements(…) AS e` is the value, not a row.
    fn single_value(&self, alias: &str) -> Option<&ScopeColumn> {
        let table = self.tables.iter().find(|table| table.name == alias)?;
        match table.columns.as_slice() {
            [only] if only.name == "value" && only.origin.is_none() => Some(only),
            _ => None,
        }
    }

    /// The modifier that an expression's value has.
    pub fn modifier(&self, expr: &Expr) -> TypeMod {
        match expr {
            Expr::Cast { modifier, .. } => *modifier,
            Expr::Column(place, _) => self.by_place(*place).map_or(TypeMod::NONE, |c| c.modifier),
            Expr::Call { function, args, .. } if matches!(function.name, "[]" | "[:]") => args
                .first()
                .map_or(TypeMod::NONE, |array| self.modifier(array)),
            _ => TypeMod::NONE,
        }
    }

    /// The table column that an expression is, if it is one.
    pub fn origin(&self, expr: &Expr) -> Option<(TableId, u16)> {
        match expr {
            Expr::Column(place, _) => self.by_place(*place).and_then(|c| c.origin),
            _ => None,
        }
    }

    /// The column that stands for a place of the frame, with its table's name.
    pub fn by_place(&self, place: usize) -> Option<&ScopeColumn> {
        let is_here = |c: &&ScopeColumn| matches!(c.expr, Expr::Column(p, _) if p == place);
        self.tables.iter().flat_map(|t| &t.columns).find(is_here)
    }

    /// `table.column` for a place of the frame, for messages.
    pub fn describe(&self, place: usize) -> String {
        for table in &self.tables {
            for column in &table.columns {
                if matches!(column.expr, Expr::Column(p, _) if p == place) {
                    return format!("{}.{}", table.name, column.name);
                }
            }
        }
        "?".to_string()
    }
}

/// A column of a query's result, before it is told to a client.
#[derive(Clone, Debug)]
pub(crate) struct Output {
    pub name: String,
    pub ty: SqlType,
    pub modifier: TypeMod,
    pub origin: Option<(TableId, u16)>,
}

//! Expressions as PostgreSQL prints them: `((price >= (0)::numeric))`.
//!
//! Relies on: the parser's tree for the form, the binder for the types that decide which casts are shown.
//! Promises: what is printed reads back to the same expression; names, casts and parentheses as PostgreSQL 15 puts
//! them for the usual forms.  Does not: print what the binder cannot bind otherwise than it was written.
//!
//! *Pretty* is the shorter form, with the parentheses that are needed; the other one has them around each operator.

mod one_of;

use crate::call::split_name;
use crate::composite::type_of_rows;
use crate::expr::Binder;
use crate::names::{self, inner};
use crate::parse::{self, parse_expression};
use crate::planner::Planner;
use crate::records::ColumnRecord;
use crate::routine::{Parameter, is_routine, matched};
use crate::scope::Scope;
use crate::types;
use crate::view::context_of;
use pg_query::NodeEnum;
use pg_query::protobuf::{
    self, AExpr, AExprKind, BoolExprType, BoolTestType, Node, NullTestType, SqlValueFunctionOp,
    a_const,
};
use quintet_base::text_format::FormatContext;
use quintet_base::types::{TypeFamily, format_declared};
use quintet_base::{IndexId, RangeKind, SqlType, TypeMod, Value};
use quintet_ir::function;
use quintet_ir::function::extension::type_of_function;
use quintet_ir::schema::TableDef;
use quintet_ir::{CompareOp, Expr};

/// How many digits of a second there are.
const DIGITS_MAX: i32 = 6;

/// How strongly a printed piece holds together, loosest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Bond {
    Or,
    And,
    Not,
    /// IS NULL, comparisons, other operators.
    Operator,
    Sum,
    Product,
    /// Names, constants, calls, casts.
    Atom,
}

struct Printer<'p, 'a, 'r> {
    /// What names in it mean.
    planner: &'p Planner<'a>,
    /// Who sees relations by their names alone.
    reader: &'p Planner<'r>,
    /// A schema that names may mean without saying so.
    home: Option<&'p str>,
    scope: &'p Scope,
    pretty: bool,
    /// Columns with their tables' names.
    qualified: bool,
    /// The one name in sight is the grammar's word for a domain's value.
    value: bool,
}

/// Something done where names mean what they mean in the definitions of a schema's objects, whatever the reader's search path.
pub(super) fn within<R>(reader: &Planner, home: &str, act: impl FnOnce(&Planner) -> R) -> R {
    let path = format!("{}, public", quoted(home));
    let context = context_of(reader.context, &path);
    let planner = Planner::new(&context, "", &[]);
    let elsewhere = reader.read_from.borrow().clone();
    let told = elsewhere.unwrap_or_else(|| reader.path().to_vec());
    planner.read_from.replace(Some(told));
    act(&planner)
}

/// A stored expression's text, printed for a reader; as it is stored if it cannot be read any more.
pub(super) fn source(
    (planner, reader): (&Planner, &Planner),
    scope: &Scope,
    source: &str,
    pretty: bool,
) -> String {
    let printer = Printer {
        planner,
        reader,
        home: None,
        scope,
        pretty,
        qualified: false,
        value: false,
    };
    printed(&printer, source)
}

/// The same of a domain's check.
pub(super) fn source_of_value(
    planner: &Planner,
    scope: &Scope,
    source: &str,
    pretty: bool,
) -> String {
    let printer = Printer {
        value: true,
        ..plain(planner, scope, pretty)
    };
    printed(&printer, source)
}

/// The same of a condition over rows that are named: a trigger's.
pub(super) fn source_of_rows(
    planner: &Planner,
    scope: &Scope,
    source: &str,
    pretty: bool,
) -> String {
    let printer = Printer {
        qualified: true,
        ..plain(planner, scope, pretty)
    };
    printed(&printer, source)
}

/// A printer of expressions over a scope.
fn plain<'p, 'a>(planner: &'p Planner<'a>, scope: &'p Scope, pretty: bool) -> Printer<'p, 'a, 'a> {
    Printer {
        planner,
        reader: planner,
        home: None,
        scope,
        pretty,
        qualified: false,
        value: false,
    }
}

fn printed(printer: &Printer<'_, '_, '_>, source: &str) -> String {
    let Ok(node) = parse_expression(source) else {
        return source.to_string();
    };
    let printed = printer.print(&node, None);
    printed.map_or_else(|| source.to_string(), |(text, _)| text)
}

/// An index's expression: in parentheses, unless it is written like a call.
pub(crate) fn index_key(planner: &Planner, scope: &Scope, text: &str, pretty: bool) -> String {
    let printed = source((planner, planner), scope, text, pretty);
    let node = parse_expression(text).ok();
    let is_call = matches!(
        node.as_ref().and_then(inner),
        Some(
            NodeEnum::FuncCall(_)
                | NodeEnum::CoalesceExpr(_)
                | NodeEnum::MinMaxExpr(_)
                | NodeEnum::SqlvalueFunction(_)
        )
    );
    match is_call {
        true => printed,
        false => format!("({printed})"),
    }
}

/// A column of an index as its definition has it.
pub(super) fn key_text(planner: &Planner, table: &TableDef, column: usize, pretty: bool) -> String {
    let record = planner.catalog().record(table.id);
    let expression = record.filter(|record| record.is_hidden(column));
    match expression.and_then(|record| record.generated(column)) {
        Some(text) => within(planner, &table.schema, |planner| {
            index_key(planner, &Scope::of_table(table), text, pretty)
        }),
        None => quoted(&table.columns[column].name),
    }
}

/// `indexprs`: the expressions of an index, as text.
pub(super) fn index_expressions(planner: &Planner, table: &TableDef, number: u32) -> Value {
    let index = table.indexes.iter().find(|index| index.id.0 == number);
    let record = planner.catalog().record(table.id);
    let (Some(index), Some(record)) = (index, record) else {
        return Value::Null;
    };
    let hidden = index.asked().iter().filter(|c| record.is_hidden(**c));
    let scope = Scope::of_table(table);
    let texts: Vec<String> = within(planner, &table.schema, |planner| {
        let texts = hidden.filter_map(|c| {
            Some(source(
                (planner, planner),
                &scope,
                record.generated(*c)?,
                false,
            ))
        });
        texts.collect()
    });
    match texts.is_empty() {
        true => Value::Null,
        false => Value::text(texts.join(", ")),
    }
}

/// `indpred`: the predicate of an index, as text.
pub(super) fn index_predicate(planner: &Planner, table: &TableDef, number: u32) -> Value {
    let record = planner.catalog().record(table.id);
    let text = record.and_then(|record| record.predicate(IndexId(number)));
    let scope = Scope::of_table(table);
    text.map_or(Value::Null, |text| {
        Value::text(within(planner, &table.schema, |planner| {
            source((planner, planner), &scope, text, false)
        }))
    })
}

/// An expression with tables' names before columns; `None` if it has a form that is not known here.
pub(crate) fn certainly(
    planner: &Planner,
    scope: &Scope,
    node: &Node,
    pretty: bool,
) -> Option<String> {
    let printer = Printer {
        planner,
        reader: planner,
        home: None,
        scope,
        pretty,
        qualified: true,
        value: false,
    };
    printer.print(node, None).map(|(text, _)| text)
}

/// A column's default, printed; `home` is the schema of its table, which its text may not name.
pub(super) fn default(
    planner: &Planner,
    home: &str,
    column: &ColumnRecord,
    source: &str,
) -> String {
    let Ok(node) = parse_expression(source) else {
        return source.to_string();
    };
    within(planner, home, |within| {
        let scope = Scope::empty();
        let printer = Printer {
            planner: within,
            reader: planner,
            home: Some(home),
            scope: &scope,
            pretty: false,
            qualified: false,
            value: false,
        };
        let printed = printer.print(&node, Some(column.ty));
        printed.map_or_else(|| source.to_string(), |(text, _)| text)
    })
}

impl Printer<'_, '_, '_> {
    fn ty(&self, node: &Node) -> Option<SqlType> {
        let bound = self.planner.heights.known(|| {
            let bound = Binder::new(self.planner, self.scope, "expressions").bind(node);
            bound.or_else(|_| self.binder().bind(node))
        });
        bound.ok().map(|expr| expr.ty())
    }

    /// What belongs to a table may call functions.
    fn binder(&self) -> Binder<'_, '_> {
        Binder::new(self.planner, self.scope, "check constraints")
    }

    /// A user's function that is called: its name, with the schema where the reader needs that, and the types that it takes here, one for
    /// each that is given.
    fn routine(&self, call: &protobuf::FuncCall) -> Option<(String, Vec<SqlType>)> {
        if !is_routine(self.planner, call) {
            return None;
        }
        let found = matched(&self.binder(), call, false).ok()?;
        let parameters = found.signature.parameters.iter();
        let inputs = parameters.filter(|parameter| parameter.is_input());
        let record = &self.planner.catalog().routine(found.signature.id)?.record;
        let (catalog, key) = (self.planner.catalog(), found.signature.key());
        let hides = |schema: &str| {
            let mut others = self
                .reader
                .find_routines(Some(schema), &record.name)
                .into_iter();
            others.any(|other| other.signature(catalog).is_ok_and(|one| one.key() == key))
        };
        let is_built_in = record.schema == "pg_catalog";
        let name = match is_built_in || self.reader.is_read_from(&record.schema, hides) {
            true => quoted(&record.name),
            false => format!("{}.{}", quoted(&record.schema), quoted(&record.name)),
        };
        let taken = |parameter: &Parameter| match &parameter.row {
            Some(row) => type_of_rows(catalog, row.id).unwrap_or(SqlType::Unknown),
            None => parameter.ty,
        };
        Some((name, inputs.map(taken).collect()))
    }

    /// The text; `None` for a form that is not known here. `wanted`: what an untyped literal is read as.
    fn print(&self, node: &Node, wanted: Option<SqlType>) -> Option<(String, Bond)> {
        let atom = |text: String| Some((text, Bond::Atom));
        match inner(node)? {
            NodeEnum::AConst(constant) => atom(self.constant(constant, wanted)?),
            NodeEnum::ColumnRef(column) => atom(self.column(column)?),
            NodeEnum::TypeCast(cast) => self.cast(cast),
            NodeEnum::AExpr(expr) => self.operator(expr, wanted),
            NodeEnum::BoolExpr(expr) => self.logic(expr),
            NodeEnum::NullTest(test) => {
                let arg = self.inside(test.arg.as_deref()?, None, Bond::Atom)?;
                let words = match test.nulltesttype() {
                    NullTestType::IsNotNull => "IS NOT NULL",
                    _ => "IS NULL",
                };
                Some(self.wrapped(format!("{arg} {words}"), Bond::Operator))
            }
            NodeEnum::BooleanTest(test) => {
                let arg = self.inside(test.arg.as_deref()?, None, Bond::Atom)?;
                let words = match test.booltesttype() {
                    BoolTestType::IsTrue => "IS TRUE",
                    BoolTestType::IsNotTrue => "IS NOT TRUE",
                    BoolTestType::IsFalse => "IS FALSE",
                    BoolTestType::IsNotFalse => "IS NOT FALSE",
                    BoolTestType::IsNotUnknown => "IS NOT UNKNOWN",
                    _ => "IS UNKNOWN",
                };
                Some(self.wrapped(format!("{arg} {words}"), Bond::Operator))
            }
            NodeEnum::FuncCall(call) => atom(self.call(call)?),
            NodeEnum::CoalesceExpr(coalesce) => {
                let args = self.list(&coalesce.args, self.ty(node))?;
                atom(format!("COALESCE({args})"))
            }
            NodeEnum::MinMaxExpr(extreme) => {
                let name = match extreme.op() {
                    protobuf::MinMaxOp::IsLeast => "LEAST",
                    _ => "GREATEST",
                };
                let args = self.list(&extreme.args, self.ty(node))?;
                atom(format!("{name}({args})"))
            }
            NodeEnum::AArrayExpr(array) => {
                let element = wanted.and_then(SqlType::element);
                let element = element.or_else(|| self.ty(node)?.element());
                let elements = self.list(&array.elements, element)?;
                atom(format!("ARRAY[{elements}]"))
            }
            NodeEnum::SqlvalueFunction(value) => {
                use SqlValueFunctionOp::*;
                let digits = value.typmod.min(DIGITS_MAX);
                atom(
                    match value.op() {
                        SvfopCurrentTimeN => return atom(format!("CURRENT_TIME({digits})")),
                        SvfopCurrentTimestampN => {
                            return atom(format!("CURRENT_TIMESTAMP({digits})"));
                        }
                        SvfopLocaltimeN => return atom(format!("LOCALTIME({digits})")),
                        SvfopLocaltimestampN => return atom(format!("LOCALTIMESTAMP({digits})")),
                        SvfopCurrentDate => "CURRENT_DATE",
                        SvfopCurrentTime => "CURRENT_TIME",
                        SvfopCurrentTimestamp => "CURRENT_TIMESTAMP",
                        SvfopLocaltime => "LOCALTIME",
                        SvfopLocaltimestamp => "LOCALTIMESTAMP",
                        SvfopCurrentRole => "CURRENT_ROLE",
                        SvfopCurrentUser => "CURRENT_USER",
                        SvfopUser => "USER",
                        SvfopSessionUser => "SESSION_USER",
                        SvfopCurrentCatalog => "CURRENT_CATALOG",
                        SvfopCurrentSchema => "CURRENT_SCHEMA",
                        _ => return None,
                    }
                    .to_string(),
                )
            }
            NodeEnum::CaseExpr(case) => atom(self.case(case, self.ty(node))?),
            _ => None,
        }
    }

    /// A piece inside another that needs it to hold together at least so strongly.
    fn inside(&self, node: &Node, wanted: Option<SqlType>, least: Bond) -> Option<String> {
        let (text, bond) = self.print(node, wanted)?;
        Some(match bond < least {
            true => format!("({text})"),
            false => text,
        })
    }

    /// Parentheses around an operator, unless they are left out where they can be.
    fn wrapped(&self, text: String, bond: Bond) -> (String, Bond) {
        match self.pretty {
            true => (text, bond),
            false => (format!("({text})"), Bond::Atom),
        }
    }

    fn list(&self, nodes: &[Node], wanted: Option<SqlType>) -> Option<String> {
        let texts: Option<Vec<String>> = nodes
            .iter()
            .map(|node| match wanted {
                Some(wanted) => self.converted(node, wanted, Bond::Or),
                None => self.print(node, None).map(|(text, _)| text),
            })
            .collect();
        Some(texts?.join(", "))
    }

    /// An argument of an operator or function that takes this type: conversions that were not written are shown.
    fn converted(&self, node: &Node, wanted: SqlType, least: Bond) -> Option<String> {
        let own = self.ty(node)?;
        if own == wanted || own == SqlType::Unknown || wanted == SqlType::Unknown {
            return self.inside(node, Some(wanted), least);
        }
        let whole = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if let Some(NodeEnum::AConst(constant)) = inner(node) {
            let text = self.constant(constant, None)?;
            let ty = cast_name(wanted);
            return Some(match self.pretty || !whole(&text) {
                true => format!("{text}::{ty}"),
                false => format!("({text})::{ty}"),
            });
        }
        let (text, bond) = self.print(node, None)?;
        Some(self.cast_text(&text, bond, &cast_name(wanted)))
    }

    fn cast_text(&self, text: &str, bond: Bond, ty: &str) -> String {
        match self.pretty && bond == Bond::Atom {
            true => format!("{text}::{ty}"),
            false if text.starts_with('(') && text.ends_with(')') && closes_at_end(text) => {
                format!("{text}::{ty}")
            }
            false => format!("({text})::{ty}"),
        }
    }

    fn constant(&self, constant: &protobuf::AConst, wanted: Option<SqlType>) -> Option<String> {
        let labelled = |text: &str, ty: SqlType| {
            let quoted = text.replace('\'', "''");
            let mark = if text.contains('\\') { "E" } else { "" };
            let quoted = quoted.replace('\\', "\\\\");
            format!("{mark}'{quoted}'::{}", cast_name(ty))
        };
        if constant.isnull {
            return Some(match wanted {
                Some(SqlType::Unknown) | None => "NULL".to_string(),
                Some(ty) => format!("NULL::{}", cast_name(ty)),
            });
        }
        Some(match constant.val.as_ref()? {
            a_const::Val::Ival(integer) if integer.ival < 0 => {
                labelled(&integer.ival.to_string(), SqlType::Int4)
            }
            a_const::Val::Ival(integer) => integer.ival.to_string(),
            a_const::Val::Fval(float) => match float.fval.parse::<i64>() {
                Ok(number) => labelled(&number.to_string(), SqlType::Int8),
                Err(_) if float.fval.starts_with('-') => labelled(&float.fval, SqlType::Numeric),
                Err(_) => float.fval.clone(),
            },
            a_const::Val::Boolval(value) => value.boolval.to_string(),
            a_const::Val::Sval(text) => {
                let ty = wanted.filter(|ty| *ty != SqlType::Unknown);
                let ty = ty.unwrap_or(SqlType::Text);
                labelled(&as_value(&text.sval, ty), ty)
            }
            a_const::Val::Bsval(bits) => {
                labelled(&as_value(&bits.bsval, SqlType::Bit), SqlType::Bit)
            }
        })
    }

    fn column(&self, column: &protobuf::ColumnRef) -> Option<String> {
        let parts = names::strings(&column.fields);
        if parts.len() != column.fields.len() {
            // A whole row: `old.*`.
            return match parts[..] {
                [row] if self.qualified => Some(format!("{}.*", quoted(row))),
                _ => None,
            };
        }
        if self.value && parts == ["value"] {
            return Some("VALUE".to_string());
        }
        let name = quoted(parts.last()?);
        if !self.qualified {
            return Some(name);
        }
        let table = match parts[..] {
            [.., table, _] => table.to_string(),
            [column] => {
                let holds = |table: &&crate::scope::ScopeTable| {
                    table.columns.iter().any(|other| other.name == column)
                };
                self.scope.tables.iter().find(holds)?.name.clone()
            }
            [] => return None,
        };
        Some(format!("{}.{name}", quoted(&table)))
    }

    /// A literal of a type with a length, which takes the place of the type by itself.
    fn of_length(
        &self,
        constant: &protobuf::AConst,
        ty: SqlType,
        modifier: TypeMod,
    ) -> Option<String> {
        let text = self.constant(constant, Some(ty))?;
        let text = text.strip_suffix(&cast_name(ty))?;
        Some(format!("{text}{}", format_declared(ty, modifier)))
    }

    fn cast(&self, cast: &protobuf::TypeCast) -> Option<(String, Bond)> {
        let name = cast.type_name.as_ref()?;
        let (ty, modifier) = types::resolve(self.planner, name).ok()?;
        let arg = cast.arg.as_deref()?;
        let shown = format_declared(ty, modifier);
        if matches!(inner(arg), Some(NodeEnum::AConst(constant)) if constant.isnull) {
            return Some((format!("NULL::{shown}"), Bond::Atom));
        }
        if let Some(NodeEnum::AConst(constant)) = inner(arg)
            && ty == SqlType::Bit
            && matches!(constant.val, Some(a_const::Val::Bsval(_)))
        {
            return Some((self.of_length(constant, ty, modifier)?, Bond::Atom));
        }
        if let Some(NodeEnum::AConst(constant)) = inner(arg)
            && matches!(constant.val, Some(a_const::Val::Sval(_)))
        {
            if matches!(ty.family(), TypeFamily::Text | TypeFamily::Bits) {
                return Some((self.of_length(constant, ty, modifier)?, Bond::Atom));
            }
            if ty == SqlType::Bool {
                // The grammar's way of writing TRUE and FALSE, too.
                let text = self.constant(constant, Some(SqlType::Text))?;
                match text.trim_end_matches("::text") {
                    "'t'" => return Some(("true".into(), Bond::Atom)),
                    "'f'" => return Some(("false".into(), Bond::Atom)),
                    _ => {}
                }
            }
            if ty == SqlType::Interval && modifier != TypeMod::NONE {
                // Its fields say what the number is.
                let node = parse::wrap(NodeEnum::TypeCast(Box::new(cast.clone())));
                let bound = Binder::new(self.planner, self.scope, "expressions").bind(&node);
                let Ok(Expr::Const(value @ Value::Interval(_), _)) =
                    bound.map(quintet_ir::fold::fold)
                else {
                    return None;
                };
                let text =
                    quintet_base::text_format::to_string(&value, ty, &FormatContext::default());
                return Some((format!("'{text}'::interval"), Bond::Atom));
            }
            let label = self.constant(constant, Some(ty))?;
            return Some(match modifier {
                TypeMod::NONE => (label, Bond::Atom),
                _ => (self.cast_text(&label, Bond::Atom, &shown), Bond::Atom),
            });
        }
        if let (Some(NodeEnum::AArrayExpr(array)), Some(element)) = (inner(arg), ty.element()) {
            let elements = self.list(&array.elements, Some(element))?;
            let text = format!("ARRAY[{elements}]");
            return Some(match array.elements.is_empty() {
                true => (format!("{text}::{shown}"), Bond::Atom),
                false => (text, Bond::Atom),
            });
        }
        if self.ty(arg) == Some(ty) && modifier == TypeMod::NONE {
            return self.print(arg, Some(ty));
        }
        let (text, bond) = self.print(arg, Some(ty))?;
        Some((self.cast_text(&text, bond, &shown), Bond::Atom))
    }

    fn operator(&self, expr: &AExpr, _: Option<SqlType>) -> Option<(String, Bond)> {
        let symbol = names::built_in(&expr.name)?;
        let right = expr.rexpr.as_deref()?;
        let Some(left) = expr.lexpr.as_deref() else {
            let (text, bond) = self.print(right, None)?;
            let text = match bond {
                Bond::Atom => text,
                _ => format!("({text})"),
            };
            let symbol = self.operator_of(symbol, &[self.ty(right)?]);
            return Some(self.wrapped(format!("{symbol} {text}"), Bond::Operator));
        };
        use AExprKind::*;
        match expr.kind() {
            AexprOp | AexprLike | AexprIlike => {
                let symbol = if symbol == "!=" { "<>" } else { symbol };
                self.binary(symbol, left, right)
            }
            AexprIn => self.one_of(symbol, left, names::list(right)?),
            AexprOpAny | AexprOpAll => {
                let which = match expr.kind() {
                    AexprOpAny => "ANY",
                    _ => "ALL",
                };
                let own = self.ty(left)?;
                // A literal is an array of the other side's type.
                let wanted = match (self.ty(right), own) {
                    (Some(SqlType::Unknown), SqlType::Citext) => Some(SqlType::CitextArray),
                    _ => None,
                };
                let symbol = self.operator_of(symbol, &[own]);
                let left = self.inside(left, None, Bond::Atom)?;
                let right = self.print(right, wanted)?.0;
                let text = format!("{left} {symbol} {which} ({right})");
                Some(self.wrapped(text, Bond::Operator))
            }
            AexprBetween | AexprNotBetween => {
                let [low, high] = names::list(right)? else {
                    return None;
                };
                let (low_symbol, word, high_symbol, bond) = match expr.kind() {
                    AexprBetween => (">=", "AND", "<=", Bond::And),
                    _ => ("<", "OR", ">", Bond::Or),
                };
                let low = self.binary(low_symbol, left, low)?.0;
                let high = self.binary(high_symbol, left, high)?.0;
                Some(self.wrapped(format!("{low} {word} {high}"), bond))
            }
            AexprDistinct | AexprNotDistinct => {
                let words = match expr.kind() {
                    AexprDistinct => "IS DISTINCT FROM",
                    _ => "IS NOT DISTINCT FROM",
                };
                let whole = |node: &Node| match inner(node) {
                    Some(NodeEnum::ColumnRef(column)) => {
                        let is_row = names::strings(&column.fields).len() < column.fields.len();
                        is_row.then(|| self.column(column))?
                    }
                    _ => None,
                };
                if let (Some(left), Some(right)) = (whole(left), whole(right)) {
                    return Some(self.wrapped(format!("{left} {words} {right}"), Bond::Operator));
                }
                self.binary(words, left, right)
            }
            AexprNullif => {
                let ty = self.ty(left)?;
                let left = self.print(left, None)?.0;
                let right = self.print(right, Some(ty))?.0;
                Some((format!("NULLIF({left}, {right})"), Bond::Atom))
            }
            _ => None,
        }
    }

    /// `left symbol right`, each with the conversion that the operator chosen asks for.
    fn binary(&self, symbol: &str, left: &Node, right: &Node) -> Option<(String, Bond)> {
        let own = [self.ty(left)?, self.ty(right)?];
        let wanted = operand_types(symbol, own)?;
        let bond = match symbol {
            "+" | "-" => Bond::Sum,
            "*" | "/" | "%" => Bond::Product,
            _ => Bond::Operator,
        };
        // PostgreSQL leaves parentheses out between arithmetic only.
        let (least, least_right) = match bond {
            Bond::Sum => (Bond::Sum, Bond::Product),
            Bond::Product => (Bond::Product, Bond::Atom),
            _ => (Bond::Atom, Bond::Atom),
        };
        let left = self.converted(left, wanted[0], least)?;
        let right = self.converted(right, wanted[1], least_right)?;
        let symbol = self.operator_of(symbol, &wanted);
        Some(self.wrapped(format!("{left} {symbol} {right}"), bond))
    }

    /// The operator over these types; with its schema if it is an extension's that the reader does not see.
    fn operator_of(&self, symbol: &str, types: &[SqlType]) -> String {
        let is_symbol = !symbol.starts_with("IS ");
        let mut own = types.iter().filter(|_| is_symbol);
        let own = own.find(|ty| matches!(ty, SqlType::Citext | SqlType::Hstore));
        match own.and_then(|ty| self.schema_of_extension(*ty)) {
            Some(schema) => format!("OPERATOR({schema}.{symbol})"),
            None => symbol.to_string(),
        }
    }

    /// The schema of a type that an extension has brought, if the reader does not see the type without.
    fn schema_of_extension(&self, ty: SqlType) -> Option<String> {
        let record = self.planner.catalog().user_type(ty.oid())?;
        let hides = |schema: &str| {
            self.planner
                .catalog()
                .type_named(schema, &record.name)
                .is_some()
        };
        let is_seen = self.reader.is_read_from(&record.schema, hides);
        (!is_seen).then(|| quoted(&record.schema))
    }

    fn logic(&self, expr: &protobuf::BoolExpr) -> Option<(String, Bond)> {
        let (word, bond) = match expr.boolop() {
            BoolExprType::AndExpr => (" AND ", Bond::And),
            BoolExprType::OrExpr => (" OR ", Bond::Or),
            _ => {
                let arg = self.inside(expr.args.first()?, None, Bond::Operator)?;
                return Some(self.wrapped(format!("NOT {arg}"), Bond::Not));
            }
        };
        let parts = expr.args.iter().map(|arg| self.inside(arg, None, bond));
        let parts: Option<Vec<String>> = parts.collect();
        Some(self.wrapped(parts?.join(word), bond))
    }

    fn call(&self, call: &protobuf::FuncCall) -> Option<String> {
        if call.over.is_some() || call.agg_within_group {
            return None;
        }
        let name = names::strings(&call.funcname);
        let name = match name[..] {
            ["pg_catalog", name] => name.to_string(),
            _ => name
                .iter()
                .map(|part| quoted(part))
                .collect::<Vec<_>>()
                .join("."),
        };
        // The grammar has them in no other form.
        match (name.as_str(), call.args.as_slice()) {
            ("extract", [field, from]) => {
                let Some(NodeEnum::AConst(constant)) = inner(field) else {
                    return None;
                };
                let Some(a_const::Val::Sval(field)) = &constant.val else {
                    return None;
                };
                let (from, _) = self.print(from, None)?;
                return Some(format!("EXTRACT({} FROM {from})", quoted(&field.sval)));
            }
            ("position", [text, part]) => {
                let part = self.inside(part, Some(SqlType::Text), Bond::Atom)?;
                let text = self.inside(text, Some(SqlType::Text), Bond::Atom)?;
                return Some(format!("POSITION(({part}) IN ({text}))"));
            }
            _ => {}
        }
        if call.agg_star {
            return Some(format!("{name}(*)"));
        }
        if call.agg_distinct || call.agg_filter.is_some() || !call.agg_order.is_empty() {
            return None;
        }
        if let ("nextval" | "currval" | "setval", [sequence, rest @ ..]) =
            (name.as_str(), call.args.as_slice())
        {
            let mut args = vec![self.sequence(sequence)?];
            if !rest.is_empty() {
                args.push(self.list(rest, None)?);
            }
            return Some(format!("{name}({})", args.join(", ")));
        }
        let own: Option<Vec<SqlType>> = call.args.iter().map(|arg| self.ty(arg)).collect();
        let resolved = function::resolve(&name, &own?);
        let brought = type_of_function(&name).and_then(|ty| self.schema_of_extension(ty));
        let (name, wanted) = match resolved {
            Ok(found) => match brought {
                Some(schema) => (format!("{schema}.{name}"), found.args),
                None => (name, found.args),
            },
            Err(_) => match (self.routine(call), call.funcname.len()) {
                (Some(found), 1) => found,
                // A view's text has its schemas already.
                (found, _) => (name, found.map_or(Vec::new(), |(_, wanted)| wanted)),
            },
        };
        let args = call
            .args
            .iter()
            .enumerate()
            .map(|(number, arg)| match wanted.get(number) {
                Some(&wanted) => self.converted(arg, wanted, Bond::Or),
                None => self.print(arg, None).map(|(text, _)| text),
            });
        let mut args = args.collect::<Option<Vec<String>>>()?;
        if let (true, Some(last)) = (call.func_variadic, args.last_mut()) {
            last.insert_str(0, "VARIADIC ");
        }
        Some(format!("{name}({})", args.join(", ")))
    }

    /// The sequence that a constant names.
    fn sequence(&self, node: &Node) -> Option<String> {
        let node = match inner(node)? {
            NodeEnum::TypeCast(cast) => cast.arg.as_deref()?,
            _ => node,
        };
        let Some(NodeEnum::AConst(constant)) = inner(node) else {
            return None;
        };
        let Some(a_const::Val::Sval(text)) = &constant.val else {
            return None;
        };
        // As regclass prints it: in quotes only where they are needed, with its schema where the name alone means another.
        let (schema, name) = split_name(&text.sval);
        let catalog = self.planner.catalog();
        let schema = schema.or_else(|| {
            let home = self.home.into_iter().chain(["public"]);
            let mut known = home.filter(|schema| catalog.sequence(schema, &name).is_some());
            known.next().map(str::to_string)
        });
        let shown = match schema.filter(|schema| !self.reader.shows(schema, &name)) {
            None => quoted(&name),
            Some(schema) => format!("{}.{}", quoted(&schema), quoted(&name)),
        };
        Some(format!("'{}'::regclass", shown.replace('\'', "''")))
    }

    fn case(&self, case: &protobuf::CaseExpr, ty: Option<SqlType>) -> Option<String> {
        let mut text = String::from("CASE");
        let subject = case.arg.as_deref();
        if let Some(subject) = subject {
            text += &format!(" {}", self.print(subject, None)?.0);
        }
        let compared = subject.and_then(|subject| self.ty(subject));
        let gap = if self.pretty { "\n    " } else { " " };
        for node in &case.args {
            let NodeEnum::CaseWhen(when) = inner(node)? else {
                return None;
            };
            let condition = self.print(when.expr.as_deref()?, compared)?.0;
            let result = self.print(when.result.as_deref()?, ty)?.0;
            text += &format!("{gap}WHEN {condition} THEN {result}");
        }
        let otherwise = match case.defresult.as_deref() {
            Some(node) => self.print(node, ty)?.0,
            None => format!("NULL::{}", cast_name(ty?)),
        };
        let end = if self.pretty { "\n" } else { " " };
        Some(format!("{text}{gap}ELSE {otherwise}{end}END"))
    }
}

/// A literal as its value prints, if that is the same for everybody.
fn as_value(text: &str, ty: SqlType) -> String {
    let format = FormatContext::default();
    let family = ty.family();
    let is_plain = match ty.range_kind() {
        Some(kind) => kind != RangeKind::TsTz,
        None => matches!(
            family,
            TypeFamily::Money
                | TypeFamily::Geometry
                | TypeFamily::Network
                | TypeFamily::Card
                | TypeFamily::Bits
                | TypeFamily::Uuid
                | TypeFamily::Search
                | TypeFamily::Pairs
        ),
    };
    match quintet_base::text_format::read(ty, text, &format) {
        Ok(value) if is_plain => quintet_base::text_format::to_string(&value, ty, &format),
        _ => text.to_string(),
    }
}

/// A type in a cast without a length: `character` alone would be one character long.
fn cast_name(ty: SqlType) -> String {
    format_declared(ty, TypeMod::NONE)
}

/// What an operator takes for these types; they stay as they are where PostgreSQL has an operator between them.
fn operand_types(symbol: &str, own: [SqlType; 2]) -> Option<[SqlType; 2]> {
    let native = |family: TypeFamily| own.iter().all(|ty| ty.family() == family);
    let plain_integers = native(TypeFamily::Integer)
        && own
            .iter()
            .all(|ty| matches!(ty, SqlType::Int2 | SqlType::Int4 | SqlType::Int8));
    if plain_integers || native(TypeFamily::Float) {
        return Some(own);
    }
    let is_figure = own.iter().any(|ty| ty.family() == TypeFamily::Geometry);
    let comparison = crate::operator::comparison(symbol).filter(|_| !is_figure);
    if let Some(op) = comparison.or(symbol.starts_with("IS ").then_some(CompareOp::Eq)) {
        if native(TypeFamily::DateTime) {
            return Some(own);
        }
        // A name is compared with a text as it is.
        if let [SqlType::Name, SqlType::Text | SqlType::Varchar] = own {
            return Some([SqlType::Name, SqlType::Text]);
        }
        if let [SqlType::Text | SqlType::Varchar, SqlType::Name] = own {
            return Some([SqlType::Text, SqlType::Name]);
        }
        let ty = function::compare_type(op, own[0], own[1]).ok()?;
        return Some([ty, ty]);
    }
    let resolved = function::resolve(symbol, &own).ok()?;
    match resolved.args[..] {
        [left, right] => Some([left, right]),
        _ => None,
    }
}

/// True if the parenthesis that a text begins with is closed by its last character.
fn closes_at_end(text: &str) -> bool {
    let mut depth = 0i32;
    let mut quoted = false;
    for (at, c) in text.char_indices() {
        match c {
            '\'' => quoted = !quoted,
            '(' if !quoted => depth += 1,
            ')' if !quoted => depth -= 1,
            _ => {}
        }
        if depth == 0 && at + 1 < text.len() {
            return false;
        }
    }
    true
}

/// A name, in quotes where it needs them.
pub(crate) fn quoted(name: &str) -> String {
    function::quoted_identifier(name)
}

//! CREATE DOMAIN and ALTER DOMAIN.
//!
//! Relies on: `domain` for what a check becomes, `table` for defaults.  Promises: a table with columns of a domain is read
//! anew when the domain, or one that it is over, changes, so that what is checked and filled in follows it.  Does not: arrays of
//! domains, constraints that are not valid (0A000).

use super::moving;
use super::table::default_text;
use super::user_type::{as_relation, begin, may_use, type_object};
use super::{generated, record_of};
use crate::command::Planned;
use crate::domain;
use crate::draft::{Draft, name_of, spaces_of};
use crate::expr::Binder;
use crate::names::{self, inner, required};
use crate::parse::expression_text;
use crate::planner::Planner;
use crate::records::{DomainCheckRecord, DomainRecord, TypeKind, TypeRecord};
use crate::{coerce, types};
use pg_query::NodeEnum;
use pg_query::protobuf::{
    AlterDomainStmt, ConstrType, Constraint, CreateDomainStmt, DropBehavior, Node,
};
use quintet_base::{SqlError, SqlResult, SqlState, SqlType};
use quintet_ir::Expr;
use quintet_ir::ddl::Work;
use quintet_ir::schema::CheckKind;

pub(super) fn create(planner: &Planner, statement: &CreateDomainStmt) -> SqlResult<Planned> {
    let mut draft = Draft::new(planner);
    let name = as_relation(&statement.domainname)?;
    let type_name = required(statement.type_name.as_ref())?;
    let (base, modifier, over) = types::resolve_any(planner, type_name)?;
    may_use(planner, type_name)?;
    if matches!(
        base,
        SqlType::Unknown | SqlType::Void | SqlType::Cstring | SqlType::Record
    ) {
        let message = format!("\"{base}\" is not a valid base type for a domain");
        return Err(planner.error(SqlState::DATATYPE_MISMATCH, message, type_name.location));
    }
    if let Some(clause) = statement.coll_clause.as_deref() {
        super::table::check_collation(planner, &names::strings(&clause.collname), clause.location)?;
    }
    let kind = TypeKind::Composite(Vec::new());
    let mut record = begin(&mut draft, &name, kind)?;
    let mut domain = DomainRecord {
        base,
        modifier,
        not_null: false,
        // As PostgreSQL, which takes it over when the domain is made.
        default: over
            .as_ref()
            .and_then(|over| over.domain()?.default.clone()),
        checks: Vec::new(),
        over: over.as_ref().map(|over| over.id),
    };
    let mut nullable = None;
    let mut has_default = false;
    for node in &statement.constraints {
        let Some(NodeEnum::Constraint(constraint)) = inner(node) else {
            continue;
        };
        let wrong =
            |message: &str| planner.error(SqlState::SYNTAX_ERROR, message, constraint.location);
        match constraint.contype() {
            kind @ (ConstrType::ConstrNotnull | ConstrType::ConstrNull) => {
                let says = kind == ConstrType::ConstrNull;
                if nullable.is_some_and(|nullable| nullable != says) {
                    return Err(wrong("conflicting NULL/NOT NULL constraints"));
                }
                nullable = Some(says);
                domain.not_null = !says;
            }
            ConstrType::ConstrDefault => {
                if has_default {
                    return Err(wrong("multiple default expressions"));
                }
                has_default = true;
                let node = required(constraint.raw_expr.as_deref())?;
                domain.default = default_text(
                    planner,
                    node,
                    (Some(&record.schema), &domain.as_column(&record.name), None),
                )?;
            }
            ConstrType::ConstrCheck => {
                let check = check(
                    &mut draft,
                    (&record.schema, &record.name),
                    &domain,
                    constraint,
                )?;
                domain.checks.push(check);
            }
            ConstrType::ConstrUnique => {
                return Err(wrong("unique constraints not possible for domains"));
            }
            ConstrType::ConstrPrimary => {
                return Err(wrong("primary key constraints not possible for domains"));
            }
            ConstrType::ConstrForeign => {
                return Err(wrong("foreign key constraints not possible for domains"));
            }
            _ => return Err(planner.unsupported("this constraint of a domain", -1)),
        }
    }
    record.kind = TypeKind::Domain(domain);
    draft.put_type(&record)?;
    draft.finish("CREATE DOMAIN")
}

fn check(
    draft: &mut Draft,
    (schema, name): (&str, &str),
    domain: &DomainRecord,
    constraint: &Constraint,
) -> SqlResult<DomainCheckRecord> {
    let planner = draft.planner;
    let node: &Node = required(constraint.raw_expr.as_deref())?;
    let value = Expr::Column(0, domain.base);
    let scope = domain::scope_of_value(value, domain.modifier);
    let bound = planner
        .calls
        .refusing(|| Binder::new(planner, &scope, "check constraints").bind(node))?;
    let bound =
        coerce::boolean(planner, bound, "CHECK").map_err(planner.at(names::location(node)))?;
    let is_taken = |name: &str| domain.checks.iter().any(|check| check.name == name);
    let own = match constraint.conname.as_str() {
        "" => name_of(name, "", "check", |name| is_taken(name)),
        own if is_taken(own) => {
            let message = format!("constraint \"{own}\" for domain \"{name}\" already exists");
            return Err(SqlError::new(SqlState::DUPLICATE_OBJECT, message));
        }
        own => own.to_string(),
    };
    let text = moving::at_home(planner, schema, expression_text(node)?, &bound)?;
    Ok(DomainCheckRecord {
        id: draft.id(),
        name: own,
        text,
    })
}

pub(super) fn alter(planner: &Planner, statement: &AlterDomainStmt) -> SqlResult<Planned> {
    const TAG: &str = "ALTER DOMAIN";
    let found = planner.type_of_name(&names::strings(&statement.type_name))?;
    let Some(known) = found.domain() else {
        let message = format!("{} is not a domain", planner.shown_type(found));
        return Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, message));
    };
    planner.must_own(type_object(found.id))?;
    let mut domain = known.clone();
    let mut draft = Draft::new(planner);
    let used = users(planner, found);
    // What is new is asked of the rows that are there.
    let verify = matches!(statement.subtype.as_str(), "O" | "C");
    match statement.subtype.as_str() {
        // SET and DROP DEFAULT.
        "T" => {
            domain.default = match statement.def.as_deref() {
                Some(node) => default_text(
                    planner,
                    node,
                    (Some(&found.schema), &domain.as_column(&found.name), None),
                )?,
                None => None,
            }
        }
        "N" => domain.not_null = false,
        "O" => domain.not_null = true,
        "C" => match statement.def.as_deref().and_then(inner) {
            Some(NodeEnum::Constraint(constraint))
                if constraint.contype() == ConstrType::ConstrCheck =>
            {
                if constraint.skip_validation {
                    return Err(SqlError::unsupported("NOT VALID of a domain's constraint"));
                }
                let check = check(
                    &mut draft,
                    (&found.schema, &found.name),
                    &domain,
                    constraint,
                )?;
                domain.checks.push(check);
            }
            _ => return Err(SqlError::unsupported("this constraint of a domain")),
        },
        "X" => {
            let _ = statement.behavior() == DropBehavior::DropCascade;
            let before = domain.checks.len();
            domain.checks.retain(|check| check.name != statement.name);
            if domain.checks.len() == before {
                let (constraint, name) = (&statement.name, planner.shown_type(found));
                let message =
                    format!("constraint \"{constraint}\" of domain \"{name}\" does not exist");
                if !statement.missing_ok {
                    return Err(SqlError::new(SqlState::UNDEFINED_OBJECT, message));
                }
                planner.notice(format!("{message}, skipping"));
                return Ok(planner.nothing(TAG));
            }
        }
        // Constraints are valid once they are there.
        "V" if domain
            .checks
            .iter()
            .any(|check| check.name == statement.name) =>
        {
            return Ok(planner.nothing(TAG));
        }
        "V" => {
            let (constraint, name) = (&statement.name, planner.shown_type(found));
            let message =
                format!("constraint \"{constraint}\" of domain \"{name}\" does not exist");
            return Err(SqlError::new(SqlState::UNDEFINED_OBJECT, message));
        }
        _ => return Err(SqlError::unsupported("this form of ALTER DOMAIN")),
    }
    draft.put_type(&TypeRecord {
        kind: TypeKind::Domain(domain),
        ..(**found).clone()
    })?;
    for table in used {
        let mut record = record_of(planner, table)?;
        record.revision += 1;
        generated::check(planner, &mut record)?;
        draft.put_table(&record)?;
        draft.work(Work::Fence(spaces_of(table)));
        if verify {
            let table = draft.table_to_be(table.id)?;
            let checks = table.checks.iter().enumerate();
            let checks = checks.filter(|(_, check)| check.kind == CheckKind::OfDomain);
            let checks = checks.map(|(number, _)| number).collect();
            draft.work(Work::Verify {
                table,
                not_null: Vec::new(),
                checks,
            });
        }
    }
    draft.finish(TAG)
}

/// The tables with columns of a domain.
fn users<'a>(planner: &Planner<'a>, domain: &TypeRecord) -> Vec<&'a quintet_ir::schema::TableRef> {
    let catalog = planner.catalog();
    let uses = |table: &&quintet_ir::schema::TableRef| {
        let record = catalog.record(table.id);
        record.is_some_and(|record| {
            let is_of = |own: u32| {
                let own = catalog.user_type(own).map(|own| catalog.domains_of(own));
                own.is_some_and(|all| all.iter().any(|(other, _)| other.id == domain.id))
            };
            let mut domains = record.more.domains.iter();
            domains.any(|(column, own)| !record.columns[*column].dropped && is_of(*own))
        })
    };
    catalog.tables().filter(uses).collect()
}

//! GRANT, REVOKE, ALTER LARGE OBJECT … OWNER TO and COMMENT: calls of routines that change the objects' rows.
//!
//! Relies on: `role` for who is who.  Promises: names and privileges are checked when the statement is planned, owners when it runs.
//! Does not: let anybody but the owner, or a superuser, grant: there is no granting on by others.

use super::PATH;
use crate::coerce;
use crate::command::Planned;
use crate::expr::Binder;
use crate::names;
use crate::parse;
use crate::planner::{PlanContext, Planner};
use crate::role::{self, denied, invalid};
use crate::routine;
use pg_query::NodeEnum;
use pg_query::protobuf::{AlterOwnerStmt, CommentStmt, GrantStmt, Node};
use quintet_base::{RoleId, SqlError, SqlResult, SqlState, SqlType};
use quintet_ir::function::large_object::{SELECT, UPDATE};
use quintet_ir::{Expr, Privileges};

/// GRANT and REVOKE … ON LARGE OBJECT.
pub(crate) fn plan_grant(planner: &Planner, statement: &GrantStmt) -> SqlResult<Planned> {
    let grantees = role::grantees(planner, statement)?;
    if statement.grant_option && statement.is_grant && grantees.contains(&RoleId::PUBLIC) {
        let message = "grant options can only be granted to roles";
        return Err(SqlError::new(SqlState::INVALID_GRANT_OPERATION, message));
    }
    let possible = Privileges::SELECT | Privileges::UPDATE;
    let wanted = role::privileges_named(statement)?.unwrap_or(possible);
    let others = wanted & !possible;
    if !others.is_empty() {
        return Err(invalid(others, "large object"));
    }
    let bit = |privilege, bit| if wanted.contains(privilege) { bit } else { 0 };
    let bits = bit(Privileges::SELECT, SELECT) | bit(Privileges::UPDATE, UPDATE);
    let objects: SqlResult<Vec<u32>> = statement.objects.iter().map(number).collect();
    let text = format!(
        "CALL large_object_grant({}, {}, {bits}, {}, {})",
        array(&objects?),
        array(&grantees.iter().map(|role| role.0).collect::<Vec<_>>()),
        statement.is_grant,
        statement.grant_option
    );
    let tag = if statement.is_grant {
        "GRANT"
    } else {
        "REVOKE"
    };
    call(planner, &text, tag)
}

/// ALTER LARGE OBJECT … OWNER TO.
pub(crate) fn plan_owner(planner: &Planner, statement: &AlterOwnerStmt) -> SqlResult<Planned> {
    let spec = statement.newowner.as_ref();
    let spec = spec.ok_or_else(|| SqlError::internal("OWNER TO nobody"))?;
    let new = role::role_named(planner, spec)?;
    let roles = planner.catalog().roles();
    if !roles.is_member(planner.context.user.role, new) {
        let name = roles.name(new);
        return Err(denied(format!("must be member of role \"{name}\"")));
    }
    let object = object(statement.object.as_deref())?;
    let text = format!("CALL large_object_give({object}::oid, {}::oid)", new.0);
    call(planner, &text, "ALTER LARGE OBJECT")
}

/// COMMENT ON LARGE OBJECT.
pub(crate) fn plan_comment(planner: &Planner, statement: &CommentStmt) -> SqlResult<Planned> {
    let object = object(statement.object.as_deref())?;
    let comment = match statement.comment.as_str() {
        "" => "NULL".to_string(),
        text => format!("U&'{}'", quoted_points(text)),
    };
    let text = format!("CALL large_object_remark({object}::oid, {comment}::text)");
    call(planner, &text, "COMMENT")
}

impl Binder<'_, '_> {
    /// `obj_description` of a large object: its comment is in its row.
    pub(crate) fn remark(&self, name: &str, args: &[Node]) -> SqlResult<Option<Expr>> {
        let [object, class] = args else {
            return Ok(None);
        };
        if name != "obj_description"
            || names::option_text(class).as_deref() != Some("pg_largeobject")
        {
            return Ok(None);
        }
        let catalog = self.planner.catalog();
        let mut found = catalog.large_objects().named("large_object_remarked");
        let Some(stored) = found.next() else {
            return Ok(None);
        };
        let callee = routine::callee(self.planner, stored.signature(catalog)?)?;
        let object = coerce::implicit(self.planner, self.bind(object)?, SqlType::Oid)?;
        Ok(Some(Expr::Routine {
            callee: Box::new(callee),
            args: vec![object],
            ty: SqlType::Text,
        }))
    }
}

/// A text as the inside of a literal, whatever is in it.
fn quoted_points(text: &str) -> String {
    text.chars()
        .map(|point| format!("\\+{:06X}", u32::from(point)))
        .collect()
}

fn call(planner: &Planner, text: &str, tag: &'static str) -> SqlResult<Planned> {
    let parsed = parse::parse(text)?;
    let Some(NodeEnum::CallStmt(statement)) = parsed.first().and_then(|parsed| parsed.node())
    else {
        return Err(SqlError::internal("a statement about large objects"));
    };
    let context = PlanContext {
        schema: PATH,
        ..*planner.context
    };
    let inside = Planner::new(&context, text, &[]);
    let planned = routine::plan_call(&inside, statement)?;
    Ok(Planned { tag, ..planned })
}

fn object(node: Option<&Node>) -> SqlResult<u32> {
    node.map_or_else(|| Err(SqlError::internal("no large object")), number)
}

fn number(node: &Node) -> SqlResult<u32> {
    let written = names::bigint(node);
    let number = written.and_then(|number| u32::try_from(number).ok());
    number.ok_or_else(|| {
        let written = names::option_text(node).unwrap_or_default();
        let message = format!("value \"{written}\" is out of range for type oid");
        SqlError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, message)
    })
}

fn array(numbers: &[u32]) -> String {
    let numbers: Vec<String> = numbers.iter().map(u32::to_string).collect();
    format!("'{{{}}}'::oid[]", numbers.join(","))
}

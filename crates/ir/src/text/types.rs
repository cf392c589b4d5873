//! Types with their modifiers as words: `int4`, `text[]`, `varchar%5`, `numeric%8.2`.
//!
//! Promises: every type and modifier has a word that reads back.

use quintet_base::{SqlType, TypeMod};

const WORDS: &[(SqlType, &str)] = &[
    (SqlType::Bool, "bool"),
    (SqlType::Int2, "int2"),
    (SqlType::Int4, "int4"),
    (SqlType::Int8, "int8"),
    (SqlType::Float4, "float4"),
    (SqlType::Float8, "float8"),
    (SqlType::Numeric, "numeric"),
    (SqlType::Text, "text"),
    (SqlType::Varchar, "varchar"),
    (SqlType::Bpchar, "bpchar"),
    (SqlType::Name, "name"),
    (SqlType::InternalChar, "char"),
    (SqlType::Bytea, "bytea"),
    (SqlType::Date, "date"),
    (SqlType::Timestamp, "timestamp"),
    (SqlType::TimestampTz, "timestamptz"),
    (SqlType::Uuid, "uuid"),
    (SqlType::Oid, "oid"),
    (SqlType::Tid, "tid"),
    (SqlType::Xid, "xid"),
    (SqlType::Money, "money"),
    (SqlType::Point, "point"),
    (SqlType::Lseg, "lseg"),
    (SqlType::Line, "line"),
    (SqlType::Box, "box"),
    (SqlType::Path, "path"),
    (SqlType::Polygon, "polygon"),
    (SqlType::Circle, "circle"),
    (SqlType::Interval, "interval"),
    (SqlType::Time, "time"),
    (SqlType::TimeTz, "timetz"),
    (SqlType::Json, "json"),
    (SqlType::Jsonb, "jsonb"),
    (SqlType::Record, "record"),
    (SqlType::Unknown, "unknown"),
    (SqlType::Void, "void"),
    (SqlType::RegClass, "regclass"),
    (SqlType::RegType, "regtype"),
    (SqlType::RegProc, "regproc"),
    (SqlType::RegProcedure, "regprocedure"),
    (SqlType::RegOper, "regoper"),
    (SqlType::RegOperator, "regoperator"),
    (SqlType::RegNamespace, "regnamespace"),
    (SqlType::RegRole, "regrole"),
    (SqlType::Int2Vector, "int2vector"),
    (SqlType::OidVector, "oidvector"),
    (SqlType::Inet, "inet"),
    (SqlType::Cidr, "cidr"),
    (SqlType::MacAddr, "macaddr"),
    (SqlType::RefCursor, "refcursor"),
    (SqlType::Cstring, "cstring"),
    (SqlType::JsonPath, "jsonpath"),
    (SqlType::TsVector, "tsvector"),
    (SqlType::TsQuery, "tsquery"),
    (SqlType::Citext, "citext"),
    (SqlType::Hstore, "hstore"),
    (SqlType::RegConfig, "regconfig"),
    (SqlType::RegDictionary, "regdictionary"),
    (SqlType::Bit, "bit"),
    (SqlType::VarBit, "varbit"),
];

/// Before the number of an enum.
const ENUM: &str = "enum.";

/// Before the number of a composite type.
const COMPOSITE: &str = "row.";

/// The word for a type.
pub(super) fn word(ty: SqlType) -> String {
    if let Some(element) = ty.element().filter(|_| !ty.is_vector()) {
        return word(element) + "[]";
    }
    if ty.range_kind().is_some() {
        return ty.name().to_string();
    }
    if let SqlType::Enum(number) = ty {
        return format!("{ENUM}{number}");
    }
    if let SqlType::Composite(number) = ty {
        return format!("{COMPOSITE}{number}");
    }
    let found = WORDS.iter().find(|(known, _)| *known == ty);
    found
        .expect("every type without elements has a word")
        .1
        .to_string()
}

/// The type of a word.
pub(super) fn of_word(word: &str) -> Option<SqlType> {
    if let Some(element) = word.strip_suffix("[]") {
        return of_word(element)?.array_of();
    }
    if let Some(number) = word.strip_prefix(ENUM) {
        return number.parse().ok().map(SqlType::Enum);
    }
    if let Some(number) = word.strip_prefix(COMPOSITE) {
        return number.parse().ok().map(SqlType::Composite);
    }
    let found = WORDS.iter().find(|(_, known)| *known == word);
    let range = || SqlType::from_name(word).filter(|ty| ty.range_kind().is_some());
    found.map(|(ty, _)| *ty).or_else(range)
}

/// The word for a type with its modifier.
pub(super) fn modified(ty: SqlType, modifier: TypeMod) -> String {
    let name = word(ty);
    if modifier == TypeMod::NONE {
        return name;
    }
    let readable = match ty.element().unwrap_or(ty) {
        SqlType::Varchar | SqlType::Bpchar => modifier.as_length().map(|n| format!("{name}%{n}")),
        SqlType::Numeric => modifier
            .as_precision_scale()
            .map(|(precision, scale)| format!("{name}%{precision}.{scale}")),
        _ => None,
    };
    readable
        .filter(|word| of_modified(word) == Some((ty, modifier)))
        .unwrap_or_else(|| format!("{name}%={}", modifier.0))
}

/// The type and modifier of a word.
pub(super) fn of_modified(word: &str) -> Option<(SqlType, TypeMod)> {
    let Some((name, modifier)) = word.split_once('%') else {
        return Some((of_word(word)?, TypeMod::NONE));
    };
    let modifier = match (modifier.strip_prefix('='), modifier.split_once('.')) {
        (Some(raw), _) => TypeMod(raw.parse().ok()?),
        (None, Some((precision, scale))) => {
            TypeMod::precision_scale(precision.parse().ok()?, scale.parse().ok()?)
        }
        (None, None) => TypeMod::length(modifier.parse().ok()?),
    };
    Some((of_word(name)?, modifier))
}

//! How PostgreSQL would lay out and order values of a type.
//!
//! Relies on: `base` for the lengths.  Promises: PostgreSQL's letters and numbers.  Does not: say anything of how they are kept here.

use quintet_base::SqlType;

/// Collations by their numbers and names. All of them compare bytes.
pub(crate) const COLLATIONS: [(u32, &str); 3] = [(100, "default"), (950, "C"), (951, "POSIX")];

/// The collation that values of a type have: PostgreSQL's number of `default`, or of `C` for names.
pub(crate) fn collation_of(ty: SqlType) -> u32 {
    match ty.element().unwrap_or(ty) {
        SqlType::Text | SqlType::Varchar | SqlType::Bpchar | SqlType::Citext => 100,
        SqlType::Name => 950,
        _ => 0,
    }
}

/// How PostgreSQL would keep values of a type: `p`, `m` or `x`.
pub(super) fn storage_of(ty: SqlType) -> &'static str {
    match ty {
        SqlType::Numeric | SqlType::Inet | SqlType::Cidr => "m",
        ty if ty.type_len() == -1 && !ty.is_vector() => "x",
        _ => "p",
    }
}

/// How PostgreSQL would align values of a type.
pub(super) fn alignment_of(ty: SqlType) -> &'static str {
    let by_eight = |ty: SqlType| match ty {
        SqlType::Record | SqlType::Composite(_) => true,
        SqlType::Range(kind) | SqlType::Multirange(kind) => kind.subtype().type_len() == 8,
        SqlType::Path | SqlType::Polygon => true,
        ty => matches!(ty.type_len(), 8 | 12 | 16 | 24 | 32) && ty != SqlType::Uuid,
    };
    match ty.type_len() {
        1 => "c",
        2 => "s",
        _ if ty == SqlType::Tid => "s",
        _ if matches!(ty, SqlType::Name | SqlType::Uuid | SqlType::Unknown) => "c",
        _ if by_eight(ty.element().unwrap_or(ty)) => "d",
        _ => "i",
    }
}

//! Operator classes of ordered indexes: by which order a type's values are kept.
//!
//! Relies on: PostgreSQL's fixed numbers.  Promises: the classes of the types that there are, and for each column of an
//! index the one it has.  Does not: list operators, families or functions; `*_pattern_ops` may be asked for and are the same
//! order, so an index shows its type's own class.

use super::{Definition, OWNER, PG_CATALOG, flag, oid, text};
use quintet_base::SqlType;

/// btree.
const METHOD: u32 = 403;

/// Number, name, family, the type it is for, whether it is the type's own, and the type that is kept if it is another.
const CLASSES: &[(u32, &str, u32, u32, bool, u32)] = &[
    (1978, "int4_ops", 1976, 23, true, 0),
    (1979, "int2_ops", 1976, 21, true, 0),
    (1981, "oid_ops", 1989, 26, true, 0),
    (3122, "date_ops", 434, 1082, true, 0),
    (3123, "float8_ops", 1970, 701, true, 0),
    (3124, "int8_ops", 1976, 20, true, 0),
    (3125, "numeric_ops", 1988, 1700, true, 0),
    (3126, "text_ops", 1994, 25, true, 0),
    (3127, "timestamptz_ops", 434, 1184, true, 0),
    (3128, "timestamp_ops", 434, 1114, true, 0),
    (4217, "text_pattern_ops", 2095, 25, false, 0),
    (4218, "varchar_pattern_ops", 2095, 25, false, 0),
    (4219, "bpchar_pattern_ops", 2097, 1042, false, 0),
    (10_000, "array_ops", 397, 2277, true, 0),
    (10_003, "bool_ops", 424, 16, true, 0),
    (10_004, "bpchar_ops", 426, 1042, true, 0),
    (10_006, "bytea_ops", 428, 17, true, 0),
    (10_007, "char_ops", 429, 18, true, 0),
    (10_012, "float4_ops", 1970, 700, true, 0),
    (10_022, "interval_ops", 1982, 1186, true, 0),
    (10_028, "name_ops", 1994, 19, true, 2275),
    (10_032, "oidvector_ops", 1991, 30, true, 0),
    (10_038, "time_ops", 1996, 1083, true, 0),
    (10_041, "timetz_ops", 2000, 1266, true, 0),
    (10_044, "varchar_ops", 1994, 25, false, 0),
    (10_065, "uuid_ops", 2968, 2950, true, 0),
    (10_069, "enum_ops", 3522, 3500, true, 0),
    (10_088, "jsonb_ops", 4033, 3802, true, 0),
];

pub(super) const RELATIONS: &[Definition] = &[Definition {
    name: "pg_opclass",
    columns: &[
        "oid",
        "opcmethod",
        "opcname",
        "opcnamespace",
        "opcowner",
        "opcfamily",
        "opcintype",
        "opcdefault",
        "opckeytype",
    ],
    rows: |_| {
        let row = |&(number, name, family, ty, own, kept): &(u32, &str, u32, u32, bool, u32)| {
            vec![
                oid(number),
                oid(METHOD),
                text(name),
                oid(PG_CATALOG),
                oid(OWNER),
                oid(family),
                oid(ty),
                flag(own),
                oid(kept),
            ]
        };
        CLASSES.iter().map(row).collect()
    },
}];

/// The class of an index's column of this type.
pub(super) fn class_of(ty: SqlType) -> u32 {
    const ANY_ARRAY: u32 = 2277;
    const ANY_ENUM: u32 = 3500;
    let wanted = match ty {
        SqlType::Varchar => SqlType::Text.oid(),
        SqlType::Enum(_) => ANY_ENUM,
        ty if ty.element().is_some() && !ty.is_vector() => ANY_ARRAY,
        ty => ty.oid(),
    };
    let own = CLASSES.iter().find(|class| class.3 == wanted && class.4);
    own.map_or(0, |class| class.0)
}

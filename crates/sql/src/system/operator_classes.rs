//! Operator classes of indexes: by which order a type's values would be kept in PostgreSQL.
//!
//! Relies on: PostgreSQL's fixed numbers.  Promises: the classes of the types that there are, and for each column of an
//! index the one it has.  Does not: list operators, families or functions, or have more than one order: `*_pattern_ops` may
//! be asked for and are shown, and are the same.

use super::index_properties::{BRIN, BTREE, GIN, GIST, HASH, SPGIST, method};
use super::print::quoted;
use super::{Definition, OWNER, PG_CATALOG, flag, oid, text};
use crate::catalog::Catalog;
use quintet_base::SqlType;

type Class = (u32, &'static str, u32, u32, bool, u32);

/// The types of extensions, and a number behind theirs for their classes.
const CITEXT: u32 = 1 << 28;
const HSTORE: u32 = CITEXT + 2;
const HERE: u32 = CITEXT + 16;

/// Number, name, family, the type it is for, whether it is the type's own, and the type that is kept if it is another.
const ORDERED: &[Class] = &[
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
    (10_002, "bit_ops", 423, 1560, true, 0),
    (10_003, "bool_ops", 424, 16, true, 0),
    (10_004, "bpchar_ops", 426, 1042, true, 0),
    (10_006, "bytea_ops", 428, 17, true, 0),
    (10_007, "char_ops", 429, 18, true, 0),
    (10_012, "float4_ops", 1970, 700, true, 0),
    (10_009, "cidr_ops", 1974, 869, false, 0),
    (10_015, "inet_ops", 1974, 869, true, 0),
    (10_022, "interval_ops", 1982, 1186, true, 0),
    (10_024, "macaddr_ops", 1984, 829, true, 0),
    (10_028, "name_ops", 1994, 19, true, 2275),
    (10_032, "oidvector_ops", 1991, 30, true, 0),
    (10_038, "time_ops", 1996, 1083, true, 0),
    (10_041, "timetz_ops", 2000, 1266, true, 0),
    (10_043, "varbit_ops", 2002, 1562, true, 0),
    (10_044, "varchar_ops", 1994, 25, false, 0),
    (10_047, "money_ops", 2099, 790, true, 0),
    (10_050, "tid_ops", 2789, 27, true, 0),
    (10_065, "uuid_ops", 2968, 2950, true, 0),
    (10_069, "enum_ops", 3522, 3500, true, 0),
    (10_076, "range_ops", 3901, 3831, true, 0),
    (10_080, "multirange_ops", 4199, 4537, true, 0),
    (10_088, "jsonb_ops", 4033, 3802, true, 0),
    (10_071, "tsvector_ops", 3626, 3614, true, 0),
    (10_074, "tsquery_ops", 3683, 3615, true, 0),
    (HERE, "citext_ops", HERE + 1, CITEXT, true, 0),
    (HERE + 10, "citext_pattern_ops", HERE + 11, CITEXT, false, 0),
    (HERE + 4, "btree_hstore_ops", HERE + 5, HSTORE, true, 0),
];

const HASHED: &[Class] = &[
    (10_001, "array_ops", 627, 2277, true, 0),
    (10_005, "bpchar_ops", 427, 1042, true, 0),
    (10_008, "char_ops", 431, 18, true, 0),
    (10_010, "cidr_ops", 1975, 869, false, 0),
    (10_011, "date_ops", 435, 1082, true, 0),
    (10_013, "float4_ops", 1971, 700, true, 0),
    (10_014, "float8_ops", 1971, 701, true, 0),
    (10_016, "inet_ops", 1975, 869, true, 0),
    (10_019, "int2_ops", 1977, 21, true, 0),
    (10_020, "int4_ops", 1977, 23, true, 0),
    (10_021, "int8_ops", 1977, 20, true, 0),
    (10_023, "interval_ops", 1983, 1186, true, 0),
    (10_025, "macaddr_ops", 1985, 829, true, 0),
    (10_055, "tid_ops", 2227, 27, true, 0),
    (10_051, "xid_ops", 2225, 28, true, 0),
    (10_029, "name_ops", 1995, 19, true, 0),
    (10_030, "numeric_ops", 1998, 1700, true, 0),
    (10_031, "oid_ops", 1990, 26, true, 0),
    (10_033, "oidvector_ops", 1992, 30, true, 0),
    (10_035, "record_ops", 6194, 2249, true, 0),
    (10_037, "text_ops", 1995, 25, true, 0),
    (10_039, "time_ops", 1997, 1083, true, 0),
    (10_040, "timestamptz_ops", 1999, 1184, true, 0),
    (10_042, "timetz_ops", 2001, 1266, true, 0),
    (10_045, "varchar_ops", 1995, 25, false, 0),
    (10_046, "timestamp_ops", 2040, 1114, true, 0),
    (10_048, "bool_ops", 2222, 16, true, 0),
    (10_049, "bytea_ops", 2223, 17, true, 0),
    (10_056, "text_pattern_ops", 2229, 25, false, 0),
    (10_057, "varchar_pattern_ops", 2229, 25, false, 0),
    (10_058, "bpchar_pattern_ops", 2231, 1042, false, 0),
    (10_066, "uuid_ops", 2969, 2950, true, 0),
    (10_070, "enum_ops", 3523, 3500, true, 0),
    (10_077, "range_ops", 3903, 3831, true, 0),
    (10_081, "multirange_ops", 4225, 4537, true, 0),
    (10_089, "jsonb_ops", 4034, 3802, true, 0),
    (HERE + 2, "citext_ops", HERE + 3, CITEXT, true, 0),
    (HERE + 6, "hash_hstore_ops", HERE + 7, HSTORE, true, 0),
];

const INVERTED: &[Class] = &[
    (10_064, "array_ops", 2745, 2277, true, 2283),
    (10_090, "jsonb_ops", 4036, 3802, true, 25),
    (10_091, "jsonb_path_ops", 4037, 3802, false, 23),
    (10_073, "tsvector_ops", 3659, 3614, true, 25),
    (HERE + 8, "gin_hstore_ops", HERE + 9, HSTORE, true, 25),
    (15_901, "gin_trgm_ops", 15_902, 25, false, 23),
];

const OF_TREES: &[Class] = &[
    (15_903, "gist_trgm_ops", 15_904, 25, false, 0),
    (10_078, "range_ops", 3919, 3831, true, 0),
    (10_082, "multirange_ops", 6158, 4537, true, 3831),
];

const OF_PARTITIONED_TREES: &[Class] = &[
    (10_018, "inet_ops", 3794, 869, true, 0),
    (10_079, "range_ops", 3474, 3831, true, 0),
    (10_086, "text_ops", 4017, 25, true, 0),
];

const OF_RANGES: &[Class] = &[
    (10_092, "bytea_minmax_ops", 4064, 17, true, 17),
    (10_094, "char_minmax_ops", 4062, 18, true, 18),
    (10_096, "name_minmax_ops", 4065, 19, true, 19),
    (10_098, "int8_minmax_ops", 4054, 20, true, 20),
    (10_101, "int2_minmax_ops", 4054, 21, true, 21),
    (10_104, "int4_minmax_ops", 4054, 23, true, 23),
    (10_107, "text_minmax_ops", 4056, 25, true, 25),
    (10_109, "oid_minmax_ops", 4068, 26, true, 26),
    (10_112, "tid_minmax_ops", 4069, 27, true, 27),
    (10_115, "float4_minmax_ops", 4070, 700, true, 700),
    (10_118, "float8_minmax_ops", 4070, 701, true, 701),
    (10_121, "macaddr_minmax_ops", 4074, 829, true, 829),
    (10_127, "inet_minmax_ops", 4075, 869, false, 869),
    (10_130, "inet_inclusion_ops", 4102, 869, true, 869),
    (10_131, "bpchar_minmax_ops", 4076, 1042, true, 1042),
    (10_133, "time_minmax_ops", 4077, 1083, true, 1083),
    (10_136, "date_minmax_ops", 4059, 1082, true, 1082),
    (10_139, "timestamp_minmax_ops", 4059, 1114, true, 1114),
    (10_142, "timestamptz_minmax_ops", 4059, 1184, true, 1184),
    (10_145, "interval_minmax_ops", 4078, 1186, true, 1186),
    (10_148, "timetz_minmax_ops", 4058, 1266, true, 1266),
    (10_151, "bit_minmax_ops", 4079, 1560, true, 1560),
    (10_152, "varbit_minmax_ops", 4080, 1562, true, 1562),
    (10_153, "numeric_minmax_ops", 4055, 1700, true, 1700),
    (10_156, "uuid_minmax_ops", 4081, 2950, true, 2950),
    (10_159, "range_inclusion_ops", 4103, 3831, true, 3831),
];

/// The classes that an extension brings, under numbers that PostgreSQL gives nobody.
const OF_EXTENSION: [&str; 2] = ["gin_trgm_ops", "gist_trgm_ops"];

/// The extension that brings a class.
pub(crate) fn extension_of_class(name: &str) -> Option<&'static str> {
    OF_EXTENSION.contains(&name).then_some("pg_trgm")
}

/// The numbers of the classes that an extension brings.
pub(super) fn classes_of(extension: &str) -> impl Iterator<Item = u32> {
    let all = INVERTED.iter().chain(OF_TREES);
    all.filter(move |class| extension_of_class(class.1) == Some(extension))
        .map(|class| class.0)
}

/// The classes of a method.
fn classes(method: u32) -> &'static [Class] {
    match method {
        BTREE => ORDERED,
        HASH => HASHED,
        GIST => OF_TREES,
        SPGIST => OF_PARTITIONED_TREES,
        GIN => INVERTED,
        BRIN => OF_RANGES,
        _ => &[],
    }
}

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
    rows: |planner| {
        let schemas = super::schemas(planner.catalog());
        // What an extension brings is there once it was made, in its schema.
        let schema = |name: &str| {
            if brought_by(name).is_none() {
                return Some(PG_CATALOG);
            }
            let wanted = schema_of_class(planner.catalog(), name)?;
            let found = schemas.iter().find(|(_, name)| *name == wanted);
            found.map(|(number, _)| *number)
        };
        let row = |method: u32, &(number, name, family, ty, own, kept): &Class| {
            Some(vec![
                oid(number),
                oid(method),
                text(name),
                oid(schema(name)?),
                oid(OWNER),
                oid(family),
                oid(ty),
                flag(own),
                oid(kept),
            ])
        };
        let row = &row;
        let of_method = |method| {
            let all = classes(method).iter();
            all.filter_map(move |class| row(method, class))
        };
        [BTREE, HASH, GIST, SPGIST, GIN, BRIN]
            .into_iter()
            .flat_map(of_method)
            .collect()
    },
}];

/// The type by which a method's own class of a type is found.
fn wanted(method: u32, ty: SqlType) -> u32 {
    const ANY_ARRAY: u32 = 2277;
    const ANY_ENUM: u32 = 3500;
    const ANY_RANGE: u32 = 3831;
    const ANY_MULTIRANGE: u32 = 4537;
    match ty {
        SqlType::Varchar => SqlType::Text.oid(),
        SqlType::Cidr => SqlType::Inet.oid(),
        SqlType::Enum(_) if method != BRIN => ANY_ENUM,
        SqlType::Range(_) => ANY_RANGE,
        SqlType::Multirange(_) => ANY_MULTIRANGE,
        ty if ty.element().is_some() && !ty.is_vector() => ANY_ARRAY,
        ty => ty.oid(),
    }
}

/// The class of an index's column of this type.
pub(super) fn class_of(method: u32, ty: SqlType) -> u32 {
    let wanted = wanted(method, ty);
    let mut all = classes(method).iter();
    let own = all.find(|class| class.3 == wanted && class.4);
    own.map_or(0, |class| class.0)
}

/// The class by which values of this type have an order.
pub(crate) fn ordered_class(ty: SqlType) -> Option<&'static str> {
    let wanted = wanted(BTREE, ty);
    let mut all = ORDERED.iter();
    all.find(|class| class.3 == wanted && class.4)
        .map(|class| class.1)
}

/// The extension that brings a class, by itself or with its type.
fn brought_by(name: &str) -> Option<&'static str> {
    let by_type = || {
        let mut all = [ORDERED, HASHED, INVERTED].into_iter().flatten();
        all.find_map(|class| match (class.1 == name, class.3) {
            (true, CITEXT) => Some("citext"),
            (true, HSTORE) => Some("hstore"),
            _ => None,
        })
    };
    extension_of_class(name).or_else(by_type)
}

/// The schema that an extension has brought a class to.
fn schema_of_class(catalog: &Catalog, name: &str) -> Option<String> {
    let wanted = brought_by(name)?;
    let mut made = catalog.extensions();
    let found = made.find(|(_, made)| made.name == wanted);
    found.map(|(_, made)| made.schema.clone())
}

/// What a class is called: with its schema, if it is an extension's and `is_seen` is false of that.
pub(crate) fn shown_class(catalog: &Catalog, name: &str, is_seen: impl Fn(&str) -> bool) -> String {
    match schema_of_class(catalog, name).filter(|schema| !is_seen(schema)) {
        Some(schema) => format!("{}.{}", quoted(&schema), quoted(name)),
        None => quoted(name),
    }
}

/// The class of a method with this name.
pub(super) fn class_named(method: u32, name: &str) -> u32 {
    let mut all = classes(method).iter();
    all.find(|class| class.1 == name).map_or(0, |class| class.0)
}

/// The type of what an index with a class keeps of a column's values, as it is shown.
pub(super) fn kept(method: u32, class: u32, ty: SqlType) -> SqlType {
    if method != GIN {
        return ty;
    }
    let mut all = classes(method).iter();
    match all.find(|known| known.0 == class).map(|known| known.1) {
        Some("jsonb_path_ops" | "gin_trgm_ops") => SqlType::Int4,
        Some("jsonb_ops" | "tsvector_ops" | "gin_hstore_ops") => SqlType::Text,
        _ => ty.element().unwrap_or(ty),
    }
}

/// True if a method has an own class for a type.
pub(crate) fn has_class(method_name: &str, ty: SqlType) -> bool {
    class_of(method(Some(method_name)), ty) != 0
}

/// True if values of a type are ordered, so that equal ones can be told.
pub(crate) fn is_ordered(ty: SqlType) -> bool {
    class_of(BTREE, ty) != 0
}

/// What a class that somebody names is for a column.
pub(crate) enum ClassFor {
    /// The one that it has anyway.
    Own,
    /// Another that takes its type.
    Other,
    /// One of another type.
    AnotherType,
    /// Nobody knows it.
    Unknown,
}

/// The class with this name of a method, for a column of this type.
pub(crate) fn class_for(method_name: &str, name: &str, ty: SqlType) -> ClassFor {
    let method = method(Some(method_name));
    let mut named = classes(method).iter();
    // A citext is a text whose trigrams nobody sees by case.
    let of_text = ty == SqlType::Citext && extension_of_class(name).is_some();
    let ty = if of_text { SqlType::Text } else { ty };
    match named.find(|class| class.1 == name) {
        None => ClassFor::Unknown,
        Some(class) if class.3 != wanted(method, ty) => ClassFor::AnotherType,
        Some(class) if class.4 => ClassFor::Own,
        Some(_) => ClassFor::Other,
    }
}

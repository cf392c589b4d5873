//! SQL types: names, object identifiers, modifiers, families.
//!
//! Relies on: PostgreSQL's fixed type OIDs, which drivers hard-code.  Promises: one variant per
//! type that a column or an expression can have.  Does not: convert values (`text_format`,
//! `binary_format`) or decide which casts exist (`ir`).

use crate::objects;
use crate::range::RangeKind;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The type of a column, parameter or expression.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[allow(missing_docs)] // each variant is the PostgreSQL type of that name
pub enum SqlType {
    Bool,
    Int2,
    Int4,
    Int8,
    Float4,
    Float8,
    Numeric,
    Text,
    Varchar,
    /// `char(n)`: blank padded.
    Bpchar,
    /// The catalogue's 63-byte identifier.
    Name,
    /// The catalogue's one-byte `"char"`.
    InternalChar,
    Bytea,
    Date,
    Timestamp,
    TimestampTz,
    Uuid,
    Oid,
    /// A literal or parameter whose type the context decides.
    Unknown,
    /// What a function without a result returns.
    Void,
    BoolArray,
    Int2Array,
    Int4Array,
    Int8Array,
    Float8Array,
    NumericArray,
    TextArray,
    VarcharArray,
    NameArray,
    OidArray,
    UuidArray,
    TimestampArray,
    TimestampTzArray,
    DateArray,
    // New ones go to the end: the catalogue keeps their places.
    Interval,
    Time,
    TimeTz,
    /// JSON as it was written.
    Json,
    /// JSON as a value.
    Jsonb,
    /// A row made by an expression: fields of any types. No column has it.
    Record,
    IntervalArray,
    TimeArray,
    TimeTzArray,
    JsonArray,
    JsonbArray,
    Float4Array,
    ByteaArray,
    BpcharArray,
    /// What a set-returning function gives its caller.
    RecordArray,
    /// A number of a table, index, sequence or view that prints as its name.
    RegClass,
    /// The same of a type.
    RegType,
    /// The same of a function, by its name alone.
    RegProc,
    /// The same of a function with its arguments.
    RegProcedure,
    /// The same of a schema.
    RegNamespace,
    /// The same of a role.
    RegRole,
    RegClassArray,
    RegTypeArray,
    /// The catalogue's `1 2 3`, counted from 0.
    Int2Vector,
    /// The same of numbers of objects.
    OidVector,
    /// A user's enum, by the number of its type.
    Enum(u32),
    /// An array of values of that enum; its own number is the next one.
    EnumArray(u32),
    /// A number of an operator, by its symbol alone.
    RegOper,
    /// The same with its arguments.
    RegOperator,
    /// An address of the internet, with the length of its network.
    Inet,
    /// A network.
    Cidr,
    /// An address of a network card.
    MacAddr,
    InetArray,
    CidrArray,
    MacAddrArray,
    /// As many bits as its length says, one if it says nothing.
    Bit,
    /// Bits, at most so many.
    VarBit,
    BitArray,
    VarBitArray,
    Range(RangeKind),
    RangeArray(RangeKind),
    Multirange(RangeKind),
    MultirangeArray(RangeKind),
    /// The name of a portal.
    RefCursor,
    RefCursorArray,
    /// What only declarations of functions have: it is the type of what a call gives.
    Any(Any),
    /// A user's composite type, or that of the rows of a table, by its number.
    Composite(u32),
    /// An array of values of that type.
    CompositeArray(u32),
    /// A path into JSON documents.
    JsonPath,
    JsonPathArray,
    /// A text as its words.
    TsVector,
    TsVectorArray,
    /// What is asked of one.
    TsQuery,
    TsQueryArray,
    /// A number of a configuration for text search, or of a dictionary.
    RegConfig,
    RegConfigArray,
    RegDictionary,
    RegDictionaryArray,
    /// Text that compares without case, of the extension of that name.
    Citext,
    CitextArray,
    /// Keys with texts, of the extension of that name.
    Hstore,
    HstoreArray,
    InternalCharArray,
    /// Where a row is: a number that prints as block and offset (`place`).
    Tid,
    TidArray,
    /// What tells one state of a row from another: a number without order.
    Xid,
    XidArray,
    /// What types are read from and printed as. No column has it.
    Cstring,
    /// An amount of dollars and cents.
    Money,
    MoneyArray,
    Point,
    PointArray,
    /// A part of a line.
    Lseg,
    LsegArray,
    Line,
    LineArray,
    Box,
    BoxArray,
    Path,
    PathArray,
    Polygon,
    PolygonArray,
    Circle,
    CircleArray,
}

/// Which types stand for it, and which must be the same. Ranges are left out.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Any {
    Element,
    Array,
    NonArray,
    Enum,
    Compatible,
    CompatibleArray,
    CompatibleNonArray,
}

/// Their names and PostgreSQL's numbers.
const ANY: &[(Any, &str, u32)] = &[
    (Any::Element, "anyelement", 2283),
    (Any::Array, "anyarray", 2277),
    (Any::NonArray, "anynonarray", 2776),
    (Any::Enum, "anyenum", 3500),
    (Any::Compatible, "anycompatible", 5077),
    (Any::CompatibleArray, "anycompatiblearray", 5078),
    (Any::CompatibleNonArray, "anycompatiblenonarray", 5079),
];

impl Any {
    /// The one with this name.
    pub fn from_name(name: &str) -> Option<Any> {
        ANY.iter()
            .find(|known| known.1 == name)
            .map(|known| known.0)
    }

    /// Whether it is an array of what others of its kin are.
    pub fn is_array(self) -> bool {
        matches!(self, Any::Array | Any::CompatibleArray)
    }

    /// Whether arguments are made one type, rather than having to be.
    pub fn is_compatible(self) -> bool {
        matches!(
            self,
            Any::Compatible | Any::CompatibleArray | Any::CompatibleNonArray
        )
    }

    fn entry(self) -> &'static (Any, &'static str, u32) {
        let place = ANY.iter().position(|known| known.0 == self);
        &ANY[place.unwrap_or(0)]
    }
}

/// How text of several types compares and which operators a type has.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum TypeFamily {
    Boolean,
    Integer,
    Float,
    Exact,
    Text,
    Binary,
    DateTime,
    Uuid,
    /// money.
    Money,
    /// Figures of the plane, each of which has operators of its own and no order.
    Geometry,
    /// inet and cidr.
    Network,
    /// macaddr.
    Card,
    /// bit and bit varying.
    Bits,
    /// Ranges, each of which compares with its own kind alone.
    Range,
    /// The same of sets of them.
    Multirange,
    /// interval, which is no point in time.
    Timespan,
    /// Enums, each of which compares with itself alone.
    Enum,
    /// tsvector and tsquery, each of which compares with itself alone.
    Search,
    /// citext.
    Caseless,
    /// hstore.
    Pairs,
    /// tid.
    Place,
    /// xid.
    Transaction,
    Json,
    Record,
    Array,
    Unknown,
    Void,
}

/// (variant, OID, SQL name, array variant's OID holder) in one table, so that nothing drifts apart.
const TABLE: &[(SqlType, u32, &str, Option<SqlType>)] = {
    use RangeKind as R;
    use SqlType::*;
    &[
        (Bool, 16, "boolean", Some(BoolArray)),
        (Bytea, 17, "bytea", Some(ByteaArray)),
        (InternalChar, 18, "\"char\"", Some(InternalCharArray)),
        (Name, 19, "name", Some(NameArray)),
        (Int8, 20, "bigint", Some(Int8Array)),
        (Int2, 21, "smallint", Some(Int2Array)),
        (Int4, 23, "integer", Some(Int4Array)),
        (Text, 25, "text", Some(TextArray)),
        (Oid, 26, "oid", Some(OidArray)),
        (Tid, 27, "tid", Some(TidArray)),
        (TidArray, 1010, "tid[]", None),
        (Xid, 28, "xid", Some(XidArray)),
        (XidArray, 1011, "xid[]", None),
        (Float4, 700, "real", Some(Float4Array)),
        (Point, 600, "point", Some(PointArray)),
        (PointArray, 1017, "point[]", None),
        (Lseg, 601, "lseg", Some(LsegArray)),
        (LsegArray, 1018, "lseg[]", None),
        (Path, 602, "path", Some(PathArray)),
        (PathArray, 1019, "path[]", None),
        (Box, 603, "box", Some(BoxArray)),
        (BoxArray, 1020, "box[]", None),
        (Polygon, 604, "polygon", Some(PolygonArray)),
        (PolygonArray, 1027, "polygon[]", None),
        (Line, 628, "line", Some(LineArray)),
        (LineArray, 629, "line[]", None),
        (Circle, 718, "circle", Some(CircleArray)),
        (CircleArray, 719, "circle[]", None),
        (Float8, 701, "double precision", Some(Float8Array)),
        (Money, 790, "money", Some(MoneyArray)),
        (MoneyArray, 791, "money[]", None),
        (Unknown, 705, "unknown", None),
        (Bpchar, 1042, "character", Some(BpcharArray)),
        (Varchar, 1043, "character varying", Some(VarcharArray)),
        (Date, 1082, "date", Some(DateArray)),
        (
            Timestamp,
            1114,
            "timestamp without time zone",
            Some(TimestampArray),
        ),
        (
            TimestampTz,
            1184,
            "timestamp with time zone",
            Some(TimestampTzArray),
        ),
        (Numeric, 1700, "numeric", Some(NumericArray)),
        (Json, 114, "json", Some(JsonArray)),
        (JsonArray, 199, "json[]", None),
        (ByteaArray, 1001, "bytea[]", None),
        (BpcharArray, 1014, "character[]", None),
        (Float4Array, 1021, "real[]", None),
        (Time, 1083, "time without time zone", Some(TimeArray)),
        (TimeArray, 1183, "time without time zone[]", None),
        (Interval, 1186, "interval", Some(IntervalArray)),
        (IntervalArray, 1187, "interval[]", None),
        (TimeTz, 1266, "time with time zone", Some(TimeTzArray)),
        (TimeTzArray, 1270, "time with time zone[]", None),
        (Jsonb, 3802, "jsonb", Some(JsonbArray)),
        (JsonbArray, 3807, "jsonb[]", None),
        (Record, 2249, "record", Some(RecordArray)),
        (RecordArray, 2287, "record[]", None),
        (Cstring, 2275, "cstring", None),
        (Void, 2278, "void", None),
        (Uuid, 2950, "uuid", Some(UuidArray)),
        (BoolArray, 1000, "boolean[]", None),
        (InternalCharArray, 1002, "\"char\"[]", None),
        (NameArray, 1003, "name[]", None),
        (Int2Array, 1005, "smallint[]", None),
        (Int4Array, 1007, "integer[]", None),
        (TextArray, 1009, "text[]", None),
        (VarcharArray, 1015, "character varying[]", None),
        (Int8Array, 1016, "bigint[]", None),
        (Float8Array, 1022, "double precision[]", None),
        (OidArray, 1028, "oid[]", None),
        (TimestampArray, 1115, "timestamp without time zone[]", None),
        (DateArray, 1182, "date[]", None),
        (TimestampTzArray, 1185, "timestamp with time zone[]", None),
        (NumericArray, 1231, "numeric[]", None),
        (UuidArray, 2951, "uuid[]", None),
        (RegProc, 24, "regproc", None),
        (RegProcedure, 2202, "regprocedure", None),
        (RegOper, 2203, "regoper", None),
        (RegOperator, 2204, "regoperator", None),
        (RegClass, 2205, "regclass", Some(RegClassArray)),
        (RegType, 2206, "regtype", Some(RegTypeArray)),
        (RegNamespace, 4089, "regnamespace", None),
        (RegRole, 4096, "regrole", None),
        (RegClassArray, 2210, "regclass[]", None),
        (RegTypeArray, 2211, "regtype[]", None),
        (Int2Vector, 22, "int2vector", None),
        (OidVector, 30, "oidvector", None),
        (Inet, 869, "inet", Some(InetArray)),
        (Cidr, 650, "cidr", Some(CidrArray)),
        (MacAddr, 829, "macaddr", Some(MacAddrArray)),
        (InetArray, 1041, "inet[]", None),
        (CidrArray, 651, "cidr[]", None),
        (MacAddrArray, 1040, "macaddr[]", None),
        (Bit, 1560, "bit", Some(BitArray)),
        (BitArray, 1561, "bit[]", None),
        (VarBit, 1562, "bit varying", Some(VarBitArray)),
        (VarBitArray, 1563, "bit varying[]", None),
        (Range(R::Int4), 3904, "int4range", Some(RangeArray(R::Int4))),
        (RangeArray(R::Int4), 3905, "int4range[]", None),
        (
            Multirange(R::Int4),
            4451,
            "int4multirange",
            Some(MultirangeArray(R::Int4)),
        ),
        (MultirangeArray(R::Int4), 6150, "int4multirange[]", None),
        (Range(R::Num), 3906, "numrange", Some(RangeArray(R::Num))),
        (RangeArray(R::Num), 3907, "numrange[]", None),
        (
            Multirange(R::Num),
            4532,
            "nummultirange",
            Some(MultirangeArray(R::Num)),
        ),
        (MultirangeArray(R::Num), 6151, "nummultirange[]", None),
        (Range(R::Ts), 3908, "tsrange", Some(RangeArray(R::Ts))),
        (RangeArray(R::Ts), 3909, "tsrange[]", None),
        (
            Multirange(R::Ts),
            4533,
            "tsmultirange",
            Some(MultirangeArray(R::Ts)),
        ),
        (MultirangeArray(R::Ts), 6152, "tsmultirange[]", None),
        (Range(R::TsTz), 3910, "tstzrange", Some(RangeArray(R::TsTz))),
        (RangeArray(R::TsTz), 3911, "tstzrange[]", None),
        (
            Multirange(R::TsTz),
            4534,
            "tstzmultirange",
            Some(MultirangeArray(R::TsTz)),
        ),
        (MultirangeArray(R::TsTz), 6153, "tstzmultirange[]", None),
        (Range(R::Date), 3912, "daterange", Some(RangeArray(R::Date))),
        (RangeArray(R::Date), 3913, "daterange[]", None),
        (
            Multirange(R::Date),
            4535,
            "datemultirange",
            Some(MultirangeArray(R::Date)),
        ),
        (MultirangeArray(R::Date), 6155, "datemultirange[]", None),
        (Range(R::Int8), 3926, "int8range", Some(RangeArray(R::Int8))),
        (RangeArray(R::Int8), 3927, "int8range[]", None),
        (
            Multirange(R::Int8),
            4536,
            "int8multirange",
            Some(MultirangeArray(R::Int8)),
        ),
        (MultirangeArray(R::Int8), 6157, "int8multirange[]", None),
        (RefCursor, 1790, "refcursor", Some(RefCursorArray)),
        (RefCursorArray, 2201, "refcursor[]", None),
        (JsonPath, 4072, "jsonpath", Some(JsonPathArray)),
        (JsonPathArray, 4073, "jsonpath[]", None),
        (TsVector, 3614, "tsvector", Some(TsVectorArray)),
        (TsVectorArray, 3643, "tsvector[]", None),
        (TsQuery, 3615, "tsquery", Some(TsQueryArray)),
        (TsQueryArray, 3645, "tsquery[]", None),
        (RegConfig, 3734, "regconfig", Some(RegConfigArray)),
        (RegConfigArray, 3735, "regconfig[]", None),
        (
            RegDictionary,
            3769,
            "regdictionary",
            Some(RegDictionaryArray),
        ),
        (RegDictionaryArray, 3770, "regdictionary[]", None),
        (Citext, OF_EXTENSIONS, "citext", Some(CitextArray)),
        (CitextArray, OF_EXTENSIONS + 1, "citext[]", None),
        (Hstore, OF_EXTENSIONS + 2, "hstore", Some(HstoreArray)),
        (HstoreArray, OF_EXTENSIONS + 3, "hstore[]", None),
    ]
};

/// In the number of the type of a relation's rows, besides the relation's.
pub const ROW_TYPE: u32 = 1 << 30;
/// In that of its array, besides.
pub const ROW_ARRAY: u32 = 1 << 29;

/// Numbers of the types of extensions are these and those that follow: among the numbers of users' objects, where PostgreSQL
/// has them, and beyond any that the one counter of these will reach.
const OF_EXTENSIONS: u32 = 1 << 28;

/// The number of the array type of a composite type.
fn array_of_composite(number: u32) -> u32 {
    match number & ROW_TYPE {
        0 => number + 1,
        _ => number | ROW_ARRAY,
    }
}

impl SqlType {
    fn entry(self) -> &'static (SqlType, u32, &'static str, Option<SqlType>) {
        TABLE
            .iter()
            .find(|e| e.0 == self)
            .expect("every variant has a row in TABLE; a test checks")
    }

    /// PostgreSQL's OID of the type.
    pub fn oid(self) -> u32 {
        match self {
            SqlType::Enum(number) => number,
            SqlType::EnumArray(number) => number + 1,
            SqlType::Composite(number) => number,
            SqlType::CompositeArray(number) => array_of_composite(number),
            SqlType::Any(any) => any.entry().2,
            _ => self.entry().1,
        }
    }

    /// The type with this OID, if it is built in. 0 means "not told".
    pub fn from_oid(oid: u32) -> Option<SqlType> {
        TABLE.iter().find(|e| e.1 == oid).map(|e| e.0)
    }

    /// The same, where what an extension brings is the catalogue's to know.
    pub fn built_in_with_oid(oid: u32) -> Option<SqlType> {
        SqlType::from_oid(oid).filter(|ty| !ty.is_of_extension())
    }

    /// Every type that is built in, but for those of extensions.
    pub fn built_in() -> impl Iterator<Item = SqlType> {
        let all = TABLE.iter().map(|entry| entry.0);
        all.filter(|ty| !ty.is_of_extension())
    }

    /// The types, but for arrays of them, that an extension brings: in the catalogue where it was made.
    pub fn of_extension(name: &str) -> &'static [SqlType] {
        match name {
            "citext" => &[SqlType::Citext],
            "hstore" => &[SqlType::Hstore],
            _ => &[],
        }
    }

    /// True for the types of extensions, and arrays of them: the catalogue knows them as it knows users' types.
    pub fn is_of_extension(self) -> bool {
        use SqlType::*;
        matches!(self, Citext | CitextArray | Hstore | HstoreArray)
    }

    /// The name as `format_type` prints it, without modifier. Of what a user made only the kind: its name is
    /// the catalogue's to say, and [`fmt::Display`] leaves a mark for it.
    pub fn name(self) -> &'static str {
        match self {
            SqlType::Enum(_) => "enum",
            SqlType::EnumArray(_) => "enum[]",
            SqlType::Composite(_) => "composite",
            SqlType::CompositeArray(_) => "composite[]",
            SqlType::Any(any) => any.entry().1,
            _ => self.entry().2,
        }
    }

    /// The type for a (lower-case) name as SQL text or `pg_type` writes it, arrays excluded.
    pub fn from_name(name: &str) -> Option<SqlType> {
        use SqlType::*;
        Some(match name {
            "bool" | "boolean" => Bool,
            "int2" | "smallint" => Int2,
            "int4" | "int" | "integer" => Int4,
            "int8" | "bigint" => Int8,
            "float4" | "real" => Float4,
            "float8" | "double precision" | "float" => Float8,
            "numeric" | "decimal" => Numeric,
            "text" => Text,
            "varchar" | "character varying" => Varchar,
            "bpchar" | "character" => Bpchar,
            "name" => Name,
            "char" => InternalChar,
            "bytea" => Bytea,
            "date" => Date,
            "timestamp" | "timestamp without time zone" => Timestamp,
            "timestamptz" | "timestamp with time zone" => TimestampTz,
            "uuid" => Uuid,
            "interval" => Interval,
            "time" | "time without time zone" => Time,
            "timetz" | "time with time zone" => TimeTz,
            "json" => Json,
            "jsonb" => Jsonb,
            "money" => Money,
            "point" => Point,
            "lseg" => Lseg,
            "line" => Line,
            "box" => Box,
            "path" => Path,
            "polygon" => Polygon,
            "circle" => Circle,
            "oid" => Oid,
            "tid" => Tid,
            "xid" => Xid,
            "inet" => Inet,
            "cidr" => Cidr,
            "macaddr" => MacAddr,
            "bit" => Bit,
            "varbit" | "bit varying" => VarBit,
            "refcursor" => RefCursor,
            "jsonpath" => JsonPath,
            "tsvector" => TsVector,
            "tsquery" => TsQuery,
            "void" => Void,
            "unknown" => Unknown,
            "cstring" => Cstring,
            "int4range" => Range(RangeKind::Int4),
            "int8range" => Range(RangeKind::Int8),
            "numrange" => Range(RangeKind::Num),
            "tsrange" => Range(RangeKind::Ts),
            "tstzrange" => Range(RangeKind::TsTz),
            "daterange" => Range(RangeKind::Date),
            "int4multirange" => Multirange(RangeKind::Int4),
            "int8multirange" => Multirange(RangeKind::Int8),
            "nummultirange" => Multirange(RangeKind::Num),
            "tsmultirange" => Multirange(RangeKind::Ts),
            "tstzmultirange" => Multirange(RangeKind::TsTz),
            "datemultirange" => Multirange(RangeKind::Date),
            "regclass" => RegClass,
            "regtype" => RegType,
            "regproc" => RegProc,
            "regprocedure" => RegProcedure,
            "regoper" => RegOper,
            "regoperator" => RegOperator,
            "regnamespace" => RegNamespace,
            "regrole" => RegRole,
            "regconfig" => RegConfig,
            "regdictionary" => RegDictionary,
            "int2vector" => Int2Vector,
            "oidvector" => OidVector,
            _ => return None,
        })
    }

    /// The array type over this element type.
    pub fn array_of(self) -> Option<SqlType> {
        match self {
            SqlType::Enum(number) => Some(SqlType::EnumArray(number)),
            SqlType::Composite(number) => Some(SqlType::CompositeArray(number)),
            SqlType::EnumArray(_) | SqlType::CompositeArray(_) => None,
            SqlType::Any(Any::Element) => Some(SqlType::Any(Any::Array)),
            SqlType::Any(Any::Compatible) => Some(SqlType::Any(Any::CompatibleArray)),
            SqlType::Any(_) => None,
            _ => self.entry().3,
        }
    }

    /// The element type of an array type.
    pub fn element(self) -> Option<SqlType> {
        match self {
            SqlType::Int2Vector => return Some(SqlType::Int2),
            SqlType::OidVector => return Some(SqlType::Oid),
            SqlType::EnumArray(number) => return Some(SqlType::Enum(number)),
            SqlType::CompositeArray(number) => return Some(SqlType::Composite(number)),
            SqlType::Composite(_) | SqlType::Enum(_) => return None,
            SqlType::Any(Any::Array) => return Some(SqlType::Any(Any::Element)),
            SqlType::Any(Any::CompatibleArray) => return Some(SqlType::Any(Any::Compatible)),
            SqlType::Any(_) => return None,
            _ => {}
        }
        // Asked for values of rows: no search for what is no array.
        if self.family() != TypeFamily::Array {
            return None;
        }
        TABLE.iter().find(|e| e.3 == Some(self)).map(|e| e.0)
    }

    /// The type of the parts of a figure that has subscripts, which is no array.
    pub fn part(self) -> Option<SqlType> {
        match self {
            SqlType::Point | SqlType::Line => Some(SqlType::Float8),
            SqlType::Lseg | SqlType::Box => Some(SqlType::Point),
            _ => None,
        }
    }

    /// What stands between elements of the type in the text of an array.
    pub fn delimiter(self) -> u8 {
        match self {
            SqlType::Box => b';',
            _ => b',',
        }
    }

    /// Fixed width in bytes as PostgreSQL's `typlen` says it, -1 for variable, -2 for unknown text.
    pub fn type_len(self) -> i16 {
        use SqlType::*;
        match self {
            Bool | InternalChar => 1,
            Int2 => 2,
            Int4 | Float4 | Date | Oid | Xid | Void | Enum(_) => 4,
            _ if self.is_named_oid() => 4,
            Int8 | Float8 | Timestamp | TimestampTz | Time | Money => 8,
            MacAddr | Tid => 6,
            TimeTz => 12,
            Uuid | Interval | Point => 16,
            Line | Circle => 24,
            Lseg | Box => 32,
            Name => 64,
            Unknown | Cstring => -2,
            _ => -1,
        }
    }

    /// Whether PostgreSQL hands values of the type over as such, `typbyval`.
    pub fn is_by_value(self) -> bool {
        matches!(self.type_len(), 1 | 2 | 4 | 8)
    }

    /// The family.
    pub fn family(self) -> TypeFamily {
        use SqlType::*;
        match self {
            Bool => TypeFamily::Boolean,
            Int2 | Int4 | Int8 | Oid => TypeFamily::Integer,
            _ if self.is_named_oid() => TypeFamily::Integer,
            Float4 | Float8 => TypeFamily::Float,
            Numeric => TypeFamily::Exact,
            Money => TypeFamily::Money,
            Point | Lseg | Line | Box | Path | Polygon | Circle => TypeFamily::Geometry,
            Text | Varchar | Bpchar | Name | InternalChar => TypeFamily::Text,
            Bytea => TypeFamily::Binary,
            TsVector | TsQuery => TypeFamily::Search,
            Citext => TypeFamily::Caseless,
            Hstore => TypeFamily::Pairs,
            Tid => TypeFamily::Place,
            Xid => TypeFamily::Transaction,
            Date | Timestamp | TimestampTz | Time | TimeTz => TypeFamily::DateTime,
            Interval => TypeFamily::Timespan,
            Enum(_) => TypeFamily::Enum,
            // What is held as text and has no order.
            Json | Jsonb | RefCursor | JsonPath | Cstring => TypeFamily::Json,
            Record | Composite(_) => TypeFamily::Record,
            Uuid => TypeFamily::Uuid,
            Inet | Cidr => TypeFamily::Network,
            MacAddr => TypeFamily::Card,
            Bit | VarBit => TypeFamily::Bits,
            Range(_) => TypeFamily::Range,
            Multirange(_) => TypeFamily::Multirange,
            Unknown => TypeFamily::Unknown,
            Void | Any(_) => TypeFamily::Void,
            _ => TypeFamily::Array,
        }
    }

    /// True for `regclass` and its kin: an oid that prints as a name.
    pub fn is_named_oid(self) -> bool {
        use SqlType::*;
        matches!(
            self,
            RegClass
                | RegType
                | RegProc
                | RegProcedure
                | RegOper
                | RegOperator
                | RegNamespace
                | RegRole
                | RegConfig
                | RegDictionary
        )
    }

    /// True for types whose values are bytes that only they can read.
    pub fn is_bytes_within(self) -> bool {
        matches!(self.family(), TypeFamily::Search | TypeFamily::Pairs)
    }

    /// The kind of a range type or a multirange type.
    pub fn range_kind(self) -> Option<RangeKind> {
        match self {
            SqlType::Range(kind) | SqlType::Multirange(kind) => Some(kind),
            _ => None,
        }
    }

    /// True for enums.
    pub fn is_enum(self) -> bool {
        matches!(self, SqlType::Enum(_))
    }

    /// True for records and composite types.
    pub fn is_record(self) -> bool {
        matches!(self, SqlType::Record | SqlType::Composite(_))
    }

    /// True for arrays of the catalogue that count from 0 and print without braces.
    pub fn is_vector(self) -> bool {
        matches!(self, SqlType::Int2Vector | SqlType::OidVector)
    }

    /// True where clients see more than a value says: names for numbers, vectors, a `"char"` that is none, the version
    /// of a path, the block of a row.
    pub fn is_told_by_type(self) -> bool {
        self.is_named_oid()
            || self.is_vector()
            || matches!(
                self,
                SqlType::InternalChar
                    | SqlType::InternalCharArray
                    | SqlType::JsonPath
                    | SqlType::TsVector
                    | SqlType::TsQuery
                    | SqlType::Hstore
                    | SqlType::Tid
            )
    }

    /// True for int2, int4, int8, float4, float8, numeric.
    pub fn is_numeric(self) -> bool {
        use SqlType::*;
        matches!(self, Int2 | Int4 | Int8 | Float4 | Float8 | Numeric)
    }
}

impl fmt::Display for SqlType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SqlType::Enum(number) | SqlType::Composite(number) => {
                f.write_str(&objects::mark(*number))
            }
            SqlType::EnumArray(number) | SqlType::CompositeArray(number) => {
                write!(f, "{}[]", objects::mark(*number))
            }
            SqlType::Citext | SqlType::Hstore => f.write_str(&objects::mark(self.oid())),
            SqlType::CitextArray => write!(f, "{}[]", SqlType::Citext),
            SqlType::HstoreArray => write!(f, "{}[]", SqlType::Hstore),
            _ => f.write_str(self.name()),
        }
    }
}

/// A type modifier with PostgreSQL's packing: `varchar(n)`/`char(n)` is n+4, `numeric(p,s)` is
/// `(p << 16 | s) + 4` with s in 11 bits, timestamps carry their precision and bits their number, -1 means none.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct TypeMod(pub i32);

/// Where the scale of a `numeric` is in its modifier.
const SCALE_BITS: i32 = 0x7ff;
const SCALE_SIGN: i32 = 0x400;

impl TypeMod {
    /// No modifier.
    pub const NONE: TypeMod = TypeMod(-1);

    /// For `varchar(n)` and `char(n)`.
    pub fn length(n: u32) -> TypeMod {
        TypeMod(n as i32 + 4)
    }

    /// For `numeric(precision, scale)`.
    pub fn precision_scale(precision: u16, scale: i16) -> TypeMod {
        TypeMod((i32::from(precision) << 16 | (i32::from(scale) & SCALE_BITS)) + 4)
    }

    /// The length of a `varchar(n)`/`char(n)` modifier, in characters.
    pub fn as_length(self) -> Option<usize> {
        (self.0 >= 4).then_some((self.0 - 4) as usize)
    }

    /// The number of bits of a `bit(n)`/`bit varying(n)` modifier.
    pub fn as_bits(self) -> Option<usize> {
        usize::try_from(self.0).ok()
    }

    /// Precision and scale of a `numeric(p,s)` modifier.
    pub fn as_precision_scale(self) -> Option<(u16, i16)> {
        // The highest of its bits is the sign.
        let scale = ((self.0.wrapping_sub(4) & SCALE_BITS) ^ SCALE_SIGN) - SCALE_SIGN;
        (self.0 >= 4).then_some((((self.0 - 4) >> 16) as u16, scale as i16))
    }
}

/// `name(modifier)` as `format_type` prints it.
pub fn format_type(ty: SqlType, modifier: TypeMod) -> String {
    match ty {
        SqlType::Varchar | SqlType::Bpchar => match modifier.as_length() {
            Some(n) => format!("{}({n})", ty.name()),
            None => ty.name().to_string(),
        },
        SqlType::Numeric => match modifier.as_precision_scale() {
            Some((p, s)) => format!("numeric({p},{s})"),
            None => ty.name().to_string(),
        },
        SqlType::Bit | SqlType::VarBit => match modifier.as_bits() {
            Some(n) => format!("{}({n})", ty.name()),
            None => ty.name().to_string(),
        },
        SqlType::Interval => ty.name().to_string() + &crate::interval::modifier_words(modifier),
        SqlType::Time | SqlType::TimeTz | SqlType::Timestamp | SqlType::TimestampTz
            if modifier != TypeMod::NONE =>
        {
            // The digits stand behind the first word.
            let (word, rest) = ty.name().split_once(' ').unwrap_or((ty.name(), ""));
            format!("{word}({}) {rest}", modifier.0)
        }
        _ => match ty.element() {
            Some(element) if modifier != TypeMod::NONE => format_type(element, modifier) + "[]",
            _ => ty.to_string(),
        },
    }
}

/// The same where a length could have been said and was not: `bit` and `character` alone would be one long.
pub fn format_declared(ty: SqlType, modifier: TypeMod) -> String {
    let unbounded = match ty.element().unwrap_or(ty) {
        SqlType::Bit => "\"bit\"",
        SqlType::Bpchar => "bpchar",
        _ => return format_type(ty, modifier),
    };
    match (modifier, ty.family()) {
        (TypeMod::NONE, TypeFamily::Array) => format!("{unbounded}[]"),
        (TypeMod::NONE, _) => unbounded.to_string(),
        _ => format_type(ty, modifier),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_is_a_bijection_and_arrays_point_back() {
        for entry in TABLE {
            assert_eq!(SqlType::from_oid(entry.1), Some(entry.0));
            assert_eq!(
                TABLE.iter().filter(|e| e.0 == entry.0).count(),
                1,
                "{:?}",
                entry.0
            );
            if let Some(array) = entry.3 {
                assert_eq!(array.element(), Some(entry.0));
                assert_eq!(array.family(), TypeFamily::Array);
            }
        }
    }

    #[test]
    fn modifiers_print_as_declared() {
        assert_eq!(
            format_type(SqlType::Numeric, TypeMod::precision_scale(12, 2)),
            "numeric(12,2)"
        );
        assert_eq!(
            format_type(SqlType::Numeric, TypeMod::precision_scale(5, -2)),
            "numeric(5,-2)"
        );
        assert_eq!(
            format_type(SqlType::Bpchar, TypeMod::length(22)),
            "character(22)"
        );
        assert_eq!(format_type(SqlType::Int4, TypeMod::NONE), "integer");
        assert_eq!(
            format_type(SqlType::NumericArray, TypeMod::precision_scale(5, 2)),
            "numeric(5,2)[]"
        );
        assert_eq!(format_type(SqlType::Int4Array, TypeMod::NONE), "integer[]");
        assert_eq!(format_type(SqlType::BitArray, TypeMod(3)), "bit(3)[]");
        assert_eq!(format_declared(SqlType::BitArray, TypeMod(3)), "bit(3)[]");
        let unbounded = |ty| format_declared(ty, TypeMod::NONE);
        assert_eq!(unbounded(SqlType::Bit), "\"bit\"");
        assert_eq!(unbounded(SqlType::BpcharArray), "bpchar[]");
        assert_eq!(unbounded(SqlType::VarBit), "bit varying");
    }
}

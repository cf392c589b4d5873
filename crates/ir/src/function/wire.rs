//! Values as bytes, as clients are sent them: `int4send`, `uuid_send` and their kin.
//!
//! Relies on: `base::binary_format`.  Promises: the bytes of the binary protocol.  Does not: read them (`int4recv` takes what only a connection has),
//! nor send what needs to be told of which type it is (arrays, ranges, enums, rows).

use super::{Function, builtin as new};
use quintet_base::SqlType::{self, *};
use quintet_base::{Value, binary_format};

macro_rules! sent {
    ($($name:literal $ty:ident,)*) => {
        &[$(
            new($name, &[$ty], Bytea, |args, host| {
                let mut bytes = Vec::new();
                binary_format::write_typed(args[0], SqlType::$ty, host.format(), &mut bytes);
                Ok(Value::Bytea(bytes.into()))
            }),
        )*]
    };
}

pub(super) const FUNCTIONS: &[Function] = sent! {
    "boolsend" Bool,
    "int2send" Int2,
    "int4send" Int4,
    "int8send" Int8,
    "oidsend" Oid,
    "xidsend" Xid,
    "tidsend" Tid,
    "float4send" Float4,
    "float8send" Float8,
    "numeric_send" Numeric,
    "cash_send" Money,
    "textsend" Text,
    "varcharsend" Varchar,
    "bpcharsend" Bpchar,
    "namesend" Name,
    "charsend" InternalChar,
    "byteasend" Bytea,
    "uuid_send" Uuid,
    "json_send" Json,
    "jsonb_send" Jsonb,
    "jsonpath_send" JsonPath,
    "date_send" Date,
    "time_send" Time,
    "timetz_send" TimeTz,
    "timestamp_send" Timestamp,
    "timestamptz_send" TimestampTz,
    "interval_send" Interval,
    "inet_send" Inet,
    "cidr_send" Cidr,
    "macaddr_send" MacAddr,
    "bit_send" Bit,
    "varbit_send" VarBit,
    "point_send" Point,
    "lseg_send" Lseg,
    "line_send" Line,
    "box_send" Box,
    "path_send" Path,
    "poly_send" Polygon,
    "circle_send" Circle,
    "tsvectorsend" TsVector,
    "tsquerysend" TsQuery,
    "int2vectorsend" Int2Vector,
    "oidvectorsend" OidVector,
    "regclasssend" RegClass,
    "regtypesend" RegType,
    "regprocsend" RegProc,
    "regproceduresend" RegProcedure,
    "regrolesend" RegRole,
    "regnamespacesend" RegNamespace,
    "regopersend" RegOper,
    "regoperatorsend" RegOperator,
    "regconfigsend" RegConfig,
    "regdictionarysend" RegDictionary,
};

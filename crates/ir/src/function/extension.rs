//! PostgreSQL's extensions that there are, and what `pgcrypto` and `uuid-ossp` bring, as far as Quintet has it.
//!
//! Relies on: `hmac`, `md-5`, `sha1` and `sha2` for digests, the [`Host`] for random bits.  Promises: the same bytes as the
//! extensions of PostgreSQL 15; the functions are there, whether or not CREATE EXTENSION was said.  Does not: passwords
//! (`crypt`), encryption (`encrypt`, `pgp_…`), or UUIDs made of the time and the machine's address (`uuid_generate_v1`).

use super::{Function, builtin as new, int, str};
use crate::eval::Host;
use hmac::{Hmac, KeyInit, Mac};
use quintet_base::SqlType::{Bytea, Int4, Text, Uuid};
use quintet_base::{SqlError, SqlResult, SqlState, SqlType, Value};
use sha2::Digest;

/// An extension that CREATE EXTENSION knows.
#[derive(Debug)]
pub struct Extension {
    /// Its name.
    pub name: &'static str,
    /// The version that PostgreSQL 15 makes.
    pub version: &'static str,
    /// What `pg_available_extensions` says of it.
    pub comment: &'static str,
    /// Its functions and operators, as far as they are there.
    pub functions: &'static [&'static str],
}

/// All of them, but for `plpgsql`, which every database has.
pub const EXTENSIONS: [Extension; 9] = [
    Extension {
        name: "btree_gin",
        version: "1.3",
        comment: "support for indexing common datatypes in GIN",
        functions: &[],
    },
    Extension {
        name: "btree_gist",
        version: "1.7",
        comment: "support for indexing common datatypes in GiST",
        functions: &[],
    },
    Extension {
        name: "citext",
        version: "1.6",
        comment: "data type for case-insensitive character strings",
        functions: &["citext_cmp"],
    },
    Extension {
        name: "hstore",
        version: "1.8",
        comment: "data type for storing sets of (key, value) pairs",
        functions: &[
            "akeys",
            "avals",
            "defined",
            "delete",
            "each",
            "exist",
            "exists_all",
            "exists_any",
            "fetchval",
            "hs_concat",
            "hs_contained",
            "hs_contains",
            "hstore",
            "hstore_cmp",
            "hstore_to_array",
            "hstore_to_json",
            "hstore_to_json_loose",
            "hstore_to_jsonb",
            "hstore_to_jsonb_loose",
            "hstore_to_matrix",
            "isdefined",
            "isexists",
            "populate_record",
            "skeys",
            "slice",
            "slice_array",
            "svals",
            "tconvert",
        ],
    },
    Extension {
        name: "fuzzystrmatch",
        version: "1.1",
        comment: "determine similarities and distance between strings",
        functions: &[
            "difference",
            "dmetaphone",
            "dmetaphone_alt",
            "levenshtein",
            "levenshtein_less_equal",
            "metaphone",
            "soundex",
            "text_soundex",
        ],
    },
    Extension {
        name: "pg_trgm",
        version: "1.6",
        comment: "text similarity measurement and index searching based on trigrams",
        functions: &[
            "set_limit",
            "show_limit",
            "show_trgm",
            "similarity",
            "similarity_dist",
            "similarity_op",
            "strict_word_similarity",
            "strict_word_similarity_commutator_op",
            "strict_word_similarity_dist_commutator_op",
            "strict_word_similarity_dist_op",
            "strict_word_similarity_op",
            "word_similarity",
            "word_similarity_commutator_op",
            "word_similarity_dist_commutator_op",
            "word_similarity_dist_op",
            "word_similarity_op",
            "%",
            "<%",
            "%>",
            "<<%",
            "%>>",
            "<->",
            "<<->",
            "<->>",
            "<<<->",
            "<->>>",
        ],
    },
    Extension {
        name: "pgcrypto",
        version: "1.3",
        comment: "cryptographic functions",
        functions: &["digest", "hmac", "gen_random_bytes", "gen_random_uuid"],
    },
    Extension {
        name: "unaccent",
        version: "1.1",
        comment: "text search dictionary that removes accents",
        functions: &["unaccent"],
    },
    Extension {
        name: "uuid-ossp",
        version: "1.1",
        comment: "generate universally unique identifiers (UUIDs)",
        functions: &[
            "uuid_generate_v3",
            "uuid_generate_v4",
            "uuid_generate_v5",
            "uuid_nil",
            "uuid_ns_dns",
            "uuid_ns_oid",
            "uuid_ns_url",
            "uuid_ns_x500",
        ],
    },
];

/// Operators of the types of extensions.
const OPERATORS: &[&str] = &[
    "=", "<>", "<", "<=", ">", ">=", "~", "!~", "~*", "!~*", "~~", "!~~", "~~*", "!~~*", "->", "?",
    "?&", "?|", "@>", "<@", "||", "-", "%%", "%#", "#=", "#<#", "#<=#", "#>#", "#>=#",
];

/// Whether this is a function, or an operator, of an extension: PostgreSQL has it in the schema of the extension.
pub fn is_of_extension(name: &str) -> bool {
    if OPERATORS.contains(&name) {
        return true;
    }
    let mut all = EXTENSIONS.iter().flat_map(|extension| extension.functions);
    all.any(|function| *function == name)
}

/// The type of an extension without which nobody has its function of this name; `None` for all other names.
pub fn type_of_function(name: &str) -> Option<SqlType> {
    let mut all = EXTENSIONS.iter();
    let own = all.find(|extension| extension.functions.contains(&name))?;
    SqlType::of_extension(own.name).first().copied()
}

/// `gen_random_bytes` gives no more.
const RANDOM_BYTES_MAX: i64 = 1024;

/// The name spaces of RFC 9562, section 6.6, differ in their first four bytes.
const fn name_space(last: u8) -> [u8; 16] {
    [
        0x6b, 0xa7, 0xb8, last, 0x9d, 0xad, 0x11, 0xd1, 0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30,
        0xc8,
    ]
}

/// Text is its bytes.
fn data(value: &Value) -> &[u8] {
    match value {
        Value::Bytea(bytes) => bytes,
        text => str(text).as_bytes(),
    }
}

fn unknown_hash(name: &str) -> SqlError {
    SqlError::new(
        SqlState::INVALID_PARAMETER_VALUE,
        format!("Cannot use \"{name}\": No such hash algorithm"),
    )
}

fn digest(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let data = data(args[0]);
    let name = str(args[1]);
    let digest = match name.to_ascii_lowercase().as_str() {
        "md5" => md5::Md5::digest(data).to_vec(),
        "sha1" => sha1::Sha1::digest(data).to_vec(),
        "sha224" => sha2::Sha224::digest(data).to_vec(),
        "sha256" => sha2::Sha256::digest(data).to_vec(),
        "sha384" => sha2::Sha384::digest(data).to_vec(),
        "sha512" => sha2::Sha512::digest(data).to_vec(),
        _ => return Err(unknown_hash(name)),
    };
    Ok(Value::Bytea(digest.into()))
}

fn keyed<M: Mac + KeyInit>(data: &[u8], key: &[u8]) -> SqlResult<Vec<u8>> {
    let mut mac = <M as KeyInit>::new_from_slice(key).map_err(SqlError::internal)?;
    mac.update(data);
    Ok(mac.finalize().into_bytes().to_vec())
}

fn hmac(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let (data, key) = (data(args[0]), data(args[1]));
    let name = str(args[2]);
    let code = match name.to_ascii_lowercase().as_str() {
        "md5" => keyed::<Hmac<md5::Md5>>(data, key)?,
        "sha1" => keyed::<Hmac<sha1::Sha1>>(data, key)?,
        "sha224" => keyed::<Hmac<sha2::Sha224>>(data, key)?,
        "sha256" => keyed::<Hmac<sha2::Sha256>>(data, key)?,
        "sha384" => keyed::<Hmac<sha2::Sha384>>(data, key)?,
        "sha512" => keyed::<Hmac<sha2::Sha512>>(data, key)?,
        _ => return Err(unknown_hash(name)),
    };
    Ok(Value::Bytea(code.into()))
}

fn random_bytes(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let count = int(args[0]);
    if !(1..=RANDOM_BYTES_MAX).contains(&count) {
        return Err(SqlError::new(
            SqlState::EXTERNAL_ROUTINE_INVOCATION_EXCEPTION,
            "Length not in range",
        ));
    }
    let mut out: Vec<u8> = (0..count).step_by(16).flat_map(|_| host.secret()).collect();
    out.truncate(count as usize);
    Ok(Value::Bytea(out.into()))
}

/// A UUID made of a name (RFC 9562, sections 5.3 and 5.5): the first bytes of a digest.
fn of_name(digest: &[u8], version: u8) -> Value {
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    bytes[6] = bytes[6] & 0x0f | version << 4;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    Value::Uuid(bytes)
}

/// The name space, and the name behind it.
fn named(args: &[&Value]) -> SqlResult<Vec<u8>> {
    match args[0] {
        Value::Uuid(space) => Ok([space.as_slice(), str(args[1]).as_bytes()].concat()),
        _ => Err(SqlError::internal("a name space that is no UUID")),
    }
}

fn uuid_v3(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(of_name(&md5::Md5::digest(named(args)?), 3))
}

fn uuid_v5(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(of_name(&sha1::Sha1::digest(named(args)?), 5))
}

fn uuid_nil(_: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(Value::Uuid([0; 16]))
}

fn uuid_ns_dns(_: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(Value::Uuid(name_space(0x10)))
}

fn uuid_ns_url(_: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(Value::Uuid(name_space(0x11)))
}

fn uuid_ns_oid(_: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(Value::Uuid(name_space(0x12)))
}

fn uuid_ns_x500(_: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(Value::Uuid(name_space(0x14)))
}

pub(super) static FUNCTIONS: &[Function] = &[
    new("digest", &[Text, Text], Bytea, digest),
    new("digest", &[Bytea, Text], Bytea, digest),
    new("hmac", &[Text, Text, Text], Bytea, hmac),
    new("hmac", &[Bytea, Bytea, Text], Bytea, hmac),
    new("gen_random_bytes", &[Int4], Bytea, random_bytes).volatile(),
    new("uuid_generate_v3", &[Uuid, Text], Uuid, uuid_v3),
    new("uuid_generate_v4", &[], Uuid, super::system::random_uuid).volatile(),
    new("uuid_generate_v5", &[Uuid, Text], Uuid, uuid_v5),
    new("uuid_nil", &[], Uuid, uuid_nil),
    new("uuid_ns_dns", &[], Uuid, uuid_ns_dns),
    new("uuid_ns_oid", &[], Uuid, uuid_ns_oid),
    new("uuid_ns_url", &[], Uuid, uuid_ns_url),
    new("uuid_ns_x500", &[], Uuid, uuid_ns_x500),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_extension_says_that_it_has_is_there() {
        for name in EXTENSIONS.iter().flat_map(|extension| extension.functions) {
            let known = super::super::is_known(name)
                || super::super::sets::is_set_name(name)
                || super::super::pairs::POPULATE.name == *name;
            assert!(known, "{name}");
        }
    }
}

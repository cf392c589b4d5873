//! Ground floor: the words and bytes that every other room shares.
//!
//! Relies on: nothing of ours.  Promises: pure functions and plain data; the same input gives the
//! same bytes on every machine.  Does not: read a clock, touch a file, or know what a transaction does.
//!
//! | file | what it holds |
//! |---|---|
//! | `ids` | numbers that must not be mixed: log positions, timestamps, spaces, tables |
//! | `level`, `durability` | what a transaction may ask for |
//! | `limits` | every bound, with its reason |
//! | `error` | [`SqlError`] with its SQLSTATE, the only error a client ever sees |
//! | `types`, `value` | SQL types and values |
//! | `objects` | what the numbers of a catalogue's objects are called |
//! | `datum` | values where they lie |
//! | `numeric`, `datetime`, `interval` | exact decimals and calendar arithmetic as PostgreSQL defines them |
//! | `money` | amounts of dollars and cents |
//! | `array` | elements in up to six dimensions |
//! | `json`, `jsonpath` | JSON documents, as text and as values; paths into them |
//! | `lexemes` | words of texts, and what is looked for in them |
//! | `place`, `xid` | where a row is, and what tells it from another state of it |
//! | `record` | rows as values |
//! | `range`, `multirange` | what lies between two values, and sets of such |
//! | `geometry` | figures of the plane |
//! | `network` | addresses of the internet and of network cards |
//! | `bits` | strings of bits |
//! | `caseless`, `pairs` | values of the extensions `citext` and `hstore` |
//! | `text_format`, `binary_format` | values as the protocol, COPY and literals write them |
//! | `key`, `row` | order-preserving keys and rows as the stores keep them |
//! | `conflict` | which rows a call may touch, said before it runs |
//! | `stack` | room for trees that nest deeply |
//! | `patience` | whether what was in vain before is worth trying again |

pub mod array;
pub mod binary_format;
pub mod bits;
pub mod caseless;
pub mod conflict;
pub mod datetime;
pub mod datum;
pub mod durability;
pub mod error;
pub mod geometry;
pub mod ids;
pub mod interval;
pub mod json;
pub mod jsonpath;
pub mod key;
pub mod level;
pub mod lexemes;
pub mod limits;
pub mod money;
pub mod multirange;
pub mod network;
pub mod numeric;
pub mod objects;
pub mod pairs;
pub mod patience;
pub mod place;
pub mod range;
pub mod record;
pub mod row;
pub mod stack;
pub mod text_format;
pub mod types;
pub mod value;
pub mod xid;

pub use bits::Bits;
pub use bytes::Bytes;
pub use datum::Datum;
pub use durability::Durability;
pub use error::{SqlError, SqlResult, SqlState};
pub use geometry::Figure;
pub use ids::{
    ConstraintId, IndexId, Lsn, RoleId, RoutineId, SequenceId, SpaceId, TableId, Timestamp, TxnId,
};
pub use interval::Interval;
pub use json::Json;
pub use level::Level;
pub use multirange::Multirange;
pub use network::Inet;
pub use numeric::Numeric;
pub use patience::Patience;
pub use range::{Range, RangeKind};
pub use record::{Record, Shape};
pub use types::{SqlType, TypeMod};
pub use value::{Array, Str, Value};

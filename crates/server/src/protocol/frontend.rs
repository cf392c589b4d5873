//! Messages of the client.
//!
//! Relies on: `frame` has cut the body out.  Promises: text is UTF-8, counts and lengths lie inside
//! the body, nothing is copied.  Does not: know which message may come when.
//!
//! ```text
//! Q Query      text                      P Parse     text name, text sql, u16 n, n × u32 type
//! D Describe   u8 S or P, text name      B Bind      text portal, text statement,
//! C Close      u8 S or P, text name                  u16 n, n × u16 format,
//! E Execute    text portal, i32 rows                 u16 n, n × (i32 length or -1, bytes),
//! S Sync  H Flush  X Terminate                       u16 n, n × u16 result format
//! d CopyData   bytes    c CopyDone    f CopyFail text     p password or SASL, bytes
//! F FunctionCall   u32 function, u16 n, n × u16 format, u16 n, n × (i32 length or -1, bytes), u16 result format
//! ```
//!
//! Hot path: Bind, Execute and Sync run once per statement; keep them free of allocations.

use super::{Cursor, violation};
use quintet_base::{SqlError, SqlResult};

/// How a value is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// As text.
    Text,
    /// As `binary_format` does.
    Binary,
}

/// What a name names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// A prepared statement.
    Statement,
    /// A portal.
    Portal,
}

/// A message.
#[derive(Clone, Copy, Debug)]
pub enum Message<'a> {
    /// Run one or more statements, simple protocol.
    Query(&'a str),
    /// Prepare a statement.
    Parse {
        /// Its name; "" for the unnamed one.
        name: &'a str,
        /// Its text.
        sql: &'a str,
        /// Types of the parameters, as far as the client says.
        types: TypeOids<'a>,
    },
    /// Make a portal of a statement.
    Bind(Bind<'a>),
    /// Tell what a statement or portal returns.
    Describe(Target, &'a str),
    /// Run a portal.
    Execute {
        /// Which.
        portal: &'a str,
        /// Most rows to return; 0 for all.
        max_rows: usize,
    },
    /// Forget a statement or portal.
    Close(Target, &'a str),
    /// End of a cycle of the extended protocol.
    Sync,
    /// Send what is ready.
    Flush,
    /// Good-bye.
    Terminate,
    /// Call a function by its number: a cycle of its own.
    FunctionCall(FunctionCall<'a>),
    /// A piece of COPY FROM STDIN.
    CopyData(&'a [u8]),
    /// The end of COPY FROM STDIN.
    CopyDone,
    /// The client gives up its COPY.
    CopyFail(&'a str),
    /// A password, or a step of SASL.
    Password(&'a [u8]),
}

/// Type OIDs of a Parse.
#[derive(Clone, Copy, Debug)]
pub struct TypeOids<'a>(&'a [u8]);

impl TypeOids<'_> {
    /// One after the other.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = u32> + '_ {
        self.0
            .chunks_exact(4)
            .map(|oid| u32::from_be_bytes([oid[0], oid[1], oid[2], oid[3]]))
    }
}

/// Format codes of a Bind: none means text, one means all alike.
#[derive(Clone, Copy, Debug)]
pub struct FormatCodes<'a>(&'a [u8]);

impl FormatCodes<'_> {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len() / 2
    }

    /// True for none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The format of value `i`.
    pub fn of(&self, i: usize) -> Format {
        let at = if self.len() == 1 { 0 } else { 2 * i };
        match self.0.get(at + 1) {
            Some(1) => Format::Binary,
            _ => Format::Text,
        }
    }

    fn check(&self) -> SqlResult<()> {
        for code in self.0.chunks_exact(2) {
            if !matches!(code, [0, 0 | 1]) {
                let code = u16::from_be_bytes([code[0], code[1]]);
                return Err(SqlError::unsupported(format!("format code {code}")));
            }
        }
        Ok(())
    }
}

/// A call of a function by its number.
#[derive(Clone, Copy, Debug)]
pub struct FunctionCall<'a> {
    /// Which.
    pub function: u32,
    /// How the arguments are written.
    pub formats: FormatCodes<'a>,
    /// How the result is to be written.
    pub result_format: FormatCodes<'a>,
    count: usize,
    values: &'a [u8],
}

impl<'a> FunctionCall<'a> {
    /// How many arguments.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The arguments' bytes, `None` for NULL.
    pub fn values(&self) -> impl Iterator<Item = Option<&'a [u8]>> {
        walk(self.values, self.count)
    }
}

/// A Bind.
#[derive(Clone, Copy, Debug)]
pub struct Bind<'a> {
    /// The portal to make.
    pub portal: &'a str,
    /// Of which statement.
    pub statement: &'a str,
    /// How the parameters are written.
    pub formats: FormatCodes<'a>,
    /// How the columns of the result are to be written.
    pub result_formats: FormatCodes<'a>,
    count: usize,
    values: &'a [u8],
}

impl<'a> Bind<'a> {
    /// How many parameters.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The parameters' bytes, `None` for NULL.
    pub fn values(&self) -> impl Iterator<Item = Option<&'a [u8]>> {
        walk(self.values, self.count)
    }
}

/// Parsing has walked here once; what it accepted can be walked again.
fn walk(values: &[u8], count: usize) -> impl Iterator<Item = Option<&[u8]>> {
    let mut rest = Cursor(values);
    (0..count).map(move |_| value(&mut rest).unwrap_or(None))
}

fn value<'a>(rest: &mut Cursor<'a>) -> SqlResult<Option<&'a [u8]>> {
    match rest.i32()? {
        -1 => Ok(None),
        length => {
            let length =
                usize::try_from(length).map_err(|_| violation("invalid length of a parameter"))?;
            rest.bytes(length).map(Some)
        }
    }
}

/// Reads a message. An unknown kind is `None`.
///
/// # Errors
/// `08P01` for a body that is no such message, `22021` for text that is not UTF-8.
pub fn parse(kind: u8, body: &[u8]) -> SqlResult<Option<Message<'_>>> {
    let mut rest = Cursor(body);
    let message = match kind {
        b'Q' => Message::Query(rest.text()?),
        b'P' => {
            let (name, sql) = (rest.text()?, rest.text()?);
            let count = usize::from(rest.u16()?);
            Message::Parse {
                name,
                sql,
                types: TypeOids(rest.bytes(4 * count)?),
            }
        }
        b'B' => Message::Bind(bind(&mut rest)?),
        b'D' => Message::Describe(target(&mut rest)?, rest.text()?),
        b'E' => {
            let portal = rest.text()?;
            // A negative limit is no limit, as in PostgreSQL.
            Message::Execute {
                portal,
                max_rows: usize::try_from(rest.i32()?).unwrap_or(0),
            }
        }
        b'C' => Message::Close(target(&mut rest)?, rest.text()?),
        b'S' => Message::Sync,
        b'H' => Message::Flush,
        b'X' => Message::Terminate,
        b'F' => Message::FunctionCall(function_call(&mut rest)?),
        b'd' => return Ok(Some(Message::CopyData(body))),
        b'c' => Message::CopyDone,
        b'f' => Message::CopyFail(rest.text()?),
        b'p' => return Ok(Some(Message::Password(body))),
        _ => return Ok(None),
    };
    rest.end()?;
    Ok(Some(message))
}

fn target(rest: &mut Cursor<'_>) -> SqlResult<Target> {
    match rest.u8()? {
        b'S' => Ok(Target::Statement),
        b'P' => Ok(Target::Portal),
        other => Err(violation(format!(
            "invalid target {other:#04x} of CLOSE or DESCRIBE message"
        ))),
    }
}

fn bind<'a>(rest: &mut Cursor<'a>) -> SqlResult<Bind<'a>> {
    let (portal, statement) = (rest.text()?, rest.text()?);
    let formats = format_codes(rest)?;
    let count = usize::from(rest.u16()?);
    let before = rest.0;
    for _ in 0..count {
        value(rest)?;
    }
    let values = &before[..before.len() - rest.0.len()];
    let result_formats = format_codes(rest)?;
    if formats.len() > 1 && formats.len() != count {
        return Err(violation(format!(
            "bind message has {} parameter formats but {count} parameters",
            formats.len()
        )));
    }
    Ok(Bind {
        portal,
        statement,
        formats,
        result_formats,
        count,
        values,
    })
}

fn function_call<'a>(rest: &mut Cursor<'a>) -> SqlResult<FunctionCall<'a>> {
    let oid = rest.bytes(4)?;
    let function = u32::from_be_bytes([oid[0], oid[1], oid[2], oid[3]]);
    let formats = format_codes(rest)?;
    let count = usize::from(rest.u16()?);
    let before = rest.0;
    for _ in 0..count {
        value(rest)?;
    }
    let values = &before[..before.len() - rest.0.len()];
    let result_format = FormatCodes(rest.bytes(2)?);
    result_format.check()?;
    if formats.len() > 1 && formats.len() != count {
        return Err(violation(format!(
            "function call message contains {} argument formats but {count} arguments",
            formats.len()
        )));
    }
    Ok(FunctionCall {
        function,
        formats,
        result_format,
        count,
        values,
    })
}

fn format_codes<'a>(rest: &mut Cursor<'a>) -> SqlResult<FormatCodes<'a>> {
    let count = usize::from(rest.u16()?);
    let codes = FormatCodes(rest.bytes(2 * count)?);
    codes.check()?;
    Ok(codes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bind_gives_names_formats_and_values_in_place() {
        let body = b"p\0s\0\0\x02\0\x01\0\0\0\x02\0\0\0\x02\x12\x34\xff\xff\xff\xff\0\x01\0\x01";
        let Ok(Some(Message::Bind(bind))) = parse(b'B', body) else {
            panic!("a bind")
        };
        assert_eq!((bind.portal, bind.statement, bind.count()), ("p", "s", 2));
        assert_eq!(
            (bind.formats.of(0), bind.formats.of(1)),
            (Format::Binary, Format::Text)
        );
        assert_eq!(
            bind.values().collect::<Vec<_>>(),
            [Some(&b"\x12\x34"[..]), None]
        );
        assert_eq!(
            bind.result_formats.of(17),
            Format::Binary,
            "one code stands for all"
        );
    }

    #[test]
    fn a_function_call_gives_number_formats_and_arguments_in_place() {
        let body = b"\0\0\x03\xba\0\x01\0\x01\0\x02\0\0\0\x02\x12\x34\xff\xff\xff\xff\0\x01";
        let Ok(Some(Message::FunctionCall(call))) = parse(b'F', body) else {
            panic!("a function call")
        };
        assert_eq!((call.function, call.count()), (954, 2));
        assert_eq!(call.formats.of(1), Format::Binary);
        assert_eq!(call.result_format.of(0), Format::Binary);
        assert_eq!(
            call.values().collect::<Vec<_>>(),
            [Some(&b"\x12\x34"[..]), None]
        );
        for end in 0..body.len() {
            let error = parse(b'F', &body[..end]).unwrap_err();
            assert_eq!(error.state.as_str(), "08P01", "{end}");
        }
    }

    #[test]
    fn simple_messages_read_as_written() {
        assert!(matches!(
            parse(b'Q', b"select 1\0"),
            Ok(Some(Message::Query("select 1")))
        ));
        let Ok(Some(Message::Parse { name, sql, types })) = parse(b'P', b"s\0q\0\0\x01\0\0\0\x17")
        else {
            panic!("a parse")
        };
        assert_eq!(
            (name, sql, types.iter().collect::<Vec<_>>()),
            ("s", "q", vec![23])
        );
        let execute = parse(b'E', b"\0\xff\xff\xff\xff");
        assert!(matches!(
            execute,
            Ok(Some(Message::Execute {
                portal: "",
                max_rows: 0
            }))
        ));
        assert!(matches!(
            parse(b'C', b"Px\0"),
            Ok(Some(Message::Close(Target::Portal, "x")))
        ));
        assert!(matches!(
            parse(b'D', b"S\0"),
            Ok(Some(Message::Describe(Target::Statement, "")))
        ));
        assert!(matches!(
            parse(b'd', b"\xff\0"),
            Ok(Some(Message::CopyData(b"\xff\0")))
        ));
        assert!(matches!(parse(b'z', b""), Ok(None)));
    }

    #[test]
    fn malformed_bodies_are_refused_by_state() {
        let cases: [(u8, &[u8], &str); 20] = [
            (b'Q', b"", "08P01"),
            (b'Q', b"select 1", "08P01"),
            (b'Q', b"a\0b\0", "08P01"),
            (b'Q', b"\xc3\x28\0", "22021"),
            (b'P', b"s\0q\0", "08P01"),
            (b'P', b"s\0q\0\0\x02\0\0\0\x17", "08P01"),
            (b'P', b"s\0q\0\xff\xff\0\0\0\x17", "08P01"),
            (b'B', b"p\0", "08P01"),
            (b'B', b"\0\0\0\0\0\x01\x7f\xff\xff\xff\0\0", "08P01"),
            (b'B', b"\0\0\0\0\0\x01\xff\xff\xff\xfe\0\0", "08P01"),
            (b'B', b"\0\0\0\0\xff\xff\0\0", "08P01"),
            (b'B', b"\0\0\0\x01\0\x02\0\0\0\0", "0A000"),
            (
                b'B',
                b"\0\0\0\x02\0\0\0\0\0\x01\xff\xff\xff\xff\0\0",
                "08P01",
            ),
            (b'B', b"\0\0\0\0\0\0\0\0\0", "08P01"),
            (b'D', b"Xs\0", "08P01"),
            (b'D', b"S", "08P01"),
            (b'E', b"\0\0\0", "08P01"),
            (b'S', b"x", "08P01"),
            (b'c', b"x", "08P01"),
            (b'f', b"no end", "08P01"),
        ];
        for (kind, body, state) in cases {
            let error = parse(kind, body).unwrap_err();
            assert_eq!(error.state.as_str(), state, "{} {body:?}", kind as char);
        }
    }
}

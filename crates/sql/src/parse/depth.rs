//! How deep a tree of the parser nests.
//!
//! Relies on: the parser's nodes, of every kind, show their parts to who writes them down (`serde`).  Promises: no kind is
//! left out; what takes more of the stack than others when it is planned, a query within a query, counts more.  Does not:
//! write anything down, or mind how deep the tree is: who calls has taken room.

use pg_query::protobuf::ParseResult;
use serde::ser::{self, Serialize, Serializer};
use std::fmt::{Display, Error};

/// A text whose tree cannot be deeper than the result. Whatever makes a level has a word, a bracket or a sign that no other
/// level has.
pub(super) fn at_most(text: &str) -> usize {
    let mut found = 0;
    let mut in_word = false;
    for byte in text.bytes() {
        let word = byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80;
        let apart = byte.is_ascii_whitespace() || matches!(byte, b',' | b')' | b';' | b'.');
        let goes_on = word && in_word;
        if !apart && !goes_on {
            found += 1;
        }
        in_word = word;
    }
    found
}

/// How deep it is.
pub(super) fn of(tree: &ParseResult) -> usize {
    let mut depth = Depth { here: 0, most: 0 };
    // Nothing is written, so nothing can fail.
    let _ = tree.serialize(&mut depth);
    depth.most
}

/// A node that holds others, where it is now, and the deepest so far.
struct Depth {
    here: usize,
    most: usize,
}

/// The parts of a node; how many levels it is.
struct Parts<'d> {
    depth: &'d mut Depth,
    levels: usize,
}

/// What a node counts.
fn levels(name: &str) -> usize {
    match name {
        // The sum of a node; what kind it is follows.
        "Node" => 0,
        "SubLink" | "RangeSubselect" | "CommonTableExpr" => 24,
        "JoinExpr" => 2,
        _ => 1,
    }
}

impl<'d> Depth {
    fn enter(&'d mut self, levels: usize) -> Parts<'d> {
        self.here += levels;
        self.most = self.most.max(self.here);
        Parts {
            depth: self,
            levels,
        }
    }
}

impl Parts<'_> {
    fn part<T: Serialize + ?Sized>(&mut self, part: &T) -> Result<(), Error> {
        part.serialize(&mut *self.depth)
    }

    fn leave(self) -> Result<(), Error> {
        self.depth.here -= self.levels;
        Ok(())
    }
}

/// Values without parts.
macro_rules! plain {
    ($($function:ident: $ty:ty,)*) => {
        $(fn $function(self, _: $ty) -> Result<(), Error> {
            Ok(())
        })*
    };
}

impl<'d> Serializer for &'d mut Depth {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Parts<'d>;
    type SerializeTuple = Parts<'d>;
    type SerializeTupleStruct = Parts<'d>;
    type SerializeTupleVariant = Parts<'d>;
    type SerializeMap = Parts<'d>;
    type SerializeStruct = Parts<'d>;
    type SerializeStructVariant = Parts<'d>;

    plain! {
        serialize_bool: bool,
        serialize_i8: i8,
        serialize_i16: i16,
        serialize_i32: i32,
        serialize_i64: i64,
        serialize_u8: u8,
        serialize_u16: u16,
        serialize_u32: u32,
        serialize_u64: u64,
        serialize_f32: f32,
        serialize_f64: f64,
        serialize_char: char,
        serialize_str: &str,
        serialize_bytes: &[u8],
        serialize_unit_struct: &'static str,
    }

    fn serialize_none(self) -> Result<(), Error> {
        Ok(())
    }

    fn serialize_unit(self) -> Result<(), Error> {
        Ok(())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_unit_variant(self, _: &str, _: u32, _: &str) -> Result<(), Error> {
        Ok(())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Parts<'d>, Error> {
        Ok(self.enter(0))
    }

    fn serialize_tuple(self, _: usize) -> Result<Parts<'d>, Error> {
        Ok(self.enter(0))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Parts<'d>, Error> {
        Ok(self.enter(0))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Parts<'d>, Error> {
        Ok(self.enter(0))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Parts<'d>, Error> {
        Ok(self.enter(0))
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> Result<Parts<'d>, Error> {
        Ok(self.enter(levels(name)))
    }

    fn serialize_struct_variant(
        self,
        name: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Parts<'d>, Error> {
        Ok(self.enter(levels(name)))
    }

    fn collect_str<T: Display + ?Sized>(self, _: &T) -> Result<(), Error> {
        Ok(())
    }
}

/// The parts of what has parts, whatever it is called.
macro_rules! parts {
    ($($kind:ident: $function:ident,)*) => {
        $(impl ser::$kind for Parts<'_> {
            type Ok = ();
            type Error = Error;

            fn $function<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
                self.part(value)
            }

            fn end(self) -> Result<(), Error> {
                self.leave()
            }
        })*
    };
}

parts! {
    SerializeSeq: serialize_element,
    SerializeTuple: serialize_element,
    SerializeTupleStruct: serialize_field,
    SerializeTupleVariant: serialize_field,
}

impl ser::SerializeMap for Parts<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        self.part(key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.part(value)
    }

    fn end(self) -> Result<(), Error> {
        self.leave()
    }
}

/// The same of what has names for them.
macro_rules! named_parts {
    ($($kind:ident,)*) => {
        $(impl ser::$kind for Parts<'_> {
            type Ok = ();
            type Error = Error;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                _: &'static str,
                value: &T,
            ) -> Result<(), Error> {
                self.part(value)
            }

            fn end(self) -> Result<(), Error> {
                self.leave()
            }
        })*
    };
}

named_parts! {
    SerializeStruct,
    SerializeStructVariant,
}

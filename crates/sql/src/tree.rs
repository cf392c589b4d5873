//! Pieces of the parser's tree, for statements that are rewritten into others.
//!
//! Relies on: nothing.  Promises: what the parser would have made of the text.  Does not: know a place in a text.

use pg_query::NodeEnum;
use pg_query::protobuf::{self, Node};

/// A node.
pub(crate) fn node(node: NodeEnum) -> Node {
    Node { node: Some(node) }
}

/// A part of a name.
pub(crate) fn string(text: impl Into<String>) -> Node {
    let sval = text.into();
    node(NodeEnum::String(protobuf::String { sval }))
}

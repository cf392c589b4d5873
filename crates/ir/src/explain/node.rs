//! A printed plan as a tree.
//!
//! Relies on: whoever makes the nodes for the words.  Promises: lines indented as PostgreSQL does, and the same as a
//! [`Part`] with PostgreSQL's keys.  Does not: know plans.

use super::document::Part;

/// A line with what hangs on it.
pub struct Node {
    title: String,
    /// What PostgreSQL calls nodes of this kind.
    kind: &'static str,
    /// What the title says of it besides, by PostgreSQL's names.
    facts: Vec<(&'static str, String)>,
    properties: Vec<(&'static str, Property)>,
    children: Vec<Node>,
}

enum Property {
    Text(String),
    List(Vec<String>),
}

/// Facts that stand before those that every node has.
const FIRST: [&str; 3] = ["Strategy", "Partial Mode", "Operation"];

/// The query of an expression: its node stands for it where there are keys.
pub(super) const SUBPLAN: &str = "SubPlan";
/// A query that others read: likewise.
pub(super) const WITH: &str = "With";

impl Node {
    /// One whose title is its kind.
    pub(super) fn new(kind: &'static str) -> Node {
        Node::titled(kind, kind)
    }

    pub(super) fn titled(kind: &'static str, title: impl Into<String>) -> Node {
        Node {
            title: title.into(),
            kind,
            facts: vec![],
            properties: vec![],
            children: vec![],
        }
    }

    pub(super) fn fact(mut self, name: &'static str, value: impl Into<String>) -> Node {
        self.facts.push((name, value.into()));
        self
    }

    /// The table that it reads or changes.
    pub(super) fn of_table(self, name: &str) -> Node {
        self.fact("Relation Name", name).fact("Alias", name)
    }

    pub(super) fn with(mut self, child: Node) -> Node {
        self.children.push(child);
        self
    }

    pub(super) fn push(&mut self, child: Node) {
        self.children.push(child);
    }

    pub(super) fn property(&mut self, name: &'static str, value: &str) {
        let value = Property::Text(value.to_string());
        self.properties.push((name, value));
    }

    pub(super) fn list(&mut self, name: &'static str, values: Vec<String>) {
        self.properties.push((name, Property::List(values)));
    }

    /// Lines, indented.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        self.print(0, &mut lines);
        lines
    }

    fn print(&self, indent: usize, lines: &mut Vec<String>) {
        let arrow = if indent == 0 { "" } else { "->  " };
        lines.push(format!("{:indent$}{arrow}{}", "", self.title));
        // What belongs to a node stands two columns right of its title.
        let inner = indent + arrow.len() + 2;
        for (name, value) in &self.properties {
            let value = match value {
                Property::Text(text) => text,
                Property::List(texts) => &texts.join(", "),
            };
            lines.push(format!("{:inner$}{name}: {value}", ""));
        }
        for child in &self.children {
            child.print(inner, lines);
        }
    }

    /// The same by keys.
    pub fn part(&self) -> Part {
        self.part_as(None, None, &mut 0)
    }

    /// `subplans`: how many queries of expressions have had a number.
    fn part_as(
        &self,
        relation: Option<&'static str>,
        name: Option<String>,
        subplans: &mut usize,
    ) -> Part {
        let is_first = |(known, _): &&(&'static str, String)| FIRST.contains(known);
        let fact = |(name, value): &(&'static str, String)| (*name, Part::Text(value.clone()));
        let mut parts = vec![("Node Type", Part::Text(self.kind.to_string()))];
        parts.extend(self.facts.iter().filter(is_first).map(fact));
        let relation = relation.map(|relation| Part::Text(relation.to_string()));
        parts.extend(relation.map(|relation| ("Parent Relationship", relation)));
        parts.extend(name.map(|name| ("Subplan Name", Part::Text(name))));
        parts.push(("Parallel Aware", Part::Flag(false)));
        parts.push(("Async Capable", Part::Flag(false)));
        let rest = self.facts.iter().filter(|known| !is_first(known));
        parts.extend(rest.map(fact));
        for (name, value) in &self.properties {
            let value = match value {
                Property::Text(text) => Part::Text(text.clone()),
                Property::List(texts) => Part::List(texts.clone()),
            };
            parts.push((name, value));
        }
        let mut plans = Vec::with_capacity(self.children.len());
        for (place, child) in self.children.iter().enumerate() {
            plans.push(self.child(place, child, subplans));
        }
        if self.kind == "Append" {
            parts.push(("Subplans Removed", Part::Number("0".to_string())));
        }
        if !plans.is_empty() {
            parts.push(("Plans", Part::Parts("Plan", plans)));
        }
        Part::Group(parts)
    }

    fn child(&self, place: usize, child: &Node, subplans: &mut usize) -> Part {
        if let (SUBPLAN, [plan]) = (child.kind, child.children.as_slice()) {
            *subplans += 1;
            let name = format!("SubPlan {subplans}");
            return plan.part_as(Some(SUBPLAN), Some(name), subplans);
        }
        let relation = match (self.kind, place) {
            ("Append", _) => "Member",
            (WITH, 0) => "InitPlan",
            ("Nested Loop" | "Hash Join" | "Recursive Union", 1) => "Inner",
            _ => "Outer",
        };
        let own = self.facts.iter().find(|(name, _)| *name == "CTE Name");
        let name = own.filter(|_| relation == "InitPlan");
        let name = name.map(|(_, name)| format!("CTE {name}"));
        child.part_as(Some(relation), name, subplans)
    }
}

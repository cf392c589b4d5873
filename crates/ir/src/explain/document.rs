//! Explanations in JSON, YAML and XML.
//!
//! Relies on: whoever makes the parts.  Promises: PostgreSQL's layout, byte by byte.  Does not: know what is explained.

use quintet_base::json::write_string;
use std::fmt::Write;

/// A part of an explanation.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// Words.
    Text(String),
    /// True or false.
    Flag(bool),
    /// A number as it is to be printed.
    Number(String),
    /// Several words.
    List(Vec<String>),
    /// Parts with names.
    Group(Vec<(&'static str, Part)>),
    /// Several parts, each of which is called the same where it has to have a name.
    Parts(&'static str, Vec<Part>),
}

/// The form of an explanation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// Lines for people.
    Text,
    /// One document.
    Json,
    /// Likewise.
    Yaml,
    /// Likewise.
    Xml,
}

impl Format {
    /// The form that a word stands for.
    pub fn from_name(name: &str) -> Option<Format> {
        Some(match name.to_ascii_lowercase().as_str() {
            "text" => Format::Text,
            "json" => Format::Json,
            "yaml" => Format::Yaml,
            "xml" => Format::Xml,
            _ => return None,
        })
    }
}

impl Part {
    /// Puts other words in the place of each.
    pub fn reword(&mut self, with: &dyn Fn(String) -> String) {
        match self {
            Part::Text(text) => *text = with(std::mem::take(text)),
            Part::List(texts) => {
                for text in texts {
                    *text = with(std::mem::take(text));
                }
            }
            Part::Group(parts) => parts.iter_mut().for_each(|(_, part)| part.reword(with)),
            Part::Parts(_, parts) => parts.iter_mut().for_each(|part| part.reword(with)),
            Part::Flag(_) | Part::Number(_) => {}
        }
    }
}

/// The document of what is said of some statements.
pub fn document(statements: &[Part], format: Format) -> String {
    let mut out = String::new();
    match format {
        Format::Text | Format::Json => json_list(statements, 0, &mut out),
        Format::Yaml => {
            for statement in statements {
                if !out.is_empty() {
                    out.push('\n');
                }
                out.push_str("- ");
                yaml(statement, 1, &mut out);
            }
        }
        Format::Xml => {
            out.push_str("<explain xmlns=\"http://www.postgresql.org/2009/explain\">");
            for statement in statements {
                xml("Query", statement, 1, &mut out);
            }
            out.push_str("\n</explain>");
        }
    }
    out
}

/// Begins a line.
fn line(depth: usize, out: &mut String) {
    out.push('\n');
    out.extend(std::iter::repeat_n(' ', 2 * depth));
}

fn quoted(text: &str, out: &mut String) {
    write_string(text, out).expect("a String takes everything");
}

fn json(part: &Part, depth: usize, out: &mut String) {
    match part {
        Part::Text(text) => quoted(text, out),
        Part::Flag(flag) => write!(out, "{flag}").expect("a String takes everything"),
        Part::Number(number) => out.push_str(number),
        Part::List(texts) => {
            out.push('[');
            for (place, text) in texts.iter().enumerate() {
                if place > 0 {
                    out.push_str(", ");
                }
                quoted(text, out);
            }
            out.push(']');
        }
        Part::Group(parts) => {
            out.push('{');
            for (place, (name, part)) in parts.iter().enumerate() {
                if place > 0 {
                    out.push(',');
                }
                line(depth + 1, out);
                quoted(name, out);
                out.push_str(": ");
                json(part, depth + 1, out);
            }
            line(depth, out);
            out.push('}');
        }
        Part::Parts(_, parts) => json_list(parts, depth, out),
    }
}

fn json_list(parts: &[Part], depth: usize, out: &mut String) {
    out.push('[');
    for (place, part) in parts.iter().enumerate() {
        if place > 0 {
            out.push(',');
        }
        line(depth + 1, out);
        json(part, depth + 1, out);
    }
    line(depth, out);
    out.push(']');
}

/// What stands behind a name, or behind the dash of an element, whose own parts begin at a depth.
fn yaml(part: &Part, depth: usize, out: &mut String) {
    match part {
        Part::Text(text) => quoted(text, out),
        Part::Flag(flag) => write!(out, "{flag}").expect("a String takes everything"),
        Part::Number(number) => out.push_str(number),
        Part::List(texts) => {
            for text in texts {
                line(depth, out);
                out.push_str("- ");
                quoted(text, out);
            }
        }
        Part::Group(parts) => {
            for (place, (name, part)) in parts.iter().enumerate() {
                if place > 0 {
                    line(depth, out);
                }
                out.push_str(name);
                out.push_str(": ");
                if let Part::Group(_) = part {
                    line(depth + 1, out);
                }
                yaml(part, depth + 1, out);
            }
        }
        Part::Parts(_, parts) => {
            for part in parts {
                line(depth, out);
                out.push_str("- ");
                yaml(part, depth + 1, out);
            }
        }
    }
}

fn xml(name: &str, part: &Part, depth: usize, out: &mut String) {
    let name = name.replace(' ', "-");
    line(depth, out);
    let close = |out: &mut String| out.push_str(&format!("</{name}>"));
    out.push_str(&format!("<{name}>"));
    match part {
        Part::Text(text) => out.push_str(&xml_text(text)),
        Part::Flag(flag) => write!(out, "{flag}").expect("a String takes everything"),
        Part::Number(number) => out.push_str(number),
        Part::List(texts) => {
            for text in texts {
                xml("Item", &Part::Text(text.clone()), depth + 1, out);
            }
            line(depth, out);
        }
        Part::Group(parts) => {
            for (name, part) in parts {
                xml(name, part, depth + 1, out);
            }
            line(depth, out);
        }
        Part::Parts(name, parts) => {
            for part in parts {
                xml(name, part, depth + 1, out);
            }
            line(depth, out);
        }
    }
    close(out);
}

fn xml_text(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('\r', "&#x0d;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn xml_is_laid_out_as_postgresql_does() {
        let text = |text: &str| Part::Text(text.to_string());
        let child = Part::Group(vec![
            ("Node Type", text("Seq Scan")),
            ("Filter", text("(b < 'a&b'::text)")),
        ]);
        let plan = Part::Group(vec![
            ("Node Type", text("Sort")),
            ("Parallel Aware", Part::Flag(false)),
            ("Sort Key", Part::List(vec!["b DESC".to_string()])),
            ("Plans", Part::Parts("Plan", vec![child])),
        ]);
        let query = Part::Group(vec![
            ("Plan", plan),
            ("Execution Time", Part::Number("0.100".to_string())),
        ]);
        let wanted = "\
<explain xmlns=\"http://www.postgresql.org/2009/explain\">
  <Query>
    <Plan>
      <Node-Type>Sort</Node-Type>
      <Parallel-Aware>false</Parallel-Aware>
      <Sort-Key>
        <Item>b DESC</Item>
      </Sort-Key>
      <Plans>
        <Plan>
          <Node-Type>Seq Scan</Node-Type>
          <Filter>(b &lt; 'a&amp;b'::text)</Filter>
        </Plan>
      </Plans>
    </Plan>
    <Execution-Time>0.100</Execution-Time>
  </Query>
</explain>";
        assert_eq!(document(&[query], Format::Xml), wanted);
    }
}

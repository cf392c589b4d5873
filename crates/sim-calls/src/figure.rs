//! A figure of the thesis, measured again: what is drawn, and the same as a table.
//!
//! Relies on: nothing.  Promises: plain data; the table has every point that is drawn, but of long curves
//! every so many-th only.  Does not: draw; `bench::chart` does.

use crate::report::Points;
use serde::Serialize;
use std::fmt;

/// Rows of a table, at most about.
const ROWS: usize = 40;

/// How an axis divides its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Division {
    /// Evenly.
    Linear,
    /// By powers of ten.
    Logarithmic,
}

/// One axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Axis {
    /// What is on it.
    pub label: &'static str,
    /// How it is divided.
    pub division: Division,
}

impl Axis {
    /// Divided evenly.
    pub const fn linear(label: &'static str) -> Axis {
        Axis {
            label,
            division: Division::Linear,
        }
    }

    /// Divided by powers of ten.
    pub const fn logarithmic(label: &'static str) -> Axis {
        Axis {
            label,
            division: Division::Logarithmic,
        }
    }
}

/// One pair of axes and its lines.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Graph {
    /// What it shows.
    pub title: String,
    /// Horizontal.
    pub x: Axis,
    /// Vertical.
    pub y: Axis,
    /// Names and points, in ascending order.
    pub lines: Vec<(String, Points)>,
}

/// One figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// Its number in the thesis.
    pub number: &'static str,
    /// What it shows.
    pub title: String,
    /// Its parts.
    pub graphs: Vec<Graph>,
}

impl Figure {
    /// One line of JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a figure is plain data")
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Figure {}: {}", self.number, self.title)?;
        for graph in &self.graphs {
            writeln!(f, "\n{} ({})", graph.title, graph.y.label)?;
            table(f, graph)?;
        }
        Ok(())
    }
}

fn table(f: &mut fmt::Formatter<'_>, graph: &Graph) -> fmt::Result {
    let mut xs: Vec<f64> = graph
        .lines
        .iter()
        .flat_map(|(_, points)| points.iter().map(|point| point.0))
        .collect();
    xs.sort_by(f64::total_cmp);
    xs.dedup();
    let step = xs.len().div_ceil(ROWS).max(1);
    write!(f, "  {:>28}", graph.x.label)?;
    let widths: Vec<usize> = graph
        .lines
        .iter()
        .map(|(name, _)| name.chars().count().max(9))
        .collect();
    for ((name, _), width) in graph.lines.iter().zip(&widths) {
        write!(f, "  {name:>width$}")?;
    }
    writeln!(f)?;
    for x in xs.iter().step_by(step) {
        write!(f, "  {:>28}", short(*x))?;
        for ((_, points), width) in graph.lines.iter().zip(&widths) {
            let point = points.iter().find(|point| point.0 == *x);
            let text = point.map_or_else(|| "-".to_owned(), |point| short(point.1));
            write!(f, "  {text:>width$}")?;
        }
        writeln!(f)?;
    }
    Ok(())
}

/// With about four digits.
pub(crate) fn short(figure: f64) -> String {
    let digits = match figure.abs() {
        large if large >= 1000.0 => 0,
        large if large >= 100.0 => 1,
        large if large >= 10.0 => 2,
        _ => 3,
    };
    let text = format!("{figure:.digits$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_a_column_for_each_line_and_gaps_where_it_has_no_point() {
        let figure = Figure {
            number: "5.99",
            title: "an example".into(),
            graphs: vec![Graph {
                title: "part".into(),
                x: Axis::linear("rate"),
                y: Axis::logarithmic("calls"),
                lines: vec![
                    ("a".into(), vec![(1.0, 1234.5), (2.0, 0.5)]),
                    ("b".into(), vec![(2.0, 100.0)]),
                ],
            }],
        };
        let text = figure.to_string();
        let lines: Vec<Vec<&str>> = text
            .lines()
            .map(|line| line.split_whitespace().collect())
            .collect();
        assert_eq!(lines[3], ["rate", "a", "b"]);
        assert_eq!(lines[4], ["1", "1234", "-"]);
        assert_eq!(lines[5], ["2", "0.5", "100"]);
    }
}

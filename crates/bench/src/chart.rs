//! Any figures against any others, as one SVG of several charts below each other.
//!
//! Relies on: `plot` for axes and curves.  Promises: what `plot` does; lines of one name have one colour in all
//! charts of a picture.  Does not: know what the figures mean.

use crate::plot::{Axis, COLOURS, LEGEND_LINE, PANEL_HEIGHT, Panel, legend_of, page, text};

/// How an axis divides its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Division {
    /// Evenly, from 0.
    Linear,
    /// By powers of ten, around what is shown. What is not above 0 stands at the axis's beginning.
    Logarithmic,
}

/// One pair of axes and the lines between them.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// What this chart shows, unless the picture's title says it.
    pub title: String,
    /// Name and division of the horizontal axis.
    pub x: (String, Division),
    /// Name and division of the vertical axis.
    pub y: (String, Division),
    /// Names and points.
    pub lines: Vec<(String, Vec<(f64, f64)>)>,
}

/// Room for a chart with its title and the names of its axes.
const CHART_HEIGHT: f64 = PANEL_HEIGHT + 84.0;

/// A picture of some charts.
pub fn svg(title: &str, charts: &[Chart]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in charts.iter().flat_map(|chart| &chart.lines) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let top = 52.0 + LEGEND_LINE * names.len() as f64;
    let mut out = page(top + CHART_HEIGHT * charts.len() as f64, title);
    legend_of(&mut out, 52.0, names.iter().copied());
    for (at, chart) in charts.iter().enumerate() {
        let top = top + CHART_HEIGHT * at as f64;
        text(&mut out, 90.0, top + 12.0, "start", "14", &chart.title);
        let points = || chart.lines.iter().flat_map(|(_, points)| points);
        let panel = Panel {
            top: top + 24.0,
            x: axis(&chart.x, points().map(|point| point.0)),
            y: axis(&chart.y, points().map(|point| point.1)),
        };
        panel.frame(&mut out);
        for (name, points) in &chart.lines {
            let colour = names.iter().position(|other| other == name).unwrap_or(0);
            let colour = COLOURS[colour % COLOURS.len()];
            panel.curve(&mut out, colour, points.iter().copied());
        }
    }
    out.push_str("</svg>\n");
    out
}

fn axis((label, division): &(String, Division), figures: impl Iterator<Item = f64>) -> Axis {
    let figures: Vec<f64> = figures.filter(|figure| figure.is_finite()).collect();
    let greatest = figures.iter().copied().fold(0.0, f64::max);
    match division {
        Division::Linear => Axis::linear(label, greatest),
        Division::Logarithmic => {
            let positive = figures.into_iter().filter(|figure| *figure > 0.0);
            Axis::logarithmic(label, positive.fold(greatest, f64::min), greatest)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_one_name_have_one_colour_in_all_charts() {
        let chart = |names: &[&str]| Chart {
            title: "waiting < running".into(),
            x: ("seconds".into(), Division::Linear),
            y: ("calls".into(), Division::Logarithmic),
            lines: names
                .iter()
                .map(|name| {
                    (
                        (*name).to_owned(),
                        vec![(0.0, 0.0), (1.0, 300.0), (2.0, 7.0)],
                    )
                })
                .collect(),
        };
        let picture = svg("two", &[chart(&["a", "b"]), chart(&["b", "c"])]);
        let drawn = |colour| {
            picture
                .matches(&format!("fill=\"none\" stroke=\"{colour}\""))
                .count()
        };
        let colours = [drawn(COLOURS[0]), drawn(COLOURS[1]), drawn(COLOURS[2])];
        assert_eq!(colours, [1, 2, 1]);
        assert!(picture.contains("waiting &lt; running") && picture.contains("seconds"));
        assert!(!picture.contains("NaN") && picture.ends_with("</svg>\n"));
    }

    #[test]
    fn charts_of_nothing_are_drawn_all_the_same() {
        let chart = Chart {
            title: String::new(),
            x: ("x".into(), Division::Logarithmic),
            y: ("y".into(), Division::Linear),
            lines: vec![("a".into(), Vec::new())],
        };
        let picture = svg("nothing", &[chart]);
        assert!(!picture.contains("NaN") && !picture.contains("inf"));
    }
}

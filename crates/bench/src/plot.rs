//! Throughput over time and latency by percentile, as one SVG.
//!
//! Relies on: `timeline`.  Promises: text of its own, without scripts or anything to load, that browsers and
//! editors show alike; throughput from zero, latency on a logarithmic axis; several runs of one name are
//! lines of one colour, so that their spread is seen.  Does not: smooth or leave out.
//!
//! ```text
//!   title                     legend
//!   ┌ committed per second ┐
//!   └──────── seconds ─────┘
//!   ┌ latency, ms ─────────┐
//!   └─ 50 90 99 99.9 % ────┘   each nine is as wide as the one before
//! ```

use crate::timeline::Timeline;
use std::fmt::Write;

/// One run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curves {
    /// Seconds from the beginning of the measurement, and transactions committed per second then.
    pub throughput: Vec<(f64, f64)>,
    /// Shares of the transactions, and the latency in microseconds that so many did not exceed.
    pub latency: Vec<(f64, f64)>,
}

impl Curves {
    /// Of a run's intervals and its curve of latencies.
    pub(crate) fn new(timeline: Option<&Timeline>, latency: &[(f64, f64)]) -> Curves {
        let points = timeline.iter().flat_map(|timeline| {
            // In the middle of the interval that it is the mean of.
            let half = timeline.interval_seconds / 2.0;
            let intervals = timeline.intervals.iter();
            intervals.map(move |i| (i.at + half, i.committed_per_second))
        });
        Curves {
            throughput: points.collect(),
            latency: latency.to_vec(),
        }
    }
}

/// Runs of one name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Line {
    /// For the legend.
    pub name: String,
    /// Its runs.
    pub runs: Vec<Curves>,
}

pub(crate) const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 660.0;

/// Colours that are told apart by those who see fewer, too (Okabe and Ito's).
pub(crate) const COLOURS: [&str; 7] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000",
];

/// A picture of some runs.
pub fn svg(title: &str, lines: &[Line]) -> String {
    let legend = LEGEND_LINE * lines.len() as f64;
    let mut out = page(HEIGHT + legend, title);
    legend_of(&mut out, 52.0, lines.iter().map(|line| line.name.as_str()));
    let runs = || lines.iter().flat_map(|line| &line.runs);
    let greatest = |points: fn(&Curves) -> &Vec<(f64, f64)>, of: fn(&(f64, f64)) -> f64| {
        let all = runs().flat_map(|run| points(run).iter().map(of));
        all.fold(0.0, f64::max)
    };
    let throughput = Panel {
        top: 52.0 + legend,
        x: Axis::linear("seconds", greatest(|run| &run.throughput, |point| point.0)),
        y: Axis::linear(
            "committed per second",
            greatest(|run| &run.throughput, |point| point.1),
        ),
    };
    let slowest = greatest(|run| &run.latency, |point| point.1);
    let quickest = runs().flat_map(|run| run.latency.iter().map(|point| point.1));
    let quickest = quickest.fold(slowest, f64::min);
    let latency = Panel {
        top: 362.0 + legend,
        x: Axis::nines(greatest(|run| &run.latency, |point| point.0)),
        y: Axis::logarithmic("latency, ms", quickest / 1000.0, slowest / 1000.0),
    };
    throughput.frame(&mut out);
    latency.frame(&mut out);
    for (at, line) in lines.iter().enumerate() {
        let colour = COLOURS[at % COLOURS.len()];
        for run in &line.runs {
            throughput.curve(&mut out, colour, run.throughput.iter().copied());
            let points = run.latency.iter().map(|(share, us)| (*share, us / 1000.0));
            latency.curve(&mut out, colour, points);
        }
    }
    out.push_str("</svg>\n");
    out
}

/// Height of a line of the legend.
pub(crate) const LEGEND_LINE: f64 = 22.0;

/// The beginning of a picture.
pub(crate) fn page(height: f64, title: &str) -> String {
    let mut out = String::with_capacity(16 << 10);
    // Writing to a string cannot fail, here and below.
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
         height=\"{height}\" font-family=\"system-ui, sans-serif\" font-size=\"13\" fill=\"#333\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>"
    );
    text(&mut out, 20.0, 28.0, "start", "16", title);
    out
}

/// Which colour is which line.
pub(crate) fn legend_of<'a>(out: &mut String, top: f64, names: impl Iterator<Item = &'a str>) {
    for (at, name) in names.enumerate() {
        let (y, colour) = (top + LEGEND_LINE * at as f64, COLOURS[at % COLOURS.len()]);
        let _ = writeln!(
            out,
            "<path d=\"M20 {}h26\" stroke=\"{colour}\" stroke-width=\"3\"/>",
            y - 4.0
        );
        text(out, 54.0, y, "start", "13", name);
    }
}

pub(crate) fn text(out: &mut String, x: f64, y: f64, anchor: &str, size: &str, words: &str) {
    let words = words
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    let _ = writeln!(
        out,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" font-size=\"{size}\">{words}</text>"
    );
}

/// How a figure becomes a place between 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Scale {
    Linear,
    Logarithmic,
    /// By the number of nines of a share.
    Nines,
}

impl Scale {
    fn apply(self, figure: f64) -> f64 {
        match self {
            Scale::Linear => figure,
            Scale::Logarithmic => figure.max(1e-9).log10(),
            Scale::Nines => -(1.0 - figure).max(1e-12).log10(),
        }
    }
}

pub(crate) struct Axis {
    label: String,
    scale: Scale,
    from: f64,
    to: f64,
    /// Figures with what stands beside them.
    ticks: Vec<(f64, String)>,
}

impl Axis {
    /// From 0 to a round figure above the greatest.
    pub(crate) fn linear(label: &str, greatest: f64) -> Axis {
        let greatest = if greatest > 0.0 { greatest } else { 1.0 };
        let rough = greatest / 5.0;
        let power = 10f64.powf(rough.log10().floor());
        let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
        let step = *steps
            .iter()
            .find(|step| **step >= rough)
            .unwrap_or(&steps[3]);
        let count = (greatest / step).ceil() as u32;
        let ticks = (0..=count).map(|tick| {
            let figure = f64::from(tick) * step;
            (figure, figure_text(figure))
        });
        Axis {
            label: label.to_owned(),
            scale: Scale::Linear,
            from: 0.0,
            to: f64::from(count) * step,
            ticks: ticks.collect(),
        }
    }

    /// From a figure of 1, 2 or 5 times a power of ten to another, around both.
    pub(crate) fn logarithmic(label: &str, least: f64, greatest: f64) -> Axis {
        let (least, greatest) = (least.max(1e-3), greatest.max(least).max(2e-3));
        let decades = least.log10().floor() as i32..=greatest.log10().ceil() as i32;
        let figures = decades.flat_map(|decade| [1.0, 2.0, 5.0].map(|f| f * 10f64.powi(decade)));
        let figures: Vec<f64> = figures.collect();
        let first = figures
            .iter()
            .rposition(|figure| *figure <= least * 1.000_001);
        let last = figures.iter().position(|figure| *figure >= greatest);
        let figures = &figures[first.unwrap_or(0)..=last.unwrap_or(figures.len() - 1)];
        Axis {
            label: label.to_owned(),
            scale: Scale::Logarithmic,
            from: figures[0],
            to: figures[figures.len() - 1],
            ticks: figures.iter().map(|f| (*f, figure_text(*f))).collect(),
        }
    }

    /// From 0 to the greatest share.
    fn nines(greatest: f64) -> Axis {
        let to = greatest.clamp(0.99, 1.0 - 1e-9);
        let shares = [0.0, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999];
        let told = shares.into_iter().filter(|share| *share <= to + 1e-9);
        // Two digits too many are cut off by rounding: 99.9 and not 99.90000000000001.
        let name = |share: f64| format!("{} %", (share * 1e8).round() / 1e6);
        Axis {
            label: "share of the transactions that were not slower".to_owned(),
            scale: Scale::Nines,
            from: 0.0,
            to,
            ticks: told.map(|share| (share, name(share))).collect(),
        }
    }

    /// Between 0 and 1.
    fn place(&self, figure: f64) -> f64 {
        let (from, to) = (self.scale.apply(self.from), self.scale.apply(self.to));
        match to > from {
            true => ((self.scale.apply(figure) - from) / (to - from)).clamp(0.0, 1.0),
            false => 0.5,
        }
    }
}

/// With thousands apart, and no more digits than it has.
fn figure_text(figure: f64) -> String {
    if figure.fract() != 0.0 {
        return format!("{}", (figure * 1e6).round() / 1e6);
    }
    let digits = format!("{figure:.0}");
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

const LEFT: f64 = 90.0;
const PANEL_WIDTH: f64 = 740.0;
pub(crate) const PANEL_HEIGHT: f64 = 240.0;

/// One pair of axes, and the curves between them.
pub(crate) struct Panel {
    pub(crate) top: f64,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
}

impl Panel {
    fn x(&self, figure: f64) -> f64 {
        LEFT + PANEL_WIDTH * self.x.place(figure)
    }

    fn y(&self, figure: f64) -> f64 {
        self.top + PANEL_HEIGHT * (1.0 - self.y.place(figure))
    }

    pub(crate) fn frame(&self, out: &mut String) {
        let (top, bottom) = (self.top, self.top + PANEL_HEIGHT);
        for (figure, name) in &self.y.ticks {
            let y = self.y(*figure);
            let _ = writeln!(
                out,
                "<path d=\"M{LEFT} {y:.1}h{PANEL_WIDTH}\" stroke=\"#ddd\"/>"
            );
            text(out, LEFT - 8.0, y + 4.0, "end", "12", name);
        }
        for (figure, name) in &self.x.ticks {
            let x = self.x(*figure);
            let _ = writeln!(
                out,
                "<path d=\"M{x:.1} {top}v{PANEL_HEIGHT}\" stroke=\"#eee\"/>"
            );
            text(out, x, bottom + 18.0, "middle", "12", name);
        }
        let _ = writeln!(
            out,
            "<path d=\"M{LEFT} {top}v{PANEL_HEIGHT}h{PANEL_WIDTH}\" fill=\"none\" stroke=\"#333\"/>"
        );
        let middle = LEFT + PANEL_WIDTH / 2.0;
        text(out, middle, bottom + 38.0, "middle", "13", &self.x.label);
        let y = top + PANEL_HEIGHT / 2.0;
        let _ = writeln!(
            out,
            "<text transform=\"translate(24 {y}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            self.y.label
        );
    }

    pub(crate) fn curve(
        &self,
        out: &mut String,
        colour: &str,
        points: impl Iterator<Item = (f64, f64)>,
    ) {
        let mut path = String::new();
        for (x, y) in points {
            let command = if path.is_empty() { 'M' } else { 'L' };
            let _ = write!(path, "{command}{:.1} {:.1}", self.x(x), self.y(y));
        }
        if !path.is_empty() {
            let _ = writeln!(
                out,
                "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.6\" \
                 stroke-linejoin=\"round\" stroke-opacity=\"0.85\"/>"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_end_at_round_figures_around_what_they_show() {
        let names = |axis: &Axis| {
            let names: Vec<&str> = axis.ticks.iter().map(|tick| tick.1.as_str()).collect();
            names.join(" ")
        };
        let axis = Axis::linear("x", 12_345.0);
        assert_eq!(names(&axis), "0 5,000 10,000 15,000");
        assert_eq!(names(&Axis::linear("x", 0.0)), "0 0.2 0.4 0.6 0.8 1");
        let axis = Axis::logarithmic("x", 0.31, 14.0);
        assert_eq!(names(&axis), "0.2 0.5 1 2 5 10 20");
        assert_eq!((axis.place(0.2), axis.place(20.0)), (0.0, 1.0));
        assert!((axis.place(2.0) - 0.5).abs() < 1e-9);
        let axis = Axis::nines(0.9995);
        assert_eq!(names(&axis), "0 % 50 % 90 % 99 % 99.9 %");
        // Each nine is as wide as the one before.
        let (two, three) = (axis.place(0.99), axis.place(0.999));
        assert!((two - axis.place(0.9) - (three - two)).abs() < 1e-9);
    }

    #[test]
    fn a_picture_has_its_axes_names_and_every_run() {
        let run = Curves {
            throughput: vec![(0.0, 100.0), (1.0, 200.0)],
            latency: vec![(0.0, 100.0), (0.5, 300.0), (0.99, 9000.0)],
        };
        let line = |name: &str, runs: usize| Line {
            name: name.into(),
            runs: vec![run.clone(); runs],
        };
        let picture = svg("tpcc <full>", &[line("A & B", 3), line("C", 1)]);
        for part in [
            "tpcc &lt;full&gt;",
            "A &amp; B",
            "committed per second",
            "seconds",
            "latency, ms",
            "99 %",
        ] {
            assert!(picture.contains(part), "{part} is missing in {picture}");
        }
        let drawn = |colour| {
            picture
                .matches(&format!("fill=\"none\" stroke=\"{colour}\""))
                .count()
        };
        assert_eq!((drawn(COLOURS[0]), drawn(COLOURS[1])), (6, 2));
        assert!(!picture.contains("NaN") && picture.ends_with("</svg>\n"));
    }

    #[test]
    fn a_run_that_did_nothing_is_drawn_all_the_same() {
        let nothing = svg("nothing", &[Line::default()]);
        assert!(
            !nothing.contains("NaN") && !nothing.contains("inf"),
            "{nothing}"
        );
    }
}

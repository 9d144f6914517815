//! One chart as SVG: lines, points and cells on two axes, in colours that the page's style decides.
//!
//! It must not know what is shown.

use super::axis::Axis;
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};
use plotters::element::Rectangle;
use plotters::prelude::{
    ChartBuilder, Circle, Color, IntoDrawingArea, IntoFont, LineSeries, PathElement, RGBColor, SVGBackend,
};
use plotters::series::DashedLineSeries;
use plotters::style::{ShapeStyle, TextStyle};
use std::ops::Range;

/// What is drawn on a chart. Values are those of its axes.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Drawn {
    /// A line; a gap where a value has no place.
    Line { name: String, colour: Colour, dashed: bool, points: Vec<(f64, f64)> },
    /// Points with an interval of y.
    Points { name: String, colour: Colour, points: Vec<Point> },
    /// A filled cell, by strength from 0 to 1.
    Cell { x: (f64, f64), y: (f64, f64), strength: f64 },
    /// A place on the x axis from bottom to top, and how surely it is known.
    Mark { name: String, colour: Colour, at: f64, between: (f64, f64) },
}

/// One point of a profile.
#[derive(Copy, Clone, PartialEq, Debug)]
pub(super) struct Point {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) interval: Option<(f64, f64)>,
    /// Whether it cannot be trusted: drawn as a ring.
    pub(super) hollow: bool,
}

/// A colour by its role: the page's style says what it looks like, in light and in dark.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Colour {
    Ink,
    Soft,
    Grid,
    Series(usize),
    Bad,
}

/// Colours for series before they begin anew.
pub(super) const SERIES: usize = 6;

impl Colour {
    /// A colour that stands for the role while plotters draws, and is replaced by the style's variable afterwards.
    fn stand_in(self) -> RGBColor {
        match self {
            Self::Ink => RGBColor(0xA1, 0, 0x01),
            Self::Grid => RGBColor(0xA1, 0, 0x02),
            Self::Bad => RGBColor(0xA1, 0, 0x03),
            Self::Soft => RGBColor(0xA1, 0, 0x04),
            Self::Series(n) => RGBColor(0xA1, 0x01, u8::try_from(n % SERIES).expect("six colours")),
        }
    }

    /// The variable of the page's style.
    pub(super) fn variable(self) -> String {
        match self {
            Self::Ink => "var(--ink)".into(),
            Self::Grid => "var(--grid)".into(),
            Self::Bad => "var(--bad)".into(),
            Self::Soft => "var(--soft)".into(),
            Self::Series(n) => format!("var(--series-{})", n % SERIES),
        }
    }

    fn all() -> impl Iterator<Item = Self> {
        [Self::Ink, Self::Soft, Self::Grid, Self::Bad].into_iter().chain((0..SERIES).map(Self::Series))
    }
}

/// Width and height of a chart in its own units; the page scales it.
const SIZE: (u32, u32) = (640, 336);

/// Of what is written on a chart that is as wide as a page; on a phone the page makes it larger.
const FONT: f64 = 16.0;

/// The room below and beside the axes, for ticks and titles in the size they have on a phone.
const BELOW: u32 = 58;
const BESIDE: u32 = 104;

/// So many letters of that size stand beside each other below a chart.
const LETTERS: usize = 46;

/// How strong an interval on the x axis is beside what is drawn over it.
const BAND: f64 = 0.15;

/// Draws a chart.
///
/// # Panics
/// Never: a text takes every drawing.
pub(super) fn svg(title: &str, x: &Axis, y: &Axis, drawn: &[Drawn]) -> String {
    let mut text = String::new();
    draw(&mut text, x, y, drawn).expect("a text takes every drawing");
    let mut text = themed(&text);
    // Screen readers and tooltips: what it is.
    let open = text.find('>').expect("an SVG has a first tag") + 1;
    text.insert_str(open, &format!("<title>{}</title>", escaped(title)));
    text
}

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn draw(text: &mut String, x: &Axis, y: &Axis, drawn: &[Drawn]) -> Outcome {
    let root = SVGBackend::with_string(text, SIZE).into_drawing_area();
    let ink = Colour::Ink.stand_in();
    let said = x.thinned(LETTERS);
    let words: TextStyle<'_> = ("sans-serif", FONT).into_font().color(&ink);
    let mut chart = ChartBuilder::on(&root)
        .margin(6)
        .margin_top(14)
        .margin_right(42)
        .x_label_area_size(BELOW)
        .y_label_area_size(BESIDE)
        .build_cartesian_2d(Straight::of(x), Straight::of(y))?;
    chart
        .configure_mesh()
        .x_labels(x.ticks.len().max(2))
        .y_labels(y.ticks.len().max(2))
        .light_line_style(Colour::Grid.stand_in().mix(0.0))
        .bold_line_style(Colour::Grid.stand_in())
        .axis_style(Colour::Grid.stand_in())
        .label_style(words.clone())
        .axis_desc_style(words.clone())
        .x_desc(x.title.as_str())
        .y_desc(y.title.as_str())
        .x_label_formatter(&|place| said.label(*place))
        .y_label_formatter(&|place| y.label(*place))
        .draw()?;
    for one in drawn {
        match one {
            Drawn::Line { colour, dashed, points, .. } => {
                let style = ShapeStyle { color: colour.stand_in().to_rgba(), filled: false, stroke_width: 2 };
                for piece in pieces(points, x, y) {
                    if *dashed {
                        let dashes = DashedLineSeries::new(piece, 5, 4, style);
                        chart.draw_series(dashes)?;
                    } else {
                        chart.draw_series(LineSeries::new(piece, style))?;
                    }
                }
            }
            Drawn::Points { colour, points, .. } => {
                for point in points {
                    let Some(at) = place(point.x, point.y, x, y) else { continue };
                    let solid = colour.stand_in().to_rgba();
                    if let Some((low, high)) = point.interval
                        && let (Some(low), Some(high)) = (y.place(low), y.place(high))
                    {
                        let whisker = vec![(at.0, low), (at.0, high)];
                        chart
                            .draw_series(std::iter::once(PathElement::new(whisker, solid.stroke_width(2))))?;
                    }
                    let dot = ShapeStyle { color: solid, filled: !point.hollow, stroke_width: 2 };
                    chart.draw_series(std::iter::once(Circle::new(at, 4, dot)))?;
                }
            }
            Drawn::Mark { colour, at, between, .. } => {
                let solid = colour.stand_in();
                let (bottom, top) = y.ends;
                if let (Some(low), Some(high)) = (x.place(between.0), x.place(between.1)) {
                    let band = Rectangle::new([(low, bottom), (high, top)], solid.mix(BAND).filled());
                    chart.draw_series(std::iter::once(band))?;
                }
                let Some(at) = x.place(*at) else { continue };
                let line = ShapeStyle { color: solid.to_rgba(), filled: false, stroke_width: 2 };
                chart.draw_series(DashedLineSeries::new(vec![(at, bottom), (at, top)], 5, 4, line))?;
            }
            Drawn::Cell { x: across, y: up, strength } => {
                let corners = (place(across.0, up.0, x, y), place(across.1, up.1, x, y));
                let (Some(low), Some(high)) = corners else { continue };
                let fill = Colour::Series(0).stand_in().mix(strength.clamp(0.0, 1.0)).filled();
                chart.draw_series(std::iter::once(Rectangle::new([low, high], fill)))?;
            }
        }
    }
    drop(chart);
    root.present()?;
    drop(root);
    Ok(())
}

/// An axis as plotters wants it: a straight line whose ticks are ours.
struct Straight {
    ends: (f64, f64),
    ticks: Vec<f64>,
}

impl Straight {
    fn of(axis: &Axis) -> Self {
        Self { ends: axis.ends, ticks: axis.ticks.iter().map(|(at, _)| *at).collect() }
    }
}

impl Ranged for Straight {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    #[expect(clippy::cast_possible_truncation, reason = "a place on a chart of some hundred units")]
    fn map(&self, place: &f64, (from, to): (i32, i32)) -> i32 {
        let share = (place - self.ends.0) / (self.ends.1 - self.ends.0);
        from + libm::round(share.clamp(0.0, 1.0) * f64::from(to - from)) as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.ticks.clone()
    }

    fn range(&self) -> Range<f64> {
        self.ends.0..self.ends.1
    }
}

fn place(at: f64, up: f64, x: &Axis, y: &Axis) -> Option<(f64, f64)> {
    Some((x.place(at)?, y.place(up)?))
}

/// The runs of points that have a place.
fn pieces(points: &[(f64, f64)], x: &Axis, y: &Axis) -> Vec<Vec<(f64, f64)>> {
    let placed: Vec<Option<(f64, f64)>> = points.iter().map(|(at, up)| place(*at, *up, x, y)).collect();
    let runs = placed.split(Option::is_none).filter(|run| !run.is_empty());
    runs.map(|run| run.iter().flatten().copied().collect()).collect()
}

/// Puts the style's variables in place of the stand-ins, and lets the page decide the size.
fn themed(svg: &str) -> String {
    let mut text = svg.to_string();
    for colour in Colour::all() {
        let RGBColor(r, g, b) = colour.stand_in();
        text = text.replace(&format!("#{r:02X}{g:02X}{b:02X}"), &colour.variable());
    }
    let (width, height) = SIZE;
    text.replacen(&format!("width=\"{width}\" height=\"{height}\" "), "role=\"img\" ", 1)
}

/// Text that may stand between tags.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

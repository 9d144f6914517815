//! A figure of the page: a chart with its heading, its legend and what to see in it.

use super::axis::Axis;
use super::chart::{Colour, Drawn, svg};
use maud::{Markup, PreEscaped, html};

/// A figure.
#[derive(Clone, Debug)]
pub struct Figure {
    /// A short name without blanks, for a file.
    pub name: String,
    /// The heading.
    pub title: String,
    /// What a reader should know to read it.
    pub note: String,
    /// The drawing, for a page that says what its colours are.
    pub svg: String,
    legend: Vec<(String, Colour, bool)>,
}

impl Figure {
    pub(super) fn new(name: &str, title: &str, note: &str, x: &Axis, y: &Axis, drawn: &[Drawn]) -> Self {
        let named = drawn.iter().filter_map(|one| match one {
            Drawn::Line { name, colour, dashed, .. } => Some((name.clone(), *colour, *dashed)),
            Drawn::Points { name, colour, .. } => Some((name.clone(), *colour, false)),
            Drawn::Mark { name, colour, .. } => Some((name.clone(), *colour, true)),
            Drawn::Cell { .. } => None,
        });
        Self {
            name: name.into(),
            title: title.into(),
            note: note.into(),
            svg: svg(title, x, y, drawn),
            legend: named.filter(|(name, ..)| !name.is_empty()).collect(),
        }
    }

    /// The drawing as a file of its own: with the colours that its page would have given it.
    #[must_use]
    pub fn standalone(&self) -> String {
        let open = self.svg.find('>').map_or(0, |at| at + 1);
        let (tag, rest) = self.svg.split_at(open);
        format!("{tag}<style>{}</style>{rest}", super::page::COLOURS)
    }

    pub(super) fn markup(&self) -> Markup {
        html! {
            figure id=(self.name) {
                figcaption { (self.title) }
                @if !self.legend.is_empty() {
                    ul.legend {
                        @for (name, colour, dashed) in &self.legend {
                            li { span.key.dashed[*dashed] style=(format!("--key: {}", colour.variable())) {} (name) }
                        }
                    }
                }
                (PreEscaped(&self.svg))
                @if !self.note.is_empty() { p.note { (self.note) } }
            }
        }
    }
}

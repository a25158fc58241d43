//! A plot in two panels, as SVG.

use std::fmt::Write;

use super::{
    axis::{Scale, label},
    colours::{Colour, INK, OURS, RAW},
};
use crate::pairs::Spread;

/// The size of one panel's field, and what is around it.
const WIDTH: f64 = 300.0;
const HEIGHT: f64 = 220.0;
const LEFT: f64 = 70.0;
const TOP: f64 = 74.0;
const GAP: f64 = 30.0;
const RIGHT: f64 = 20.0;
/// Below the field: room for labels that lie level, and for those that lean.
const LEVEL: f64 = 54.0;
const LEANING: f64 = 110.0;

/// A plot.
#[derive(Debug, Clone)]
pub struct Chart {
    /// What it shows.
    pub title: String,
    /// The horizontal axis, with its unit; empty for names.
    pub x_label: String,
    /// The vertical axis, with its unit.
    pub y_label: String,
    /// Where each case stands on the horizontal axis, from 0 to 1, with its label.
    pub places: Vec<(f64, String)>,
    /// Whether the cases follow each other, so that a line joins them.
    pub is_line: bool,
    /// Side by side, on one scale.
    pub panels: Vec<Panel>,
}

/// One field of a plot.
#[derive(Debug, Clone)]
pub struct Panel {
    /// What stands above it.
    pub title: String,
    /// Our values, one for each place; `None` where there is none.
    pub ours: Vec<Option<Spread>>,
    /// The raw values.
    pub raw: Vec<Option<Spread>>,
}

/// How a side is drawn. The marks and the lines differ, too, for readers who see no colours.
#[derive(Debug, Clone, Copy)]
struct Style {
    name: &'static str,
    colour: Colour,
    dashes: &'static str,
    is_round: bool,
    /// Beside the place, so that the sides do not hide each other.
    shift: f64,
}

const STYLES: [Style; 2] = [
    Style {
        name: "queue-kit",
        colour: OURS,
        dashes: "none",
        is_round: true,
        shift: -3.0,
    },
    Style {
        name: "raw commands",
        colour: RAW,
        dashes: "5 4",
        is_round: false,
        shift: 3.0,
    },
];

impl Chart {
    /// Draws it: medians as marks, with lines from minimum to maximum.
    pub fn svg(&self) -> String {
        let values = self.panels.iter().flat_map(|panel| {
            let all = panel.ours.iter().chain(&panel.raw).flatten();
            all.flat_map(|spread| [spread.min, spread.max])
        });
        let scale = Scale::of(values);
        let leans = self.places.iter().any(|(_, label)| label.len() > 7);
        let bottom = if leans { LEANING } else { LEVEL };
        let count = self.panels.len() as f64;
        let width = LEFT + count * WIDTH + (count - 1.0) * GAP + RIGHT;
        let height = TOP + HEIGHT + bottom;
        let mut svg = Svg::default();
        svg.line(format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
             width=\"{width}\" height=\"{height}\" role=\"img\" font-family=\"sans-serif\" \
             font-size=\"12\" fill=\"{INK}\">"
        ));
        svg.line(format_args!("<title>{}</title>", escaped(&self.title)));
        svg.text(LEFT, 20.0, "start", &self.title, " font-size=\"15\"");
        legend(&mut svg);
        for (nth, panel) in self.panels.iter().enumerate() {
            let left = LEFT + nth as f64 * (WIDTH + GAP);
            self.panel(&mut svg, panel, left, scale, leans, nth == 0);
        }
        let middle = TOP + HEIGHT / 2.0;
        let turned = format!(" transform=\"rotate(-90 16 {middle})\"");
        svg.text(16.0, middle, "middle", &self.y_label, &turned);
        let centre = LEFT + (width - LEFT - RIGHT) / 2.0;
        svg.text(centre, height - 10.0, "middle", &self.x_label, "");
        svg.line(format_args!("</svg>"));
        svg.0
    }

    fn panel(
        &self,
        svg: &mut Svg,
        panel: &Panel,
        left: f64,
        scale: Scale,
        leans: bool,
        is_first: bool,
    ) {
        svg.text(left + WIDTH / 2.0, TOP - 10.0, "middle", &panel.title, "");
        let y = |value: f64| TOP + HEIGHT * (1.0 - scale.place(value));
        for tick in scale.ticks() {
            let (at, right) = (y(tick), left + WIDTH);
            svg.line(format_args!(
                "<path d=\"M{left} {at:.1}H{right}\" stroke=\"{INK}\" stroke-opacity=\".3\"/>"
            ));
            if is_first {
                svg.text(left - 8.0, at + 4.0, "end", &label(tick), "");
            }
        }
        let x = |place: f64| left + WIDTH * (0.08 + 0.84 * place);
        let foot = TOP + HEIGHT;
        for (place, name) in &self.places {
            let at = x(*place);
            svg.line(format_args!(
                "<path d=\"M{at:.1} {foot}v5\" stroke=\"{INK}\"/>"
            ));
            if leans {
                let below = foot + 16.0;
                let turned = format!(" transform=\"rotate(-35 {at:.1} {below})\"");
                svg.text(at, below, "end", name, &turned);
            } else {
                svg.text(at, foot + 20.0, "middle", name, "");
            }
        }
        for (style, values) in STYLES.into_iter().zip([&panel.ours, &panel.raw]) {
            let points = self.places.iter().zip(values);
            let points = points.filter_map(|((place, name), spread)| {
                let at = x(*place) + style.shift;
                spread.map(|spread| (at, name.as_str(), spread))
            });
            let points: Vec<(f64, &str, Spread)> = points.collect();
            if self.is_line {
                let path = points.iter().enumerate().map(|(nth, (at, _, spread))| {
                    let verb = if nth == 0 { 'M' } else { 'L' };
                    format!("{verb}{at:.1} {:.1}", y(spread.median))
                });
                svg.line(format_args!(
                    "<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\" \
                     stroke-dasharray=\"{}\"/>",
                    path.collect::<String>(),
                    style.colour,
                    style.dashes
                ));
            }
            for (at, name, spread) in points {
                let ends = (y(spread.min), y(spread.max));
                svg.mark(style, at, y(spread.median), ends, &tip(style, name, spread));
            }
        }
    }
}

/// What a reader sees who points at a mark.
fn tip(style: Style, name: &str, spread: Spread) -> String {
    let [min, median, max] = [spread.min, spread.median, spread.max].map(label);
    format!("{}, {name}: {median} ({min} to {max})", style.name)
}

fn legend(svg: &mut Svg) {
    let mut left = LEFT + 8.0;
    for style in STYLES {
        svg.mark(style, left, 40.0, (40.0, 40.0), style.name);
        svg.text(left + 12.0, 44.0, "start", style.name, "");
        left += 125.0;
    }
    svg.text(left, 44.0, "start", "median, minimum to maximum", "");
}

/// A text that grows by elements. Writing to a string cannot fail.
#[derive(Debug, Default)]
struct Svg(String);

impl Svg {
    fn line(&mut self, element: std::fmt::Arguments<'_>) {
        let _ = writeln!(self.0, "{element}");
    }

    fn text(&mut self, x: f64, y: f64, anchor: &str, text: &str, more: &str) {
        let text = escaped(text);
        self.line(format_args!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\"{more}>{text}</text>"
        ));
    }

    fn mark(&mut self, style: Style, x: f64, y: f64, ends: (f64, f64), tip: &str) {
        let Style { colour, .. } = style;
        let (tip, (from, to)) = (escaped(tip), ends);
        self.line(format_args!(
            "<g stroke=\"{colour}\" stroke-width=\"2\"><title>{tip}</title>\
             <path d=\"M{x:.1} {from:.1}V{to:.1}\"/>"
        ));
        if style.is_round {
            self.line(format_args!(
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"{colour}\"/></g>"
            ));
        } else {
            let (left, top) = (x - 4.0, y - 4.0);
            self.line(format_args!(
                "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"8\" height=\"8\" fill=\"none\"/></g>"
            ));
        }
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(median: f64) -> Option<Spread> {
        let (min, max) = (median * 0.9, median * 1.2);
        Some(Spread { min, median, max })
    }

    fn chart(names: [&str; 2]) -> Chart {
        let panel = |title: &str| Panel {
            title: title.to_owned(),
            ours: vec![spread(10.0), spread(20.0)],
            raw: vec![spread(40.0), None],
        };
        Chart {
            title: "a < b & c".to_owned(),
            x_label: "slots".to_owned(),
            y_label: "jobs/s".to_owned(),
            places: vec![(0.0, names[0].to_owned()), (1.0, names[1].to_owned())],
            is_line: true,
            panels: vec![panel("same core"), panel("split")],
        }
    }

    #[test]
    fn every_value_has_a_mark_and_every_axis_its_label() {
        let svg = chart(["1", "16"]).svg();
        // Two of the legend's and, in each panel, two of ours and one raw.
        assert_eq!(svg.matches("<circle").count(), 1 + 4);
        assert_eq!(svg.matches("<rect").count(), 1 + 2);
        for text in [
            "a &lt; b &amp; c",
            ">slots<",
            ">jobs/s<",
            ">16<",
            "same core",
        ] {
            assert!(svg.contains(text), "{text}");
        }
        assert!(svg.contains("queue-kit, 16: 20 (18 to 24)"));
        assert!(!svg.contains("rotate(-35"));
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
    }

    #[test]
    fn long_labels_lean() {
        let svg = chart(["acks alone", "a standing line"]).svg();
        assert_eq!(svg.matches("rotate(-35").count(), 4);
    }

    #[test]
    fn every_element_ends() {
        let svg = chart(["1", "2"]).svg();
        for name in ["svg", "text", "g", "title"] {
            let open = [format!("<{name}>"), format!("<{name} ")];
            let opened: usize = open.iter().map(|open| svg.matches(open).count()).sum();
            let closed = svg.matches(&format!("</{name}>")).count();
            assert!(opened == closed && opened > 0, "{name}");
        }
    }
}

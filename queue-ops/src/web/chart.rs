//! Charts of the last hour, as SVG that needs no script.

use std::time::Duration;

use maud::{Markup, html};
use queue_core::Timestamp;

use crate::{Rates, duration_in_words as words};

/// The time that a chart shows.
const SPAN: Duration = Duration::from_secs(3_600);
/// Shorter times, in minutes, for values that do not go back for an hour yet.
const SHORTER: [u64; 3] = [1, 5, 15];

/// Width and height of the picture; its letters are as large as text where it is shown.
const SIZE: (f64, f64) = (340.0, 180.0);
/// The edges of the lines: left, right, top, bottom.
const EDGES: (f64, f64, f64, f64) = (50.0, 330.0, 14.0, 150.0);
/// Rows of the table beside a chart.
const ROWS: usize = 12;

/// The unit of a chart's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    /// Messages a second.
    PerSecond,
    /// Seconds.
    Seconds,
}

impl Unit {
    const fn name(self) -> &'static str {
        match self {
            Self::PerSecond => "messages a second",
            Self::Seconds => "time",
        }
    }

    fn show(self, value: f64) -> String {
        match self {
            Self::PerSecond => format!("{}/s", rate(value)),
            Self::Seconds => seconds(value),
        }
    }
}

/// A line of a chart.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) name: &'static str,
    /// The class, which gives it its colour and its dashes.
    pub(super) class: &'static str,
    /// The values by time, the latest last. A line has a gap where none is.
    pub(super) values: Vec<(Timestamp, Option<f64>)>,
}

/// A chart of the last hour.
#[derive(Debug)]
pub(super) struct Chart {
    pub(super) title: String,
    pub(super) unit: Unit,
    pub(super) lines: Vec<Line>,
    /// The right edge.
    pub(super) now: Timestamp,
}

impl Chart {
    /// The rates of a queue, as it was sampled.
    pub(super) fn of_rates(rates: &[Rates]) -> Self {
        let line = |name, class, of: fn(&Rates) -> f64| Line {
            name,
            class,
            values: rates.iter().map(|one| (one.at, Some(of(one)))).collect(),
        };
        Self {
            title: "Throughput".to_owned(),
            unit: Unit::PerSecond,
            lines: vec![
                line("in", "pushed", |rates| rates.pushed),
                line("out", "acked", |rates| rates.acked),
                line("failed", "failed", |rates| rates.failed),
            ],
            now: rates.last().map_or_else(Timestamp::default, |last| last.at),
        }
    }

    pub(super) fn render(&self) -> Markup {
        let top = nice(self.highest());
        html! {
            figure.chart {
                figcaption { strong { (self.title) } " " span.aside { (self.unit.name()) } }
                svg viewBox={ "0 0 " (SIZE.0) " " (SIZE.1) } role="img" aria-label=(self.summary()) {
                    (self.axes(top))
                    @for line in &self.lines { (self.line(line, top)) }
                }
                (self.legend())
                details { summary { "As a table" } div.scroll { (self.table()) } }
            }
        }
    }

    /// The time that it shows: up to an hour, as far as the values go back.
    fn span(&self) -> Duration {
        let firsts = self.lines.iter().filter_map(|line| line.values.first());
        let oldest = firsts.map(|(at, _)| self.now.since(*at)).max();
        let shorter = SHORTER.map(|minutes| Duration::from_secs(60 * minutes));
        let enough = |span: &Duration| oldest.is_some_and(|oldest| oldest <= *span);
        shorter.into_iter().find(enough).unwrap_or(SPAN)
    }

    fn highest(&self) -> f64 {
        let values = self.lines.iter().flat_map(|line| &line.values);
        values.filter_map(|(_, value)| *value).fold(0.0, f64::max)
    }

    /// The chart in a sentence.
    fn summary(&self) -> String {
        let lines = self.lines.iter().map(|line| {
            let values = || line.values.iter().filter_map(|(_, value)| *value);
            let show =
                |value: Option<f64>| value.map_or("none".to_owned(), |value| self.unit.show(value));
            let most = values().reduce(f64::max);
            format!(
                "{} {} now, {} at most",
                line.name,
                show(values().next_back()),
                show(most)
            )
        });
        let lines: Vec<String> = lines.collect();
        let span = words(self.span());
        format!("{} of the last {span}: {}", self.title, lines.join("; "))
    }

    /// The place of a time, and whether the chart shows it.
    fn x(&self, at: Timestamp) -> Option<f64> {
        let (ago, span) = (self.now.since(at), self.span());
        let part = ago.as_secs_f64() / span.as_secs_f64();
        (ago <= span).then_some(EDGES.1 - part * (EDGES.1 - EDGES.0))
    }

    fn axes(&self, top: f64) -> Markup {
        let (left, right, upper, lower) = EDGES;
        let ago = |time: Duration| format!("{} ago", words(time));
        let (whole, half) = (ago(self.span()), ago(self.span() / 2));
        html! {
            g.axes {
                @for part in [0.0, 0.5, 1.0] {
                    @let y = lower - part * (lower - upper);
                    line x1=(left) x2=(right) y1=(y) y2=(y) {}
                    text x=(left - 6.0) y=(y + 4.0) text-anchor="end" { (self.unit.show(top * part)) }
                }
                @for (part, label, anchor) in [(0.0, &*whole, "start"), (0.5, &*half, "middle"), (1.0, "now", "end")] {
                    @let x = left + part * (right - left);
                    line x1=(x) x2=(x) y1=(lower) y2=(lower + 4.0) {}
                    text x=(x) y=(lower + 18.0) text-anchor=(anchor) { (label) }
                }
            }
        }
    }

    /// A line, in as many pieces as it has gaps. A value between two gaps is a dot.
    fn line(&self, line: &Line, top: f64) -> Markup {
        let (_, _, upper, lower) = EDGES;
        let places = line.values.iter().filter_map(|(at, value)| {
            let x = self.x(*at)?;
            let y = |value: f64| lower - value / top * (lower - upper);
            Some(value.map(|value| format!("{x:.1},{:.1}", y(value))))
        });
        let places: Vec<Option<String>> = places.collect();
        let pieces = places
            .split(Option::is_none)
            .filter(|piece| !piece.is_empty());
        html! {
            @for piece in pieces {
                polyline class=(line.class) points=(joined(piece)) {}
            }
        }
    }

    fn legend(&self) -> Markup {
        let now = |line: &Line| line.values.iter().rev().find_map(|(_, value)| *value);
        html! {
            ul.legend {
                @for line in &self.lines {
                    li {
                        svg.key viewBox="0 0 24 8" aria-hidden="true" { polyline class=(line.class) points="1,4 23,4" {} }
                        (line.name) " " @if let Some(now) = now(line) { strong { (self.unit.show(now)) } } @else { "–" }
                    }
                }
            }
        }
    }

    /// The means of each twelfth of the time, the latest first.
    fn table(&self) -> Markup {
        let part = self.span() / ROWS as u32;
        let mean = |line: &Line, nth: u32| {
            let is_within = |at: &Timestamp| {
                let ago = self.now.since(*at);
                ago >= part * nth && ago < part * (nth + 1)
            };
            let within = line.values.iter().filter(|(at, _)| is_within(at));
            let values: Vec<f64> = within.filter_map(|(_, value)| *value).collect();
            let sum: f64 = values.iter().sum();
            (!values.is_empty()).then(|| sum / values.len() as f64)
        };
        html! {
            table {
                thead { tr { th scope="col" { "Ago" } @for line in &self.lines { th.number scope="col" { (line.name) } } } }
                tbody { @for nth in 0..ROWS as u32 { tr {
                    th scope="row" { (words(part * nth)) " to " (words(part * (nth + 1))) }
                    @for line in &self.lines {
                        td.number { @match mean(line, nth) { Some(mean) => (self.unit.show(mean)), None => "–" } }
                    }
                } } }
            }
        }
    }
}

/// The points of a piece of a line; of a single one a dot.
fn joined(piece: &[Option<String>]) -> String {
    let mut points: Vec<&str> = piece.iter().flatten().map(String::as_str).collect();
    if let [one] = points[..] {
        points.push(one);
    }
    points.join(" ")
}

/// The rates in and out as a line without axes, because the numbers are beside it.
pub(super) fn sparkline(rates: &[Rates]) -> Markup {
    let now = rates.last().map_or_else(Timestamp::default, |last| last.at);
    let highest = rates.iter().flat_map(|one| [one.pushed, one.acked]);
    let highest = highest.fold(f64::MIN_POSITIVE, f64::max);
    let span = rates.first().map_or(SPAN, |first| now.since(first.at));
    let line = |of: fn(&Rates) -> f64| {
        // A point a minute is as much as can be seen.
        let step = rates.len().div_ceil(60).max(1);
        let means = rates.chunks(step).map(|chunk| {
            let mean = chunk.iter().map(of).sum::<f64>() / chunk.len() as f64;
            let ago = chunk.last().map_or(SPAN, |last| now.since(last.at));
            let x = 99.0 - ago.as_secs_f64() / span.as_secs_f64().max(1e-3) * 98.0;
            format!("{:.1},{:.1}", x.max(1.0), 19.0 - mean / highest * 18.0)
        });
        means.collect::<Vec<_>>().join(" ")
    };
    html! {
        svg.spark viewBox="0 0 100 20" aria-hidden="true" {
            @if rates.len() > 1 {
                polyline class="pushed" points=(line(|rates| rates.pushed)) {}
                polyline class="acked" points=(line(|rates| rates.acked)) {}
            }
        }
    }
}

/// The least number of one digit and zeros that is not below a value: 1, 2, 5, 10, 20 …
fn nice(value: f64) -> f64 {
    if value <= 0.0 || !value.is_finite() {
        return 1.0;
    }
    let unit = 10_f64.powf(value.log10().floor());
    let factors = [1.0, 2.0, 5.0, 10.0].into_iter();
    // A value that is nearly such a number is that number.
    let above = factors
        .map(|factor| factor * unit)
        .find(|one| *one >= value * 0.999_999);
    above.unwrap_or(value)
}

/// Messages a second.
pub(super) fn rate(rate: f64) -> String {
    match rate {
        0.0..0.05 => "0".to_owned(),
        0.05..10.0 => format!("{rate:.1}"),
        _ => super::show::number(rate.round() as u64),
    }
}

/// A time for an axis: `250 ms`, `4.2 s`, `6 min`.
fn seconds(value: f64) -> String {
    match value {
        0.0 => "0".to_owned(),
        0.0..0.001 => format!("{:.0} µs", value * 1e6),
        0.001..0.01 => format!("{:.1} ms", value * 1e3),
        _ => words(Duration::try_from_secs_f64(value).unwrap_or(Duration::MAX)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_ends_at_a_round_number() {
        for (value, top) in [
            (0.0, 1.0),
            (0.03, 0.05),
            (0.9, 1.0),
            (1.0, 1.0),
            (1.1, 2.0),
            (4.9, 5.0),
            (51.0, 100.0),
            (100.0, 100.0),
            (123.0, 200.0),
            (f64::INFINITY, 1.0),
        ] {
            let found = nice(value);
            assert!((found - top).abs() < top * 1e-9, "{value}: {found}");
        }
    }

    #[test]
    fn a_line_begins_at_its_time_and_has_a_gap_where_nothing_was_measured() {
        let minute = |nth: u64| Timestamp::from_millis(7_200_000 - nth * 60_000);
        let values = [
            (61, Some(9.0)),
            (60, Some(1.0)),
            (45, Some(2.0)),
            (30, None),
            (15, Some(1.0)),
            (0, Some(0.0)),
        ];
        let chart = Chart {
            title: "Wait".to_owned(),
            unit: Unit::PerSecond,
            now: minute(0),
            lines: vec![Line {
                name: "p50",
                class: "p50",
                values: values.map(|(ago, value)| (minute(ago), value)).to_vec(),
            }],
        };
        let line = chart.line(&chart.lines[0], 2.0).into_string();
        let (first, second) = (
            "points=\"50.0,82.0 120.0,14.0\"",
            "points=\"260.0,82.0 330.0,150.0\"",
        );
        assert!(line.contains(first) && line.contains(second), "{line}");
        assert_eq!(line.matches("polyline class").count(), 2, "{line}");
        assert_eq!(
            chart.summary(),
            "Wait of the last 60 min: p50 0/s now, 9.0/s at most"
        );
    }

    #[test]
    fn times_are_shown_in_their_unit() {
        for (value, shown) in [
            (0.0, "0"),
            (0.000_25, "250 µs"),
            (0.002_5, "2.5 ms"),
            (0.25, "250 ms"),
            (4.2, "4.2 s"),
            (360.0, "6 min"),
        ] {
            assert_eq!(seconds(value), shown);
        }
    }
}

//! The report at the end of a run.

use std::time::Duration;

use criterion::{Criterion, SamplingMode};

use super::fixture::{Fixture, Shape};
use crate::pairs::{Pairs, Work, spread};

/// The ratios of all placements, and tables of all other figures.
#[derive(Debug, Default)]
pub struct RatioReport {
    pairs: Pairs,
    lines: Vec<(&'static str, String)>,
}

impl RatioReport {
    /// Prints it.
    pub fn print(&self) {
        self.pairs.print();
        let mut last = "";
        for (table, line) in &self.lines {
            if *table != last {
                let (min, median, max) = ("min", "median", "max");
                println!("\n{table:<56} {:>6} {min:>9} {median:>9} {max:>9}", "n");
                last = table;
            }
            println!("{line}");
        }
    }
}

/// The number of samples of a measurement.
#[derive(Debug, Clone, Copy)]
pub enum Samples {
    /// Many short samples.
    Many,
    /// A few samples of a single round, for rounds that take long.
    Few,
}

/// The measurements of one placement.
pub struct PlacementRun<'a> {
    /// The server and the client.
    pub fixture: &'a Fixture,
    criterion: &'a mut Criterion,
    report: &'a mut RatioReport,
}

impl<'a> PlacementRun<'a> {
    /// Measures for this report.
    pub fn new(
        fixture: &'a Fixture,
        criterion: &'a mut Criterion,
        report: &'a mut RatioReport,
    ) -> Self {
        Self {
            fixture,
            criterion,
            report,
        }
    }

    /// Measures ours beside its peers.
    pub fn measure<'w>(
        &mut self,
        samples: Samples,
        name: &str,
        shape: Shape,
        mut ours: Work<'w>,
        mut beside: Vec<(&'static str, Work<'w>)>,
    ) {
        let (count, warm_up, measurement) = match samples {
            Samples::Many => (15, 200, 1_200),
            Samples::Few => (10, 1, 1),
        };
        let mut group = self.criterion.benchmark_group("redis");
        group
            .sampling_mode(SamplingMode::Flat)
            .sample_size(count)
            .nresamples(2_000)
            .warm_up_time(Duration::from_millis(warm_up))
            .measurement_time(Duration::from_millis(measurement));
        let name = format!("{}/{name}", self.fixture.placement);
        let messages = shape.messages() as u64;
        let pairs = &mut self.report.pairs;
        pairs.measure(&mut group, &name, messages, &mut ours, &mut beside);
    }

    /// Adds a line about these values, unless the filter left none.
    pub fn note(&mut self, table: &'static str, name: &str, values: &[f64]) {
        if values.is_empty() {
            return;
        }
        let all = spread(values);
        let line = format!(
            "{:<56} {:>6} {:>9.2} {:>9.2} {:>9.2}",
            format!("{}/{name}", self.fixture.placement),
            values.len(),
            all.min,
            all.median,
            all.max
        );
        self.report.lines.push((table, line));
    }
}

//! The figures of all strategies, as a table in Markdown for each kind.

use queue_core::QueueKind;

use super::{contenders::Contender, tally::Job};

/// The sizes of batches that are measured.
pub const BATCHES: [usize; 3] = [1, 10, 100];

/// The tables of all kinds.
#[derive(Debug, Default)]
pub struct Tables {
    rows: Vec<TableRow>,
}

#[derive(Debug)]
struct TableRow {
    kind: QueueKind,
    strategy: &'static str,
    has_several: bool,
    jobs: [Option<Job>; 3],
    bytes: f64,
}

impl Tables {
    /// Adds a strategy: what a job costs at each of [`BATCHES`], where it has such batches, and the
    /// bytes of a message.
    pub fn add(&mut self, contender: &Contender, jobs: [Option<Job>; 3], bytes: f64) {
        self.rows.push(TableRow {
            kind: contender.kind,
            strategy: contender.name,
            has_several: contender.has_several,
            jobs,
            bytes,
        });
    }

    /// Prints them, under a line about the conditions.
    pub fn print(&self, conditions: &str) {
        let samples = self.rows.iter().flat_map(|row| row.jobs.iter().flatten());
        let Some(fewest) = samples.map(|job| job.samples).min() else {
            return;
        };
        println!("\n{conditions}; n = {fewest} or more; medians, at batches of 1 / 10 / 100");
        let mut kind = None;
        for row in &self.rows {
            if kind != Some(row.kind) {
                kind = Some(row.kind);
                println!("\n### {}\n", row.kind);
                println!(
                    "| strategy | server µs a job | commands a job | round trips a job | bytes a message |"
                );
                println!("| --- | --- | --- | --- | --- |");
            }
            println!("{}", row.line());
        }
    }
}

impl TableRow {
    fn line(&self) -> String {
        format!(
            "| {} | {} | {} | {} | {:.0} |",
            self.strategy,
            self.figures(1, |job| job.micros),
            self.figures(2, |job| job.commands),
            self.figures(2, |job| job.trips),
            self.bytes
        )
    }

    /// A figure at each batch.
    fn figures(&self, digits: usize, value: fn(&Job) -> f64) -> String {
        let figures = self.jobs.iter().map(|job| match job {
            Some(job) => format!("{:.digits$}", value(job)),
            None => "–".to_owned(),
        });
        let figures: Vec<String> = figures.collect();
        match self.has_several {
            true => figures.join(" / "),
            false => format!("{} / 1 only", figures[0]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(micros: f64) -> Option<Job> {
        Some(Job {
            micros,
            commands: 3.0,
            trips: 0.03,
            samples: 15,
        })
    }

    #[test]
    fn a_row_has_a_figure_at_each_batch() {
        let row = |has_several, jobs| TableRow {
            kind: QueueKind::Reliable,
            strategy: "list",
            has_several,
            jobs,
            bytes: 104.4,
        };
        assert_eq!(
            row(true, [job(9.26), job(2.0), None]).line(),
            "| list | 9.3 / 2.0 / – | 3.00 / 3.00 / – | 0.03 / 0.03 / – | 104 |"
        );
        assert_eq!(
            row(false, [job(9.26), None, None]).line(),
            "| list | 9.3 / 1 only | 3.00 / 1 only | 0.03 / 1 only | 104 |"
        );
    }
}

//! The waits and handlers' times that workers keep, as the pages show them.

use std::{collections::BTreeMap, time::Duration};

use maud::{Markup, html};
use queue_core::{JobTimes, QueueName, TimesHistogram, TimesMinute, Timestamp};

use super::{
    chart::{Chart, Line, Unit},
    show::number,
};

/// Types of jobs of which a page has charts.
const SHOWN: usize = 12;
const MINUTE: Duration = Duration::from_secs(60);

/// The times of all queues, as they were read last.
#[derive(Debug, Default)]
pub(super) struct Times {
    read_at: Timestamp,
    queues: BTreeMap<String, Vec<JobTimes>>,
}

impl Times {
    /// The types of jobs of each queue, those that were handled most before others.
    pub(super) fn new(jobs: Vec<JobTimes>, read_at: Timestamp) -> Self {
        let mut queues: BTreeMap<String, Vec<JobTimes>> = BTreeMap::new();
        for job in jobs {
            queues.entry(job.queue.clone()).or_default().push(job);
        }
        for jobs in queues.values_mut() {
            jobs.sort_by_key(|job| std::cmp::Reverse(handled(job)));
        }
        Self { read_at, queues }
    }

    /// Charts of each type of job of a queue: throughput, waits, and handlers' times.
    pub(super) fn charts(&self, queue: &QueueName) -> Option<Markup> {
        let jobs = self.queues.get(queue.as_str())?;
        let shown = &jobs[..jobs.len().min(SHOWN)];
        Some(html! {
            h2 id="jobs" { "Jobs of the last hour" }
            p.aside { "Of the workers that keep times." }
            @for job in shown {
                section {
                    h3 { (job.job.as_deref().unwrap_or("All jobs")) " " span.aside { (number(handled(job))) " handled" } }
                    div.charts { @for chart in self.of_job(job) { (chart.render()) } }
                }
            }
            @if jobs.len() > shown.len() { p { "Of " (number(jobs.len() as u64)) " types of jobs, these were handled most." } }
        })
    }

    fn of_job(&self, job: &JobTimes) -> [Chart; 3] {
        let times = |title: &str, of: fn(&TimesMinute) -> &TimesHistogram| {
            let quantile = |part| {
                self.line(job, 0, move |minute| {
                    of(minute).quantile(part).map(|time| time.as_secs_f64())
                })
            };
            self.chart(
                title,
                Unit::Seconds,
                vec![
                    Line {
                        name: "p50",
                        class: "p50",
                        values: quantile(0.5),
                    },
                    Line {
                        name: "p95",
                        class: "p95",
                        values: quantile(0.95),
                    },
                ],
            )
        };
        let a_second = |count: u64| Some(count as f64 / MINUTE.as_secs_f64());
        // The first minute is not as long as the others.
        let done = self.line(job, 1, |minute| {
            a_second(minute.handled - minute.failed.min(minute.handled))
        });
        let failed = self.line(job, 1, |minute| a_second(minute.failed));
        let throughput = vec![
            Line {
                name: "done",
                class: "acked",
                values: done,
            },
            Line {
                name: "failed",
                class: "failed",
                values: failed,
            },
        ];
        [
            self.chart("Throughput", Unit::PerSecond, throughput),
            times("Wait", |minute| &minute.wait),
            times("Handler", |minute| &minute.handler),
        ]
    }

    fn chart(&self, title: &str, unit: Unit, lines: Vec<Line>) -> Chart {
        Chart {
            title: title.to_owned(),
            unit,
            lines,
            now: self.read_at,
        }
    }

    /// A value of each minute from this one on, the latest last.
    fn line(
        &self,
        job: &JobTimes,
        from: usize,
        of: impl Fn(&TimesMinute) -> Option<f64>,
    ) -> Vec<(Timestamp, Option<f64>)> {
        let minutes = job.minutes.iter().enumerate().skip(from).rev();
        let at = |nth: usize| {
            let ago = u64::try_from(nth)
                .unwrap_or(u64::MAX)
                .saturating_mul(60_000)
                + 30_000;
            Timestamp::from_millis(self.read_at.as_millis().saturating_sub(ago))
        };
        minutes.map(|(nth, minute)| (at(nth), of(minute))).collect()
    }
}

fn handled(job: &JobTimes) -> u64 {
    job.minutes.iter().map(|minute| minute.handled).sum()
}

//! How far it has got, now and then, on standard error.

use std::{
    io::{IsTerminal, stderr},
    time::{Duration, Instant},
};

use queue_core::QueueKind;
use queue_sim::run::Tally;

pub(crate) struct Progress {
    name: String,
    seeds: u64,
    start: Instant,
    last: Instant,
    every: Duration,
    /// A line that is written over, or lines one after another.
    terminal: bool,
}

impl Progress {
    pub(crate) fn of(kind: QueueKind, backend: &str, seeds: u64) -> Self {
        let terminal = stderr().is_terminal();
        let now = Instant::now();
        Self {
            name: format!("{kind} {backend}"),
            seeds,
            start: now,
            last: now,
            every: Duration::from_secs(if terminal { 1 } else { 10 }),
            terminal,
        }
    }

    pub(crate) fn tell(&mut self, tally: &Tally) {
        // Reading the clock is cheap beside a run.
        let now = Instant::now();
        if now.duration_since(self.last) < self.every {
            return;
        }
        self.last = now;
        let seconds = now.duration_since(self.start).as_secs().max(1);
        let line = format!(
            "{}: {} of {} seeds, {} a second, {} violations",
            self.name,
            tally.runs,
            self.seeds,
            tally.runs / seconds,
            tally.violations
        );
        if self.terminal {
            eprint!("\r{line}\x1b[K");
        } else {
            eprintln!("{line}");
        }
    }

    pub(crate) fn end(&self) {
        if self.terminal {
            eprint!("\r\x1b[K");
        }
    }
}

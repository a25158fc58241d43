//! Shows the progress, now and then, on standard error.

use std::{
    io::{IsTerminal, stderr},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use queue_core::QueueKind;

pub(crate) struct Progress {
    name: String,
    seeds: u64,
    start: Instant,
    every: Duration,
    /// Whether one line is written over; otherwise lines follow one another.
    terminal: bool,
    totals: Mutex<Totals>,
}

struct Totals {
    runs: u64,
    violations: u64,
    printed: Instant,
}

impl Progress {
    pub(crate) fn of(kind: QueueKind, backend: &str, seeds: u64) -> Self {
        let terminal = stderr().is_terminal();
        let now = Instant::now();
        Self {
            name: format!("{kind} {backend}"),
            seeds,
            start: now,
            every: Duration::from_secs(if terminal { 1 } else { 10 }),
            terminal,
            totals: Mutex::new(Totals {
                runs: 0,
                violations: 0,
                printed: now,
            }),
        }
    }

    /// Counts one more run, with its number of violations.
    pub(crate) fn count(&self, violations: u64) {
        let mut totals = self.totals.lock().unwrap_or_else(PoisonError::into_inner);
        totals.runs += 1;
        totals.violations += violations;
        // Reading the clock is cheap beside a run.
        let now = Instant::now();
        if now.duration_since(totals.printed) < self.every {
            return;
        }
        totals.printed = now;
        let seconds = now.duration_since(self.start).as_secs().max(1);
        let line = format!(
            "{}: {} of {} seeds, {} a second, {} violations",
            self.name,
            totals.runs,
            self.seeds,
            totals.runs / seconds,
            totals.violations
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

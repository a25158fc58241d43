//! Failed attempts in the log: some are logged one by one, others are summed up.

use std::{collections::BTreeMap, mem, sync::Arc, time::Duration};

use tokio::time::Instant;

/// The failures of one kind that are logged one by one within [`INTERVAL`].
const SINGLY: u64 = 10;
/// The failures of one kind beyond [`SINGLY`] are summed up once in this time.
const INTERVAL: Duration = Duration::from_secs(60);
/// A kind of failure is new again after this time without one.
const FORGOTTEN: Duration = Duration::from_secs(60 * 60);
/// The kinds that are distinguished in one queue. All others count as one more.
const KINDS: usize = 32;
/// The characters of a reason by which kinds differ.
const CHARACTERS: usize = 120;

/// The failures of a worker, by queue and kind.
#[derive(Debug, Default)]
pub(crate) struct Failures {
    queues: BTreeMap<Arc<str>, BTreeMap<String, FailureKind>>,
    /// No sum is due before this time.
    due: Option<Instant>,
}

#[derive(Debug)]
struct FailureKind {
    /// The beginning of the kind's present interval.
    begun: Instant,
    last: Instant,
    /// Failures of this interval, including summed up ones.
    failures: u64,
    /// Failures that are not logged yet.
    untold: u64,
    /// The reason of the last failure.
    reason: String,
}

/// How a failure is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FailureLog {
    /// As the first of its kind.
    First,
    Repeat,
    /// Not alone: a sum follows.
    InSum,
}

/// Failures of one kind that were not logged one by one.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FailureSummary {
    pub(crate) queue: Arc<str>,
    pub(crate) failures: u64,
    pub(crate) within: Duration,
    pub(crate) reason: String,
}

impl Failures {
    /// Records a failed attempt. Call [`sums`](Self::sums) first.
    pub(crate) fn note(&mut self, queue: &Arc<str>, reason: &str, now: Instant) -> FailureLog {
        let kinds = self.queues.entry(Arc::clone(queue)).or_default();
        kinds.retain(|_, kind| now < kind.last + FORGOTTEN || kind.untold > 0);
        let mut name = kind_of(reason);
        if !kinds.contains_key(&name) && kinds.len() >= KINDS {
            name.clear();
        }
        let Some(kind) = kinds.get_mut(&name) else {
            let first = FailureKind {
                begun: now,
                last: now,
                failures: 1,
                untold: 0,
                reason: String::new(),
            };
            kinds.insert(name, first);
            return FailureLog::First;
        };
        if now >= kind.begun + INTERVAL {
            (kind.begun, kind.failures) = (now, 0);
        }
        kind.last = now;
        kind.failures += 1;
        if kind.failures <= SINGLY {
            return FailureLog::Repeat;
        }
        kind.untold += 1;
        reason.clone_into(&mut kind.reason);
        let due = kind.begun + INTERVAL;
        self.due = Some(self.due.map_or(due, |earlier| earlier.min(due)));
        FailureLog::InSum
    }

    /// The sums whose time has come, or all of them.
    pub(crate) fn sums(&mut self, now: Instant, all: bool) -> Vec<FailureSummary> {
        let mut sums = Vec::new();
        if !all && self.due.is_none_or(|due| now < due) {
            return sums;
        }
        self.due = None;
        for (queue, kinds) in &mut self.queues {
            for kind in kinds.values_mut().filter(|kind| kind.untold > 0) {
                let due = kind.begun + INTERVAL;
                if !all && now < due {
                    self.due = Some(self.due.map_or(due, |earlier| earlier.min(due)));
                    continue;
                }
                sums.push(FailureSummary {
                    queue: Arc::clone(queue),
                    failures: mem::take(&mut kind.untold),
                    within: now - kind.begun,
                    reason: mem::take(&mut kind.reason),
                });
                // While the failures go on, a sum is enough.
                (kind.begun, kind.failures) = (now, SINGLY);
            }
        }
        sums
    }
}

/// The reason without the parts that differ from message to message: numbers and quoted text.
fn kind_of(reason: &str) -> String {
    let mut kind = String::new();
    let mut quote = None;
    for c in reason.chars().take(CHARACTERS) {
        match quote {
            Some(end) if c == end => quote = None,
            Some(_) => continue,
            None if matches!(c, '"' | '`') => quote = Some(c),
            None if c.is_ascii_digit() && kind.ends_with('#') => continue,
            None => {}
        }
        kind.push(if c.is_ascii_digit() { '#' } else { c });
    }
    kind
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn log_level(failures: &mut Failures, reason: &str, now: Instant) -> FailureLog {
        failures.note(&Arc::from("jobs"), reason, now)
    }

    #[test]
    fn numbers_and_quoted_values_make_no_kind_of_their_own() {
        let kinds = [
            "order 17 not found",
            "order 4711 not found",
            "cannot decode: `abc` is no \"u64\" at line 1",
            "cannot decode: `d` is no \"i8\" at line 23",
            "order 17 not payable",
        ];
        let kinds = kinds.map(kind_of);
        assert_eq!((&kinds[0], &kinds[2]), (&kinds[1], &kinds[3]));
        assert_ne!(kinds[0], kinds[4]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_flood_is_logged_ten_times_and_then_summed_up_each_minute() {
        let (mut failures, start) = (Failures::default(), Instant::now());
        let mut lines = Vec::new();
        // Three minutes with ten failures a second.
        for tenth in 0..1_800_u32 {
            let now = start + SECOND / 10 * tenth;
            lines.extend(
                failures
                    .sums(now, false)
                    .into_iter()
                    .map(|sum| sum.failures),
            );
            if log_level(&mut failures, "no paper", now) != FailureLog::InSum {
                lines.push(1);
            }
        }
        let rest = failures.sums(start + 180 * SECOND, true);
        lines.extend(rest.into_iter().map(|sum| sum.failures));
        assert_eq!(lines, [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 590, 600, 600]);
        assert_eq!(lines.iter().sum::<u64>(), 1_800, "each is told once");
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_of_each_kind_is_logged_separately_and_again_after_an_hour() {
        let (mut failures, start) = (Failures::default(), Instant::now());
        assert_eq!(
            log_level(&mut failures, "no paper", start),
            FailureLog::First
        );
        assert_eq!(log_level(&mut failures, "no ink", start), FailureLog::First);
        assert_eq!(
            log_level(&mut failures, "no paper", start),
            FailureLog::Repeat
        );
        let other = failures.note(&Arc::from("mails"), "no paper", start);
        assert_eq!(other, FailureLog::First, "another queue");
        let later = start + FORGOTTEN;
        assert_eq!(log_level(&mut failures, "no ink", later), FailureLog::First);
    }

    #[tokio::test(start_paused = true)]
    async fn reasons_that_all_differ_do_not_flood() {
        let (mut failures, start) = (Failures::default(), Instant::now());
        let logged = (0..10_000_u32).filter(|n| {
            let word: String = n
                .to_string()
                .chars()
                .map(|c| ((c as u8) + 50) as char)
                .collect();
            log_level(&mut failures, &word, start) != FailureLog::InSum
        });
        let logged = logged.count() as u64;
        assert!(logged <= (KINDS as u64 + 1) * SINGLY, "{logged}");
        let sums = failures.sums(start + INTERVAL, false);
        let summed: u64 = sums.iter().map(|sum| sum.failures).sum();
        assert_eq!(logged + summed, 10_000);
    }
}

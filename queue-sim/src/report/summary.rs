use std::time::Duration;

use queue_core::QueueKind;

use crate::run::Totals;

/// The totals of many runs, in one line of whole numbers.
pub fn summary(kind: QueueKind, backend: &str, totals: &Totals, elapsed: Duration) -> String {
    let micros = elapsed.as_micros().max(1);
    let per_second = u128::from(totals.runs) * 1_000_000 / micros;
    format!(
        "kind={kind} backend={backend} seeds={} violations={} inconclusive={} distinct={} \
         runs_per_s={per_second}",
        totals.runs,
        totals.violations,
        totals.inconclusive,
        totals.distinct(),
    )
}

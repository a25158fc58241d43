//! The time from the push of each message to its start.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use bytes::Bytes;

/// The times at which each message was pushed and started. The body has the time of the push.
#[derive(Debug, Clone)]
pub(super) struct Log {
    zero: Instant,
    /// The times of the push and of the start, since zero.
    times: Arc<Mutex<Vec<(Duration, Duration)>>>,
}

impl Default for Log {
    fn default() -> Self {
        Self {
            zero: Instant::now(),
            times: Arc::default(),
        }
    }
}

impl Log {
    /// A body of 100 bytes.
    pub(super) fn body(&self, pushed: Instant) -> Bytes {
        let nanos = (pushed - self.zero).as_nanos();
        format!("{nanos:0100}").into()
    }

    pub(super) fn note(&self, body: &[u8]) {
        let started = self.zero.elapsed();
        let nanos = str::from_utf8(body)
            .ok()
            .and_then(|nanos| nanos.parse().ok());
        let pushed = Duration::from_nanos(nanos.expect("a body of this load"));
        let mut times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        times.push((pushed, started));
    }

    /// p50 and p99 in µs, and the jobs a second from the first push to the last start.
    pub(super) fn figures(&self) -> Vec<f64> {
        let times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        let waits = times.iter().map(|(pushed, started)| *started - *pushed);
        let mut micros: Vec<f64> = waits.map(|wait| wait.as_secs_f64() * 1e6).collect();
        micros.sort_by(f64::total_cmp);
        let first = times.iter().map(|(pushed, _)| *pushed).min();
        let last = times.iter().map(|(_, started)| *started).max();
        let time = last.unwrap_or_default() - first.unwrap_or_default();
        let percentile = |part: usize| micros[(micros.len() - 1) * part / 100];
        let rate = micros.len() as f64 / time.as_secs_f64();
        vec![percentile(50), percentile(99), rate]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_tells_percentiles_and_the_rate() {
        let log = Log::default();
        let at = |wait: u64| {
            (
                Duration::from_secs(1),
                Duration::from_micros(1_000_000 + wait),
            )
        };
        log.times.lock().unwrap().extend((1..=101).rev().map(at));
        let figures = log.figures();
        for (figure, expected) in figures.iter().zip([51.0, 100.0, 1_000_000.0]) {
            assert!((figure - expected).abs() < expected * 1e-6, "{figures:?}");
        }
    }

    #[test]
    fn a_body_tells_when_it_was_pushed() {
        let log = Log::default();
        let body = log.body(log.zero + Duration::from_micros(7));
        assert_eq!(body.len(), 100);
        log.note(&body);
        let (pushed, started) = log.times.lock().unwrap()[0];
        assert_eq!(pushed, Duration::from_micros(7));
        assert!(started > Duration::ZERO);
    }
}

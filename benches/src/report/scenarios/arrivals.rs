//! A steady load: messages that arrive at random times.

use std::{
    thread,
    time::{Duration, Instant},
};

use tokio::sync::mpsc::{self, UnboundedReceiver};

use crate::report::chance::Chance;

/// A number of messages at a rate.
#[derive(Debug, Clone, Copy)]
pub(super) struct Load {
    rate: f64,
    /// The number of messages.
    pub(super) messages: usize,
}

impl Load {
    /// A rate for a number of seconds.
    pub(super) fn of(rate: f64, seconds: f64) -> Self {
        let messages = ((rate * seconds) as usize).max(20);
        Self { rate, messages }
    }

    /// Sends a signal at the arrival of each message, from a thread of its own. The thread does not wait for the
    /// client's runtime, so a busy client makes messages late and not fewer. It shares the client's core.
    pub(super) fn arrivals(self) -> UnboundedReceiver<Instant> {
        let (arrived, arrivals) = mpsc::unbounded_channel();
        let Self { rate, messages } = self;
        thread::spawn(move || {
            let gaps = Chance::seeded(messages as u64);
            let start = Instant::now();
            let mut at = Duration::ZERO;
            for _ in 0..messages {
                at += Duration::from_secs_f64(gaps.gap() / rate);
                thread::sleep(at.saturating_sub(start.elapsed()));
                // The receiver is gone if the measurement has failed.
                if arrived.send(Instant::now()).is_err() {
                    return;
                }
            }
        });
        arrivals
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_keep_to_their_rate() {
        let load = Load {
            rate: 1_000.0,
            messages: 200,
        };
        let mut arrivals = load.arrivals();
        let mut all = Vec::new();
        while let Some(at) = arrivals.blocking_recv() {
            all.push(at);
        }
        assert_eq!(all.len(), 200);
        assert!(all.is_sorted());
        // Sleeps end late and never early. The gaps of this seed add up to about 200 ms.
        let time = all[199] - all[0];
        assert!(time > Duration::from_millis(150), "{time:?}");
    }
}

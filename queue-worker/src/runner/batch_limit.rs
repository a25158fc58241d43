use std::time::Duration;

use queue_core::limits;

/// The most messages that one lease call asks for, so that its reply comes while the leases live.
///
/// On a slow connection a large reply comes too late, or the backend's client gives it up. Its messages come
/// back with an attempt charged; if the worker asked for as many again, all would die unseen. So after a lost
/// or late reply it asks for fewer, down to one, and for more again while replies come soon.
#[derive(Debug, Clone, Copy)]
pub(super) struct BatchLimit(usize);

impl BatchLimit {
    pub(super) const fn new() -> Self {
        Self(limits::MAX_BATCH)
    }

    pub(super) const fn most(self) -> usize {
        self.0
    }

    /// Records that `count` messages came, `took` after the call.
    pub(super) fn answered(&mut self, count: usize, took: Duration, lease_time: Duration) {
        if count == 0 {
            return;
        }
        if took >= lease_time / 3 * 2 {
            self.shrink(count, took, lease_time);
        } else if took < lease_time / 3 && count >= self.0 {
            self.0 = (2 * self.0).min(limits::MAX_BATCH);
        }
    }

    /// Records a call that failed after `took`, and may have leased the messages that it asked for.
    pub(super) fn lost(&mut self, asked: usize, took: Duration, lease_time: Duration) {
        self.shrink(asked, took, lease_time);
    }

    /// Shrinks to half, or to the number that takes a quarter of a lease at this pace.
    fn shrink(&mut self, count: usize, took: Duration, lease_time: Duration) {
        let fitting = count as u128 * lease_time.as_micros() / (4 * took.as_micros()).max(1);
        let half = count.min(self.0) / 2;
        let fitting = usize::try_from(fitting).unwrap_or(usize::MAX);
        self.0 = half.min(fitting).max(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn it_shrinks_to_what_comes_in_time_and_grows_again() {
        let mut reach = BatchLimit::new();
        // A reply lost at once, as by a cut connection, halves it.
        reach.lost(16, Duration::ZERO, 3 * SECOND);
        assert_eq!(reach.most(), 8);
        // Eight took six seconds: two would take a lease, and a quarter of that is one.
        reach.lost(8, 6 * SECOND, 3 * SECOND);
        assert_eq!(reach.most(), 1);
        reach.lost(1, 60 * SECOND, SECOND);
        assert_eq!(reach.most(), 1, "never none");
        let mut most = Vec::new();
        for _ in 0..8 {
            reach.answered(reach.most(), SECOND / 2, 3 * SECOND);
            most.push(reach.most());
        }
        assert_eq!(most, [2, 4, 8, 16, 32, 64, 128, 128]);
    }

    #[test]
    fn an_answer_makes_it_grow_if_it_was_full_and_soon() {
        let mut reach = BatchLimit(4);
        reach.answered(0, Duration::ZERO, SECOND);
        reach.answered(3, Duration::ZERO, SECOND);
        reach.answered(4, SECOND / 2, SECOND);
        assert_eq!(reach.most(), 4);
        // An empty answer was late, so messages are not the cause.
        reach.answered(0, SECOND, SECOND);
        assert_eq!(reach.most(), 4);
        reach.answered(1, SECOND, SECOND);
        assert_eq!(reach.most(), 1);
    }
}

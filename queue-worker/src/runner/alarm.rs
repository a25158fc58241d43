use tokio::time::Instant;

/// The time at which the loop wakes: the earliest that any part of a pass asked for.
#[derive(Debug)]
pub(super) struct Alarm {
    pub(super) now: Instant,
    earliest: Option<Instant>,
}

impl Alarm {
    pub(super) const fn new(now: Instant) -> Self {
        Self {
            now,
            earliest: None,
        }
    }

    /// Whether `time` has come; if not, the loop wakes then.
    pub(super) fn has_come(&mut self, at: Instant) -> bool {
        let come = at <= self.now;
        if !come {
            self.earliest = Some(self.earliest.map_or(at, |earliest| earliest.min(at)));
        }
        come
    }

    pub(super) const fn earliest(&self) -> Option<Instant> {
        self.earliest
    }
}

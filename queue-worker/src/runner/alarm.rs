use tokio::time::Instant;

/// When the loop has to look again by itself: the earliest time that somebody asked for while it
/// went through everything.
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

    /// Whether this time has come; if not, the loop will be woken when it has.
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

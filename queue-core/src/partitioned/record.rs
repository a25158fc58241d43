//! The record of how many parts a queue has.

use std::time::Duration;

use super::names::MAX_PARTS;
use crate::{QueueConfig, RotatingConfig, millis_ceil};

/// A pace that nobody asks for; so many milliseconds more are so many parts.
const PACE: Duration = Duration::from_secs(250 * 24 * 60 * 60);

/// The record, which is an empty ring under the queue's own name: its pace tells the number of parts.
/// So one step of the backend decides which number is the first, and a program that opens the name
/// without parts is refused.
pub(super) fn of(parts: usize) -> QueueConfig {
    let parts = Duration::from_millis(parts as u64);
    RotatingConfig::default().with_pace(PACE + parts).into()
}

/// The number of parts; `None` if this is a queue and no record.
pub(super) fn parts(config: &QueueConfig) -> Option<usize> {
    let QueueConfig::Rotating(RotatingConfig {
        pace: Some(pace), ..
    }) = config
    else {
        return None;
    };
    let more = millis_ceil(*pace).checked_sub(millis_ceil(PACE))?;
    let parts = usize::try_from(more).ok()?;
    (2..=MAX_PARTS).contains(&parts).then_some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::QueueKind;

    #[test]
    fn a_record_tells_the_number_of_parts_and_no_other_ring_does() {
        for number in 2..=MAX_PARTS {
            assert!(of(number).check().is_ok());
            assert_eq!(parts(&of(number)), Some(number));
        }
        for ring in [
            of(0),
            of(1),
            of(MAX_PARTS + 1),
            QueueConfig::of(QueueKind::Rotating, 0),
        ] {
            assert_eq!(parts(&ring), None, "{ring:?}");
        }
        assert_eq!(parts(&QueueConfig::of(QueueKind::Bounded, 5)), None);
    }
}

//! The record of how many partitions a queue has.

use std::time::Duration;

use super::names::MAX_PARTITIONS;
use crate::{QueueConfig, RotatingConfig, millis_ceil};

/// A pace that nobody asks for; so many milliseconds more are so many partitions.
const PACE: Duration = Duration::from_secs(250 * 24 * 60 * 60);

/// The record, which is an empty ring under the queue's own name: its pace tells the number of partitions.
/// So one step of the backend decides which number is the first, and a program that opens the name
/// without partitions is refused.
pub(super) fn of(partitions: usize) -> QueueConfig {
    let partitions = Duration::from_millis(partitions as u64);
    RotatingConfig::default()
        .with_pace(PACE + partitions)
        .into()
}

/// The number of partitions; `None` if this is a queue and no record.
pub(super) fn partitions(config: &QueueConfig) -> Option<usize> {
    let QueueConfig::Rotating(RotatingConfig {
        pace: Some(pace), ..
    }) = config
    else {
        return None;
    };
    let more = millis_ceil(*pace).checked_sub(millis_ceil(PACE))?;
    let partitions = usize::try_from(more).ok()?;
    (2..=MAX_PARTITIONS)
        .contains(&partitions)
        .then_some(partitions)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::QueueKind;

    #[test]
    fn only_a_record_ring_has_a_number_of_partitions() {
        for number in 2..=MAX_PARTITIONS {
            assert!(of(number).check().is_ok());
            assert_eq!(partitions(&of(number)), Some(number));
        }
        for ring in [
            of(0),
            of(1),
            of(MAX_PARTITIONS + 1),
            QueueConfig::of(QueueKind::Rotating, 0),
        ] {
            assert_eq!(partitions(&ring), None, "{ring:?}");
        }
        assert_eq!(partitions(&QueueConfig::of(QueueKind::Bounded, 5)), None);
    }
}

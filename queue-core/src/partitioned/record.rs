//! The record of a queue's number of partitions.

use std::time::Duration;

use super::names::MAX_PARTITIONS;
use crate::{QueueConfig, RotatingConfig, millis_ceil};

/// A pace that no real ring has. A record's pace is this plus a millisecond for each partition.
const PACE: Duration = Duration::from_secs(250 * 24 * 60 * 60);

/// The record is an empty ring under the queue's own name, whose pace encodes the number of partitions. So
/// one step of the backend decides which number comes first, and an open of the name without partitions is
/// refused.
pub(super) fn of(partitions: usize) -> QueueConfig {
    let partitions = Duration::from_millis(partitions as u64);
    RotatingConfig::default()
        .with_pace(PACE + partitions)
        .into()
}

/// The number of partitions in a record; `None` if `config` is that of a queue.
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

//! Each partition's share of the queue's configuration.

use crate::{BoundedConfig, Error, QueueConfig, QueueName, Result, check_capacity};

/// One partition's share of a capacity: the first partitions have the remainder.
pub(super) const fn of_capacity(capacity: usize, partition: usize, of: usize) -> usize {
    capacity / of + (partition < capacity % of) as usize
}

/// Checks that each partition has room for one message.
///
/// # Errors
///
/// `Invalid`, naming both values.
pub(super) fn check(capacity: usize, of: usize) -> Result<()> {
    check_capacity(capacity)?;
    if capacity < of {
        return Err(Error::invalid(format!(
            "a capacity of {capacity} for {of} partitions: each partition needs room for 1 message; ask for \
             {of} or more, or for fewer partitions"
        )));
    }
    Ok(())
}

/// The configuration of each partition: the queue's, with its share of the capacity.
///
/// # Errors
///
/// `Invalid` for a configuration beyond the limits.
pub(super) fn of_config(
    config: &QueueConfig,
    name: &QueueName,
    of: usize,
) -> Result<Vec<QueueConfig>> {
    config.check()?;
    let QueueConfig::Bounded(whole) = config else {
        return Ok(vec![config.clone(); of]);
    };
    check(whole.capacity, of).map_err(|error| error.with_queue(name))?;
    let share = |partition| {
        let capacity = of_capacity(whole.capacity, partition, of);
        BoundedConfig {
            capacity,
            ..whole.clone()
        }
        .into()
    };
    Ok((0..of).map(share).collect())
}

/// The queue's configuration, from the configurations of its partitions; `None` if there are none.
pub(super) fn whole<'a>(
    mut partitions: impl Iterator<Item = &'a QueueConfig>,
) -> Option<QueueConfig> {
    let mut whole = partitions.next()?.clone();
    for partition in partitions {
        if let (QueueConfig::Bounded(whole), QueueConfig::Bounded(partition)) =
            (&mut whole, partition)
        {
            whole.capacity += partition.capacity;
        }
    }
    Some(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shares_of_a_capacity_add_up_and_differ_by_one_at_most() {
        for of in 1..=64 {
            for capacity in [of, of + 1, 100, 1_000_003]
                .into_iter()
                .filter(|c| *c >= of)
            {
                let shares: Vec<_> = (0..of)
                    .map(|partition| of_capacity(capacity, partition, of))
                    .collect();
                assert_eq!(shares.iter().sum::<usize>(), capacity);
                assert!(shares[0] - shares[of - 1] <= 1, "{shares:?}");
            }
        }
    }

    #[test]
    fn a_capacity_below_the_number_of_partitions_is_refused() {
        let name = QueueName::new("log").unwrap();
        let error = of_config(&QueueConfig::of(crate::QueueKind::Bounded, 2), &name, 3);
        let error = error.unwrap_err().to_string();
        assert!(
            error.contains("a capacity of 2 for 3 partitions"),
            "{error}"
        );
    }
}

//! Each partition's share of the queue's configuration.

use crate::{Error, LeaseRate, QueueConfig, QueueName, Result, check_capacity};

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

/// Checks that each partition's share of a limit is one message at least.
fn check_limit(what: &str, limit: u32, of: usize) -> Result<()> {
    if (limit as usize) < of {
        return Err(Error::invalid(format!(
            "{what} of {limit} for {of} partitions: each partition hands out its share, which is 1 message at least; \
             ask for {of} or more, or for fewer partitions"
        )));
    }
    Ok(())
}

/// The configuration of each partition: the queue's, with its share of the capacity and of the limits.
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
    let mut shares = vec![config.clone(); of];
    if let QueueConfig::Bounded(whole) = config {
        check(whole.capacity, of).map_err(|error| error.with_queue(name))?;
    }
    let leasing = config.leasing();
    let at_once = leasing.and_then(|leasing| leasing.at_once);
    let rate = leasing.and_then(|leasing| leasing.rate);
    let limits = [
        ("an at_once", at_once),
        ("a rate", rate.map(|rate| rate.most)),
    ];
    for (what, limit) in limits {
        let checked = limit.map_or(Ok(()), |limit| check_limit(what, limit, of));
        checked.map_err(|error| error.with_queue(name))?;
    }
    let share = |whole: u32, partition| of_capacity(whole as usize, partition, of) as u32;
    for (partition, config) in shares.iter_mut().enumerate() {
        if let QueueConfig::Bounded(config) = config {
            config.capacity = of_capacity(config.capacity, partition, of);
        }
        if let Some(leasing) = config.leasing_mut() {
            leasing.at_once = at_once.map(|whole| share(whole, partition));
            leasing.rate =
                rate.map(|whole| LeaseRate::new(share(whole.most, partition), whole.per));
        }
    }
    Ok(shares)
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
        let Some((whole, partition)) = whole.leasing_mut().zip(partition.leasing()) else {
            continue;
        };
        whole.at_once = sum(whole.at_once, partition.at_once);
        if let Some((whole, partition)) = whole.rate.as_mut().zip(partition.rate) {
            whole.most += partition.most;
        }
    }
    Some(whole)
}

fn sum(one: Option<u32>, other: Option<u32>) -> Option<u32> {
    one.zip(other).map(|(one, other)| one + other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ReliableConfig;

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
        let limited = ReliableConfig::default().with_at_once(2).into();
        let error = of_config(&limited, &name, 3).unwrap_err().to_string();
        assert!(
            error.contains("an at_once of 2 for 3 partitions"),
            "{error}"
        );
        let second = std::time::Duration::from_secs(1);
        let limited: QueueConfig = ReliableConfig::default()
            .with_at_once(8)
            .with_rate(7, second)
            .into();
        let shares = of_config(&limited, &name, 3).unwrap();
        let of_last = shares[2].leasing().unwrap();
        assert_eq!(
            (of_last.at_once, of_last.rate.map(|rate| rate.most)),
            (Some(2), Some(2))
        );
        assert_eq!(whole(shares.iter()), Some(limited));
        let error = of_config(&QueueConfig::of(crate::QueueKind::Bounded, 2), &name, 3);
        let error = error.unwrap_err().to_string();
        assert!(
            error.contains("a capacity of 2 for 3 partitions"),
            "{error}"
        );
    }
}

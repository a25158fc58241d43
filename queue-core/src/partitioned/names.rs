//! The names of partitions.

use super::slot::{Crc16, SLOTS};
use crate::{Error, QueueName, Result, limits::MAX_NAME};

/// The most partitions that a queue may have.
pub(super) const MAX_PARTITIONS: usize = 64;
/// The longest suffix: `--63of64-9999`.
const LONGEST_SUFFIX: usize = 13;
/// The longest name of a partitioned queue.
const MAX_PARTITIONED_NAME: usize = MAX_NAME - LONGEST_SUFFIX;
/// The mark between a queue's name and its partition's number. It sorts before the characters with which
/// other names usually go on, so a listing shows the partitions right behind their queue.
const MARK: &str = "--";
/// For 64 partitions a salt takes 64 tries on average; it never takes 10,000.
const TRIES: u32 = 10_000;

/// A partition's name, parsed: `orders--3of8-17` is partition 3 of the 8 partitions of `orders`, with the
/// salt 17.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PartitionName {
    /// The queue's name.
    pub(super) queue: QueueName,
    /// The number of partitions.
    pub(super) of: usize,
}

impl PartitionName {
    /// Parses the name; `None` if it is not the name of a partition.
    pub(super) fn parse(name: &QueueName) -> Option<Self> {
        let (queue, suffix) = name.as_str().rsplit_once(MARK)?;
        let (partition, rest) = suffix.split_once("of")?;
        let (of, salt) = rest.split_once('-')?;
        let (partition, of) = (number(partition)?, number(of)?);
        let plausible =
            (2..=MAX_PARTITIONS).contains(&of) && partition < of && number(salt).is_some();
        plausible.then_some(())?;
        let queue = QueueName::new(queue).ok()?;
        Some(Self { queue, of })
    }
}

/// A number as names have it: without a leading zero or sign, so that no two names are one partition.
fn number(text: &str) -> Option<usize> {
    let number: usize = text.parse().ok()?;
    (number.to_string() == text).then_some(number)
}

/// Checks the name of a queue of `partitions` partitions: it leaves room for the suffix.
///
/// # Errors
///
/// `Invalid`, naming the limit.
pub(super) fn check(name: &QueueName, partitions: usize) -> Result<()> {
    if PartitionName::parse(name).is_some() {
        let message = "this is the name of a partition: use the queue's own";
        return Err(Error::invalid(message).with_queue(name));
    }
    let length = name.as_str().len();
    if partitions > 1 && length > MAX_PARTITIONED_NAME {
        return Err(Error::invalid(format!(
            "the name of a queue of {partitions} partitions has {length} bytes: at most \
             {MAX_PARTITIONED_NAME} are allowed, since the partitions' names are longer"
        ))
        .with_queue(name));
    }
    Ok(())
}

/// The name of one partition, salted such that its slot lies in the partition's equal share of all slots.
///
/// # Errors
///
/// `Invalid` if the name is too long.
pub(super) fn of_partition(name: &QueueName, partition: usize, of: usize) -> Result<QueueName> {
    let unsalted = format!("{name}{MARK}{partition}of{of}-");
    let crc = Crc16::default().with(unsalted.as_bytes());
    let fits = |salt: &u32| {
        let slot = crc.with(salt.to_string().as_bytes()).slot();
        slot * of / SLOTS == partition
    };
    let salt = (0..TRIES).find(fits).unwrap_or_default();
    QueueName::new(format!("{unsalted}{salt}"))
}

/// The names of all partitions: none if `of` is 1, or if the name is too long for partitions.
///
/// # Errors
///
/// The errors of [`of_partition`].
pub(super) fn all_partitions(name: &QueueName, of: usize) -> Result<Vec<QueueName>> {
    if of == 1 || name.as_str().len() > MAX_PARTITIONED_NAME {
        return Ok(Vec::new());
    }
    (0..of)
        .map(|partition| of_partition(name, partition, of))
        .collect()
}

/// The bounds of the names of a queue's partitions in a listing: the first is excluded, the second sorts
/// behind all of them. Between them are other queues only if their names look alike.
pub(super) fn range(name: &QueueName) -> Option<(QueueName, String)> {
    let before = QueueName::new(format!("{name}{MARK}")).ok()?;
    Some((before, beyond(name)))
}

/// A text that sorts behind all partitions of the queue: the colon comes after the digits.
pub(super) fn beyond(name: &QueueName) -> String {
    format!("{name}{MARK}:")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(name: &str) -> QueueName {
        QueueName::new(name).unwrap()
    }

    #[test]
    fn each_partition_falls_into_its_own_share_of_the_slots() {
        let long = "x".repeat(MAX_PARTITIONED_NAME);
        let mut names: Vec<String> = (0..25).map(|n| format!("queue-{n}")).collect();
        names.extend(["a", "shop:orders", "A.b_c-d", long.as_str()].map(String::from));
        for (queue, of) in names
            .iter()
            .flat_map(|name| (1..=64).map(move |of| (name, of)))
        {
            for partition in 0..of {
                let partition_name = of_partition(&name(queue), partition, of).unwrap();
                let slot = Crc16::default()
                    .with(partition_name.as_str().as_bytes())
                    .slot();
                let share =
                    (partition * SLOTS).div_ceil(of)..((partition + 1) * SLOTS).div_ceil(of);
                assert!(share.contains(&slot), "{partition_name} is in slot {slot}");
            }
        }
    }

    #[test]
    fn partitions_are_even_over_nodes_of_any_number() {
        // A cluster of k nodes gives each an equal range of slots.
        for (of, nodes) in [(12, 3), (8, 4), (64, 3), (6, 6), (10, 3)] {
            let mut partitions = vec![0_usize; nodes];
            for partition in 0..of {
                let partition_name = of_partition(&name("orders"), partition, of).unwrap();
                let slot = Crc16::default()
                    .with(partition_name.as_str().as_bytes())
                    .slot();
                partitions[slot * nodes / SLOTS] += 1;
            }
            let (least, most) = (
                partitions.iter().min().unwrap(),
                partitions.iter().max().unwrap(),
            );
            // A range that two nodes share may fall to either.
            assert!(
                most - least <= 2,
                "{of} partitions on {nodes} nodes: {partitions:?}"
            );
            if of % nodes == 0 {
                assert_eq!(
                    most, least,
                    "{of} partitions on {nodes} nodes: {partitions:?}"
                );
            }
        }
    }

    #[test]
    fn the_name_of_a_partition_contains_its_queue_and_the_number_of_partitions() {
        for (queue, of) in [("orders", 8), ("a--b", 2), ("a-", 64), ("x--1of2-3x", 3)] {
            for partition in 0..of {
                let parsed =
                    PartitionName::parse(&of_partition(&name(queue), partition, of).unwrap());
                let queue = name(queue);
                assert_eq!(parsed, Some(PartitionName { queue, of }));
            }
        }
        for other in [
            "orders",
            "orders--",
            "orders--3",
            "orders--3of8",
            "orders--3of8-",
            "orders--8of8-1",
            "orders--0of1-1",
            "orders--03of8-1",
            "orders--3of65-1",
            "--0of2-1",
        ] {
            assert_eq!(PartitionName::parse(&name(other)), None, "{other}");
        }
    }

    #[test]
    fn partitions_follow_their_queue_in_a_listing() {
        let queue = name("orders");
        let (before, beyond) = range(&queue).unwrap();
        for partition in 0..64 {
            let partition = of_partition(&queue, partition, 64).unwrap();
            assert!(queue < before && before < partition && *partition.as_str() < *beyond);
        }
        for other in ["orders-1", "orders.1", "orders1", "orders:1", "orders_1"] {
            assert!(*other > *beyond, "{other}");
        }
    }

    #[test]
    fn a_bad_name_is_refused() {
        let partition = of_partition(&name("orders"), 3, 8).unwrap();
        let error = check(&partition, 8).unwrap_err().to_string();
        assert!(error.contains("orders--3of8"), "{error}");
        let long = name(&"x".repeat(MAX_PARTITIONED_NAME + 1));
        let error = check(&long, 8).unwrap_err().to_string();
        assert!(error.contains("116 bytes: at most 115"), "{error}");
        assert!(check(&long, 1).is_ok());
        assert!(of_partition(&name(&"x".repeat(MAX_PARTITIONED_NAME)), 63, 64).is_ok());
    }
}

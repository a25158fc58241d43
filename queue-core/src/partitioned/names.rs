//! The names of parts.

use super::slot::{Crc16, SLOTS};
use crate::{Error, QueueName, Result, limits::MAX_NAME};

/// The most parts that a queue may have.
pub(super) const MAX_PARTS: usize = 64;
/// The longest suffix: `--63of64-9999`.
const LONGEST_SUFFIX: usize = 13;
/// The longest name of a partitioned queue.
const MAX_PARTITIONED_NAME: usize = MAX_NAME - LONGEST_SUFFIX;
/// What stands between a queue's name and its part's number. It sorts before what other names go on
/// with, so a listing shows the parts behind their queue.
const MARK: &str = "--";
/// One of 64 parts takes 64 tries on average; that none of so many fits does not happen.
const TRIES: u32 = 10_000;

/// A part of a queue, as its name tells it: `orders--3of8-17` is part 3 of the 8 of `orders`, by the
/// salt 17.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PartName {
    /// The queue's name.
    pub(super) queue: QueueName,
    /// The number of parts.
    pub(super) of: usize,
}

impl PartName {
    /// Parses the name; `None` if it is no part's.
    pub(super) fn parse(name: &QueueName) -> Option<Self> {
        let (queue, suffix) = name.as_str().rsplit_once(MARK)?;
        let (part, rest) = suffix.split_once("of")?;
        let (of, salt) = rest.split_once('-')?;
        let (part, of) = (number(part)?, number(of)?);
        let plausible = (2..=MAX_PARTS).contains(&of) && part < of && number(salt).is_some();
        plausible.then_some(())?;
        let queue = QueueName::new(queue).ok()?;
        Some(Self { queue, of })
    }
}

/// A number as names have it: without a leading zero or sign, so that no two names are one part.
fn number(text: &str) -> Option<usize> {
    let number: usize = text.parse().ok()?;
    (number.to_string() == text).then_some(number)
}

/// Checks a name that is to have parts, or may have: it leaves room for the suffix.
///
/// # Errors
///
/// `Invalid`, naming the limit.
pub(super) fn check(name: &QueueName, parts: usize) -> Result<()> {
    if PartName::parse(name).is_some() {
        let message = "this is the name of a part: use the queue's own";
        return Err(Error::invalid(message).with_queue(name));
    }
    let length = name.as_str().len();
    if parts > 1 && length > MAX_PARTITIONED_NAME {
        return Err(Error::invalid(format!(
            "the name of a queue of {parts} parts has {length} bytes: at most \
             {MAX_PARTITIONED_NAME} are allowed, since the parts' names are longer"
        ))
        .with_queue(name));
    }
    Ok(())
}

/// The name of one part, salted such that its slot lies in the part's equal share of all slots.
///
/// # Errors
///
/// `Invalid` if the name is too long.
pub(super) fn of_part(name: &QueueName, part: usize, of: usize) -> Result<QueueName> {
    let unsalted = format!("{name}{MARK}{part}of{of}-");
    let crc = Crc16::default().with(unsalted.as_bytes());
    let fits = |salt: &u32| {
        let slot = crc.with(salt.to_string().as_bytes()).slot();
        slot * of / SLOTS == part
    };
    let salt = (0..TRIES).find(fits).unwrap_or_default();
    QueueName::new(format!("{unsalted}{salt}"))
}

/// The names of all parts: none if the queue is not divided, or cannot be, since its name is too long.
///
/// # Errors
///
/// Those of [`of_part`].
pub(super) fn all_parts(name: &QueueName, of: usize) -> Result<Vec<QueueName>> {
    if of == 1 || name.as_str().len() > MAX_PARTITIONED_NAME {
        return Ok(Vec::new());
    }
    (0..of).map(|part| of_part(name, part, of)).collect()
}

/// The names between which a listing shows the parts of a queue, and nothing else unless a name
/// looks like theirs: the first excluded, the second beyond them.
pub(super) fn range(name: &QueueName) -> Option<(QueueName, String)> {
    let before = QueueName::new(format!("{name}{MARK}")).ok()?;
    Some((before, beyond(name)))
}

/// A text that sorts behind all parts of the queue: the colon comes after the digits.
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
    fn each_part_falls_into_its_own_share_of_the_slots() {
        let long = "x".repeat(MAX_PARTITIONED_NAME);
        let mut names: Vec<String> = (0..25).map(|n| format!("queue-{n}")).collect();
        names.extend(["a", "shop:orders", "A.b_c-d", long.as_str()].map(String::from));
        for (queue, of) in names
            .iter()
            .flat_map(|name| (1..=64).map(move |of| (name, of)))
        {
            for part in 0..of {
                let part_name = of_part(&name(queue), part, of).unwrap();
                let slot = Crc16::default().with(part_name.as_str().as_bytes()).slot();
                let share = (part * SLOTS).div_ceil(of)..((part + 1) * SLOTS).div_ceil(of);
                assert!(share.contains(&slot), "{part_name} is in slot {slot}");
            }
        }
    }

    #[test]
    fn parts_are_even_over_nodes_of_any_number() {
        // A cluster of k nodes gives each an equal range of slots.
        for (of, nodes) in [(12, 3), (8, 4), (64, 3), (6, 6), (10, 3)] {
            let mut parts = vec![0_usize; nodes];
            for part in 0..of {
                let part_name = of_part(&name("orders"), part, of).unwrap();
                let slot = Crc16::default().with(part_name.as_str().as_bytes()).slot();
                parts[slot * nodes / SLOTS] += 1;
            }
            let (least, most) = (parts.iter().min().unwrap(), parts.iter().max().unwrap());
            // A range that two nodes share may fall to either.
            assert!(most - least <= 2, "{of} parts on {nodes} nodes: {parts:?}");
            if of % nodes == 0 {
                assert_eq!(most, least, "{of} parts on {nodes} nodes: {parts:?}");
            }
        }
    }

    #[test]
    fn a_parts_name_tells_its_queue_and_the_number_of_parts() {
        for (queue, of) in [("orders", 8), ("a--b", 2), ("a-", 64), ("x--1of2-3x", 3)] {
            for part in 0..of {
                let parsed = PartName::parse(&of_part(&name(queue), part, of).unwrap());
                let queue = name(queue);
                assert_eq!(parsed, Some(PartName { queue, of }));
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
            assert_eq!(PartName::parse(&name(other)), None, "{other}");
        }
    }

    #[test]
    fn parts_follow_their_queue_in_a_listing() {
        let queue = name("orders");
        let (before, beyond) = range(&queue).unwrap();
        for part in 0..64 {
            let part = of_part(&queue, part, 64).unwrap();
            assert!(queue < before && before < part && *part.as_str() < *beyond);
        }
        for other in ["orders-1", "orders.1", "orders1", "orders:1", "orders_1"] {
            assert!(*other > *beyond, "{other}");
        }
    }

    #[test]
    fn a_bad_name_is_refused() {
        let part = of_part(&name("orders"), 3, 8).unwrap();
        let error = check(&part, 8).unwrap_err().to_string();
        assert!(error.contains("orders--3of8"), "{error}");
        let long = name(&"x".repeat(MAX_PARTITIONED_NAME + 1));
        let error = check(&long, 8).unwrap_err().to_string();
        assert!(error.contains("116 bytes: at most 115"), "{error}");
        assert!(check(&long, 1).is_ok());
        assert!(of_part(&name(&"x".repeat(MAX_PARTITIONED_NAME)), 63, 64).is_ok());
    }
}

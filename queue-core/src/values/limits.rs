//! The limits of CONTRACT.md, and the checks that every backend makes before it does anything.
//!
//! A backend calls a verb's check first, so that a bad call fails with the same clear
//! [`Invalid`](crate::ErrorKind::Invalid) everywhere and changes nothing.

use std::{num::NonZeroU32, time::Duration};

use super::{Error, Result, in_millis, millis_ceil};

/// Bytes in a queue's name, at most.
pub const MAX_NAME: usize = 128;
/// Bytes in a holder's name, at most.
pub const MAX_HOLDER: usize = 128;
/// Entries in one batch, at most; also the most messages that one call reclaims or promotes (L7).
pub const MAX_BATCH: usize = 128;
/// Bytes of bodies and headers in one batch, pushed or delivered, at most: 8 MiB.
pub const MAX_BATCH_BYTES: usize = 8 * 1024 * 1024;
/// Bytes of body and headers in one message, unless the queue's configuration says otherwise: 1 MiB.
pub const DEFAULT_MAX_BODY: usize = 1024 * 1024;
/// Entries in one page of a listing, and messages that one purge removes, at most.
pub const MAX_PAGE: usize = 1_000;
/// Bytes in a dedup key, a distinct key, a group's key, a ring item's key or a once key, at most.
pub const MAX_KEY: usize = 256;
/// Bytes of a dead letter's reason that a backend keeps; it cuts off the rest.
pub const MAX_REASON: usize = 1024;
/// Bytes of a holder's progress, at most (L19).
pub const MAX_PROGRESS: usize = 1024;
/// Bytes of a message's state, at most (L21): 64 KiB.
pub const MAX_STATE: usize = 64 * 1024;
/// Bytes of a result, at most (S1): 64 KiB.
pub const MAX_RESULT: usize = 64 * 1024;
/// How many results a queue may hold, unless an ack says otherwise (S2).
pub const DEFAULT_RESULTS: NonZeroU32 = NonZeroU32::new(100_000).unwrap();

/// The most items of a ring whose pace can change.
pub const MAX_REPACED: u64 = 10_000;
/// The longest lease, and the longest claim of a once key: 24 hours. The shortest is 1 ms.
pub const MAX_LEASE: Duration = Duration::from_secs(24 * 60 * 60);
/// The longest dedup window: 7 days. The shortest is 1 ms.
pub const MAX_DEDUP_WINDOW: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// The longest window of a unique key: that of a delay, so that the key lasts as long as its message. The shortest is
/// 1 ms.
pub const MAX_UNIQUE: Duration = MAX_DELAY;
/// The longest time that a store knows a once key to be done: 7 days. The shortest is 1 ms.
pub const MAX_KEEP: Duration = MAX_DEDUP_WINDOW;
/// The longest time that a result is kept. The shortest is 1 ms.
pub const MAX_KEEP_RESULT: Duration = MAX_DELAY;
/// The longest wait for a confirmation: a minute. The shortest is 1 ms.
pub const MAX_WITHIN: Duration = Duration::from_secs(60);
/// The longest delay, and the longest time to live: 2^47 ms, some 4,459 years, so that every due time is
/// below [`MAX_TIME`].
pub const MAX_DELAY: Duration = Duration::from_millis(1 << 47);
/// The longest time of a group's rule or pause. The shortest is 1 ms.
pub const MAX_RULE: Duration = MAX_DELAY;
/// The largest weight of a group. The smallest is 1.
pub const MAX_WEIGHT: u32 = 1_000;
/// Due times are below this many milliseconds since 1970: the beginning of the year 10000.
pub const MAX_TIME: u64 = 253_402_300_800_000;

/// Whole milliseconds of a lease, rounded up.
///
/// # Errors
///
/// `Invalid` if it is zero or longer than [`MAX_LEASE`].
#[inline]
pub fn lease_millis(lease_time: Duration) -> Result<u64> {
    in_range("a lease", lease_time, MAX_LEASE)
}

/// Whole milliseconds of a dedup window, rounded up.
///
/// # Errors
///
/// `Invalid` if it is zero or longer than [`MAX_DEDUP_WINDOW`].
pub fn window_millis(window: Duration) -> Result<u64> {
    in_range("a dedup window", window, MAX_DEDUP_WINDOW)
}

/// Whole milliseconds of a unique key's window, rounded up.
///
/// # Errors
///
/// `Invalid` if it is zero or longer than [`MAX_UNIQUE`].
pub fn unique_millis(longest: Duration) -> Result<u64> {
    in_range("a unique key's window", longest, MAX_UNIQUE)
}

/// Whole milliseconds of the longest wait of a distinct key, rounded up.
///
/// # Errors
///
/// `Invalid` if it is zero or longer than [`MAX_DELAY`].
pub fn longest_wait_millis(longest: Duration) -> Result<u64> {
    in_range("the longest wait of a distinct key", longest, MAX_DELAY)
}

/// Whole milliseconds for which a result is kept, rounded up.
///
/// # Errors
///
/// `Invalid` if it is zero or longer than [`MAX_KEEP_RESULT`].
pub fn result_millis(time: Duration) -> Result<u64> {
    in_range("the time of a result", time, MAX_KEEP_RESULT)
}

/// Whole milliseconds of the time of a group's rule or pause, rounded up.
///
/// # Errors
///
/// `Invalid` if it is zero or longer than [`MAX_RULE`].
pub fn rule_millis(time: Duration) -> Result<u64> {
    in_range("the time of a group's rule or pause", time, MAX_RULE)
}

/// Checks a group's weight.
///
/// # Errors
///
/// `Invalid` if it is zero or larger than [`MAX_WEIGHT`].
pub fn check_weight(weight: u32) -> Result<()> {
    match weight {
        1..=MAX_WEIGHT => Ok(()),
        _ => Err(Error::invalid(format!(
            "a group's weight of {weight}: 1 to {MAX_WEIGHT} are allowed"
        ))),
    }
}

/// Checks the size of a progress (L19).
///
/// # Errors
///
/// `Invalid` if it is empty or longer than [`MAX_PROGRESS`].
pub fn check_progress(bytes: usize) -> Result<()> {
    match bytes {
        1..=MAX_PROGRESS => Ok(()),
        _ => Err(Error::invalid(format!(
            "a progress of {bytes} bytes: 1 to {MAX_PROGRESS} are allowed"
        ))),
    }
}

/// Checks the size of a message's state (L21).
///
/// # Errors
///
/// `Invalid` if it is longer than [`MAX_STATE`].
pub fn check_state(bytes: usize) -> Result<()> {
    match bytes {
        0..=MAX_STATE => Ok(()),
        _ => Err(Error::invalid(format!(
            "a state of {bytes} bytes: at most {MAX_STATE} are allowed. Store what is larger elsewhere, and its place \
             here"
        ))),
    }
}

/// Checks the size of a result (S1).
///
/// # Errors
///
/// `Invalid` if it is longer than [`MAX_RESULT`].
pub fn check_result(bytes: usize) -> Result<()> {
    if bytes > MAX_RESULT {
        return Err(Error::invalid(format!(
            "a result of {bytes} bytes: at most {MAX_RESULT} are kept; store it elsewhere, and keep where it is"
        )));
    }
    Ok(())
}

/// Whole milliseconds of a wait for a confirmation, rounded up.
///
/// # Errors
///
/// `Invalid` if it is zero or longer than [`MAX_WITHIN`].
pub fn within_millis(within: Duration) -> Result<u64> {
    in_range("a wait for a confirmation", within, MAX_WITHIN)
}

/// Whole milliseconds of a claim of a once key, rounded up.
///
/// # Errors
///
/// `Invalid` if it is zero or longer than [`MAX_LEASE`].
pub fn claim_millis(lease_time: Duration) -> Result<u64> {
    in_range("a claim", lease_time, MAX_LEASE)
}

/// Whole milliseconds that a store knows a once key to be done, rounded up.
///
/// # Errors
///
/// `Invalid` if they are zero or more than [`MAX_KEEP`].
pub fn keep_millis(keep: Duration) -> Result<u64> {
    in_range("a time to keep", keep, MAX_KEEP)
}

/// Whole milliseconds of a delay, rounded up. Zero is allowed, and means now.
///
/// # Errors
///
/// `Invalid` if it is longer than [`MAX_DELAY`].
#[inline]
pub fn delay_millis(delay: Duration) -> Result<u64> {
    if delay > MAX_DELAY {
        return Err(Error::invalid(format!(
            "a delay of {} is too long: at most 2^47 ms",
            in_millis(delay)
        )));
    }
    Ok(millis_ceil(delay))
}

/// Whole milliseconds of a time to live, rounded up.
///
/// # Errors
///
/// `Invalid` if it is zero or longer than [`MAX_DELAY`].
pub fn time_to_live_millis(limit: Duration) -> Result<u64> {
    in_range("a time to live", limit, MAX_DELAY)
}

/// A priority from a wider number, such as one that comes from outside.
///
/// ```
/// use queue_core::limits;
///
/// assert_eq!(limits::priority(-5)?, -5);
/// assert!(limits::priority(40_000).is_err());
/// # Ok::<(), queue_core::Error>(())
/// ```
///
/// # Errors
///
/// `Invalid` if it is out of an `i16`'s range.
pub fn priority(number: i64) -> Result<i16> {
    i16::try_from(number).map_err(|_| {
        Error::invalid(format!(
            "a priority of {number}: {} to {} is allowed",
            i16::MIN,
            i16::MAX
        ))
    })
}

/// Checks how many entries a batch has: 1 to [`MAX_BATCH`].
///
/// # Errors
///
/// `Invalid` for none, or for too many.
#[inline]
pub fn check_batch(entries: usize) -> Result<()> {
    if entries == 0 {
        return Err(Error::invalid(
            "an empty batch: leave the call out when there is nothing to do",
        ));
    }
    if entries > MAX_BATCH {
        return Err(Error::invalid(format!(
            "a batch of {entries} entries: at most {MAX_BATCH}; split it"
        )));
    }
    Ok(())
}

/// Checks how many messages a call asks for: at most [`MAX_BATCH`].
///
/// # Errors
///
/// `Invalid` for too many.
#[inline]
pub fn check_max(max: usize) -> Result<()> {
    if max > MAX_BATCH {
        return Err(Error::invalid(format!(
            "{max} messages in one call: at most {MAX_BATCH}"
        )));
    }
    Ok(())
}

/// Checks the length of a page, of `recent` or of a purge: 1 to [`MAX_PAGE`].
///
/// # Errors
///
/// `Invalid` for zero, or for too many.
pub fn check_page(limit: usize) -> Result<()> {
    if limit == 0 || limit > MAX_PAGE {
        return Err(Error::invalid(format!(
            "{limit} entries asked for: ask for 1 to {MAX_PAGE} at a time"
        )));
    }
    Ok(())
}

/// Checks the sizes of a batch's messages, each against `max_body` and all against
/// [`MAX_BATCH_BYTES`].
///
/// # Errors
///
/// `Invalid`, naming the size, and the entry unless it is the only one.
#[inline]
pub fn check_sizes(sizes: impl IntoIterator<Item = usize>, max_body: usize) -> Result<()> {
    let mut total = 0_usize;
    let mut sizes = sizes.into_iter().enumerate();
    while let Some((entry, size)) = sizes.next() {
        if size > max_body {
            let is_alone = entry == 0 && sizes.next().is_none();
            return Err(too_large((!is_alone).then_some(entry), size, max_body));
        }
        total = total.saturating_add(size);
    }
    if total > MAX_BATCH_BYTES {
        return Err(Error::invalid(format!(
            "a batch of {total} bytes: at most {MAX_BATCH_BYTES}; split it"
        )));
    }
    Ok(())
}

/// Checks a dedup key, a distinct key, a group's key, a ring item's key or a once key: 1 to [`MAX_KEY`] bytes.
///
/// # Errors
///
/// `Invalid` if it is empty or too long.
pub fn check_key(key: &[u8]) -> Result<()> {
    if key.is_empty() || key.len() > MAX_KEY {
        return Err(Error::invalid(format!(
            "a key of {} bytes: 1 to {MAX_KEY} are allowed; hash longer ones",
            key.len()
        )));
    }
    Ok(())
}

/// The part of a reason that a backend keeps: its first [`MAX_REASON`] bytes, cut between
/// characters.
pub fn cut_reason(reason: &str) -> &str {
    let mut end = reason.len().min(MAX_REASON);
    while !reason.is_char_boundary(end) {
        end -= 1;
    }
    &reason[..end]
}

/// The number of messages that one call hands out, given the sizes of the next ones: `max`, or
/// fewer where their bytes would pass [`MAX_BATCH_BYTES`], but always one.
///
/// ```
/// use queue_core::limits::{MAX_BATCH_BYTES, fitting};
///
/// assert_eq!(fitting([10, 10, 10], 2), 2);
/// assert_eq!(fitting([MAX_BATCH_BYTES, 1], 2), 1);
/// ```
pub fn fitting(sizes: impl IntoIterator<Item = usize>, max: usize) -> usize {
    let mut bytes = 0_usize;
    let mut count = 0;
    for size in sizes.into_iter().take(max) {
        bytes = bytes.saturating_add(size);
        if count > 0 && bytes > MAX_BATCH_BYTES {
            break;
        }
        count += 1;
    }
    count
}

/// The error for a message over the limit; it names the entry of a batch that has others.
fn too_large(entry: Option<usize>, size: usize, max_body: usize) -> Error {
    let what = match entry {
        Some(entry) => format!("entry {entry} has {size} bytes"),
        None => format!("a message of {size} bytes"),
    };
    Error::invalid(format!(
        "{what} of body and headers: at most {max_body}, as max_body says where this program opens the queue; \
         raise it there by with_max_body, or store large bodies elsewhere and push a reference"
    ))
}

#[inline]
fn in_range(what: &str, duration: Duration, longest: Duration) -> Result<u64> {
    if duration.is_zero() || duration > longest {
        return Err(Error::invalid(format!(
            "{what} of {}: between 1 ms and {} is allowed",
            in_millis(duration),
            in_millis(longest)
        )));
    }
    Ok(millis_ceil(duration))
}

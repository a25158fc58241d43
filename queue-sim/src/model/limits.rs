//! The limits of the contract. A model checks them first, and returns `Invalid`.

use std::time::Duration;

use queue_core::{
    Disposition, Due, ErrorKind, Extension, GroupChange, Headers, LeaseRate, Push, Settlement,
    TimeToLive,
    limits::{
        MAX_BATCH, MAX_BATCH_BYTES, MAX_DEDUP_WINDOW, MAX_DELAY, MAX_KEEP_RESULT, MAX_KEY,
        MAX_LEASE, MAX_PAGE, MAX_PROGRESS, MAX_RESULT, MAX_STATE, MAX_TIME, MAX_WEIGHT,
    },
};

use super::ModelResult;

pub(super) fn require(valid: bool) -> ModelResult<()> {
    if valid {
        Ok(())
    } else {
        Err(ErrorKind::Invalid)
    }
}

/// Whole milliseconds, rounded up.
pub(super) fn millis(duration: Duration) -> u64 {
    duration.as_nanos().div_ceil(1_000_000) as u64
}

pub(super) fn batch(entries: usize) -> ModelResult<()> {
    require((1..=MAX_BATCH).contains(&entries))
}

pub(super) fn max(count: usize) -> ModelResult<()> {
    require(count <= MAX_BATCH)
}

pub(super) fn page(count: usize) -> ModelResult<()> {
    require((1..=MAX_PAGE).contains(&count))
}

pub(super) fn lease(lease_time: Duration) -> ModelResult<u64> {
    require(lease_time > Duration::ZERO && lease_time <= MAX_LEASE)?;
    Ok(millis(lease_time))
}

pub(super) fn key(key: &[u8]) -> ModelResult<()> {
    require((1..=MAX_KEY).contains(&key.len()))
}

pub(super) fn sizes(sizes: &[usize], max_body: usize) -> ModelResult<()> {
    require(sizes.iter().all(|size| *size <= max_body))?;
    require(sizes.iter().sum::<usize>() <= MAX_BATCH_BYTES)
}

pub(super) fn pushes(messages: &[Push], max_body: usize) -> ModelResult<()> {
    let size = |push: &Push| size(&push.body, &push.headers);
    let all: Vec<usize> = messages.iter().map(size).collect();
    batch(all.len())?;
    sizes(&all, max_body)?;
    for push in messages {
        if let Some(dedup) = &push.dedup {
            key(&dedup.key)?;
            let longest = match dedup.until_done {
                true => MAX_DELAY,
                false => MAX_DEDUP_WINDOW,
            };
            require(dedup.window > Duration::ZERO && dedup.window <= longest)?;
        }
        if let Some(distinct) = &push.distinct {
            key(&distinct.key)?;
            let longest = distinct.longest.unwrap_or(MAX_DELAY);
            require(longest > Duration::ZERO && longest <= MAX_DELAY)?;
        }
        push.due.map_or(Ok(()), due)?;
        time_to_live(push.time_to_live, push.due)?;
    }
    Ok(())
}

/// The size of a message.
pub(super) fn size(body: &[u8], headers: &Headers) -> usize {
    let headers = headers.iter();
    let headers: usize = headers.map(|(name, value)| name.len() + value.len()).sum();
    body.len() + headers
}

/// Checks the progress and the states in a batch of extensions.
pub(super) fn reports(batch: &[Extension]) -> ModelResult<()> {
    let reported = batch.iter().filter_map(|each| each.progress.as_ref());
    let mut sizes = reported.map(|progress| progress.len());
    require(sizes.all(|size| (1..=MAX_PROGRESS).contains(&size)))?;
    let mut states = batch.iter().filter_map(|each| each.state.as_ref());
    require(states.all(|state| state.len() <= MAX_STATE))
}

/// Checks a batch's delays, results and states. The batch may be empty.
pub(super) fn settlements(batch: &[Settlement]) -> ModelResult<()> {
    max(batch.len())?;
    for settlement in batch {
        match &settlement.disposition {
            Disposition::Retry { delay, .. } | Disposition::Defer { delay } => {
                require(*delay <= MAX_DELAY)?;
            }
            Disposition::AckWith(kept) => {
                require(kept.result.len() <= MAX_RESULT)?;
                require(kept.time > Duration::ZERO && kept.time <= MAX_KEEP_RESULT)?;
            }
            _ => {}
        }
        if let Some(state) = &settlement.state {
            require(!settlement.disposition.is_ack() && state.len() <= MAX_STATE)?;
        }
    }
    Ok(())
}

/// Checks a change of a group, and its key.
pub(super) fn group_change(group: &[u8], change: &GroupChange) -> ModelResult<()> {
    key(group)?;
    let lasts = match change {
        GroupChange::Rule(rule) => {
            require((1..=MAX_WEIGHT).contains(&rule.weight) && rule.at_once != Some(0))?;
            rule.rate.map_or(Ok(()), rate)?;
            rule.lasts
        }
        GroupChange::Pause(lasts) => *lasts,
        GroupChange::NoRule | GroupChange::Resume => return Ok(()),
        other => panic!("the model has no change {other:?}"),
    };
    require(lasts > Duration::ZERO && lasts <= MAX_DELAY)
}

fn rate(rate: LeaseRate) -> ModelResult<()> {
    let longest = Duration::from_secs(24 * 60 * 60);
    require((1..=1_000_000).contains(&rate.most))?;
    require(rate.per > Duration::ZERO && rate.per <= longest)
}

pub(super) fn due(due: Due) -> ModelResult<()> {
    match due {
        Due::After(delay) => require(delay <= MAX_DELAY),
        Due::At(time) => require(time.as_millis() < MAX_TIME),
    }
}

/// A time to live is longer than the delay of its message.
pub(super) fn time_to_live(time_to_live: Option<TimeToLive>, due: Option<Due>) -> ModelResult<()> {
    let Some(TimeToLive { limit, .. }) = time_to_live else {
        return Ok(());
    };
    require(limit > Duration::ZERO && limit <= MAX_DELAY)?;
    match due {
        Some(Due::After(delay)) => require(millis(delay) < millis(limit)),
        _ => Ok(()),
    }
}

/// The number of leading sizes that one answer may carry: 8 MiB, but always one message.
pub(super) fn carried(sizes: &[usize], max: usize) -> usize {
    let longest = sizes.len().min(max);
    let fits =
        |count: &usize| *count <= 1 || sizes[..*count].iter().sum::<usize>() <= MAX_BATCH_BYTES;
    (0..=longest).rev().find(fits).unwrap_or(0)
}

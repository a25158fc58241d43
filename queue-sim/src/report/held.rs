//! Joins repeated extensions of a lease into one row, with their number and their time.

use std::collections::BTreeMap;

use queue_core::{
    Extended, QueueName, Receipt, Timestamp,
    call::{Answer, Call},
};

use super::{
    leases::effect,
    rows::TimelineRow,
    wording::{Words, deliveries},
};
use crate::{
    history::{CallId, History, Record},
    plan::Process,
};

/// The owner of the leases, and the leases.
type HeldReceipts = (Process, QueueName, Vec<Receipt>);

/// Extensions of the same leases, with only extensions between them.
struct Again {
    place: usize,
    times: u32,
    last: Timestamp,
    since: Timestamp,
}

/// Joins consecutive extensions of the same leases into one row. Calls in `kept` keep their rows.
pub(super) fn extended_once(
    history: &History,
    words: &Words,
    rows: Vec<TimelineRow>,
    kept: impl Fn(CallId) -> bool,
) -> Vec<TimelineRow> {
    let mut leased: BTreeMap<(&QueueName, Receipt), Timestamp> = BTreeMap::new();
    for record in &history.records {
        for delivery in deliveries(record) {
            leased.insert((&record.queue, delivery.receipt), effect(record).at);
        }
    }
    let mut joined: Vec<TimelineRow> = Vec::with_capacity(rows.len());
    let mut again: BTreeMap<HeldReceipts, Again> = BTreeMap::new();
    for row in rows {
        let call = row.call.filter(|call| row.ends.is_some() && !kept(*call));
        let record = call.and_then(|CallId(id)| history.records.get(id as usize - 1));
        let Some((record, receipts)) = record.and_then(extension) else {
            add_counts(&mut joined, std::mem::take(&mut again), words);
            joined.push(row);
            continue;
        };
        let held = (record.process, record.queue.clone(), receipts.clone());
        if let Some(again) = again.get_mut(&held) {
            again.times += 1;
            again.last = row.at;
            continue;
        }
        let since = receipts
            .iter()
            .filter_map(|receipt| leased.get(&(&record.queue, *receipt)));
        let first = Again {
            place: joined.len(),
            times: 1,
            last: row.at,
            since: since.min().copied().unwrap_or(row.at),
        };
        again.insert(held, first);
        joined.push(row);
    }
    add_counts(&mut joined, again, words);
    joined
}

/// The receipts that a call extends, if it extended them all at once.
fn extension(record: &Record) -> Option<(&Record, Vec<Receipt>)> {
    let Call::Extend(extensions, _) = &record.call else {
        return None;
    };
    let Some(Answer::Extended(each)) = record.answer() else {
        return None;
    };
    let ended = record.ended.as_ref()?;
    let whole = each.iter().all(|one| *one == Extended::Extended);
    (whole && ended.at.at == record.began.at).then(|| {
        let receipts = extensions.iter().map(|each| each.receipt);
        (record, receipts.collect())
    })
}

fn add_counts(joined: &mut [TimelineRow], again: BTreeMap<HeldReceipts, Again>, words: &Words) {
    for again in again.into_values().filter(|again| again.times > 1) {
        let Again {
            place,
            times,
            last,
            since,
        } = again;
        let until = words.time(last);
        let time = last.since(since);
        let text = format!(", {times} times until {until}: held for {time:?} by then");
        joined[place].text.push_str(&text);
    }
}

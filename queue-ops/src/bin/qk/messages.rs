//! Commands about single messages.

use std::{sync::Arc, time::Duration};

use queue_core::{
    Backend, Cancelled, Distinct, Due, Error, Found, Headers, Leasing, LeasingExt, MessageId,
    Peeked, Place, Receipt, Rescheduled, Settled, Settlement, Standing, limits, millis_ceil,
    sanitized,
};
use queue_ops::{
    Family, ShellCommand, counted, duration_in_words as words, standing_in_words, state_in_words,
};
use serde_json::{Value, json};

use crate::{
    End, Outcome,
    arguments::{Chosen, Push, Run},
    lines, open, open_leasing,
    output::{MORE, Output, add_bytes, body, one_line, table, write_line},
    paging::first,
};

pub(crate) async fn peek(
    backend: Arc<dyn Backend>,
    queue: &str,
    place: Place,
    limit: usize,
    no_bodies: bool,
    output: &Output,
) -> Outcome {
    let backend = match no_bodies {
        true => queue_ops::redacted(backend, |_, _| None),
        false => backend,
    };
    let leasing = open_leasing(&*backend, queue).await?;
    let (messages, is_whole) = first(limit, async |page| leasing.peek(place, page).await).await?;
    let values = messages.iter().map(|message| as_json(message, no_bodies));
    output.show(&values.collect::<Vec<Value>>(), || {
        let rows = messages.iter().map(|message| row(message, no_bodies));
        let text = table(
            &["ID", "AGE", "ATTEMPTS", "STATE", "JOB", "FAILURE", "BODY"],
            &rows.collect::<Vec<_>>(),
        );
        text + if is_whole { "" } else { MORE }
    })?;
    Ok(End::Well)
}

fn as_json(message: &Peeked, no_bodies: bool) -> Value {
    let mut value = json!({
        "id": message.message.id,
        "attempts": message.attempts,
        "age_ms": millis_ceil(message.age),
        "failure": message.failure,
        "priority": message.priority,
        "group": null,
        "job": message.message.headers.job(),
        "standing": message.standing,
        "body": "",
    });
    if let Some(group) = &message.group {
        add_bytes(&mut value, "group", group);
    }
    if !no_bodies {
        add_bytes(&mut value, "body", &message.message.body);
    }
    if let Some(state) = message.state.as_ref().filter(|_| !no_bodies) {
        add_bytes(&mut value, "state", state);
    }
    value
}

fn row(message: &Peeked, no_bodies: bool) -> Vec<String> {
    let mut state = standing(&message.standing);
    match (message.priority, &message.group) {
        (_, Some(group)) => state.push_str(&format!(", group {}", body(group))),
        (0, None) => {}
        (priority, None) => state.push_str(&format!(", priority {priority}")),
    }
    let job = message.message.headers.job();
    vec![
        message.message.id.to_string(),
        words(message.age),
        message.attempts.to_string(),
        state,
        job.map(one_line).unwrap_or_default(),
        message.failure.as_deref().map(one_line).unwrap_or_default(),
        match no_bodies {
            true => String::new(),
            false => body(&message.message.body),
        },
    ]
}

fn standing(standing: &Standing) -> String {
    standing_in_words(standing, body)
}

pub(crate) async fn show(
    backend: &dyn Backend,
    queue: &str,
    id: MessageId,
    output: &Output,
) -> Outcome {
    let leasing = open_leasing(backend, queue).await?;
    let found = leasing.find_one(id).await?;
    let family = queue_ops::family(backend, &*leasing, id, &found).await;
    let value = queue_ops::found_as_json(&found, &family);
    output.show(&value, || {
        format!("{}{}", in_words(&found), family_in_words(&family))
    })?;
    Ok(End::Well)
}

fn in_words(found: &Found) -> String {
    match found {
        Found::Present {
            attempts,
            age,
            failure,
            standing: place,
            state_size,
            ..
        } => {
            let failure = failure
                .as_deref()
                .map(|failure| format!("; last failure: {}", sanitized(failure)));
            let failure = failure.unwrap_or_default();
            format!(
                "{}; pushed {} ago, {}{failure}{}",
                standing(place),
                words(*age),
                counted((*attempts).into(), "attempt"),
                state_in_words(*state_size)
            )
        }
        Found::Dead {
            attempts,
            reason,
            failure,
            state_size,
            ..
        } => {
            let failure = failure
                .as_deref()
                .map(|failure| format!(": {}", sanitized(failure)));
            format!(
                "dead after {}: {reason}{}{}",
                counted((*attempts).into(), "attempt"),
                failure.unwrap_or_default(),
                state_in_words(*state_size)
            )
        }
        Found::Done(result) => format!("done: {}", body(result)),
        Found::Gone => "gone: acked, cancelled or dropped, and no result is kept".to_owned(),
        Found::NeverWas => "never was: no message of this queue had this id".to_owned(),
    }
}

/// The parent, and the steps, on lines of their own.
fn family_in_words(family: &Family) -> String {
    let mut text = String::new();
    if let Some(parent) = &family.parent {
        text.push_str(&format!("\n{parent}"));
    }
    if !family.steps.is_empty() {
        let rows = family.steps.iter().map(|step| {
            vec![
                one_line(&step.name),
                words(Duration::from_millis(step.after_ms)),
                step.state.to_string(),
            ]
        });
        let rows: Vec<Vec<String>> = rows.collect();
        text.push_str(&format!("\n{}", table(&["STEP", "AFTER", "WHAT"], &rows)));
    }
    if let Some(why) = &family.unread {
        text.push_str(&format!("\nits steps cannot be read: {}", sanitized(why)));
    }
    text
}

pub(crate) async fn push(backend: &dyn Backend, push: &Push, output: &Output) -> Outcome {
    let mut headers = Headers::new();
    for (name, value) in &push.header {
        headers = headers.with(name, value);
    }
    if let Some(job) = &push.job {
        headers = headers.with_job(job);
    }
    let reads = push.body == "-";
    let body = match reads && push.whole {
        true => lines::whole()?,
        false => push.body.clone().into(),
    };
    let mut message = queue_core::Push::new(body).with_headers(headers);
    message.due = push.delay_ms.map(Due::After);
    message.group.clone_from(&push.group);
    message.priority = push.priority;
    message.distinct = push.distinct.clone().map(|key| {
        let distinct = Distinct::new(key);
        match push.at_latest_ms {
            Some(longest) => distinct.at_latest(longest),
            None => distinct,
        }
    });
    let (_, opened) = open(backend, &push.queue).await?;
    let Some(leasing) = opened.leasing() else {
        return Err(Error::invalid(format!(
            "`{}` is a ring: its items come from its programs",
            push.queue
        )));
    };
    if reads && !push.whole {
        return lines::push_lines(&*leasing, &message, output).await;
    }
    let Some(id) = leasing.push_one(message).await?.id() else {
        write_line("full: nothing was pushed")?;
        return Ok(End::Findings);
    };
    output.show(&json!({ "id": id }), || id.to_string())?;
    Ok(End::Well)
}

pub(crate) async fn cancel(backend: &dyn Backend, queue: &str, ids: &[MessageId]) -> Outcome {
    let leasing = open_leasing(backend, queue).await?;
    let mut well = End::Well;
    for ids in ids.chunks(limits::MAX_BATCH) {
        for (id, cancelled) in ids.iter().zip(leasing.cancel(ids).await?) {
            let what = match cancelled {
                Cancelled::Cancelled => "cancelled",
                Cancelled::TooLate => "too late: it is leased, done or dead",
                Cancelled::NeverWas => "never was",
            };
            if cancelled != Cancelled::Cancelled {
                well = End::Findings;
            }
            write_line(&format!("{id}: {what}"))?;
        }
    }
    Ok(well)
}

pub(crate) async fn cancel_families(
    backend: &dyn Backend,
    queue: &str,
    ids: &[MessageId],
    output: &Output,
) -> Outcome {
    let mut is_whole = true;
    for id in ids {
        let cancelled = queue_ops::cancel_family(backend, queue, *id).await?;
        is_whole &= cancelled.is_whole();
        output.show(&cancelled, || cancelled.to_string())?;
    }
    Ok(End::all(is_whole))
}

pub(crate) async fn run(backend: &dyn Backend, run: &Run) -> Outcome {
    let leasing = open_leasing(backend, &run.queue).await?;
    let ids = match run.all_delayed {
        true => delayed(&*leasing, run.reason.as_deref()).await?,
        false => run.ids.clone(),
    };
    if run.all_delayed && (ids.is_empty() || !run.yes) {
        write_line(&match ids.len() {
            0 => "no such message is delayed".to_owned(),
            count => format!(
                "would make {} due now: say --yes",
                counted(count as u64, "delayed message")
            ),
        })?;
        return Ok(End::Findings);
    }
    let mut moved = 0;
    for ids in ids.chunks(limits::MAX_BATCH) {
        let due_now = leasing.reschedule(ids, Due::After(Duration::ZERO)).await?;
        for (id, rescheduled) in ids.iter().zip(due_now) {
            match rescheduled {
                Rescheduled::Moved => moved += 1,
                Rescheduled::TooLate => {
                    write_line(&format!("{id}: too late: it is not delayed"))?;
                }
            }
        }
    }
    write_line(&format!("{moved} of {} due now", ids.len()))?;
    Ok(End::all(moved == ids.len()))
}

/// The messages that are delayed now; only those whose last failure has `reason` in it.
async fn delayed(leasing: &dyn Leasing, reason: Option<&str>) -> Result<Vec<MessageId>, Error> {
    let all = first(usize::MAX, async |page| {
        leasing.peek(Place::Delayed, page).await
    });
    let is_chosen = |one: &Peeked| match reason {
        Some(reason) => one
            .failure
            .as_deref()
            .is_some_and(|failure| failure.contains(reason)),
        None => true,
    };
    let chosen = all.await?.0.into_iter().filter(is_chosen);
    Ok(chosen.map(|one| one.message.id).collect())
}

/// The receipts of the chosen leased messages.
async fn receipts(leasing: &dyn Leasing, chosen: &Chosen) -> Result<Vec<Receipt>, Error> {
    let leased = first(usize::MAX, async |page| {
        leasing.peek(Place::Leased, page).await
    });
    let mut receipts = Vec::new();
    for entry in leased.await?.0 {
        if let Standing::Leased {
            receipt, holder, ..
        } = &entry.standing
        {
            let name = holder.as_ref().map_or("", |holder| holder.as_str());
            let by_holder = chosen.holder.as_deref() == Some(name);
            if by_holder || chosen.ids.contains(&receipt.id) {
                receipts.push(*receipt);
            }
        }
    }
    Ok(receipts)
}

pub(crate) async fn release(backend: &dyn Backend, chosen: &Chosen, output: &Output) -> Outcome {
    settle(backend, chosen, output, "release", Settlement::release).await
}

pub(crate) async fn ack(backend: &dyn Backend, chosen: &Chosen, output: &Output) -> Outcome {
    settle(backend, chosen, output, "ack", Settlement::ack).await
}

pub(crate) async fn retry(
    backend: &dyn Backend,
    chosen: &Chosen,
    reason: &str,
    output: &Output,
) -> Outcome {
    let retried = |receipt| Settlement::retry_because(receipt, Duration::ZERO, reason);
    settle(backend, chosen, output, "retry", retried).await
}

pub(crate) async fn bury(
    backend: &dyn Backend,
    chosen: &Chosen,
    reason: &str,
    output: &Output,
) -> Outcome {
    settle(backend, chosen, output, "bury", |receipt| {
        Settlement::bury(receipt, reason)
    })
    .await
}

async fn settle(
    backend: &dyn Backend,
    chosen: &Chosen,
    output: &Output,
    verb: &str,
    settlement: impl Fn(Receipt) -> Settlement,
) -> Outcome {
    let leasing = open_leasing(backend, &chosen.queue).await?;
    let receipts = receipts(&*leasing, chosen).await?;
    if receipts.is_empty() {
        write_line(&nothing_leased(chosen, output))?;
        return Ok(End::Findings);
    }
    let is_leased = |id: &&MessageId| receipts.iter().any(|receipt| receipt.id == **id);
    let missing: Vec<_> = chosen.ids.iter().filter(|id| !is_leased(id)).collect();
    for id in &missing {
        write_line(&format!("{id}: not leased"))?;
    }
    if !chosen.yes {
        let first: Vec<String> = receipts
            .iter()
            .take(5)
            .map(|receipt| format!("#{}", receipt.id))
            .collect();
        write_line(&format!(
            "would {verb} {} ({}), whose holders lose their leases: say --yes",
            counted(receipts.len() as u64, "leased message"),
            first.join(", ")
        ))?;
        return Ok(End::Findings);
    }
    let mut done = 0;
    for receipts in receipts.chunks(limits::MAX_BATCH) {
        let settlements: Vec<Settlement> = receipts
            .iter()
            .map(|receipt| settlement(*receipt))
            .collect();
        let settled = leasing.settle(&settlements).await?;
        done += settled
            .iter()
            .filter(|settled| **settled != Settled::LeaseLost)
            .count();
    }
    let rest = if done < receipts.len() {
        "; the others were settled meanwhile"
    } else {
        ""
    };
    write_line(&format!("{done} of {} done{rest}", receipts.len()))?;
    Ok(End::all(done == receipts.len() && missing.is_empty()))
}

fn nothing_leased(chosen: &Chosen, output: &Output) -> String {
    let queue = &chosen.queue;
    match &chosen.holder {
        Some(holder) => {
            let consumers = output.command(&ShellCommand::new("consumers").value(queue));
            let holder = sanitized(holder);
            format!("`{holder}` has no message of {queue}: {consumers} lists who has")
        }
        None => {
            let peek = ShellCommand::new("peek").value(queue).value("leased");
            let peek = output.command(&peek);
            format!("no such message is leased: {peek} lists those that are")
        }
    }
}

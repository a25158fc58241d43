//! Commands about dead letters.

use std::{num::NonZeroUsize, time::Duration};

use queue_core::{Backend, DeadLetter, Error, Found, Leasing, MessageId, Page, Revived, limits};
use queue_ops::{counted, group_failures, ids_of_failure};
use serde_json::{Value, json};

use crate::{
    End, Outcome,
    arguments::{Dead, DeadChoice},
    open_leasing,
    output::{Output, body, one_line, progress, table, write_line},
};

pub(crate) async fn run(backend: &dyn Backend, command: &Dead, output: &Output) -> Outcome {
    match command {
        Dead::Ls { queue, limit } => list(backend, queue, *limit, output).await,
        Dead::Groups { queue } => groups(backend, queue, output).await,
        Dead::Revive { choice, per_second } => revive(backend, choice, *per_second).await,
        Dead::Discard(choice) => discard(backend, choice).await,
    }
}

async fn list(backend: &dyn Backend, queue: &str, limit: usize, output: &Output) -> Outcome {
    let leasing = open_leasing(backend, queue).await?;
    let page = leasing
        .dead_letters(Page::first(limit.min(limits::MAX_PAGE)))
        .await?;
    let values: Vec<Value> = page
        .entries
        .iter()
        .map(|letter| {
            json!({
                "id": letter.id,
                "attempts": letter.attempts,
                "why": letter.why(),
                "job": letter.headers.job(),
                "died_at_ms": letter.died_at,
                "body": body(&letter.body),
            })
        })
        .collect();
    output.show(&values, || {
        let rows = page.entries.iter().map(|letter| {
            vec![
                letter.id.to_string(),
                letter.attempts.to_string(),
                // The failure says more than that the attempts were over.
                one_line(&match &letter.failure {
                    Some(failure) => failure.clone(),
                    None => letter.reason.to_string(),
                }),
                body(&letter.body),
            ]
        });
        table(
            &["ID", "ATTEMPTS", "WHY", "BODY"],
            &rows.collect::<Vec<_>>(),
        )
    });
    Ok(End::Well)
}

/// All dead letters.
async fn all(leasing: &dyn Leasing) -> Result<Vec<DeadLetter>, Error> {
    let mut letters = Vec::new();
    let mut page = Page::first(limits::MAX_PAGE);
    loop {
        let read = leasing.dead_letters(page).await?;
        letters.extend(read.entries);
        match read.next {
            Some(next) => page = Page::after(next, limits::MAX_PAGE),
            None => return Ok(letters),
        }
    }
}

async fn groups(backend: &dyn Backend, queue: &str, output: &Output) -> Outcome {
    let leasing = open_leasing(backend, queue).await?;
    let groups = group_failures(&all(&*leasing).await?);
    output.show(&groups, || {
        let rows = groups.iter().enumerate().map(|(at, group)| {
            let ids: Vec<String> = group.ids.iter().map(MessageId::to_string).collect();
            vec![
                (at + 1).to_string(),
                group.count.to_string(),
                one_line(&group.example),
                ids.join(" "),
            ]
        });
        table(
            &["GROUP", "DEAD", "FOR EXAMPLE", "FIRST IDS"],
            &rows.collect::<Vec<_>>(),
        )
    });
    Ok(End::Well)
}

/// The ids of the chosen dead letters.
async fn chosen(leasing: &dyn Leasing, choice: &DeadChoice) -> Result<Vec<MessageId>, Error> {
    if !choice.ids.is_empty() {
        return Ok(choice.ids.clone());
    }
    let mut letters = all(leasing).await?;
    if let Some(reason) = &choice.reason {
        letters.retain(|letter| letter.why().contains(reason));
    }
    let Some(number) = choice.group else {
        return Ok(letters.iter().map(|letter| letter.id).collect());
    };
    let groups = group_failures(&letters);
    let group = number
        .checked_sub(1)
        .and_then(|at| groups.get(at))
        .ok_or_else(|| {
            Error::invalid(format!(
                "group {number}: `qk dead groups {}` has {}",
                choice.queue,
                groups.len()
            ))
        })?;
    Ok(ids_of_failure(&letters, &group.fingerprint))
}

/// Says what would be done, unless it was confirmed.
fn is_confirmed(choice: &DeadChoice, verb: &str, ids: &[MessageId]) -> bool {
    if ids.is_empty() {
        let queue = &choice.queue;
        write_line(&match &choice.reason {
            Some(reason) => {
                format!("no dead letter has '{reason}' in its reason: `qk dead groups {queue}`")
            }
            None => format!("{queue} has no dead letters"),
        });
        return false;
    }
    if choice.yes {
        return true;
    }
    let first: Vec<String> = ids.iter().take(5).map(|id| format!("#{id}")).collect();
    write_line(&format!(
        "would {verb} {} ({}): say --yes",
        counted(ids.len() as u64, "dead letter"),
        first.join(", ")
    ));
    false
}

async fn revive(
    backend: &dyn Backend,
    choice: &DeadChoice,
    per_second: Option<NonZeroUsize>,
) -> Outcome {
    let leasing = open_leasing(backend, &choice.queue).await?;
    let ids = chosen(&*leasing, choice).await?;
    // Ids are named one by one. A message that was revived in error can be buried again; one that was discarded is gone.
    let named = !choice.ids.is_empty();
    if !named && !is_confirmed(choice, "revive", &ids) {
        return Ok(End::Findings);
    }
    let (mut revived, mut full) = (0, 0);
    let at_once = per_second.map_or(limits::MAX_BATCH, |most| most.get().min(limits::MAX_BATCH));
    let bar = progress(ids.len() as u64);
    for (nth, batch) in ids.chunks(at_once).enumerate() {
        for (id, one) in batch.iter().zip(leasing.revive(batch).await?) {
            if named && one == Revived::NotFound {
                write_line(&format!("{id}: no dead letter has this id"));
            }
            revived += usize::from(one == Revived::Revived);
            full += usize::from(one == Revived::Full);
        }
        bar.inc(batch.len() as u64);
        let Some(rate) = per_second else { continue };
        let share = batch.len() as f64 / rate.get() as f64;
        tokio::time::sleep(Duration::from_secs_f64(share)).await;
        // The last ones may not have been handled yet.
        let done = (nth * at_once + batch.len()).min(ids.len());
        let last = &ids[done.saturating_sub(limits::MAX_BATCH)..done];
        let found = leasing.find(last).await?;
        let again = last.iter().zip(&found);
        let mut again = again.filter(|(_, found)| matches!(found, Found::Dead { .. }));
        if let Some((
            id,
            Found::Dead {
                reason, failure, ..
            },
        )) = again.next()
        {
            bar.finish_and_clear();
            let why = failure.clone().unwrap_or_else(|| reason.to_string());
            write_line(&format!(
                "stopped after {revived} of {}: #{id} died again: {}",
                ids.len(),
                one_line(&why)
            ));
            return Ok(End::Findings);
        }
    }
    bar.finish_and_clear();
    let room = if full > 0 {
        format!("; no room for {full}")
    } else {
        String::new()
    };
    write_line(&format!("{revived} of {} revived{room}", ids.len()));
    Ok(if revived == ids.len() {
        End::Well
    } else {
        End::Findings
    })
}

async fn discard(backend: &dyn Backend, choice: &DeadChoice) -> Outcome {
    let leasing = open_leasing(backend, &choice.queue).await?;
    let ids = chosen(&*leasing, choice).await?;
    if !is_confirmed(choice, "discard", &ids) {
        return Ok(End::Findings);
    }
    let mut discarded = 0;
    for ids in ids.chunks(limits::MAX_BATCH) {
        discarded += leasing.discard(ids).await?;
    }
    write_line(&format!("{discarded} of {} discarded", ids.len()));
    Ok(End::Well)
}

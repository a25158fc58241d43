//! Commands about dead letters.

use std::{num::NonZeroUsize, time::Duration};

use queue_core::{Backend, DeadLetter, Error, Found, Leasing, MessageId, Revival, Revived, limits};
use queue_ops::{ShellCommand, counted, group_failures, ids_of_failure};
use serde_json::{Value, json};

use crate::{
    End, Outcome,
    arguments::{Dead, DeadChoice},
    open_leasing,
    output::{MORE, Output, add_bytes, body, one_line, progress, table, write_line},
    paging::first,
};

pub(crate) async fn run(backend: &dyn Backend, command: &Dead, output: &Output) -> Outcome {
    match command {
        Dead::Ls { queue, limit } => list(backend, queue, limit.get(), output).await,
        Dead::Groups { queue } => groups(backend, queue, output).await,
        Dead::Revive {
            choice,
            fresh,
            per_second,
        } => {
            let revival = match fresh {
                true => Revival::Fresh,
                false => Revival::WithState,
            };
            revive(backend, choice, revival, *per_second, output).await
        }
        Dead::Discard(choice) => discard(backend, choice, output).await,
    }
}

async fn list(backend: &dyn Backend, queue: &str, limit: usize, output: &Output) -> Outcome {
    let leasing = open_leasing(backend, queue).await?;
    let (letters, is_whole) = first(limit, async |page| leasing.dead_letters(page).await).await?;
    let values = letters.iter().map(|letter| {
        let mut value = json!({
            "id": letter.id,
            "attempts": letter.attempts,
            "why": letter.why(),
            "job": letter.headers.job(),
            "died_at_ms": letter.died_at,
        });
        add_bytes(&mut value, "body", &letter.body);
        if let Some(state) = &letter.state {
            add_bytes(&mut value, "state", state);
        }
        value
    });
    output.show(&values.collect::<Vec<Value>>(), || {
        let rows = letters.iter().map(|letter| {
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
        let head = ["ID", "ATTEMPTS", "WHY", "BODY"];
        let text = table(&head, &rows.collect::<Vec<_>>());
        text + if is_whole { "" } else { MORE }
    })?;
    Ok(End::Well)
}

/// All dead letters.
async fn all(leasing: &dyn Leasing) -> Result<Vec<DeadLetter>, Error> {
    let all = first(usize::MAX, async |page| leasing.dead_letters(page).await);
    Ok(all.await?.0)
}

async fn groups(backend: &dyn Backend, queue: &str, output: &Output) -> Outcome {
    let leasing = open_leasing(backend, queue).await?;
    let groups = group_failures(&all(&*leasing).await?);
    output.show(&groups, || {
        let rows = groups.iter().map(|group| {
            let ids: Vec<String> = group.ids.iter().map(MessageId::to_string).collect();
            vec![
                group.cause.clone(),
                group.count.to_string(),
                one_line(&group.example),
                ids.join(" "),
            ]
        });
        table(
            &["GROUP", "DEAD", "FOR EXAMPLE", "FIRST IDS"],
            &rows.collect::<Vec<_>>(),
        )
    })?;
    Ok(End::Well)
}

/// The ids of the chosen dead letters.
async fn chosen(
    leasing: &dyn Leasing,
    choice: &DeadChoice,
    output: &Output,
) -> Result<Vec<MessageId>, Error> {
    if !choice.ids.is_empty() {
        return Ok(choice.ids.clone());
    }
    let mut letters = all(leasing).await?;
    if let Some(reason) = &choice.reason {
        letters.retain(|letter| letter.why().contains(reason));
    }
    let Some(cause) = &choice.group else {
        return Ok(letters.iter().map(|letter| letter.id).collect());
    };
    let groups = group_failures(&letters);
    let found: Vec<_> = groups.iter().filter(|one| one.cause == *cause).collect();
    match found[..] {
        [group] => Ok(ids_of_failure(&letters, &group.fingerprint)),
        _ => Err(Error::invalid(format!(
            "no group of dead letters is called `{cause}`: {} lists them by the names of their causes",
            output.command(&ShellCommand::new("dead groups").value(&choice.queue))
        ))),
    }
}

/// Says what would be done, unless it was confirmed.
fn is_confirmed(
    choice: &DeadChoice,
    verb: &str,
    ids: &[MessageId],
    output: &Output,
) -> Result<bool, Error> {
    if ids.is_empty() {
        let queue = &choice.queue;
        let groups = ShellCommand::new("dead groups").value(queue);
        write_line(&match &choice.reason {
            Some(reason) => {
                let groups = output.command(&groups);
                format!("no dead letter has '{reason}' in its reason: {groups}")
            }
            None => format!("{queue} has no dead letters"),
        })?;
        return Ok(false);
    }
    if choice.yes {
        return Ok(true);
    }
    let first: Vec<String> = ids.iter().take(5).map(|id| format!("#{id}")).collect();
    write_line(&format!(
        "would {verb} {} ({}): say --yes",
        counted(ids.len() as u64, "dead letter"),
        first.join(", ")
    ))?;
    Ok(false)
}

async fn revive(
    backend: &dyn Backend,
    choice: &DeadChoice,
    revival: Revival,
    per_second: Option<NonZeroUsize>,
    output: &Output,
) -> Outcome {
    let leasing = open_leasing(backend, &choice.queue).await?;
    let ids = chosen(&*leasing, choice, output).await?;
    // Ids are named one by one. A message that was revived in error can be buried again; one that was discarded is gone.
    let named = !choice.ids.is_empty();
    if !named && !is_confirmed(choice, "revive", &ids, output)? {
        return Ok(End::Findings);
    }
    let (mut revived, mut full) = (Vec::new(), 0);
    let at_once = per_second.map_or(limits::MAX_BATCH, |most| most.get().min(limits::MAX_BATCH));
    let bar = progress(ids.len() as u64);
    for batch in ids.chunks(at_once) {
        for (id, one) in batch.iter().zip(leasing.revive(batch, revival).await?) {
            if named && one == Revived::NotFound {
                write_line(&format!("{id}: no dead letter has this id"))?;
            }
            revived.extend((one == Revived::Revived).then_some(*id));
            full += usize::from(one == Revived::Full);
        }
        bar.inc(batch.len() as u64);
        let Some(rate) = per_second else { continue };
        let share = batch.len() as f64 / rate.get() as f64;
        tokio::time::sleep(Duration::from_secs_f64(share)).await;
        // The last ones may not have been handled yet. A letter without room is dead still, not again.
        let last = &revived[revived.len().saturating_sub(limits::MAX_BATCH)..];
        if let Some(died_again) = died_again(&*leasing, last).await? {
            bar.finish_and_clear();
            write_line(&format!(
                "stopped after {} of {}: {died_again}",
                revived.len(),
                ids.len(),
            ))?;
            return Ok(End::Findings);
        }
    }
    bar.finish_and_clear();
    let room = if full > 0 {
        format!("; no room for {full}")
    } else {
        String::new()
    };
    write_line(&format!("{} of {} revived{room}", revived.len(), ids.len()))?;
    Ok(End::all(revived.len() == ids.len()))
}

/// Says which of these revived messages has died again first, and why.
async fn died_again(leasing: &dyn Leasing, revived: &[MessageId]) -> Result<Option<String>, Error> {
    if revived.is_empty() {
        return Ok(None);
    }
    let found = leasing.find(revived).await?;
    Ok(revived
        .iter()
        .zip(found)
        .find_map(|(id, found)| match found {
            Found::Dead {
                reason, failure, ..
            } => {
                let why = failure.unwrap_or_else(|| reason.to_string());
                Some(format!("#{id} died again: {}", one_line(&why)))
            }
            _ => None,
        }))
}

async fn discard(backend: &dyn Backend, choice: &DeadChoice, output: &Output) -> Outcome {
    let leasing = open_leasing(backend, &choice.queue).await?;
    let ids = chosen(&*leasing, choice, output).await?;
    if !is_confirmed(choice, "discard", &ids, output)? {
        return Ok(End::Findings);
    }
    let mut discarded = 0;
    for ids in ids.chunks(limits::MAX_BATCH) {
        discarded += leasing.discard(ids).await?;
    }
    write_line(&format!("{discarded} of {} discarded", ids.len()))?;
    Ok(End::all(discarded == ids.len() as u64))
}

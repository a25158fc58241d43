//! Commands about periodic jobs.

use std::sync::Arc;

use queue_core::{Backend, Queues, sanitized};
use queue_ops::duration_in_words;

use queue_schedule::Schedules as Stored;
use serde_json::{Value, json};

use crate::{
    End, Outcome,
    arguments::Schedules,
    open,
    output::{Output, one_line, table, write_line},
};

pub(crate) async fn run(
    backend: &Arc<dyn Backend>,
    command: &Schedules,
    output: &Output,
) -> Outcome {
    let (Schedules::Ls { ring }
    | Schedules::Enable { ring, .. }
    | Schedules::Disable { ring, .. }
    | Schedules::Remove { ring, .. }
    | Schedules::Run { ring, .. }) = command;
    // Opening schedules makes their ring; an operator only looks.
    open(&**backend, &ring.ring).await?;
    let stored = Stored::open(&Queues::from(Arc::clone(backend)), &ring.ring).await?;
    let (name, done, what) = match command {
        Schedules::Ls { .. } => return list(backend, &stored, output).await,
        Schedules::Enable { name, .. } => (name, stored.enable(name).await?, "enabled"),
        Schedules::Disable { name, .. } => (
            name,
            stored.disable(name).await?,
            "disabled: no slot becomes ready",
        ),
        Schedules::Remove { name, .. } => (name, stored.remove(name).await?, "removed"),
        Schedules::Run { name, .. } => (
            name,
            stored.run_now(name).await?,
            "runs within a scheduler's poll interval",
        ),
    };
    match done {
        true => write_line(&format!("{}: {what}", sanitized(name)))?,
        false => write_line(&format!("there is no schedule `{}`", sanitized(name)))?,
    }
    Ok(End::all(done))
}

async fn list(backend: &Arc<dyn Backend>, stored: &Stored, output: &Output) -> Outcome {
    let now = backend.now().await?;
    let schedules = stored.list().await?;
    let values: Vec<Value> = schedules
        .iter()
        .map(|one| {
            json!({
                "name": one.name, "rule": one.rule, "queue": one.queue, "enabled": one.enabled,
                "unless_running": one.unless_running, "next_ms": one.next, "problem": one.problem,
            })
        })
        .collect();
    output.show(&values, || {
        let rows = schedules.iter().map(|one| {
            let next = match (&one.problem, one.next) {
                (Some(problem), _) => one_line(problem),
                (None, Some(next)) => format!("in {}", duration_in_words(next.since(now))),
                (None, None) if one.enabled => "never".to_owned(),
                (None, None) => "disabled".to_owned(),
            };
            vec![
                one_line(&one.name),
                one_line(&one.rule),
                one_line(&one.queue),
                next,
            ]
        });
        table(
            &["NAME", "RULE", "QUEUE", "NEXT"],
            &rows.collect::<Vec<_>>(),
        )
    })?;
    Ok(End::Well)
}

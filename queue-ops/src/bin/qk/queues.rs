//! Commands about whole queues.

use std::time::Duration;

use queue_core::{
    Backend, Error, ErrorKind, LeaseRate, LeasingExt, PriorityConfig, QueueConfig, QueueInfo,
    QueueName, Removal, RotatingConfig, is_operators_list,
};
use queue_ops::{ShellCommand, counted, duration_in_words, holder_in_words, list_queues};

use crate::{
    End, Outcome,
    arguments::Setting,
    open, open_leasing,
    output::{Output, one_line, table, write_line},
    server,
};

pub(crate) async fn list(backend: &dyn Backend, recipe: bool, output: &Output) -> Outcome {
    let mut queues = list_queues(backend, usize::MAX).await?;
    let rank = |queue: &QueueInfo| match queue.counters {
        None => 0,
        Some(_) if is_operators_list(&queue.name) => 3,
        Some(counters) => 2 - u8::from(counters.paused),
    };
    queues.sort_by_key(rank);
    if queues.is_empty() {
        return server::no_queues(backend, recipe, output).await;
    }
    output.show(&queues, || {
        let rows = queues.iter().map(|queue| {
            let mut row = vec![queue.name.to_string(), queue.kind.to_string()];
            let Some(counters) = queue.counters else {
                let why = ShellCommand::new("why").value(queue.name.as_str());
                row.push(format!("cannot be read: {} says why", output.command(&why)));
                return row;
            };
            let depth = counters.depth;
            row.push(depth.ready.to_string());
            row.push(
                counters
                    .oldest_ready
                    .map(duration_in_words)
                    .unwrap_or_default(),
            );
            row.extend([depth.delayed, depth.leased, depth.dead].map(|count| count.to_string()));
            row.push(if counters.paused { "paused" } else { "" }.to_owned());
            row
        });
        let head = [
            "QUEUE", "KIND", "READY", "OLDEST", "DELAYED", "LEASED", "DEAD", "STATE",
        ];
        table(&head, &rows.collect::<Vec<_>>())
    })?;
    Ok(End::Well)
}

pub(crate) async fn stats(backend: &dyn Backend, queue: &str, output: &Output) -> Outcome {
    let (config, opened) = open(backend, queue).await?;
    let Some(leasing) = opened.leasing() else {
        let counters = opened.counters().await?;
        output.show(&counters, || format!("{} items", counters.depth.ready))?;
        return Ok(End::Well);
    };
    let counters = match leasing.counters().await {
        // Published strategies count nothing.
        Err(error) if error.kind() == ErrorKind::Configuration => {
            let depth = leasing.depth().await?;
            let shown = [
                ("ready", depth.ready),
                ("delayed", depth.delayed),
                ("leased", depth.leased),
                ("dead", depth.dead),
            ];
            output.show(&depth, || {
                let rows = shown.map(|(name, count)| vec![name.to_owned(), count.to_string()]);
                table(&["", ""], &rows)
            })?;
            return Ok(End::Well);
        }
        counters => counters?,
    };
    output.show(&counters, || {
        let depth = counters.depth;
        let oldest = counters
            .oldest_ready
            .map(duration_in_words)
            .unwrap_or_default();
        let rows = [
            ("kind", config.kind().to_string()),
            ("ready", depth.ready.to_string()),
            ("oldest ready", oldest),
            ("delayed", depth.delayed.to_string()),
            ("leased", depth.leased.to_string()),
            ("dead", depth.dead.to_string()),
            ("accepted", counters.accepted.to_string()),
            ("acked", counters.acked.to_string()),
            ("retried", counters.retried.to_string()),
            ("expired leases", counters.expired.to_string()),
            ("died", counters.died.to_string()),
            ("paused", counters.paused.to_string()),
        ];
        let rows = rows.map(|(name, value)| vec![name.to_owned(), one_line(&value)]);
        table(&["", ""], &rows)
    })?;
    Ok(End::Well)
}

pub(crate) async fn consumers(backend: &dyn Backend, queue: &str, output: &Output) -> Outcome {
    let consumers = queue_ops::consumers(backend, queue).await?;
    output.show(&consumers, || {
        let words = |millis: u64| duration_in_words(Duration::from_millis(millis));
        let rows = consumers.iter().map(|one| {
            vec![
                one_line(holder_in_words(&one.holder)),
                if one.waits { "waits" } else { "" }.to_owned(),
                one.leased.to_string(),
                if one.leased > 0 {
                    words(one.longest_ms)
                } else {
                    String::new()
                },
                one.next_end_ms.map(words).unwrap_or_default(),
            ]
        });
        let head = [
            "HOLDER",
            "",
            "LEASED",
            "THE LONGEST FOR",
            "THE NEXT ENDS IN",
        ];
        table(&head, &rows.collect::<Vec<_>>())
    })?;
    Ok(End::all(!consumers.is_empty()))
}

pub(crate) async fn workers(backend: &dyn Backend, output: &Output) -> Outcome {
    let mut workers = queue_core::workers(backend).await?;
    workers.sort_by_key(|worker| !worker.gone);
    output.show(&workers, || {
        if workers.is_empty() {
            return "no worker registers: a program calls `register` of its worker".to_owned();
        }
        let words = |millis| duration_in_words(Duration::from_millis(millis));
        let rows = workers.iter().map(|worker| {
            let record = &worker.record;
            let beat = words(worker.last_beat_ms);
            vec![
                one_line(&record.holder),
                one_line(&record.program),
                one_line(&record.queues.join(", ")),
                format!("{} of {}", record.in_flight, record.slots),
                words(record.uptime_ms),
                match worker.gone {
                    true => format!("gone for {beat}"),
                    false => format!("{beat} ago"),
                },
            ]
        });
        let head = [
            "WORKER",
            "PROGRAM",
            "QUEUES",
            "BUSY",
            "RAN FOR",
            "LAST BEAT",
        ];
        table(&head, &rows.collect::<Vec<_>>())
    })?;
    let gone = workers.iter().any(|worker| worker.gone);
    Ok(End::all(!gone && !workers.is_empty()))
}

pub(crate) async fn pause(backend: &dyn Backend, queue: &str, output: &Output) -> Outcome {
    open_leasing(backend, queue).await?.pause().await?;
    write_line(&format!(
        "{queue} hands out nothing until {}",
        output.command(&ShellCommand::new("resume").value(queue))
    ))?;
    Ok(End::Well)
}

pub(crate) async fn resume(backend: &dyn Backend, queue: &str) -> Outcome {
    open_leasing(backend, queue).await?.resume().await?;
    write_line(&format!("{queue} hands out messages"))?;
    Ok(End::Well)
}

pub(crate) async fn purge(backend: &dyn Backend, queue: &str, yes: bool) -> Outcome {
    let leasing = open_leasing(backend, queue).await?;
    if !yes {
        let depth = leasing.depth().await?;
        let count = depth.ready + depth.delayed;
        let count = counted(count, "message");
        write_line(&format!("would remove {count} of {queue}: say --yes"))?;
        return Ok(End::Findings);
    }
    let purged = leasing.purge_all().await?;
    write_line(&format!("{} removed", counted(purged, "message")))?;
    Ok(End::Well)
}

pub(crate) async fn remove(
    backend: &dyn Backend,
    queue: &str,
    even_if_leased: bool,
    yes: bool,
) -> Outcome {
    let name = QueueName::new(queue)?;
    if !yes {
        let (_, opened) = open(backend, queue).await?;
        let depth = opened.counters().await?.depth;
        let count = depth.occupied();
        write_line(&format!(
            "would remove {queue} with {count} messages, {} of them leased, and {} dead letters: say --yes",
            depth.leased, depth.dead
        ))?;
        return Ok(End::Findings);
    }
    let removal = match even_if_leased {
        true => Removal::EvenIfLeased,
        false => Removal::UnlessLeased,
    };
    let removed = backend.remove(&name, removal).await?;
    write_line(if removed {
        "removed"
    } else {
        "there was no such queue"
    })?;
    Ok(End::all(removed))
}

pub(crate) async fn reconfigure(
    backend: &dyn Backend,
    queue: &str,
    settings: &[Setting],
) -> Outcome {
    let (mut config, _) = open(backend, queue).await?;
    let before = config.clone();
    for setting in settings {
        apply(&mut config, setting)?;
    }
    let name = QueueName::new(queue)?;
    // Queues that programs have open keep working: the stored configuration is theirs, too.
    if let QueueConfig::Bounded(bounded) = &config {
        backend
            .open_or_resize(&name, bounded)
            .await
            .map(drop)
            .or_else(ignore_mismatch)?;
    }
    let changed = backend.reconfigure(&name, &config).await? && config != before;
    let changes = settings.iter().map(|Setting { name, .. }| {
        let (from, to) = (value(&before, name), value(&config, name));
        format!("{name} {from} → {to}")
    });
    let changes = changes.collect::<Vec<_>>().join(", ");
    write_line(&format!("{queue}: {changes}"))?;
    if changed {
        write_line(
            "a program that opens it with another value gets ConfigMismatch: change that, too",
        )?;
    }
    Ok(End::all(changed))
}

/// Another setting than the capacity differs, too: `reconfigure` changes it.
fn ignore_mismatch(error: Error) -> Result<(), Error> {
    match error.kind() {
        ErrorKind::ConfigMismatch => Ok(()),
        _ => Err(error),
    }
}

/// A setting, as `apply` takes it.
fn value(config: &QueueConfig, name: &str) -> String {
    let mut settings = config.settings().into_iter();
    let found = settings.find(|(setting, _)| *setting == name);
    found.map_or_else(String::new, |(_, value)| value)
}

/// The value of a setting that is a rate; 0 for none.
fn rate(name: &str, most: u64, per: Option<u64>) -> Result<Option<LeaseRate>, Error> {
    if most == 0 {
        return Ok(None);
    }
    let most = u32::try_from(most).map_err(|_| Error::invalid(format!("{name} of {most}")))?;
    let per = per.ok_or_else(|| {
        Error::invalid(format!(
            "a {name} without a time: write it as {name}=100/60000, in ms"
        ))
    })?;
    Ok(Some(LeaseRate::new(most, Duration::from_millis(per))))
}

pub(crate) fn apply(
    config: &mut QueueConfig,
    Setting { name, value, per }: &Setting,
) -> Result<(), Error> {
    let unknown = || Error::invalid(format!("a {} queue has no setting `{name}`", config.kind()));
    let unknown = unknown();
    let number = |what: &str| -> Result<usize, Error> {
        usize::try_from(*value).map_err(|_| Error::invalid(format!("{what} of {value}")))
    };
    match (&**name, &mut *config) {
        ("capacity", QueueConfig::Bounded(config)) => config.capacity = number("a capacity")?,
        ("pace_ms", QueueConfig::Rotating(RotatingConfig { pace, .. })) => {
            *pace = (*value > 0).then(|| Duration::from_millis(*value));
        }
        ("ageing_ms", QueueConfig::Priority(PriorityConfig { ageing, .. })) => {
            *ageing = (*value > 0).then(|| Duration::from_millis(*value));
        }
        ("group_rate", QueueConfig::Grouped(config)) => {
            config.group_rate = rate(name, *value, *per)?;
        }
        ("rate", config) => config.leasing_mut().ok_or(unknown)?.rate = rate(name, *value, *per)?,
        ("max_attempts" | "dead_letter_cap" | "at_once", config) => {
            let leasing = config.leasing_mut().ok_or(unknown)?;
            let small = || {
                let small = u32::try_from(*value);
                small.map_err(|_| Error::invalid(format!("{name} of {value}")))
            };
            match &**name {
                "at_once" => leasing.at_once = (*value > 0).then(small).transpose()?,
                "max_attempts" => {
                    leasing.max_attempts = small()?;
                }
                _ => leasing.dead_letter_cap = *value,
            }
        }
        _ => return Err(unknown),
    }
    Ok(())
}

//! The groups of a grouped queue.

use std::time::Duration;

use queue_core::{
    Backend, Bytes, Error, GroupOrder, GroupRule, GroupedQueueExt, QueueConfig, QueueName,
};
use queue_ops::{
    ShellCommand, duration_in_words, group_as_json, group_in_words, group_key, key_in_words,
    open_grouped, rate_in_words, rule_in_words,
};
use serde_json::Value;

use crate::{
    End, Outcome,
    arguments::Rule,
    output::{MORE, Output, table, write_line},
    paging::first,
};

pub(crate) async fn pause(
    backend: &dyn Backend,
    queue: &str,
    group: &Bytes,
    lasts: Duration,
    output: &Output,
) -> Outcome {
    let grouped = open_grouped(backend, &QueueName::new(queue)?).await?;
    grouped.pause_group(group.clone(), lasts).await?;
    let resume = ShellCommand::new("resume").value(queue);
    write_line(&format!(
        "{} is paused for {}, or until {}",
        key_in_words(group),
        duration_in_words(lasts),
        output.command(&resume.option("group", group))
    ))?;
    Ok(End::Well)
}

pub(crate) async fn resume(backend: &dyn Backend, queue: &str, group: &Bytes) -> Outcome {
    let grouped = open_grouped(backend, &QueueName::new(queue)?).await?;
    grouped.resume_group(group.clone()).await?;
    write_line(&format!(
        "{queue} hands out messages of {}",
        key_in_words(group)
    ))?;
    Ok(End::Well)
}

pub(crate) async fn rule(backend: &dyn Backend, rule: &Rule, output: &Output) -> Outcome {
    let Rule { queue, group, .. } = rule;
    let key = key_in_words(group);
    let grouped = open_grouped(backend, &QueueName::new(queue)?).await?;
    let Some(lasts) = rule.for_ms else {
        grouped.end_rule(group.clone()).await?;
        write_line(&format!("{key} has no rule"))?;
        return Ok(End::Well);
    };
    let mut set = GroupRule::lasting(lasts).with_weight(rule.weight);
    (set.at_once, set.rate) = (rule.at_once, rule.rate);
    let stored = backend.open_stored(&QueueName::new(queue)?).await?;
    if let (Some(QueueConfig::Grouped(config)), Some(most)) =
        (stored.map(|one| one.config), rule.at_once)
        && config.order == GroupOrder::Strict
    {
        return Err(Error::invalid(format!(
            "{most} at once, in strict order, which has one message of a group at a time: leave it out"
        )));
    }
    grouped.set_rule(group.clone(), set).await?;
    let at_once = rule.at_once.map(|most| format!(", at most {most} at once"));
    let rate = rule
        .rate
        .map(|rate| format!(", a rate of {}", rate_in_words(rate)));
    write_line(&format!(
        "{key} has weight {}{}{} for {}, or until {}",
        rule.weight,
        at_once.unwrap_or_default(),
        rate.unwrap_or_default(),
        duration_in_words(lasts),
        output.command(
            &ShellCommand::new("rule")
                .value(queue)
                .value(group)
                .flag("end")
        )
    ))?;
    Ok(End::Well)
}

pub(crate) async fn list(
    backend: &dyn Backend,
    queue: &str,
    limit: usize,
    output: &Output,
) -> Outcome {
    let grouped = open_grouped(backend, &QueueName::new(queue)?).await?;
    let (groups, is_whole) = first(limit, async |page| grouped.groups(page).await).await?;
    let values: Vec<Value> = groups.iter().map(group_as_json).collect();
    output.show(&values, || {
        let rows = groups.iter().map(|group| {
            vec![
                group_key(group),
                group.ready.to_string(),
                group
                    .oldest_ready
                    .map(duration_in_words)
                    .unwrap_or_default(),
                group.held.to_string(),
                rule_in_words(group),
                group_in_words(group),
            ]
        });
        let head = ["GROUP", "READY", "OLDEST", "HELD", "RULE", "STATE"];
        let text = table(&head, &rows.collect::<Vec<_>>());
        text + if is_whole { "" } else { MORE }
    })?;
    Ok(End::Well)
}

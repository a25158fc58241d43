//! The groups of a grouped queue.

use std::time::Duration;

use queue_core::{
    Backend, Error, GroupOrder, GroupRule, GroupedQueueExt, Page, QueueConfig, QueueName,
};
use queue_ops::{
    duration_in_words, group_as_json, group_in_words, group_key, open_grouped, rule_in_words,
};
use serde_json::Value;

use crate::{
    End, Outcome,
    arguments::Rule,
    output::{Output, table, write_line},
};

pub(crate) async fn pause(
    backend: &dyn Backend,
    queue: &str,
    group: &str,
    lasts: Duration,
) -> Outcome {
    let grouped = open_grouped(backend, &QueueName::new(queue)?).await?;
    grouped.pause_group(group.to_owned(), lasts).await?;
    write_line(&format!(
        "{group} is paused for {}, or until `qk resume {queue} --group '{group}'`",
        duration_in_words(lasts)
    ));
    Ok(End::Well)
}

pub(crate) async fn resume(backend: &dyn Backend, queue: &str, group: &str) -> Outcome {
    let grouped = open_grouped(backend, &QueueName::new(queue)?).await?;
    grouped.resume_group(group.to_owned()).await?;
    write_line(&format!("{queue} hands out messages of {group}"));
    Ok(End::Well)
}

pub(crate) async fn rule(backend: &dyn Backend, rule: &Rule) -> Outcome {
    let Rule { queue, group, .. } = rule;
    let grouped = open_grouped(backend, &QueueName::new(queue)?).await?;
    let Some(lasts) = rule.for_ms else {
        grouped.end_rule(group.clone()).await?;
        write_line(&format!("{group} has no rule"));
        return Ok(End::Well);
    };
    let mut set = GroupRule::lasting(lasts).with_weight(rule.weight);
    set.at_once = rule.at_once;
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
    write_line(&format!(
        "{group} has weight {}{} for {}, or until `qk rule {queue} '{group}' --end`",
        rule.weight,
        at_once.unwrap_or_default(),
        duration_in_words(lasts)
    ));
    Ok(End::Well)
}

pub(crate) async fn list(
    backend: &dyn Backend,
    queue: &str,
    limit: usize,
    output: &Output,
) -> Outcome {
    let page = open_grouped(backend, &QueueName::new(queue)?)
        .await?
        .groups(Page::first(limit))
        .await?;
    let values: Vec<Value> = page.entries.iter().map(group_as_json).collect();
    output.show(&values, || {
        let rows = page.entries.iter().map(|group| {
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
        let mut text = table(&head, &rows.collect::<Vec<_>>());
        if page.next.is_some() {
            text.push_str("… and more: -n shows more of them\n");
        }
        text
    });
    Ok(End::Well)
}

//! Groups as a table.

use maud::{Markup, html};
use queue_core::{Group, Paged, QueueName};

use super::{frame::Frame, show::act};
use crate::hex::hex;
use crate::{duration_in_words as words, group_in_words, group_key, rule_in_words};

/// The groups that the page of a queue shows.
pub(super) const FIRST: usize = 10;

/// The first groups, for the page of their queue.
pub(super) fn section(frame: &Frame, queue: &QueueName, groups: &Paged<Group>) -> Markup {
    let all = frame.to(&["queues", queue.as_str(), "groups"]);
    html! {
        h2 { "Groups" }
        (table(&groups.entries, frame.acts(), &frame.to(&["queues", queue.as_str()])))
        @if groups.next.is_some() { p { a href=(all) { "All groups" } } }
    }
}

pub(super) fn table(groups: &[Group], acts: bool, to: &str) -> Markup {
    html! {
        div.scroll { table {
            thead { tr {
                th scope="col" { "Group" } th.number scope="col" { "Ready" } th scope="col" { "Oldest" }
                th.number scope="col" { "Held" } th scope="col" { "Rule" } th scope="col" { "State" }
            } }
            tbody { @for group in groups { tr {
                td.text { (group_key(group)) } td.number { (group.ready) }
                td { @if let Some(age) = group.oldest_ready { (words(age)) } }
                td.number { (group.held) } td { (rule_in_words(group)) }
                td {
                    (group_in_words(group))
                    @if acts {
                        @let (verb, what) = match group.is_paused() {
                            true => ("resume", "Resume"),
                            false => ("pause", "Pause for an hour"),
                        };
                        (act(to, verb, what, &[("group_hex", hex(&group.key))]))
                    }
                }
            } } }
        } }
    }
}

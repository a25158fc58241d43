use std::{collections::BTreeMap, fmt::Write};

use queue_core::QueueConfig;

use super::{
    layout::{shortened, wrap},
    picture::Picture,
    rows::{TimelineRow, rows},
    rules::rule,
    shown::Shown,
    wording::Words,
};
use crate::{
    check::{Finding, first_wrong, model_views},
    history::{CallId, History},
    plan::Process,
};

/// The width of a page, unless its content needs more.
const PAGE: usize = 100;

/// The history view of a finding: the finding, the rule, and then one row for each event, with marks
/// at the calls that show the finding. `before` is the number of operations before shrinking. Ends
/// with a line break.
pub fn timeline(
    config: &QueueConfig,
    history: &History,
    finding: &Finding,
    before: Option<usize>,
) -> String {
    let words = Words::of(history);
    let mut page = shortened(&words.with_relative_times(&finding.to_string()));
    if let Some(before) = before {
        let shrunk = format!(
            "shrunk from {before} operations to {}",
            history.operations()
        );
        let gap = PAGE.saturating_sub(page.chars().count() + shrunk.chars().count());
        let _ = match gap {
            0..2 => write!(page, "\n  {shrunk}"),
            gap => write!(page, "{:gap$}{shrunk}", ""),
        };
    }
    page.push('\n');
    if let Some(text) = rule(&finding.rule) {
        for line in wrap(&format!("  “{text}”"), "  ", PAGE) {
            let _ = writeln!(page, "{line}");
        }
    }
    page.push_str(&lay_out(config, history, Some(finding)).text());
    page
}

/// The history view of a finding as a page of HTML, which needs no other file. `replay` is the line that plays the run
/// again.
pub fn picture(config: &QueueConfig, history: &History, finding: &Finding, replay: &str) -> String {
    let words = Words::of(history);
    Picture {
        title: &words.with_relative_times(&finding.to_string()),
        rule: rule(&finding.rule).as_deref(),
        shown: &lay_out(config, history, Some(finding)),
        history,
        views: &model_views(config, history),
        replay,
    }
    .html()
}

/// The history view without a finding. Ends with a line break.
pub fn history_view(config: &QueueConfig, history: &History) -> String {
    lay_out(config, history, None).text()
}

/// The notes beside the calls that show the finding.
pub(crate) fn marks(finding: Option<&Finding>) -> BTreeMap<CallId, String> {
    let Some(Finding { rule, calls, .. }) = finding else {
        return BTreeMap::new();
    };
    let mut marks: BTreeMap<_, _> = calls.iter().map(|id| (*id, String::new())).collect();
    if let Some(last) = calls.last() {
        marks.insert(*last, format!("here {rule} breaks"));
    }
    marks
}

fn lay_out(config: &QueueConfig, history: &History, finding: Option<&Finding>) -> Shown {
    let words = Words::of(history);
    let marked = marks(finding);
    let capacity = finding.is_some_and(|finding| finding.rule == "B1");
    let mut rows = rows(history, &words, capacity);
    let wrong = first_wrong(config, history);
    let wrong = wrong.filter(|(id, _)| marked.is_empty() || marked.contains_key(id));
    let beside = |id: CallId| {
        if let Some((wrong, should)) = &wrong
            && *wrong == id
        {
            let record = history.records.iter().find(|record| record.id == id)?;
            let at = record.executed.first().map_or(record.began, |first| *first);
            return Some(match should {
                Ok(answer) => format!("expected {}", words.answer(&record.queue, answer, at.at)),
                Err(kind) => format!("expected {kind:?}"),
            });
        }
        marked.get(&id).cloned()
    };

    // Events after the last call that shows the finding add nothing.
    let named = |row: &TimelineRow| row.ends.is_some_and(|id| marked.contains_key(&id));
    let end = rows
        .iter()
        .rposition(named)
        .map_or(rows.len(), |last| last + 1);
    let left_out = rows.len() - end;
    rows.truncate(end);
    let beside: BTreeMap<CallId, String> = rows
        .iter()
        .filter_map(|row| Some((row.ends?, beside(row.ends?)?)))
        .collect();
    let heading = |process| heading(history, process);
    Shown::new(words, rows, left_out, heading, |row| {
        beside.get(&row.ends?).cloned()
    })
}

/// The drain is the process that acts only after the faults.
fn heading(history: &History, process: Process) -> String {
    let mut records = history
        .records
        .iter()
        .filter(|record| record.process == process);
    let healed = history.healed();
    let begins = records.next().map(|record| record.began.order);
    match (begins, healed) {
        (Some(begins), Some(healed)) if begins > healed => "drain".to_owned(),
        _ => format!("process {process}"),
    }
}

//! The findings about queues in a folder: its disk, and the process that has it.

use std::time::Duration;

use queue_core::{FolderFacts, ServerFacts, millis_ceil};

use super::{
    Finding, Problem, Severity, is_shown_only,
    view::{Line, QueueView},
};
use crate::words::duration_in_words as words;

/// Half of the syncs take longer on a slow disk only: a hard disk needs some 10 ms.
const SLOW: Duration = Duration::from_millis(100);
/// Fewer syncs show little.
const ENOUGH: u64 = 8;
/// Older syncs say nothing of the disk as it is now.
const PRESENT: Duration = Duration::from_secs(300);

/// Pushes wait for room on the disk.
pub(super) fn disk_full(server: &ServerFacts) -> Option<Finding> {
    let folder = server.folder.as_ref().filter(|folder| folder.needed > 0)?;
    let mib = |bytes: u64| bytes / (1024 * 1024);
    let free = folder
        .free
        .map(|free| format!("{} MiB are free, ", mib(free)));
    let sentence = format!(
        "the disk is full, and pushes are refused: {}{} MiB are needed; consumers can drain it",
        free.unwrap_or_default(),
        mib(folder.needed)
    );
    let finding = Finding::new(Problem::RefusesWrites, Severity::Standstill, sentence)
        .with("server", server.address.clone())
        .with("free", folder.free)
        .with("needed", folder.needed);
    Some(finding.advise(format!("make room on the disk of {}", server.address)))
}

/// Syncs take long, and calls wait for them.
pub(super) fn slow_disk(server: &ServerFacts) -> Option<Finding> {
    let folder = server.folder.as_ref().filter(|folder| folder.held)?;
    let syncs = folder.syncs.as_ref()?;
    let is_present = server.now.since(syncs.last) < PRESENT;
    if syncs.count < ENOUGH || syncs.median < SLOW || !is_present {
        return None;
    }
    let sentence = format!(
        "the disk is slow: half of the last {} syncs took {} or longer, the slowest {}",
        syncs.count,
        words(syncs.median),
        words(syncs.slowest)
    );
    let finding = Finding::new(Problem::SlowDisk, Severity::Trouble, sentence)
        .with("server", server.address.clone())
        .with("syncs", syncs.count)
        .with("median_ms", millis_ceil(syncs.median))
        .with("slowest_ms", millis_ceil(syncs.slowest));
    Some(finding.advise(
        "look what else writes to this disk, or take a faster one; calls at the same time share a sync",
    ))
}

/// Messages wait, and no process has their folder.
pub(super) fn no_owner(view: &QueueView, line: &Line) -> Option<Finding> {
    let folder = view.facts.server.as_ref()?.folder.as_ref();
    let FolderFacts { owner, .. } = folder.filter(|folder| !folder.held)?;
    let depth = line.counters.depth;
    let shown_only = is_shown_only(&view.name, view.config.kind(), &line.counters);
    if depth.occupied() == 0 || shown_only {
        return None;
    }
    let last = owner.map(|owner| format!("; the last one was the process {owner}"));
    let sentence = format!(
        "{} ready, {} delayed and {} leased, and no process has the folder{}",
        depth.ready,
        depth.delayed,
        depth.leased,
        last.unwrap_or_default()
    );
    // Nothing else is due.
    let severity = match depth.ready + depth.leased {
        0 => Severity::Trouble,
        _ => Severity::Standstill,
    };
    let finding = Finding::new(Problem::NoOwner, severity, sentence)
        .with("owner", *owner)
        .with("waiting", depth.occupied());
    Some(finding.advise("start the program of these queues; its log says why it ended"))
}

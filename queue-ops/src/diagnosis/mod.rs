//! The findings about a queue.

mod checks;
mod families;
mod folder;
mod leases;
mod refusals;
mod server;
mod survey;
mod view;

use std::{collections::BTreeMap, fmt, time::Duration};

use futures_util::future::join;
use queue_core::{
    Backend, Counters, Facts, Page, Place, QueueConfig, QueueKind, QueueName, Result, ServerFacts,
    Standing, Timestamp, is_operators_list, sanitized,
};
use serde::Serialize;
use serde_json::Value;
use tokio::time::{Instant, sleep};

pub use self::survey::diagnose_each;
use self::{
    refusals::refused,
    view::{Line, Lists, MOST, QueueView, Reading},
};
use crate::{ShellCommand, consumers::leased_at, list_queues, words::duration_in_words};

/// The time between two looks at a queue that seems to stand still.
const AGAIN: Duration = Duration::from_millis(300);

/// The findings about a queue.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Diagnosis {
    /// The queue.
    pub queue: QueueName,
    /// The findings, the worst first.
    pub findings: Vec<Finding>,
    /// The numbers that were read; `None` if there is no such queue, or if it cannot be read.
    pub numbers: Option<Numbers>,
}

/// The numbers of a queue.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Numbers {
    /// Its kind.
    pub kind: QueueKind,
    /// The backend's time, by which all others are.
    pub now: Timestamp,
    /// Its counters; `None` of a ring.
    pub counters: Option<Counters>,
    /// Facts that its calls do not show.
    pub facts: Facts,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// What it is.
    pub problem: Problem,
    /// How bad it is.
    pub severity: Severity,
    /// It in a sentence, on one line: names and reasons of others are [`sanitized`].
    pub sentence: String,
    /// The numbers that show it.
    pub evidence: BTreeMap<&'static str, Value>,
    /// The way out, if there is one.
    pub remedy: Option<Remedy>,
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Nothing moves, or will not for long.
    Standstill,
    /// Some messages do not move, or more is about to go wrong.
    Trouble,
    /// Worth knowing.
    Note,
}

/// A way out of a problem.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Remedy {
    /// The advice, in a sentence.
    pub what: String,
    /// The command that does it, to paste into a shell.
    pub command: Option<String>,
}

/// The subject of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Problem {
    /// There is no such queue.
    NoSuchQueue,
    /// The queue moves to another node of a cluster.
    Moving,
    /// The server refuses writes.
    RefusesWrites,
    /// The disk of a folder is slow.
    SlowDisk,
    /// The backend does not answer.
    Unreachable,
    /// The queue cannot be read: its data is damaged, or of another version.
    Unreadable,
    /// Messages wait, and no process has the folder of the queue.
    NoOwner,
    /// The queue is paused.
    Paused,
    /// A bounded queue is full.
    Full,
    /// A limit of the queue keeps ready messages.
    LimitReached,
    /// Groups of a grouped queue are paused, or wait for a retry.
    GroupsHeld,
    /// One group of a grouped queue has most of the leases.
    BusyGroup,
    /// A group of a grouped queue has as many messages at once as its own rule allows, and others of it wait.
    GroupLimited,
    /// Groups of a grouped queue wait for tokens of their rates.
    GroupsRated,
    /// The same message was held by several workers that are gone: it may end its process.
    KillsItsProcess,
    /// Messages are leased for long, none is settled, and the leases are extended: handlers do not return.
    HandlersHang,
    /// Leases expire, and the workers that had them live: their handlers block the runtime, or take longer than a lease.
    LeasesExpire,
    /// The stored configuration differs from the one that a program expects, or asked for in vain.
    ConfigDiffers,
    /// Messages are ready, and nobody waits for them.
    NoConsumer,
    /// Messages are ready, consumers wait, and nothing moves.
    WakeUpLost,
    /// A user lacks a right.
    RightMissing,
    /// A schedule that pushes to the queue is disabled.
    ScheduleDisabled,
    /// A schedule that pushes to the queue has a slot that is over, and nobody pushed for it.
    ScheduleLate,
    /// The record of a schedule that pushes to the queue, or may do so, cannot be read.
    ScheduleUnreadable,
    /// Rows of an outbox wait for a relay, and none takes them.
    OutboxWaits,
    /// The oldest row of an outbox is almost too old for a relay.
    OutboxNearsWindow,
    /// Rows of an outbox are refused.
    OutboxRefused,
    /// Messages are due in thousands of years.
    WrongUnit,
    /// Messages are leased by a worker that is gone.
    HolderGone,
    /// Leases last for very long.
    LongLeases,
    /// Messages fail to decode.
    Undecodable,
    /// A durable job waits while a child of it is dead, or is dead because a child is.
    ChildDead,
    /// Durable jobs wait for children in a queue that is paused, or that nobody serves.
    ChildrenWait,
    /// Messages fail again and again.
    Failing,
    /// The server's clock went back.
    ClockWentBack,
    /// There are dead letters.
    DeadLetters,
    /// Consumers are slower than producers.
    TooSlow,
    /// All messages are due later.
    AllDueLater,
    /// The queue is empty.
    Empty,
    /// A place has more than is looked at: only its first entries were.
    Sampled,
    /// A setting or state of the server that may do harm.
    ServerWarning,
}

/// Finds out why a queue stands still, or that it does not. Changes nothing, and reads a bounded amount: the
/// first 10,000 groups, leases, delayed messages and dead letters. If there are more, a finding says so. If the queue
/// seems to stand still, it looks twice, 300 ms apart. Of the first 100 delayed messages and dead letters that are durable
/// jobs it looks at the children, by up to 22 calls to up to four queues.
///
/// # Errors
///
/// `Invalid` for a bad name. A queue that cannot be read is a finding, not an error.
pub async fn diagnose(backend: &dyn Backend, queue: &str) -> Result<Diagnosis> {
    let name = QueueName::new(queue)?;
    let (lists, facts) = join(Lists::read(backend), backend.facts(&name)).await;
    let reading = Reading {
        lists: &lists,
        most: MOST,
    };
    Ok(look(backend, name, facts, reading, None).await)
}

/// The counters of a queue, and when they were read at the latest.
type FirstLook = (Instant, Counters);

/// Looks at a queue. `first` is a look before this one, if there was any.
async fn look(
    backend: &dyn Backend,
    name: QueueName,
    facts: Result<Facts>,
    reading: Reading<'_>,
    first: Option<FirstLook>,
) -> Diagnosis {
    let (facts, failed) = match facts {
        Ok(facts) => (facts, None),
        Err(error) => (Facts::default(), Some(error)),
    };
    // The server may know why a queue cannot be read.
    let server = facts.server.clone();
    let read = match failed {
        Some(error) => Err(error),
        None => QueueView::at(backend, &name, facts, reading).await,
    };
    let view = match read {
        Ok(Some(view)) => view,
        Ok(None) => return Diagnosis::unread(name.clone(), server::no_such_queue(name.as_str())),
        Err(error) => {
            let mut diagnosis =
                Diagnosis::unread(name.clone(), server::unreadable(&error, server.as_ref()));
            let server = server.iter();
            diagnosis.add(server.flat_map(|server| server::findings(server, &name)));
            return diagnosis;
        }
    };
    let mut findings = checks::all(&view);
    let stands =
        |finding: &Finding| matches!(finding.problem, Problem::NoConsumer | Problem::WakeUpLost);
    if findings.iter().any(stands)
        && let Some(line) = &view.line
        && moves(line, first).await
    {
        findings.retain(|finding| !stands(finding));
    }
    let nobody_leases = findings
        .iter()
        .any(|finding| finding.problem == Problem::NoConsumer);
    findings.extend(refused(&view, nobody_leases));
    findings.extend(families::all(backend, &view, reading.lists).await);
    let mut diagnosis = Diagnosis {
        queue: name,
        findings: Vec::new(),
        numbers: Some(Numbers {
            kind: view.config.kind(),
            now: view.now,
            counters: view.line.map(|line| line.counters),
            facts: view.facts,
        }),
    };
    diagnosis.add(findings);
    diagnosis
}

/// Whether messages were handed out, or settled, since a first look; without one, or where it was just now, the queue is
/// looked at once more.
async fn moves(line: &Line, first: Option<FirstLook>) -> bool {
    let (looked, before) = first.unwrap_or((Instant::now(), line.counters));
    let wait = AGAIN.saturating_sub(looked.elapsed());
    if wait.is_zero() {
        return has_moved(&before, &line.counters);
    }
    sleep(wait).await;
    let again = line.queue.counters().await;
    again.is_ok_and(|again| has_moved(&line.counters, &again))
}

/// A name under which nothing is stored: the facts of a server need none.
const NO_QUEUE: &str = "qk-check";

/// The state of the backend's server, if the backend can tell.
///
/// # Errors
///
/// Errors of the backend.
pub async fn server_facts(backend: &dyn Backend) -> Result<Option<ServerFacts>> {
    Ok(backend.facts(&QueueName::new(NO_QUEUE)?).await?.server)
}

/// The findings about a server alone, the worst first: for a backend without queues.
pub fn server_findings(server: &ServerFacts) -> Vec<Finding> {
    let none = QueueName::new(NO_QUEUE).expect("a name of letters");
    let mut findings = server::findings(server, &none);
    findings.sort_by_key(|finding| (finding.severity, finding.problem));
    findings
}

/// The finding about a clock that went back, as the leases of the first 100 queues show it.
///
/// # Errors
///
/// Errors of the backend.
pub async fn clock_finding(backend: &dyn Backend) -> Result<Option<Finding>> {
    let mut latest = Timestamp::from_millis(0);
    for queue in list_queues(backend, 100).await? {
        let leased = queue.counters.map_or(0, |counters| counters.depth.leased);
        let stored = match leased {
            0 => None,
            _ => backend.open_stored(&queue.name).await?,
        };
        let Some(leasing) = stored.and_then(|stored| stored.queue.leasing()) else {
            continue;
        };
        let page = leasing.peek(Place::Leased, Page::first(100)).await?;
        for leased in page.entries {
            if let Standing::Leased { receipt, .. } = leased.standing {
                latest = latest.max(leased_at(receipt.token));
            }
        }
    }
    Ok(checks::clock_step(latest, backend.now().await?))
}

/// A finding, if the stored configuration of a queue differs from the one that a program opens it with: then the
/// program's open fails with `ConfigMismatch`. `settings` are those that differ, as `qk reconfigure` takes them.
pub fn config_finding(
    queue: &str,
    stored: &QueueConfig,
    wanted: &QueueConfig,
    settings: &str,
) -> Option<Finding> {
    let mismatch = wanted.check_stored(stored, false).err()?.to_string();
    // Its ways out are those of a program.
    let sentence = mismatch.split(": ").next().unwrap_or_default();
    let finding = Finding::new(
        Problem::ConfigDiffers,
        Severity::Standstill,
        sentence.replace("this open asks", "a program asks"),
    );
    Some(finding.remedy(
        "change the program's configuration, or the stored one",
        &settings.split_whitespace().fold(
            ShellCommand::new("reconfigure").value(queue),
            ShellCommand::value,
        ),
    ))
}

/// Whether messages were handed out, or settled, between two looks.
pub(crate) fn has_moved(before: &Counters, after: &Counters) -> bool {
    let settled = |counters: &Counters| counters.acked + counters.retried + counters.released;
    settled(before) != settled(after)
        || after.depth.leased != before.depth.leased
        || after.depth.ready < before.depth.ready
}

/// Whether a queue is a list that is shown, and that nobody leases from: of the last ten gifts, or for operators. Its
/// messages wait for nobody.
pub(crate) fn is_shown_only(queue: &QueueName, kind: QueueKind, counters: &Counters) -> bool {
    let leased = counters.acked
        + counters.retried
        + counters.deferred
        + counters.released
        + counters.expired
        + counters.died
        + counters.depth.leased;
    let renewed = counters.evicted + counters.replaced > 0 || is_operators_list(queue);
    kind == QueueKind::Bounded && renewed && leased == 0
}

impl Diagnosis {
    fn unread(queue: QueueName, finding: Finding) -> Self {
        Self {
            queue,
            findings: vec![finding],
            numbers: None,
        }
    }

    /// A diagnosis that read no numbers of the queue.
    #[cfg(feature = "outbox")]
    pub(crate) const fn without_numbers(queue: QueueName) -> Self {
        Self {
            queue,
            findings: Vec::new(),
            numbers: None,
        }
    }

    /// Adds findings from elsewhere, such as [`schedule_findings`](crate::schedule_findings).
    pub fn add(&mut self, findings: impl IntoIterator<Item = Finding>) {
        self.findings.extend(findings);
        self.findings
            .sort_by_key(|finding| (finding.severity, finding.problem));
    }

    /// Whether nothing is wrong: there are no findings, or notes alone.
    pub fn is_healthy(&self) -> bool {
        let notes = |finding: &Finding| finding.severity == Severity::Note;
        self.findings.iter().all(notes)
    }

    /// The worst finding in one line, with its command; or that nothing is wrong, with the numbers that say so.
    pub fn headline(&self) -> String {
        match self.findings.first().filter(|_| !self.is_healthy()) {
            Some(finding) => finding.to_string(),
            None => self.all_well(),
        }
    }

    fn all_well(&self) -> String {
        let Some(numbers) = &self.numbers else {
            return "nothing is wrong".to_owned();
        };
        let waiting = match numbers.facts.waiting {
            Some(1) => "; 1 consumer waits".to_owned(),
            Some(waiting) => format!("; {waiting} consumers wait"),
            None => String::new(),
        };
        let Some(counters) = &numbers.counters else {
            return format!("nothing is wrong{waiting}");
        };
        let depth = counters.depth;
        let oldest = match counters.oldest_ready {
            Some(age) if depth.ready > 0 => format!(" (the oldest for {})", duration_in_words(age)),
            _ => String::new(),
        };
        format!(
            "nothing is wrong: {} ready{oldest}, {} delayed, {} leased, {} dead, {} acked{waiting}",
            depth.ready, depth.delayed, depth.leased, depth.dead, counters.acked
        )
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)?;
        match self
            .remedy
            .as_ref()
            .and_then(|remedy| remedy.command.as_ref())
        {
            Some(command) => write!(f, ": `{command}`"),
            None => Ok(()),
        }
    }
}

impl Finding {
    pub(crate) fn new(problem: Problem, severity: Severity, sentence: impl Into<String>) -> Self {
        let sentence = sentence.into();
        Self {
            problem,
            severity,
            sentence: sanitized(&sentence).into_owned(),
            evidence: BTreeMap::new(),
            remedy: None,
        }
    }

    pub(crate) fn with(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.evidence.insert(name, value.into());
        self
    }

    /// Adds advice without a command.
    pub(crate) fn advise(mut self, what: impl Into<String>) -> Self {
        self.remedy = Some(Remedy {
            what: what.into(),
            command: None,
        });
        self
    }

    /// Adds advice with its command, if a shell can pass its values.
    pub(crate) fn remedy(mut self, what: impl Into<String>, command: &ShellCommand) -> Self {
        self.remedy = Some(Remedy {
            what: what.into(),
            command: command.text(),
        });
        self
    }
}

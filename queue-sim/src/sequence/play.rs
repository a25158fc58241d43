use std::{collections::BTreeSet, time::Duration};

use queue_core::{
    AnyQueue, Backend, ErrorKind, Layered, QueueKind, Result,
    call::{Answer, Call, Service},
    limits::MAX_BATCH,
};
use tokio::time;

use super::{Sequence, Step, symbol::Known};
use crate::{
    check::of_calls,
    engine::in_virtual_time,
    history::{Journal, Recorder},
    model::Model,
    plan::{Decisions, Plan, Process},
    run::{Frame, Played, queue_name},
    workload::Mode,
    world::{Environment, FaultMix},
};

const PROCESS: Process = Process(1);

/// Longer than any sequence takes.
const HORIZON: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

/// The goals that cases of this kind must reach, all together. For example, a comparison in which
/// no lease expires says nothing about expiry. [`Played::goals`] has some of them; the others show
/// in the history ([`check::reached`](crate::check::reached)).
pub fn goals(kind: QueueKind) -> BTreeSet<&'static str> {
    const LEASING: &[&str] = &[
        "8 MiB cut a lease short",
        "8 MiB cut a peek short",
        "128 leases expired at once",
        "128 messages outdated at once",
        "a dead letter was trimmed",
        "accepted again when done",
        "buried",
        "cancelled",
        "cancelled what never was",
        "deferred",
        "delivered when due",
        "discarded",
        "duplicate of a unique message",
        "due at the latest",
        "duplicate refused",
        "extend refused",
        "extended",
        "holder seen",
        "key passed on",
        "late cancel",
        "late reschedule",
        "lease expired",
        "moved later",
        "moved sooner",
        "moved to now",
        "outdated message buried",
        "outdated message dropped",
        "paused lease",
        "peeked at the delayed",
        "purged",
        "released",
        "replaced a delayed one",
        "replaced a ready one",
        "replaced a returned one",
        "retried",
        "retry on the last attempt",
        "revived",
        "stale receipt refused",
    ];
    const ROTATING: &[&str] = &[
        "8 MiB cut a rotation short",
        "listed",
        "pace waited for",
        "present",
        "removed",
        "answer round",
    ];
    const GOALS: &[(&str, &[&str])] = &[
        ("lease", LEASING),
        ("next_due", &["not due"]),
        ("priority", &["overtaken"]),
        ("recent", &["evicted", "full", "recent", "revive refused"]),
        ("rotate", ROTATING),
    ];
    let of_every_kind = ["an invalid call was refused"];
    of_every_kind
        .into_iter()
        .chain(of_calls(GOALS, kind))
        .collect()
}

/// Plays a sequence on a fresh queue of this backend, in virtual time, on this thread. After each
/// call it reads the queue's content and counters.
///
/// # Panics
///
/// Inside an async runtime.
pub fn play(sequence: &Sequence, environment: &mut dyn Environment) -> Played {
    in_virtual_time(run(sequence, environment))
}

async fn run(sequence: &Sequence, environment: &mut dyn Environment) -> Played {
    let decisions = Decisions::planned(Plan::default());
    let lease = Duration::from_millis(20);
    let frame = Frame::new(environment, &decisions, 0, FaultMix::none(), lease);
    let client = Client {
        known: Known::default(),
        model: Model::new(&sequence.config),
        journal: frame.context.journal.clone(),
        expired: 0,
        outdated: 0,
    };
    let (world, steps) = (frame.world.clone(), sequence.clone());
    let executor = &frame.context.executor;
    executor.spawn(
        PROCESS,
        Box::pin(async move {
            let recorder = Recorder::new(PROCESS, client.journal.clone());
            let backend = world.connect(PROCESS).await.expect("nothing goes wrong");
            let backend = Layered::new(recorder, backend);
            let queue = backend.open(&queue_name(), &steps.config).await;
            client.play(&queue.expect("a fresh queue"), &steps).await;
        }),
    );
    let end = executor.run(HORIZON).await;
    frame.note_leaks().await;
    Played {
        config: sequence.config.clone(),
        mode: Mode::Faults,
        goals: frame.context.journal.goals(),
        history: frame.end([PROCESS, Process::WORLD], &end),
        end,
        plan: Plan::default(),
    }
}

/// The client that makes the calls of a sequence.
struct Client {
    known: Known,
    /// Knows the times of changes that come without a call.
    model: Model,
    journal: Journal,
    /// The number of expired leases at the last read.
    expired: u64,
    /// The number of messages dropped as outdated at the last read.
    outdated: u64,
}

impl Client {
    async fn play(mut self, queue: &AnyQueue, sequence: &Sequence) {
        for step in &sequence.steps {
            let now = self.journal.now();
            match step {
                Step::Wait(wait) => {
                    let millis = wait.millis(now, self.model.next_boundary(now));
                    time::sleep(Duration::from_millis(millis)).await;
                }
                Step::Call(call) => {
                    let call = self.known.resolve(call.clone(), now);
                    self.call(queue, call).await;
                    match queue.kind() {
                        QueueKind::Rotating => self.call(queue, Call::Len).await,
                        _ => {
                            self.call(queue, Call::Depth).await;
                            self.call(queue, Call::Counters).await;
                        }
                    }
                }
            }
        }
    }

    async fn call(&mut self, queue: &AnyQueue, call: Call) {
        let now = self.journal.now();
        let answer = queue.call(call.clone()).await;
        // The checks compare answers; they have the whole history.
        let _ = self.model.apply(now, &call);
        if let Ok(answer) = &answer {
            self.known.learn(&call, answer);
        }
        self.reach(&call, &answer);
    }

    fn reach(&mut self, call: &Call, answer: &Result<Answer>) {
        let now = self.journal.now();
        let goal = match (call, answer) {
            (_, Err(error)) if error.kind() == ErrorKind::Invalid => "an invalid call was refused",
            (Call::Lease(max, _), Ok(Answer::Leased(leased)))
                if (1..max.get()).contains(&leased.deliveries.len())
                    && self.model.is_ready(now) =>
            {
                "8 MiB cut a lease short"
            }
            (Call::Peek(_, page), Ok(Answer::Peeked(seen)))
                if seen.entries.len() < page.limit && seen.next.is_some() =>
            {
                "8 MiB cut a peek short"
            }
            (Call::Rotate(max), Ok(Answer::Rotated(rotated)))
                if (1..max.get()).contains(&rotated.items.len()) && self.model.is_ready(now) =>
            {
                "8 MiB cut a rotation short"
            }
            (_, Ok(Answer::Counters(counters))) => {
                let expired =
                    counters.expired - std::mem::replace(&mut self.expired, counters.expired);
                if expired >= MAX_BATCH as u64 {
                    self.journal.reached("128 leases expired at once");
                }
                let outdated =
                    counters.outdated - std::mem::replace(&mut self.outdated, counters.outdated);
                if outdated >= MAX_BATCH as u64 {
                    self.journal.reached("128 messages outdated at once");
                }
                if counters.trimmed == 0 {
                    return;
                }
                "a dead letter was trimmed"
            }
            _ => return,
        };
        self.journal.reached(goal);
    }
}

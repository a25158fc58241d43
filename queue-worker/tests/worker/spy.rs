//! A spy in front of a queue: it counts calls, slows them down and makes them fail.

use std::{
    fmt::Debug,
    num::NonZeroUsize,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use async_trait::async_trait;
use queue_core::{
    Json,
    call::{Answer, Call, Front, Service},
    *,
};

/// The spy's counts, and its behaviour.
#[derive(Debug, Default)]
pub(crate) struct Watched {
    /// Whether a wait for a message leases the next and brings it, as a push on Redis would.
    pub(crate) hands_over: bool,
    /// The longest wait that was asked for.
    pub(crate) longest: Duration,
    pub(crate) settle_and_leases: u64,
    pub(crate) settles: u64,
    /// Settlements in all calls.
    pub(crate) settlements: usize,
    pub(crate) extends: u64,
    pub(crate) waits: u64,
    /// Waits that have not ended.
    pub(crate) waiting: u64,
    /// Calls whose future was dropped before it answered; waits are not counted.
    pub(crate) dropped: u64,
    /// The most messages that one call asked for.
    pub(crate) largest: usize,
    /// Receipts extended in the last `extend`.
    pub(crate) extended: usize,
    pub(crate) fault: Option<Fault>,
    /// The calls that the backend refuses for good.
    pub(crate) refusal: Option<Refusal>,
    /// The call of this number fails, and succeeds when it is repeated.
    pub(crate) fails_once: Option<u64>,
    /// The time that a call takes, half of it before it acts.
    pub(crate) latency: Duration,
    /// The time that each message of an answer takes in addition.
    pub(crate) per_message: Duration,
    /// The spy drops an answer whose messages take longer than this.
    pub(crate) patience: Option<Duration>,
}

/// The way calls fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Calls do nothing.
    Down,
    /// Calls take effect, and their answers are lost.
    Mute,
    /// `extend` fails; the rest works.
    NoExtend,
    /// `extend` returns nothing for its last receipt; the rest works.
    ShortExtend,
    /// Leasing fails, as on a full server; the rest works.
    NoLease,
    /// No hints come; the rest works.
    NoHints,
    /// No hints come, since a right is missing; the rest works.
    NoRight,
    /// Calls do nothing, and their error asks for [`PAUSE`].
    Busy,
}

/// A backend's refusal of calls that have a bad entry, of any batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) part: Part,
    /// The id of the bad message; without it, every message is bad.
    pub(crate) id: Option<u64>,
    /// Whether the call takes effect before it fails.
    pub(crate) applied: bool,
}

/// The bad part of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// A settlement, but no burial.
    Settlement,
    /// A settlement of any sort.
    AnySettlement,
    Extension,
    Progress,
}

impl Refusal {
    fn concerns(self, call: &Call) -> bool {
        let is_bad = |receipt: Receipt| self.id.is_none_or(|id| receipt.id.get() == id);
        let settles = |settlements: &[Settlement]| {
            settlements.iter().any(|each| {
                let buries = matches!(each.disposition, Disposition::Bury { .. });
                is_bad(each.receipt)
                    && match self.part {
                        Part::Settlement => !buries,
                        part => part == Part::AnySettlement,
                    }
            })
        };
        match call {
            Call::SettleAndLease(settlements, ..) | Call::Settle(settlements) => {
                settles(settlements)
            }
            Call::Extend(extensions, _) => extensions.iter().any(|each| {
                is_bad(each.receipt)
                    && match self.part {
                        Part::Progress => each.progress.is_some(),
                        part => part == Part::Extension,
                    }
            }),
            _ => false,
        }
    }
}

/// The pause that a busy backend asks for.
pub(crate) const PAUSE: Duration = Duration::from_secs(2);

impl Watched {
    pub(crate) fn calls(&self) -> u64 {
        self.settle_and_leases + self.settles
    }
}

/// A service in front of a queue.
#[derive(Debug, Clone)]
pub(crate) struct Spy {
    queue: AnyQueue,
    watched: Arc<Mutex<Watched>>,
}

impl Spy {
    pub(crate) fn on(queue: impl Into<AnyQueue>) -> Self {
        Self {
            queue: queue.into(),
            watched: Arc::default(),
        }
    }

    pub(crate) fn watched(&self) -> MutexGuard<'_, Watched> {
        self.watched.lock().unwrap()
    }

    /// The spy as a worker's queue.
    pub(crate) fn consumer<T>(&self) -> Consumer<T>
    where
        T: serde::de::DeserializeOwned,
    {
        Consumer::of(Arc::new(Front::of(Arc::new(self.clone()))), Json)
    }

    /// Makes a call, unless the fault of the moment concerns it.
    async fn watch(&self, call: Call) -> Result<Answer> {
        let immune_to = self.note(&call);
        let (latency, fault) = {
            let watched = self.watched();
            (watched.latency, watched.fault)
        };
        let fault = fault.filter(|fault| !immune_to.contains(fault));
        if call.is_wait() {
            let _waiting = Waiting::begin(self);
            return match fault {
                None | Some(Fault::ShortExtend) => self.wait(call).await,
                Some(fault) => Err(error(fault)),
            };
        }
        let mut guard = Unanswered(Some(self));
        let (refusal, fails) = {
            let mut watched = self.watched();
            let count = watched.calls() + watched.extends;
            let refusal = watched.refusal.filter(|refusal| refusal.concerns(&call));
            let fails = watched.fails_once.take_if(|nth| *nth <= count);
            (refusal, fails.is_some())
        };
        if let Some(Refusal { applied, .. }) = refusal.filter(|_| !fails) {
            guard.0 = None;
            let refused = Error::new(ErrorKind::Internal, "refused, says the test");
            return Err(match applied {
                true => {
                    self.queue.call(call).await?;
                    refused.with_outcome(Outcome::Unknown)
                }
                false => refused,
            });
        }
        if fails {
            guard.0 = None;
            return Err(unavailable());
        }
        let act = self.queue.call(call);
        if !latency.is_zero() {
            tokio::time::sleep(latency / 2).await;
        }
        let answer = match fault {
            None => act.await,
            Some(Fault::Mute) => {
                let _ = act.await;
                Err(unavailable().with_outcome(Outcome::Unknown))
            }
            Some(Fault::ShortExtend) => act.await.map(|answer| match answer {
                Answer::Extended(mut extended) => {
                    extended.pop();
                    Answer::Extended(extended)
                }
                other => other,
            }),
            Some(fault) => Err(error(fault)),
        };
        if !latency.is_zero() {
            tokio::time::sleep(latency / 2).await;
        }
        guard.0 = None;
        answer
    }

    async fn wait(&self, call: Call) -> Result<Answer> {
        let Call::WaitToLease(lease_time, holder, timeout) = call else {
            return self.queue.call(call).await;
        };
        let hands_over = {
            let mut watched = self.watched();
            watched.longest = watched.longest.max(timeout);
            watched.hands_over
        };
        if !hands_over {
            let call = Call::WaitToLease(lease_time, holder, timeout);
            return self.queue.call(call).await;
        }
        self.queue.call(Call::WaitForArrival(timeout)).await?;
        let lease = Call::SettleAndLease(Vec::new(), NonZeroUsize::MIN, lease_time, holder);
        Ok(match self.queue.call(lease).await? {
            Answer::SettledAndLeased(_, leased) => Answer::Leased(Leased::of(leased.deliveries)),
            other => other,
        })
    }

    /// Counts the call. Returns the faults that do not concern it.
    fn note(&self, call: &Call) -> &'static [Fault] {
        let mut watched = self.watched();
        match call {
            Call::SettleAndLease(settlements, max, ..) => {
                watched.settle_and_leases += 1;
                watched.settlements += settlements.len();
                watched.largest = watched.largest.max(max.get());
                &[Fault::NoExtend, Fault::NoHints, Fault::NoRight]
            }
            Call::Extend(receipts, _) => {
                watched.extends += 1;
                watched.extended = receipts.len();
                &[Fault::NoLease, Fault::NoHints, Fault::NoRight]
            }
            Call::WaitForArrival(_) | Call::WaitToLease(..) => {
                watched.waits += 1;
                &[Fault::NoExtend, Fault::NoLease]
            }
            call => {
                if let Call::Settle(settlements) = call {
                    watched.settles += 1;
                    watched.settlements += settlements.len();
                }
                &[
                    Fault::NoLease,
                    Fault::NoExtend,
                    Fault::NoHints,
                    Fault::NoRight,
                ]
            }
        }
    }

    /// Waits for the time that an answer's messages take.
    async fn carry(&self, leased: &Leased) -> Result<()> {
        let mut guard = Unanswered(Some(self));
        let (per_message, patience) = {
            let watched = self.watched();
            (watched.per_message, watched.patience)
        };
        let messages = u32::try_from(leased.deliveries.len()).unwrap();
        let time = per_message * messages;
        let carried = match patience {
            Some(patience) if time > patience => {
                tokio::time::sleep(patience).await;
                Err(unavailable().with_outcome(Outcome::Unknown))
            }
            _ => {
                if !time.is_zero() {
                    tokio::time::sleep(time).await;
                }
                Ok(())
            }
        };
        guard.0 = None;
        carried
    }
}

fn unavailable() -> Error {
    Error::new(ErrorKind::Unavailable, "out of order, says the test")
}

fn error(fault: Fault) -> Error {
    match fault {
        Fault::Busy => unavailable().with_retry_after(PAUSE),
        Fault::NoRight => Error::new(ErrorKind::Configuration, "no right, says the test"),
        _ => unavailable(),
    }
}

struct Waiting<'a>(&'a Spy);

impl<'a> Waiting<'a> {
    fn begin(spy: &'a Spy) -> Self {
        spy.watched().waiting += 1;
        Self(spy)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.watched().waiting -= 1;
    }
}

struct Unanswered<'a>(Option<&'a Spy>);

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        if let Some(spy) = self.0 {
            spy.watched().dropped += 1;
        }
    }
}

#[async_trait]
impl Service for Spy {
    async fn call(&self, call: Call) -> Result<Answer> {
        let answer = self.watch(call).await?;
        if let Answer::SettledAndLeased(_, leased) = &answer {
            self.carry(leased).await?;
        }
        Ok(answer)
    }
}

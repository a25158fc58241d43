//! The processes' random calls to a queue.
//!
//! A [`Workload`] holds the parameters of one run: the queue's configuration, the length of leases, the producers and
//! the consumers. Parameters differ more between runs than calls do within one (swarm testing). A driver is one
//! process: it opens the queue and makes calls, step by step, while faults cancel, crash and stall it. The drain at the
//! end empties the queue, and then a last client removes it.
//!
//! Choice points of the process's own step decide everything. Times lie at boundaries (a lease's end, a millisecond
//! before it, one after), because bugs lie there.

mod abandon;
mod actor;
mod bounded;
mod delay;
mod drain;
mod driver;
mod fit;
mod goals;
mod grouped;
mod interrupt;
mod leasing;
mod lost_hints;
mod messages;
mod mode;
mod operators;
mod played;
mod pool;
mod put;
mod remove;
mod rotating;
mod singly;
mod size;
mod verbs;

use std::time::Duration;

use queue_core::{GroupOrder, LeaseRate, OnDeath, QueueConfig, QueueKind};

pub(crate) use self::{drain::drain, driver::Driver, fit::Fit, pool::Pool, remove::remove};
pub use self::{goals::goals, mode::Mode, played::Played, size::Size, verbs::Verb};
use crate::{
    plan::{Chance, ChoicePoint, Decisions, Process, What},
    world::Fault,
};

/// The parameters of one run.
#[derive(Debug, Clone)]
pub struct Workload {
    /// The kind of queue.
    pub kind: QueueKind,
    /// The queue's configuration.
    pub config: QueueConfig,
    /// The faults that may strike.
    pub mode: Mode,
    /// The usual lease time.
    pub lease_time: Duration,
    /// The most messages in one batch.
    pub batch: u32,
    /// The chance that a message has a dedup key.
    pub dedup: Chance,
    /// The chance that a message has a distinct key.
    pub distinct: Chance,
    /// Whether processes also make operators' calls: purge, pause, discard, reconfigure.
    pub operators: bool,
    /// The chance that the next task to go on is another than the last.
    pub preemption: Chance,
    /// The number of additional processes that only wait.
    pub audience: u8,
    /// The size of batches and bodies.
    pub size: Size,
    /// Whether all messages are ordinary: none is unique, distinct, cancelled or outdated. A backend may have fast paths for a
    /// queue that never saw other messages.
    pub plain: bool,
}

/// Numbers of attempts; the decision chooses one.
const ATTEMPTS: [u32; 4] = [3, 1, 2, 4];
const DEAD_LETTER_CAPS: [u64; 4] = [1_000, 1, 2, 3];
const CAPACITIES: [usize; 4] = [2, 1, 3, 4];
const CROWDED_CAPS: [u64; 4] = [1_000, 128, 150, 200];
const CROWDED_CAPACITIES: [usize; 4] = [300, 129, 200, 260];
/// Limits at once, of one run in eight.
const AT_ONCE: [Option<u32>; 24] = {
    let mut drawn = [None; 24];
    (drawn[21], drawn[22], drawn[23]) = (Some(1), Some(2), Some(3));
    drawn
};
/// Rates, of one run in eight. A token comes each 2 ms at the latest.
const RATES: [Option<LeaseRate>; 24] = {
    let mut drawn = [None; 24];
    drawn[21] = Some(LeaseRate::new(1, Duration::from_millis(2)));
    drawn[22] = Some(LeaseRate::new(3, Duration::from_millis(5)));
    drawn[23] = Some(LeaseRate::new(5, Duration::from_millis(10)));
    drawn
};
/// Rates of groups, of one run in eight.
const GROUP_RATES: [Option<LeaseRate>; 24] = {
    let mut drawn = [None; 24];
    drawn[21] = Some(LeaseRate::new(1, Duration::from_millis(3)));
    drawn[22] = Some(LeaseRate::new(2, Duration::from_millis(7)));
    drawn[23] = Some(LeaseRate::new(1, Duration::from_millis(20)));
    drawn
};
/// The order within a group, and the most messages of one under leases.
const ORDERS: [(GroupOrder, u32); 6] = [
    (GroupOrder::Strict, 1),
    (GroupOrder::Strict, 1),
    (GroupOrder::Strict, 1),
    (GroupOrder::Loose, 1),
    (GroupOrder::Loose, 2),
    (GroupOrder::Loose, 3),
];
const LEASES: [u64; 4] = [20, 5, 10, 30];
const BATCHES: [u32; 4] = [1, 2, 3, 5];
const CHANCES: [Chance; 3] = [0, 25, 70];
/// The chances of distinct keys on other kinds than bounded queues. Keys keep queues short.
const DISTINCT: [Chance; 5] = [0, 0, 0, 25, 70];
const PREEMPTIONS: [Chance; 5] = [5, 20, 40, 65, 90];
/// The weights of zero to three processes that only wait. A change wakes as many waiters as it has work for, and one
/// more process is left to wake later.
const AUDIENCES: [u32; 4] = [64, 12, 12, 12];

impl Workload {
    /// Whether the contract determines the queue's answers under this fault. It leaves open which item of a paced ring
    /// is due first after the clock was set back.
    pub fn bears(&self, fault: Fault) -> bool {
        let paced = matches!(&self.config, QueueConfig::Rotating(config) if config.pace.is_some());
        !(paced && fault == Fault::ClockBack)
    }

    /// Draws the parameters of one run.
    pub fn draw(kind: QueueKind, mode: Mode, decisions: &Decisions) -> Self {
        let choose = |nth, options: usize| {
            let point = ChoicePoint::new(Process::WORLD, 0, What::Parameter).nth(nth);
            decisions.choose(point, options as u32) as usize
        };
        let audience = || {
            let point = ChoicePoint::new(Process::WORLD, 0, What::Parameter).nth(11);
            decisions.weigh(point, &AUDIENCES) as u8
        };
        let millis = Duration::from_millis;
        let lease = LEASES[choose(1, LEASES.len())];
        let attempts = ATTEMPTS[choose(2, ATTEMPTS.len())];
        let size = Size::draw(decisions);
        let (caps, capacities) = match size {
            Size::Crowd => (CROWDED_CAPS, CROWDED_CAPACITIES),
            Size::Usual | Size::Heavy => (DEAD_LETTER_CAPS, CAPACITIES),
        };
        let cap = caps[choose(3, caps.len())];
        let rhythm = [0, 0, 1, 10, lease][choose(4, 5)];
        let rhythm = (rhythm > 0).then(|| millis(rhythm));
        let capacity = match kind {
            QueueKind::Bounded => capacities[choose(5, capacities.len())],
            _ => 1,
        };
        let mut config = QueueConfig::of(kind, capacity);
        if let Some(leasing) = config.leasing_mut() {
            leasing.max_attempts = attempts;
            leasing.dead_letter_cap = cap;
            if size == Size::Usual {
                leasing.at_once = AT_ONCE[choose(20, AT_ONCE.len())];
                leasing.rate = RATES[choose(21, RATES.len())];
            }
        }
        match &mut config {
            QueueConfig::Priority(config) => config.ageing = rhythm,
            // A crowd is for calls on many messages at once, of which a strict group gives one. So it keeps the
            // configuration for plain messages.
            QueueConfig::Grouped(config) if size != Size::Crowd => {
                (config.order, config.per_group) = ORDERS[choose(22, ORDERS.len())];
                if choose(23, 4) == 1 {
                    config.on_death = OnDeath::Park;
                }
                if size == Size::Usual {
                    config.group_rate = GROUP_RATES[choose(25, GROUP_RATES.len())];
                }
            }
            QueueConfig::Rotating(config) => config.pace = rhythm,
            _ => {}
        }
        let plain = choose(13, 2) == 1;
        let keyed = CHANCES[choose(8, CHANCES.len())];
        let distinct = match kind {
            QueueKind::Bounded => keyed,
            _ if plain => 0,
            _ => DISTINCT[choose(24, DISTINCT.len())],
        };
        Self {
            kind,
            config,
            mode,
            lease_time: millis(lease),
            batch: BATCHES[choose(6, BATCHES.len())],
            dedup: CHANCES[choose(7, CHANCES.len())],
            distinct,
            operators: choose(9, 2) == 1,
            preemption: PREEMPTIONS[choose(10, PREEMPTIONS.len())],
            audience: match mode {
                Mode::Faults => 0,
                Mode::Waiting => audience(),
            },
            size,
            plain,
        }
    }

    /// Whether the queue has a limit at once or a rate, or its groups have one, at first or after a change.
    pub fn is_limited(&self) -> bool {
        let leasing = self.config.leasing();
        leasing.is_some_and(|leasing| leasing.at_once.is_some() || leasing.rate.is_some())
            || self.group_rate().is_some()
    }

    /// The rate of all groups, at first.
    pub(crate) fn group_rate(&self) -> Option<LeaseRate> {
        match &self.config {
            QueueConfig::Grouped(config) => config.group_rate,
            _ => None,
        }
    }

    /// The longest lease that a process asks for, and the longest delay.
    pub fn longest(&self) -> Duration {
        match self.mode {
            Mode::Faults => self.lease_time * 2,
            Mode::Waiting => LONG,
        }
    }

    /// Whether processes may change the queue's configuration. It is not drawn, so that older plans still play the same
    /// run.
    pub fn reconfigures(&self) -> bool {
        self.operators && (self.kind != QueueKind::Bounded || self.dedup == 0)
    }

    /// The time within which the queue must be empty once the faults are over (L7), or in which each item of a ring is
    /// visited once.
    pub fn drains_within(&self) -> Duration {
        if let QueueConfig::Rotating(config) = &self.config {
            // A lease's time is the longest pace that processes may set instead.
            let other = self.reconfigures().then_some(self.lease_time);
            return config.pace.max(other).unwrap_or_default() + SLACK;
        }
        let leasing = self.config.leasing();
        let attempts = leasing.map_or(1, |leasing| leasing.max_attempts);
        // Each attempt may come after a delay, and takes a lease.
        let limited = if self.is_limited() {
            LIMITED
        } else {
            Duration::ZERO
        };
        self.longest() * 2 * attempts + SLACK + limited
    }
}

/// A delay far above all others, so that a process that sleeps through an earlier change is later than
/// the contract allows.
const LONG: Duration = Duration::from_secs(1);

/// The time that a queue with limits has to drain, beside that of others: its messages wait for places and for tokens.
const LIMITED: Duration = Duration::from_secs(60);

/// The lateness that the contract allows a waiter.
const SLACK: Duration = Duration::from_millis(20);

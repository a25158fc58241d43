use std::fmt;

use queue_core::{Caveat, Condition, Guarantees};
use queue_sim::world::{Fault, FaultMix};

/// The chance of a condition's fault, in percent of its occasions.
const CHANCE: u32 = 15;

/// A condition under which a strategy is played.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum TrialCondition {
    /// No fault: several clients at once, and clients that stop while they hold something.
    NoFaults,
    /// This fault.
    Fault(Fault),
    /// Equal bodies, without a fault.
    EqualBodies,
    /// Clients whose clocks are ahead, without a fault.
    ClockAhead,
}

impl TrialCondition {
    /// All conditions that can be judged by callers' answers alone. Only the server knows what a roll-back or a restart
    /// undid, and what a repeated request did twice.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        const FAULTS: [Fault; 9] = [
            Fault::RequestLost,
            Fault::ReplyLost,
            Fault::Delayed,
            Fault::Late,
            Fault::Cut,
            Fault::Partition,
            Fault::Cancelled,
            Fault::Crashed,
            Fault::Stalled,
        ];
        let faults = FAULTS.into_iter().map(Self::Fault);
        let others = [Self::EqualBodies, Self::ClockAhead];
        [Self::NoFaults].into_iter().chain(faults).chain(others)
    }

    /// The faults that strike.
    pub(crate) fn faults(self) -> FaultMix {
        match self {
            Self::Fault(fault) => FaultMix::none().with(fault, CHANCE),
            _ => FaultMix::none(),
        }
    }

    /// The condition as a strategy declares it.
    pub(crate) const fn when(self) -> Condition {
        match self {
            Self::NoFaults => Condition::NoFaults,
            Self::Fault(fault) => Condition::Fault(fault.as_str()),
            Self::EqualBodies => Condition::EqualBodies,
            Self::ClockAhead => Condition::ClockAhead,
        }
    }

    /// Whether a strategy declares that it breaks this rule under the condition. A rule that breaks without faults
    /// breaks under every other condition, too; so does a rule for which the strategy has no place. To their callers,
    /// messages of equal bodies are one message, so under equal bodies no other rule can be judged.
    pub(crate) fn breaks(self, guarantees: &Guarantees, rule: &str) -> bool {
        let declares = |caveat: &Caveat| {
            let always = matches!(
                caveat.when,
                Condition::NoFaults | Condition::Absent | Condition::Partitions
            );
            (always || caveat.when == self.when()) && is_same(caveat.rule, rule)
        };
        self == Self::EqualBodies || guarantees.caveats.iter().any(declares)
    }

    /// The rules that a strategy declares for this condition.
    pub(crate) fn declared(self, guarantees: &Guarantees) -> impl Iterator<Item = &Caveat> {
        let caveats = guarantees.caveats.iter();
        caveats.filter(move |caveat| caveat.when == self.when())
    }
}

/// Whether a finding by one rule also proves that the other is broken: a lost message counts as L5 or as L8.
pub(crate) fn is_same(rule: &str, other: &str) -> bool {
    let is_loss = |rule| matches!(rule, "L5" | "L8");
    rule == other || is_loss(rule) && is_loss(other)
}

impl fmt::Display for TrialCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoFaults => "alone",
            Self::Fault(fault) => fault.as_str(),
            Self::EqualBodies => "equal bodies",
            Self::ClockAhead => "clock ahead",
        })
    }
}

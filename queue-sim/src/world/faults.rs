use std::fmt;

use crate::plan::{Chance, Decisions, Lane, Site, What};

macro_rules! faults {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// What can go wrong.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Fault {
            $($(#[$doc])* $name,)*
        }

        impl Fault {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// Its name in reports.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

faults! {
    /// A request is lost before it is executed.
    RequestLost = "request lost",
    /// A request is executed, and its reply lost.
    ReplyLost = "reply lost",
    /// A request or a reply is late, but arrives in time.
    Delayed = "delayed",
    /// A request is executed after its caller gave up.
    Late = "late",
    /// A request is executed twice.
    Repeated = "repeated",
    /// A request is refused before anything is sent.
    Refused = "refused",
    /// A wait ends for no reason.
    Spurious = "spurious hint",
    /// A connection is cut, before or after what is on its way is executed.
    Cut = "cut",
    /// A connection is cut in the middle of a reply.
    CutInFrame = "cut in mid-frame",
    /// A lane is cut off from the backend for a while; then everything arrives.
    Partition = "partition",
    /// A call's future is dropped.
    Cancelled = "cancelled",
    /// A lane's process dies, and starts anew without its memory.
    Crashed = "crashed",
    /// A lane stands still, and goes on as if nothing had happened.
    Stalled = "stalled",
    /// The server forgets its scripts.
    ScriptsFlushed = "scripts flushed",
    /// The server is killed and started again.
    Restarted = "restarted",
    /// The server's clock steps back.
    ClockBack = "clock stepped back",
    /// The server loses the last acknowledged steps: a failover, or a power loss.
    RolledBack = "rolled back",
}

impl Fault {
    /// Whether it befalls a lane itself, and not what the lane sends.
    pub const fn is_of_lanes(self) -> bool {
        matches!(self, Self::Cancelled | Self::Crashed | Self::Stalled)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How often each fault strikes, in percent of the occasions that it has.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Faults {
    mix: Vec<(Fault, Chance)>,
    spared: Vec<Lane>,
}

impl Faults {
    /// Nothing goes wrong.
    pub const fn none() -> Self {
        Self {
            mix: Vec::new(),
            spared: Vec::new(),
        }
    }

    /// The mix of one run: each of these faults strikes in some runs and not in others, at a
    /// chance of the run's own; in some runs nothing goes wrong, in some nearly everything. Mixes
    /// differ more from each other than draws from one mix would (swarm testing: Groce and others,
    /// 2012).
    pub fn drawn(decisions: &Decisions, possible: &[Fault]) -> Self {
        let mut mix = Vec::new();
        let site = Site::new(Lane::WORLD, 1, What::Parameter).nth(Fault::ALL.len() as u32);
        let density = [0, 10, 25, 50][decisions.choose(site, 4) as usize];
        for fault in possible {
            let nth = *fault as u32;
            let site = Site::new(Lane::WORLD, 1, What::Parameter).nth(nth);
            let chance = match decisions.draw(site, 4, density) {
                0 => continue,
                1 => 3,
                2 => 15,
                _ => 40,
            };
            mix.push((*fault, chance));
        }
        Self {
            mix,
            spared: Vec::new(),
        }
    }

    /// The same with this fault at this chance.
    #[must_use]
    pub fn with(mut self, fault: Fault, chance: Chance) -> Self {
        self.mix.retain(|(other, _)| *other != fault);
        self.mix.push((fault, chance));
        self
    }

    /// The same without those that this refuses.
    #[must_use]
    pub fn only(mut self, allowed: impl Fn(Fault) -> bool) -> Self {
        self.mix.retain(|(fault, _)| allowed(*fault));
        self
    }

    /// How often it strikes.
    pub fn chance(&self, fault: Fault) -> Chance {
        let found = self.mix.iter().find(|(other, _)| *other == fault);
        found.map_or(0, |(_, chance)| *chance)
    }

    /// The same, but never on this lane.
    #[must_use]
    pub fn sparing(mut self, lane: Lane) -> Self {
        self.spared.push(lane);
        self
    }

    /// Whether nothing ever strikes this lane.
    pub fn spares(&self, lane: Lane) -> bool {
        self.spared.contains(&lane)
    }

    /// The faults that strike at all.
    pub fn iter(&self) -> impl Iterator<Item = Fault> {
        self.mix.iter().map(|(fault, _)| *fault)
    }
}

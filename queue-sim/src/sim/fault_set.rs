use crate::world::Fault;

/// The faults that a simulation may meet. Each seed draws its own mix: some faults strike often in
/// it, some never.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FaultSet {
    pub(super) faults: Vec<Fault>,
}

impl FaultSet {
    /// The faults that every program on a network meets: lost requests and replies, delays, cut
    /// connections, workers that crash or stall.
    pub fn all() -> Self {
        // These faults are unfair to handlers. No transport here executes a request twice. A lost history breaks
        // promises by declaration. The operator is responsible for the server's clock. The code under test decides
        // which futures it drops.
        let unfair = [
            Fault::Repeated,
            Fault::RolledBack,
            Fault::ClockBack,
            Fault::Cancelled,
        ];
        let faults = Fault::ALL.iter().copied();
        Self {
            faults: faults.filter(|fault| !unfair.contains(fault)).collect(),
        }
    }

    /// No faults: only the order of events is left to chance.
    pub const fn none() -> Self {
        Self { faults: Vec::new() }
    }

    /// Only these faults.
    pub fn only(faults: impl IntoIterator<Item = Fault>) -> Self {
        Self {
            faults: faults.into_iter().collect(),
        }
    }

    /// Takes this fault out.
    #[must_use]
    pub fn without(mut self, fault: Fault) -> Self {
        self.faults.retain(|other| *other != fault);
        self
    }

    /// Adds this fault.
    #[must_use]
    pub fn with(mut self, fault: Fault) -> Self {
        self.faults.retain(|other| *other != fault);
        self.faults.push(fault);
        self
    }
}

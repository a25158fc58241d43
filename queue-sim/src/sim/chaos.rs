use crate::world::Fault;

/// Which faults a simulation may meet. Each seed draws its own mix of them: some strike often in
/// it, some never.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chaos {
    pub(super) faults: Vec<Fault>,
}

impl Chaos {
    /// What every program on a network lives with: lost requests and replies, delays, cut
    /// connections, workers that crash or stand still.
    pub fn all() -> Self {
        // Not these: a request that is executed twice is what no transport here does, a lost
        // history breaks promises by declaration, the server's clock is the operator's, and which
        // futures are dropped is up to the code under test.
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

    /// Nothing goes wrong; only the order of things is left to chance.
    pub const fn none() -> Self {
        Self { faults: Vec::new() }
    }

    /// Only these.
    pub fn only(faults: impl IntoIterator<Item = Fault>) -> Self {
        Self {
            faults: faults.into_iter().collect(),
        }
    }

    /// The same without this one.
    #[must_use]
    pub fn without(mut self, fault: Fault) -> Self {
        self.faults.retain(|other| *other != fault);
        self
    }

    /// The same with this one.
    #[must_use]
    pub fn with(mut self, fault: Fault) -> Self {
        self.faults.retain(|other| *other != fault);
        self.faults.push(fault);
        self
    }
}

impl Default for Chaos {
    fn default() -> Self {
        Self::all()
    }
}

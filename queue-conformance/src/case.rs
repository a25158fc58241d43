//! One case of the suite.

use queue_core::{Feature, QueueKind};

use crate::{Capabilities, Capability, Play, stage::Stage};

/// One case of the suite.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    pub(crate) name: &'static str,
    pub(crate) kind: Option<QueueKind>,
    pub(crate) needs: &'static [Capability],
    /// The features that its queues need.
    pub(crate) features: &'static [Feature],
    pub(crate) play: for<'s> fn(&'s Stage<'_>) -> Play<'s>,
}

impl Case {
    /// The kind of queue and the rule, as in `reliable::f1_first_in_first_out`.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The case's kind of queue; `None` if it is about the backend as a whole, or about once keys.
    pub const fn kind(&self) -> Option<QueueKind> {
        self.kind
    }

    /// The rule, which begins the case's own name: `F1`, or a word of the contract such as `LIMITS`.
    pub fn rule(&self) -> String {
        let own = self.name.rsplit("::").next().unwrap_or(self.name);
        own.split('_').next().unwrap_or(own).to_uppercase()
    }

    /// The first capability that the case needs and that `capabilities` lack.
    pub fn missing(&self, capabilities: &Capabilities) -> Option<Capability> {
        let kind = self.kind.map(Capability::Kind);
        let mut needs = kind.into_iter().chain(self.needs.iter().copied());
        needs.find(|need| !capabilities.has(*need))
    }
}

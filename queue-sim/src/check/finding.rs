use std::{borrow::Cow, fmt};

use crate::history::CallId;

/// What is wrong with a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What is broken: a rule's number in `CONTRACT.md`, such as `L4`, what else must hold of every
    /// run (`linearisable`, `limits`, `leftovers`, `operators`, `waiting`, `outcome`, `progress`,
    /// `determinism`), or the name of a check of one's own. A run is shrunk as long as it breaks the
    /// same.
    pub rule: Cow<'static, str>,
    /// How, in a sentence.
    pub message: String,
    /// The calls that show it, in their order.
    pub calls: Vec<CallId>,
    /// The effects that show it, by their place in [`Story::effects`](crate::sim::Story::effects).
    pub effects: Vec<usize>,
}

impl Finding {
    /// A finding that no call shows.
    pub fn new(rule: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self {
            rule: rule.into(),
            message: message.into(),
            calls: Vec::new(),
            effects: Vec::new(),
        }
    }

    /// The same, shown by these calls.
    #[must_use]
    pub fn shown_by(mut self, calls: impl IntoIterator<Item = CallId>) -> Self {
        self.calls.extend(calls);
        self
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.rule, self.message)
    }
}

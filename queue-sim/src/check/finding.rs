use std::{borrow::Cow, fmt};

use crate::history::CallId;

/// One broken rule of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The broken rule: its number in `CONTRACT.md`, such as `L4`; another property of every run
    /// (`linearisable`, `limits`, `leaks`, `operators`, `waiting`, `outcome`, `progress`,
    /// `determinism`); or the name of the caller's own check. Shrinking keeps it the same.
    pub rule: Cow<'static, str>,
    /// How the run breaks it, in a sentence.
    pub message: String,
    /// The calls that show the broken rule, in their order.
    pub calls: Vec<CallId>,
    /// The effects that show the broken rule, by their place in [`RunRecord::effects`](crate::sim::RunRecord::effects).
    pub effects: Vec<usize>,
}

impl Finding {
    /// A finding without calls that show it.
    pub fn new(rule: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self {
            rule: rule.into(),
            message: message.into(),
            calls: Vec::new(),
            effects: Vec::new(),
        }
    }

    /// Sets the calls that show it.
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

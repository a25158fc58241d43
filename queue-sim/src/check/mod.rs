//! Checking a history against the contract.

use std::fmt;

use crate::history::CallId;

/// A rule of the contract that a history breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The rule: its number in `CONTRACT.md`, such as `L4`, or what else must hold: `linearisable`,
    /// `progress`, `outcome`, `determinism`.
    pub rule: &'static str,
    /// What is wrong, in a sentence.
    pub message: String,
    /// The calls that show it, in their order.
    pub calls: Vec<CallId>,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.rule, self.message)
    }
}

/// What the checks say of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Every rule holds.
    Holds,
    /// These rules are broken; the one that explains it best comes first.
    Broken(Vec<Violation>),
    /// The search for an order ran out of its budget. Never a pass.
    Inconclusive,
}

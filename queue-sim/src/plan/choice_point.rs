use std::fmt;

use crate::named::named;

/// A simulated process of a run, which crashes, stalls and loses its network as a whole. Process 0 is the world: the
/// network, the server, the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Process(pub u8);

impl Process {
    /// The network, the server, the clock.
    pub const WORLD: Self = Self(0);
}

impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The place of a decision: the process that decides, its step, the matter, and a number, because a process may decide
/// about the same matter several times in a step.
///
/// A choice point depends on nothing outside its process, so removing one decision from a plan leaves the others in
/// place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChoicePoint {
    /// The process that decides.
    pub process: Process,
    /// The process's step.
    pub step: u32,
    /// The matter.
    pub what: What,
    /// The number of the decision about this matter in this step, from 0.
    pub nth: u32,
}

impl ChoicePoint {
    /// The first decision about this matter at this step.
    pub const fn new(process: Process, step: u32, what: What) -> Self {
        Self {
            process,
            step,
            what,
            nth: 0,
        }
    }

    /// Sets the number.
    #[must_use]
    pub const fn nth(mut self, nth: u32) -> Self {
        self.nth = nth;
        self
    }

    /// Whether the decision is about a parameter of the whole run. A parameter allows events in the run, and causes
    /// none.
    pub const fn is_parameter(self) -> bool {
        matches!(self.what, What::Parameter)
    }
}

impl fmt::Display for ChoicePoint {
    /// `process.step.what`, and `.nth` if it is not the first.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.process, self.step, self.what)?;
        match self.nth {
            0 => Ok(()),
            nth => write!(f, ".{nth}"),
        }
    }
}

named! {
    /// The matter of a decision.
    pub enum What {
        /// A parameter of the whole run: the queue's configuration, the faults' chances.
        Parameter = "parameter",
        /// The ready task to poll next, if it is not the last task again.
        Pick = "pick",
        /// The process's verb in this step.
        Verb = "verb",
        /// An argument of the verb.
        Argument = "argument",
        /// The fate of a request on its way.
        Request = "request",
        /// The fate of a reply on its way.
        Reply = "reply",
        /// The length of a delay.
        Delay = "delay",
        /// The fate of the process: cancelled, crashed, stalled.
        Interrupt = "interrupt",
        /// The fate of the server or its network.
        Server = "server",
        /// A decision that the user's own code asks for.
        User = "user",
    }
}

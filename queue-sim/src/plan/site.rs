use std::fmt;

/// Who acts. Lane 0 is the world: the network, the server, the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Lane(pub u8);

impl Lane {
    /// The network, the server, the clock.
    pub const WORLD: Self = Self(0);
}

impl fmt::Display for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Where a decision is taken: the lane that decides, the step it is at, what it decides about, and a
/// number, since it may decide about the same thing several times in a step.
///
/// A site depends on nothing that happens elsewhere, so that taking one decision out of a plan
/// leaves the others where they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Site {
    /// Whose decision.
    pub lane: Lane,
    /// At which step of the lane.
    pub step: u32,
    /// What it is about.
    pub what: What,
    /// The number of the decision about this in this step, from 0.
    pub nth: u32,
}

impl Site {
    /// The first decision about this at this step.
    pub const fn new(lane: Lane, step: u32, what: What) -> Self {
        Self {
            lane,
            step,
            what,
            nth: 0,
        }
    }

    /// The same site with this number.
    #[must_use]
    pub const fn nth(mut self, nth: u32) -> Self {
        self.nth = nth;
        self
    }

    /// Whether the decision is about a parameter of the whole run: what may happen in it, and
    /// nothing of what does.
    pub const fn is_parameter(self) -> bool {
        matches!(self.what, What::Parameter)
    }
}

impl fmt::Display for Site {
    /// `lane.step.what`, and `.nth` if it is not the first.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.lane, self.step, self.what)?;
        match self.nth {
            0 => Ok(()),
            nth => write!(f, ".{nth}"),
        }
    }
}

macro_rules! whats {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// What a decision is about.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum What {
            $($(#[$doc])* $name,)*
        }

        impl What {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// Its name in a plan.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

whats! {
    /// A parameter of the whole run: how the queue is configured, how often faults strike.
    Parameter = "parameter",
    /// Which ready task is polled next, when it is not the same one again.
    Pick = "pick",
    /// What a lane does in this step.
    Verb = "verb",
    /// An argument of that.
    Argument = "argument",
    /// What becomes of a request on its way.
    Request = "request",
    /// What becomes of a reply on its way.
    Reply = "reply",
    /// How long something is late.
    Delay = "delay",
    /// What becomes of the lane: cancelled, crashed, stalled.
    Interrupt = "interrupt",
    /// What becomes of the server or its network.
    Server = "server",
    /// A decision of a user's own code.
    User = "user",
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

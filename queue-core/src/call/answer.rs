use std::{num::NonZeroUsize, time::Duration};

use crate::{
    Cancelled, Counters, DeadLetter, Depth, Error, ErrorKind, Extended, Found, Group, Inserted,
    Leased, Message, MessageId, Paged, Peeked, Pushed, Rescheduled, Result, Revived, Rotated,
    Settled,
};

/// The return type of a method, converted to and from the answer to a call.
pub(crate) trait Answered: Sized {
    fn answer(self) -> Answer;

    /// # Errors
    ///
    /// `Internal` if it is the answer to another call.
    fn of(answer: Answer) -> Result<Self>;
}

macro_rules! answers {
    ($($name:ident: $type:ty;)*) => {
        /// The answer to a [`Call`](super::Call).
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        #[expect(missing_docs, reason = "each is documented as the type in it")]
        pub enum Answer {
            Nothing,
            Counters(Box<Counters>),
            SettledAndLeased(Vec<Settled>, Leased),
            $($name($type),)*
        }

        $(
            impl Answered for $type {
                fn answer(self) -> Answer {
                    Answer::$name(self)
                }

                fn of(answer: Answer) -> Result<Self> {
                    match answer {
                        Answer::$name(answer) => Ok(answer),
                        other => Err(wrong(&other)),
                    }
                }
            }
        )*
    };
}

answers! {
    Pushed: Vec<Pushed>;
    Cancelled: Vec<Cancelled>;
    Rescheduled: Vec<Rescheduled>;
    Next: Option<Duration>;
    Messages: Vec<Message>;
    Capacity: NonZeroUsize;
    Ids: Vec<MessageId>;
    Inserted: Vec<Inserted>;
    Rotated: Rotated;
    Items: Paged<Message>;
    Leased: Leased;
    Settled: Vec<Settled>;
    Extended: Vec<Extended>;
    Depth: Depth;
    DeadLetters: Paged<DeadLetter>;
    Revived: Vec<Revived>;
    Count: u64;
    Peeked: Paged<Peeked>;
    Groups: Paged<Group>;
    Found: Vec<Found>;
}

impl Answered for () {
    fn answer(self) -> Answer {
        Answer::Nothing
    }

    fn of(answer: Answer) -> Result<Self> {
        match answer {
            Answer::Nothing => Ok(()),
            other => Err(wrong(&other)),
        }
    }
}

impl Answered for Counters {
    fn answer(self) -> Answer {
        Answer::Counters(Box::new(self))
    }

    fn of(answer: Answer) -> Result<Self> {
        match answer {
            Answer::Counters(counters) => Ok(*counters),
            other => Err(wrong(&other)),
        }
    }
}

impl Answered for (Vec<Settled>, Leased) {
    fn answer(self) -> Answer {
        Answer::SettledAndLeased(self.0, self.1)
    }

    fn of(answer: Answer) -> Result<Self> {
        match answer {
            Answer::SettledAndLeased(settled, leased) => Ok((settled, leased)),
            other => Err(wrong(&other)),
        }
    }
}

fn wrong(answer: &Answer) -> Error {
    let message = format!("a service returned the answer to another call: {answer:?}");
    Error::new(ErrorKind::Internal, message)
}

use std::fmt::{self, Debug};

use queue_core::{Error, Outcome};

use crate::model::Answer;

/// How much of an answer is shown; a batch of large bodies is long.
const SHOWN: usize = 2_000;

/// A queue and its model disagree, or an answer breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Divergence {
    /// Which operation it was, from 0.
    pub step: usize,
    /// The operation.
    pub op: String,
    /// What is wrong.
    pub what: Diverged,
}

/// What is wrong with an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Diverged {
    /// The queue does not answer what the model does.
    Answers {
        /// The call.
        call: &'static str,
        /// What the model answers.
        model: String,
        /// What the queue answers.
        queue: String,
    },
    /// A rule is broken, which shows without a model.
    Rule(String),
}

impl Divergence {
    pub(super) fn new(step: usize, op: &impl Debug, what: Diverged) -> Self {
        let op = shown(op);
        Self { step, op, what }
    }
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "operation {}, {}: {}", self.step, self.op, self.what)
    }
}

impl fmt::Display for Diverged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Answers { call, model, queue } => {
                write!(
                    f,
                    "{call} differs\n the model: {model}\n the queue: {queue}"
                )
            }
            Self::Rule(rule) => f.write_str(rule),
        }
    }
}

impl std::error::Error for Divergence {}

impl From<String> for Diverged {
    fn from(rule: String) -> Self {
        Self::Rule(rule)
    }
}

/// The answer of both, or how they differ.
pub(super) fn agree<T: Debug + PartialEq>(
    call: &'static str,
    model: Answer<T>,
    queue: Result<T, Error>,
) -> Result<Answer<T>, Diverged> {
    if let Err(error) = &queue
        && error.outcome() != Outcome::NotApplied
    {
        let rule = format!("L8: {call} answers that it may have been applied: {error:?}");
        return Err(Diverged::Rule(rule));
    }
    let queue = match queue {
        Ok(answer) => Ok(answer),
        Err(error) if model == Err(error.kind()) => return Ok(model),
        Err(error) => Err(error),
    };
    if let (Ok(ours), Ok(theirs)) = (&model, &queue)
        && ours == theirs
    {
        return Ok(model);
    }
    Err(Diverged::Answers {
        call,
        model: shown(&model),
        queue: shown(&queue),
    })
}

fn shown(value: &impl Debug) -> String {
    let mut text = format!("{value:?}");
    if let Some((cut, _)) = text.char_indices().nth(SHOWN) {
        text.truncate(cut);
        text.push('…');
    }
    text
}

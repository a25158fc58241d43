//! Replays the calls on the model, in the order in which the backend executed them.

use std::collections::BTreeMap;

use super::{cursors::Cursors, order::Steps};
use crate::{
    check::{branch::Branch, compare::agree},
    history::CallId,
    model,
    model::{Model, PlaceView},
};
use queue_core::{QueueConfig, call::Answer};

/// The places of all messages in the model after each call, in the order of the backend's executions.
pub(super) fn views(
    config: &QueueConfig,
    branch: &Branch<'_>,
    steps: &Steps,
) -> BTreeMap<CallId, Vec<PlaceView>> {
    let mut model = Model::new(config);
    let views = steps.0.iter().map(|step| {
        let record = branch.calls[step.call].record;
        let _ = model.apply(step.at, &record.call);
        (record.id, model.view(step.at))
    });
    views.collect()
}

/// The first call whose answer differs from the model's.
#[derive(Debug)]
pub(super) struct Deviation {
    /// The call's place in the branch.
    pub(super) call: usize,
    /// The model's answer.
    pub(super) expected: model::ModelResult<Answer>,
}

/// Applies the calls to the model in the order of their executions. If the backend executed a call more than once, the
/// answer must be the answer of one execution.
pub(super) fn deviation(
    config: &QueueConfig,
    branch: &Branch<'_>,
    steps: &Steps,
) -> Option<Deviation> {
    let mut model = Model::new(config);
    let mut cursors = Cursors::default();
    let mut open: Vec<(usize, bool)> = Vec::new();
    for step in &steps.0 {
        let done = &branch.calls[step.call];
        let known = cursors.known(&done.record.call);
        let expected = model.apply(step.at, known.as_deref().unwrap_or(&done.record.call));
        let Some(answer) = done.answer else {
            continue;
        };
        let agrees =
            known.is_none() || agree(&done.record.call, answer, &expected, &model, &done.gone);
        if let (Some(_), true, Ok(expected)) = (known, agrees, &expected) {
            cursors.note(&done.record.call, answer, expected);
        }
        if done.executed.len() == 1 {
            if !agrees {
                let call = step.call;
                return Some(Deviation { call, expected });
            }
            continue;
        }
        let agreed = match open.iter_mut().find(|(call, _)| *call == step.call) {
            Some((_, agreed)) => {
                *agreed |= agrees;
                *agreed
            }
            None => {
                open.push((step.call, agrees));
                agrees
            }
        };
        let is_last = done
            .executed
            .last()
            .is_some_and(|last| last.order == step.order);
        if is_last && !agreed {
            let call = step.call;
            return Some(Deviation { call, expected });
        }
    }
    None
}

//! The first call whose answer was wrong, and the right answer.

use queue_core::{
    QueueConfig, Timestamp,
    call::{Answer, Call},
};

use crate::{
    history::{CallId, Event, History, Record},
    model,
    model::Model,
};

/// The first call, in the order in which the backend executed them, whose answer differs from the
/// reference model's at that time, with the model's answer. `None` if the truth is unknown, if
/// history was lost, or if all answers are right.
pub(super) fn first_wrong(
    config: &QueueConfig,
    history: &History,
) -> Option<(CallId, model::Answer<Answer>)> {
    let rolled_back = |event: &Event| matches!(event, Event::RolledBack { .. });
    if !history.has_truth || history.events.iter().any(|(_, event)| rolled_back(event)) {
        return None;
    }
    let mut executions = Vec::new();
    for record in &history.records {
        executions.extend(record.executed.iter().map(|moment| (*moment, record)));
    }
    executions.sort_by_key(|(moment, _)| moment.order);
    let mut model = Model::new(config);
    let mut last = Timestamp::default();
    for (moment, record) in executions {
        // The model's time never steps back.
        if moment.at < last || comes_of_another_queue(history, record) {
            return None;
        }
        last = moment.at;
        let should = model.apply(moment.at, &record.call);
        // If a call was executed twice, nobody knows which execution answered.
        if let Some(answer) = record.answer()
            && record.executed.len() == 1
            && !matches!(
                record.call,
                Call::DeadLetters(_) | Call::List(_) | Call::Peek(..)
            )
            && should.as_ref() != Ok(answer)
        {
            return Some((record.id, should));
        }
    }
    None
}

fn comes_of_another_queue(history: &History, record: &Record) -> bool {
    let first = history.records.first();
    first.is_some_and(|first| first.queue != record.queue)
}

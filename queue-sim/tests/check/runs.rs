use queue_core::{
    ErrorKind, QueueKind, Settled, Settlement,
    call::{Answer, Call},
};
use queue_sim::{
    check::{Budget, Verdict},
    engine::End,
    history::{CallEnd, Event},
    plan::{Decisions, Process},
    run::{Scenario, Simulation},
    workload::Mode,
    world::{Fault, MemoryEnvironment},
};

use crate::history_builder::{HistoryBuilder, lease, push};

#[test]
fn nothing_strikes_that_the_mode_does_not_have() {
    for seed in 0..100 {
        let mut scenario = Scenario::new(QueueKind::Reliable);
        scenario.mode = Some(Mode::Waiting);
        let played = scenario.play(&mut MemoryEnvironment::new(), &Decisions::seeded(seed));
        for (_, event) in &played.history.events {
            let expected = match event {
                Event::Fault(fault, _) => [Fault::Delayed, Fault::Cancelled, Fault::Spurious]
                    .iter()
                    .any(|allowed| allowed.as_str() == *fault),
                event => *event == Event::Healed,
            };
            assert!(expected, "{seed}: {event:?}");
        }
    }
}

/// The order of execution need not be the order that explains the answers: the backend executes the first
/// of two overlapping pushes last.
#[test]
fn another_order_than_that_of_execution_is_found() {
    let mut history = HistoryBuilder::reliable();
    history.call(push("a"));
    history.call(push("b"));
    let (first, second) = history.last_two();
    std::mem::swap(&mut first.call, &mut second.call);
    first.ended.as_mut().expect("answered").at.order = 100;
    second.ended.as_mut().expect("answered").at.order = 101;
    second.began = first.began;
    let outcome = first.ended.as_ref().expect("answered").outcome.clone();
    let other = second.ended.as_mut().expect("answered");
    first.ended.as_mut().expect("answered").outcome =
        std::mem::replace(&mut other.outcome, outcome);
    history.holds();
}

#[test]
fn a_search_without_a_budget_is_inconclusive() {
    let mut history = HistoryBuilder::reliable();
    history.call(push("a"));
    let settle = Call::Settle(vec![Settlement::ack(queue_core::Receipt::new(
        queue_core::MessageId::new(1),
        queue_core::Token::new(7),
    ))]);
    history.loses(lease(1), true);
    history.says(settle, Answer::Settled(vec![Settled::Done]));
    assert_eq!(history.verdict(Budget(0)), Verdict::Inconclusive);
    assert!(matches!(history.verdict(Budget(100)), Verdict::Broken(_)));
}

#[test]
fn a_run_that_ends_badly_is_broken() {
    for end in [
        End::Spinning(vec![Process(1), Process(2)]),
        End::Hung(vec![Process(1)]),
        End::Panicked(Process(1), "no".to_owned()),
    ] {
        let mut history = HistoryBuilder::reliable();
        history.end = end;
        history.breaks("progress");
    }
}

#[test]
fn a_fault_seen_during_a_run_is_reported() {
    let mut history = HistoryBuilder::reliable();
    history.event(Event::Broken(
        "outcome",
        "unknown, and never sent".to_owned(),
    ));
    let unavailable = CallEnd::NotApplied(ErrorKind::Unavailable, "refused".to_owned());
    history.record(push("a"), Some(unavailable), false);
    history.breaks("outcome");
}

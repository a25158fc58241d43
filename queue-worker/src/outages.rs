//! Outages of servers: a worker's log has one line for each, for any number of failed calls.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use queue_core::{Error, ErrorKind};
use tokio::time::Instant;

use super::event::CallKind;

/// The outages under way, by server. All errors that name no server belong to one outage.
#[derive(Debug, Default)]
pub(crate) struct Outages(BTreeMap<Option<String>, Outage>);

#[derive(Debug)]
struct Outage {
    since: Instant,
    /// The calls that have not succeeded since.
    failing: BTreeSet<(Arc<str>, CallKind)>,
    queues: BTreeSet<Arc<str>>,
}

/// An outage that is over.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct OutageEnd {
    /// How many queues the outage hit.
    pub(crate) queues: usize,
    /// How long the outage lasted.
    pub(crate) after: Duration,
}

impl Outages {
    /// Notes a call that failed. Returns false if the outage is logged already.
    pub(crate) fn failed(
        &mut self,
        queue: &Arc<str>,
        verb: CallKind,
        error: &Error,
        now: Instant,
    ) -> bool {
        if error.kind() != ErrorKind::Unavailable {
            return true;
        }
        let server = error.server().map(str::to_owned);
        let is_new = !self.0.contains_key(&server);
        let outage = self.0.entry(server).or_insert_with(|| Outage {
            since: now,
            failing: BTreeSet::new(),
            queues: BTreeSet::new(),
        });
        outage.failing.insert((Arc::clone(queue), verb));
        outage.queues.insert(Arc::clone(queue));
        is_new
    }

    /// Notes a call that succeeded again. Returns the outages that end with this call; `None` if the call had
    /// failed by none.
    pub(crate) fn recovered(
        &mut self,
        queue: &Arc<str>,
        verb: CallKind,
        now: Instant,
    ) -> Option<Vec<OutageEnd>> {
        let call = (Arc::clone(queue), verb);
        let mut struck = false;
        for outage in self.0.values_mut() {
            struck |= outage.failing.remove(&call);
        }
        let mut over = Vec::new();
        self.0.retain(|_, outage| {
            let lasts = !outage.failing.is_empty();
            if !lasts {
                over.push(OutageEnd {
                    queues: outage.queues.len(),
                    after: now.saturating_duration_since(outage.since),
                });
            }
            lasts
        });
        struck.then_some(over)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: Duration = Duration::from_secs(1);

    fn away(server: &str) -> Error {
        Error::new(ErrorKind::Unavailable, "away").with_server(server)
    }

    #[test]
    fn an_outage_is_logged_once_and_is_over_when_every_call_has_succeeded() {
        let mut outages = Outages::default();
        let start = Instant::now();
        let queues: Vec<Arc<str>> = (0..20).map(|number| format!("q{number}").into()).collect();
        let calls = || {
            queues
                .iter()
                .flat_map(|queue| [(queue, CallKind::SettleAndLease), (queue, CallKind::Wait)])
        };
        for round in 0..3 {
            for (nth, (queue, verb)) in calls().enumerate() {
                let first = outages.failed(queue, verb, &away("a"), start);
                assert_eq!(first, round == 0 && nth == 0);
            }
        }
        let last = calls().count() - 1;
        for (nth, (queue, verb)) in calls().enumerate() {
            let over = outages.recovered(queue, verb, start + STEP);
            let whole = OutageEnd {
                queues: 20,
                after: STEP,
            };
            let expected = if nth == last { vec![whole] } else { Vec::new() };
            assert_eq!(over, Some(expected));
        }
        assert!(
            outages.failed(&queues[0], CallKind::SettleAndLease, &away("a"), start),
            "it is another"
        );
    }

    #[test]
    fn each_server_has_its_own_outage() {
        let mut outages = Outages::default();
        let (now, queue) = (Instant::now(), Arc::from("q"));
        assert!(outages.failed(&queue, CallKind::SettleAndLease, &away("a"), now));
        assert!(outages.failed(&queue, CallKind::SettleAndLease, &away("b"), now));
        assert!(!outages.failed(&queue, CallKind::SettleAndLease, &away("a"), now));
        assert_eq!(
            outages
                .recovered(&queue, CallKind::SettleAndLease, now)
                .map(|over| over.len()),
            Some(2)
        );
    }

    #[test]
    fn other_failures_are_no_outages() {
        let mut outages = Outages::default();
        let (now, queue) = (Instant::now(), Arc::from("q"));
        let full = Error::new(ErrorKind::OutOfMemory, "full");
        for _ in 0..2 {
            assert!(outages.failed(&queue, CallKind::SettleAndLease, &full, now));
        }
        assert_eq!(
            outages.recovered(&queue, CallKind::SettleAndLease, now),
            None
        );
    }
}

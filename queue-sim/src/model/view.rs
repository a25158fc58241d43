//! The places of all messages, for reports.

use queue_core::{MessageId, Timestamp};

use super::{LeasingModel, Model};

/// A place: its name, and its messages in order, each with the time at which it leaves on its own.
pub(crate) type PlaceView = (&'static str, Vec<(MessageId, Option<Timestamp>)>);

impl Model {
    /// The places that have messages, as they are at this time, before any call reclaims.
    pub(crate) fn view(&self, now: Timestamp) -> Vec<PlaceView> {
        let mut places = match self {
            Self::Leasing(_, model) => model.view(now.as_millis()),
            Self::Rotating(model) => vec![("ring", model.ids().map(|id| (id, None)).collect())],
        };
        places.retain(|(_, messages)| !messages.is_empty());
        places
    }
}

impl LeasingModel {
    fn view(&self, now: u64) -> Vec<PlaceView> {
        let ids = |places: Vec<usize>, time: fn(&super::entry::ModelEntry) -> Option<u64>| {
            let entries = places.into_iter().map(|at| &self.entries[at]);
            entries
                .map(|entry| (entry.id, time(entry).map(Timestamp::from_millis)))
                .collect()
        };
        vec![
            ("ready", ids(self.ready(now), |_| None)),
            ("delayed until", ids(self.delayed(now), |entry| entry.due())),
            ("leased until", ids(self.leased(), |entry| entry.deadline())),
            ("dead", ids(self.dead(), |_| None)),
        ]
    }
}

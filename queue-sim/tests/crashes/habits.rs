//! How the clients of a queue behave while faults strike.

use std::time::Duration;

use queue_core::*;

const WINDOW: Duration = Duration::from_secs(3600);

/// How producers and consumers behave.
#[derive(Debug, Clone)]
pub(crate) struct Habits {
    /// The number of producers, and of consumers. A single client must itself repair the effects of its
    /// dropped calls.
    pub(crate) clients: usize,
    /// The beginning of the bodies: no two traffics on one queue push the same body.
    pub(crate) name: String,
    /// The number of messages of a push, all with one partition key.
    pub(crate) batch: usize,
    /// Whether some pushes and acks are dropped half-way.
    pub(crate) drops_writes: bool,
    /// Whether some receives are dropped.
    pub(crate) drops_receives: bool,
}

impl Default for Habits {
    /// One message at a time, by clients that wait for every answer.
    fn default() -> Self {
        Self {
            clients: 4,
            name: String::new(),
            batch: 1,
            drops_writes: false,
            drops_receives: false,
        }
    }
}

impl Habits {
    /// The messages of a producer's next push.
    pub(crate) fn batch(&self, number: usize, count: usize) -> Vec<Push> {
        let Self { name, batch, .. } = self;
        let messages = (0..*batch).map(|nth| {
            let body = match batch {
                1 => format!("{name}{number}-{count}"),
                _ => format!("{name}{number}-{count}-{nth}"),
            };
            let body = Bytes::from(body);
            let push = Push::new(body.clone()).with_dedup(body, WINDOW);
            match batch {
                1 => push,
                _ => push.with_header(Partitioned::KEY, format!("{number}-{count}")),
            }
        });
        messages.collect()
    }
}

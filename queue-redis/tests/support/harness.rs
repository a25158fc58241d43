//! The suite's harness on a real server in virtual time.

use std::{
    fmt,
    sync::{Arc, OnceLock},
    time::Duration,
};

use async_trait::async_trait;
use queue_conformance::{Capabilities, Harness, Play};
use queue_core::{Backend, Partitioned, QueueKind, Timestamp};
use queue_redis::{RedisBackend, leak_finder};
use real_redis::ServerPlace;
use tokio::{
    runtime::Builder,
    time::{self, Instant},
};

use crate::virtual_time::VirtualConnector;

/// The beginning of virtual time.
const START: Timestamp = Timestamp::from_millis(1_700_000_000_000);

/// Longer than a case waits, so that the timers of the backend hide no lost wake-up.
pub(crate) const FALL_BACK: Duration = Duration::from_secs(3600);

/// A harness in virtual time: commands run on the real server, the queues use tokio's paused clock,
/// and every case of the suite can run.
pub(crate) struct VirtualTimeHarness {
    place: ServerPlace,
    connector: VirtualConnector,
    start: Arc<OnceLock<Instant>>,
    all_out_of_line: bool,
    partitions: Option<usize>,
}

impl VirtualTimeHarness {
    /// A new harness, on the server of a fresh [`Place`].
    ///
    /// # Panics
    ///
    /// If there is no server.
    pub(crate) fn fresh() -> Self {
        Self::at(fresh())
    }

    /// A new harness at this place.
    ///
    /// # Panics
    ///
    /// If the place's URL is not understood.
    pub(crate) fn at(place: ServerPlace) -> Self {
        let connector = VirtualConnector::new(place.url());
        Self {
            connector: connector.expect("the place's URL is understood"),
            place,
            start: Arc::default(),
            all_out_of_line: false,
            partitions: None,
        }
    }

    /// The same with every message's body stored out of line, as large bodies are.
    pub(crate) fn with_all_bodies_out_of_line(mut self) -> Self {
        self.all_out_of_line = true;
        self
    }

    /// The same with queues of `partitions` partitions.
    pub(crate) fn in_partitions(mut self, partitions: usize) -> Self {
        self.partitions = Some(partitions);
        self
    }
}

#[async_trait]
impl Harness for VirtualTimeHarness {
    fn capabilities(&self) -> Capabilities {
        match self.partitions {
            None => Capabilities::all(),
            Some(_) => Capabilities::all().only(QueueKind::LEASING),
        }
    }

    fn run(&self, case: Play<'_>) {
        let mut runtime = Builder::new_current_thread();
        let runtime = runtime.enable_time().start_paused(true).build();
        runtime.expect("a runtime").block_on(case);
    }

    async fn connect(&self) -> Arc<dyn Backend> {
        let start = Arc::clone(&self.start);
        let now = move || {
            let start = *start.get_or_init(Instant::now);
            START.plus_millis(start.elapsed().as_millis() as u64)
        };
        // Time begins now, not when the first queue asks for it.
        now();
        let mut builder = RedisBackend::with_connector(self.connector.clone())
            .prefix(self.place.prefix())
            .fall_back(FALL_BACK)
            .packs_from(4)
            .clock(now);
        if self.all_out_of_line {
            builder = builder.large_bodies_from(0);
        }
        let backend = builder.connect().await.expect("the server takes us");
        let Some(partitions) = self.partitions else {
            return Arc::new(backend);
        };
        let partitioned = Partitioned::new(Arc::new(backend), partitions);
        Arc::new(
            partitioned
                .expect("a number that is allowed")
                .beginning_at(0),
        )
    }

    async fn advance(&self, by: Duration) {
        time::advance(by).await;
    }

    async fn leaks(&self) -> Vec<String> {
        left(&self.place)
    }
}

pub(crate) fn left(place: &ServerPlace) -> Vec<String> {
    let mut connection = place.connect().expect("the server takes us");
    let mut command = redis::cmd("EVAL");
    command.arg(leak_finder()).arg(0).arg(place.prefix());
    command.query(&mut connection).expect("the server answers")
}

pub(crate) fn fresh() -> ServerPlace {
    ServerPlace::fresh().unwrap_or_else(|error| panic!("{error}"))
}

impl fmt::Debug for VirtualTimeHarness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Redis in virtual time at {}", self.place.prefix())
    }
}

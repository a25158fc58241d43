//! A server with queues, and the program `qk`.

use std::{
    io::Write,
    process::{Command, Stdio},
    time::Duration,
};

use queue_core::*;
use queue_redis::RedisBackend;
use real_redis::Server;
use serde_json::Value;

pub(crate) const HOUR: Duration = Duration::from_secs(3_600);

pub(crate) struct Site {
    pub(crate) server: Server,
    pub(crate) queues: Queues,
}

/// The text of a command on each output, and its status.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) status: i32,
}

impl Said {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// All that was said, without the last line's end.
    pub(crate) fn all(&self) -> String {
        format!("{}{}", self.out, self.err).trim_end().to_owned()
    }
}

/// The messages of a queue by place, and what else a command may change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) ready: Vec<u64>,
    pub(crate) delayed: Vec<u64>,
    pub(crate) leased: Vec<u64>,
    pub(crate) dead: Vec<u64>,
    pub(crate) paused: bool,
    pub(crate) config: QueueConfig,
}

impl Site {
    pub(crate) async fn start() -> Self {
        let server = Server::start().unwrap();
        let backend = RedisBackend::connect(&server.url()).await.unwrap();
        Self {
            server,
            queues: Queues::new(backend),
        }
    }

    pub(crate) fn qk(&self, arguments: &[&str]) -> Said {
        self.qk_to(arguments, Stdio::piped())
    }

    /// Runs a command with its output there.
    pub(crate) fn qk_to(&self, arguments: &[&str], out: Stdio) -> Said {
        self.qk_between(arguments, Stdio::null(), out)
    }

    fn qk_between(&self, arguments: &[&str], input: Stdio, out: Stdio) -> Said {
        let run = Command::new(env!("CARGO_BIN_EXE_qk"))
            .args(arguments)
            .env("QUEUE_URL", self.server.url())
            .stdin(input)
            .stdout(out)
            .stderr(Stdio::piped())
            .spawn()
            .and_then(std::process::Child::wait_with_output)
            .unwrap();
        Said {
            out: String::from_utf8(run.stdout).unwrap(),
            err: String::from_utf8(run.stderr).unwrap(),
            status: run.status.code().expect("it exits"),
        }
    }

    /// Runs a command with this as its standard input.
    pub(crate) fn qk_from(&self, arguments: &[&str], input: &[u8]) -> Said {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let input = input.to_vec();
        let writing = std::thread::spawn(move || {
            // It need not read all.
            let _ = writer.write_all(&input);
        });
        let said = self.qk_between(arguments, reader.into(), Stdio::piped());
        writing.join().unwrap();
        said
    }

    /// Runs a command of words without blanks.
    pub(crate) fn run(&self, command: &str) -> Said {
        self.qk(&command.split(' ').collect::<Vec<_>>())
    }

    pub(crate) async fn leasing(&self, queue: &str) -> std::sync::Arc<dyn Leasing> {
        let name = QueueName::new(queue).unwrap();
        let stored = self.queues.backend().open_stored(&name).await.unwrap();
        stored.expect(queue).queue.leasing().unwrap()
    }

    /// The state of a queue; none if there is none.
    pub(crate) async fn state(&self, queue: &str) -> Option<State> {
        let name = QueueName::new(queue).unwrap();
        let stored = self.queues.backend().open_stored(&name).await.unwrap()?;
        let leasing = stored.queue.leasing().unwrap();
        let page = Page::first(limits::MAX_PAGE);
        let place = async |place| {
            let entries = leasing.peek(place, page).await.unwrap().entries;
            entries.iter().map(|one| one.message.id.get()).collect()
        };
        let dead = leasing.dead_letters(page).await.unwrap().entries;
        Some(State {
            ready: place(Place::Ready).await,
            delayed: place(Place::Delayed).await,
            leased: place(Place::Leased).await,
            dead: dead.iter().map(|one| one.id.get()).collect(),
            paused: leasing.counters().await.unwrap().paused,
            config: stored.config,
        })
    }

    /// Makes a queue of ten messages. 1 waits for its retry, and 2 to 4 are dead. `web-1` has 5 and 6, `web 2` has 7,
    /// and 8 to 10 are ready.
    pub(crate) async fn ten(&self, queue: &str) -> State {
        let orders = self.queues.reliable(queue).open::<u64>().await.unwrap();
        let batch: Vec<_> = (1..=10).map(|n| Push::new(format!("order {n}"))).collect();
        orders.queue().push(&batch).await.unwrap();
        let mut receipts = Vec::new();
        for (count, holder) in [(6, "web-1"), (1, "web 2")] {
            let holder = Some(Holder::new(holder).unwrap());
            let count = std::num::NonZeroUsize::new(count).unwrap();
            let leased = orders.queue().settle_and_lease(&[], count, HOUR, holder);
            let leased = leased.await.unwrap().1.deliveries;
            receipts.extend(leased.iter().map(|one| one.receipt));
        }
        let settlements = [
            Settlement::retry_because(receipts[0], HOUR, "402: card declined"),
            Settlement::bury(receipts[1], "no customer 7"),
            Settlement::bury(receipts[2], "no customer 8"),
            Settlement::bury(receipts[3], "the bank is closed"),
        ];
        orders.queue().settle(&settlements).await.unwrap();
        self.state(queue).await.unwrap()
    }
}

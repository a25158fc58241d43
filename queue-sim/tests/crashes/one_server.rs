//! One server, with a file, behind a proxy.

use std::time::Duration;

use real_redis::{Aof, Direction, Proxy, Server};

use super::{
    remains::Remains,
    rounds::{Rounds, connect, flows},
};
use crate::ground::administer;

/// Rounds of each fault of the connection.
const ROUNDS_OF_THE_LINE: u64 = 10;
/// Rounds of each fault of the server, with each kind of append-only file.
const ROUNDS_OF_THE_SERVER: u64 = 5;
/// The duration of a fault that does not end on its own.
const SPELL: Duration = Duration::from_millis(50);

#[derive(Debug, Clone, Copy)]
enum Fault {
    /// `kill -9`, and a start from the append-only file.
    Kill,
    /// SIGSTOP and SIGCONT.
    Freeze,
    /// All connections break.
    Cut,
    /// Requests are held in the proxy, then the connections break.
    LoseRequests,
    /// The server executes the requests, and the replies are lost.
    LoseReplies,
    /// Nothing passes, and neither side sees an end of the connection.
    HalfOpen,
    /// `maxmemory` is reached, and raised again.
    Full,
}

const OF_THE_SERVER: [Fault; 3] = [Fault::Kill, Fault::Freeze, Fault::Full];
const OF_THE_LINE: [Fault; 4] = [
    Fault::Cut,
    Fault::LoseRequests,
    Fault::LoseReplies,
    Fault::HalfOpen,
];

impl Fault {
    async fn strike(self, server: &Server, proxy: &Proxy) {
        match self {
            Self::Kill => {
                server.kill().expect("it ran");
                server.start_again().expect("it starts from its file");
            }
            Self::Freeze => {
                server.freeze().expect("it runs");
                tokio::time::sleep(SPELL).await;
                server.thaw().expect("it runs");
            }
            Self::Cut => proxy.cut(),
            Self::LoseRequests => lose(proxy, Direction::Requests).await,
            Self::LoseReplies => lose(proxy, Direction::Replies).await,
            Self::HalfOpen => proxy.strand(),
            Self::Full => {
                administer(server, "CONFIG SET maxmemory 1");
                tokio::time::sleep(SPELL).await;
                administer(server, "CONFIG SET maxmemory 0");
            }
        }
    }
}

async fn lose(proxy: &Proxy, direction: Direction) {
    proxy.hold(direction);
    tokio::time::sleep(SPELL).await;
    proxy.cut();
    proxy.release();
}

/// The server writes its data to the system before it answers, and only a power cut loses it there (R1).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_message_is_accounted_for_at_a_server_that_writes_first() {
    let rounds = Rounds::of_each(ROUNDS_OF_THE_SERVER);
    every_message_is_accounted_for(rounds, &OF_THE_SERVER, Aof::BySystem).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_message_is_accounted_for_at_a_server_that_syncs_first() {
    let rounds = Rounds::of_each(ROUNDS_OF_THE_SERVER);
    every_message_is_accounted_for(rounds, &OF_THE_SERVER, Aof::Always).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_message_is_accounted_for_on_a_faulty_connection() {
    let rounds = Rounds::of_each(ROUNDS_OF_THE_LINE);
    every_message_is_accounted_for(rounds, &OF_THE_LINE, Aof::Always).await;
}

async fn every_message_is_accounted_for(rounds: Rounds, faults: &[Fault], aof: Aof) {
    let server = Server::builder().with_aof(aof);
    let server = server.start().expect("a server");
    let proxy = Proxy::before(&server).expect("a proxy");
    let backend = connect(&proxy.url()).await;
    let flows = flows(&backend, None).await;
    let before = Remains::of([&server].into_iter());
    let tolls = rounds
        .play(&flows, faults, async |fault, _| {
            fault.strike(&server, &proxy).await;
        })
        .await;
    // Connections that are still half-open belong to no client.
    proxy.cut();
    before.come_back([&server].into_iter(), &tolls).await;
}

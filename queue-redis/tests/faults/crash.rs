//! The server is killed (`kill -9`) before its file is complete, or restarts in order.

use std::time::Duration;

use queue_core::*;
use real_redis::{Aof, Server};

use crate::{
    ground::{at_last, connect, until, within},
    subject::Subject,
    traffic::{Errors, Traffic},
};

const LEASE: Duration = Duration::from_secs(600);

/// With an fsync once a second, the file may be a little behind the replies, so a crash may undo
/// the last acknowledged steps (R1). The steps in the file stay, leases included.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_keeps_what_had_reached_the_file() {
    let builder = Server::builder().with_aof(Aof::EverySecond);
    let server = builder.start().expect("a server");
    let backend = connect(&server).await;
    for kind in QueueKind::LEASING {
        let queue = Subject::open(&*backend, kind).await.expect("opens");
        let leasing = queue.leasing();
        let messages: Vec<_> = (0..100).map(|n| Push::new(format!("{n}"))).collect();
        queue.put(&messages).await.expect("put");
        let leased = leasing.receive(20, LEASE, Duration::ZERO).await;
        let leased = leased.expect("lease");
        let (done, held) = leased.split_at(10);
        let acks = |deliveries: &[Delivery]| {
            let receipts = deliveries.iter().map(|delivery| delivery.receipt);
            receipts.map(Settlement::ack).collect::<Vec<_>>()
        };
        leasing.settle(&acks(done)).await.expect("settle");
        until("everything is in the file", || is_written(&server)).await;
        server.kill().expect("it ran");
        server.start_again().expect("it starts from its file");

        let depth = at_last(|| leasing.depth()).await;
        assert_eq!((depth.ready, depth.leased), (80, 10));
        // Receipts survive the server's crash, too.
        let again = leasing.settle(&acks(done)).await.expect("settle");
        assert_eq!(again, [Settled::LeaseLost; 10]);
        let settled = leasing.settle(&acks(held)).await.expect("settle");
        assert_eq!(settled, [Settled::Done; 10]);
        let rest = leasing.receive(100, LEASE, Duration::ZERO).await;
        let rest = rest.expect("lease");
        let bodies = rest.iter().map(|delivery| delivery.body.clone());
        let expected: Vec<_> = (20..100).map(|n| Bytes::from(format!("{n}"))).collect();
        assert_eq!(bodies.collect::<Vec<_>>(), expected);
        leasing.settle(&acks(&rest)).await.expect("settle");
        assert!(leasing.counters().await.expect("counters").balance());
    }
}

/// Whether the file holds every answered step.
fn is_written(server: &Server) -> bool {
    let nothing = |field: &str| {
        let field = server.info("persistence", field).expect("it answers");
        field.as_deref() == Some("0")
    };
    nothing("aof_buffer_length") && nothing("aof_pending_bio_fsync")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_orderly_restart_loses_nothing() {
    let builder = Server::builder().with_aof(Aof::EverySecond);
    let server = builder.start().expect("a server");
    let backend = connect(&server).await;
    for kind in QueueKind::LEASING {
        let queue = Subject::open(&*backend, kind).await.expect("opens");
        let traffic = Traffic::on(queue, Errors::Transient);
        let restarts = async {
            for _ in 0..3 {
                traffic.flows(50).await;
                server.restart().expect("it restarts");
            }
            traffic.flows(50).await;
        };
        within("traffic through restarts", traffic.during(restarts)).await;
    }
}

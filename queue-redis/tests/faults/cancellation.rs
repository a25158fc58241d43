//! Futures are dropped at every await while the server is slow. Afterwards the test counts every
//! message (L8).

use std::{
    future::{Future, poll_fn},
    num::NonZeroUsize,
    pin::pin,
    task::Poll,
    time::Duration,
};

use queue_core::*;
use real_redis::{Direction, Proxy, Server};

use crate::{
    ground::{at_last, connect_to, within},
    histories::Made,
    ledger::Ledger,
    subject::Subject,
};

/// A lease that is dropped costs this time.
const LEASE: Duration = Duration::from_millis(300);
const HOUR: Duration = Duration::from_secs(3600);

/// The time at which a future is dropped.
#[derive(Debug, Clone, Copy)]
enum Cut {
    /// After this number of polls, while the wire holds nothing back.
    Polled(usize),
    /// When the request is sent, before the server gets it.
    RequestHeld,
    /// When the server has answered, before the client gets the answer.
    ReplyHeld,
    /// When the server has answered, and the connection breaks before the client gets the answer.
    ReplyLost,
}

/// Never dropped.
const WHOLE: Cut = Cut::Polled(usize::MAX);

/// Runs the future up to the cut; `None` if the cut dropped it.
async fn run<T>(proxy: &Proxy, cut: Cut, future: impl Future<Output = T>) -> Option<T> {
    let direction = match cut {
        Cut::Polled(polls) => return polled(polls, future).await,
        Cut::RequestHeld => Direction::Requests,
        Cut::ReplyHeld | Cut::ReplyLost => Direction::Replies,
    };
    let seen = proxy.seen(direction);
    proxy.hold(direction);
    let value = tokio::select! {
        value = future => Some(value),
        () = proxy.beyond(direction, seen) => None,
    };
    if matches!(cut, Cut::ReplyLost) {
        proxy.cut();
    }
    proxy.release();
    value
}

/// Drops the future after `polls` polls, unless it is done.
pub(crate) async fn polled<T>(mut polls: usize, future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(value) => Poll::Ready(Some(value)),
        Poll::Pending if polls <= 1 => Poll::Ready(None),
        Poll::Pending => {
            polls -= 1;
            Poll::Pending
        }
    })
    .await
}

/// Every cut but the one that breaks the connection. There are five cuts, and six calls in a round:
/// each call meets each cut.
const CUTS: [Cut; 5] = [
    Cut::Polled(1),
    Cut::RequestHeld,
    Cut::Polled(2),
    Cut::ReplyHeld,
    WHOLE,
];

/// A queue, its slow wire, and its promises.
struct Test<'a> {
    proxy: &'a Proxy,
    queue: &'a Subject,
    ledger: Ledger,
    dropped: usize,
}

impl Test<'_> {
    async fn run<T>(&mut self, cut: Cut, call: impl Future<Output = Result<T>>) -> Option<T> {
        let answer = run(self.proxy, cut, call).await;
        self.dropped += usize::from(answer.is_none());
        match answer? {
            Ok(value) => Some(value),
            // After a cut, the connection may not be back yet.
            Err(error) => {
                assert!(error.is_transient(), "{error:?}");
                None
            }
        }
    }

    async fn put(&mut self, cut: Cut, body: Bytes) {
        self.ledger.offered(&body);
        let (queue, made) = (self.queue, self.ledger.make());
        if self.run(cut, queue.put_one(body.clone())).await.is_some() {
            self.ledger.accepted(&body, made, None);
        }
    }

    async fn lease(&mut self, cut: Cut) -> Vec<Delivery> {
        let leasing = self.queue.leasing();
        let (max, made) = (NonZeroUsize::new(2).expect("it is 2"), self.ledger.make());
        let leased = self.run(cut, leasing.lease(max, LEASE)).await;
        let deliveries = leased.unwrap_or_default().deliveries;
        deliveries
            .iter()
            .for_each(|one| self.ledger.delivered(one, made));
        deliveries
    }

    async fn settle(&mut self, cut: Cut, delivery: &Delivery) {
        let leasing = self.queue.leasing();
        let ack = [Settlement::ack(delivery.receipt)];
        let made = self.ledger.settles(delivery);
        match self.run(cut, leasing.settle(&ack)).await.as_deref() {
            Some([settled]) => self.settled(*settled, delivery, made),
            _ => self.ledger.ack_unknown(delivery),
        }
    }

    async fn settle_and_lease(&mut self, cut: Cut, delivery: &Delivery) {
        let leasing = self.queue.leasing();
        let ack = [Settlement::ack(delivery.receipt)];
        let made = self.ledger.settles(delivery);
        let call = self.run(
            cut,
            leasing.settle_and_lease(&ack, NonZeroUsize::MIN, LEASE, None),
        );
        match call.await {
            Some((settled, leased)) => {
                self.settled(settled[0], delivery, made);
                leased
                    .deliveries
                    .iter()
                    .for_each(|one| self.ledger.delivered(one, made));
            }
            None => self.ledger.ack_unknown(delivery),
        }
    }

    async fn extend(&mut self, cut: Cut, delivery: &Delivery) {
        let leasing = self.queue.leasing();
        self.run(cut, leasing.extend(&[delivery.receipt], LEASE))
            .await;
    }

    async fn receive(&mut self, cut: Cut) {
        let (leasing, made) = (self.queue.leasing(), self.ledger.make());
        let received = self.run(cut, leasing.receive(1, LEASE, LEASE)).await;
        received
            .unwrap_or_default()
            .iter()
            .for_each(|one| self.ledger.delivered(one, made));
    }

    fn settled(&self, settled: Settled, delivery: &Delivery, made: Made) {
        match settled {
            Settled::Done => self.ledger.acked(delivery, made),
            // The lease expired meanwhile: the message comes again.
            Settled::LeaseLost => {}
            Settled::Dead => panic!("an ack buries nothing"),
        }
    }

    /// Takes out all messages that are left, at full speed.
    async fn drain(&self) {
        let leasing = self.queue.leasing();
        while at_last(|| leasing.depth()).await.occupied() > 0 {
            let made = self.ledger.make();
            let Ok(deliveries) = leasing.receive(128, HOUR, LEASE).await else {
                continue;
            };
            for delivery in &deliveries {
                self.ledger.delivered(delivery, made);
                let made = self.ledger.settles(delivery);
                match leasing.ack(delivery.receipt).await {
                    Ok(()) => self.ledger.acked(delivery, made),
                    Err(_) => self.ledger.ack_unknown(delivery),
                }
            }
        }
    }
}

/// Makes all calls `rounds` times, with these cuts, and then counts every message.
async fn count_after(rounds: usize, cuts: &[Cut]) {
    let server = Server::start().expect("a server");
    let proxy = Proxy::before(&server).expect("a socket");
    let backend = connect_to(&proxy.url()).await;
    for kind in QueueKind::LEASING {
        let queue = Subject::open(&*backend, kind).await.expect("opens");
        let mut test = Test {
            proxy: &proxy,
            queue: &queue,
            ledger: Ledger::default(),
            dropped: 0,
        };
        let mut cuts = cuts.iter().copied().cycle();
        let mut cut = move || cuts.next().expect("it has no end");
        within("the rounds and the count", async {
            for round in 0..rounds {
                for number in 0..4 {
                    let body = Bytes::from(format!("{round}-{number}"));
                    test.put(cut(), body).await;
                }
                for delivery in test.lease(cut()).await {
                    test.extend(cut(), &delivery).await;
                    test.settle(cut(), &delivery).await;
                }
                for delivery in test.lease(WHOLE).await {
                    test.settle_and_lease(cut(), &delivery).await;
                }
                test.receive(cut()).await;
            }
            test.drain().await;
        })
        .await;
        assert!(test.dropped > rounds, "only {} dropped", test.dropped);
        test.ledger.check();
        let counters = queue.leasing().counters().await.expect("counters");
        assert!(counters.balance(), "L5: {counters:?}");
        assert_eq!(counters.depth.occupied() + counters.depth.dead, 0);
        assert!(counters.acked as usize >= test.ledger.acks());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_future_dropped_at_any_await_loses_no_message() {
    count_after(15, &CUTS).await;
}

/// Few rounds, since the client backs off after each before it connects again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_reply_loses_no_message() {
    count_after(2, &[Cut::ReplyLost, WHOLE]).await;
}

/// A waiting consumer holds no message, and passes its hint on when it is dropped. If it is dropped
/// with its lease under way, it may hold a message until the deadline.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dropped_waiters_cost_no_more_than_a_lease() {
    let server = Server::start().expect("a server");
    let backend = connect_to(&server.url()).await;
    for kind in QueueKind::LEASING {
        let queue = Subject::open(&*backend, kind).await.expect("opens");
        let waiting = || {
            let queue = queue.clone();
            tokio::spawn(async move { queue.leasing().receive_one(LEASE, HOUR).await })
        };
        for round in 0..30 {
            let (stays, leaves) = (waiting(), waiting());
            let body = format!("round {round}");
            let (put, ()) = tokio::join!(queue.put_one(body.clone()), async { leaves.abort() });
            put.expect("put");
            let delivery = match leaves.await {
                // The consumer had the message before the drop came.
                Ok(delivery) => {
                    stays.abort();
                    delivery
                }
                Err(_) => within("the one that stays", stays).await.expect("no panic"),
            };
            let delivery = delivery.expect("receive").expect("it waits for an hour");
            assert_eq!(delivery.body, body);
            // The ack may be late if this process is slow; then the message comes again.
            if queue.leasing().ack(delivery.receipt).await.is_err() {
                let again = queue.leasing().receive_one(HOUR, HOUR).await;
                let again = again.expect("receive").expect("it waits for an hour");
                assert_eq!(again.body, body);
                queue.leasing().ack(again.receipt).await.expect("ack");
            }
        }
        let counters = queue.leasing().counters().await.expect("counters");
        assert_eq!((counters.accepted, counters.acked), (30, 30));
    }
}

//! The nights that any backend can have.

use std::time::Duration;

use queue_core::*;

pub(crate) const HOUR: Duration = Duration::from_secs(3_600);

/// A night: its name, what makes it, and the beginning of the first line that names it.
pub(crate) struct Night {
    pub(crate) name: &'static str,
    /// `…` stands for what differs each time.
    pub(crate) line: &'static str,
    pub(crate) remedy: Option<&'static str>,
}

/// The nights of the queue `orders`. The caller waits until what is ready has been ready for long.
pub(crate) const NIGHTS: [Night; 20] = [
    Night {
        name: "paused",
        line: "paused; 7 ready wait",
        remedy: Some("qk resume orders"),
    },
    Night {
        name: "no consumer",
        line: "5 ready, no live consumer; the oldest waits for …",
        remedy: None,
    },
    Night {
        name: "poison",
        line: "#1 failed 1 ×: '422: unknown article'; next try in … min, 4 attempts left",
        remedy: Some("qk show orders 1"),
    },
    Night {
        name: "hung worker",
        line: "50 leased by `vm, process 26399` for … h … more, since …",
        remedy: Some("qk release orders --holder 'vm, process 26399'"),
    },
    Night {
        name: "wrong unit",
        line: "3 due in the year …: milliseconds taken for seconds?",
        remedy: Some("qk peek orders delayed"),
    },
    Night {
        name: "wrong clock",
        line: "1 due in the year …: a time of the clock taken for a delay?",
        remedy: Some("qk peek orders delayed"),
    },
    Night {
        name: "full",
        line: "full: 10 of 10, producers wait for room, no consumer",
        remedy: None,
    },
    Night {
        name: "limited",
        line: "limit reached: the rate of 2 in 2 h; 3 ready wait, the oldest for …; the next in 59 min",
        remedy: None,
    },
    Night {
        name: "one tenant takes everything",
        line: "group `big` has 4 of 4 leases; 3 ready of other groups wait, the oldest for …",
        remedy: Some("qk rule orders big --at-once 2 --for-ms 3600000"),
    },
    Night {
        name: "a group waits",
        line: "group `order-1`: waits … min for the retry of 1; 2 ready wait behind that, the oldest for …",
        remedy: Some("qk show orders 1"),
    },
    Night {
        name: "a paused group",
        line: "group `order-1`: paused for … min; 3 ready wait behind that, the oldest for …",
        remedy: Some("qk resume orders --group order-1"),
    },
    Night {
        name: "a parked group",
        line: "group `order-1`: parked, because one of its messages died; 2 ready wait behind that, the oldest for …",
        remedy: Some("qk resume orders --group order-1"),
    },
    Night {
        name: "undecodable",
        line: "3 messages cannot be decoded: unknown variant `ShipTo`",
        remedy: None,
    },
    Night {
        name: "dead letters",
        line: "4 dead letters, 3 of them: 'buried: order 1: no article \"rose\"'",
        remedy: Some("qk dead groups orders"),
    },
    Night {
        name: "a limit held by the dead",
        line: "limit reached: 2 of 2 at once, 2 by `vm, process 7`, gone for …, until in … min; 3 ready wait, the oldest for …",
        remedy: Some("qk release orders --holder 'vm, process 7'"),
    },
    Night {
        name: "a job kills its process",
        line: "#1 (job `resize`) was held at the ends of 3 leases, and 3 workers are gone, the last `vm, process 3`, … ago: it may kill its process",
        remedy: Some("qk show orders 1"),
    },
    Night {
        name: "handlers block",
        line: "6 leases expired under `vm, process 8`, which lives; 0 acked: handlers block the runtime, or take longer than a lease",
        remedy: None,
    },
    Night {
        name: "a child is dead",
        line: "#1 waits for children in `mails`, and the child #1 is dead: 'buried: no address'",
        remedy: Some("qk dead revive mails 1"),
    },
    Night {
        name: "children of nobody",
        line: "#1 waits for children in `mails`: 3 ready, no live consumer; the oldest waits for …",
        remedy: Some("qk why mails"),
    },
    Night {
        name: "well",
        line: "nothing is wrong: …",
        remedy: None,
    },
];

/// The tasks of a night.
pub(crate) type Keep = Vec<tokio::task::JoinHandle<()>>;

/// Makes a night. The returned tasks have to run until the diagnosis.
pub(crate) async fn make(queues: &Queues, night: &str) -> Keep {
    let workers = QueueName::new(WORKER_LIST).unwrap();
    let removed = queues.backend().remove(&workers, Removal::EvenIfLeased);
    removed.await.unwrap();
    match night {
        "paused" => paused(queues).await,
        "no consumer" => no_consumer(queues).await,
        "poison" => poison(queues).await,
        "hung worker" => hung_worker(queues).await,
        "wrong unit" => wrong_unit(queues).await,
        "wrong clock" => wrong_clock(queues).await,
        "full" => return full(queues).await,
        "limited" => return limited(queues).await,
        "one tenant takes everything" => one_tenant_takes_everything(queues).await,
        "a group waits" => return a_group_waits(queues).await,
        "a paused group" => return a_paused_group(queues).await,
        "a parked group" => return a_parked_group(queues).await,
        "undecodable" => undecodable(queues).await,
        "dead letters" => dead_letters(queues).await,
        "a limit held by the dead" => a_limit_held_by_the_dead(queues).await,
        "a job kills its process" => a_job_kills_its_process(queues).await,
        "handlers block" => handlers_block(queues).await,
        "a child is dead" => a_child_is_dead(queues).await,
        "children of nobody" => drop(waiting_job(queues).await),
        "well" => return well(queues).await,
        other => panic!("no night {other}"),
    }
    Vec::new()
}

async fn paused(queues: &Queues) {
    let orders = queues
        .reliable("orders")
        .config(ReliableConfig::default())
        .open::<u64>()
        .await
        .unwrap();
    orders.push_all(&[1, 2, 3, 4, 5, 6, 7]).await.unwrap();
    orders.queue().pause().await.unwrap();
}

async fn no_consumer(queues: &Queues) {
    let orders = queues.reliable("orders").open::<u64>().await.unwrap();
    orders.push_all(&[1, 2, 3, 4, 5]).await.unwrap();
}

async fn poison(queues: &Queues) {
    let orders = queues.reliable("orders").open::<u64>().await.unwrap();
    orders.push(&1).await.unwrap();
    fail_all(&**orders.queue(), "422: unknown article").await;
}

async fn hung_worker(queues: &Queues) {
    let orders = queues.reliable("orders").open::<u64>().await.unwrap();
    orders.push_all(&(0..50).collect::<Vec<_>>()).await.unwrap();
    let holder = Some(Holder::new("vm, process 26399").unwrap());
    let max = 50.try_into().unwrap();
    let leased = orders
        .queue()
        .settle_and_lease(&[], max, 20 * HOUR, holder)
        .await
        .unwrap();
    assert_eq!(leased.1.deliveries.len(), 50);
}

async fn wrong_unit(queues: &Queues) {
    let orders = queues.delay("orders").open::<u64>().await.unwrap();
    for order in 1..=3 {
        // Thirty days, in milliseconds.
        let delay = Duration::from_secs(30 * 86_400 * 1_000);
        orders.push(&order, delay).await.unwrap();
    }
}

async fn wrong_clock(queues: &Queues) {
    let orders = queues.delay("orders").open::<u64>().await.unwrap();
    let now = queues.backend().now().await.unwrap();
    let since_1970 = Duration::from_millis(now.as_millis());
    orders.push(&1, since_1970).await.unwrap();
}

async fn full(queues: &Queues) -> Keep {
    let orders = queues.bounded("orders", 10).open::<u64>().await.unwrap();
    for order in 0..10 {
        orders
            .push(&order, Overflow::Reject)
            .await
            .unwrap()
            .id()
            .unwrap();
    }
    (0..3)
        .map(|order: u64| {
            let orders = orders.clone();
            tokio::spawn(async move {
                let wait = orders.message(&order).wait(HOUR).send().await;
                panic!("there was room: {wait:?}");
            })
        })
        .collect()
}

async fn limited(queues: &Queues) -> Keep {
    let config = ReliableConfig::default().with_rate(2, 2 * HOUR);
    let orders = queues
        .reliable("orders")
        .config(config)
        .open::<u64>()
        .await
        .unwrap();
    orders.push_all(&[1, 2, 3, 4, 5]).await.unwrap();
    for delivery in orders.receive_batch(5, HOUR, Duration::ZERO).await.unwrap() {
        delivery.ack().await.unwrap();
    }
    // A consumer that waits does not make it a lost wake-up.
    vec![tokio::spawn(async move {
        orders.receive(HOUR, HOUR).await.map(drop).unwrap();
    })]
}

async fn one_tenant_takes_everything(queues: &Queues) {
    let orders = queues
        .grouped("orders")
        .loose(100)
        .open::<u64>()
        .await
        .unwrap();
    orders
        .push_all(&[1, 2, 3, 4, 5].map(|order: u64| (order, "big")))
        .await
        .unwrap();
    assert_eq!(lease(&**orders.queue(), 4).await, 4);
    for tenant in ["a", "b", "c"] {
        orders.push(&6, tenant).await.unwrap();
    }
}

async fn a_group_waits(queues: &Queues) -> Keep {
    let orders = queues.grouped("orders").open().await.unwrap();
    orders
        .push_all(&[1, 2, 3].map(|order: u64| (order, "order-1")))
        .await
        .unwrap();
    fail_all(&**orders.queue(), "422: unknown article").await;
    waits(orders)
}

async fn a_paused_group(queues: &Queues) -> Keep {
    let orders = queues.grouped("orders").open().await.unwrap();
    orders
        .push_all(&[1, 2, 3].map(|order: u64| (order, "order-1")))
        .await
        .unwrap();
    orders.queue().pause_group("order-1", HOUR).await.unwrap();
    waits(orders)
}

async fn a_parked_group(queues: &Queues) -> Keep {
    let ledger = GroupedConfig::default().with_on_death(OnDeath::Park);
    let orders = queues
        .grouped("orders")
        .config(ledger)
        .open()
        .await
        .unwrap();
    orders
        .push_all(&[1, 2, 3].map(|order: u64| (order, "order-1")))
        .await
        .unwrap();
    let first = orders.receive(HOUR, Duration::ZERO).await.unwrap().unwrap();
    first.bury("422: unknown article").await.unwrap();
    waits(orders)
}

async fn undecodable(queues: &Queues) {
    let orders = queues.reliable("orders").open::<u64>().await.unwrap();
    orders.push_all(&[1, 2, 3]).await.unwrap();
    fail_all(&**orders.queue(), "cannot decode: unknown variant `ShipTo`").await;
}

async fn dead_letters(queues: &Queues) {
    let orders = queues.reliable("orders").open::<u64>().await.unwrap();
    orders.push_all(&[1, 2, 3, 4]).await.unwrap();
    for order in 1..=4 {
        let delivery = orders
            .queue()
            .receive_one(HOUR, Duration::ZERO)
            .await
            .unwrap()
            .unwrap();
        let why = match order {
            4 => "the bank is closed".to_owned(),
            _ => format!("order {order}: no article \"rose\""),
        };
        let buried = Settlement::bury(delivery.receipt, why);
        let settled = orders.queue().settle_one(buried).await.unwrap();
        assert_eq!(settled, Settled::Dead);
    }
}

async fn a_limit_held_by_the_dead(queues: &Queues) {
    let config = ReliableConfig::default().with_at_once(2);
    let orders = queues.reliable("orders").config(config);
    let orders = orders.open::<u64>().await.unwrap();
    orders.push_all(&[1, 2, 3, 4, 5]).await.unwrap();
    register(queues, 7, MILLI).await;
    assert_eq!(lease_as(&**orders.queue(), 7, HOUR).await, 2);
}

async fn a_job_kills_its_process(queues: &Queues) {
    let orders = queues.reliable("orders").max_attempts(9);
    let orders = orders.open::<u64>().await.unwrap();
    let resize = Push::new("1").with_headers(Headers::new().with_job("resize"));
    let pushed = orders.queue().push(&[resize, Push::new("2")]).await;
    assert_eq!(pushed.unwrap().len(), 2);
    for process in 1..=3 {
        register(queues, process, MILLI).await;
        let lease = Duration::from_millis(10);
        let held = orders.queue().receive(1, lease, Duration::ZERO).await;
        assert_eq!(held.unwrap()[0].receipt.id, MessageId::new(1));
        tokio::time::sleep(2 * lease).await;
    }
}

async fn handlers_block(queues: &Queues) {
    let orders = queues.reliable("orders").open::<u64>().await.unwrap();
    orders.push_all(&[1, 2, 3, 4, 5, 6]).await.unwrap();
    register(queues, 8, HOUR).await;
    let lease = Duration::from_millis(10);
    assert_eq!(lease_as(&**orders.queue(), 8, lease).await, 6);
    tokio::time::sleep(2 * lease).await;
    assert_eq!(lease_as(&**orders.queue(), 8, HOUR).await, 6);
}

async fn well(queues: &Queues) -> Keep {
    let orders = queues.reliable("orders").open::<u64>().await.unwrap();
    orders.push(&1).await.unwrap();
    let queue = orders.clone();
    vec![tokio::spawn(async move {
        loop {
            if let Some(delivery) = queue.receive(HOUR, HOUR).await.unwrap() {
                delivery.ack().await.unwrap();
            }
        }
    })]
}

pub(crate) const MILLI: Duration = Duration::from_millis(1);

/// Registers a worker of `orders` that says it beats this often, and beats once.
pub(crate) async fn register(queues: &Queues, process: u32, beat: Duration) {
    register_at(queues, "orders", process, beat).await;
}

/// The same, of a worker of another queue.
pub(crate) async fn register_at(queues: &Queues, queue: &str, process: u32, beat: Duration) {
    let holder = format!("vm, process {process}");
    let key = format!("{queue} {process}");
    let registered = WorkerRegistration::open(&**queues.backend(), key);
    let record = serde_json::json!({
        "holder": holder, "program": "shop", "queues": [queue], "slots": 6, "in_flight": 6,
        "uptime_ms": 1, "next_beat_ms": beat.as_millis() as u64,
    });
    let record = serde_json::from_value(record).unwrap();
    registered.await.unwrap().beat(&record).await.unwrap();
}

/// A durable job that waits for three children, which nobody has handled.
pub(crate) async fn waiting_job(queues: &Queues) -> (Reliable<u64>, Reliable<u64>) {
    let name = QueueName::new("mails").unwrap();
    let removed = queues.backend().remove(&name, Removal::EvenIfLeased);
    removed.await.unwrap();
    let mails = queues.reliable("mails").open::<u64>().await.unwrap();
    let orders = queues.reliable("orders").open::<u64>().await.unwrap();
    orders.push(&1).await.unwrap();
    let held = orders.queue().receive_one(HOUR, Duration::ZERO).await;
    let held = held.unwrap().unwrap();
    let mut record = ChildrenRecord::new("mails", held.receipt.token.get());
    record.waits = 1;
    for mail in 1..=3 {
        let parent = format!("orders/{}", held.id());
        let push = Push::new(mail.to_string()).with_header(Headers::PARENT, parent);
        record.add(mails.queue().push_one(push).await.unwrap().id().unwrap());
    }
    let mut steps = Steps::default();
    steps.set("charge", 2, StepRecord::Done("7".to_owned()));
    steps.set("mails", 5, StepRecord::Children(record));
    let state = Json::write(&steps).unwrap();
    let defer = Settlement::defer(held.receipt, HOUR).with_state(state);
    let settled = orders.queue().settle_one(defer).await.unwrap();
    assert_eq!(settled, Settled::Done);
    (orders, mails)
}

async fn a_child_is_dead(queues: &Queues) {
    let (_, mails) = waiting_job(queues).await;
    let held = leased_by(&**mails.queue(), 1, HOUR).await;
    let bury = Settlement::bury(held[0].receipt, "no address");
    assert_eq!(mails.queue().settle_one(bury).await.unwrap(), Settled::Dead);
}

/// Leases as many as there may be, for this process.
pub(crate) async fn lease_as(queue: &dyn Leasing, process: u32, time: Duration) -> usize {
    leased_by(queue, process, time).await.len()
}

pub(crate) async fn leased_by(queue: &dyn Leasing, process: u32, time: Duration) -> Vec<Delivery> {
    let holder = Holder::new(format!("vm, process {process}")).unwrap();
    let many = 100.try_into().unwrap();
    let leased = queue.settle_and_lease(&[], many, time, Some(holder)).await;
    leased.unwrap().1.deliveries
}

async fn lease(queue: &dyn Leasing, count: usize) -> usize {
    let leased = queue.receive(count, HOUR, Duration::ZERO).await;
    leased.unwrap().len()
}

/// A consumer that waits, which is not to look like a lost wake-up.
fn waits(orders: Grouped<u64>) -> Keep {
    vec![tokio::spawn(async move {
        orders.receive(HOUR, HOUR).await.map(drop).unwrap();
    })]
}

/// All messages fail once, and wait for minutes.
async fn fail_all(queue: &dyn Leasing, why: &str) {
    let leased = queue.receive(100, HOUR, Duration::ZERO).await.unwrap();
    for delivery in leased {
        let retry = Settlement::retry_because(delivery.receipt, Duration::from_secs(600), why);
        assert_eq!(queue.settle_one(retry).await.unwrap(), Settled::Done);
    }
}

/// Whether a line has all parts of the pattern, in order; `…` stands for anything.
pub(crate) fn fits(line: &str, pattern: &str) -> bool {
    let mut rest = line;
    let mut parts = pattern.split('…');
    let first = parts.next().unwrap_or_default();
    let Some(after) = rest.strip_prefix(first) else {
        return false;
    };
    rest = after;
    parts.all(|part| match rest.find(part) {
        Some(at) => {
            rest = &rest[at + part.len()..];
            true
        }
        None => false,
    })
}

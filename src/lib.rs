//! Six kinds of queue behind one set of traits, in process and on Redis, for programs that hand
//! work from producers to consumers.
//!
//! | kind | typed handle | what it does |
//! | --- | --- | --- |
//! | reliable | [`Reliable`] | first in, first out |
//! | delay | [`Delay`] | each message at its due time |
//! | priority | [`Priority`] | the most urgent first |
//! | grouped | [`Grouped`] | each group in order, and all groups in turn |
//! | bounded | [`Bounded`] | a fixed length, never exceeded |
//! | rotating | [`Rotating`] | a ring, each item in turn |
//!
//! [`connect`] opens a backend by URL, and [`Queues`] opens queues on it, of any type that serde
//! writes and reads. The first five kinds hand out messages under leases: settle each delivery, or
//! its message comes back. The docs quote rules by their numbers in the repository's `CONTRACT.md`
//! (L4, D1 …).
//!
//! ```
//! use std::time::Duration;
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize)]
//! struct CancelOrder {
//!     order: u64,
//! }
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> queue_kit::Result<()> {
//! let queues = queue_kit::connect("memory:").await?;
//! let timeouts = queues.delay("order-timeouts").open::<CancelOrder>().await?;
//!
//! let half_an_hour = Duration::from_secs(30 * 60);
//! let paid = timeouts.push(&CancelOrder { order: 41 }, half_an_hour).await?;
//! timeouts.push(&CancelOrder { order: 42 }, half_an_hour).await?;
//! timeouts.cancel(paid).await?;
//!
//! let lease = Duration::from_secs(30);
//! let an_hour = Duration::from_secs(60 * 60);
//! while let Some(delivery) = timeouts.receive(lease, an_hour).await? {
//!     match delivery.body() {
//!         Ok(unpaid) => {
//!             assert_eq!(unpaid.order, 42);
//!             delivery.ack().await?;
//!         }
//!         Err(error) => delivery.bury(error.to_string()).await?,
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Each kind
//!
//! A **reliable** queue delivers in push order. A failed message comes back after a delay, and
//! after its last attempt it is a dead letter:
//!
//! ```
//! # use std::time::Duration;
//! use queue_kit::{Page, Settled};
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> queue_kit::Result<()> {
//! # let lease = Duration::from_secs(30);
//! # let wait = Duration::from_secs(60);
//! let queues = queue_kit::connect("memory:").await?;
//! let mails = queues.reliable("mails").max_attempts(2).open::<String>().await?;
//! mails.push("to: nobody").await?;
//!
//! let first = mails.receive(lease, wait).await?.expect("it was pushed");
//! assert_eq!(first.retry(Duration::from_secs(5)).await?, Settled::Done);
//! let second = mails.receive(lease, wait).await?.expect("it is due again");
//! assert_eq!(second.attempt(), 2);
//! assert_eq!(second.retry(Duration::from_secs(5)).await?, Settled::Dead);
//!
//! let dead = mails.dead_letters(Page::first(10)).await?;
//! let letter = &dead.entries[0];
//! assert_eq!(letter.body.as_ref().expect("it decodes"), "to: nobody");
//! assert_eq!(letter.attempts, 2);
//! # Ok(())
//! # }
//! ```
//!
//! A **priority** queue delivers the most urgent message first, and equally urgent ones in arrival
//! order:
//!
//! ```
//! # use std::time::Duration;
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> queue_kit::Result<()> {
//! # let (lease, wait) = (Duration::from_secs(30), Duration::ZERO);
//! let queues = queue_kit::connect("memory:").await?;
//! let tickets = queues.priority("tickets").open::<String>().await?;
//! tickets.push("a typo", 0).await?;
//! tickets.push("the site is down", 10).await?;
//!
//! let delivery = tickets.receive(lease, wait).await?.expect("two were pushed");
//! assert_eq!(delivery.body().unwrap(), "the site is down");
//! # Ok(())
//! # }
//! ```
//!
//! A **grouped** queue delivers the messages of each key in order, one at a time, and lets the keys
//! take turns:
//!
//! ```
//! # use std::time::Duration;
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> queue_kit::Result<()> {
//! # let (lease, wait) = (Duration::from_secs(30), Duration::ZERO);
//! let queues = queue_kit::connect("memory:").await?;
//! let invoices = queues.grouped("invoices").open::<u64>().await?;
//! for number in 1..=3 {
//!     invoices.push(&number, "wholesale").await?;
//! }
//! invoices.push(&4, "ann").await?;
//!
//! let first = invoices.receive_batch(10, lease, wait).await?;
//! let numbers: Vec<u64> = first.iter().map(|one| *one.body().unwrap()).collect();
//! assert_eq!(numbers, [4, 1], "one of each");
//! # Ok(())
//! # }
//! ```
//!
//! A **bounded** queue never holds more than its capacity. Each push chooses what happens when
//! there is no room: refuse it, drop the oldest, or wait:
//!
//! ```
//! # use std::time::Duration;
//! use queue_kit::{Overflow, Pushed};
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> queue_kit::Result<()> {
//! let queues = queue_kit::connect("memory:").await?;
//! let gifts = queues.bounded("gifts", 2).open::<String>().await?;
//! for gift in ["rose", "kite", "cake"] {
//!     assert_ne!(gifts.push(gift, Overflow::DropOldest).await?, Pushed::Full);
//! }
//! let newest = gifts.recent(10).await?;
//! let newest: Vec<String> = newest.into_iter().map(|gift| gift.body).collect::<Result<_, _>>()?;
//! assert_eq!(newest, ["cake", "kite"]);
//!
//! let refused = gifts.push("hat", Overflow::Reject).await?;
//! assert_eq!(refused, Pushed::Full);
//! let hat = gifts.message("hat").wait(Duration::from_secs(1));
//! assert_eq!(hat.send().await?, Pushed::Full, "nobody made room");
//! # Ok(())
//! # }
//! ```
//!
//! A **rotating** queue is a ring: each visit reads the next item and moves it to the tail. With a
//! pace, the item is due again only when the pace has passed:
//!
//! ```
//! # use std::time::Duration;
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> queue_kit::Result<()> {
//! let queues = queue_kit::connect("memory:").await?;
//! let sensors = queues.rotating("sensors").pace(Duration::from_secs(10));
//! let sensors = sensors.open::<String>().await?;
//! for sensor in ["north", "south"] {
//!     sensors.push(sensor).await?;
//! }
//! let start = tokio::time::Instant::now();
//! for expected in ["north", "south", "north", "south"] {
//!     let visit = sensors.visit(Duration::from_secs(60)).await?.expect("one becomes due");
//!     assert_eq!(visit.body?, expected);
//! }
//! assert!(start.elapsed() >= Duration::from_secs(10));
//! # Ok(())
//! # }
//! ```
//!
//! # More than a value
//!
//! `push` takes a value, and the settings that its kind needs. `message` takes more: headers on each kind; a dedup key,
//! a distinct key, a due time and a time to live on kinds that lease; and settings that only one kind has. A setting that a kind lacks
//! does not compile, and neither does a message for a delay queue without its due time. [`MessageBuilder`] lists what
//! there is:
//!
//! ```
//! # use std::time::Duration;
//! use queue_kit::{Inserted, Overflow, Pushed, Sent};
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> queue_kit::Result<()> {
//! # let (lease, wait) = (Duration::from_secs(30), Duration::from_secs(60));
//! let queues = queue_kit::connect("memory:").await?;
//! let (hour, day) = (Duration::from_secs(60 * 60), Duration::from_secs(24 * 60 * 60));
//!
//! // Headers travel beside the value, and a repeat under the same dedup key changes nothing.
//! let mails = queues.reliable("mails").open::<String>().await?;
//! let first = mails.message("to: ann").header("tenant", "acme").dedup("welcome-ann", day);
//! let first = first.send().await?;
//! let again = mails.message("to: ann").header("tenant", "acme").dedup("welcome-ann", day);
//! assert_eq!(again.send().await?, Sent::Duplicate(first.id()));
//! let delivery = mails.receive(lease, wait).await?.expect("it was sent");
//! assert_eq!(delivery.headers().get("tenant"), Some("acme"));
//!
//! // A delay queue asks for a due time, and the other kinds that lease may have one. Without a
//! // priority, a message is ordinary (0).
//! let reminders = queues.delay("reminders").open::<u64>().await?;
//! reminders.message(&42).header("tenant", "acme").delay(hour).send().await?;
//! let tickets = queues.priority("tickets").open::<String>().await?;
//! let ticket = tickets.message("renew the certificate").priority(10).delay(day);
//! ticket.dedup("certificate", 2 * day).send().await?;
//!
//! // Nobody can use a code that is five minutes old: the queue drops it then.
//! let codes = queues.reliable("codes").open::<u64>().await?;
//! codes.message(&4711).drop_after(Duration::from_secs(5 * 60)).send().await?;
//! tokio::time::sleep(hour).await;
//! assert!(codes.receive(lease, Duration::ZERO).await?.is_none());
//!
//! // The only undelivered message under its distinct key, and the policy for a full queue.
//! let prices = queues.bounded("prices", 100).open::<f64>().await?;
//! for price in [9.5, 9.0] {
//!     let price = prices.message(&price).distinct("lamp").overflow(Overflow::DropOldest);
//!     assert_ne!(price.send().await?, Pushed::Full);
//! }
//! assert_eq!(prices.recent(10).await?.len(), 1);
//!
//! // A restarted program sends its whole list again, and each item is in the ring once.
//! let sensors = queues.rotating("sensors").open::<String>().await?;
//! for sensor in ["north", "south", "north"] {
//!     let item = sensors.message(sensor).key(sensor);
//!     if let Inserted::Present(id) = item.send().await? {
//!         println!("{sensor} is there already, as {id}");
//!     }
//! }
//! assert_eq!(sensors.queue().len().await?, 2);
//! # Ok(())
//! # }
//! ```
//!
//! # Effects that happen once
//!
//! A queue may deliver a message twice (L1). A handler whose effect must not happen twice runs it
//! under a key: the second handler finds the key done, or busy. [`Once`] says what that guarantees,
//! and what exactly-once takes in addition (O5).
//!
//! ```
//! # use std::time::Duration;
//! use queue_kit::OnceRun;
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> queue_kit::Result<()> {
//! # let lease = Duration::from_secs(30);
//! # let wait = Duration::from_secs(60);
//! let queues = queue_kit::connect("memory:").await?;
//! let orders = queues.reliable("orders").open::<u64>().await?;
//! let charges = queues.once("charges").await?.with_claim(Duration::from_secs(20));
//! orders.push(&42).await?;
//!
//! let mut charged = Vec::new();
//! while let Some(delivery) = orders.receive(lease, wait).await? {
//!     let order = *delivery.body().expect("a number");
//!     let effect = charges.run(format!("order-{order}"), |claim| {
//!         // The sink may check the token, or store the key.
//!         charged.push((order, claim.token()));
//!         async { queue_kit::Result::Ok(()) }
//!     });
//!     match effect.await? {
//!         OnceRun::Busy { left } => delivery.defer(left).await?,
//!         // This handler dies before it acks, the first time.
//!         OnceRun::Ran(()) => {}
//!         OnceRun::Unrecorded { .. } | OnceRun::AlreadyDone => delivery.ack().await?,
//!     }
//! }
//! assert_eq!(charged.len(), 1, "though it was delivered twice");
//! # Ok(())
//! # }
//! ```
//!
//! # Workers
//!
//! A [`Worker`] runs a handler for each message of a queue, and settles it by the handler's answer.
//! You have to name the handler's error type somewhere; [`Failure`] takes any error by `?`, and can
//! also say what to do:
//!
//! ```
//! # use std::time::Duration;
//! use queue_kit::{Backoff, Context, Failure, Worker};
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> queue_kit::Result<()> {
//! let queues = queue_kit::connect("memory:").await?;
//! let orders = queues.delay("orders").open::<String>().await?;
//! orders.push("41", Duration::from_secs(60)).await?;
//! orders.push("forty-two", Duration::from_secs(60)).await?;
//!
//! let worker = Worker::new(orders)
//!     .concurrency(8)
//!     .lease(Duration::from_secs(30)) // heartbeats extend it
//!     .timeout(Duration::from_secs(300))
//!     .retry(Backoff::exponential(Duration::from_secs(1)))
//!     .drain(Duration::from_secs(10));
//! let health = worker.health();
//! let shutdown = tokio::time::sleep(Duration::from_secs(3600));
//! let report = worker
//!     .run_until(shutdown, |order: String, cx: Context| async move {
//!         if cx.attempt() > 2 {
//!             return Err(Failure::bury("this will never be a number"));
//!         }
//!         let number: u64 = order.parse()?;
//!         println!("order {number}, fenced by {}", cx.token());
//!         Ok(())
//!     })
//!     .await?;
//!
//! assert_eq!((report.counts.acked, report.counts.retried, report.counts.died), (1, 2, 1));
//! assert!(health.troubles().is_empty());
//! # Ok(())
//! # }
//! ```
//!
//! A long handler races its work against [`Context::stopped`], which ends when the lease is lost or
//! the time to finish is over. If the worker tells a handler to stop at shutdown, or cuts it off,
//! it releases the message, which costs no attempt:
//!
//! ```
//! # use std::time::Duration;
//! # use queue_kit::{Context, Worker};
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> queue_kit::Result<()> {
//! # let queues = queue_kit::connect("memory:").await?;
//! # let films = queues.reliable("films").open::<String>().await?;
//! # films.push("a long one").await?;
//! # let shutdown = tokio::time::sleep(Duration::from_secs(60));
//! let report = Worker::new(films.clone())
//!     .run_until(shutdown, |_film: String, cx: Context| async move {
//!         for _minute in 0..90 {
//!             tokio::select! {
//!                 biased;
//!                 stop = cx.stopped() => return Err(format!("told to stop: {stop:?}")),
//!                 () = tokio::time::sleep(Duration::from_secs(60)) => {}
//!             }
//!         }
//!         Ok(())
//!     })
//!     .await?;
//! assert_eq!(report.counts.released, 1);
//! let again = films.receive(Duration::from_secs(30), Duration::ZERO).await?.expect("released");
//! assert_eq!(again.attempt(), 1);
//! # Ok(())
//! # }
//! ```
//!
//! An operator stops a job that runs. A look at the leased messages shows which worker holds each, and a receipt to
//! settle it by. The worker learns of it at its next heartbeat, and notifies the handler; [the module](worker) says
//! what this cannot do.
//!
//! ```
//! # use std::time::Duration;
//! use queue_kit::{Context, DeathReason, LeasingExt, Page, Place, Settlement, Standing, Worker};
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> queue_kit::Result<()> {
//! # let minute = Duration::from_secs(60);
//! let queues = queue_kit::connect("memory:").await?;
//! let films = queues.reliable("films").open::<String>().await?;
//! films.push("a long one").await?;
//!
//! let operator = async {
//!     tokio::time::sleep(minute).await;
//!     for film in films.peek(Place::Leased, Page::first(100)).await?.entries {
//!         let Standing::Leased { receipt, holder, .. } = film.standing else {
//!             continue;
//!         };
//!         assert_eq!(holder.expect("a worker says who it is").as_str(), "encoder on web-3");
//!         let stop = Settlement::bury(receipt, "nobody needs it");
//!         films.queue().settle_one(stop).await?;
//!     }
//!     tokio::time::sleep(minute).await;
//!     Ok::<(), queue_kit::Error>(())
//! };
//! let shutdown = async { operator.await.expect("the queue answers") };
//! let report = Worker::new(films.clone())
//!     .holder("encoder on web-3") // by default, its host and process
//!     .run_until(shutdown, |_film: String, cx: Context| async move {
//!         tokio::select! {
//!             biased;
//!             stop = cx.stopped() => Err(format!("told to stop: {stop:?}")),
//!             () = tokio::time::sleep(Duration::from_secs(90 * 60)) => Ok(()),
//!         }
//!     })
//!     .await?;
//! assert_eq!((report.counts.lost, report.counts.acked), (1, 0));
//! let dead = films.dead_letters(Page::first(100)).await?.entries;
//! assert_eq!(dead[0].reason, DeathReason::Buried("nobody needs it".to_owned()));
//! # Ok(())
//! # }
//! ```
//!
//! A test of such a handler needs no worker: [`Context::for_test`] makes a context, and tells the
//! handler to stop when the test asks for it.
//!
//! Several queues share one worker's slots, by weight or strictly in order, each with a type, a handler and settings of
//! its own. A handler may take many messages at once:
//!
//! ```
//! # use std::time::Duration;
//! use queue_kit::{Context, Failure, Route, Workers};
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> queue_kit::Result<()> {
//! let queues = queue_kit::connect("memory:").await?;
//! let alarms = queues.priority("alarms").open::<String>().await?;
//! let samples = queues.reliable("samples").open::<f64>().await?;
//! alarms.push("too hot", 10).await?;
//! samples.push_all(&[20.5, 21.0, f64::MAX]).await?;
//!
//! let shutdown = tokio::time::sleep(Duration::from_secs(1));
//! let report = Workers::by_weight()
//!     .concurrency(16)
//!     .add(Route::new(alarms).weight(3), |text: String, _| async move {
//!         println!("{text}");
//!     })
//!     .add_batches(100, Route::new(samples), |batch: Vec<(f64, Context)>| async move {
//!         // One round trip to a database; and a verdict for each.
//!         let verdict = |(sample, _): &(f64, Context)| match *sample {
//!             sample if sample < 1000.0 => Ok(()),
//!             _ => Err(Failure::bury("the sensor is broken")),
//!         };
//!         batch.iter().map(verdict).collect::<Vec<_>>()
//!     })
//!     .run_until(shutdown)
//!     .await?;
//! assert_eq!((report.counts.acked, report.counts.died), (3, 1));
//! # Ok(())
//! # }
//! ```
//!
//! # Bytes beneath
//!
//! [`Typed::queue`] is the queue of bytes under a handle: it has batches of messages with headers
//! and keys, and the operators' calls (pause, purge, revive, counters). Its traits are object-safe,
//! so that a program can choose its backend when it runs.
//!
//! # For operators
//!
//! A program that did not make a queue lists what there is, opens a queue as it is stored, changes
//! its configuration, on which the open handles go on, and removes it:
//!
//! ```
//! # #[cfg(feature = "memory")]
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> queue_kit::Result<()> {
//! use queue_kit::{ReliableConfig, Removal};
//!
//! let queues = queue_kit::connect("memory:").await?;
//! let mails = queues.reliable("mails").open::<String>().await?;
//! mails.push("a bill").await?;
//!
//! let page = 100.try_into().expect("not zero");
//! for queue in queues.backend().queues(None, page).await? {
//!     let counters = queue.counters.expect("it can be read");
//!     println!("{}: {} ready, paused: {}", queue.name, counters.depth.ready, counters.paused);
//!     assert_eq!(counters.depth.ready, 1);
//! }
//! let stored = queues.stored("mails").await?.expect("it exists");
//! assert_eq!(stored.config.leasing().expect("it leases").max_attempts, 5);
//! queues.reconfigure("mails", ReliableConfig::default().with_max_attempts(9)).await?;
//! mails.push("another bill").await?;
//! // And removes it: refused while messages are leased. A handle in use would make it anew.
//! assert!(queues.remove("mails", Removal::UnlessLeased).await?);
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "memory"))]
//! # fn main() {}
//! ```
//!
//! An operator can look at each message without changing it, and can cancel an undelivered one. This order has a
//! priority, a delay, a dedup key and a time to live; its first attempt fails, and its time is over before the next one
//! succeeds:
//!
//! ```
//! # #[cfg(feature = "memory")]
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> queue_kit::Result<()> {
//! # use std::time::Duration;
//! use queue_kit::{Cancelled, DeathReason, Page, Place, Sent, Standing};
//!
//! # let lease = Duration::from_secs(30);
//! # let (minute, hour) = (Duration::from_secs(60), Duration::from_secs(60 * 60));
//! let queues = queue_kit::connect("memory:").await?;
//! let orders = queues.priority("orders").open::<u64>().await?;
//! let order = || {
//!     let order = orders.message(&42).priority(10).delay(hour).dedup("order-42", 24 * hour);
//!     order.bury_after(8 * hour) // after the push: then the shop is closed
//! };
//! let id = order().send().await?.id();
//! assert_eq!(order().send().await?, Sent::Duplicate(id));
//!
//! let page = Page::first(100);
//! let delayed = orders.peek(Place::Delayed, page).await?.entries;
//! assert_eq!(delayed[0].standing, Standing::delayed(hour));
//!
//! let first = orders.receive(lease, 2 * hour).await?.expect("it becomes due");
//! first.retry_because(minute, "the printer is out of paper").await?;
//! let failed = orders.peek(Place::Delayed, page).await?.entries;
//! assert_eq!(failed[0].message.body.as_ref().expect("a number"), &42);
//! assert_eq!(failed[0].failure.as_deref(), Some("the printer is out of paper"));
//! assert_eq!((failed[0].attempts, failed[0].age >= hour), (1, true));
//!
//! let second = orders.receive(lease, hour).await?.expect("it is due again");
//! second.retry_because(24 * hour, "the printer is broken").await?;
//! tokio::time::sleep(7 * hour).await;
//! let dead = orders.dead_letters(page).await?.entries;
//! assert_eq!(dead[0].reason, DeathReason::Outdated);
//! assert_eq!(dead[0].failure.as_deref(), Some("the printer is broken"));
//! assert_eq!(orders.cancel(id).await?, Cancelled::TooLate);
//!
//! let other = orders.message(&43).delay(hour).send().await?.id();
//! assert_eq!(orders.cancel(other).await?, Cancelled::Cancelled);
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "memory"))]
//! # fn main() {}
//! ```
//!
//! # Watching a worker
//!
//! [`Worker::health`] and the report are always there. With the feature `metrics` a worker counts
//! and times its work through the `metrics` facade: the module `worker::metrics` has the names and
//! units.
//!
//! ```
//! # #[cfg(all(feature = "metrics", feature = "memory"))]
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> queue_kit::Result<()> {
//! use std::time::Duration;
//! use queue_kit::Worker;
//!
//! // The recorder comes first: without one, counts are lost.
//! let recorder = metrics_exporter_prometheus::PrometheusBuilder::new();
//! let recorder = recorder.install_recorder().expect("there is no other");
//! let queues = queue_kit::connect("memory:").await?;
//! let jobs = queues.reliable("jobs").open::<u64>().await?;
//! jobs.push_all(&[1, 2, 3]).await?;
//! let worker = Worker::new(jobs).sample_every(Duration::from_secs(15));
//! worker.run_until(tokio::time::sleep(Duration::from_secs(1)), |_, _| async {}).await?;
//!
//! let page = recorder.render();
//! assert!(page.contains(r#"queue_kit_outcomes_total{queue="jobs",outcome="acked"} 3"#));
//! # Ok(())
//! # }
//! # #[cfg(not(all(feature = "metrics", feature = "memory")))]
//! # fn main() {}
//! ```
//!
//! With the feature `tracing` each job is a span. A message carries its producer's span as the
//! W3C's `traceparent` header, whatever the tracing system:
//!
//! ```
//! # #[cfg(feature = "memory")]
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> queue_kit::Result<()> {
//! use std::time::Duration;
//! use queue_kit::{Headers, TraceParent};
//!
//! let queues = queue_kit::connect("memory:").await?;
//! let jobs = queues.reliable("jobs").open::<u64>().await?;
//! let here = TraceParent::new(0xabc, 0xdef, true).expect("neither id is zero");
//! let headers = Headers::new().with_trace_parent(here);
//! jobs.message(&1).headers(headers).send().await?;
//!
//! let (lease, wait) = (Duration::from_secs(30), Duration::ZERO);
//! let delivery = jobs.receive(lease, wait).await?.expect("it was pushed");
//! assert_eq!(delivery.headers().trace_parent(), Some(here));
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "memory"))]
//! # fn main() {}
//! ```
//!
//! A handler finds it by `Context::headers`, and the module `worker::tracing` says how a bridge such
//! as `tracing-opentelemetry` joins both ends.
//!
//! # Published strategies
//!
//! With the feature `recipes`, the module `recipes` has strategies that others have published, such as `LPUSH` and
//! `BRPOP`, as backends over the same keys and values. They are for migration and for comparison: each breaks rules of
//! the contract, and `Backend::guarantees` names them. A default queue may have the same name, since its keys begin
//! with `qk:`. The repository's `docs/strategies.md` compares them, and leads from each to a default queue.
//!
//! ```no_run
//! # #[cfg(feature = "recipes")]
//! # async fn example() -> queue_kit::Result<()> {
//! use queue_kit::{Queues, RedisBackend, recipes::{BlockingList, RecipeBackend}};
//!
//! let redis = RedisBackend::connect("redis://127.0.0.1:6379").await?;
//! // The list `jobs`, to which other programs push, and the default queue of the same name.
//! let lists = Queues::new(RecipeBackend::new(&redis, BlockingList::default()));
//! let old = lists.reliable("jobs").open::<String>().await?;
//! let new = Queues::new(redis).reliable("jobs").open::<String>().await?;
//! # Ok(())
//! # }
//! ```
//!
//! # TLS and sentinels
//!
//! A URL with `rediss://` speaks TLS to Redis (feature `tls`), and one with `redis+sentinel://` finds the primary
//! through sentinels; the repository's `docs/redis.md` has all of it. The backend's builder has the settings that a URL
//! cannot hold:
//!
//! ```no_run
//! # #[cfg(feature = "tls")]
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use queue_kit::{Queues, RedisBackend, Tls};
//!
//! let tls = Tls::new().roots(std::fs::read("/etc/redis/ca.pem")?).server_name("redis.internal");
//! let redis = RedisBackend::builder("rediss://10.0.0.7:6380")?.tls(tls).connect().await?;
//! let orders = Queues::new(redis).reliable("orders").open::<String>().await?;
//! # Ok(())
//! # }
//! ```
//!
//! # Features
//!
//! | feature | default | what it adds |
//! | --- | --- | --- |
//! | `memory` | yes | `MemoryBackend`, opened by `memory:` |
//! | `file` | no | `FileBackend`, opened by `file:PATH`, and the module `file`: its settings (Unix) |
//! | `redis` | no | `RedisBackend`, opened by `redis://`, `redis+sentinel://` and `unix://`, and the module `redis`: its builder, logins that change, health, warnings and rights |
//! | `connector` | no | `redis::Connector`: connections that a program opens with the redis crate itself |
//! | `recipes` | no | the module `recipes`: published strategies on Redis |
//! | `tls` | no | TLS to Redis by `rediss://`, and `Tls`, its settings |
//! | `worker` | yes | [`Worker`], [`Workers`] and all of [`worker`] |
//! | `tracing` | no | a worker's spans and events, and the warnings of [`connect`] |
//! | `metrics` | no | a worker's counts and times |
//! | `cron` | no | the module `schedule`: periodic jobs by cron expressions and intervals |
//! | `sql-postgres`, `sql-tokio-postgres`, `sql-sqlite` | no | the module `sql`: an outbox and an inbox, for pushes and effects within a transaction |
//! | `signal` | no | `shutdown`, which waits for SIGTERM or ctrl-c |
//! | `tower` | no | `worker::Tower`: layers of tower around a worker's handlers |
//! | `msgpack` | no | the `MessagePack` codec |
//! | `float_roundtrip` | no | JSON reads each float back exactly ([`Json`]), in the whole program |

#![cfg_attr(docsrs, feature(doc_cfg))]

mod connect;
#[cfg(doctest)]
mod pages;

// The contract is one list, kept in one place, and users may use all of it.
#[doc(inline)]
pub use queue_core::*;
#[cfg(feature = "file")]
pub use queue_file as file;
#[cfg(feature = "file")]
#[doc(inline)]
pub use queue_file::FileBackend;
#[cfg(feature = "memory")]
#[doc(inline)]
pub use queue_memory::MemoryBackend;
#[cfg(feature = "recipes")]
pub use queue_recipes as recipes;
#[cfg(feature = "redis")]
pub use queue_redis as redis;
#[cfg(feature = "redis")]
#[doc(inline)]
pub use queue_redis::RedisBackend;
#[cfg(feature = "tls")]
#[doc(inline)]
pub use queue_redis::Tls;
#[cfg(feature = "cron")]
pub use queue_schedule as schedule;
#[cfg(any(
    feature = "sql-postgres",
    feature = "sql-sqlite",
    feature = "sql-tokio-postgres"
))]
pub use queue_sql as sql;
#[cfg(feature = "worker")]
pub use queue_worker as worker;
#[cfg(feature = "worker")]
#[doc(inline)]
pub use queue_worker::{Backoff, Context, Failure, Route, Router, Worker, Workers};

#[cfg(feature = "signal")]
pub use queue_worker::shutdown;

pub use self::connect::{DEFAULT_URL, connect};

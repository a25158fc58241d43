//! Durable jobs: steps, sleeps and children.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::SeqCst},
    },
    time::Duration,
};

use queue_core::*;
use queue_memory::MemoryBackend;
use queue_worker::*;
use tokio::time::{Instant, sleep};

use crate::environment::{Environment, HOUR, MILLI, SECOND};

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap()
}

/// A second queue, of children.
async fn children() -> Reliable<u64> {
    let queues = Queues::new(MemoryBackend::new());
    queues.reliable("children").open().await.unwrap()
}

/// A handler of parents that push children to this queue.
fn with<Q, F>(
    queue: &Q,
    handle: impl Fn(Q, Context) -> F + Send + Sync + 'static,
) -> impl Fn(u64, Context) -> F + Send + Sync + 'static
where
    Q: Clone + Send + Sync + 'static,
{
    let queue = queue.clone();
    move |_, cx| handle(queue.clone(), cx)
}

/// Handles children until the queue has ended `count` of them: those that `fails` names die.
async fn serve(children: &Reliable<u64>, count: u64, fails: fn(u64) -> bool) {
    let over = async {
        loop {
            let counters = children.queue().counters().await.unwrap();
            if counters.acked + counters.cancelled + counters.depth.dead >= count {
                return;
            }
            sleep(10 * MILLI).await;
        }
    };
    let worker = Worker::new(children.clone()).keep_results(HOUR, limits::DEFAULT_RESULTS);
    let worked = worker.run_until(over, move |child: u64, _: Context| async move {
        sleep(100 * MILLI).await;
        match fails(child) {
            true => Err(Failure::bury("broken")),
            false => Ok(Output(child * 2)),
        }
    });
    let _ = worked.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_stored_step_does_not_run_again_and_costs_one_call() {
    let environment = Environment::holding(1).await;
    let ran = Arc::new(AtomicU32::new(0));
    let runs = Arc::clone(&ran);
    let handler = move |_: u64, cx: Context| {
        let ran = Arc::clone(&runs);
        async move {
            let step = |name| {
                cx.step(name, || async {
                    Ok::<_, Failure>(ran.fetch_add(1, SeqCst))
                })
            };
            let (a, b) = tokio::join!(step("a"), step("b"));
            assert_eq!((a?, b?), (0, 1));
            match cx.attempt() {
                1 => Err(Failure::new("later")),
                _ => Ok(()),
            }
        }
    };
    let report = environment.work_off(environment.worker(), handler).await;
    assert_eq!((report.counts.retried, report.counts.acked), (1, 1));
    assert_eq!(ran.load(SeqCst), 2);
    assert_eq!(
        environment.spy.watched().extends,
        1,
        "both steps go together"
    );
}

#[tokio::test(start_paused = true)]
async fn a_dead_job_that_is_revived_goes_on_or_starts_fresh() {
    for (revival, runs) in [(Revival::WithState, 1), (Revival::Fresh, 2)] {
        let environment = Environment::holding(1).await;
        let ran = Arc::new(AtomicU32::new(0));
        for is_sound in [false, true] {
            let ran = Arc::clone(&ran);
            let handler = move |_: u64, cx: Context| {
                let ran = Arc::clone(&ran);
                async move {
                    let step = || async { Ok::<_, Failure>(ran.fetch_add(1, SeqCst)) };
                    cx.step("charge", step).await?;
                    is_sound.then_some(()).ok_or(Failure::bury("no stock"))
                }
            };
            environment.work_off(environment.worker(), handler).await;
            let queue = &environment.queue;
            let dead = queue.dead_letters(Page::first(2)).await.unwrap().entries;
            let ids: Vec<MessageId> = dead.iter().map(|letter| letter.id).collect();
            match is_sound {
                true => assert_eq!(ids, []),
                false => assert_eq!(queue.revive(&ids, revival).await.unwrap().len(), 1),
            }
        }
        assert_eq!(ran.load(SeqCst), runs, "{revival:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_sleep_costs_no_attempt_and_lasts_its_time() {
    let environment = Environment::holding(1).await;
    let begin = Instant::now();
    let handler = |_: u64, cx: Context| async move {
        cx.sleep("nap", HOUR).await?;
        assert_eq!(cx.attempt(), 1);
        Ok::<_, Failure>(())
    };
    let report = environment.work_off(environment.worker(), handler).await;
    assert_eq!((report.counts.deferred, report.counts.acked), (1, 1));
    let took = begin.elapsed();
    assert!(took >= HOUR && took < HOUR + SECOND, "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_job_keeps_a_state_of_its_own_beside_its_steps() {
    let cx = Context::for_test().state("own").build();
    let step = |cx: Context| async move { cx.step("a", || async { Ok::<_, Failure>(7) }).await };
    assert_eq!(step(cx.clone()).await.unwrap(), 7);
    assert_eq!(cx.state::<String>().unwrap().as_deref(), Some("own"));
    cx.set_state(&[1, 2]).unwrap();
    let cx = cx.again_after(SECOND).build();
    assert_eq!(cx.state::<Vec<u8>>().unwrap(), Some(vec![1, 2]));
    cx.clear_state().unwrap();
    let cx = cx.again_after(SECOND).build();
    assert_eq!(cx.state::<Vec<u8>>().unwrap(), None);
    assert_eq!(step(cx).await.unwrap(), 7);
    let error = Context::for_test()
        .build()
        .set_state(&looks_like_steps())
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
}

/// A state that looks like steps.
fn looks_like_steps() -> std::collections::BTreeMap<&'static str, u8> {
    [("qk-steps", 1)].into()
}

#[tokio::test(start_paused = true)]
async fn bad_names_and_results_are_told_with_the_way_out() {
    let ran = AtomicU32::new(0);
    let cx = Context::for_test().build();
    let step = |name: &str| {
        let name = name.to_owned();
        let (cx, ran) = (cx.clone(), &ran);
        async move {
            let value = ran.fetch_add(1, SeqCst);
            cx.step(name, || async move { Ok::<_, Failure>(value) })
                .await
        }
    };
    step("a").await.unwrap();
    for (name, text) in [
        ("a", "in a loop as (\"a\", i)"),
        ("", "1 to 64 bytes"),
        ("x\n", "control"),
    ] {
        let failure = step(name).await.unwrap_err();
        assert!(failure.reason().contains(text), "{failure:?}");
    }
    let slept = cx
        .again_after(SECOND)
        .build()
        .sleep("a", SECOND)
        .await
        .unwrap_err();
    assert!(slept.reason().contains("was a step"), "{slept:?}");
    let cx = cx.again_after(SECOND).build();
    let text = cx
        .step("a", || async { Ok::<_, Failure>(String::new()) })
        .await
        .unwrap_err();
    assert!(
        text.reason().contains("give the step a new name"),
        "{text:?}"
    );

    let large = || async { Ok::<_, Failure>("x".repeat(limits::MAX_STATE)) };
    let failure = cx.step("large", large).await.unwrap_err();
    assert_eq!(failure.remedy(), Remedy::Bury);
    assert!(
        failure.reason().contains("keep the value elsewhere"),
        "{failure:?}"
    );
    assert!(
        cx.again_after(SECOND)
            .build()
            .step("b", || async { Ok::<_, Failure>(1) })
            .await
            .is_ok()
    );
}

#[tokio::test(start_paused = true)]
async fn a_step_does_not_begin_without_a_lease() {
    let (cx, worker) = Context::for_test().build_with_worker();
    worker.stop(Stop::LeaseLost);
    let step = cx
        .step("a", || async { Err::<(), _>(Failure::bury("it ran")) })
        .await;
    assert_ne!(step.unwrap_err().reason(), "it ran");
}

#[tokio::test(start_paused = true)]
async fn a_parent_waits_without_a_slot_and_comes_back_at_the_last_end() {
    let environment = Environment::holding(1).await;
    let children = children().await;
    let begin = Instant::now();
    let parent = with(&children, |children, cx| async move {
        let spawned = cx.spawn("children", &children, 0..300_u64).await?;
        assert_eq!(spawned.len(), 300);
        let joined = cx.join(&spawned).await?;
        assert_eq!((joined.done(), joined.gone(), joined.dead()), (300, 0, 0));
        let results = cx.results::<u64>(&spawned).await?;
        assert_eq!(results[7], JobResult::Done(14));
        assert_eq!(cx.attempt(), 1);
        Ok::<_, Failure>(())
    });
    let work = environment.work_off(environment.worker(), parent);
    let (report, ()) = tokio::join!(work, serve(&children, 300, |_| false));
    assert_eq!(report.counts.acked, 1);
    assert!(report.counts.deferred <= 6, "{:?}", report.counts);
    let late = begin.elapsed() - Duration::from_secs(30);
    assert!(late < SECOND, "{late:?} after the last end");
    let extends = environment.spy.watched().extends;
    assert_eq!(extends, 2, "before the push and after it");
    assert_eq!(children.queue().counters().await.unwrap().accepted, 300);
}

/// W4: dead is an end.
pub(crate) fn a_dead_child_ends_for_its_parent_and_is_named() {
    runtime().block_on(async {
        let environment = Environment::holding(1).await;
        let children = children().await;
        let parent = with(&children, |children, cx| async move {
            let spawned = cx.spawn("children", &children, 0..9_u64).await?;
            let joined = cx.join(&spawned).await?;
            assert_eq!((joined.done(), joined.dead()), (8, 1));
            assert_eq!(joined.failed()[0].id, spawned.ids()[3]);
            assert!(joined.failed()[0].reason.contains("broken"));
            Ok::<_, Failure>(())
        });
        let work = environment.work_off(environment.worker(), parent);
        let both = async { tokio::join!(work, serve(&children, 9, |child| child == 3)).0 };
        let report = tokio::time::timeout(100 * SECOND, both)
            .await
            .expect("it ends");
        assert_eq!(report.counts.acked, 1);
    });
}

#[test]
fn a_dead_child_is_an_end() {
    a_dead_child_ends_for_its_parent_and_is_named();
}

#[tokio::test(start_paused = true)]
async fn join_all_fails_at_a_dead_child_and_passes_once_it_is_revived() {
    let environment = Environment::holding(1).await;
    let children = children().await;
    let parent = with(&children, |children, cx| async move {
        let spawned = cx.spawn("children", &children, 0..9_u64).await?;
        let joined = cx.join_all(&spawned).await?;
        assert_eq!((joined.done(), joined.dead(), cx.attempt()), (9, 0, 2));
        Ok::<_, Failure>(())
    });
    let worker = environment.worker().retry(Backoff::fixed(HOUR));
    let work = environment.work_off(worker, parent);
    let revive = async {
        serve(&children, 9, |child| child == 3).await;
        environment.until(|counters| counters.retried == 1).await;
        let dead = children.queue().dead_letters(Page::first(9)).await.unwrap();
        let id = dead.entries[0].id;
        assert!(matches!(
            children
                .queue()
                .revive(&[id], Revival::WithState)
                .await
                .unwrap()[..],
            [Revived::Revived]
        ));
        serve(&children, 9, |_| false).await;
    };
    let (report, ()) = tokio::join!(work, revive);
    assert_eq!((report.counts.retried, report.counts.acked), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn others_are_cancelled_if_asked() {
    let environment = Environment::holding(1).await;
    let children = children().await;
    let parent = with(&children, |children, cx| async move {
        let spawned = cx.spawn("children", &children, 0..200_u64).await?;
        let joined = cx.join(&spawned.cancel_others_on_failure()).await?;
        assert_eq!(joined.dead(), 1);
        assert!(joined.gone() > 100, "{joined:?}");
        Ok::<_, Failure>(())
    });
    let work = environment.work_off(environment.worker(), parent);
    let (report, ()) = tokio::join!(work, serve(&children, 200, |child| child == 3));
    assert_eq!(report.counts.acked, 1);
    assert!(children.queue().counters().await.unwrap().cancelled > 100);
}

#[tokio::test(start_paused = true)]
async fn a_full_queue_of_children_defers_the_parent_and_each_child_is_pushed_once() {
    let environment = Environment::holding(1).await;
    let queues = Queues::new(MemoryBackend::new());
    let children: Bounded<u64> = queues.bounded("children", 200).open().await.unwrap();
    let parent = with(&children, |children, cx| async move {
        let spawned = cx.spawn("children", &children, 0..300_u64).await?;
        assert_eq!(spawned.len(), 300);
        Ok::<_, Failure>(())
    });
    let work = environment.work_off(environment.worker(), parent);
    let drain = async {
        sleep(5 * SECOND).await;
        for _ in 0..300 {
            let delivery = children.receive(SECOND, HOUR).await.unwrap().unwrap();
            delivery.ack().await.unwrap();
        }
    };
    let (report, ()) = tokio::join!(work, drain);
    assert!(report.counts.deferred > 1, "{:?}", report.counts);
    assert_eq!(children.queue().counters().await.unwrap().accepted, 300);
}

/// Queues in memory: `jobs` with a router for batches and chains, and two queues of members.
struct Families {
    queues: Queues,
    jobs: Reliable<Jobs>,
    rows: Reliable<u64>,
    urgent: Priority<u64>,
}

impl Families {
    async fn open() -> Self {
        let queues = Queues::new(MemoryBackend::new());
        Self {
            jobs: queues.reliable("jobs").open().await.unwrap(),
            rows: queues.reliable("rows").open().await.unwrap(),
            urgent: queues.priority("urgent").open().await.unwrap(),
            queues,
        }
    }

    /// Handles batches and chains until `over`.
    async fn parents(&self, over: impl Future<Output = ()> + Send) -> Report {
        let router = Router::new()
            .on(batches(self.queues.clone()))
            .on(chains(self.queues.clone()));
        let worker = Worker::new(self.jobs.clone()).concurrency(4);
        let worker = worker.keep_results(HOUR, limits::DEFAULT_RESULTS);
        worker.router(router).run_until(over).await.unwrap()
    }

    async fn is_over(&self) {
        while self.jobs.queue().depth().await.unwrap().occupied() > 0 {
            sleep(10 * MILLI).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_callback_of_a_batch_follows_once_all_members_have_ended() {
    let families = Families::open().await;
    let batch = Batch::new("import").jobs(&families.rows, 0..9_u64).unwrap();
    let batch = batch
        .pushes(&families.urgent, [Push::new("7").with_priority(3)])
        .unwrap();
    let batch = batch.then(&families.urgent, [99_u64]).unwrap();
    assert_eq!(batch.len(), 10);
    let id = families.jobs.push(&batch).await.unwrap();
    let urgent = async {
        let member = families.urgent.receive(HOUR, HOUR).await.unwrap().unwrap();
        assert_eq!(member.headers().parent(), Some(("jobs", id)));
        let early = families.urgent.receive(SECOND, 90 * SECOND).await.unwrap();
        assert!(early.is_none(), "no callback before the last member");
        member.ack().await.unwrap();
        let callback = families
            .urgent
            .receive(SECOND, HOUR)
            .await
            .unwrap()
            .unwrap();
        let report = BatchReport::of(callback.headers()).unwrap();
        assert_eq!(
            (&*report.name, report.done, report.gone, report.dead),
            ("import", 8, 1, 1)
        );
        callback.ack().await.unwrap();
    };
    let parents = families.parents(families.is_over());
    tokio::join!(parents, serve(&families.rows, 9, |row| row == 4), urgent);
    let result = families.jobs.result::<BatchReport>(id).await.unwrap();
    assert!(matches!(result, JobResult::Done(report) if report.dead == 1));
    assert_eq!(
        families.urgent.queue().counters().await.unwrap().accepted,
        2
    );
}

#[tokio::test(start_paused = true)]
async fn a_chain_with_a_dead_job_goes_on_once_both_are_revived() {
    let families = Families::open().await;
    let chain = Chain::new().then(&families.rows, [1_u64, 2]).unwrap();
    let chain = chain.then(&families.rows, [3_u64]).unwrap();
    let id = families.jobs.push(&chain).await.unwrap();
    let rows = families.rows.queue();
    let first = serve(&families.rows, 2, |row| row == 2);
    tokio::join!(families.parents(families.is_over()), first);
    assert_eq!(rows.counters().await.unwrap().accepted, 2, "3 waits for 2");
    let dead = families
        .jobs
        .queue()
        .dead_letters(Page::first(9))
        .await
        .unwrap();
    let reason = dead.entries[0].reason.to_string();
    assert!(
        reason.contains("2 of the queue rows: buried: broken; revive it"),
        "{reason}"
    );

    let row = rows.dead_letters(Page::first(9)).await.unwrap().entries[0].id;
    let _ = rows.revive(&[row], Revival::WithState).await.unwrap();
    let _ = families
        .jobs
        .queue()
        .revive(&[id], Revival::WithState)
        .await
        .unwrap();
    let second = serve(&families.rows, 3, |_| false);
    tokio::join!(families.parents(families.is_over()), second);
    let counters = rows.counters().await.unwrap();
    assert_eq!((counters.accepted, counters.acked), (3, 3));
}

#[tokio::test(start_paused = true)]
async fn a_member_that_no_batch_can_hold_is_refused() {
    let families = Families::open().await;
    let push = Push::new("7").with_dedup("key", HOUR);
    let error = Batch::new("bad")
        .pushes(&families.rows, [push])
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    let nameless = Reliable::<u64>::new(families.rows.queue().clone());
    let error = Batch::new("bad").jobs(&nameless, [7_u64]).unwrap_err();
    assert!(error.to_string().contains("open it by Queues"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_family_may_live_in_partitions() {
    let queues = Queues::new(Partitioned::new(Arc::new(MemoryBackend::new()), 4).unwrap());
    let orders: Reliable<u64> = queues.reliable("orders").open().await.unwrap();
    let children: Reliable<u64> = queues.reliable("children").open().await.unwrap();
    orders.push_all(&[1, 2, 3]).await.unwrap();
    let parent = with(&children, |children, cx| async move {
        let spawned = cx.spawn("children", &children, 0..200_u64).await?;
        let joined = cx.join(&spawned).await?;
        assert_eq!((joined.done(), joined.dead()), (199, 1));
        Ok::<_, Failure>(())
    });
    let empty = async {
        while orders.queue().depth().await.unwrap().occupied() > 0 {
            sleep(10 * MILLI).await;
        }
    };
    let work = Worker::new(orders.clone()).run_until(empty, parent);
    let (report, ()) = tokio::join!(work, serve(&children, 600, |child| child == 7));
    assert_eq!(report.unwrap().counts.acked, 3);
    assert_eq!(children.queue().counters().await.unwrap().accepted, 600);
}

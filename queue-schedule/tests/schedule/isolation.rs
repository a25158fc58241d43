//! Bad entries beside good ones (C7): records, rules and messages.

use std::sync::{Arc, Mutex};

use queue_core::*;
use queue_memory::MemoryBackend;
use queue_schedule::*;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::environment::*;

/// The items of the schedules' ring.
async fn ring(environment: &Environment) -> Arc<dyn RotatingQueue> {
    let name = QueueName::new("schedules").unwrap();
    let config = RotatingConfig::default();
    let backend = environment.queues.backend();
    backend.open_rotating(&name, &config).await.unwrap()
}

/// The latest stored record of a schedule, with its version.
async fn stored(environment: &Environment, name: &str) -> (u64, Vec<u8>) {
    let items = ring(environment).await.list(Page::first(1_000)).await;
    let own = items.unwrap().entries.into_iter().filter_map(|item| {
        let version = item.headers.get("version")?.parse().ok()?;
        (item.headers.get("schedule") == Some(name)).then(|| (version, item.body.to_vec()))
    });
    own.max().unwrap()
}

/// Writes a record as another program would.
async fn write(environment: &Environment, name: &str, version: u64, shown: &str, body: &[u8]) {
    let headers = [("schedule", name.to_owned()), ("version", shown.to_owned())];
    let item = Insert::new(body.to_vec())
        .with_headers(headers.into_iter().collect())
        .with_key(format!("{name}\n{version}"));
    ring(environment).await.insert_one(item).await.unwrap();
}

/// Changes a record.
type Damage = fn(Value) -> Vec<u8>;

fn set(mut record: Value, path: &str, value: Value) -> Vec<u8> {
    *record.pointer_mut(path).unwrap() = value;
    record.to_string().into_bytes()
}

/// A bad record: its bytes, a part of its problem's text, and whether it can be read as a whole.
const DAMAGES: [(Damage, &str, bool); 8] = [
    (|_| b"\xff\x00\x1b[2J".to_vec(), "cannot be read", false),
    (|_| Vec::new(), "cannot be read", false),
    (
        |record| record.to_string().into_bytes()[..40].to_vec(),
        "cannot be read",
        false,
    ),
    (
        |mut record| {
            record["shards"] = json!(3);
            record.to_string().into_bytes()
        },
        "unknown field `shards`",
        false,
    ),
    (
        |record| set(record, "/state", json!("asleep")),
        "unknown variant `asleep`",
        false,
    ),
    (
        |record| set(record, "/definition/rule", json!({"yearly": {}})),
        "unknown variant `yearly`",
        false,
    ),
    (
        |record| {
            set(
                record,
                "/definition/rule",
                json!({"cron": {"expression": "0 3 * * *", "zone": "Mars/Base"}}),
            )
        },
        "the time zone `Mars/Base`",
        true,
    ),
    (
        |record| set(record, "/definition/rule", json!({"every": {"millis": 0}})),
        "an interval of 0 ms",
        true,
    ),
];

/// A scheduler with a schedule before and one behind the bad one, and the errors that it reports.
async fn three(environment: &Environment) -> (Scheduler, Arc<Mutex<Vec<String>>>) {
    let errors = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&errors);
    let mut scheduler = Scheduler::new(&environment.schedules).on_error(move |name, error| {
        seen.lock()
            .unwrap()
            .push(format!("{name}: {}", queue_core::with_sources(error)));
    });
    for name in ["a-good", "bad", "good"] {
        let minutely = Periodic::every(name, MINUTE).unwrap();
        scheduler.add_job(minutely, "jobs", report).await.unwrap();
    }
    (scheduler, errors)
}

#[tokio::test(start_paused = true)]
pub(crate) async fn c7_a_bad_record_harms_no_other_and_can_be_taken_away() {
    for (index, (damage, problem, readable)) in DAMAGES.into_iter().enumerate() {
        let environment = Environment::new().await;
        let schedules = environment.schedules.clone();
        let (scheduler, errors) = three(&environment).await;
        let steer = async {
            sleep(10 * SECOND).await;
            let (version, body) = stored(&environment, "bad").await;
            let body = damage(serde_json::from_slice(&body).unwrap());
            let shown = (version + 1).to_string();
            write(&environment, "bad", version + 1, &shown, &body).await;
            // The slot that was pushed ahead is there; then the others go on alone.
            sleep(170 * SECOND).await;
            assert_eq!(environment.fired().await, [60, 60, 60, 120, 120, 180, 180]);
            let listed = schedules.list().await.unwrap();
            let names: Vec<&str> = listed.iter().map(|one| &*one.name).collect();
            assert_eq!(names, ["a-good", "bad", "good"]);
            let shown = listed[1].problem.as_deref().unwrap_or_default();
            assert!(shown.contains(problem), "{index}: {shown}");
            assert_eq!((&listed[0].problem, &listed[2].problem), (&None, &None));
            assert_eq!((listed[0].enabled, listed[1].enabled), (true, readable));
            // Each call on a neighbour works.
            assert!(schedules.run_now("good").await.unwrap());
            assert!(schedules.disable("a-good").await.unwrap());
            sleep(50 * SECOND).await;
            assert_eq!(environment.fired().await, [180]);
            assert!(schedules.enable("a-good").await.unwrap());
            sleep(20 * SECOND).await;
            assert_eq!(environment.fired().await, [240, 240]);
        };
        scheduler.run_until(steer).await.unwrap();
        // Nothing is wrong with a record that this program need not understand.
        let errors = std::mem::take(&mut *errors.lock().unwrap());
        assert_eq!(errors.len(), usize::from(!readable), "{index}: {errors:?}");
        assert!(
            errors.iter().all(|error| error.starts_with("bad: ")),
            "{errors:?}"
        );

        // A program that has it is refused, unless it replaces it.
        let bad = || Periodic::every("bad", MINUTE).unwrap();
        let mut other = Scheduler::new(&schedules);
        assert!(other.add_job(bad(), "jobs", report).await.is_err());
        if index % 2 == 0 {
            if !readable {
                assert!(schedules.enable("bad").await.is_err());
                assert!(schedules.run_now("bad").await.is_err());
            }
            assert!(schedules.disable("bad").await.unwrap());
            let listed = schedules.list().await.unwrap();
            assert_eq!((listed[1].enabled, listed[1].next), (false, None));
            assert!(schedules.remove("bad").await.unwrap());
            assert!(!schedules.remove("bad").await.unwrap());
            assert_eq!(schedules.list().await.unwrap().len(), 2);
            other.add_job(bad(), "jobs", report).await.unwrap();
        } else {
            other.change_job(bad(), "jobs", report).await.unwrap();
        }
        environment.fired().await;
        let now = environment.now().await;
        other.run_until(sleep(MINUTE + SECOND)).await.unwrap();
        let next = (now - START) / 60_000 * 60 + 60;
        let fired = environment.fired().await;
        assert_eq!(
            fired.iter().filter(|slot| **slot == next as i64).count(),
            3,
            "{fired:?}"
        );
        let listed = schedules.list().await.unwrap();
        assert!(
            listed
                .iter()
                .all(|one| one.enabled && one.problem.is_none())
        );
    }
}

/// The slot that was pushed ahead goes with a record of which its time can be read (C4).
#[tokio::test(start_paused = true)]
async fn c7_a_record_of_a_later_version_takes_its_next_slot_along() {
    for disable in [true, false] {
        let environment = Environment::new().await;
        environment.run(minutely(), 10 * SECOND).await;
        let (version, body) = stored(&environment, "minutely").await;
        let mut record: Value = serde_json::from_slice(&body).unwrap();
        record["shards"] = json!(3);
        let (body, version) = (record.to_string(), version + 1);
        let shown = version.to_string();
        write(&environment, "minutely", version, &shown, body.as_bytes()).await;
        let schedules = &environment.schedules;
        match disable {
            true => assert!(schedules.disable("minutely").await.unwrap()),
            false => assert!(schedules.remove("minutely").await.unwrap()),
        }
        sleep(5 * MINUTE).await;
        assert!(environment.fired().await.is_empty());
        let depth = environment.jobs.queue().depth().await.unwrap();
        assert_eq!(depth.delayed, 0, "no marker is left");
        // It is as it was defined.
        if disable {
            let listed = schedules.list().await.unwrap();
            assert_eq!(listed[0].rule, "every 60000 ms");
            assert!(schedules.enable("minutely").await.unwrap());
            environment.run(minutely(), MINUTE).await;
            assert_eq!(environment.fired().await, [360]);
        }
    }
}

/// An item without a version, and an item whose version is not the one that its key says, stop nobody.
#[tokio::test(start_paused = true)]
async fn c7_damaged_headers_are_written_over() {
    for shown in ["", "-1", "many", "1"] {
        let environment = Environment::new().await;
        let schedules = &environment.schedules;
        write(&environment, "bad", 1, shown, b"{}").await;
        write(&environment, "bad", 2, shown, b"{}").await;
        let listed = schedules.list().await.unwrap();
        assert_eq!((&*listed[0].name, listed.len()), ("bad", 1));
        assert!(listed[0].problem.is_some(), "{listed:?}");
        assert!(schedules.remove("bad").await.unwrap(), "{shown}");
        assert_eq!(schedules.list().await.unwrap(), []);
        assert_eq!(ring(&environment).await.len().await.unwrap(), 1);
    }
}

/// A message that cannot be made, or is refused.
type Bad = fn() -> Result<Push>;

const BAD_MESSAGES: [(Bad, &str); 5] = [
    (
        || Err(Error::new(ErrorKind::Codec, "no body today")),
        "no body today",
    ),
    (
        || Err(Error::new(ErrorKind::Unavailable, "no disk")),
        "no disk",
    ),
    (|| panic!("at the disco"), "at the disco"),
    (|| Ok(Push::new(vec![b'x'; 2 << 20])), "1048576"),
    (
        || Ok(Push::new("x").with_time_to_live(TimeToLive::drop_after(std::time::Duration::ZERO))),
        "time to live",
    ),
];

#[tokio::test(start_paused = true)]
pub(crate) async fn c7_a_slot_whose_message_is_bad_is_given_up_and_reported_once() {
    for (bad, says) in BAD_MESSAGES {
        let environment = Environment::new().await;
        let errors = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&errors);
        let mut scheduler = Scheduler::new(&environment.schedules).on_error(move |name, error| {
            seen.lock()
                .unwrap()
                .push(format!("{name}: {}", queue_core::with_sources(error)));
        });
        let make = move |slot: &Slot| match (slot.at().as_millis() - START) / 1_000 {
            120 | 135 => bad(),
            _ => Push::of_job(&report(slot), &Json),
        };
        let broken = Periodic::every("broken", MINUTE)
            .unwrap()
            .missed(Missed::RunAll(3));
        scheduler.add_push(broken, "jobs", make).await.unwrap();
        let steer = async {
            sleep(135 * SECOND).await;
            assert!(environment.schedules.run_now("broken").await.unwrap());
            sleep(46 * SECOND).await;
        };
        scheduler.run_until(steer).await.unwrap();
        assert_eq!(environment.fired().await, [60, 180], "{says}");
        let errors = errors.lock().unwrap();
        assert_eq!(errors.len(), 2, "{errors:?}");
        for (error, slot) in errors.iter().zip([120_000, 135_000]) {
            let slot = (START + slot).to_string();
            let is_named = error.starts_with("broken: ") && error.contains(&slot);
            assert!(is_named && error.contains(says), "{error}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn c7_a_bad_slot_among_missed_ones_leaves_the_others() {
    let environment = Environment::new().await;
    let all = || {
        Periodic::every("broken", MINUTE)
            .unwrap()
            .missed(Missed::RunAll(4))
    };
    let mut scheduler = Scheduler::new(&environment.schedules);
    scheduler.add_job(all(), "jobs", report).await.unwrap();
    sleep(250 * SECOND).await;
    let mut scheduler = Scheduler::new(&environment.schedules);
    let make = |slot: &Slot| match (slot.at().as_millis() - START) / 1_000 {
        60 | 180 => panic!("not this one"),
        _ => Push::of_job(&report(slot), &Json),
    };
    scheduler.add_push(all(), "jobs", make).await.unwrap();
    scheduler.run_until(sleep(SECOND)).await.unwrap();
    assert_eq!(environment.fired().await, [120, 240]);
}

/// A queue that is gone: each schedule on it reports one error, not one a second, and has its slot when the queue is there.
#[tokio::test(start_paused = true)]
pub(crate) async fn c7_a_cause_that_may_pass_is_reported_once() {
    let environment = Environment::new().await;
    let errors = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&errors);
    let mut scheduler = Scheduler::new(&environment.schedules).on_error(move |name, error| {
        seen.lock()
            .unwrap()
            .push(format!("{name}: {}", queue_core::with_sources(error)));
    });
    environment
        .queues
        .reliable("other")
        .open::<Jobs>()
        .await
        .unwrap();
    for (name, queue) in [("a", "other"), ("b", "other"), ("c", "jobs")] {
        let minutely = Periodic::every(name, MINUTE).unwrap();
        scheduler.add_job(minutely, queue, report).await.unwrap();
    }
    let removal = Removal::UnlessLeased;
    assert!(environment.queues.remove("other", removal).await.unwrap());
    let steer = async {
        sleep(10 * MINUTE + SECOND).await;
        assert_eq!(environment.fired().await.len(), 10);
        let errors = std::mem::take(&mut *errors.lock().unwrap());
        assert_eq!(errors.len(), 2, "{errors:?}");
        assert!(errors[0].starts_with("a: ") && errors[1].starts_with("b: "));
        environment
            .queues
            .reliable("other")
            .open::<Jobs>()
            .await
            .unwrap();
        sleep(MINUTE).await;
    };
    scheduler.run_until(steer).await.unwrap();
    let other = environment.queues.stored("other").await.unwrap().unwrap();
    let depth = other.queue.leasing().unwrap().depth().await.unwrap();
    // The slot that was claimed, and the first one since, of each; and the next ones.
    assert_eq!((depth.ready, depth.delayed), (4, 2));
    assert!(errors.lock().unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn schedules_of_a_partitioned_backend_have_their_ring_beside() {
    let backend: Arc<dyn Backend> =
        Arc::new(MemoryBackend::starting_at(Timestamp::from_millis(START)));
    let whole = Queues::from(Arc::clone(&backend));
    let divided = Queues::new(Partitioned::new(backend, 3).unwrap());
    let refused = Schedules::open(&divided, "schedules").await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Configuration);
    assert!(
        refused.to_string().contains("on the backend itself"),
        "{refused}"
    );
    let beside = Schedules::open(&whole, "schedules").await.unwrap();
    let environment = Environment::on(divided).await;
    let scheduler = environment.scheduler(minutely()).await;
    let steer = async {
        sleep(150 * SECOND).await;
        let mut fired = environment.fired().await;
        // There is no order among partitions.
        fired.sort_unstable();
        assert_eq!(fired, [60, 120]);
        // An operator's program need not know of the partitions.
        assert!(beside.run_now("minutely").await.unwrap());
        sleep(6 * SECOND).await;
        assert_eq!(environment.fired().await, [150]);
        assert!(beside.disable("minutely").await.unwrap());
        let depth = environment.jobs.queue().depth().await.unwrap();
        assert_eq!(depth.delayed, 0);
        sleep(10 * MINUTE).await;
        assert!(environment.fired().await.is_empty());
    };
    scheduler.run_until(steer).await.unwrap();
}

/// The numbers of a damaged record are lost: a new one's keys are no keys of the old one.
#[tokio::test(start_paused = true)]
async fn c7_a_damaged_record_that_is_replaced_has_slots_of_its_own() {
    let environment = Environment::new().await;
    let hourly = || Periodic::every("hourly", HOUR).unwrap();
    environment.run(hourly(), SECOND).await;
    let (version, _) = stored(&environment, "hourly").await;
    let shown = (version + 1).to_string();
    write(&environment, "hourly", version + 1, &shown, b"{").await;
    let mut scheduler = Scheduler::new(&environment.schedules);
    scheduler
        .change_job(hourly(), "jobs", report)
        .await
        .unwrap();
    scheduler.run_until(sleep(HOUR)).await.unwrap();
    // Nobody can know of the old one, which was pushed ahead.
    assert_eq!(environment.fired().await, [3600, 3600]);
}

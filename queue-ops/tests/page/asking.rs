//! Wishes of the page for running workers, and edits of schedules.

use std::time::Duration;

use queue_core::{WorkerRecord, WorkerRegistration, WorkerWish, workers};

use crate::site::{Form, Site, TOKEN, rows, words};

const BEAT: u64 = 10_000;

async fn register(site: &Site, key: &str, holder: &str) -> (WorkerRegistration, WorkerRecord) {
    let mut record = WorkerRecord::default();
    (record.holder, record.next_beat_ms) = (holder.to_owned(), BEAT);
    let place = WorkerRegistration::open(&**site.queues.backend(), key.to_owned()).await;
    let mut place = place.unwrap();
    place.beat(&record).await.unwrap();
    (place, record)
}

#[tokio::test(start_paused = true)]
async fn a_worker_is_asked_and_no_other_one() {
    let site = Site::signed_in().await;
    let backend = &**site.queues.backend();
    let (mut one, record) = register(&site, "1a", "web \"1\" <b>").await;
    let (mut other, others) = register(&site, "2b", "web-2").await;
    let page = site.page("/workers").await;
    let quiet: Vec<_> = Form::all(&page)
        .into_iter()
        .filter(|form| form.button == "Make it quiet")
        .collect();
    assert_eq!(quiet.len(), 2, "{page}");
    let answer = quiet[0].press(&site).await;
    assert_eq!(
        (answer.status.as_u16(), answer.header("location")),
        (303, "/workers")
    );
    let text = words(&site.page("/workers").await);
    assert!(
        text.contains("works asked to be quiet web \"1\" <b>"),
        "{text}"
    );
    one.beat(&record).await.unwrap();
    other.beat(&others).await.unwrap();
    assert_eq!(one.wish(backend).await.unwrap(), Some(WorkerWish::Quiet));
    assert_eq!(other.wish(backend).await.unwrap(), None);
    let mut drain = Form::of(&site.page("/workers").await, "Drain it");
    drain.fields.retain(|(name, _)| name != "worker");
    drain.fields.push(("worker".to_owned(), "2b".to_owned()));
    assert_eq!(drain.press(&site).await.status, 303);
    other.beat(&others).await.unwrap();
    assert_eq!(other.wish(backend).await.unwrap(), Some(WorkerWish::Drain));
    let audit = rows(&site.page("/audit").await);
    assert_eq!(
        (&*audit[1][1], &*audit[1][2]),
        ("quiet worker web \"1\" <b>", "asked")
    );
    assert_eq!(audit[0][1], "drain worker web-2");
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_is_gone_or_none_is_not_asked() {
    let site = Site::signed_in().await;
    register(&site, "1a", "web-1").await;
    for (action, worker, why) in [
        ("quiet", "", "no running worker has the key"),
        ("quiet", "zz", "no running worker has the key `zz`"),
        ("kill", "1a", "there is no action `kill` for a worker"),
        ("", "1a", "there is no action ``"),
    ] {
        let answer = site
            .post("/workers", &[("action", action), ("worker", worker)])
            .await;
        assert_eq!(answer.status, 400, "{answer:?}");
        assert!(answer.words().contains(why), "{why}: {answer:?}");
    }
    tokio::time::advance(Duration::from_millis(3 * BEAT + 1)).await;
    let page = site.page("/workers").await;
    assert!(
        page.contains("gone") && Form::all(&page).is_empty(),
        "{page}"
    );
    let answer = site
        .post("/workers", &[("action", "drain"), ("worker", "1a")])
        .await;
    assert_eq!(
        answer.status, 400,
        "a wish would show it as alive: {answer:?}"
    );
    let listed = workers(&**site.queues.backend()).await.unwrap();
    assert!(listed[0].gone && listed[0].record.asked.is_none());
    // A reader has no buttons, and no right.
    let reader = Site::with(|web| web.writes(TOKEN).unwrap());
    register(&reader, "1a", "web-1").await;
    assert!(!reader.page("/workers").await.contains("Drain it"));
    let answer = reader
        .post("/workers", &[("action", "drain"), ("worker", "1a")])
        .await;
    assert_eq!(answer.status, 401);
    assert_eq!(
        workers(&**reader.queues.backend()).await.unwrap()[0]
            .record
            .asked,
        None
    );
}

/// Hiding bodies hides what users wrote, and not who works.
#[tokio::test(start_paused = true)]
async fn workers_are_shown_and_asked_where_bodies_are_hidden() {
    let mut site = Site::with(|web| web.writes(TOKEN).unwrap().redact(|_, _| None));
    let (mut place, record) = register(&site, "1a", "web-1").await;
    site.sign_in("").await;
    let page = site.page("/workers").await;
    assert!(page.contains("web-1"), "{page}");
    Form::of(&page, "Make it quiet").press(&site).await;
    place.beat(&record).await.unwrap();
    let wish = place.wish(&**site.queues.backend()).await.unwrap();
    assert_eq!(wish, Some(WorkerWish::Quiet));
}

#[cfg(feature = "schedules")]
#[tokio::test(start_paused = true)]
async fn a_schedule_gets_another_rule_by_a_form() {
    use queue_schedule::{Periodic, Scheduler, Schedules};

    let site = Site::signed_in().await;
    site.reliable("jobs").await;
    let schedules = Schedules::open(&site.queues, "schedules").await.unwrap();
    let mut scheduler = Scheduler::new(&schedules);
    const NASTY: &str = "a \"<b>\" & / ? # % +";
    for name in [NASTY, "other"] {
        let daily = Periodic::cron(name, "0 3 * * *", "UTC").unwrap();
        let push = |_: &queue_schedule::Slot| Ok(queue_core::Push::new("1"));
        scheduler.add_push(daily, "jobs", push).await.unwrap();
    }
    let page = site.page("/schedules").await;
    let form = Form::of(&page, "Set it");
    assert!(
        form.fields
            .contains(&("rule".to_owned(), "0 3 * * * (UTC)".to_owned())),
        "{form:?}"
    );
    let set = async |name: &str, rule: &str| {
        let fields = [("action", "edit"), ("name", name), ("rule", rule)];
        site.post(&form.to, &fields).await
    };
    assert_eq!(set(NASTY, "every 15 min").await.status, 303);
    let shown = rows(&site.page("/schedules").await);
    assert_eq!(shown[0][0], NASTY);
    assert_eq!(
        shown[0][1],
        "every 900000 ms edited; the program's is 0 3 * * * (UTC)"
    );
    assert_eq!(shown[1][1], "0 3 * * * (UTC)");
    for (name, rule, why) in [
        (NASTY, "every day", "the rule \"every day\" of a schedule"),
        (NASTY, "", "the rule \"\" of a schedule"),
        (NASTY, "0 25 * * * (UTC)", "the hour `25`"),
        ("none", "every 1 h", "there is no schedule `none`"),
    ] {
        let answer = set(name, rule).await;
        assert_eq!(answer.status, 400, "{answer:?}");
        assert!(answer.words().contains(why), "{why}: {answer:?}");
    }
    assert_eq!(schedules.list().await.unwrap()[0].rule, "every 900000 ms");
    let audit = rows(&site.page("/audit").await);
    assert_eq!(audit[4][1], format!("edit schedule {NASTY}: every 15 min"));
}

//! Schedules on the page: their list, their buttons, and records that cannot be read.

use std::{sync::Arc, time::Duration};

use queue_core::{Insert, Push, Queues, Reliable, RotatingConfig, RotatingQueueExt};
use queue_memory::MemoryBackend;
use queue_ops::web::Web;
use queue_schedule::{Periodic, Scheduler, Schedules, Slot};

use crate::site::{Form, HOUR, Site, TOKEN, attributes, rows};

/// Three schedules of the ring `nightly`, which push to `jobs:mail`, and the page of that ring.
struct Nightly {
    site: Site,
    queues: Queues,
    jobs: Reliable<u64>,
    schedules: Schedules,
}

fn page(queues: &Queues, ring: &str) -> Site {
    let web = Web::new(Arc::clone(queues.backend()));
    let web = web.writes(TOKEN).unwrap().schedules(ring);
    Site::of(queues.clone(), web.router())
}

impl Nightly {
    async fn open() -> Self {
        Self::with_scheduler().await.0
    }

    async fn with_scheduler() -> (Self, Scheduler) {
        let queues = Queues::new(MemoryBackend::new());
        let jobs = queues.reliable("jobs:mail").open::<u64>().await.unwrap();
        let schedules = Schedules::open(&queues, "nightly").await.unwrap();
        let mut scheduler = Scheduler::new(&schedules);
        for name in ["a", "b \"<x>\"", "c:d"] {
            let periodic = Periodic::every(name, 24 * HOUR).unwrap();
            let make = |_: &Slot| Ok(Push::new("1"));
            let added = scheduler.add_push(periodic, "jobs:mail", make);
            added.await.unwrap();
        }
        let mut site = page(&queues, "nightly");
        site.sign_in("").await;
        let nightly = Self {
            site,
            queues,
            jobs,
            schedules,
        };
        (nightly, scheduler)
    }

    async fn enabled(&self) -> Vec<bool> {
        let list = self.schedules.list().await.unwrap();
        list.iter().map(|one| one.enabled).collect()
    }

    async fn forms(&self, button: &str) -> Vec<Form> {
        let forms = Form::all(&self.site.page("/schedules").await).into_iter();
        forms.filter(|form| form.button == button).collect()
    }

    async fn press(&self, at: usize, button: &str) {
        let answer = self.forms(button).await[at].press(&self.site).await;
        assert_eq!(
            (answer.status.as_u16(), answer.header("location")),
            (303, "/schedules"),
            "{answer:?}"
        );
    }

    /// The actions that were written down, the first one first.
    async fn audit(&self) -> Vec<String> {
        let audit = rows(&self.site.page("/audit").await).into_iter().rev();
        audit.map(|row| row[1..].join(": ")).collect()
    }
}

#[tokio::test(start_paused = true)]
async fn schedules_are_listed_with_their_queue_and_next_slot() {
    let nightly = Nightly::open().await;
    let shown = rows(&nightly.site.page("/schedules").await);
    let firsts: Vec<_> = shown.iter().map(|row| (&*row[0], &*row[2])).collect();
    assert_eq!(
        firsts,
        [
            ("a", "jobs:mail"),
            ("b \"<x>\"", "jobs:mail"),
            ("c:d", "jobs:mail")
        ]
    );
    assert!(
        shown.iter().all(|row| row[3].starts_with("in ")),
        "{shown:?}"
    );
    let links = attributes(&nightly.site.page("/schedules").await, "href");
    let to_queue = links.iter().filter(|to| *to == "/queues/jobs%3Amail");
    assert_eq!(to_queue.count(), 3, "{links:?}");
    let stranger = page(&nightly.queues, "nightly");
    let seen = stranger.page("/schedules").await;
    assert!(!seen.contains("<form"), "nobody is signed in");
}

#[tokio::test(start_paused = true)]
async fn each_verb_for_a_schedule_changes_that_schedule_alone() {
    let (nightly, scheduler) = Nightly::with_scheduler().await;
    nightly.press(1, "Disable").await;
    assert_eq!(nightly.enabled().await, [true, false, true]);
    let shown = rows(&nightly.site.page("/schedules").await);
    assert_eq!(shown[1][3], "disabled");
    nightly.press(0, "Enable").await;
    assert_eq!(nightly.enabled().await, [true; 3]);
    nightly.press(2, "Run now").await;
    let shutdown = tokio::time::sleep(Duration::from_secs(20));
    scheduler.run_until(shutdown).await.unwrap();
    assert_eq!(nightly.jobs.queue().depth().await.unwrap().ready, 1);
    assert_eq!(
        nightly.audit().await,
        [
            "disable schedule b \"<x>\": done",
            "enable schedule b \"<x>\": done",
            "run schedule c:d: done"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn names_and_verbs_that_there_are_not_are_refused_and_written_down() {
    let nightly = Nightly::open().await;
    for (action, name, error) in [
        ("disable", "x", "there is no schedule `x`"),
        ("run", "", "there is no schedule ``"),
        ("delete", "a", "there is no action `delete`"),
        ("", "a", "there is no action ``"),
    ] {
        let fields = [("action", action), ("name", name)];
        let answer = nightly.site.post("/schedules", &fields).await;
        assert!(
            answer.status == 400 && answer.words().contains(error),
            "{answer:?}"
        );
    }
    assert_eq!(nightly.enabled().await, [true; 3]);
    let audit = nightly.audit().await;
    assert!(
        audit.len() == 4 && audit.iter().all(|line| line.contains("there is no")),
        "{audit:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn an_unreadable_record_is_shown_with_its_problem_and_can_only_be_removed() {
    let nightly = Nightly::open().await;
    let ring = "nightly".parse().unwrap();
    let config = RotatingConfig::default();
    let ring = nightly.queues.backend().open_rotating(&ring, &config);
    let headers = [("schedule", "torn"), ("version", "1")];
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let torn = Insert::new("{").with_headers(headers.into_iter().collect());
    ring.await.unwrap().insert_one(torn).await.unwrap();
    let shown = rows(&nightly.site.page("/schedules").await);
    assert!(shown[3][3].contains("cannot be read"), "{shown:?}");
    let remove = nightly.forms("Remove").await;
    assert_eq!(remove.len(), 1);
    remove[0].press(&nightly.site).await;
    assert_eq!(nightly.enabled().await, [true; 3]);
}

#[tokio::test(start_paused = true)]
async fn a_ring_of_another_name_has_no_schedules_and_a_look_makes_none() {
    let nightly = Nightly::open().await;
    let mut weekly = page(&nightly.queues, "weekly");
    weekly.sign_in("").await;
    let shown = weekly.page("/schedules").await;
    assert!(shown.contains("There are no schedules under the name"));
    let fields = [("action", "disable"), ("name", "a")];
    assert_eq!(weekly.post("/schedules", &fields).await.status, 400);
    let name = "weekly".parse().unwrap();
    let ring = nightly.queues.backend().open_stored(&name).await;
    assert!(ring.unwrap().is_none());
    assert_eq!(nightly.enabled().await, [true; 3]);
}

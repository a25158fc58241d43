//! Commands about periodic jobs.

use queue_core::*;
use queue_schedule::{Periodic, Scheduler, Schedules};

use crate::site::{HOUR, Site};

/// Two schedules in each of two rings.
async fn make(site: &Site, ring: &str) -> Schedules {
    site.queues.reliable("orders").open::<u64>().await.unwrap();
    let schedules = Schedules::open(&site.queues, ring).await.unwrap();
    let mut scheduler = Scheduler::new(&schedules);
    for name in ["nightly", "hourly"] {
        let periodic = Periodic::every(name, HOUR).unwrap();
        let added = scheduler.add_push(periodic, "orders", |_| Ok(Push::new("1")));
        added.await.unwrap();
    }
    schedules
}

/// The names of the schedules, and whether each is enabled.
async fn state(schedules: &Schedules) -> Vec<(String, bool)> {
    let listed = schedules.list().await.unwrap();
    listed
        .into_iter()
        .map(|one| (one.name, one.enabled))
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[rustfmt::skip]
async fn a_schedule_is_changed_in_its_ring_and_others_are_not() {
    let site = Site::start().await;
    let (usual, own) = (make(&site, "schedules").await, make(&site, "own").await);
    let both = |hourly, nightly| vec![("hourly".to_owned(), hourly), ("nightly".to_owned(), nightly)];
    let none = "there is no schedule `weekly`";
    for (command, words, status, after) in [
        ("disable nightly", "nightly: disabled: no slot becomes ready", 0, both(true, false)),
        ("disable nightly", "nightly: disabled: no slot becomes ready", 0, both(true, false)),
        ("run nightly", "nightly: runs within a scheduler's poll interval", 0, both(true, false)),
        ("enable nightly", "nightly: enabled", 0, both(true, true)),
        ("enable weekly", none, 1, both(true, true)),
        ("disable weekly", none, 1, both(true, true)),
        ("run weekly", none, 1, both(true, true)),
        ("remove weekly", none, 1, both(true, true)),
        ("remove hourly", "hourly: removed", 0, vec![("nightly".to_owned(), true)]),
    ] {
        let said = site.run(&format!("schedules {command} --ring own"));
        assert_eq!((said.all().as_str(), said.status), (words, status), "{command}");
        assert_eq!(state(&own).await, after, "{command}");
        assert_eq!(state(&usual).await, both(true, true), "{command}");
    }
    assert_eq!(site.run("schedules disable hourly").status, 0);
    assert_eq!(state(&usual).await, both(false, true));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_schedules_of_one_ring_are_listed() {
    let site = Site::start().await;
    let (usual, own) = (make(&site, "schedules").await, make(&site, "own").await);
    usual.disable("hourly").await.unwrap();
    own.remove("hourly").await.unwrap();
    let listed = site.run("--json schedules ls").json();
    assert_eq!(listed[0]["name"], "hourly");
    assert_eq!(
        (&listed[0]["enabled"], &listed[1]["enabled"]),
        (&false.into(), &true.into())
    );
    let text = site.run("schedules ls --ring own").out;
    assert!(
        text.contains("nightly") && !text.contains("hourly"),
        "{text}"
    );
    let said = site.run("schedules ls --ring nothing");
    assert_eq!(said.status, 2, "{said:?}");
    let none = QueueName::new("nothing").unwrap();
    let opened = site.queues.backend().open_stored(&none).await.unwrap();
    assert!(opened.is_none(), "none was made");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_diagnosis_names_the_schedules_of_its_ring_and_its_queue() {
    let site = Site::start().await;
    let (usual, own) = (make(&site, "schedules").await, make(&site, "own").await);
    usual.disable("hourly").await.unwrap();
    own.disable("nightly").await.unwrap();
    // The ring that a diagnosis was asked for is in its command.
    let said = site.run("why orders --schedules own");
    assert!(
        said.out
            .contains("`qk schedules enable nightly --ring own`")
            && said.status == 1,
        "{said:?}"
    );
    let said = site.run("why orders");
    assert!(
        said.out.contains("`qk schedules enable hourly`") && !said.out.contains("nightly"),
        "{said:?}"
    );
    // A queue that they do not push to has no finding about them.
    site.queues.reliable("others").open::<u64>().await.unwrap();
    let said = site.run("why others --schedules own");
    assert!(
        !said.out.contains("nightly") && said.status == 0,
        "{said:?}"
    );
}

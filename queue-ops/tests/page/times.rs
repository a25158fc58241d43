//! The waits and handlers' times that workers keep, as charts.

use std::time::Duration;

use queue_core::{OperatorsList, TimesMinute, TimesRecord};

use crate::site::{Site, words};

/// A worker's record of one type of job: in each of the last minutes so many, which took these milliseconds.
async fn write(site: &Site, queue: &str, job: Option<&str>, minutes: u64, count: u64, millis: u64) {
    let mut record = TimesRecord::new(queue.to_owned(), job.map(str::to_owned));
    record.last_ms = 60_000;
    for ago in 0..minutes {
        let mut minute = TimesMinute::default();
        (minute.handled, minute.failed) = (count, count / 10);
        for _ in 0..count {
            minute.wait.note(Duration::from_millis(millis * 2));
            minute.handler.note(Duration::from_millis(millis));
        }
        record.minutes.push((ago, minute));
    }
    let list = OperatorsList::open(&**site.queues.backend()).await.unwrap();
    let key = format!("{queue} {job:?}");
    let _ = list.write(&[(key, record)]).await.unwrap();
}

fn sampled() -> Site {
    Site::with(|web| web.sample_every(Duration::from_secs(10)))
}

#[tokio::test(start_paused = true)]
async fn each_type_of_job_has_its_throughput_its_waits_and_its_times() {
    let site = sampled();
    let evil = "\"><script>alert(1)</script>";
    for queue in ["mail", "other"] {
        site.reliable(queue).await;
    }
    write(&site, "mail", Some("welcome"), 50, 600, 100).await;
    write(&site, "mail", Some(evil), 2, 60, 3_000).await;
    write(&site, "other", None, 1, 10, 5).await;
    tokio::time::sleep(Duration::from_secs(31)).await;
    let page = site.page("/queues/mail").await;
    let text = words(&page);
    assert!(
        text.contains("welcome 30,000 handled Throughput messages a second"),
        "{text}"
    );
    assert!(text.contains("alert(1)</script> 120 handled"), "{text}");
    assert!(!page.contains("<script>alert"), "{page}");
    assert_eq!(page.matches("<strong>Wait</strong>").count(), 2);
    assert_eq!(page.matches("<strong>Handler</strong>").count(), 2);
    // The most handled type comes first; 540 of 600 in a minute did not fail.
    let welcome = page.find("welcome").unwrap();
    assert!(welcome < page.find("alert(1)").unwrap(), "{page}");
    for sentence in [
        "Throughput of the last 60 min: done 9.0/s now, 9.0/s at most; failed 1.0/s now, 1.0/s at most",
        "Handler of the last 60 min: p50 ",
        "Wait of the last 60 min: p50 ",
    ] {
        assert!(page.contains(sentence), "{sentence}: {page}");
    }
    // Within a fourth of 100 ms, and of 200 ms.
    let handler = page
        .split("Handler of the last 60 min: p50 ")
        .nth(1)
        .unwrap();
    let p50: f64 = handler.split(" ms now").next().unwrap().parse().unwrap();
    assert!((64.0..128.0).contains(&p50), "{p50}");
    let other = site.page("/queues/other").await;
    assert!(
        words(&other).contains("All jobs 10 handled") && !other.contains("welcome"),
        "{other}"
    );
    // Nobody keeps times: no charts of them.
    assert!(
        !sampled_without_times()
            .await
            .contains("Jobs of the last hour")
    );
}

async fn sampled_without_times() -> String {
    let site = sampled();
    site.reliable("mail").await;
    tokio::time::sleep(Duration::from_secs(31)).await;
    site.page("/queues/mail").await
}

/// Records of thousands of types do not make a page longer.
#[tokio::test(start_paused = true)]
async fn a_page_has_charts_of_the_most_handled_types_alone() {
    let site = sampled();
    site.reliable("mail").await;
    for number in 1..=30 {
        write(&site, "mail", Some(&format!("job {number}")), 1, number, 10).await;
    }
    tokio::time::sleep(Duration::from_secs(31)).await;
    let page = site.page("/queues/mail").await;
    assert_eq!(page.matches("<h3>").count(), 12, "{page}");
    assert!(
        page.contains("job 30") && page.contains("job 19") && !page.contains("job 18 "),
        "{page}"
    );
    assert!(words(&page).contains("Of 30 types of jobs, these were handled most"));
    assert!(page.len() < 400_000, "{} bytes", page.len());
}

//! Listings over several pages of a thousand.

use std::time::Duration;

use queue_core::*;

use crate::site::{HOUR, Site};

const COUNT: usize = 2_500;

fn length(site: &Site, command: &str) -> usize {
    site.run(&format!("--json {command}"))
        .json()
        .as_array()
        .unwrap()
        .len()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_listing_shows_as_many_as_were_asked_for_and_says_if_there_are_more() {
    let site = Site::start().await;
    let orders = site.queues.grouped("orders").open::<usize>().await.unwrap();
    let keyed: Vec<_> = (0..COUNT)
        .map(|n| Push::from(n.to_string()).with_group(format!("{n:04}")))
        .collect();
    for batch in keyed.chunks(limits::MAX_BATCH) {
        orders.queue().push(batch).await.unwrap();
    }
    let check = |list: &str| {
        for (limit, shown) in [
            (1, 1),
            (999, 999),
            (1_001, 1_001),
            (2_499, 2_499),
            (2_500, 2_500),
            (5_000, 2_500),
        ] {
            let command = format!("{list} -n {limit}");
            assert_eq!(length(&site, &command), shown, "{command}");
            let text = site.run(&command).out;
            let is_cut = text.ends_with("… and more: -n shows more of them\n");
            assert_eq!(is_cut, shown < COUNT, "{command}");
            // The head, and the line about more.
            assert_eq!(
                text.lines().count(),
                1 + shown + usize::from(is_cut),
                "{command}"
            );
        }
        assert_eq!(length(&site, list), 20, "{list}");
        assert_eq!(site.run(&format!("{list} -n 0")).status, 2);
    };
    check("peek orders ready");
    check("groups orders");
    let mut left = COUNT;
    while left > 0 {
        let most = left.min(limits::MAX_BATCH);
        let leased = orders
            .queue()
            .receive(most, HOUR, Duration::ZERO)
            .await
            .unwrap();
        let buried = leased
            .iter()
            .map(|one| Settlement::bury(one.receipt, "no article"));
        orders
            .queue()
            .settle(&buried.collect::<Vec<_>>())
            .await
            .unwrap();
        left -= leased.len();
    }
    check("dead ls orders");
    let all = site.run("--json dead ls orders -n 5000").json();
    let ids: Vec<_> = all
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["id"].as_u64())
        .collect();
    let expected: Vec<_> = (1..=COUNT as u64).map(Some).collect();
    assert_eq!(ids, expected, "the oldest first");
    let groups = site.run("--json dead groups orders").json();
    assert_eq!(groups[0]["count"], COUNT);
    let cause = groups[0]["cause"].as_str().unwrap();
    let said = site.run(&format!("dead revive orders --group {cause} --yes"));
    assert_eq!(said.all(), "2500 of 2500 revived");
}

//! The picture that a failure leaves.

use std::{fs, path::Path, process::Command, time::Duration};

use queue_core::DelayConfig;
use queue_sim::sim::{Broken, Effects, Run, sim};
use queue_worker::Context;

/// The first bug of `docs/simulate-your-logic.md`: an order is refunded twice.
fn refunded_twice(orders: u64) -> Box<Broken> {
    sim("order timeouts")
        .delay::<u64>("order-timeouts", DelayConfig::default())
        .producer(move |timeouts| async move {
            for order in 1..=orders {
                timeouts.push(&order, Duration::from_secs(1_800)).await?;
            }
            Ok(())
        })
        .workers(2)
        .handler(|run: &Run| {
            let refunds = run.ledger("refund");
            move |order: u64, _cx: Context| {
                let refunds = refunds.clone();
                async move { refunds.apply(order).await }
            }
        })
        .check(Effects::exactly_once())
        .try_run()
        .expect_err("a lost ack")
}

/// The file that the message names.
fn picture(broken: &Broken) -> String {
    let mut lines = broken.message.lines();
    let line = lines.find_map(|line| line.strip_prefix("picture: file://"));
    line.unwrap_or_else(|| panic!("no picture in {broken}"))
        .to_owned()
}

#[test]
fn a_failure_names_its_picture() {
    let page = fs::read_to_string(picture(&refunded_twice(3))).expect("the picture");
    for text in [
        "order timeouts breaks effects exactly once",
        "class=\"bar expired\"",
        "<td>leased until</td>",
        "time 2",
        "replay: QUEUE_SIM_REPLAY=",
    ] {
        assert!(page.contains(text), "no {text} in {page}");
    }
}

#[test]
#[ignore = "it writes docs/screens/failure.png; run it after a change of the pictures"]
fn screenshot() {
    let page = picture(&refunded_twice(1));
    let shot = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/screens/failure.png");
    let mut chromium = Command::new("chromium");
    chromium.args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
    ]);
    chromium.args(["--window-size=1100,470".to_owned()]);
    chromium.arg(format!("--screenshot={}", shot.display()));
    let output = chromium.arg(format!("file://{page}")).output();
    let output = output.expect("chromium, which ./scripts/test installs");
    assert!(output.status.success(), "{output:?}");
}

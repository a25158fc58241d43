//! Durable jobs under all faults of the simulator, on both backends: the promises W1, W3, W4 and W5.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use queue_core::{PriorityConfig, Reliable, ReliableConfig};
use queue_sim::sim::{Drained, Rules, Run, RunRecord, Sim, check, sim};
use queue_worker::{
    Context, Failure,
    planted::{Bug, plant},
};
use serde::{Deserialize, Serialize};

const ORDERS: u64 = 3;
const LINES: u64 = 4;

/// The line whose mail cannot be sent.
const BAD: u64 = 2;

const NAP: Duration = Duration::from_secs(90);

#[derive(Debug, Serialize, Deserialize)]
struct Order {
    order: u64,
}

#[derive(Debug, Serialize, Deserialize)]
struct Mail {
    order: u64,
    line: u64,
}

#[derive(Debug, Serialize, Deserialize)]
struct Report {
    order: u64,
}

/// Charges an order, waits, sends a mail for each line, and then reports how many were sent.
async fn fulfil(run: Run, order: u64, cx: Context) -> Result<(), Failure> {
    let (charges, marks) = (run.ledger("charge"), run.ledger("mark"));
    let step = cx.step("charge", || async {
        charges.apply(format!("{order} {}", cx.token())).await;
        Ok::<_, Failure>(order * 100)
    });
    let sum: u64 = step.await?;
    assert_eq!(sum, order * 100, "the result of the step");
    let token = cx.token();
    marks.apply(format!("charged {order} {token}")).await;
    cx.sleep("nap", NAP).await?;
    marks.apply(format!("slept {order}")).await;

    let mails = run
        .queues()
        .priority("mails")
        .max_attempts(1_000)
        .open::<Mail>()
        .await?;
    let jobs = (0..LINES).map(|line| Mail { order, line });
    let children = cx.spawn("mails", &mails, jobs).await?;
    let joined = cx.join(&children).await?;
    marks.apply(format!("joined {order}")).await;
    assert_eq!((joined.dead(), joined.gone()), (1, LINES - 1));
    assert_eq!(joined.failed()[0].id, children.ids()[BAD as usize]);

    let reports = run
        .queues()
        .reliable("reports")
        .max_attempts(1_000)
        .open::<Report>()
        .await?;
    let _ = cx.spawn("report", &reports, [Report { order }]).await?;
    Ok(())
}

async fn send(run: Run, mail: Mail) -> Result<(), Failure> {
    let sent = run.ledger("mail");
    run.sleep(Duration::from_secs(u64::from(run.choose(30))))
        .await;
    match mail.line {
        BAD => Err(Failure::bury("the address is unknown")),
        line => {
            sent.apply(format!("{}/{line}", mail.order)).await;
            Ok(())
        }
    }
}

fn patient() -> ReliableConfig {
    ReliableConfig::default().with_max_attempts(1_000)
}

fn shop() -> Sim {
    sim("durable orders")
        .reliable::<Order>("orders", patient())
        .producer(|orders: Reliable<Order>| async move {
            for order in 1..=ORDERS {
                orders.push(&Order { order }).await?;
            }
            Ok(())
        })
        .workers(2)
        .worker(|worker| worker.concurrency(2))
        .handler(|run: &Run| {
            let run = run.clone();
            move |job: Order, cx: Context| fulfil(run.clone(), job.order, cx)
        })
        .priority::<Mail>("mails", PriorityConfig::default().with_max_attempts(1_000))
        .workers(1)
        .worker(|worker| worker.concurrency(3))
        .handler(|run: &Run| {
            let run = run.clone();
            move |mail: Mail, _cx: Context| send(run.clone(), mail)
        })
        .reliable::<Report>("reports", patient())
        .workers(1)
        .handler(|run: &Run| {
            let reports = run.ledger("report");
            move |job: Report, cx: Context| {
                let reports = reports.clone();
                async move { reports.apply(format!("{} by {}", job.order, cx.id())).await }
            }
        })
        .check(Rules::all())
        .check(check::that(
            "W1: a stored step ran before",
            stored_steps_do_not_run,
        ))
        .check(check::that("W3: one child for each place", each_child_once))
        .check(check::that(
            "W4: joined after the last end",
            joined_after_all,
        ))
        .check(check::that("W5: slept for its time", slept_long_enough))
        .check(Drained::within(Duration::from_secs(3_600)))
        .patience(Duration::from_secs(7_200))
}

/// The orders of the effects of one ledger, by key, and their times.
fn effects(run: &RunRecord, ledger: &str) -> BTreeMap<String, Vec<(u64, u64)>> {
    let mut effects: BTreeMap<String, Vec<(u64, u64)>> = BTreeMap::new();
    for effect in run
        .effects
        .iter()
        .filter(|effect| &*effect.ledger == ledger)
    {
        let known = effects.entry(effect.key.clone()).or_default();
        known.push((effect.order, effect.at.as_millis()));
    }
    effects
}

/// No delivery that came after the one that stored the step's result ran it. An earlier holder that stalled may.
fn stored_steps_do_not_run(run: &RunRecord) -> Result<(), String> {
    let token = |key: &str| -> u64 { key.rsplit(' ').next().unwrap().parse().unwrap() };
    let (marks, charges) = (effects(run, "mark"), effects(run, "charge"));
    for order in 1..=ORDERS {
        let stored = marks
            .keys()
            .filter(|key| key.starts_with(&format!("charged {order} ")));
        let Some(stored) = stored.map(|key| token(key)).min() else {
            continue;
        };
        let mut charges = charges
            .keys()
            .filter(|key| key.starts_with(&format!("{order} ")));
        if let Some(late) = charges.find(|key| token(key) > stored) {
            return Err(format!("order {order} was charged again: {late}"));
        }
    }
    Ok(())
}

/// Counts the messages with an order's child, by what was accepted.
fn each_child_once(run: &RunRecord) -> Result<(), String> {
    for (queue, most) in [("mails", ORDERS * LINES), ("reports", ORDERS)] {
        let counters = run.counters.iter().find(|(name, _)| name.as_str() == queue);
        let accepted = counters.map_or(0, |(_, counters)| counters.accepted);
        if accepted > most {
            return Err(format!("{queue} accepted {accepted} messages of {most}"));
        }
    }
    let reports = effects(run, "report");
    let orders: BTreeSet<&str> = reports
        .keys()
        .filter_map(|key| key.split(' ').next())
        .collect();
    match orders.len() == reports.len() {
        true => Ok(()),
        false => Err(format!(
            "an order was reported by two messages: {reports:?}"
        )),
    }
}

fn joined_after_all(run: &RunRecord) -> Result<(), String> {
    let marks = effects(run, "mark");
    let mails = effects(run, "mail");
    for order in 1..=ORDERS {
        let Some(joined) = marks.get(&format!("joined {order}")) else {
            continue;
        };
        for line in (0..LINES).filter(|line| *line != BAD) {
            let sent = mails.get(&format!("{order}/{line}"));
            if sent.is_none_or(|sent| sent[0].0 > joined[0].0) {
                return Err(format!(
                    "order {order} was joined before mail {line} was sent"
                ));
            }
        }
    }
    Ok(())
}

fn slept_long_enough(run: &RunRecord) -> Result<(), String> {
    let marks = effects(run, "mark");
    for order in 1..=ORDERS {
        let charged = marks
            .iter()
            .filter(|(key, _)| key.starts_with(&format!("charged {order} ")));
        let charged = charged.map(|(_, marks)| marks).min();
        let (Some(charged), Some(slept)) = (charged, marks.get(&format!("slept {order}"))) else {
            continue;
        };
        let nap = slept[0].1 - charged[0].1;
        if nap + 1 < NAP.as_millis() as u64 {
            return Err(format!("order {order} slept for {nap} ms"));
        }
    }
    Ok(())
}

#[test]
fn durable_jobs_keep_their_promises() {
    let tally = shop().try_run().unwrap_or_else(|broken| panic!("{broken}"));
    assert!(
        tally.redeliveries > 0 && tally.faults["crashed"] > 0,
        "{tally}"
    );
}

#[cfg(all(unix, feature = "redis"))]
#[test]
fn durable_jobs_keep_their_promises_on_redis() {
    let server = || queue_sim::wire::RedisEnvironment::start().expect("a redis-server");
    shop().seeds(16).backend(server).run();
}

#[test]
fn each_planted_bug_of_durable_jobs_is_found() {
    for (bug, rule) in [
        (Bug::StepReturnsBeforeItIsStored, "W1"),
        (Bug::ChildWithoutKey, "W3"),
        (Bug::JoinTrustsTheHint, "W4"),
    ] {
        let planted = plant(bug);
        let broken = shop().seeds(32).try_run().expect_err(rule);
        drop(planted);
        assert!(broken.to_string().contains(rule), "{bug:?}: {broken}");
    }
}

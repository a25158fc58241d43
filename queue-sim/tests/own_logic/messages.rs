//! The messages of failures, for readers who do not know the simulator.

use std::time::Duration;

use queue_core::{Delay, DelayConfig, ReliableConfig, Token};
use queue_sim::sim::{BoxError, Drained, Effects, FaultSet, Run, Sim, seeds_or, sim};
use queue_worker::{Backoff, Context, Failure};

use crate::jobs::push_one;

const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// One job with this handler, without faults.
fn calm<F, R>(name: &str, handler: fn(Run, u32) -> F) -> Sim
where
    F: Future<Output = Result<(), R>> + Send + 'static,
    R: Into<Failure> + Send + 'static,
{
    sim(name)
        .reliable::<u32>("jobs", ReliableConfig::default())
        .producer(push_one)
        .workers(1)
        .handler(move |run: &Run| {
            let run = run.clone();
            move |job: u32, _cx: Context| handler(run.clone(), job)
        })
        .check(Drained::within(secs(3600)))
        .faults(FaultSet::none())
}

#[test]
fn the_last_error_of_a_handler_is_shown() {
    let broken = calm("failing", |_, _| async {
        Err(Failure::new("the card is expired"))
    })
    .check(Effects::exactly_once())
    .seeds(20)
    .try_run()
    .expect_err("it never succeeds");
    let failed = 5 * seeds_or(20);
    let last = format!("failed {failed} times; the last one fails: the card is expired");
    assert!(broken.message.contains(&last), "{broken}");
    let counted = format!(" failed={failed}");
    assert!(broken.message.contains(&counted), "{broken}");
}

#[test]
fn the_panic_of_a_handler_and_its_place_are_shown() {
    let broken = calm("panicking", |run, job| async move {
        run.ledger("charge").apply(job).await;
        assert!(run.ledger("charge").has(2), "no such card");
        Ok::<_, BoxError>(())
    })
    .check(Effects::at_most_once())
    .try_run()
    .expect_err("it charges again and again");
    let panics = "  . panics: no such card";
    assert!(broken.message.contains(panics), "{broken}");
    assert!(broken.message.contains("messages.rs"), "{broken}");
    assert!(broken.message.contains("it takes no fault"), "{broken}");
}

#[test]
fn a_ledger_on_which_every_effect_is_missing_is_shown() {
    let broken = calm("half done", |run, job| async move {
        let (debits, _credits) = (run.ledger("debit"), run.ledger("credit"));
        debits.apply_once(job).await;
        Ok::<_, BoxError>(())
    })
    .check(Effects::exactly_once())
    .try_run()
    .expect_err("nothing is credited");
    let missing = "0 effects on credit, for 1 messages";
    assert!(broken.message.contains(missing), "{broken}");
}

#[test]
fn the_time_that_a_handler_hangs_is_shown_instead_of_every_heartbeat() {
    let broken = calm("stuck", |_, _| async {
        std::future::pending::<()>().await;
        Ok::<_, BoxError>(())
    })
    .try_run()
    .expect_err("nothing is ever done");
    assert_eq!(broken.finding.rule, "drained");
    let message = &broken.message;
    assert!(message.contains("worker 0 held jobs 1 for 8"), "{broken}");
    assert_eq!(message.matches("extend(1 #1)").count(), 2, "{broken}");
    assert!(message.contains("held for 369.963s"), "{broken}");
    assert!(message.lines().count() < 30, "{broken}");
}

#[test]
fn the_middle_of_a_long_history_view_is_left_out() {
    let broken = sim("in vain")
        .reliable::<u32>("jobs", ReliableConfig::default().with_max_attempts(100_000))
        .producer(push_one)
        .workers(1)
        .worker(|worker| worker.retry(Backoff::fixed(secs(600))))
        .handler(|_run| |_job: u32, _cx: Context| async { Err::<(), _>(Failure::new("never")) })
        .check(Drained::within(secs(3600)))
        .faults(FaultSet::none())
        .try_run()
        .expect_err("nothing is ever done");
    assert_eq!(broken.finding.rule, "drained");
    assert!(broken.message.contains(" rows are left out"), "{broken}");
    assert!(broken.message.lines().count() < 400, "{broken}");
}

#[test]
fn an_effect_left_out_as_already_done_is_shown() {
    let broken = calm("done before", |run, job| async move {
        let done = run.ledger("job");
        if !done.apply_once(job).await {
            done.apply(job).await;
        }
        Err(Failure::new("so it comes again"))
    })
    .check(Effects::at_most_once())
    .try_run()
    .expect_err("the second time it is done again");
    let message = &broken.message;
    assert!(message.contains("  . job 1: already done"), "{broken}");
    assert!(message.contains("  * job 1   <- time 2"), "{broken}");
}

#[test]
fn an_effect_refused_for_a_stale_token_is_shown() {
    let broken = calm("refused", |run, job| async move {
        let done = run.ledger("job");
        done.apply_fenced(job, Token::new(2)).await.ok();
        let refused = done.apply_fenced(job, Token::new(1)).await;
        assert!(refused.is_ok(), "refused");
        Ok::<_, BoxError>(())
    })
    .check(Effects::at_most_once())
    .try_run()
    .expect_err("it fails, and so it comes again");
    let refused = "  . job 1: refused, the token is stale";
    assert!(broken.message.contains(refused), "{broken}");
}

/// A job books a table, and its reminder sends a mail.
fn hand_over(mail: fn(queue_sim::sim::Ledger, u32) -> Mailing) -> Sim {
    sim("hand-over")
        .reliable::<u32>("tables", ReliableConfig::default())
        .producer(|tables| async move {
            tables.push(&1).await?;
            tables.push(&2).await?;
            Ok(())
        })
        .workers(1)
        .handler(|run: &Run| {
            let run = run.clone();
            move |table: u32, _cx: Context| book(run.clone(), table)
        })
        .delay::<u32>("reminders", DelayConfig::default())
        .workers(1)
        .handler(move |run: &Run| {
            let mails = run.ledger("mail");
            move |table: u32, _cx: Context| mail(mails.clone(), table)
        })
        .check(Effects::exactly_once())
        .check(Drained::within(secs(3600)))
        .faults(FaultSet::none())
}

type Mailing = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;

async fn book(run: Run, table: u32) -> Result<(), Failure> {
    run.ledger("book").apply_once(table).await;
    let reminders: Delay<u32> = run.queues().delay("reminders").open().await?;
    let reminder = reminders.message(&table).delay(secs(600));
    let key = table.to_string();
    reminder.dedup(key, secs(86_400)).send().await?;
    Ok(())
}

#[test]
fn each_ledger_is_held_to_the_queue_behind_it() {
    hand_over(|mails, table| {
        Box::pin(async move {
            mails.apply_once(table).await;
        })
    })
    .try_run()
    .expect("two tables are booked, and two mails sent");
}

#[test]
fn the_queue_of_a_message_is_shown() {
    let broken = hand_over(|mails, table| {
        Box::pin(async move {
            if table == 1 {
                mails.apply_once(table).await;
            }
        })
    })
    .try_run()
    .expect_err("the second mail is missing");
    let message = &broken.message;
    let missing = "1 effects on mail, for 2 messages of reminders";
    assert!(message.contains(missing), "{broken}");
    // Each queue counts its own deliveries.
    assert!(
        message.contains("tables: lease for 30000 ms -> 1 #1"),
        "{broken}"
    );
    assert!(
        message.contains("reminders: lease for 30000 ms -> 1 #1"),
        "{broken}"
    );
    assert!(!message.contains("#2"), "{broken}");
}

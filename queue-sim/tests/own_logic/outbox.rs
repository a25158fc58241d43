//! Logic of a user with a database: orders whose mails commit with them, and charges that are marked in an inbox.

use std::time::Duration;

use queue_core::ReliableConfig;
use queue_sim::sim::{BoxError, Run, Sim, check, sim};
use queue_sql::{Inbox, MemoryDatabase, Outbox, Plain, Relay};
use queue_worker::{Context, Failure};

const ORDERS: u64 = 4;
const CHARGED: &str = "each order is charged once";

/// This process's connection to the database of the run.
fn database(run: &Run) -> MemoryDatabase {
    let database = run.shared("database", MemoryDatabase::new);
    let run = run.clone();
    MemoryDatabase::clone(&database).with_steps(move |_| {
        let run = run.clone();
        async move {
            run.step().await;
            Ok(())
        }
    })
}

/// A crash costs an attempt, and nothing here may die.
fn charges() -> ReliableConfig {
    ReliableConfig::default().with_max_attempts(1_000)
}

fn outbox() -> Outbox {
    Outbox::new().queue("charges", charges()).expect("a queue")
}

/// Places orders, each in a transaction with its charge, until the relay has taken all of them.
async fn place(run: Run) -> Result<(), BoxError> {
    let (database, orders) = (database(&run), run.ledger("order"));
    for order in 0..ORDERS {
        if orders.has(order) {
            continue;
        }
        let mut transaction = database.begin();
        let placed = orders.clone();
        transaction.at_commit(move || placed.apply_now(order));
        let charge = Plain(&order);
        outbox().push(&mut transaction, "charges", charge).await?;
        transaction.commit().await?;
    }
    while database.waiting() > 0 {
        run.sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

async fn relay(run: Run) -> Result<(), BoxError> {
    let relay = Relay::new(&outbox(), database(&run), run.queues().clone());
    relay.run_until(run.shutdown()).await?;
    Ok(())
}

/// A shop whose charges are marked in the transaction of their effect, or in a transaction of their own.
fn shop(name: &str, marks_apart: bool) -> Sim {
    sim(name)
        .reliable::<u64>(
            "charges",
            ReliableConfig::default().with_max_attempts(1_000),
        )
        .handler(move |run| {
            let (database, charges) = (database(run), run.ledger("charge"));
            move |order: u64, cx: Context| {
                let (database, charges) = (database.clone(), charges.clone());
                async move {
                    let mut transaction = database.begin();
                    if Inbox::new().first(&mut transaction, &cx).await? {
                        let effect = charges.clone();
                        if marks_apart {
                            transaction.commit().await?;
                            transaction = database.begin();
                        }
                        transaction.at_commit(move || effect.apply_now(order));
                    }
                    transaction.commit().await?;
                    Ok::<(), Failure>(())
                }
            }
        })
        .and()
        .source("shop", place)
        .process("relay", relay)
        .check(check::that(CHARGED, |run| {
            let of = |ledger: &str| -> Vec<&str> {
                let effects = run
                    .effects
                    .iter()
                    .filter(|effect| &*effect.ledger == ledger);
                let mut keys: Vec<&str> = effects.map(|effect| &*effect.key).collect();
                keys.sort_unstable();
                keys
            };
            match (of("order"), of("charge")) {
                (orders, charges) if orders == charges => Ok(()),
                (orders, charges) => Err(format!("orders {orders:?}, charges {charges:?}")),
            }
        }))
}

#[test]
fn an_outbox_and_an_inbox_have_each_effect_once() {
    shop("an outbox and an inbox", false).run();
}

#[test]
fn an_effect_apart_from_its_mark_is_found() {
    let broken = shop("a mark apart", true).try_run();
    let broken = broken.expect_err("an effect is lost");
    println!("{broken}");
    assert_eq!(broken.finding.rule, CHARGED);
}

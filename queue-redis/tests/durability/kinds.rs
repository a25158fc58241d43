//! Every kind of queue, and every call that changes something.

use std::{sync::Arc, time::Duration};

use super::{Pair, Test, by_a_replica};
use queue_core::{Layered, call::Layer, *};

const LEASE: Duration = Duration::from_secs(60);

#[track_caller]
fn assert_confirmed<A>(confirmed: &Confirmed<A>) {
    assert!(confirmed.is_confirmed(), "{}", confirmed.copies);
}

#[tokio::test]
async fn values_of_every_kind_are_confirmed() -> Test {
    let pair = Pair::start()?;
    let queues = Queues::new(pair.connect().await?);
    let queues = queues.confirmed(by_a_replica()).await?;

    let mails = queues.reliable("mails").open::<String>().await?;
    let mail = "to: ann".to_owned();
    assert_confirmed(&mails.confirmed(|mails| mails.push(&mail)).await?);
    let sent = mails.confirmed(|mails| mails.message(&mail).header("tenant", "acme").send());
    assert_confirmed(&sent.await?);
    let many = vec![mail.clone(); 300];
    let sent = mails.confirmed(|mails| mails.push_all(&many)).await?;
    assert_confirmed(&sent);
    assert_eq!(sent.answer.len(), 300);
    let delivery = mails
        .receive(LEASE, Duration::ZERO)
        .await?
        .expect("one is ready");
    assert_confirmed(&mails.confirmed(|_| delivery.ack()).await?);

    let reminders = queues.delay("reminders").open::<u64>().await?;
    assert_confirmed(
        &reminders
            .confirmed(|reminders| reminders.push(&1, LEASE))
            .await?,
    );
    let tickets = queues.priority("tickets").open::<u64>().await?;
    let urgent = tickets.confirmed(|tickets| tickets.message(&1).priority(9).send());
    assert_confirmed(&urgent.await?);
    let gifts = queues.bounded("gifts", 1).open::<u64>().await?;
    let given = gifts
        .confirmed(|gifts| gifts.push(&1, Overflow::Reject))
        .await?;
    assert_confirmed(&given);
    let full = gifts
        .confirmed(|gifts| gifts.push(&2, Overflow::Reject))
        .await?;
    assert_eq!(full.answer, Pushed::Full);
    let sensors = queues.rotating("sensors").open::<u64>().await?;
    let placed = sensors.confirmed(|sensors| sensors.message(&1).key("north").send());
    assert_confirmed(&placed.await?);
    let again = sensors.confirmed(|sensors| sensors.message(&1).key("north").send());
    let again = again.await?;
    assert_confirmed(&again);
    assert!(matches!(again.answer, Inserted::Present(_)));
    Ok(())
}

#[tokio::test]
async fn a_confirmed_push_may_be_a_task_of_its_own() -> Test {
    let pair = Pair::start()?;
    let queues = Queues::new(pair.connect().await?);
    let queues = queues.confirmed(by_a_replica()).await?;
    let mails = queues.reliable("mails").open::<u64>().await?;
    let task = tokio::spawn(async move { mails.confirmed(|mails| mails.push(&1)).await });
    assert_confirmed(&task.await??);
    Ok(())
}

/// A layer that lets everything through.
#[derive(Debug)]
struct Clear {
    confirms: bool,
}

impl Layer for Clear {
    fn confirms(&self) -> bool {
        self.confirms
    }
}

#[tokio::test]
async fn a_layer_hands_confirmations_on_or_refuses_them_before_the_call() -> Test {
    let pair = Pair::start()?;
    for confirms in [true, false] {
        let backend: Arc<dyn Backend> = Arc::new(pair.connect().await?);
        let queues = Queues::new(Layered::new(Clear { confirms }, backend));
        let queues = queues.confirmed(by_a_replica()).await?;
        let name = format!("q-{confirms}");
        let mails = queues.reliable(&name).open::<u64>().await?;
        let pushed = mails.confirmed(|mails| mails.push(&1)).await;
        if confirms {
            assert_confirmed(&pushed?);
        } else {
            let error = pushed.expect_err("the layer confirms nothing");
            assert_eq!(error.kind(), ErrorKind::Configuration, "{error:?}");
        }
        let depth = mails.queue().depth().await?;
        assert_eq!(depth.ready, u64::from(confirms));
    }
    Ok(())
}

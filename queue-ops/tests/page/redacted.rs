//! A user who must not see the content of messages sees nothing of it, on any surface.

use std::{sync::Arc, time::Duration};

use queue_core::{
    Backend, Bytes, Extension, Group, GroupedConfig, GroupedQueue, GroupedQueueExt, Json,
    KeptResult, Leasing, LeasingExt, OnDeath, Page, Place, Push, Queues, Settlement, StepRecord,
    Steps,
};
use queue_memory::MemoryBackend;

use crate::site::{HOUR, Site};

const SECRET: &str = "s3cret";

/// A queue with a secret in each text that a user writes.
async fn with_secrets(queues: &Queues) -> Arc<dyn GroupedQueue> {
    let config = GroupedConfig::loose(10).with_on_death(OnDeath::Park);
    let queue = queues
        .backend()
        .open_grouped(&"orders".parse().expect("a name"), &config)
        .await
        .expect("opens");
    let push = || {
        let body = Json::write(&SECRET).expect("a text");
        Push::new(body)
            .with_header("tenant", SECRET)
            .with_header("job", "mail")
    };
    let secret = |what: &str| format!("{what} of customer {SECRET} failed");
    for number in 0..5 {
        let key = format!("{SECRET} {}", number / 4);
        queue
            .push_one(push().with_group(key))
            .await
            .expect("pushes")
            .id()
            .unwrap();
    }
    let mut held = queue
        .receive(4, HOUR, Duration::ZERO)
        .await
        .expect("leases");
    let mut next = || held.remove(0).receipt;
    let retry = Settlement::retry_because(next(), HOUR, secret("retry")).with_state(SECRET);
    let dead = Settlement::bury(next(), secret("burial")).with_state(steps());
    let result = KeptResult::new(SECRET, HOUR);
    let done = Settlement::ack_with(next(), result);
    queue.settle(&[retry, dead, done]).await.expect("settles");
    let progress = Extension::new(next())
        .with_progress(SECRET)
        .with_state(SECRET);
    queue.extend(&[progress], HOUR).await.expect("extends");
    queue
}

/// The state of a durable job, with a secret as the result of its step and in its own state.
fn steps() -> Bytes {
    let mut steps = Steps::default();
    steps.set("charge", 1, StepRecord::Done(format!("{SECRET:?}")));
    steps.own = Some(SECRET.to_owned());
    Json::write(&steps).expect("it is JSON")
}

/// The paths of all pages, and of the same as JSON.
fn paths() -> Vec<String> {
    let mut paths: Vec<String> = [
        "/",
        "/dead",
        "/workers",
        "/audit",
        "/metrics",
        "/queues/orders",
        "/queues/orders/dead",
        "/queues/orders/in/ready",
        "/queues/orders/in/delayed",
        "/queues/orders/in/leased",
        "/api/queues",
        "/api/queues/orders",
        "/api/queues/orders/groups",
    ]
    .map(str::to_owned)
    .into();
    for id in 1..=5 {
        paths.push(format!("/queues/orders/messages/{id}"));
        paths.push(format!("/api/queues/orders/messages/{id}"));
    }
    paths
}

#[tokio::test(start_paused = true)]
async fn nothing_of_what_users_wrote_is_on_any_surface() {
    let all = Site::new();
    with_secrets(&all.queues).await;
    let hex: String = SECRET.bytes().map(|byte| format!("{byte:02x}")).collect();
    let tells = |text: &str| text.contains(SECRET) || text.contains(&hex);
    let mut telling = 0;
    for path in paths() {
        telling += usize::from(tells(&all.get(&path).await.text));
    }
    assert!(telling > 10, "the secrets are there: {telling}");
    let mut hidden = Site::with(|web| {
        web.writes(crate::site::TOKEN)
            .expect("a token")
            .redact(|_, _| None)
    });
    with_secrets(&hidden.queues).await;
    hidden.sign_in("").await;
    for path in paths() {
        let answer = hidden.get(&path).await;
        assert!(answer.status.is_success(), "{path}: {answer:?}");
        assert!(!tells(&answer.text), "{path}: {}", answer.text);
    }
}

/// The queue of secrets, and the same as an operator sees it, to whom the program shows two bytes of each body.
async fn seen() -> (Arc<dyn GroupedQueue>, Arc<dyn GroupedQueue>) {
    let backend: Arc<dyn Backend> = Arc::new(MemoryBackend::new());
    let queue = with_secrets(&Queues::from(Arc::clone(&backend))).await;
    let hidden = queue_ops::redacted(backend, |_, body| Some(body.slice(..body.len().min(2))));
    let name = "orders".parse().expect("a name");
    let seen = queue_ops::open_grouped(&*hidden, &name).await;
    (queue, seen.expect("opens"))
}

#[tokio::test(start_paused = true)]
async fn an_operator_sees_what_the_program_lets_be_seen() {
    let (_, seen) = seen().await;
    let letters = seen.dead_letters(Page::first(9)).await.expect("lists");
    assert_eq!(letters.entries[0].body, "\"s");
    assert_eq!(letters.entries[0].headers.job(), Some("mail"));
    for place in Place::ALL {
        let peeked = seen.peek(place, Page::first(9)).await.expect("peeks");
        assert_ne!(peeked.entries.len(), 0);
        for one in peeked.entries {
            let message = format!("{one:?}");
            assert!(!message.contains(SECRET), "{place:?}: {message}");
            assert_eq!(one.message.headers.job(), Some("mail"));
        }
    }
    for letter in &letters.entries {
        assert!(!format!("{letter:?}").contains(SECRET), "{letter:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_hidden_group_has_one_name_by_which_an_operator_resumes_it() {
    let (queue, seen) = seen().await;
    let parked = async |queue: &dyn GroupedQueue| -> Vec<Bytes> {
        let groups = queue.groups(Page::first(9)).await.expect("lists").entries;
        let parked = groups.into_iter().filter(Group::is_paused);
        parked.map(|group| group.key).collect()
    };
    let letters = seen.dead_letters(Page::first(9)).await.expect("lists");
    let shown = parked(&*seen).await;
    assert_eq!(shown.len(), 1);
    assert_eq!(letters.entries[0].group.as_ref(), Some(&shown[0]));
    seen.resume_group(shown[0].clone()).await.expect("resumes");
    assert_eq!(parked(&*queue).await, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn one_hidden_cause_stays_one_cause() {
    let (queue, seen) = seen().await;
    for why in ["order 7: no paper", "order 8: no paper", "order 8: no ink"] {
        let message = Push::from("m").with_group("k");
        let pushed = queue.push_one(message).await.expect("pushes");
        pushed.id().unwrap();
        let held = queue.receive_one(HOUR, Duration::ZERO).await;
        let held = held.expect("leases").expect("it is ready");
        let bury = Settlement::bury(held.receipt, why);
        queue.settle(&[bury]).await.expect("buries");
        queue.resume_group("k").await.expect("resumes");
    }
    let letters = seen.dead_letters(Page::first(9)).await.expect("lists");
    let groups = queue_ops::group_failures(&letters.entries);
    let counts: Vec<u64> = groups.iter().map(|group| group.count).collect();
    assert_eq!(counts, [2, 1, 1]);
}

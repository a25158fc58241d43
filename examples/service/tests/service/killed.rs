//! The service is killed under load, and every job that it accepted is accounted for.

use std::{
    collections::BTreeMap,
    sync::{Mutex, RwLock},
    thread,
    time::Duration,
};

use queue_kit::{Jobs, Page, Place};
use real_redis::Server;
use serde_json::{Value, json};

use super::process::{Client, Process};

const KILLS: u32 = 4;
const CLIENTS: u64 = 4;

#[test]
fn no_accepted_job_is_lost_when_the_service_is_killed() {
    let server = Server::start().unwrap();
    let mut process = Process::start(&server.url());
    let current = RwLock::new(Some(process.client()));
    let accepted = Mutex::new(BTreeMap::new());
    thread::scope(|scope| {
        for number in 0..CLIENTS {
            let (current, accepted) = (&current, &accepted);
            scope.spawn(move || push(current, accepted, number));
        }
        for _ in 0..KILLS {
            thread::sleep(Duration::from_millis(500));
            process.kill();
            process = Process::start(&server.url());
            *current.write().unwrap() = Some(process.client());
        }
        thread::sleep(Duration::from_millis(500));
        *current.write().unwrap() = None;
    });

    let accepted = accepted.into_inner().unwrap();
    assert!(
        accepted.len() > 100,
        "only {} jobs were accepted",
        accepted.len()
    );
    let client = process.client();
    for (id, expected) in &accepted {
        let result = loop {
            let (_, result) = client.get(&format!("/jobs/{id}/result")).unwrap();
            if result != "pending" {
                break result;
            }
        };
        assert_eq!(&result, expected, "job {id}");
    }

    // Jobs whose clients never heard that they were accepted are done, too.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(nothing_is_left(&server.url(), accepted.len() as u64));
    let (status, said) = process.terminate();
    assert!(status.success(), "{said}");
}

/// Pushes orders and exports until there is no service.
fn push(service: &RwLock<Option<Client>>, accepted: &Mutex<BTreeMap<u64, Value>>, number: u64) {
    for job in 0.. {
        let key = number * 1_000_000 + job;
        let (path, body, result) = match job % 2 {
            0 => {
                let body = json!({ "order": key, "unpaid_seconds": 0 });
                ("/orders", body, format!("order {key} cancelled"))
            }
            _ => {
                let body = json!({ "customer": key, "pages": job % 5 + 1 });
                ("/exports", body, format!("exports/{key}.csv"))
            }
        };
        // Again until it is answered: a killed service is back at another address.
        let id = loop {
            let Some(client) = service.read().unwrap().clone() else {
                return;
            };
            match client.post(path, &body) {
                Ok((status, id)) => {
                    assert_eq!(status, 200, "{id}");
                    break id.as_u64().unwrap();
                }
                Err(_) => thread::sleep(Duration::from_millis(5)),
            }
        };
        accepted
            .lock()
            .unwrap()
            .insert(id, json!({ "done": result }));
    }
}

/// Waits until no job is left but the reports of the nights to come.
async fn nothing_is_left(url: &str, accepted: u64) {
    let queues = queue_kit::connect(url).await.unwrap();
    let jobs = queues.delay("jobs").open::<Jobs>().await.unwrap();
    let counters = loop {
        let counters = jobs.queue().counters().await.unwrap();
        if counters.depth.ready + counters.depth.leased == 0 {
            break counters;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    let delayed = jobs
        .queue()
        .peek(Place::Delayed, Page::first(100))
        .await
        .unwrap();
    for delayed in delayed.entries {
        assert_eq!(delayed.message.headers.job(), Some("report"));
    }
    assert_eq!(counters.depth.dead, 0);
    assert!(counters.acked >= accepted, "{counters:?}");
}

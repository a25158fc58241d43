//! The service is killed while it takes orders, and each order, each mail and each row of the outbox is accounted for.

use std::{
    collections::BTreeSet,
    sync::{Mutex, RwLock},
    thread,
    time::{Duration, Instant},
};

use real_postgres::Server;

use super::process::{Client, Process};

const KILLS: u32 = 4;
const CLIENTS: i64 = 4;
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn each_order_has_one_mail_when_the_service_is_killed() {
    let (redis, postgres) = (
        real_redis::Server::start().unwrap(),
        Server::start().unwrap(),
    );
    let socket = postgres.socket_folder().display().to_string();
    let database = format!(
        "postgres://{}@localhost/postgres?host={socket}",
        Server::USER
    );
    let start = || Process::start_with(&redis.url(), Some(&database));
    let mut process = start();
    let current = RwLock::new(Some(process.client()));
    let accepted = Mutex::new(BTreeSet::new());
    thread::scope(|scope| {
        for number in 0..CLIENTS {
            let (current, accepted) = (&current, &accepted);
            scope.spawn(move || order(current, accepted, number));
        }
        for _ in 0..KILLS {
            thread::sleep(Duration::from_millis(500));
            process.kill();
            process = start();
            *current.write().unwrap() = Some(process.client());
        }
        thread::sleep(Duration::from_millis(500));
        *current.write().unwrap() = None;
    });
    let accepted = accepted.into_inner().unwrap();
    assert!(
        accepted.len() > 100,
        "only {} orders were accepted",
        accepted.len()
    );

    let ask = |query: &str| postgres.psql("postgres", query).unwrap().trim().to_owned();
    let begun = Instant::now();
    let left = "SELECT (SELECT count(*) FROM orders WHERE mails = 0) + (SELECT count(*) FROM queue_outbox)";
    while ask(left) != "0" {
        assert!(
            begun.elapsed() < PATIENCE,
            "orders without a mail, or rows, are left"
        );
        thread::sleep(Duration::from_millis(50));
    }
    let (status, said) = process.terminate();
    assert!(status.success(), "{said}");

    // Orders whose clients never heard that they were accepted have their mails, too.
    let orders: BTreeSet<i64> = ask("SELECT id FROM orders")
        .lines()
        .map(|id| id.parse().unwrap())
        .collect();
    assert!(orders.is_superset(&accepted));
    assert_eq!(ask("SELECT count(*) FROM orders WHERE mails <> 1"), "0");
    assert_eq!(
        ask("SELECT count(*) FROM queue_inbox"),
        orders.len().to_string()
    );
    assert_eq!(ask("SELECT count(*) FROM queue_outbox"), "0");
}

/// Places orders until there is no service.
fn order(service: &RwLock<Option<Client>>, accepted: &Mutex<BTreeSet<i64>>, number: i64) {
    for order in number * 1_000_000.. {
        // Again until it is answered: a killed service is back at another address.
        loop {
            let Some(client) = service.read().unwrap().clone() else {
                return;
            };
            match client.put(&format!("/shop/{order}")) {
                Ok((status, said)) => {
                    assert_eq!(status, 200, "{said}");
                    break;
                }
                Err(_) => thread::sleep(Duration::from_millis(5)),
            }
        }
        accepted.lock().unwrap().insert(order);
    }
}

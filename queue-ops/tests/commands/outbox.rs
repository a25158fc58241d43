//! Commands about an outbox, on a real Postgres and on SQLite.

use std::{
    sync::{LazyLock, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use queue_ops::{Problem, diagnose_outbox};
use queue_sql::{SqlxPostgres, SqlxSqlite, Statement, Store, Taken, Wish};
use real_postgres::Server;
use sqlx::{
    Executor, PgPool, SqlitePool, postgres::PgConnectOptions, sqlite::SqliteConnectOptions,
};

use crate::site::{Said, Site};

static SERVER: LazyLock<Server> = LazyLock::new(|| Server::start().unwrap());
const SECRET: &str = "hunter2";

/// The rows of each queue: `mails` has one that waits and two that were refused, `orders` one that is a second old.
const ROWS: [&str; 4] = [
    "('mails', 'a', NULL, 360)",
    "('mails', 'b', 'held: too old', 2)",
    "('mails', 'c', 'too large: at most 1 byte', 2)",
    "('orders', 'e', NULL, 1)",
];

/// A Postgres whose user `ops` has the rights of the page.
async fn postgres() -> (String, PgPool) {
    let database = SERVER.database().unwrap();
    let options = PgConnectOptions::new_without_pgpass()
        .socket(SERVER.socket_folder())
        .username(Server::USER)
        .database(&database);
    let pool = PgPool::connect_with(options).await.unwrap();
    SqlxPostgres::new(pool.clone()).migrate().await.unwrap();
    for row in ROWS {
        let insert = format!(
            "INSERT INTO queue_outbox (queue, body, refused, created) \
             SELECT q, b::bytea, r, clock_timestamp() - s * interval '1 second' FROM (VALUES {row}) AS v (q, b, r, s)"
        );
        pool.execute(&*insert).await.unwrap();
    }
    let page = include_str!("../../../docs/sql.md");
    let mut blocks = page
        .split("```sql")
        .filter_map(|rest| rest.split("```").next());
    let grants = blocks
        .find(|block| block.contains("TO ops;"))
        .expect("the page has them");
    let role = "DO $$ BEGIN CREATE ROLE ops LOGIN; EXCEPTION WHEN duplicate_object THEN END $$;";
    pool.execute(&*format!("{role}{grants}")).await.unwrap();
    let socket = SERVER.socket_folder().display().to_string();
    let url = format!("postgres://ops:{SECRET}@localhost/{database}?host={socket}");
    (url, pool)
}

async fn sqlite(name: &str) -> String {
    let file = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("outbox-{name}.db"));
    let _ = std::fs::remove_file(&file);
    let options = SqliteConnectOptions::new()
        .filename(&file)
        .create_if_missing(true);
    let pool = SqlitePool::connect_with(options).await.unwrap();
    SqlxSqlite::new(pool.clone()).migrate().await.unwrap();
    for row in ROWS {
        let insert = format!(
            "INSERT INTO queue_outbox (queue, body, refused, created) \
             SELECT column1, column2, column3, (unixepoch() - column4) * 1000000 FROM (VALUES {row})"
        );
        pool.execute(&*insert).await.unwrap();
    }
    pool.close().await;
    format!("sqlite:{}", file.display())
}

fn outbox(site: &Site, url: &str, words: &str) -> Said {
    let words = words.split(' ').chain(["--database", url]);
    let said = site.qk(&words.collect::<Vec<_>>());
    assert!(!said.all().contains(SECRET), "{said:?}");
    said
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refused_rows_are_listed_and_tried_again_on_both_databases() {
    let site = Site::start().await;
    for url in [postgres().await.0, sqlite("rows").await] {
        let said = outbox(&site, &url, "outbox ls");
        let lines: Vec<Vec<&str>> = said
            .out
            .lines()
            .map(|line| line.split_whitespace().collect())
            .collect();
        assert_eq!(
            lines[0],
            ["QUEUE", "WAITING", "OLDEST", "REFUSED"],
            "{said:?}"
        );
        assert_eq!(lines[1], ["mails", "1", "6", "min", "2"]);
        assert_eq!(
            (&lines[2][..2], lines[2].last()),
            (&["orders", "1"][..], Some(&"0"))
        );
        assert_eq!(said.status, 1);

        let said = outbox(&site, &url, "--json outbox refused");
        let rows = said.json();
        assert_eq!(
            (rows[0]["reason"].as_str(), rows[1]["queue"].as_str()),
            (Some("held: too old"), Some("mails"))
        );
        let ids: Vec<i64> = [0, 1]
            .map(|at: usize| rows[at]["id"].as_i64().unwrap())
            .into();
        let said = outbox(&site, &url, "outbox refused -n 1");
        assert!(
            said.out.contains("held: too old") && said.out.contains("-n shows more"),
            "{said:?}"
        );
        let said = outbox(&site, &url, &format!("outbox refused --after {}", ids[0]));
        assert!(
            said.out.contains("at most 1 byte") && !said.out.contains("held"),
            "{said:?}"
        );

        let said = outbox(&site, &url, "outbox retry --all");
        assert_eq!(
            (said.all().as_str(), said.status),
            ("would try 2 refused rows again; --yes does it", 1)
        );
        let said = outbox(&site, &url, &format!("outbox retry {} 999", ids[0]));
        assert_eq!((said.all().as_str(), said.status), ("1 row again", 1));
        let said = outbox(&site, &url, "outbox retry --all --yes");
        assert_eq!((said.all().as_str(), said.status), ("1 row again", 0));
        let said = outbox(&site, &url, "outbox refused");
        assert_eq!((said.all().as_str(), said.status), ("no row is refused", 0));
        let counts = outbox(&site, &url, "--json outbox ls").json();
        assert_eq!(
            (&counts[0]["waiting"], &counts[0]["refused"]),
            (&3.into(), &0.into())
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_diagnosis_names_rows_that_nobody_relays_and_the_way_out() {
    let site = Site::start().await;
    let mails = site.queues.reliable("mails").open::<u64>().await.unwrap();
    mails.push(&1).await.unwrap();
    let (url, pool) = postgres().await;
    let said = outbox(&site, &url, "why");
    assert_eq!(said.status, 1);
    assert!(
        said.out.contains("!! mails: 1 row of the outbox waits"),
        "{said:?}"
    );
    assert!(
        !said.out.contains("orders"),
        "its row is a second old: {said:?}"
    );
    let said = outbox(&site, &url, "why mails --standstill");
    assert_eq!(said.status, 1, "{said:?}");
    for words in [
        "→ start a relay",
        "a relay refused 2 rows of the outbox: `qk ",
        "outbox refused --database",
    ] {
        assert!(said.out.contains(words), "{words} in {said:?}");
    }

    let old = "UPDATE queue_outbox SET created = created - interval '6 days 12 hours' WHERE refused IS NULL";
    pool.execute(old).await.unwrap();
    let said = outbox(&site, &url, "--json why mails");
    let findings = said.json()["findings"].to_string();
    assert!(
        findings.contains("outbox_nears_window") && findings.contains("in 10 h"),
        "{findings}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn errors_name_the_way_out_and_no_password() {
    let site = Site::start().await;
    let empty = SERVER.database().unwrap();
    let socket = SERVER.socket_folder().display().to_string();
    let empty = format!("postgres://postgres:{SECRET}@localhost/{empty}?host={socket}");
    for (url, words) in [
        (
            format!("mysql://root:{SECRET}@db/shop"),
            "postgres://user@host/database",
        ),
        (
            format!("postgres://ops:{SECRET}@:no:port/shop"),
            "postgres://user@host/database",
        ),
        (
            format!("postgres://ops:{SECRET}@127.0.0.1:1/shop"),
            "refused",
        ),
        (empty, "migrate()"),
        ("sqlite:/nowhere/shop.db".to_owned(), "unable to open"),
    ] {
        for command in ["outbox ls", "outbox refused", "outbox retry 7", "why"] {
            let said = outbox(&site, &url, command);
            assert_eq!(said.status, 2, "{command}: {said:?}");
            assert!(said.err.contains(words), "{command}: {words} in {said:?}");
        }
    }
}

/// The ages of the oldest row at one look after the other, in ms.
#[derive(Debug)]
struct Looks(Mutex<Vec<u64>>);

#[async_trait]
impl Store for Looks {
    async fn outbox(&self) -> queue_core::Result<String> {
        Ok(String::new())
    }

    async fn take(&self, _: &Wish) -> queue_core::Result<Box<dyn Taken>> {
        panic!("a diagnosis takes nothing")
    }

    async fn sweep(&self, _: Duration, _: u32) -> queue_core::Result<u64> {
        panic!("a diagnosis removes nothing")
    }

    async fn run(&self, _: &Statement) -> queue_core::Result<Vec<Vec<Option<String>>>> {
        let age = self.0.lock().unwrap().remove(0).to_string();
        let row = ["mails", "9", "0", &age];
        Ok(vec![row.map(|cell| Some(cell.to_owned())).into()])
    }
}

/// A relay that is at work has another row as its oldest soon.
#[tokio::test(start_paused = true)]
async fn rows_that_move_are_no_finding() {
    for (second, found) in [(301_500, true), (300_000, false), (90_000, false)] {
        let looks = Looks(Mutex::new(vec![300_000, second]));
        let diagnoses = diagnose_outbox(&looks).await.unwrap();
        let problems = diagnoses.iter().flat_map(|one| &one.findings);
        let waits = problems
            .map(|one| one.problem)
            .any(|one| one == Problem::OutboxWaits);
        assert_eq!(waits, found, "{second}");
    }
}

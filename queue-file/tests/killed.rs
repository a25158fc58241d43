//! A process that is killed again and again, by SIGKILL and under load: a ledger accounts for each message.
//! `QUEUE_TEST_KILLING=600` kills for ten minutes.

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    fs::{self, File, OpenOptions},
    io::Write,
    path::Path,
    process::{Command, Stdio},
    sync::Arc,
    time::Duration,
};

use queue_core::{
    Backend, LeasingExt, OnceStore, Push, ReliableConfig, ReliableQueue, Settled, Settlement,
};
use queue_file::FileBackend;
use tokio::{
    sync::Semaphore,
    time::{Instant, sleep},
};

const KILLING: &str = "QUEUE_TEST_KILLING";
const FOLDER: &str = "QUEUE_FILE_TEST_FOLDER";
const LIFE: &str = "QUEUE_FILE_TEST_LIFE";
const LEASE: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3_600);

/// A file of lines, each written at once.
#[derive(Clone)]
struct Ledger(Arc<File>);

impl Ledger {
    fn at(path: &Path) -> Self {
        let file = OpenOptions::new().append(true).create(true).open(path);
        Self(Arc::new(file.expect("the ledger opens")))
    }

    fn note(&self, line: &str) {
        let line = format!("{line}\n");
        (&*self.0).write_all(line.as_bytes()).expect("a line");
    }
}

/// The lives take turns with these: the end of a process loses nothing with any of them.
const SYNCS: [&str; 3] = ["always", "50ms", "never"];

async fn open(folder: &Path, life: usize) -> (FileBackend, Arc<dyn ReliableQueue>) {
    let sync = SYNCS[life % SYNCS.len()];
    let url = format!("file:{}?sync={sync}", folder.join("queues").display());
    let backend = FileBackend::connect(&url).expect("opens");
    // A process that is killed costs an attempt.
    let config = ReliableConfig::default().with_max_attempts(10_000);
    let queue = backend
        .open_reliable(&"jobs".parse().unwrap(), &config)
        .await;
    (backend, queue.expect("opens"))
}

async fn produce(
    queue: Arc<dyn ReliableQueue>,
    room: Arc<Semaphore>,
    ledger: Ledger,
    producer: String,
) {
    for number in 0_u64.. {
        let bodies: Vec<String> = (0..=number % 3)
            .map(|part| format!("{producer}-{number}-{part}"))
            .collect();
        let taken = room.acquire_many(bodies.len() as u32).await;
        taken.expect("is open").forget();
        let pushes: Vec<Push> = bodies.iter().map(|body| Push::new(body.clone())).collect();
        queue.push(&pushes).await.expect("pushes");
        for body in bodies {
            ledger.note(&format!("pushed {body}"));
        }
    }
}

async fn consume(
    queue: Arc<dyn ReliableQueue>,
    once: Arc<dyn OnceStore>,
    room: Arc<Semaphore>,
    ledger: Ledger,
) {
    loop {
        for delivery in queue.receive(4, LEASE, LEASE).await.expect("receives") {
            let body = String::from_utf8(delivery.body.to_vec()).unwrap();
            let claim = once.claim(body.as_bytes(), LEASE).await.expect("claims");
            if let queue_core::Claim::Claimed(token) = claim {
                ledger.note(&format!("finishing {body}"));
                if once.finish(body.as_bytes(), token, HOUR).await.is_ok() {
                    ledger.note(&format!("finished {body}"));
                }
            }
            ledger.note(&format!("acking {body}"));
            let settled = queue.settle_one(Settlement::ack(delivery.receipt)).await;
            if settled.expect("settles") == Settled::Done {
                ledger.note(&format!("acked {body}"));
                room.add_permits(1);
            }
        }
    }
}

/// The process that the test starts and kills.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the test below starts it"]
async fn a_process_under_load() {
    let variable = |name| env::var(name).expect("run by the test, not by hand");
    let (folder, life) = (variable(FOLDER), variable(LIFE));
    let ledger = Ledger::at(&Path::new(&folder).join("ledger"));
    let number = life.parse().expect("a number");
    let (backend, queue) = open(Path::new(&folder), number).await;
    let once = backend
        .open_once(&"effects".parse().unwrap())
        .await
        .expect("opens");
    ledger.note("opened");
    // Pushes are faster than the work, and the test ends with what is left.
    let room = Arc::new(Semaphore::new(200));
    let mut tasks = tokio::task::JoinSet::new();
    for producer in 0..4 {
        let name = format!("{life}-{producer}");
        tasks.spawn(produce(
            Arc::clone(&queue),
            Arc::clone(&room),
            ledger.clone(),
            name,
        ));
        tasks.spawn(consume(
            Arc::clone(&queue),
            Arc::clone(&once),
            Arc::clone(&room),
            ledger.clone(),
        ));
    }
    while tasks.join_next().await.is_some() {}
}

/// The messages of each word of the ledger.
fn read(ledger: &Path) -> BTreeMap<String, Vec<String>> {
    let mut words: BTreeMap<String, Vec<String>> = BTreeMap::new();
    // A kill may cut the last line of a life.
    for line in fs::read_to_string(ledger).expect("the ledger").lines() {
        if let Some((word, body)) = line.split_once(' ') {
            words
                .entry(word.to_owned())
                .or_default()
                .push(body.to_owned());
        }
    }
    words
}

#[tokio::test]
async fn kills_under_load_lose_nothing_and_repeat_no_effect() {
    let seconds = env::var(KILLING)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(5);
    let folder = env::temp_dir().join(format!("queue-file-killed-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let ledger = folder.join("ledger");
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut lives = 0_u64;
    while Instant::now() < end {
        lives += 1;
        let mut child = Command::new(env::current_exe().expect("this program"))
            .args([
                "--exact",
                "a_process_under_load",
                "--ignored",
                "--nocapture",
            ])
            .env(FOLDER, &folder)
            .env(LIFE, lives.to_string())
            .stdout(Stdio::null())
            .spawn()
            .expect("starts");
        // Somewhere in its work, from the opening on.
        sleep(Duration::from_millis(200 + (lives * 7_919) % 900)).await;
        assert!(
            child.try_wait().expect("a state").is_none(),
            "it ended by itself"
        );
        child.kill().expect("is killed");
        child.wait().expect("ends");
    }
    let (_backend, queue) = open(&folder, 0).await;
    let mut left = BTreeSet::new();
    loop {
        let received = queue.receive(100, HOUR, 2 * LEASE).await.expect("receives");
        if received.is_empty() {
            break;
        }
        for delivery in received {
            let body = String::from_utf8(delivery.body.to_vec()).unwrap();
            assert!(left.insert(body.clone()), "{body} is there twice");
        }
    }
    let words = read(&ledger);
    let all = |word: &str| -> BTreeSet<String> {
        words.get(word).into_iter().flatten().cloned().collect()
    };
    let (pushed, acking, acked) = (all("pushed"), all("acking"), all("acked"));
    assert!(
        pushed.len() > 100,
        "only {} messages in {lives} lives",
        pushed.len()
    );
    for body in &pushed {
        assert!(
            acking.contains(body) || left.contains(body),
            "{body} is lost"
        );
    }
    for body in &acked {
        assert!(!left.contains(body), "{body} was acked, and is back");
    }
    let finished = words.get("finished").map_or(0, Vec::len);
    assert_eq!(
        finished,
        all("finished").len(),
        "an effect was finished twice"
    );
    println!(
        "{lives} lives, {} pushed, {} acked, {} left",
        pushed.len(),
        acked.len(),
        left.len()
    );
    fs::remove_dir_all(folder).expect("removed");
}

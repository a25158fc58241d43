//! Queues in a folder: looked at beside the program that has it, and changed when nobody has it.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::PathBuf,
    process::{Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use queue_core::*;
use queue_file::{FileBackend, SyncMode};
use queue_schedule::Schedules;

use crate::{site::Said, web::Page};

/// A folder for one test.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("qk-{test}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).expect("a folder");
        Self(path.join("queues"))
    }

    pub(crate) fn open(&self) -> Queues {
        Queues::new(FileBackend::open(&self.0, SyncMode::Always).expect("it opens"))
    }

    pub(crate) fn url(&self) -> String {
        format!("file:{}", self.0.display())
    }

    fn command(&self, words: &str) -> Command {
        let mut qk = Command::new(env!("CARGO_BIN_EXE_qk"));
        qk.args(["--url", &self.url()]).args(words.split(' '));
        qk
    }

    pub(crate) fn run(&self, words: &str) -> Said {
        let run = self.command(words).output().expect("it runs");
        Said {
            out: String::from_utf8(run.stdout).expect("text"),
            err: String::from_utf8(run.stderr).expect("text"),
            status: run.status.code().expect("it exits"),
        }
    }

    /// The names of the files with their bytes, but for the lock.
    pub(crate) fn files(&self) -> Vec<(String, Vec<u8>)> {
        let entries = fs::read_dir(&self.0).expect("a folder").map(Result::unwrap);
        let read = entries.map(|entry| {
            let name = entry.file_name().into_string().expect("text");
            (name, fs::read(entry.path()).expect("a file"))
        });
        let mut files: Vec<_> = read.filter(|(name, _)| name != "lock").collect();
        files.sort();
        files
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(self.0.parent().expect("its own"));
    }
}

/// A queue with a leased message, a dead letter and a ready one, and a ring of schedules.
async fn orders(queues: &Queues) -> Reliable<String> {
    let orders = queues.reliable("orders").open::<String>().await.unwrap();
    for body in ["one", "two", "three"] {
        orders.push(&body.to_owned()).await.unwrap();
    }
    let hour = Duration::from_secs(3_600);
    let leased = orders.queue().lease(2.try_into().unwrap(), hour).await;
    let second = leased.unwrap().deliveries[1].receipt;
    let bury = Settlement::bury(second, "no such customer");
    orders.queue().settle(&[bury]).await.unwrap();
    Schedules::open(queues, "schedules").await.unwrap();
    orders
}

const LOOKS: [(&str, &str); 14] = [
    ("ls", "orders     reliable  1"),
    ("why", "1 dead letter"),
    ("why orders", "1 dead letter"),
    ("stats orders", "accepted        3"),
    ("consumers orders", "HOLDER"),
    ("workers", "no worker registers"),
    ("peek orders ready", "three"),
    ("show orders 1", "leased by"),
    ("dead ls orders", "no such customer"),
    ("dead groups orders", "no such customer"),
    ("export orders", "\"place\":\"leased\""),
    ("schedules ls", "NAME"),
    ("check", "has it"),
    ("ls --json", "\"accepted\":3"),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn looks_work_beside_the_owner_and_change_nothing() {
    let folder = Folder::new("looks");
    let queues = folder.open();
    let orders = orders(&queues).await;
    let before = folder.files();
    for (words, shown) in LOOKS {
        let said = folder.run(words);
        assert!(
            said.status < 2 && said.out.contains(shown),
            "{words}: {said:?}"
        );
    }
    assert!(folder.files() == before, "a look wrote");
    orders.push(&"four".to_owned()).await.unwrap();
    let said = folder.run("peek orders ready");
    assert!(said.out.contains("four"), "{said:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_beside_the_owner_is_refused_with_its_number_and_works_once_it_is_gone() {
    let folder = Folder::new("changes");
    let queues = folder.open();
    let orders = orders(&queues).await;
    for words in ["push orders 4", "pause orders", "dead revive orders 2"] {
        let said = folder.run(words);
        let owner = format!("belongs to the process {}", std::process::id());
        let is_refused = said.err.contains(&owner) && said.err.contains("`queue_ops::web`");
        assert!(said.status == 2 && is_refused, "{words}: {said:?}");
    }
    drop((queues, orders));
    assert_eq!(folder.run("push orders 4").all(), "4");
    assert_eq!(folder.run("dead revive orders 2").all(), "1 of 1 revived");
    let said = folder.run("pause orders");
    assert!(
        said.out
            .contains(&format!("qk --url {} resume", folder.url())),
        "{said:?}"
    );
    let queues = folder.open();
    let stored = queues
        .backend()
        .open_stored(&"orders".parse().unwrap())
        .await;
    let counters = stored
        .unwrap()
        .unwrap()
        .queue
        .leasing()
        .unwrap()
        .counters()
        .await;
    let counters = counters.unwrap();
    assert!(counters.paused && counters.depth.ready == 3, "{counters:?}");
}

#[test]
fn no_folder_is_made() {
    let folder = Folder::new("none");
    for words in [
        "ls",
        "why orders",
        "push orders 1",
        "remove orders --yes",
        "check",
    ] {
        let said = folder.run(words);
        assert!(
            said.status > 0 && said.all().contains(&folder.url()[5..]),
            "{said:?}"
        );
        assert!(!folder.0.exists(), "{words} made a folder");
    }
    let said = folder.run("ls --recipe stream");
    assert!(said.err.contains("--recipe"), "{said:?}");
}

/// An open that meets a look waits for the instant of the look.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn looks_keep_no_program_from_starting() {
    let folder = Folder::new("starting");
    drop(folder.open());
    let path = Arc::new(folder.0.clone());
    let looks = (0..4).map(|_| {
        let path = Arc::clone(&path);
        std::thread::spawn(move || {
            for _ in 0..2_000 {
                FileBackend::folder_facts(&*path).expect("a folder");
            }
        })
    });
    let looks: Vec<_> = looks.collect();
    for _ in 0..20 {
        drop(folder.open());
    }
    looks.into_iter().for_each(|look| look.join().unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repair_says_what_it_loses_and_does_it_with_yes() {
    let folder = Folder::new("repair");
    let queues = folder.open();
    let orders = orders(&queues).await;
    let said = folder.run("repair");
    assert!(said.err.contains("belongs to the process"), "{said:?}");
    drop((queues, orders));
    assert_eq!(folder.run("repair").all(), "nothing is damaged");
    // The second of three messages.
    let journal = folder.0.join("journal-000000000001");
    let mut bytes = fs::read(&journal).unwrap();
    let place = bytes.windows(5).position(|part| part == b"\"two\"");
    bytes[place.expect("it is there")] ^= 1;
    fs::write(&journal, bytes).unwrap();
    for words in ["ls", "why orders", "push orders 4"] {
        let said = folder.run(words);
        let place = "journal-000000000001, at byte";
        let is_named = said.all().contains(place) && said.all().contains("`qk repair`");
        assert!(said.status > 0 && is_named, "{words}: {said:?}");
    }
    let before = folder.files();
    let said = folder.run("repair");
    let dropped = "records behind the damage dropped, with 1 message\n";
    assert!(
        said.out
            .starts_with("damaged: 1 record in journal-000000000001, at byte ")
    );
    assert!(said.out.contains("orders: back to its state of ") && said.out.contains(dropped));
    assert!(
        said.status == 1 && said.out.contains("say --yes"),
        "{said:?}"
    );
    assert!(folder.files() == before, "it wrote without consent");
    let said = folder.run("repair --yes");
    assert!(
        said.status == 0 && said.out.contains("repaired; the journal as it was"),
        "{said:?}"
    );
    let said = folder.run("peek orders ready");
    assert!(
        said.out.contains("one") && !said.out.contains("three"),
        "{said:?}"
    );
}

/// A page without a token holds no lock: it follows the owner, and one with a token is refused beside it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_follows_a_live_folder() {
    let folder = Folder::new("page");
    drop(folder.open());
    let page = Page::of(&folder.url(), &[]);
    let queues = folder.open();
    let orders = orders(&queues).await;
    let shows = async |text: &str| {
        let begun = Instant::now();
        while !page.get("/api/queues").contains(text) {
            assert!(begun.elapsed() < Duration::from_secs(60), "{text}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    shows("\"accepted\":3").await;
    orders.push(&"four".to_owned()).await.unwrap();
    shows("\"accepted\":4").await;
    assert!(page.get("/queues/orders").contains("no such customer"));
    let token = folder.0.with_file_name("token");
    fs::write(&token, "0123456789abcdef").unwrap();
    let said = folder.run(&format!(
        "web --listen 127.0.0.1:0 --token-file {}",
        token.display()
    ));
    assert!(
        said.status == 2 && said.err.contains("belongs to the process"),
        "{said:?}"
    );
}

/// The unit of `deploy/` gives the program what its URL needs, and the page names the same folder and user.
#[test]
fn the_unit_makes_the_parent_of_its_folder() {
    let unit = include_str!("../../../deploy/shop-in-a-folder.service");
    let page = include_str!("../../../docs/deploying.md");
    let setting = |name: &str| {
        let mut lines = unit.lines().filter_map(|line| line.split_once('='));
        lines.find(|(key, _)| *key == name).expect(name).1
    };
    let environment = setting("Environment");
    let url = environment.strip_prefix("QUEUE_URL=").expect("the URL");
    let path = FileBackend::path(url).expect("a folder");
    let state = PathBuf::from("/var/lib").join(setting("StateDirectory"));
    assert_eq!(path.parent(), Some(&*state));
    let command = format!("sudo -u {} qk --url {url} why", setting("User"));
    assert!(page.contains(&command), "{command}");
    // The folder itself is made by the program.
    let folder = Folder::new("unit");
    let own = folder.url();
    assert!(!folder.0.exists());
    drop(FileBackend::connect(&own).expect("it is made"));
    assert_eq!(folder.run("ls").status, 0);
}

/// The view goes on while the owner works, and its actions are refused.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watch_of_a_live_folder_sees_its_changes() {
    let folder = Folder::new("watch");
    let queues = folder.open();
    let orders = queues.reliable("orders").open::<u64>().await.unwrap();
    let mut watch = folder.command("watch orders --every-ms 100");
    let mut watch = watch.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    assert!(first.starts_with("nothing is wrong"), "{first}");
    orders.queue().pause().await.unwrap();
    let rest: Vec<String> = lines.map(Result::unwrap).collect();
    assert!(
        rest.iter()
            .any(|line| line.contains("paused; 0 ready wait")),
        "{rest:?}"
    );
    assert_eq!(watch.wait().unwrap().code(), Some(1));
}

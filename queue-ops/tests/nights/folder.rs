//! The nights of a folder: a full disk, a process that is gone, a slow disk.

use std::{
    fs,
    io::{self, BufRead, BufReader},
    path::PathBuf,
    process::{Command, Stdio},
    sync::Arc,
    time::Duration,
};

use queue_core::*;
use queue_file::{Disk, FileBackend, SyncMode, simulated::SimulatedDisk};
use queue_ops::{Problem, diagnose};
use queue_testing::disk::SmallDisk;

use crate::setups::fits;

/// A folder for one test.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("qk-night-{test}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).expect("a folder");
        Self(path)
    }

    fn queues(&self) -> PathBuf {
        self.0.join("queues")
    }

    fn qk(&self, words: &[&str]) -> Command {
        let mut qk = Command::new(env!("CARGO_BIN_EXE_qk"));
        qk.args(["--url", &format!("file:{}", self.queues().display())]);
        qk.args(words);
        qk
    }

    /// The lines of `qk why orders`.
    fn why(&self) -> Vec<String> {
        let said = self.qk(&["why", "orders"]).output().expect("it runs");
        let text = String::from_utf8([said.stdout, said.stderr].concat()).expect("text");
        text.lines().map(str::to_owned).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_was_killed_is_named_by_its_number() {
    let folder = Folder::new("killed");
    let queues = Queues::new(FileBackend::open(folder.queues(), SyncMode::Always).unwrap());
    let orders = queues.reliable("orders").open::<u64>().await.unwrap();
    orders.push(&1).await.unwrap();
    drop((queues, orders));
    let token = folder.0.join("token");
    fs::write(&token, "0123456789abcdef").unwrap();
    let token = token.display().to_string();
    // A page that may act has the folder.
    let mut page = folder.qk(&["web", "--listen", "127.0.0.1:0", "--token-file", &token]);
    let mut page = page.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    let mut lines = BufReader::new(page.stdout.take().unwrap());
    lines.read_line(&mut line).unwrap();
    assert!(line.starts_with("listening"), "{line}");
    let held = folder.why();
    assert!(!held[0].contains("no process has"), "{held:?}");
    page.kill().unwrap();
    page.wait().unwrap();
    let expected = format!(
        "1 ready, 0 delayed and 0 leased, and no process has the folder; the last one was the process {}",
        page.id()
    );
    assert_eq!(folder.why()[0], expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_is_named_with_the_room_that_is_needed() {
    let folder = Folder::new("full");
    let Some(_disk) = SmallDisk::mount(&folder.0, 40) else {
        return;
    };
    let queues = Queues::new(FileBackend::open(folder.queues(), SyncMode::Never).unwrap());
    let orders = queues.reliable("orders").open::<Bytes>().await.unwrap();
    let body = Bytes::from(vec![7; 1 << 17]);
    orders.push(&body).await.unwrap();
    assert!(!folder.why()[0].contains("the disk is full"));
    let refused = loop {
        if let Err(error) = orders.push(&body).await {
            break error;
        }
    };
    assert_eq!(refused.kind(), ErrorKind::OutOfMemory);
    let expected = "the disk is full, and pushes are refused: … MiB are free, 16 MiB are needed; consumers can drain it";
    let beside = folder.why();
    assert!(fits(&beside[0], expected), "{beside:?}");
    let within = diagnose(&**queues.backend(), "orders").await.unwrap();
    assert!(fits(&within.findings[0].sentence, expected), "{within:?}");
}

/// A disk whose syncs take long.
#[derive(Debug)]
struct Slow(SimulatedDisk);

impl Disk for Slow {
    fn files(&self) -> io::Result<Vec<u64>> {
        self.0.files()
    }

    fn read(&self, file: u64, length: u64) -> io::Result<Vec<u8>> {
        self.0.read(file, length)
    }

    fn create(&self, file: u64, length: u64) -> io::Result<()> {
        self.0.create(file, length)
    }

    fn write(&self, file: u64, place: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.write(file, place, bytes)
    }

    fn sync(&self, file: u64) -> io::Result<()> {
        std::thread::sleep(Duration::from_millis(110));
        self.0.sync(file)
    }

    fn cut(&self, file: u64, length: u64) -> io::Result<()> {
        self.0.cut(file, length)
    }

    fn remove(&self, file: u64) -> io::Result<()> {
        self.0.remove(file)
    }

    fn set_aside(&self, file: u64) -> io::Result<()> {
        self.0.set_aside(file)
    }

    fn free(&self) -> io::Result<u64> {
        self.0.free()
    }

    fn name(&self) -> String {
        self.0.name()
    }
}

#[tokio::test]
async fn a_slow_disk_is_named_with_the_times_of_its_syncs() {
    let disk = Arc::new(Slow(SimulatedDisk::new(1)));
    let queues = Queues::new(FileBackend::on_disk(disk, SyncMode::Always).unwrap());
    let orders = queues.reliable("orders").open::<u64>().await.unwrap();
    for order in 0..10 {
        orders.push(&order).await.unwrap();
    }
    let why = diagnose(&**queues.backend(), "orders").await.unwrap();
    let found = why
        .findings
        .iter()
        .find(|one| one.problem == Problem::SlowDisk);
    let found = found.expect("it is slow");
    let expected = "the disk is slow: half of the last … syncs took … ms or longer, the slowest …";
    assert!(fits(&found.sentence, expected), "{found:?}");
    assert!(
        found.evidence["median_ms"].as_u64() >= Some(110),
        "{found:?}"
    );
}

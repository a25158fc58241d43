//! The suite on queues in a folder: in virtual time on a simulated disk, and on threads on a real one.

use std::{
    env, fs,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use queue_conformance::{Capabilities, Harness, InVirtualTime, OnThreads, Play};
use queue_core::Backend;
use queue_file::{FileBackend, SyncMode, simulated::SimulatedDisk};

fn simulated() -> FileBackend {
    let disk = Arc::new(SimulatedDisk::new(1));
    FileBackend::on_disk(disk, SyncMode::Always).expect("opens")
}

queue_conformance::suite!(InVirtualTime::new(simulated));

/// Queues in a folder of their own, which goes with the case.
#[derive(Debug)]
struct InAFolder {
    harness: OnThreads,
    folder: PathBuf,
}

impl InAFolder {
    fn new(sync: SyncMode) -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);

        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("queue-file-suite-{}-{number}", std::process::id());
        let folder = env::temp_dir().join(name);
        let opened = FileBackend::open(&folder, sync).expect("opens");
        Self {
            harness: OnThreads::new(|| opened),
            folder,
        }
    }
}

impl Drop for InAFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

#[async_trait]
impl Harness for InAFolder {
    fn capabilities(&self) -> Capabilities {
        self.harness.capabilities()
    }

    fn run(&self, case: Play<'_>) {
        self.harness.run(case);
    }

    async fn connect(&self) -> Arc<dyn Backend> {
        self.harness.connect().await
    }

    async fn advance(&self, by: Duration) {
        self.harness.advance(by).await;
    }
}

mod on_threads {
    queue_conformance::suite!(super::InAFolder::new(super::SyncMode::Always));
}

#[test]
fn in_virtual_time_no_case_is_skipped() {
    let harness = InVirtualTime::new(simulated);
    let plan = queue_conformance::plan(&harness.capabilities());
    assert!(plan.skipped.is_empty(), "{:?}", plan.skipped);
}

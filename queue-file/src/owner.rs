//! The owner of a folder: it starts the threads that write, and ends them.

use std::{
    sync::{Arc, Condvar, Mutex, PoisonError},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use queue_core::{Error, ErrorKind, Result, Timestamp};

use crate::{core::Core, disk::Disk, journal::Writer, upkeep, url::SyncMode};

/// The time after which the threads look again.
const AGAIN: Duration = Duration::from_secs(1);

/// The signal of the thread that stores states.
#[derive(Debug, Default)]
struct Keeper {
    /// Whether to look, and whether to end.
    asked: Mutex<(bool, bool)>,
    changed: Condvar,
}

impl Keeper {
    fn ask(&self, ends: bool) {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        (asked.0, asked.1) = (true, asked.1 || ends);
        self.changed.notify_all();
    }

    /// Waits until there is work, at most for `longest`. Returns false at the end.
    fn wait(&self, longest: Duration) -> bool {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self
            .changed
            .wait_timeout_while(asked, longest, |asked| !asked.0);
        let (mut asked, _) = waited.unwrap_or_else(PoisonError::into_inner);
        asked.0 = false;
        !asked.1
    }
}

/// The journal's owner: with it, the threads end, and the folder is free.
#[derive(Debug)]
pub(crate) struct Owner {
    pub(crate) core: Arc<Core>,
    keeper: Arc<Keeper>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Owner {
    /// Reads the journal on this disk. Without [`Writer::Thread`], there are no threads.
    pub(crate) fn open(
        disk: Arc<dyn Disk>,
        sync: SyncMode,
        segment: u64,
        writer: Writer,
        now: Timestamp,
    ) -> Result<Self> {
        let core = Arc::new(Core::open(disk, sync, segment, writer, now)?);
        let asked = Arc::new(Keeper::default());
        let mut threads = Vec::new();
        if writer == Writer::Thread {
            let (writer, signal) = (Arc::clone(&core), Arc::clone(&asked));
            threads.push(start("queue-file write", move || {
                let mut shown = Instant::now();
                writer.journal.write_groups(|| {
                    if shown.elapsed() >= AGAIN
                        && let Some(syncs) = writer.journal.sync_times.facts()
                    {
                        writer.disk.show_syncs(&syncs);
                        shown = Instant::now();
                    }
                    if writer.journal.has_begun_segment() {
                        signal.ask(false);
                    }
                });
            })?);
            let (keeper, signal) = (Arc::clone(&core), Arc::clone(&asked));
            threads.push(start("queue-file keep", move || keep(&keeper, &signal))?);
        }
        Ok(Self {
            core,
            keeper: asked,
            threads: Mutex::new(threads),
        })
    }

    /// Waits until a record is durable. Without threads, it also stores states when it is time.
    pub(crate) async fn done(&self, record: u64) -> Result<()> {
        let journal = &self.core.journal;
        journal.done(record).await?;
        if journal.is_inline() {
            let is_full = journal.left().is_some();
            if journal.has_begun_segment() || is_full {
                upkeep::tidy(&self.core);
            }
        }
        Ok(())
    }
}

fn start(name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>> {
    let started = std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(work);
    started.map_err(|error| {
        Error::new(ErrorKind::Unavailable, "no thread for the journal").with_source(error)
    })
}

/// The keeper's thread. Queues may empty without a new segment, so it looks again while there is anything to gain.
fn keep(core: &Core, signal: &Keeper) {
    loop {
        let longest = match upkeep::may_gain(core) {
            true => AGAIN,
            false => Duration::MAX,
        };
        if !signal.wait(longest) {
            return;
        }
        upkeep::tidy(core);
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.core.journal.close();
        self.keeper.ask(true);
        let threads = self
            .threads
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        for thread in threads.drain(..) {
            // A panic was printed already.
            let _ = thread.join();
        }
    }
}

#[cfg(all(test, feature = "simulated"))]
mod tests {
    use queue_memory::MemoryBackend;

    use super::*;
    use crate::{record, recovery::Scan, segments::SEGMENT, simulated::SimulatedDisk};

    /// Appends a record to a journal with a thread. Returns the disk once the record is written.
    async fn written(sync: SyncMode) -> (Owner, SimulatedDisk) {
        let disk = SimulatedDisk::new(1);
        let now = MemoryBackend::new().time();
        let shared = Arc::new(disk.clone());
        let owner = Owner::open(shared, sync, SEGMENT, Writer::Thread, now).unwrap();
        let content = record::open_once(1, &"keys".parse().unwrap());
        let journal = &owner.core.journal;
        let room = journal.room(content.len(), true).await.unwrap();
        let record = journal.append(room, now, content);
        journal.done(record).await.unwrap();
        (owner, disk)
    }

    fn records(disk: &SimulatedDisk) -> u64 {
        Scan::of(&disk.restart()).unwrap().next - 1
    }

    #[tokio::test]
    async fn an_answered_record_is_durable_at_once_or_after_the_time_of_the_setting() {
        let (_owner, disk) = written(SyncMode::Always).await;
        assert_eq!(records(&disk), 1);

        let (owner, disk) = written(SyncMode::Every(Duration::from_millis(20))).await;
        let syncs = || owner.core.journal.sync_times.facts().unwrap().count;
        let start = Instant::now();
        // The header of the first segment was synced before.
        while syncs() < 2 {
            assert!(start.elapsed() < Duration::from_secs(60), "nothing syncs");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert_eq!(records(&disk), 1);

        let (owner, disk) = written(SyncMode::Never).await;
        drop(owner);
        assert_eq!(records(&disk), 1, "the end of the owner syncs");
    }
}

//! Queues in a folder compared with the disk's own limit, and with a Redis that syncs before each reply.
//!
//! `cargo bench -p queue-benches --features file,redis --bench file`, which takes a minute; the ratios come last.
//! The folders, and the server's file, are in the folder for temporary files: name another disk by `TMPDIR`.

use std::{
    env, fs,
    fs::File,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::mpsc,
    time::{Duration, Instant},
};

use criterion::{BenchmarkGroup, Criterion, SamplingMode, measurement::WallTime};
use queue_benches::{
    kinds::{CAPACITY, LeasingQueue},
    pairs::{Pairs, Work},
    work_off::work_off,
};
use queue_core::{Backend, LeasingExt, QueueKind};
use queue_file::{FileBackend, SyncMode};
use queue_redis::RedisBackend;
use real_redis::{Aof, Server};
use tokio::{
    runtime::{Builder, Runtime},
    sync::oneshot,
    task::JoinSet,
};

/// A pushed message of 100 bytes in the journal.
const RECORD: usize = 150;
/// The bytes that a message adds in a batch.
const IN_BATCH: usize = 110;
/// The bytes of the record of a lease, or of an ack.
const SETTLEMENT: usize = 60;
/// The size of the file that the raw writer fills, again and again.
const LIMIT: u64 = 64 << 20;
const REDIS: &str = "Redis, appendfsync always";

/// Work of so many tasks, in batches of this size.
type Works = for<'a> fn(&'a Bench, &'a LeasingQueue, usize, usize) -> Work<'a>;

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    let mut pairs = Pairs::default();
    let folder = env::temp_dir().join(format!("queue-benches-file-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let bench = &Bench::new(&folder);
    let mut group = group(&mut criterion);
    for (tasks, batch) in [(1, 1), (64, 1), (1, 100)] {
        let shape = match (tasks, batch) {
            (tasks, 1) => format!("{tasks} in flight"),
            (_, batch) => format!("batches of {batch}"),
        };
        let messages = (tasks * batch) as u64;
        let push = if batch == 1 { RECORD } else { batch * IN_BATCH };
        let ack = batch.max(3) * SETTLEMENT / 3;
        for (what, works, records) in [
            ("push", Bench::pushes as Works, vec![push]),
            ("lease, then ack", Bench::takes, vec![SETTLEMENT, ack]),
        ] {
            let mut beside = [
                ("write + fdatasync", bench.writes(tasks, records)),
                (REDIS, works(bench, &bench.redis, tasks, batch)),
            ];
            let mut ours = works(bench, &bench.file, tasks, batch);
            let name = format!("{what}, {shape}");
            pairs.measure(&mut group, &name, messages, &mut ours, &mut beside);
        }
    }
    let mut beside = [(REDIS, bench.works_off(&bench.redis))];
    let mut ours = bench.works_off(&bench.file);
    let name = "a worker of 64 slots";
    pairs.measure(&mut group, name, 64, &mut ours, &mut beside);
    group.finish();
    criterion.final_summary();
    pairs.print();
    fs::remove_dir_all(&folder).expect("the folder is removed");
}

fn group(criterion: &mut Criterion) -> BenchmarkGroup<'_, WallTime> {
    let mut group = criterion.benchmark_group("file");
    group
        .sampling_mode(SamplingMode::Flat)
        .sample_size(20)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(4));
    group
}

struct Bench {
    runtime: Runtime,
    file: LeasingQueue,
    redis: LeasingQueue,
    writer: RawWriter,
    _server: Server,
}

impl Bench {
    fn new(folder: &Path) -> Self {
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build();
        let runtime = runtime.expect("a runtime starts");
        let server = Server::builder().with_aof(Aof::Always).start();
        let server = server.expect("the server starts");
        let file = FileBackend::open(folder.join("queues"), SyncMode::Always);
        let file = runtime.block_on(open(&file.expect("the folder opens")));
        let redis = runtime.block_on(async {
            let backend = RedisBackend::connect(&server.url()).await;
            open(&backend.expect("the backend connects")).await
        });
        let writer = RawWriter::start(folder.join("raw"));
        Self {
            runtime,
            file,
            redis,
            writer,
            _server: server,
        }
    }

    /// Each task pushes a batch in each round.
    fn pushes<'a>(&'a self, queue: &'a LeasingQueue, tasks: usize, batch: usize) -> Work<'a> {
        Box::new(move |rounds| {
            let time = self.play(tasks, || {
                let queue = queue.clone();
                async move {
                    for _ in 0..rounds {
                        queue.put(batch).await;
                    }
                }
            });
            self.empty(queue);
            time
        })
    }

    /// Each task leases a batch and acks it in each round. The messages were pushed before.
    fn takes<'a>(&'a self, queue: &'a LeasingQueue, tasks: usize, batch: usize) -> Work<'a> {
        Box::new(move |rounds| {
            self.fill(queue, tasks * batch * rounds as usize);
            let time = self.play(tasks, || {
                let queue = queue.clone();
                async move {
                    let mut left = batch * rounds as usize;
                    while left > 0 {
                        left -= queue.take(batch.min(left)).await;
                    }
                }
            });
            self.empty(queue);
            time
        })
    }

    /// A worker handles 64 messages in each round. They were pushed before.
    fn works_off<'a>(&'a self, queue: &'a LeasingQueue) -> Work<'a> {
        Box::new(move |rounds| {
            let jobs = 64 * rounds as usize;
            self.fill(queue, jobs);
            let start = Instant::now();
            self.runtime
                .block_on(work_off(queue, 64, jobs, |_body| async {}));
            start.elapsed()
        })
    }

    /// Each task writes these records in each round, one after the other: a group commit without a queue.
    fn writes(&self, tasks: usize, records: Vec<usize>) -> Work<'_> {
        Box::new(move |rounds| {
            self.play(tasks, || {
                let (writer, records) = (self.writer.0.clone(), records.clone());
                async move {
                    for _ in 0..rounds {
                        for length in &records {
                            let (done, is_durable) = oneshot::channel();
                            writer.send((*length, done)).expect("the writer lives");
                            is_durable.await.expect("the writer lives");
                        }
                    }
                }
            })
        })
    }

    fn play<F: Future<Output = ()> + Send + 'static>(
        &self,
        tasks: usize,
        task: impl Fn() -> F,
    ) -> Duration {
        let mut set = JoinSet::new();
        let start = Instant::now();
        for _ in 0..tasks {
            set.spawn_on(task(), self.runtime.handle());
        }
        self.runtime.block_on(set.join_all());
        start.elapsed()
    }

    fn fill(&self, queue: &LeasingQueue, messages: usize) {
        self.runtime.block_on(queue.fill(messages));
    }

    fn empty(&self, queue: &LeasingQueue) {
        let purged = self.runtime.block_on(queue.leasing().purge_all());
        purged.expect("the queue is purged");
    }
}

async fn open(backend: &impl Backend) -> LeasingQueue {
    LeasingQueue::open(backend, "jobs", QueueKind::Reliable, CAPACITY).await
}

/// A thread that writes what has gathered, and syncs once. It ends with its sender.
struct RawWriter(mpsc::Sender<(usize, oneshot::Sender<()>)>);

impl RawWriter {
    fn start(path: PathBuf) -> Self {
        let file = File::create(path).expect("a file");
        // Its room is taken and written before, as that of a journal's segment.
        for place in (0..LIMIT).step_by(1 << 20) {
            file.write_all_at(&[0; 1 << 20], place).expect("zeros");
        }
        file.sync_all().expect("synced");
        let (sender, receiver) = mpsc::channel::<(usize, oneshot::Sender<()>)>();
        std::thread::spawn(move || {
            let mut place = 0;
            while let Ok(first) = receiver.recv() {
                let gathered: Vec<_> = std::iter::once(first).chain(receiver.try_iter()).collect();
                let bytes = vec![7; gathered.iter().map(|(length, _)| length).sum()];
                if place + bytes.len() as u64 > LIMIT {
                    place = 0;
                }
                file.write_all_at(&bytes, place).expect("written");
                file.sync_data().expect("synced");
                place += bytes.len() as u64;
                for (_, done) in gathered {
                    let _ = done.send(());
                }
            }
        });
        Self(sender)
    }
}
